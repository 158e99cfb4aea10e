"""Training on a Ray cluster of several nodes has the bits of one process."""

import os
import sys

import pytest

import absentia

pytest.importorskip("ray", reason="Ray is not installed")

import ray_cluster

SETTINGS = {"factors": 8, "iterations": 3, "regularization": 0.05, "init_std": 0.1, "random_state": 5}


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
    text = f'data = "{source}"\nfactors = 8\niterations = 2\nregularization = 0.05\nweights = "uniform:0.05"\n'
    config.write_text(text)
    model = tmp_path / "model.absentia"
    assert main(["train", str(config), "--workers", "2", "--address", nodes[0].address]) == 1
    assert main(["train", str(config), "--workers", "2", "--address", nodes[0].address, "--model", str(model)]) == 0
    alone = absentia.Factorizer(factors=8, iterations=2, regularization=0.05, weights="uniform:0.05", random_state=0)
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
