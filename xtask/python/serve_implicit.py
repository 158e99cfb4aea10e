"""`implicit` behind FastAPI: the path of our server, for `cargo xtask bench serve`.

Arguments: data, factors, port, number of processes, and `threads` or `loop`: where requests are ranked, on the
threads that FastAPI gives to plain functions or on the event loop itself.
"""

import gzip
import os
import socket
import sys

import implicit
import numpy as np
import uvicorn
from fastapi import FastAPI
from scipy.sparse import csr_matrix

data, factors, port, processes, where = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
with gzip.open(data, "rt") as lines:
    first = lines.readline().split()
    skipped = 0 if first[0].isdigit() else 1
pairs = np.loadtxt(data, dtype=np.int64, skiprows=skipped, usecols=(0, 1))
seen = csr_matrix((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])))
model = implicit.als.AlternatingLeastSquares(factors=factors, iterations=3, random_state=1)
model.fit(seen, show_progress=False)

app = FastAPI()


def listed(user: int, n: int):
    items, scores = model.recommend(user, seen[user], N=n, filter_already_liked_items=True)
    found = [{"item": item, "score": score} for item, score in zip(map(str, items.tolist()), scores.tolist())]
    return {"user": str(user), "items": found}


PATH = "/v1/users/{user}/recommendations"
if where == "threads":

    @app.get(PATH)
    def on_threads(user: int, n: int = 20):
        return listed(user, n)

else:

    @app.get(PATH)
    async def on_the_loop(user: int, n: int = 20):
        return listed(user, n)


# The processes share the trained model and the socket.
listening = socket.create_server(("127.0.0.1", port), backlog=1024)
parent = os.getpid()
for _ in range(processes - 1):
    if os.getpid() == parent:
        os.fork()
if os.getpid() == parent:
    print("ready", flush=True)
config = uvicorn.Config(app, log_level="error", access_log=False)
uvicorn.Server(config).run(sockets=[listening])
