"""Searching weights and regularization with Optuna: settings are chosen on a validation part, and the test part is
looked at once."""

import sys

import numpy as np
import scipy.sparse as sp

import absentia
from absentia.implicit.evaluation import train_test_split

try:
    import optuna
except ImportError:
    print("this example needs optuna: pip install optuna")
    sys.exit(0)

# %% Data with four tastes in it, in three parts.
rng = np.random.default_rng(0)
taste = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 150))
known, test = train_test_split(sp.csr_matrix((taste > 3).astype(np.float32)), 0.8, random_state=0)
train, validation = train_test_split(known, 0.8, random_state=1)


# %% One trial: train, measure. An Optuna callback could also end hopeless runs early, as `fit` takes one.
def model(params: "dict[str, float]") -> absentia.Factorizer:
    weights = absentia.weights.Popularity(mean=params["mean"], alpha=params["alpha"])
    return absentia.Factorizer(factors=8, weights=weights, regularization=params["regularization"], random_state=0)


def objective(trial: "optuna.Trial") -> float:
    params = {
        "mean": trial.suggest_float("mean", 1e-3, 1.0, log=True),
        "alpha": trial.suggest_float("alpha", 0.0, 1.0),
        "regularization": trial.suggest_float("regularization", 1e-3, 1.0, log=True),
    }
    return model(params).fit(train).evaluate(validation, ["ndcg@10"])["ndcg@10"]


# %% The search, and the chosen settings on the test part.
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=15)
print(f"best ndcg@10 {study.best_value:.4f} with {study.best_params}")
print("on the test part:", model(study.best_params).fit(known).evaluate(test, ["ndcg@10"]))
