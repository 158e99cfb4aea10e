"""The same text means the same run on the command line, in a configuration file and in Python."""

import inspect
import json
import os
import pathlib
import subprocess
from typing import Any, Dict, List

import absentia
import numpy as np
import pytest
import scipy.sparse as sp
from absentia import _core, _options

CLI = os.environ.get("ABSENTIA_CLI")
needs_cli = pytest.mark.skipif(CLI is None, reason="needs the command line: set ABSENTIA_CLI")

SMALL = {"factors": 4, "iterations": 3}


@pytest.fixture
def ratings(tmp_path: Any) -> str:
    """A file with ratings and times."""
    rows = [f"u{n % 12},i{n * n % 17},{1 + n % 5},{1577836800 + 86400 * n}" for n in range(120)]
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating,time\n" + "\n".join(rows) + "\n")
    return str(path)


def ran(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(CLI), *words], capture_output=True, text=True)


def flags(settings: Dict[str, Any]) -> List[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def trained(path: Any) -> absentia.Factorizer:
    return absentia.Factorizer.load(str(path))


def same_factors(left: absentia.Factorizer, right: absentia.Factorizer) -> bool:
    pairs = [(left.user_factors_, right.user_factors_), (left.item_factors_, right.item_factors_)]
    return all(np.array_equal(one, other) for one, other in pairs)


# One case at least for each rule that once had two readings.
ACCEPTED: List[Dict[str, Any]] = [
    {},
    {"solver": "svd"},
    {"solver": "bpr"},
    {"solver": "itemknn"},
    {"solver": "subspace:2"},
    {"targets": "raw", "regularization": 0.1},
    {"targets": "normalized:0.35", "regularization": 0.1},
    {"confidence": "linear:2", "regularization": 0.1},
    {"confidence": "log:10", "regularization": 0.1},
    {"confidence": "decay:30d", "regularization": 0.1},
    {"confidence": 2, "regularization": 0.1},
    {"weights": "popularity:mean=0.02,alpha=0.25"},
    {"weights": "uniform:0.1", "regularization": 0.1},
    {"regularization": 0.1, "post_scale": 0.5, "init_std": 0.1},
    {"regularization": 0.1, "post_scale": 0.5, "post_scale_half_life": "12d"},
]


# How the file is read, which of its rows are used, and which are held out: the flags of the command line are keywords of fit.
OPTIONS: List[Dict[str, Any]] = [
    {"min_rating": 3},
    {"k_core": "8,4"},
    {"duplicates": "sum", "targets": "raw", "regularization": 0.1},
    {"duplicates": "max", "targets": "raw", "regularization": 0.1},
    {"sample": "rows:0.5", "sample_seed": 3},
    {"since": "2020-01-20", "until": "2020-04-20"},
    {"user_col": "item", "item_col": "user", "rating_col": "none"},
    {"rating_col": "none", "weight_col": "rating", "confidence": "column", "regularization": 0.1},
    {"time_unit": "ms", "confidence": "decay:30d", "regularization": 0.1},
    {"valid_split": "leave-one-out", "valid_metric": "ndcg@5", "patience": 1, "iterations": 8, "regularization": 0.1},
    {"valid": "shown.csv", "regularization": 0.1},
    {"exclude": "shown.csv"},
    {"exposed": "shown.csv", "exposed_weight": 0.5, "regularization": 0.1},
    {"exposed": "shown.csv", "valid_split": "last:1", "valid_pick": "random", "regularization": 0.1},
    {"skip_bad": 3, "format": "csv", "separator": ",", "header": True},
    {"preset": "plays", "regularization": 0.1},
    {"preset": "plays", "confidence": "linear:2", "regularization": 0.1},
    {"solver": "als-cg", "cg_steps": 1, "device": "cpu", "memory_limit": "8GiB"},
]
OF_CONSTRUCTOR = frozenset(inspect.signature(absentia.Factorizer.__init__).parameters)


def fitted(path: str, settings: Dict[str, Any]) -> absentia.Factorizer:
    constructor = {name: value for name, value in settings.items() if name in OF_CONSTRUCTOR}
    others = {name: value for name, value in settings.items() if name not in OF_CONSTRUCTOR}
    return absentia.Factorizer(**constructor).fit(path, **others)


@needs_cli
@pytest.mark.parametrize("settings", OPTIONS, ids=str)
def test_one_flag_gives_one_run(settings: Dict[str, Any], ratings: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("shown.csv").write_text("user,item,rating\nu1,i9,5\nu2,i16,1\nu3,i9,4\nu1,i2,3\nu2,i8,2\nu3,i1,5\n")
    settings = {**SMALL, **settings}
    by_flags, by_file = tmp_path / "flags.absentia", tmp_path / "file.absentia"
    words = [flag.replace("=True", "") for flag in flags(settings)]
    done = ran("train", ratings, "--model", str(by_flags), *words)
    assert done.returncode == 0, done.stderr
    config = tmp_path / "run.toml"
    keys = {name.replace("_", "-"): value for name, value in settings.items()}
    config.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()))
    done = ran("train", ratings, "--model", str(by_file), "--config", str(config))
    assert done.returncode == 0, done.stderr
    python = fitted(ratings, settings)
    for other in (trained(by_flags), trained(by_file)):
        assert same_factors(other, python)
        assert other.user_ids_.tolist() == python.user_ids_.tolist()
        assert other.item_ids_.tolist() == python.item_ids_.tolist()
        assert [sweep.validation for sweep in other.history_] == [sweep.validation for sweep in python.history_]
    # The settings have an effect, so that the comparison can fail.
    usual = fitted(ratings, {name: value for name, value in settings.items() if name in ("factors", "iterations", "regularization")})
    changes_nothing = {"skip_bad", "time_unit", "memory_limit"} & set(settings)
    assert changes_nothing or not same_factors(usual, python)


