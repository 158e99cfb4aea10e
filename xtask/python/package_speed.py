"""How fast the Python package is: `cargo xtask bench python`.

Prints the seconds of a sweep beside those of the command line, what a fit adds to its sweeps, and how long
every long call takes to end after Ctrl-C, and how long one user's recommendations take. Fails where a limit is
exceeded.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

from absentia import Factorizer

INTERRUPTED = Path(__file__).parents[2] / "bindings/python/tests/interrupted.py"
OPTIONS = "--factors 32 --iterations 8 --seed 0 --weights uniform:0.1 --regularization 0.01".split()


def training(folder):
    """Yields what was measured, the number and its limit, of training."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 4000, 200_000), rng.integers(0, 2000, 200_000)
    log, saved = folder / "log.csv", folder / "m.absentia"
    log.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(users, items)))
    command = [os.environ["ABSENTIA_CLI"], "train", log, "--model", saved, "--json", *OPTIONS]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    model = Factorizer(factors=32, regularization=0.01, iterations=8, random_state=0, weights=0.1)
    start = time.perf_counter()
    model.fit((users, items))
    took = time.perf_counter() - start
    mine = [sweep.seconds for sweep in model.history_]
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    theirs = [line["seconds"] for line in lines if "iteration" in line]
    # The best of eight, since other work on the machine can only add.
    yield "a sweep, against the command line's", min(mine) / min(theirs), 2.5
    yield "seconds that a fit adds to its sweeps", took - sum(mine), 1.0


def latency(folder):
    """Yields milliseconds of one user's recommendations by a loaded model, given what was seen as tables and arrays."""
    import pandas as pd
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 1000, 100_000), rng.integers(0, 9000, 100_000)
    numbers = pd.DataFrame({"user": users, "item": items, "rating": 1.0, "time": users})
    texts = numbers.assign(user=[f"u{user}" for user in users], item=[f"i{item}" for item in items])
    matrix = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)), shape=(1000, 9000))
    matrix.sum_duplicates()
    model = Factorizer(factors=64, regularization=0.01, iterations=1, weights=0.1)
    # As pandas before version 3 reads a file: equal texts are one object.
    names = {name: name for column in ("user", "item") for name in texts[column]}
    columns = {at: pd.Series([names[name] for name in texts[at]], dtype=object) for at in ("user", "item")}
    shared = pd.DataFrame({**numbers, **columns})
    # Others are looked up one by one, wherever they are in memory.
    for name, seen, user, limit in (
        ("a CSR matrix", matrix, 7, 0.4),
        ("two arrays of integers", (users, items), 7, 0.4),
        ("a table of integers", numbers, 7, 0.4),
        ("a table of texts", texts, "u7", 0.4),
        ("a table of texts as shared objects", shared, "u7", 0.4),
        ("a table of texts, each an object", texts.astype({"user": object, "item": object}), "u7", 1.0),
    ):
        model.fit(seen).save(folder / "latency.absentia")
        loaded = Factorizer.load(folder / "latency.absentia")
        loaded.recommend(user, seen=seen)
        took = min(timeit.repeat(lambda: loaded.recommend(user, seen=seen), number=20, repeat=20)) / 20
        yield f"milliseconds to recommend to one user who saw {name} of 100,000 rows", 1e3 * took, limit


def interruption(folder):
    """Yields the seconds that each long call takes to end after Ctrl-C."""
    done = subprocess.run([sys.executable, INTERRUPTED, folder], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        name, seconds = line.split(": ")
        yield f"seconds to end {name}", float("inf") if seconds == "None" else float(seconds), 1.0


def main():
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for measure in (training, latency, interruption):
            for name, number, limit in measure(Path(folder)):
                slow |= number > limit
                print(f"{name}: {number:.2f} (limit {limit:g}){'  TOO SLOW' if number > limit else ''}", flush=True)
    return slow


if __name__ == "__main__":
    sys.exit(main())
