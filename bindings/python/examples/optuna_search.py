"""Searching weights and regularization with Optuna."""

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

rng = np.random.default_rng(0)
taste = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 150))
train, test = train_test_split(sp.csr_matrix((taste > 3).astype(np.float32)), 0.8, random_state=0)


def objective(trial: "optuna.Trial") -> float:
    weights = absentia.weights.Popularity(
        mean=trial.suggest_float("mean", 1e-3, 1.0, log=True), alpha=trial.suggest_float("alpha", 0.0, 1.0)
    )
    model = absentia.Factorizer(
        factors=8, weights=weights, regularization=trial.suggest_float("regularization", 1e-3, 10, log=True)
    )

    def watch(sweep: int, seconds: float, value: float) -> bool:
        return not np.isfinite(value)

    return model.fit(train, callback=watch).evaluate(test, ["ndcg@10"])["ndcg@10"]


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=15)
print(study.best_params, round(study.best_value, 4))
