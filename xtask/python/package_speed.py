"""How fast the Python package is: `cargo xtask bench python`.

Prints the seconds of a sweep beside those of the command line, what a fit adds to its sweeps, and how long
every long call takes to end after Ctrl-C. Fails where a limit is exceeded.
"""

import os
import subprocess
import sys
import tempfile
import time
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
    command = [os.environ["ABSENTIA_CLI"], "train", log, "--model", saved, *OPTIONS]
    subprocess.run(command, check=True, capture_output=True)
    model = Factorizer(factors=32, regularization=0.01, iterations=8, random_state=0, weights=0.1)
    start = time.perf_counter()
    model.fit((users, items))
    took = time.perf_counter() - start
    mine = [sweep.seconds for sweep in model.history_]
    theirs = [sweep.seconds for sweep in Factorizer.load(saved).history_]
    # The best of eight, since other work on the machine can only add.
    yield "a sweep, against the command line's", min(mine) / min(theirs), 2.5
    yield "seconds that a fit adds to its sweeps", took - sum(mine), 1.0


def interruption(folder):
    """Yields the seconds that each long call takes to end after Ctrl-C."""
    done = subprocess.run([sys.executable, INTERRUPTED, folder], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        name, seconds = line.split(": ")
        yield f"seconds to end {name}", float("inf") if seconds == "None" else float(seconds), 1.0


def main():
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for measure in (training, interruption):
            for name, number, limit in measure(Path(folder)):
                slow |= number > limit
                print(f"{name}: {number:.2f} (limit {limit:g}){'  TOO SLOW' if number > limit else ''}", flush=True)
    return slow


if __name__ == "__main__":
    sys.exit(main())
