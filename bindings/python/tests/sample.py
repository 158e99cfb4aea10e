"""Data that several tests use."""

import numpy as np
import scipy.sparse as sp


def matrix(users=200, items=100, density=0.06, seed=0):
    """Random values at random places."""
    return sp.csr_matrix(sp.random(users, items, density, format="csr", random_state=seed, dtype=np.float32))


def tastes(users, items, factors=4, share=0.12, seed=0):
    """What users like best by factors of their own: data with something to learn in it."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(users, factors)) @ rng.normal(size=(factors, items))
    return sp.csr_matrix((scores > np.quantile(scores, 1 - share)).astype(np.float32))
