"""Models that learn from single events, here and on the command line."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from copy import deepcopy

import numpy as np
import pytest
from sample import matrix

from absentia import Factorizer, NotFittedError, Online, weights

LOG = (["ann", "ann", "bob", "bob", "cy", "cy"], ["jaws", "alien", "jaws", "alien", "up", "heat"])


def trained(**settings):
    return Factorizer(factors=4, regularization=0.05, weights=0.05, **settings).fit(LOG)


def bits(online):
    model = online.to_factorizer()
    return model.user_factors_.tobytes() + model.item_factors_.tobytes()


def command_line():
    path = os.environ.get("ABSENTIA_CLI")
    if not path:
        pytest.skip("ABSENTIA_CLI does not name the absentia binary")
    return path


def test_events_are_learned_and_undone():
    online = Online(trained())
    assert online.shape == (3, 4) and online.nnz == 6 and online.sequence == 0
    assert online.insert("dan", "jaws") == 2  # the user is added first
    assert online.recommend("dan", n=1)[0].tolist() == ["alien"]
    assert "jaws" not in online.recommend("dan")[0].tolist()
    assert online.recommend("dan", n=1, deny=["alien"])[0].tolist() != ["alien"]
    items, scores = online.recommend(["ann", "dan"], n=3)
    assert items.shape == (2, 3) and items[0, 2] is None and scores[0, 2] == -np.inf
    before = online.nnz
    online.expose("ann", "heat", weights=0.5)
    online.insert("ann", "heat", values=2.0)
    assert online.nnz == before + 1
    online.remove("ann", "heat")
    online.remove("ann", "heat")
    assert online.nnz == before
    online.erase("ann")
    assert online.nnz == before - 2 and online.recommend("ann")[0].tolist() == []
    online.steps, online.weight_of_new = 3, 4.0
    assert (online.steps, online.weight_of_new) == (3, 4.0)
    sequence = online.sequence
    assert online.rebuild() == sequence + 1 and online.refit(2) == sequence + 2
    assert "operations" in repr(online)


def test_the_model_it_started_from_is_not_changed():
    model = trained()
    before = model.user_factors_.copy()
    online = Online(model)
    online.insert(["ann", "eve"], ["up", "new"])
    np.testing.assert_array_equal(model.user_factors_, before)
    copy = online.to_factorizer()
    assert copy.user_ids_.tolist() == ["ann", "bob", "cy", "eve"]
    # The copy has the rows: it leaves out what was learned.
    assert "up" not in copy.recommend("ann")[0].tolist()
    np.testing.assert_array_equal(copy.recommend("ann")[0], online.recommend("ann")[0])
    # It cannot learn: some of its rows are not those that it was trained on. A copy of the Online can.
    with pytest.raises(ValueError, match="deepcopy"):
        Online(copy)
    twin = deepcopy(online)
    assert twin.insert("ann", "heat") == online.insert("ann", "heat") and bits(twin) == bits(online)


def test_many_events_at_once_are_those_one_by_one():
    x = matrix()
    model = Factorizer(factors=6, regularization=0.05, weights=weights.Popularity(mean=0.05, alpha=0.4), iterations=3).fit(x)
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 220, 60), rng.integers(0, 110, 60)
    values = rng.random(60, dtype=np.float32)
    for live in (False, True):
        together, one_by_one = Online(model, live=live), Online(model, live=live, num_threads=2)
        together.insert(users, items, values=values)
        for user, item, value in zip(users, items, values):
            one_by_one.insert(int(user), int(item), values=value)
        assert together.sequence == one_by_one.sequence and bits(together) == bits(one_by_one)
        assert together.recommend(int(users[0]))[0].dtype == np.int64
    assert bits(Online(model)) != bits(together)


def test_a_saved_model_continues_with_the_same_bits(tmp_path):
    online = Online(trained(), live=True, steps=2)
    online.insert(["ann", "dan"], ["up", "jaws"])
    online.save(tmp_path / "online.absentia")
    for back in (Online.load(tmp_path / "online.absentia"), pickle.loads(pickle.dumps(online))):
        assert back.sequence == online.sequence and back.steps == 2 and bits(back) == bits(online)
        back.insert("bob", "new")
        back.refit(1)
        again = Online.load(tmp_path / "online.absentia")
        again.insert("bob", "new")
        again.refit(1)
        assert bits(again) == bits(back)
    online.insert("bob", "new")
    online.refit(1)
    assert bits(online) == bits(back)
    changed = Online.load(tmp_path / "online.absentia", steps=5)
    assert changed.steps == 5 and changed.sequence == Online.load(tmp_path / "online.absentia").sequence + 1
    loaded = Factorizer.load(tmp_path / "online.absentia")
    assert loaded.user_ids_.tolist() == ["ann", "bob", "cy", "dan"]


def test_exposed_pairs_and_rows_of_a_loaded_model(tmp_path):
    shown = (["ann", "bob"], ["up", "heat"])
    model = Factorizer(factors=4, regularization=0.05, weights=0.05).fit(LOG, exposed=shown, exposed_weight=0.5)
    online = Online(model)
    assert online.nnz == 8
    online.insert("ann", "up")
    assert online.nnz == 8
    plain = trained()
    plain.save(tmp_path / "m.absentia")
    back = Factorizer.load(tmp_path / "m.absentia")
    with pytest.raises(ValueError, match="pass train"):
        Online(back)
    assert bits(Online(back, train=LOG)) == bits(Online(plain))


def test_rows_that_are_not_those_of_the_model_are_refused(tmp_path):
    trained().save(tmp_path / "m.absentia")
    back = Factorizer.load(tmp_path / "m.absentia")
    with pytest.raises(ValueError, match='user "ann" has 1 interactions in the training rows and 2 in the model'):
        Online(back, train=(["ann", "bob", "bob", "cy", "cy"], ["jaws", "jaws", "alien", "up", "heat"]))
    with pytest.raises(ValueError, match="pass paths"):
        Online(tmp_path / "m.absentia", train=LOG)
    with pytest.raises(FileNotFoundError):
        Online(tmp_path / "other.absentia")
    (tmp_path / "log.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(*LOG)))
    Factorizer(factors=2, regularization=0.05, weights=0.05).fit(str(tmp_path / "log.csv")).save(tmp_path / "f.absentia")
    (tmp_path / "log.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(FileNotFoundError, match="was trained on .*log.csv.* pass train="):
        Online(tmp_path / "f.absentia")
    assert Online(tmp_path / "f.absentia", train=str(tmp_path / "moved.csv")).nnz == 6
    with pytest.raises(NotFittedError):
        Online(Factorizer())
    with pytest.raises(ValueError):
        Online(Factorizer(solver="popularity").fit(LOG))


def test_hostile_events_are_refused_and_change_nothing():
    online = Online(trained())
    before, sequence = bits(online), online.sequence
    for arguments, error, words in [
        (dict(users="ann", items="up", values=float("nan")), ValueError, 'user "ann", item "up": its value is NaN'),
        (dict(users="ann", items="up", weights=-1.0), ValueError, "at least 0"),
        (dict(users="ann", items="up", weights=float("inf")), ValueError, "finite"),
        (dict(users="new", items="new", values=float("nan")), ValueError, "value"),
        (dict(users="x" * 2_000_000, items="up"), ValueError, "2000000 bytes"),
        (dict(users="", items="up"), ValueError, "0 bytes"),
        (dict(users=["ann", "bob"], items=["up"]), ValueError, "2 users"),
        (dict(users=1.5, items="up"), ValueError, "fractions"),
        (dict(users=None, items="up"), ValueError, "ids must be"),
        (dict(users="ann", items="up", times="yesterday"), ValueError, "\"yesterday\" is not a date"),
    ]:
        with pytest.raises(error, match=words):
            online.insert(**arguments)
    for call in (
        lambda: online.remove("ann", "up"),
        lambda: online.remove("ann", "nothing"),
        lambda: online.erase("nobody"),
        lambda: online.recommend("nobody"),
        lambda: online.recommend("ann", deny=["nothing"]),
    ):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(ValueError, match="weight"):
        online.expose("ann", "up", weights=-0.5)
    with pytest.raises(ValueError, match="steps is 1001"):
        online.steps = 1001
    with pytest.raises(ValueError):
        online.weight_of_new = -1.0
    with pytest.raises(ValueError):
        online.refit(0)
    assert online.sequence == sequence and bits(online) == before
    # Of several events, those before the one that is rejected stay.
    with pytest.raises(ValueError, match='entry 1: user "bob", item "up"'):
        online.insert(["ann", "bob"], ["up", "up"], values=[1.0, float("nan")])
    assert online.sequence == sequence + 1


def test_times_are_in_the_unit_of_the_training_data():
    log = {"user": [1, 1, 2], "item": [1, 2, 1], "time": [1_500_000_000, 1_500_000_100, 1_500_000_200]}
    model = Factorizer(factors=2, regularization=0.05, weights=0.05).fit(pytest.importorskip("pandas").DataFrame(log))
    online = Online(model)
    with pytest.raises(ValueError, match="times of events in ms, and the model was trained on times in s;"):
        online.insert(1, 3, times=1_500_000_300_000)
    online.insert(1, 3, times=np.datetime64("2018-01-01"))
    online.insert(1, 3, times=1_600_000_000)
    online.remove(1, 3, times=1_600_000_000)
    online.remove(1, 3)
    with pytest.raises(KeyError):
        online.remove(1, 3)


def test_the_command_line_learns_the_same_bits(tmp_path, monkeypatch):
    cli, rng = command_line(), np.random.default_rng(0)
    rows = [f"u{u},i{i},{1_500_000_000 + t}\n" for t, (u, i) in enumerate(zip(rng.integers(0, 60, 900), rng.integers(0, 40, 900)))]
    (tmp_path / "train.csv").write_text("user,item,time\n" + "".join(rows[:800]))
    new = rows[800:] + ["new,i3,1500001000\n", "u1,fresh,1500001001\n"]
    (tmp_path / "events.csv").write_text("user,item,time\n" + "".join(new))

    def run(*words):
        subprocess.run([cli, *words], check=True, capture_output=True, cwd=tmp_path)

    run("train", "train.csv", "--model", "m.absentia", "--factors", "6", "--iterations", "5", "--regularization", "0.05",
        "--weights", "popularity:mean=0.05,alpha=0.4")
    run("stream", "m.absentia", "events.csv", "--out", "cli.absentia", "--steps", "2", "--live", "--refit-every", "50", "--refit-sweeps", "1")
    monkeypatch.chdir(tmp_path)  # the configuration of the model names train.csv
    mine = Online("m.absentia", steps=2, live=True)
    events = [line.strip().split(",") for line in new]
    for start in range(0, len(events), 50):
        block = events[start : start + 50]
        mine.insert([e[0] for e in block], [e[1] for e in block], times=[int(e[2]) for e in block])
        if len(block) == 50:
            mine.refit(1)
    theirs = Online.load("cli.absentia")
    assert mine.sequence == theirs.sequence and bits(mine) == bits(theirs)
    # What Python saved goes on there.
    mine.save("python.absentia")
    (tmp_path / "more.csv").write_text("user,item,time\nu7,i9,1500002000\n")
    for name in ("python", "cli"):
        run("stream", f"{name}.absentia", "more.csv", "--out", f"{name}2.absentia")
    assert bits(Online.load("python2.absentia")) == bits(Online.load("cli2.absentia"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_refit_that_then_has_changed_nothing():
    x = matrix(3000, 1000, 0.02)
    online = Online(Factorizer(factors=64, regularization=0.05, weights=0.05, iterations=1).fit(x))
    before, sequence = bits(online), online.sequence
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        online.refit(100_000)
    timer.join()
    assert online.sequence == sequence and bits(online) == before
    online.insert(1, 2)
    # Events before an interruption stay, and the state is sound.
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    sequence, items = online.sequence, np.arange(200_000) % 1000
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        online.insert(np.zeros(200_000, dtype=np.int64), items)
    timer.join()
    assert sequence < online.sequence < sequence + 200_000
    online.rebuild()


def test_threads_share_a_model():
    online = Online(trained())

    def learn(user):
        for item in range(50):
            online.insert(user, f"i{item}")

    threads = [threading.Thread(target=learn, args=(f"t{at}",)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert online.nnz == 6 + 4 * 50
