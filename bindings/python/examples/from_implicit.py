"""Moving from `implicit`: change one import; saved models load."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import absentia
from absentia.implicit import AlternatingLeastSquares  # was: from implicit.als import AlternatingLeastSquares
from absentia.implicit.evaluation import ndcg_at_k, train_test_split

rng = np.random.default_rng(0)
taste = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 200))
ratings = sp.csr_matrix((taste > 2.5).astype(np.float32))
train, test = train_test_split(ratings, random_state=0)

# %% The code you have.
model = AlternatingLeastSquares(factors=16, alpha=10, random_state=0)
model.fit(train, show_progress=False)
ids, scores = model.recommend(3, train[3], N=5)
print("recommended:", ids, "ndcg@10:", round(ndcg_at_k(model, train, test, show_progress=False), 4))

# %% The models you have: what implicit saved loads in both APIs.
try:
    from implicit.cpu.als import AlternatingLeastSquares as Theirs
except ImportError:
    Theirs = AlternatingLeastSquares  # writes the same file
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.npz"
    theirs = Theirs(factors=16, alpha=10, random_state=0)
    theirs.fit(train, show_progress=False)
    theirs.save(str(path))
    mine = AlternatingLeastSquares.load(str(path))
    print("loaded:", (mine.recommend(3, train[3], N=5)[0] == theirs.recommend(3, train[3], N=5)[0]).all())
    native = absentia.Factorizer.load(path)
    print("loaded:", native, native.recommend(3, n=5, seen=train)[0])

# %% And then what implicit cannot do: a weight of its own for every missing entry. One synthetic draw shows how it is
# done, not what it is worth.
weights = absentia.weights.Popularity(mean=0.1, alpha=0.4)
weighted = absentia.Factorizer(factors=16, weights=weights, random_state=0).fit(train)
print(weighted.evaluate(test, ["ndcg@10"]))
