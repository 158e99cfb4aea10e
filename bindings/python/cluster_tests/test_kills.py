"""kill -9 of workers and of whole nodes at random moments: the same bits."""

import os
import random
import signal
import threading
import time

import pytest
import ray_cluster

import absentia
from absentia.ray import fit
from absentia.ray._fit import _running

SETTINGS = {"factors": 16, "iterations": 12, "regularization": 0.05, "weights": "uniform:0.03", "random_state": 5}
ROUNDS = int(os.environ.get("ABSENTIA_KILL_ROUNDS", "20"))


@pytest.fixture(scope="module")
def expected(folder):
    began = time.monotonic()
    model = absentia.Factorizer(**SETTINGS, num_threads=1).fit(str(folder / "part-*.csv"))
    return ray_cluster.bits(model), time.monotonic() - began


def killer(delay, seed, kill_node, killed, started, added):
    """Kills something after a while."""
    import ray

    time.sleep(delay)
    chosen = random.Random(seed)
    if kill_node:
        victim = added.pop(chosen.randrange(len(added)))
        started.remove_node(victim, allow_graceful=False)
        killed.append("node")
        added.append(started.add_node(num_cpus=1, object_store_memory=100 * 2**20))
        return
    for _ in range(100):
        shards = _running[-1] if _running else None
        actor = None if shards is None else chosen.choice(shards.actors)
        if actor is not None:
            try:
                process, _ = ray.get(actor.process.remote(), timeout=60)
                os.kill(process, signal.SIGKILL)
            except Exception:
                return
            killed.append("worker")
            return
        time.sleep(0.1)


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_kill_at_a_random_moment_changes_no_bit(nodes, folder, expected, tmp_path, round):
    started, added = nodes
    bits, _ = expected
    delay = random.Random(round).uniform(0.0, 9.0)
    killed = []
    thread = threading.Thread(target=killer, args=(delay, round, round % 4 == 3, killed, started, added))
    thread.start()
    times = []
    with fit(
        str(folder / "part-*.csv"),
        workers=3,
        checkpoint=str(tmp_path),
        checkpoint_every=1,
        callback=lambda *_: times.append(time.monotonic()) or time.sleep(0.6),
        **SETTINGS,
    ) as run:
        thread.join()
        assert ray_cluster.bits(run.model()) == bits
    assert killed, "the run ended before anything was killed"
    print(f"round {round}: {killed} after {delay:.1f} s")
