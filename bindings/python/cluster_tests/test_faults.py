"""Drivers that are interrupted or killed, checkpoints at a URL, and workers with other instructions."""

import os
import signal
import subprocess
import sys
import time

import pytest
import ray_cluster

import absentia
from absentia.ray import fit

SETTINGS = {"factors": 8, "iterations": 6, "regularization": 0.005, "weights": "uniform:0.03", "random_state": 5}

DRIVER = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
from absentia.ray import fit
def swept(sweep, *_):
    print("sweep", sweep, flush=True)
    time.sleep(1.0)
settings = dict({settings!r}, iterations=int(sys.argv[4]))
fit(sys.argv[2], workers=3, checkpoint=sys.argv[3], checkpoint_every=1, callback=swept, **settings)
"""


def driver(nodes, source, checkpoint, iterations):
    """A driver in a process of its own, after its second sweep."""
    words = [sys.executable, "-c", DRIVER.format(settings=SETTINGS), nodes[0].address, source, checkpoint, str(iterations)]
    # A shell in the background leaves Ctrl-C ignored to its children.
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in process.stdout:
        if line.startswith("sweep 2"):
            return process
    raise AssertionError(process.stderr.read())


def all_places_are_free(nodes, seconds=60):
    import ray

    places = sum(1 for node in ray.nodes() if node["Alive"]) - 1
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if ray.available_resources().get("CPU", 0) == places:
            return True
        time.sleep(0.5)
    return False


def test_ctrl_c_ends_a_run_and_its_workers(nodes, folder, tmp_path):
    process = driver(nodes, str(folder / "part-*.csv"), str(tmp_path), 10_000)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in message and process.returncode != 0
    print(f"ended {time.monotonic() - began:.1f} s after Ctrl-C")
    assert all_places_are_free(nodes)


def test_a_driver_that_is_killed_is_resumed_from_a_url_with_other_workers(nodes, folder, tmp_path):
    pytest.importorskip("fsspec")
    source, checkpoint = str(folder / "part-*.csv"), f"file://{tmp_path}/checkpoints"
    process = driver(nodes, source, checkpoint, SETTINGS["iterations"])
    process.kill()
    process.wait()
    assert all_places_are_free(nodes)
    made = []
    with fit(source, workers=2, resume=True, checkpoint=checkpoint, callback=lambda sweep, *_: made.append(sweep), **SETTINGS) as run:
        model = run.model()
    assert made[0] > 1 and made[-1] == SETTINGS["iterations"]
    assert ray_cluster.bits(model) == ray_cluster.bits(absentia.Factorizer(**SETTINGS).fit(source))
    assert os.listdir(tmp_path / "checkpoints")


def test_workers_with_other_instructions_are_refused(nodes, folder):
    # A node whose workers use other kernels; each worker takes a whole node of its own.
    other = nodes[0].add_node(num_cpus=1, resources={"other": 1}, env_vars={"ABSENTIA_SIMD": "scalar"}, object_store_memory=100 * 2**20)
    try:
        with pytest.raises(ValueError, match="instruction set .ABSENTIA_SIMD chooses one.*scalar"):
            fit(str(folder / "part-*.csv"), workers=8, **SETTINGS).close()
    finally:
        nodes[0].remove_node(other)
