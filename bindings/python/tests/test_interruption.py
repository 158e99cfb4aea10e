"""Ctrl-C ends every long call, and other threads run meanwhile.

How soon it does is measured by ``cargo xtask bench python``.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from absentia import Factorizer, weights
from absentia.implicit import AlternatingLeastSquares

SCRIPT = Path(__file__).parent / "interrupted.py"


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of Unix")
def test_ctrl_c_ends_every_long_call(tmp_path):
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stdout + done.stderr
    ends = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(ends) == 17, done.stdout
    # The script prints seconds for a call that was interrupted and "None" for one that ran to its end.
    assert "None" not in ends.values(), ends


def test_a_process_can_end_while_work_goes_on():
    script = """
import os, signal, threading, time
import numpy as np, scipy.sparse as sp
from absentia import weights
x = sp.eye(3000, 2000, format="csr", dtype=np.float32)
threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT))).start()
weights.Dense(np.random.default_rng(0).random((3000, 2000), dtype=np.float32), rank=30).resolve(x)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "KeyboardInterrupt" in done.stderr and "panicked" not in done.stderr, done.stderr
    assert done.returncode in (1, 130, -2), (done.returncode, done.stderr)


def entries(users, items, density):
    return sp.csr_matrix(sp.random(users, items, density, format="csr", random_state=0, dtype=np.float32))


X = entries(3000, 1500, 0.01)
FITTED = Factorizer(factors=64, iterations=1).fit(X)
ALS = AlternatingLeastSquares(64, iterations=1, random_state=0)
ALS.fit(X, show_progress=False)
DENSE = weights.Dense(np.random.default_rng(0).random((600, 400)), rank=8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Factorizer(factors=64, iterations=20).fit(X),
        lambda: FITTED.recommend(np.arange(3000)),
        lambda: FITTED.similar_users(np.arange(3000)),
        lambda: FITTED.evaluate(X, ["auc"], exclude_seen=False),
        lambda: FITTED.fold_in(X),
        lambda: DENSE.resolve(entries(600, 400, 0.01)),
        lambda: ALS.recommend(np.arange(3000), X),
    ],
    ids=["fit", "recommend", "similar", "evaluate", "fold_in", "resolve", "implicit"],
)
def test_other_threads_run_meanwhile(call):
    ticks, running, stop = [], threading.Event(), threading.Event()

    def tick():
        while not stop.is_set():
            if running.is_set():
                ticks.append(None)
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    interval = sys.getswitchinterval()
    # From here on a thread keeps the interpreter until it gives it up: other threads run during a call
    # only if the call does that.
    sys.setswitchinterval(1000)
    try:
        for _ in range(100):
            running.set()
            call()
            running.clear()
            if len(ticks) >= 20:
                break
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert len(ticks) >= 20


FORKED = """
import os, sys
import numpy as np, scipy.sparse as sp
from absentia import Factorizer, weights
x = sp.csr_matrix(sp.random(300, 100, 0.05, format="csr", random_state=0, dtype=np.float32))
def use():
    model = Factorizer(factors=8).fit(x)
    model.recommend(np.arange(300)), model.explain(1, 2), model.evaluate(x), model.fold_in(x), model.similar_items(3)
    weights.Dense(np.ones((300, 100)), rank=1).resolve(x), Factorizer(factors=2).fit(([1, 2], [3, 4]))
    model.save(sys.argv[1]), Factorizer.load(sys.argv[1]).score(1, 2)
use()
child = os.fork()
if child == 0:
    use()
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_process_does_not_hang(tmp_path):
    command = [sys.executable, "-c", FORKED, str(tmp_path / "m.absentia")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
