"""Starts every long call, sends the process Ctrl-C, and prints how long each took to come back.

Run by test_interruption.py in a process of its own.
"""

import os
import signal
import sys
import threading
import time

import numpy as np
import scipy.sparse as sp

from absentia import Factorizer, weights
from absentia.implicit import AlternatingLeastSquares

USERS, ITEMS, FACTORS = 100_000, 20_000, 96


def rows(rng, users, items, per):
    """A matrix with ``per`` entries in every row."""
    width = items // per
    indices = rng.integers(0, width, (users, per), dtype=np.int32) + np.arange(per, dtype=np.int32) * width
    indptr = np.arange(0, users * per + 1, per, dtype=np.int32)
    return sp.csr_matrix((np.ones(users * per, np.float32), indices.ravel(), indptr), shape=(users, items))


def untrained(rng, path):
    """Writes a large model that took no training."""
    factors = {
        "user_factors": rng.random((USERS, FACTORS), dtype=np.float32),
        "item_factors": rng.random((ITEMS, FACTORS), dtype=np.float32),
    }
    np.savez(path, factors=FACTORS, regularization=0.1, alpha=1.0, dtype="float32", **factors)


def calls(folder):
    """Calls that take long, those that the engine cannot stop last: they go on for a while."""
    rng = np.random.default_rng(0)
    path, pipe = os.path.join(folder, "model.npz"), os.path.join(folder, "ratings.csv")
    untrained(rng, path)
    model, als = Factorizer.load(path), AlternatingLeastSquares.load(path)
    x, small, users = rows(rng, USERS, ITEMS, 20), rows(rng, 4000, 3000, 10), np.arange(USERS)
    dense = weights.Dense(rng.random((4000, 3000), dtype=np.float32), rank=20)
    slow = weights.Function(lambda u, i: time.sleep(0.01) or 1.0 / (1.0 + abs(u - i)), rank=20)
    os.mkfifo(pipe)
    yield "fit", lambda: Factorizer(factors=128, iterations=1000).fit(x)
    yield "fit, followed", lambda: Factorizer(factors=128, iterations=1000).fit(x, callback=lambda *_: False)
    yield "recommend", lambda: model.recommend(users, seen=x)
    yield "recommend_rows", lambda: model.recommend_rows(model.user_factors_[:20_000])
    yield "similar_items", lambda: model.similar_items(np.arange(ITEMS))
    yield "similar_users", lambda: model.similar_users(users)
    yield "evaluate", lambda: model.evaluate(x, ["auc"], exclude_seen=False)
    yield "fold_in", lambda: model.fold_in(x)
    yield "score", lambda: [model.score(users, item) for item in range(ITEMS)]
    yield "implicit fit", lambda: AlternatingLeastSquares(32, iterations=10_000).fit(x, show_progress=False)
    yield "implicit recommend", lambda: als.recommend(users, x)
    yield "implicit similar_users", lambda: als.similar_users(users)
    yield "implicit recalculate_user", lambda: als.recalculate_user(users, x)
    yield "a weight function", lambda: slow.resolve(small)
    yield "reading", lambda: Factorizer().fit(pipe)
    yield "fit with dense weights", lambda: Factorizer(weights=dense).fit(small)
    yield "dense weights", lambda: dense.resolve(small)


def seconds_to_end(call):
    """Presses Ctrl-C while the call runs; how long it took to come back, or ``None`` if it had ended."""
    sent = []

    def press():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    took = None
    try:
        call()
        thread.join()
    except KeyboardInterrupt:
        took = time.perf_counter() - sent[0]
    thread.join()
    return took


if __name__ == "__main__":
    for name, call in calls(sys.argv[1]):
        print(f"{name}: {seconds_to_end(call)}", flush=True)
