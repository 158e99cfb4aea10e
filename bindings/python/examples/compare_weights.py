"""Comparing weight schemes on one split, with a plot where matplotlib is installed.

One synthetic draw, one split: which scheme does best changes with the penalty. `absentia compare` tests for significance.
"""

import sys

import numpy as np
import scipy.sparse as sp

from absentia import Factorizer
from absentia.implicit.evaluation import train_test_split
from absentia.weights import Popularity, Uniform

# %% Long-tailed data: popular items are seen more, whatever the taste.
rng = np.random.default_rng(0)
taste = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 300))
popularity = 1.5 * np.log(1.0 / np.arange(1, 301))
seen = rng.random((600, 300)) < 1 / (1 + np.exp(-(taste + popularity + 3)))
train, test = train_test_split(sp.csr_matrix(seen.astype(np.float32)), 0.8, random_state=0)

# %% One curve per exponent.
alphas = [0.0, 0.25, 0.5, 0.75, 1.0]
curve = []
for alpha in alphas:
    model = Factorizer(factors=8, weights=Popularity(mean=0.1, alpha=alpha), regularization=0.1).fit(train)
    curve.append(model.evaluate(test, ["ndcg@10"])["ndcg@10"])
    print(f"alpha {alpha}: ndcg@10 {curve[-1]:.4f}")
uniform = Factorizer(factors=8, weights=Uniform(0.1), regularization=0.1).fit(train).evaluate(test, ["ndcg@10"])
print(f"uniform: ndcg@10 {uniform['ndcg@10']:.4f}")

# %% The plot.
try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit(0)
plt.plot(alphas, curve, marker="o", label="popularity")
plt.axhline(uniform["ndcg@10"], linestyle="--", label="uniform")
plt.xlabel("alpha")
plt.ylabel("ndcg@10")
plt.legend()
plt.savefig("compare_weights.png")
