"""Seconds of a sweep on a Ray cluster of this machine, two workers of one thread, beside one process of two threads.

Options: shapes to measure (yelp, amazon, small) and --factors 64,128 --rounds 3 --iterations 6; --nodes 2 puts the workers on
two nodes of Ray, between whose object stores rows are copied; --spark PYTHON measures Spark's ALS beside it, with the pyspark of
that interpreter.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bindings", "python", "tests"))

import ray_cluster

import absentia
from absentia.ray import fit
from absentia.ray._fit import _running, plan

# Users, items and entries of the data sets that the benchmarks of one machine generate as well.
SHAPES = {
    "yelp": (25_677, 25_815, 731_671),
    "amazon": (117_176, 75_389, 5_020_705),
    "small": (5_000, 4_300, 40_000),
}
# On larger data Spark would take many minutes.
SPARK_ENTRIES = 1_000_000


def write(path, users, items, entries):
    """Distinct pairs of popular items and active users, as parquet."""
    import pyarrow
    import pyarrow.parquet

    random = np.random.default_rng(1)
    pairs = np.empty(0, dtype=np.int64)
    while len(pairs) < entries:
        more = 2 * (entries - len(pairs)) + 1000
        user = (users * random.random(more) ** 1.6).astype(np.int64)
        item = (items * random.random(more) ** 2.2).astype(np.int64)
        pairs = np.unique(np.concatenate([pairs, user * items + item]))
    pairs = random.permutation(pairs)[:entries]
    for part, rows in enumerate(np.array_split(pairs, 4)):
        table = pyarrow.table({"user": rows // items, "item": rows % items})
        pyarrow.parquet.write_table(table, os.path.join(path, f"part-{part}.parquet"))
    return os.path.join(path, "part-*.parquet")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", default=["yelp", "amazon"])
    parser.add_argument("--factors", default="64,128")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--spark")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for shape in given.shapes:
            path = os.path.join(folder, shape)
            os.makedirs(path)
            sources[shape] = write(path, *SHAPES[shape])
        every = [(shape, factors) for shape in given.shapes for factors in map(int, given.factors.split(","))]
        with ray_cluster.cluster(given.nodes, cpus=2 // given.nodes, store=400):
            for shape, factors in every:
                measure(shape, sources[shape], factors, given)
        # Without Ray, which takes some of the processor even when it has nothing to do.
        for shape, factors in every:
            if given.spark and SHAPES[shape][2] <= SPARK_ENTRIES:
                measure_spark(shape, sources[shape], factors, given.spark)


def sent_so_far(sweep):
    """Bytes of the steps so far after the first sweep; later ones are not disturbed."""
    return _running[-1].traffic() if sweep == 1 else None


def measure(shape, source, factors, given):
    settings = {"factors": factors, "iterations": given.iterations, "regularization": 0.01, "random_state": 1}
    settings["weights"] = "popularity:mean=0.01,alpha=0.25"
    one, two = [], []
    for _ in range(given.rounds):
        alone = absentia.Factorizer(**settings, num_threads=2).fit(source)
        one += [sweep.seconds for sweep in alone.history_[1:]]
        traffic = []
        with fit(source, workers=2, callback=lambda sweep, *_: traffic.append(sent_so_far(sweep)), **settings) as run:
            two += [sweep.seconds for sweep in run.history[1:]]
            same = run.model().item_factors_.tobytes() == alone.item_factors_.tobytes()
            least = sum(need[3] for need in run._workers.run.needs)
            sent = (run._workers.traffic() - traffic[0]) / (given.iterations - 1)
            text = plan(run._workers.run)
    print(
        f"{shape}, K = {factors}, nodes {given.nodes}: best (middle) sweep of one process of two threads {min(one):.4f} "
        f"({np.median(one):.4f}) s, of two workers of one thread {min(two):.4f} ({np.median(two):.4f}) s, "
        f"{min(two) / min(one):.2f} ({np.median(two) / np.median(one):.2f}) times; {sent / 2**20:.1f} MiB travel, "
        f"{sent / least:.3f} times the least; bits are {'the same' if same else 'DIFFERENT'}",
        flush=True,
    )
    if factors == int(given.factors.split(",")[0]):
        print(text, flush=True)


def measure_spark(shape, source, factors, python):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spark_als.py")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, script, source, str(factors)], capture_output=True, text=True, env=environment)
    result = done.stdout.strip() or done.stderr.strip()[-400:]
    print(f"{shape}, K = {factors}: Spark's ALS, BLAS and seconds an iteration: {result}", flush=True)


main()
