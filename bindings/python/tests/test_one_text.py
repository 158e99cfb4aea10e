"""The same text means the same run on the command line, in a configuration file and in Python."""

import inspect
import json
import os
import subprocess
from typing import Any, Dict, List

import absentia
import numpy as np
import pytest
import scipy.sparse as sp
from absentia import _core, _data

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
    {"targets": "raw:junk", "regularization": 0.1},
    {"targets": "normalized:0.35", "regularization": 0.1},
    {"confidence": "linear:2", "regularization": 0.1},
    {"confidence": "log:10", "regularization": 0.1},
    {"confidence": "decay:30d", "regularization": 0.1},
    {"confidence": 2, "regularization": 0.1},
    {"weights": "popularity:mean=0.02,alpha=0.25"},
    {"weights": "uniform:0.1", "regularization": 0.1},
    {"regularization": 0.1, "post_scale": 0.5, "init_std": 0.1},
]


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


def test_the_constructor_has_the_defaults_of_the_table() -> None:
    known = inspect.signature(absentia.Factorizer.__init__).parameters
    # These are chosen where they are not given.
    chosen = {"weights", "targets", "regularization", "post_scale"}
    defaults = dict(_core.default_settings())
    assert _data.FILE_DUPLICATES == defaults["duplicates"]
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
