"""Training on a Ray cluster of several nodes has the bits of one process."""

import os
import sys

import pytest

import absentia

pytest.importorskip("ray", reason="Ray is not installed")

import ray_cluster

SETTINGS = {"factors": 8, "iterations": 3, "regularization": 0.005, "init_std": 0.1, "random_state": 5}


@pytest.fixture(scope="module")
def nodes():
    with ray_cluster.cluster(3) as started:
        yield started


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return ray_cluster.write(str(tmp_path_factory.mktemp("rows")))


def one(source, **settings):
    return absentia.Factorizer(**{**SETTINGS, **settings}).fit(source)


@pytest.mark.parametrize("workers, spread", [(2, True), (3, True), (2, False)])
def test_workers_have_the_bits_of_one_process(nodes, source, workers, spread):
    from absentia.ray import fit

    settings = {"weights": "popularity:mean=0.02,alpha=0.4", "targets": "normalized:0.3", "confidence": "linear:2"}
    alone = one(source, **settings)
    seen = []
    with fit(
        source,
        workers=workers,
        spread=spread,
        callback=lambda sweep, seconds, objective: seen.append(sweep),
        **SETTINGS,
        **settings,
    ) as run:
        model = run.model()
        assert run.stop_reason == "iterations" and seen == [1, 2, 3]
        assert [sweep.objective for sweep in run.history] == [sweep.objective for sweep in alone.history_]
    assert ray_cluster.bits(model) == ray_cluster.bits(alone)
    assert model.recommend("u17", n=5, exclude_seen=False)[0].tolist() == alone.recommend("u17", n=5, exclude_seen=False)[0].tolist()


def test_rows_that_come_in_waves_change_no_bit_and_what_cannot_fit_is_refused(nodes, tmp_path):
    from absentia.ray import fit

    # A wave has a chunk of 2,048 rows or more: each of two workers has several.
    source = ray_cluster.write(str(tmp_path), users=9000, items=12000, count=60000)
    settings = {**SETTINGS, "weights": "uniform:0.05"}
    alone = ray_cluster.bits(one(source, weights="uniform:0.05"))
    with fit(source, workers=2, **settings) as run:
        assert run._workers.run.waves == (1, 1)
        memory = max(part + gathered for part, gathered, *_ in run._workers.run.needs) - 1
    for spread in (True, False):
        with fit(source, workers=2, memory=memory, spread=spread, **settings) as run:
            assert max(run._workers.run.waves) > 1
            assert all(part + gathered <= memory for part, gathered, *_ in run._workers.run.needs)
            assert ray_cluster.bits(run.model()) == alone
    with pytest.raises(ValueError, match="worker 0 needs .* may take 500000: raise memory"):
        fit(source, workers=2, memory=500_000, **settings)


def test_a_sweep_sends_little_more_than_the_rows_that_entries_name(nodes, tmp_path):
    """Each row once to each worker that needs it is the least; sums, caches and the sample come on top."""
    from absentia.ray import fit
    from absentia.ray._fit import _running

    source = ray_cluster.write(str(tmp_path), users=9000, items=12000, count=60000)
    for factors, std in ((8, 0.01), (64, 0.01), (8, 0.2)):
        sent = [0]
        settings = {**SETTINGS, "factors": factors, "init_std": std, "weights": "uniform:0.05"}
        with fit(source, workers=2, callback=lambda *_: sent.append(_running[-1].traffic()), **settings) as run:
            least = sum(need[3] for need in run._workers.run.needs)
        shares = [(after - before) / least for before, after in zip(sent, sent[1:])]
        if std > 0.1:
            # Such a start is worse than zeros: the first sweep is compared with it, which takes rows of both.
            assert shares.pop(0) < 3
        assert all(1.0 <= share <= 1.2 for share in shares), (factors, shares)


def test_rows_that_were_read_do_not_travel_again_until_they_change(nodes, source):
    from absentia.ray import fit

    with fit(source, workers=2, weights="uniform:0.05", **SETTINGS) as run:
        workers = run._workers
        # The request for the objective, which reads items and changes nothing: its number, its precision, nothing measured.
        request = bytes([5, 1, 0])
        traffic = [workers.traffic()]
        for _ in range(2):
            workers.ask(0, request, "items", False, None)
            traffic.append(workers.traffic())
    first, second = (after - before for before, after in zip(traffic, traffic[1:]))
    assert first > 100_000 and second < 5_000


