"""The estimator: plain Python over the engine."""

from __future__ import annotations

from typing import Any, Optional, Union

from ._answers import Answers
from ._files import Files
from ._training import Training


class Factorizer(Training, Answers, Files):
    """Factorises a matrix of interactions with a weight of its own for every missing entry.

    Parameters
    ----------
    factors : int
        Number of latent factors.
    weights : absentia.weights.Weights, str or float
        Weights on missing entries: an object, its text form as on the command line, or one number
        for all. By default ``"popularity:mean=0.01,alpha=0.25"``; where neither ``targets`` nor
        ``regularization`` is given either, with another mean if that does better on the rows held out.
    regularization : float, optional
        Ridge penalty. When not given, a few are tried on a fifth of the rows held out, and the best is
        taken; ``regularization_`` has it.
    reg_exponent : float
        Exponent of a row's total weight in its penalty; 0 penalises all rows alike.
    targets : str, optional
        ``"binary"``, ``"raw"``, ``"log"`` or ``"normalized:0.35[,0.35]"``. When not given, ``"binary"``; where
        neither ``weights`` nor ``regularization`` is given either, ``"normalized:0.1"`` if that does better
        on the rows held out. ``targets_`` has it.
    confidence : float or str
        Weight of observed entries: a number, ``"linear:40"``, ``"log:10,0.5"``, ``"decay:30d"`` or
        ``"column"`` (the table's weight column, or ``sample_weight``).
    solver : str
        ``"eals"``, ``"subspace[:block]"``, ``"als"``, ``"als-cg[:steps]"`` or ``"eals-vanilla"``; or a method to
        compare with: ``"svd"``, ``"ials1"``, ``"rcd"``, ``"ii-svd"``, ``"bpr"``, ``"sgd-observed"``,
        ``"popularity"``, ``"itemknn[:neighbours]"``, which raise where they cannot honour ``weights``.
    iterations : int
        Sweeps over both sides at the most.
    tolerance : float, optional
        Relative change of the objective that ends the run.
    post_scale : float, optional
        Item factors are rescaled by ``n_i ** post_scale`` when recommending. When not given, it is
        chosen with the penalty, or 0 where that is given; ``post_scale_`` has it.
    init_std : float
        Standard deviation of the Gaussian start.
    learning_rate : float
        Step of the solvers ``"bpr"`` and ``"sgd-observed"``; the others have no use for it.
    random_state : int, numpy generator or None
        Seed of the start; ``None`` draws one.
    num_threads : int, optional
        Threads; all there are when not given. The result does not depend on it.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray
        Read-only views of the model's factors, not copies.
    item_scale_ : ndarray
        What recommending multiplies the factors of each item by: ``n_i ** post_scale_``. Scores are
        ``user_factors_ @ (item_scale_[:, None] * item_factors_).T``.
    regularization_, post_scale_ : float
        The penalty and the post-scaling, given or chosen.
    targets_ : str
        The targets, given or chosen.
    history_ : list of Sweep
        The objective, in its parts, after every sweep.
    weights_ : absentia.weights.Resolved
        The weights on missing entries, resolved on the data.
    stop_reason_ : str
        ``"iterations"``, ``"converged"`` or ``"callback"``.

    Examples
    --------
    >>> import absentia
    >>> log = (["ann", "ann", "bob", "bob", "cy"], ["jaws", "alien", "jaws", "alien", "jaws"])
    >>> model = absentia.Factorizer(factors=2, weights=0.05, random_state=1).fit(log)
    >>> items, scores = model.recommend("cy", n=1)
    >>> items.tolist()
    ['alien']
    """

    def __init__(
        self,
        factors: int = 64,
        weights: Any = None,
        regularization: Optional[float] = None,
        reg_exponent: float = 1.0,
        targets: Optional[str] = None,
        confidence: Union[float, str] = 1.0,
        solver: str = "eals",
        iterations: int = 20,
        tolerance: Optional[float] = None,
        post_scale: Optional[float] = None,
        init_std: float = 0.01,
        learning_rate: float = 0.05,
        random_state: Any = 0,
        num_threads: Optional[int] = None,
    ) -> None:
        self.factors = factors
        self.weights = weights
        self.regularization = regularization
        self.reg_exponent = reg_exponent
        self.targets = targets
        self.confidence = confidence
        self.solver = solver
        self.iterations = iterations
        self.tolerance = tolerance
        self.post_scale = post_scale
        self.init_std = init_std
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.num_threads = num_threads
