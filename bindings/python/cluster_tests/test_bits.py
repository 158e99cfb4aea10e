"""One process and 2, 3 and 7 workers have the same bits, whatever is trained."""

import ray_cluster
import pytest

import absentia
from absentia.ray import fit

BASE = {"factors": 8, "iterations": 2, "regularization": 0.005, "init_std": 0.1, "random_state": 5}
UNIFORM = {"weights": "uniform:0.03"}

CASES = {
    "eals": {"solver": "eals", **UNIFORM},
    "subspace": {"solver": "subspace:4", **UNIFORM},
    "als": {"solver": "als", **UNIFORM},
    "als-cg": {"solver": "als-cg:2", **UNIFORM},
    "popularity": {"weights": "popularity:mean=0.02,alpha=0.4"},
    "popularity and activity": {"weights": "popularity*activity:c0=300,alpha=0.4,beta=0.3"},
    "sum": {"weights": "popularity:c0=200,alpha=0.5 + uniform:0.01", "solver": "als"},
    "normalized targets": {"targets": "normalized:0.3,0.2", **UNIFORM},
    "raw targets": {"targets": "raw", "confidence": "log:2,0.5", **UNIFORM},
    "added ratings": {"targets": "raw", "duplicates": "sum", **UNIFORM},
    "minimum rating": {"min_rating": 3, **UNIFORM},
    "rank 3, eals": {"weights": "lowrank:{folder}/users-weights.csv,{folder}/items-weights.csv", "solver": "eals"},
    "rank 3, als": {"weights": "lowrank:{folder}/users-weights.csv,{folder}/items-weights.csv", "solver": "als"},
    "groups": {"weights": "groups:{folder}/table.csv,{folder}/users-groups.csv,{folder}/items-groups.csv"},
    "k-core": {"k_core": 3, **UNIFORM},
}


def filled(settings, folder):
    return {key: value.format(folder=folder) if isinstance(value, str) else value for key, value in settings.items()}


def alone(source, settings, **options):
    names = {"min_rating", "duplicates", "k_core"}
    data = {key: value for key, value in settings.items() if key in names}
    rest = {key: value for key, value in settings.items() if key not in names}
    return absentia.Factorizer(**BASE, **rest).fit(source, **data, **options)


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_workers_has_the_bits_of_one_process(nodes, folder, name):
    settings, source = filled(CASES[name], folder), str(folder / "part-*.csv")
    expected = ray_cluster.bits(alone(source, settings))
    for workers in (2, 3, 7):
        with fit(source, workers=workers, **BASE, **settings) as run:
            assert ray_cluster.bits(run.model()) == expected, f"{name}, {workers} workers"


def test_pairs_that_were_shown_and_not_taken(nodes, folder):
    source, shown = str(folder / "part-*.csv"), str(folder / "shown.csv")
    expected = ray_cluster.bits(alone(source, UNIFORM, exposed=shown, exposed_weight=0.3))
    with fit(source, workers=3, exposed=shown, exposed_weight=0.3, **BASE, **UNIFORM) as run:
        assert ray_cluster.bits(run.model()) == expected


def test_factors_that_are_given(nodes, folder):
    source, init = str(folder / "part-*.csv"), [str(folder / f"{side}-start.csv") for side in ("users", "items")]
    expected = ray_cluster.bits(alone(source, UNIFORM, init=init))
    with fit(source, workers=3, init=init, **BASE, **UNIFORM) as run:
        assert ray_cluster.bits(run.model()) == expected


def test_a_run_goes_on_with_another_number_of_workers(nodes, folder, tmp_path):
    source = str(folder / "part-*.csv")
    settings = {**BASE, **UNIFORM, "iterations": 4}
    expected = ray_cluster.bits(absentia.Factorizer(**settings).fit(source))
    stored = {"checkpoint": str(tmp_path), **settings}
    fit(source, workers=7, callback=lambda sweep, *_: sweep == 2, **stored).close()
    with fit(source, workers=3, resume=True, **stored) as run:
        assert ray_cluster.bits(run.model()) == expected


def test_sweeps_that_are_repeated_in_double_precision(nodes, tmp_path):
    """Where observed entries weigh far less than missing ones, workers also need all rows of the other side."""
    with open(tmp_path / "dense.csv", "w") as file:
        file.write("user,item\n")
        file.writelines(f"{user},{item}\n" for user in range(2100) for item in range(40) if (user + item) % 10)
    settings = {
        "factors": 32,
        "iterations": 4,
        "regularization": 1e-6,
        "reg_exponent": 0.0,
        "confidence": 0.01,
        "weights": "uniform:1",
        "init_std": 0.5,
        "random_state": 1,
        "solver": "als",
    }
    source = str(tmp_path / "dense.csv")
    expected = ray_cluster.bits(absentia.Factorizer(**settings).fit(source))
    with fit(source, workers=2, **settings) as run:
        assert ray_cluster.bits(run.model()) == expected