def test_every_key_of_a_job_is_an_argument() -> None:
    fit = set(inspect.signature(absentia.Factorizer.fit).parameters) | _options.NAMES
    known = (OF_CONSTRUCTOR | fit) - {"self", "options"}
    only_here = {"X", "y", "columns", "sample_weight", "relations", "callback", "show_progress"}
    assert known - only_here == set(_core.setting_names()) - {"data"}
    assert not OF_CONSTRUCTOR & fit - {"self"}


def test_tables_are_prepared_as_files_are(ratings: str) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(ratings)
    for options in ({"min_rating": 3}, {"k_core": (8, 4)}, {"valid_split": "leave-one-out", "valid_pick": "random"}, {"since": "2020-02-01"}, {"user_col": "item", "item_col": 1}):
        settings = {**SMALL, "regularization": 0.1, "duplicates": "last", "targets": "raw", **options}
        assert same_factors(fitted(ratings, settings), fitted(table, settings)), options
    # A matrix is taken apart into rows where it must be.
    matrix = sp.csr_matrix((np.float32([5, 1, 4, 2]), ([0, 0, 1, 2], [0, 1, 1, 0])))
    few = absentia.Factorizer(factors=2, regularization=0.1).fit(matrix, min_rating=2)
    assert few.user_factors_.shape == (3, 2)
    without = sp.csr_matrix((np.float32([5, 4, 2]), ([0, 1, 2], [0, 1, 0])))
    assert same_factors(few, absentia.Factorizer(factors=2, regularization=0.1).fit(without))


