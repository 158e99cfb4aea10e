"""From files to a model on a Ray cluster of this machine: `cluster_scale.py ENTRIES [--workers 2] [--factors 64]`.

Prints the seconds of writing the files, reading and dividing them, each sweep, and writing the model.
"""

import argparse
import os
import resource
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bindings", "python", "tests"))

import ray_cluster

from absentia.ray import fit
from absentia.ray._fit import plan


def write(folder, users, items, entries, files):
    import pyarrow
    import pyarrow.parquet

    random = np.random.default_rng(1)
    for part in range(files):
        user = (users * random.random(entries // files) ** 1.6).astype(np.int32)
        item = (items * random.random(entries // files) ** 2.2).astype(np.int32)
        table = pyarrow.table({"user": user, "item": item})
        pyarrow.parquet.write_table(table, os.path.join(folder, f"part-{part:03d}.parquet"))
    return os.path.join(folder, "part-*.parquet")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", type=int)
    parser.add_argument("--users", type=int, default=2_000_000)
    parser.add_argument("--items", type=int, default=500_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--factors", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--store", type=int, default=2500, help="object store of a node, in MiB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ray_cluster.cluster(1, cpus=given.workers, store=given.store):
        began = time.monotonic()
        source = write(folder, given.users, given.items, given.entries, 32)
        print(f"wrote {given.entries:,} rows in {time.monotonic() - began:.0f} s", flush=True)
        began = time.monotonic()
        first = []
        settings = {"factors": given.factors, "iterations": given.iterations, "regularization": 0.01, "random_state": 1}
        with fit(
            source,
            workers=given.workers,
            weights="popularity:mean=0.01,alpha=0.25",
            callback=lambda *_: first.append(time.monotonic()),
            **settings,
        ) as run:
            sweeps = [sweep.seconds for sweep in run.history]
            print(plan(run._workers.run), flush=True)
            print(f"read and divided in {first[0] - began - sweeps[0]:.0f} s; sweeps {', '.join(f'{s:.2f}' for s in sweeps)} s")
            print(f"objective {', '.join(f'{sweep.objective:.6g}' for sweep in run.history)}")
            saved = time.monotonic()
            run.save_folder(os.path.join(folder, "model"))
            print(f"model written in {time.monotonic() - saved:.1f} s; files to model {time.monotonic() - began:.0f} s", flush=True)
        print(f"largest process of the driver {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


main()
