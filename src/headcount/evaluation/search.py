"""Choosing the parameters of a quantifier by how well it quantifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_count, check_grid
from headcount.errors import HeadcountError
from headcount.evaluation.candidates import Labelled, Outcome, Split, try_candidates
from headcount.evaluation.fitting import is_pipeline
from headcount.evaluation.measures import Metric, check_measure
from headcount.evaluation.results import SearchResults
from headcount.evaluation.splits import labelled, make_splits
from headcount.quantify import MethodInfo, Quantifier
from headcount.quantify.fitted import Fitted
from headcount.quantify.info import Input
from headcount.sampling._streams import base_seeds


class GridSearch(Quantifier):
    """Try settings of a quantifier on samples with many mixes; keep the best.

    Settings are judged by the error of the estimated shares, on samples that a protocol
    draws from labelled items the quantifier was not fitted on. A classifier is trained
    and its scores are made once for all settings that agree on it: a search over
    bandwidths, bins or calibrations trains no more classifiers than a single setting.

    A setting that fails is recorded with its reason, and the search goes on.

    Parameters
    ----------
    quantifier : Quantifier, or pipeline that ends in one
        Quantifier to tune; it is cloned, never changed. The other steps of a pipeline are
        fitted on the items that the quantifier is fitted on, without weights.
    param_grid : dict of str to list, or list of such dicts
        The values to try by parameter, such as ``{"classifier__C": [0.1, 1, 10]}``.
    protocol : protocol, default=None
        Draws the samples; 1,000 of 500 items (fewer if fewer are held out) with mixes
        uniform on the simplex by default.
    metric : str or callable, default="ae"
        Mean over the samples is minimised: a name from `headcount.metrics`, or a function
        of true and estimated shares.
    holdout : float, default=0.4
        Share of the items that samples are drawn from; the rest is fitted on.
    folds : int or None, default=None
        Cross-validation instead of a held-out part: each of so many parts in turn.
    halving : int or None, default=None
        Successive halving: try all settings on few items first, and keep one in `halving`
        for a round with as many times the items, until the last round has all of them.
    refit : bool, default=True
        Fit the best setting on everything. Otherwise the search only reports.
    n_jobs : int or None, default=None
        Trainings side by side; None is one, -1 as many as there are cores.
    progress : bool or None, default=None
        Whether to show a bar; None does on a terminal.
    random_state : int, RandomState, Generator or None, default=None
        Decides the held-out part, and the samples unless `protocol` does.

    Attributes
    ----------
    best_quantifier_ : Quantifier
        The best setting, fitted on everything; predictions are its own. Of a pipeline, its
        last step.
    preparation_ : Pipeline or None
        The other steps of a pipeline, fitted on everything.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean error.
    results_ : SearchResults
        All settings; prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(600, random_state=0)
    >>> search = hc.GridSearch(hc.KDEyML(), {"bandwidth": [0.1, 5.0]}, random_state=0)
    >>> search.fit(X[:400], y[:400]).best_params_
    {'bandwidth': 0.1}
    >>> search.predict(X[400:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="best of a grid of settings", family="meta", input="any", reference=""
    )

    def __init__(
        self,
        quantifier: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        protocol: Any = None,
        metric: Metric = "ae",
        holdout: float = 0.4,
        folds: int | None = None,
        halving: int | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        progress: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.quantifier = quantifier
        self.param_grid = param_grid
        self.protocol = protocol
        self.metric = metric
        self.holdout = holdout
        self.folds = folds
        self.halving = halving
        self.refit = refit
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Search, then fit the best setting on everything.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            Items.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.
        groups : array-like of shape (n,), default=None
            Groups of the items: none is divided, neither by the parts that settings are
            tried on nor by cross-fitting.

        Returns
        -------
        GridSearch
            This one, fitted.
        """
        if self.refit:
            return super().fit(X, y, sample_weight, groups)
        self._search(labelled(X, y, sample_weight, groups))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        """The best setting fitted on everything, after the other steps of a pipeline."""
        best: Any = self._search(labelled(X, y, sample_weight, groups))
        self.preparation_ = None
        if is_pipeline(best):
            if len(best) > 1:
                self.preparation_ = best[:-1]
                X = self.preparation_.fit_transform(X, y)
            best = best[-1]
        self.best_quantifier_ = best.fit(X, y, sample_weight, groups)
        fitted: Fitted = self.best_quantifier_.fitted_
        if self.preparation_ is None:
            return fitted
        return replace(fitted, source=fitted.source.after(self.preparation_))

    def _takes(self) -> Input:
        return "posteriors"

    def _scorer(self) -> Any:
        return None  # the candidates have theirs

    def fit_scorer(self, scorer: Any) -> Self:
        """Not possible: a search fits scorers of its own."""
        raise HeadcountError(
            "GridSearch fits classifiers of its own and cannot take a scorer: use fit, with "
            "hc.Scored(posteriors) for items that were scored elsewhere."
        )

    def explain(self, size: int = 500) -> str:
        """Setting that was selected, and its error.

        Parameters
        ----------
        size : int, default=500
            No effect: the protocol determines the sizes of samples.

        Returns
        -------
        str
        """
        check_is_fitted(self, "results_")
        setting = ", ".join(f"{name}={value!r}" for name, value in self.best_params_.items())
        return (
            f"{setting} had the least mean {self.results_.metric} ({self.best_score_:.4f}) of "
            "the settings that were tried."
        )

    def _search(self, items: Labelled) -> Quantifier:
        settings = check_grid(self.param_grid)
        candidates = _candidates(self.quantifier, settings)
        measure = check_measure(self.metric)
        splits = make_splits(items, self.protocol, self.holdout, self.folds, self.random_state)
        rounds = _rounds(self.halving, len(settings))
        alive = np.arange(len(settings))
        outcomes: list[Outcome] = [Outcome(None, "not tried")] * len(settings)
        reached = np.zeros(len(settings), np.int64)
        for number, share in enumerate(rounds):
            tried = try_candidates(
                [candidates[i] for i in alive],
                items,
                [_thinned(split, items.codes, share, self.random_state) for split in splits],
                measure,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )
            for i, outcome in zip(alive, tried, strict=True):
                outcomes[i], reached[i] = outcome, number
            if number + 1 < len(rounds):
                alive = _survivors(alive, tried, rounds, number)
        self.results_ = SearchResults.of(settings, outcomes, reached, measure.name)
        best = self.results_.best
        self.best_params_ = settings[best]
        self.best_score_ = float(self.results_.means[best])
        return clone(candidates[best])


def _candidates(quantifier: Any, settings: list[dict[str, Any]]) -> list[Quantifier]:
    if not (isinstance(quantifier, Quantifier) or is_pipeline(quantifier)):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a quantifier, or a pipeline that ends "
            "in one: pass for instance PACC()."
        )
    try:
        return [clone(quantifier).set_params(**_own_copies(setting)) for setting in settings]
    except ValueError as error:
        raise HeadcountError(f"param_grid does not suit the quantifier: {error}") from None


def _own_copies(setting: dict[str, Any]) -> dict[str, Any]:
    """The setting with its own copy of every estimator in it."""
    return {name: clone(value, safe=False) for name, value in setting.items()}


def _rounds(halving: int | None, n_settings: int) -> NDArray[np.float64]:
    """The share of the training items that each round of the search fits on."""
    if halving is None:
        return np.ones(1)
    factor = check_count("halving", halving, 2)
    rounds = 1
    while factor**rounds <= n_settings:
        rounds += 1
    return np.power(1.0 / factor, np.arange(rounds - 1, -1, -1))


def _survivors(
    alive: NDArray[np.int64], made: list[Outcome], rounds: NDArray[np.float64], number: int
) -> NDArray[np.int64]:
    means = np.array([np.inf if o.errors is None else o.errors.mean() for o in made])
    keep = int(np.ceil(len(alive) * rounds[number] / rounds[number + 1]))
    best = np.argsort(means, kind="stable")[:keep]
    best = best[np.isfinite(means[best])]
    return np.sort(alive[best]) if len(best) else alive


def _thinned(split: Split, codes: NDArray[np.int64], share: float, random_state: Any) -> Split:
    """The split with a share of its training rows, the same in every class."""
    if share == 1:
        return split
    rng = np.random.default_rng(base_seeds(random_state, 3)[2])
    thinned = []
    for code in np.unique(codes[split.train]):
        rows = split.train[codes[split.train] == code]
        thinned.append(rng.permutation(rows)[: max(2, round(share * len(rows)))])
    return replace(split, train=np.sort(np.concatenate(thinned)))
