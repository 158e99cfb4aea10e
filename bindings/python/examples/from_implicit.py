"""Moving from `implicit`: change one import; saved models load."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import absentia
from absentia.implicit import AlternatingLeastSquares  # was: from implicit.als import AlternatingLeastSquares
from absentia.implicit.evaluation import ndcg_at_k, train_test_split

ratings = sp.csr_matrix(sp.random(500, 200, 0.05, format="csr", random_state=0, dtype=np.float32))
train, test = train_test_split(ratings, random_state=0)

# %% The code you have.
model = AlternatingLeastSquares(factors=16, alpha=10, random_state=0)
model.fit(train, show_progress=False)
ids, scores = model.recommend(3, train[3], N=5)
print("recommended:", ids, "ndcg@10:", round(ndcg_at_k(model, train, test, show_progress=False), 4))

# %% What it saved, or what implicit saved, loads in both APIs.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.npz"
    model.save(str(path))
    native = absentia.Factorizer.load(path)
    print("loaded:", native.user_factors_.shape, native.recommend(3, n=5, seen=train)[0])

# %% And then what implicit cannot do: a weight of its own for every missing entry. These ratings are random
# numbers without any taste in them, so the figures say nothing about which model is better.
weights = absentia.weights.Popularity(mean=0.3, alpha=0.4)
weighted = absentia.Factorizer(factors=16, weights=weights, confidence=10, random_state=0).fit(train)
print(weighted.evaluate(test, ["ndcg@10"]))
