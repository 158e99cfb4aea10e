"""Eight workers, each limited to a quarter of what one process takes in all: the same bits."""

import os
import subprocess
import sys

import numpy as np
import pytest
import ray_cluster

CGROUP = "/sys/fs/cgroup/memory"
WORKERS = 8
# Bytes of the object store of a node, and of a process of Ray with Python before it reads anything.
STORE, EMPTY = 100 * 2**20, 220 * 2**20
# Of the rest, what a worker takes for its part and for rows of others; what is left is for reading, and for arrays of Python.
SHARE = 0.7
# Users, items and rows such that a quarter of one process is far more than an empty process of Ray.
SHAPE = (4_800_000, 1_600_000, 32_000_000)
SETTINGS = {"factors": 64, "iterations": 2, "regularization": 0.005, "weights": "uniform:0.03", "random_state": 5}

ALONE = """
import absentia, hashlib, resource, sys
model = absentia.Factorizer(**{settings!r}, num_threads=2).fit(sys.argv[1])
digest = hashlib.sha256(model.user_factors_.tobytes() + model.item_factors_.tobytes()).hexdigest()
print(digest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def write(folder, users, items, entries):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(1)
    for part in range(16):
        user = (users * random.random(entries // 16) ** 1.6).astype(np.int32)
        item = (items * random.random(entries // 16) ** 2.2).astype(np.int32)
        # Popular ones are not neighbours: a chunk of them alone would need rows of nearly all others.
        user, item = ((7919 * rows.astype(np.int64)) % count for rows, count in ((user, users), (item, items)))
        parquet.write_table(pyarrow.table({"user": user, "item": item}), os.path.join(folder, f"part-{part:02d}.parquet"))
    return os.path.join(folder, "part-*.parquet")


@pytest.fixture
def group():
    """A group of processes with limited memory."""
    path = f"{CGROUP}/absentia-test-{os.getpid()}"
    try:
        os.makedirs(path)
    except OSError as error:
        pytest.skip(f"SKIPPED: no memory cgroups (version 1) on this machine: {error}")
    groups = []

    def limited(process, limit):
        own = f"{path}/{process}"
        os.makedirs(own)
        groups.append(own)
        with open(f"{own}/memory.limit_in_bytes", "w") as file:
            file.write(str(limit))
        with open(f"{own}/tasks", "w") as file:
            file.write(str(process))
        # Threads that were there before it.
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"{own}/tasks", "w") as file:
                file.write(task)
        return own

    yield limited
    for own in [*groups, path]:
        try:
            os.rmdir(own)
        except OSError:
            pass


def resident(process):
    """Bytes of a process in memory."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


def peak(own):
    with open(f"{own}/memory.max_usage_in_bytes") as file:
        return int(file.read())


def test_eight_workers_with_a_quarter_of_the_memory_each(tmp_path, group, say):
    import ray

    from absentia.ray import _workers, fit

    source = write(str(tmp_path), *SHAPE)
    done = subprocess.run([sys.executable, "-c", ALONE.format(settings=SETTINGS), source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    digest, taken = done.stdout.split()
    quarter = int(taken) // 4
    say(f"one process takes {int(taken) / 2**20:.0f} MiB")
    limit, limits = quarter - STORE - EMPTY, []
    start = _workers.Workers._read

    def limited(self, new):
        """Limits workers before they read anything. What a process has before it is in its group does not count there."""
        assert self.losses == 0, "a worker was lost before it had its part"
        for actor in new:
            process, _ = ray.get(actor.process.remote())
            assert resident(process) <= EMPTY
            limits.append(group(process, limit))
        return start(self, new)

    # Nodes have all of their store from the start: pages of it that a worker is the first to write would count for its group.
    config = {"preallocate_plasma_memory": True}
    with ray_cluster.cluster(WORKERS, store=STORE // 2**20, config=config), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_workers.Workers, "_read", limited)
        try:
            with fit(source, workers=WORKERS, memory=int(SHARE * limit), **SETTINGS) as run:
                waves = run._workers.run.waves
                losses = run._workers.losses
                run.save_folder(tmp_path / "model")
        finally:
            say(f"a quarter {quarter / 2**20:.0f} MiB, of it {STORE / 2**20:.0f} object store, an empty process up to "
                f"{EMPTY / 2**20:.0f}, which leaves {limit / 2**20:.0f} MiB to a worker")
            say(f"peaks of the workers, MiB: {', '.join(f'{peak(own) / 2**20:.0f}' for own in limits)}")
    say(f"waves {waves}; workers lost {losses}")
    import hashlib

    import absentia

    model = absentia.Factorizer.load(tmp_path / "model")
    found = hashlib.sha256(model.user_factors_.tobytes() + model.item_factors_.tobytes()).hexdigest()
    assert found == digest
    assert max(waves) > 1 and losses == 0
