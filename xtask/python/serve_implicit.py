"""`implicit` behind FastAPI: the path of our server, for `cargo xtask bench serve`."""

import gzip
import sys

import implicit
import numpy as np
import uvicorn
from fastapi import FastAPI
from scipy.sparse import csr_matrix

data, factors, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with gzip.open(data, "rt") as lines:
    first = lines.readline().split()
    skipped = 0 if first[0].isdigit() else 1
pairs = np.loadtxt(data, dtype=np.int64, skiprows=skipped, usecols=(0, 1))
seen = csr_matrix((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])))
model = implicit.als.AlternatingLeastSquares(factors=factors, iterations=3, random_state=1)
model.fit(seen, show_progress=False)

app = FastAPI()


@app.get("/v1/users/{user}/recommendations")
def recommendations(user: int, n: int = 20):
    items, scores = model.recommend(user, seen[user], N=n, filter_already_liked_items=True)
    listed = [{"item": str(item), "score": float(score)} for item, score in zip(items, scores)]
    return {"user": str(user), "items": listed}


print("ready", flush=True)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