def test_a_folder_is_a_model_like_a_file(nodes, source, tmp_path):
    from absentia.ray import evaluate, fit

    folder, file = tmp_path / "folder", tmp_path / "model.absentia"
    with fit(source, workers=3, weights="uniform:0.05", **SETTINGS) as run:
        run.save_folder(folder)
        run.save_folder(folder)
        run.save(file)
    pieces = sorted(path.name for path in folder.iterdir())
    # Users have three chunks and items two, so that one of three workers has no items.
    assert [name.split("-")[0] for name in pieces if name.endswith(".f32")] == ["items"] * 2 + ["users"] * 3
    assert len(pieces) == 6
    stored = absentia.Factorizer.load(folder)
    assert ray_cluster.bits(stored) == ray_cluster.bits(absentia.Factorizer.load(file))
    both = [_command("recommend", path, "u17", "u3", "--train", source) for path in (folder, file)]
    assert both[0] == both[1] and "u17" in both[0]
    shown = _command("inspect", folder)
    assert "5,000" in shown or "5000" in shown
    # On the cluster, each task has some of the users.
    test = [str(tmp_path / "test.csv")]
    (tmp_path / "test.csv").write_text("user,item\n" + "".join(f"u{n},i{n * 7 % 4000}\n" for n in range(900)))
    expected = stored.evaluate(test[0], ["ndcg@10", "auc"], seen=source)
    found = evaluate(folder, test, train=source, metrics=["ndcg@10", "auc"], workers=3)
    assert list(found.users) == list(expected.users) and found.candidates == expected.candidates
    for name in expected:
        assert found.per_user[name].tobytes() == expected.per_user[name].tobytes()
        assert found[name] == pytest.approx(expected[name], rel=1e-6)
    assert "ndcg@10" in _command("evaluate", folder, "--train", source, "--test", test[0], "--at", "10")
    (folder / pieces[0]).rename(folder / "away")
    with pytest.raises((OSError, ValueError), match=pieces[0]):
        absentia.Factorizer.load(folder)


def _command(*words):
    import subprocess

    done = subprocess.run([sys.executable, "-m", "absentia", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lists_for_all_users_are_those_of_one_process(nodes, source, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    from absentia.ray import recommend_all

    model = tmp_path / "model.absentia"
    one(source, weights="uniform:0.05").save(model)
    paths = recommend_all(model, tmp_path / "lists", train=source, top=4, workers=2)
    expected = recommend_all(model, tmp_path / "whole", train=source, top=4, workers=1)
    tables = [parquet.read_table(path).to_pydict() for path in paths]
    whole = parquet.read_table(expected[0]).to_pydict()
    assert len(tables) == 2 and len(set(whole["user"])) > 4000
    for name, values in whole.items():
        assert [value for table in tables for value in table[name]] == values


def test_a_configuration_file_is_trained_as_by_the_command_line(nodes, source, tmp_path):
    from absentia.ray.__main__ import main

    config = tmp_path / "run.toml"
    text = f'data = "{source}"\nfactors = 8\niterations = 2\nregularization = 0.005\nweights = "uniform:0.05"\n'
    config.write_text(text)
    model = tmp_path / "model.absentia"
    assert main(["train", str(config), "--workers", "2", "--address", nodes[0].address]) == 1
    assert main(["train", str(config), "--workers", "2", "--address", nodes[0].address, "--model", str(model)]) == 0
    alone = absentia.Factorizer(factors=8, iterations=2, regularization=0.005, weights="uniform:0.05", random_state=0)
    assert ray_cluster.bits(absentia.Factorizer.load(model)) == ray_cluster.bits(alone.fit(source))


def test_a_killed_worker_changes_no_bit_and_another_number_goes_on(nodes, source, tmp_path):
    import signal

    import ray

    from absentia.ray import fit
    from absentia.ray._fit import _running

    alone = one(source, weights="uniform:0.05", iterations=4)
    killed = []

    def kill(sweep, seconds, objective):
        if sweep == 2 and not killed:
            process, _ = ray.get(_running[-1].actors[1].process.remote())
            os.kill(process, signal.SIGKILL)
            killed.append(process)
        return sweep == 3

    settings = {**SETTINGS, "weights": "uniform:0.05", "iterations": 4, "checkpoint": str(tmp_path / "checkpoints"), "checkpoint_every": 1}
    with fit(source, workers=2, callback=kill, **settings) as run:
        assert run.stop_reason == "callback" and killed
    with fit(source, workers=3, resume=True, **settings) as run:
        assert ray_cluster.bits(run.model()) == ray_cluster.bits(alone)
    with pytest.raises(ValueError, match="sweep-0000000[34].*seed 5, this run has seed 6"):
        fit(source, workers=3, resume=True, **{**settings, "random_state": 6})
    with pytest.raises(ValueError, match="weights uniform:0.05, this run has weights popularity:"):
        fit(source, workers=2, resume=True, spread=False, **{**settings, "weights": "popularity"})


@pytest.mark.parametrize(
    "refused, named",
    [
        ({"solver": "eals-vanilla"}, "eals-vanilla"),
        ({"solver": "svd"}, "svd"),
        ({"weights": "learned:rank=2"}, "learned"),
        ({"weights": "dense:w.npy,rank=2"}, "dense"),
        ({"valid_split": "leave-one-out"}, "held-out"),
        ({"regularization": None}, "regularization"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_name(nodes, source, refused, named):
    from absentia.ray import fit

    with pytest.raises(ValueError, match=named):
        fit(source, workers=2, **{**SETTINGS, **refused})


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    from absentia.ray import _ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'absentia\[ray\]'"):
        _ray.load()
