"""kill -9 of workers and of whole nodes at random moments: the same bits."""

import os
import random
import signal
import tempfile
import threading
import time

import pytest
import ray_cluster

import absentia
from absentia.ray import fit
from absentia.ray._fit import _running

SETTINGS = {"factors": 16, "iterations": 12, "regularization": 0.005, "weights": "uniform:0.03", "random_state": 5}
ROUNDS = int(os.environ.get("ABSENTIA_KILL_ROUNDS", "20"))
FIRST = int(os.environ.get("ABSENTIA_KILL_FIRST", "0"))


# Seconds in which Ray notices that a process or a node is gone, and starts one in its place.
NOTICED = 25.0
PAUSE = 0.6


def trained(folder, checkpoint):
    """A run of three workers: its model, its seconds, and those until its first sweep ended."""
    times = []

    def pause(*_):
        times.append(time.monotonic())
        time.sleep(PAUSE)

    began = time.monotonic()
    with fit(
        str(folder / "part-*.csv"), workers=3, checkpoint=str(checkpoint), checkpoint_every=1, callback=pause, **SETTINGS
    ) as run:
        seconds = time.monotonic() - began
        return run.model(), seconds, times[0] - began, run._workers.losses


# Checkpoints are in memory, where that has a folder: how long a busy disk takes is not what is measured.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


@pytest.fixture
def checkpoints():
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield folder


@pytest.fixture(scope="module")
def usual(nodes, folder):
    """The bits of one process, and what an undisturbed run takes."""
    model = absentia.Factorizer(**SETTINGS, num_threads=1).fit(str(folder / "part-*.csv"))
    with tempfile.TemporaryDirectory(dir=MEMORY) as checkpoints:
        shared, seconds, start, losses = trained(folder, checkpoints)
    assert ray_cluster.bits(shared) == ray_cluster.bits(model) and losses == 0
    return ray_cluster.bits(model), seconds, start


def killer(delay, seed, kill_node, killed, started, added):
    """Kills something after a while."""
    import ray

    time.sleep(delay)
    chosen = random.Random(seed)
    if kill_node:
        # A node that has a worker, as far as the run has workers already.
        actor = chosen.choice(_running[-1].actors) if _running else None
        home = "" if actor is None else ray.get(actor.process.remote(), timeout=60)[1]
        places = [at for at, node in enumerate(added) if node.node_id == home] or [chosen.randrange(len(added))]
        started.remove_node(added.pop(places[0]), allow_graceful=False)
        killed.append("node")
        return
    for _ in range(100):
        shards = _running[-1] if _running else None
        actor = None if shards is None else chosen.choice(shards.actors)
        if actor is not None:
            try:
                process, _ = ray.get(actor.process.remote(), timeout=60)
                os.kill(process, signal.SIGKILL)
            except Exception:
                # It was not there any more: Ray had sent it to a node that died before.
                time.sleep(0.1)
                continue
            killed.append("worker")
            return
        time.sleep(0.1)


@pytest.mark.parametrize("round", range(FIRST, FIRST + ROUNDS))
def test_a_kill_at_a_random_moment_changes_no_bit(nodes, folder, usual, checkpoints, say, round):
    started, added = nodes
    bits, usual_seconds, start = usual
    # No run ends before.
    delay = random.Random(round).uniform(0.0, PAUSE * SETTINGS["iterations"])
    killed = []
    thread = threading.Thread(target=killer, args=(delay, round, round % 4 == 3, killed, started, added))
    thread.start()
    model, seconds, _, losses = trained(folder, checkpoints)
    thread.join()
    if killed == ["node"]:
        # Ray starts nodes in the main thread only.
        added.append(started.add_node(num_cpus=1, object_store_memory=100 * 2**20))
    assert ray_cluster.bits(model) == bits
    assert killed, "the run ended before anything was killed"
    # At most one sweep and the reload; a kill during the start costs as much as the start.
    sweep = PAUSE + (usual_seconds - start) / SETTINGS["iterations"]
    lost = seconds - usual_seconds
    say(f"round {round}: {killed} after {delay:.1f} s, workers replaced {losses} times, {lost:.1f} s lost of {seconds:.1f}")
    assert lost <= sweep + start + NOTICED
