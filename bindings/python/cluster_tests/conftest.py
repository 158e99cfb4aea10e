"""What ``cargo xtask cluster`` tests: sides of at least 20,000 rows on seven nodes."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests"))

import ray_cluster

SIZES = {"users": 21_000, "items": 20_500, "count": 120_000}


FIGURES = []


@pytest.fixture
def say():
    """Takes a line that is printed after the tests."""
    return FIGURES.append


def pytest_terminal_summary(terminalreporter):
    for line in FIGURES:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def nodes():
    # Without this, Ray asks nodes every three seconds whether they are there, and gives them up after five failures.
    config = {"health_check_period_ms": 1000, "health_check_timeout_ms": 5000, "health_check_failure_threshold": 3}
    with ray_cluster.cluster(7, config=config) as started:
        yield started


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Rows, and arrays for weights and factors by id."""
    folder = tmp_path_factory.mktemp("cluster")
    ray_cluster.write(str(folder), files=9, **SIZES)
    user, item, _ = ray_cluster.rows(**SIZES)
    random = np.random.default_rng(3)
    sides = {"users": (user, "u"), "items": (item, "i")}
    for side, (numbers, letter) in sides.items():
        # As the engine orders ids: by bytes.
        ids = sorted({f"{letter}{number}" for number in numbers})
        for name, table in {
            "weights": random.uniform(0.0, 0.2, size=(len(ids), 3)),
            "start": random.normal(0.0, 0.1, size=(len(ids), 8)),
        }.items():
            with open(folder / f"{side}-{name}.csv", "w") as file:
                file.writelines(f"{id},{','.join(f'{x:.5f}' for x in row)}\n" for id, row in zip(ids, table))
        with open(folder / f"{side}-groups.csv", "w") as file:
            file.write("id,group\n")
            file.writelines(f"{name},{'abc'[number % 3]}\n" for number, name in enumerate(ids))
    with open(folder / "table.csv", "w") as file:
        file.write("segment,a,b,c\n")
        for segment, weights in {"a": "0.01,0.02,0.03", "b": "0.02,0.04,0.01", "c": "0.03,0.01,0.05"}.items():
            file.write(f"{segment},{weights}\n")
    shown = random.choice(len(user), size=9000)
    with open(folder / "shown.csv", "w") as file:
        file.write("user,item\n")
        file.writelines(f"u{user[at]},i{item[(at * 7) % len(item)]}\n" for at in shown)
    return folder