def test_options_without_effect_are_refused(ratings: str) -> None:
    matrix = sp.csr_matrix(np.eye(3, dtype=np.float32))
    model = absentia.Factorizer(**SMALL)
    for options in ({"separator": ";"}, {"user_col": "who"}, {"time_unit": "ms"}, {"shape": (3, 3)}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} has no effect on a csr_matrix"):
            model.fit(matrix, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="min_ratin"):
        model.fit(ratings, min_ratin=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a weight of exposed pairs is given"):
        model.fit(matrix, exposed_weight=0.5)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(ratings, sample_weight=np.ones(120))
    with pytest.raises(ValueError, match="weight_col or sample_weight"):
        absentia.Factorizer(confidence="column").fit(matrix)
    with pytest.raises(MemoryError, match="the run needs"):
        absentia.Factorizer(memory_limit="1KiB").fit(ratings)
    with pytest.raises(ValueError, match="device is \"gpu\".*cpu"):
        absentia.Factorizer(device="gpu").fit(ratings)


def test_settings_without_effect_are_reported(ratings: str, caplog: Any) -> None:
    absentia.Factorizer(block=8, regularization=0.1, **SMALL).fit(ratings, patience=3, sample_seed=4)
    for text in ("block is for solver subspace", "patience has no effect", "sample_seed has no effect without sample"):
        assert text in caplog.text
    caplog.clear()
    absentia.Factorizer(regularization=0.1, **SMALL).fit(ratings)
    assert not caplog.records


@needs_cli
def test_the_configuration_of_a_model_repeats_its_run(ratings: str, tmp_path: Any) -> None:
    model = fitted(ratings, {**SMALL, "min_rating": 2, "k_core": 2, "confidence": "decay:30d"})
    model.save(tmp_path / "python.absentia")
    done = ran("inspect", str(tmp_path / "python.absentia"), "--print-config")
    assert done.returncode == 0, done.stderr
    (tmp_path / "run.toml").write_text(done.stdout)
    again = tmp_path / "again.absentia"
    done = ran("train", "--config", str(tmp_path / "run.toml"), "--model", str(again))
    assert done.returncode == 0, done.stderr
    assert same_factors(trained(again), model)


@needs_cli
@pytest.mark.parametrize("settings", ACCEPTED, ids=str)
def test_one_text_gives_one_run(settings: Dict[str, Any], ratings: str, tmp_path: Any) -> None:
    settings = {**SMALL, **settings}
    by_flags, by_file = tmp_path / "flags.absentia", tmp_path / "file.absentia"
    done = ran("train", ratings, "--model", str(by_flags), *flags(settings))
    assert done.returncode == 0, done.stderr
    keys = {name.replace("_", "-"): value for name, value in settings.items()}
    config = tmp_path / "run.toml"
    config.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()))
    done = ran("train", ratings, "--model", str(by_file), "--config", str(config))
    assert done.returncode == 0, done.stderr
    python = absentia.Factorizer(**settings).fit(ratings)
    assert same_factors(trained(by_flags), python)
    assert same_factors(trained(by_file), python)
    assert trained(by_flags).regularization_ == python.regularization_
    assert trained(by_flags).targets_ == python.targets_


REFUSED = [
    ("targets", "rough"),
    ("targets", "normalized"),
    ("targets", "raw:junk"),
    ("confidence", "column:junk"),
    ("confidence", "decay:30"),
    ("confidence", "linear"),
    ("solver", "als:3"),
    ("solver", "EALS"),
    ("weights", "popularty:mean=1,alpha=0"),
]


@needs_cli
@pytest.mark.parametrize("name, text", REFUSED)
def test_one_text_is_refused_by_all(name: str, text: str, ratings: str, tmp_path: Any) -> None:
    model = str(tmp_path / "m.absentia")
    assert ran("train", ratings, "--model", model, f"--{name}", text).returncode == 2
    config = tmp_path / "run.toml"
    config.write_text(f"seed = 1\n{name} = {json.dumps(text)}\n")
    done = ran("train", ratings, "--model", model, "--config", str(config))
    assert done.returncode == 2
    assert f"{config}:2: {name} = " in done.stderr
    with pytest.raises(ValueError, match=name if name != "weights" else "popularty"):
        absentia.Factorizer(**{name: text}).fit(ratings)


def test_a_baseline_has_weights_of_its_own(ratings: str) -> None:
    for solver in ("svd", "ials1", "rcd", "ii-svd", "bpr", "sgd-observed", "popularity", "itemknn"):
        absentia.Factorizer(solver=solver, **SMALL).fit(ratings)


