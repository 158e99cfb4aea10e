"""Exposure data: telling a model which pairs were shown and not taken.

The figures are of one small synthetic draw: they show how it is done, not what it is worth.
"""

import numpy as np
import scipy.sparse as sp

import absentia

# %% Users of four tastes are shown some of the catalogue and take a little of what they like in it.
rng = np.random.default_rng(0)
users, items = 600, 200
likes = (np.arange(users)[:, None] % 4) == (np.arange(items)[None, :] % 4)
shown = rng.random((users, items)) < 0.3
taken = likes & shown & (rng.random((users, items)) < 0.15)
refused = ~likes & shown
X, exposed = sp.csr_matrix(taken.astype(np.float32)), sp.csr_matrix(refused.astype(np.float32))
test = sp.csr_matrix((likes & ~shown).astype(np.float32))
all_shown = sp.csr_matrix(shown.astype(np.float32))

# %% The same model without and with what is known of the exposure.
for name, options in [("without exposure", {}), ("with exposure", {"exposed": exposed, "exposed_weight": 0.5})]:
    model = absentia.Factorizer(factors=8, weights=absentia.weights.Uniform(0.02), random_state=1)
    model.fit(X, **options)
    # Only what was never shown is ranked: a liked item that was shown and not taken is in no test set.
    print(name, model.evaluate(test, ["ndcg@10", "recall@20"], seen=all_shown))
