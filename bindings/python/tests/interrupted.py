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
folder = sys.argv[1]
rng = np.random.default_rng(0)


def rows(users, items, per):
    """A matrix with ``per`` entries in every row."""
    width = items // per
    indices = rng.integers(0, width, (users, per), dtype=np.int32) + np.arange(per, dtype=np.int32) * width
    indptr = np.arange(0, users * per + 1, per, dtype=np.int32)
    return sp.csr_matrix((np.ones(users * per, np.float32), indices.ravel(), indptr), shape=(users, items))


def loaded():
    """A large model that took no training."""
    path = os.path.join(folder, "model.npz")
    factors = {
        "user_factors": rng.random((USERS, FACTORS), dtype=np.float32),
        "item_factors": rng.random((ITEMS, FACTORS), dtype=np.float32),
    }
    np.savez(path, factors=FACTORS, regularization=0.1, alpha=1.0, dtype="float32", **factors)
    return Factorizer.load(path), AlternatingLeastSquares.load(path)


X = rows(USERS, ITEMS, 20)
model, als = loaded()
small = rows(4000, 3000, 10)
dense = weights.Dense(rng.random((4000, 3000), dtype=np.float32), rank=20)
slow = weights.Function(lambda u, i: time.sleep(0.01) or 1.0 / (1.0 + abs(u - i)), rank=20)
pipe = os.path.join(folder, "ratings.csv")
os.mkfifo(pipe)

CALLS = {
    "fit": lambda: Factorizer(factors=128, iterations=1000).fit(X),
    "fit, followed": lambda: Factorizer(factors=128, iterations=1000).fit(X, callback=lambda *_: False),
    "recommend": lambda: model.recommend(np.arange(USERS), seen=X),
    "recommend_rows": lambda: model.recommend_rows(np.asarray(model.user_factors_)),
    "similar_items": lambda: model.similar_items(np.arange(ITEMS)),
    "similar_users": lambda: model.similar_users(np.arange(USERS)),
    "evaluate": lambda: model.evaluate(X, ["auc"], exclude_seen=False),
    "fold_in": lambda: model.fold_in(X),
    "score": lambda: [model.score(np.arange(USERS), i) for i in range(ITEMS)],
    "implicit fit": lambda: AlternatingLeastSquares(128, iterations=1000).fit(X, show_progress=False),
    "implicit recommend": lambda: als.recommend(np.arange(USERS), X),
    "implicit similar_users": lambda: als.similar_users(np.arange(USERS)),
    "implicit recalculate_user": lambda: als.recalculate_user(np.arange(USERS), X),
    # Those that the engine cannot stop come last: they go on for a while.
    "a weight function": lambda: slow.resolve(small),
    "reading": lambda: Factorizer().fit(pipe),
    "fit with dense weights": lambda: Factorizer(weights=dense).fit(small),
    "dense weights": lambda: dense.resolve(small),
}

sent = 0.0


def press():
    time.sleep(0.3)
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)


for name, call in CALLS.items():
    thread = threading.Thread(target=press)
    thread.start()
    try:
        call()
        took = "it ended before"
    except KeyboardInterrupt:
        took = f"{time.perf_counter() - sent:.3f}"
    try:
        thread.join()
    except KeyboardInterrupt:
        thread.join()
    print(f"{name}: {took}", flush=True)
os._exit(0) if "--at-once" in sys.argv else None
