"""The estimator."""

from __future__ import annotations

from typing import Any, Optional, Union

from ._files import Files
from ._prediction import Prediction
from ._training import Training


class Factorizer(Training, Prediction, Files):
    """Factorises a matrix of interactions in which every missing entry has a weight of its own.

    Parameters
    ----------
    factors : int
        The number of factors K.
    weights : absentia.weights.Weights, str or float
        Weights on missing entries: an object, its text form as on the command line, or one number for
        all. If not given, ``"popularity:mean=0.01,alpha=0.25"``, or the weights that a baseline needs. If
        ``targets`` and ``regularization`` are not given either, another mean weight is used if it does
        better on held-out rows. With times, and without ``post_scale``, the age of items becomes a factor if that is
        better by more than noise; see ``weights_``.
    regularization : float, optional
        Ridge penalty on the squared length of the factors (λ). If not given, a few values are tried on a held-out
        fifth of the rows, and the best one is used; see ``regularization_``.
    reg_exponent : float
        Exponent of a row's total weight in its regularization. With 0 it is the same for all rows.
    targets : str, optional
        The values that the scores of observed entries should reach: ``"binary"``, ``"raw"``, ``"log"`` or
        ``"normalized:0.35[,0.35]"``. If not given, ``"binary"``. If ``weights`` and ``regularization`` are
        not given either, ``"normalized:0.1"`` is used if it does better on held-out rows; see ``targets_``.
    confidence : float or str, optional
        The weight of observed entries, 1 if not given: a number, ``"linear:40"``, ``"log:10,0.5"``, ``"decay:30d"`` or
        ``"column"`` (the weight column of the table, or ``sample_weight``).
    solver : str
        ``"eals"``, ``"subspace[:block]"``, ``"als"``, ``"als-cg[:steps]"`` or ``"eals-vanilla"``; or a
        baseline: ``"svd"``, ``"ials1"``, ``"rcd"``, ``"ii-svd"``, ``"bpr"``, ``"sgd-observed"``,
        ``"popularity"``, ``"itemknn[:neighbours]"``. A baseline rejects ``weights`` that it cannot use.
    iterations : int
        The largest number of sweeps over users and items.
    tolerance : float, optional
        Training ends when the relative change of the objective is smaller than this.
    post_scale : float, optional
        Item factors are multiplied by ``n_i ** post_scale`` for scores. If not given, it is chosen together
        with the regularization, or 0 if that is given or ``weights`` are arrays, tables or a function; see
        ``post_scale_``.
    post_scale_half_life : str, optional
        Recent rows count more in the ``n_i`` of ``post_scale``, as in ``"30d"``: a row loses half of its count every
        30 days before the latest row, down to a hundredth. Needs times. If not given, all rows count alike. If
        ``weights``, ``targets``, ``regularization`` and ``post_scale`` are not given either, the best half-life on
        held-out rows is used if it is better by more than noise; see ``post_scale_half_life_``.
    init_std : float
        Standard deviation of the initial factors, which are Gaussian.
    learning_rate : float
        Step size of the baselines ``"bpr"`` and ``"sgd-observed"``; not used by the others.
    random_state : int, numpy generator or None
        Seed of the initial factors; ``None`` draws one at random.
    num_threads : int, optional
        Number of threads; all processors if not given. The result does not depend on it.
    preset : {"clicks", "ratings", "plays", "views-purchases"}, optional
        Settings for a kind of data; other arguments override them.
    block, cg_steps, neighbours : int, optional
        The number of ``"subspace"``, ``"als-cg"`` and ``"itemknn"``, if ``solver`` does not have it.
    memory_limit : int or str, optional
        Memory that the run may use, as in ``"8GiB"``; what the machine or container has if not given.
    device : {"cpu"}
        What trains. There is no other device so far.

    Attributes
    ----------
    user_factors_, item_factors_ : ndarray
        Read-only views of the model's factors, not copies.
    item_scale_ : ndarray
        The post-scaling of items, ``n_i ** post_scale_``. Scores are
        ``user_factors_ @ (item_scale_[:, None] * item_factors_).T``.
    regularization_, post_scale_ : float
        The regularization and the exponent of post-scaling, given or chosen automatically.
    post_scale_half_life_ : str or None
        The half-life of the counts of post-scaling, if it was given.
    targets_ : str
        The targets, given or chosen automatically.
    history_ : list of Sweep
        The objective and its parts after every sweep.
    weights_ : absentia.weights.Resolved
        The weights on missing entries, resolved on the data.
    stop_reason_ : str
        ``"iterations"``, ``"converged"``, ``"patience"`` or ``"callback"``; ``"loaded"`` for a model read from
        a file.

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
        confidence: Union[float, str, None] = None,
        solver: str = "eals",
        iterations: int = 20,
        tolerance: Optional[float] = None,
        post_scale: Optional[float] = None,
        post_scale_half_life: Optional[str] = None,
        init_std: float = 0.01,
        learning_rate: float = 0.05,
        random_state: Any = 0,
        num_threads: Optional[int] = None,
        preset: Optional[str] = None,
        block: Optional[int] = None,
        cg_steps: Optional[int] = None,
        neighbours: Optional[int] = None,
        memory_limit: Union[int, str, None] = None,
        device: str = "cpu",
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
        self.post_scale_half_life = post_scale_half_life
        self.init_std = init_std
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.num_threads = num_threads
        self.preset = preset
        self.block = block
        self.cg_steps = cg_steps
        self.neighbours = neighbours
        self.memory_limit = memory_limit
        self.device = device