w = absentia.weights
OBJECTS = [
    (w.Uniform(), "uniform"),
    (w.Uniform(0.1), "uniform:0.1"),
    (w.Popularity(), "popularity"),
    (w.Popularity(mean=0.02, alpha=0.5), "popularity:mean=0.02,alpha=0.5"),
    (w.Activity(c0=3, alpha=0.5), "activity:c0=3,alpha=0.5"),
    (w.PopularityActivity(), "popularity*activity"),
    (w.Age(), "age"),
    (w.Available(mean=0.1, slices="week"), "available:mean=0.1,slices=week"),
    (w.Learned(), "learned"),
    (w.Popularity() + w.Uniform(), "popularity + uniform"),
    (w.Popularity() * w.Age(), "popularity*age"),
    (
        w.Popularity(mean=0.1, alpha=0.25) * w.Activity(alpha=0.5) * w.Age(sharpness=0.4),
        "popularity*activity*age:mean=0.1,alpha=0.25,beta=0.5,sharpness=0.4",
    ),
]


@pytest.mark.parametrize("scheme, text", OBJECTS, ids=str)
def test_weights_as_objects_are_those_of_their_text(scheme: Any, text: str, ratings: str) -> None:
    settings: Dict[str, Any] = {**SMALL, "regularization": 0.1}
    by_object = absentia.Factorizer(weights=scheme, **settings).fit(ratings)
    by_text = absentia.Factorizer(weights=text, **settings).fit(ratings)
    assert same_factors(by_object, by_text)
    # What goes to other machines as text has the same meaning.
    assert _core.weights_text(scheme._text()) == " + ".join(_core.weights_text(term) for term in text.split(" + "))


def test_weights_go_to_a_cluster_as_their_text() -> None:
    from absentia.ray._fit import _keys

    def sent(scheme: Any) -> str:
        return str(_keys("rows.csv", None, {"weights": scheme})["weights"])

    assert sent(w.Popularity() + w.Uniform()) == "popularity:mean=0.01,alpha=0.25 + uniform:0.01"
    assert _core.weights_text(sent(w.Age())) == _core.weights_text("age")
    assert sent(w.Age(mean=0.1, released="dates.csv")).endswith("released=dates.csv")
    for scheme in (w.LowRank([[1.0]], [[1.0]]), w.Age(mean=0.1, released={3: "2014-05-20"}) * w.Popularity(alpha=0.4)):
        with pytest.raises(ValueError, match="arrays in memory"):
            sent(scheme)


def test_commands_and_functions_have_the_same_defaults() -> None:
    from absentia.ray.__main__ import _arguments

    every = int(_core.default_of("train", "checkpoint-every"))
    assert _arguments().parse_args(["train", "run.toml", "--workers", "2"]).checkpoint_every == every == 10
    cut_offs = {name.split("@")[1] for name in absentia._prediction.DEFAULT_METRICS}
    assert cut_offs == {"10", "20"}
    with pytest.raises(KeyError, match="train --nothing"):
        _core.default_of("train", "nothing")


def test_the_constructor_has_the_defaults_of_the_table() -> None:
    known = inspect.signature(absentia.Factorizer.__init__).parameters
    # These are chosen where they are not given, or come from the preset or the text of the solver.
    chosen = {"weights", "targets", "regularization", "post_scale", "confidence", "block", "cg_steps", "neighbours"}
    defaults = dict(_core.default_settings())
    shared = [name for name in defaults if name in known]
    assert len(shared) >= 10
    for name in shared:
        default = known[name].default
        if name in chosen:
            assert default is None
        elif isinstance(default, str):
            assert default == defaults[name]
        else:
            assert float(default) == float(defaults[name]), name


def test_a_run_that_does_not_fit_is_refused() -> None:
    # Factors of 200 GB, twice.
    shape = (3_000_000, 3_000_000)
    matrix = sp.csr_matrix(([1.0, 1.0], ([0, 1], [0, 1])), shape=shape)
    with pytest.raises(MemoryError, match="the run needs"):
        absentia.Factorizer(factors=8192, regularization=0.1).fit(matrix)
