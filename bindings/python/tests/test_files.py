"""Models in files and pickles, bit for bit, here and on the command line."""

import os
import pickle
import subprocess

import numpy as np
import pytest
from sample import matrix

from absentia import Factorizer, weights


@pytest.fixture(scope="module")
def fitted():
    return Factorizer(factors=6, weights=weights.Popularity(c0=5, alpha=0.4), iterations=8, reg_exponent=0.0).fit(matrix())


def test_models_are_pickled_and_saved_bit_for_bit(fitted, tmp_path):
    fitted.save(tmp_path / "model.absentia")
    for back in (pickle.loads(pickle.dumps(fitted)), Factorizer.load(tmp_path / "model.absentia")):
        np.testing.assert_array_equal(back.user_factors_, fitted.user_factors_)
        # Files of equal runs are equal: seconds are not saved.
        assert back.history_ == [sweep._replace(seconds=0.0) for sweep in fitted.history_]
        assert back.get_params()["solver"] == "eals"
        if back.stop_reason_ == "loaded":
            with pytest.raises(ValueError, match="pass seen"):
                back.recommend(0)
        else:
            np.testing.assert_array_equal(back.recommend(0)[0], fitted.recommend(0)[0])
        np.testing.assert_array_equal(back.recommend(0, seen=matrix())[0], fitted.recommend(0)[0])
    with pytest.raises(FileNotFoundError):
        Factorizer.load(tmp_path / "other.absentia")
    (tmp_path / "bad.absentia").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="bad.absentia"):
        Factorizer.load(tmp_path / "bad.absentia")
    safetensors = pytest.importorskip("safetensors.numpy")
    fitted.to_safetensors(tmp_path / "m.safetensors")
    stored = safetensors.load_file(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(stored["user_factors"], fitted.user_factors_)


def test_models_of_implicit_load(tmp_path):
    theirs = pytest.importorskip("implicit.cpu.als").AlternatingLeastSquares(factors=4, iterations=2)
    theirs.fit(matrix(), show_progress=False)
    theirs.save(str(tmp_path / "m.npz"))
    np.testing.assert_array_equal(Factorizer.load(tmp_path / "m.npz").item_factors_, theirs.item_factors)


def command_line():
    path = os.environ.get("ABSENTIA_CLI")
    if not path:
        pytest.skip("ABSENTIA_CLI does not name the absentia binary")
    return path


def test_the_command_line_trains_the_same_bits(tmp_path):
    cli, rng = command_line(), np.random.default_rng(0)
    rows = "".join(f"u{u},i{i},{r}\n" for u, i, r in zip(rng.integers(0, 80, 900), rng.integers(0, 50, 900), rng.integers(1, 6, 900)))
    (tmp_path / "log.csv").write_text("user,item,rating\n" + rows)
    options = "--factors 5 --iterations 6 --regularization 0.05 --reg-exponent 0.5 --seed 7 --confidence linear:2 --targets log".split()
    saved = tmp_path / "cli.absentia"
    subprocess.run([cli, "train", tmp_path / "log.csv", "--model", saved, "--weights", "popularity:c0=4,alpha=0.4", *options],
                   check=True, capture_output=True)
    mine = Factorizer(factors=5, iterations=6, regularization=0.05, reg_exponent=0.5, random_state=7, confidence="linear:2", targets="log",
                      weights=weights.Popularity(c0=4, alpha=0.4)).fit(tmp_path / "log.csv")
    theirs = Factorizer.load(saved)
    np.testing.assert_array_equal(mine.user_factors_, theirs.user_factors_)
    np.testing.assert_array_equal(mine.item_factors_, theirs.item_factors_)
    assert mine.user_ids_.tolist() == theirs.user_ids_.tolist()
    assert [s.objective for s in mine.history_] == [s.objective for s in theirs.history_]
    # And the other way round: what Python saved has the same bits on the command line, and answers there.
    mine.save(tmp_path / "python.absentia")
    subprocess.run([cli, "export", tmp_path / "python.absentia", "--out", tmp_path / "factors"], check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "factors" / "P.npy"), mine.user_factors_)
    np.testing.assert_array_equal(np.load(tmp_path / "factors" / "Q.npy"), mine.item_factors_)
    assert (tmp_path / "factors" / "items.txt").read_text().split() == mine.item_ids_.tolist()
    said = subprocess.run([cli, "recommend", tmp_path / "python.absentia", "u3", "--train", tmp_path / "log.csv"],
                          check=True, capture_output=True, text=True).stdout
    places = [said.index(item) for item in mine.recommend("u3", n=5)[0]]
    assert places == sorted(places)
    # A file of the command line that went through Python is the same file.
    theirs.save(tmp_path / "again.absentia")
    assert (tmp_path / "again.absentia").read_bytes() == saved.read_bytes()


def test_a_pickle_holds_our_format_and_what_users_have_seen(fitted):
    state = fitted.__getstate__()
    assert set(state) == {"params", "model", "kinds", "stop_reason", "chosen_weights", "seen", "reading"}
    assert b"user_factors" in state["model"][:4096]
    unfitted = pickle.loads(pickle.dumps(Factorizer(factors=9, weights=weights.Popularity(c0=2))))
    assert unfitted.get_params()["weights"] == weights.Popularity(c0=2) and unfitted.factors == 9
    with pytest.raises(ValueError):
        unfitted.recommend(0)


def test_files_that_cannot_be_written_are_os_errors(fitted, tmp_path):
    with pytest.raises(OSError):
        fitted.save(tmp_path / "no" / "such" / "folder" / "m.absentia")
