"""The quantifier for someone who does not want to choose one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from headcount.errors import HeadcountError
from headcount.evaluate.candidates import Labelled, try_candidates
from headcount.evaluate.measures import Metric, check_measure
from headcount.evaluate.results import SearchResults
from headcount.evaluate.selected import Selected, labelled, make_splits
from headcount.quantify import CC, GPAC, MS2, PACC, SLD, DyS, EDy, KDEyML, Quantifier
from headcount.scores import Scorer

__all__ = ["AutoQuantifier"]

# Each half of the scored training items in turn is sampled from; the other is fitted on.
_FOLDS = 2
_METRIC_WORDS = {"ae": "mean absolute error", "rae": "mean relative absolute error"}


class AutoQuantifier(Selected):
    """Tries a few strong methods on samples of the training set and keeps the best.

    The classifier is cross-fitted once. Its out-of-fold scores are split in halves: the
    methods learn from one and are tried on samples of the other, drawn with mixes from
    all over the simplex, then the other way round. So trying takes seconds, whatever the
    classifier took to train. The winner learns from all scores.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    candidates : dict of str to Quantifier, or None, default=None
        What to try. Their own classifiers do not matter: all use `classifier`. By default
        GPAC, SLD with and without calibration, KDEyML and EDy, and for two classes PACC,
        DyS and MS2 as well.
    protocol : protocol, default=None
        Draws the samples; 1,000 of 500 items (fewer if there are fewer) with mixes uniform
        on the simplex by default.
    metric : str or callable, default="ae"
        Mean over the samples is minimised.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    progress : bool or None, default=None
        Whether to show a bar; None does on a terminal.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds and decides the samples.

    Attributes
    ----------
    best_quantifier_ : Quantifier
        The chosen method, fitted; predictions are its own.
    best_name_ : str
        Its name among the candidates.
    best_score_ : float
        Its mean error on the samples.
    results_ : SearchResults
        All of them, and classify and count beside them; prints as a table.
    why_ : str
        The choice and its reason in a sentence or two.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(600, random_state=0)
    >>> q = hc.AutoQuantifier(random_state=0).fit(X[:400], y[:400])
    >>> q.predict(X[400:]).round(1)
    array([0.5, 0.5])
    >>> q.why_  # doctest: +ELLIPSIS
    '...had the least mean absolute error...'
    """

    info: ClassVar = replace(Selected.info, title="best of a few strong methods")

    def __init__(
        self,
        classifier: Any = None,
        *,
        candidates: dict[str, Quantifier] | None = None,
        protocol: Any = None,
        metric: Metric = "ae",
        cv: Any = 5,
        progress: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.candidates = candidates
        self.protocol = protocol
        self.metric = metric
        self.cv = cv
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Score the items by cross-fitting once, then try the methods.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            Items.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.

        Returns
        -------
        AutoQuantifier
            This one, fitted.
        """
        return self.fit_scorer(self._scorer().fit(X, y, sample_weight))

    def fit_scorer(self, scorer: Scorer) -> Self:
        """Try the methods on a fitted scorer's out-of-fold scores.

        Parameters
        ----------
        scorer : Scorer
            Fitted on labelled items.

        Returns
        -------
        AutoQuantifier
            This one, fitted.
        """
        items = Labelled(
            scorer.posteriors_, scorer.classes_, scorer.codes_, scorer.weights_, scored=True
        )
        return self._take_on(self._choose(items).fit_scorer(scorer))

    def fit_scores(
        self,
        scores: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Try the methods on items that were scored elsewhere.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors made by a classifier that was not trained on these items.
        y : array-like of shape (n,)
            Labels of the items.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.
        classes : array-like of shape (K,), default=None
            Classes in the order of the columns; sorted by default.

        Returns
        -------
        AutoQuantifier
            This one, fitted.
        """
        items = labelled(scores, y, sample_weight, scored=True, classes=classes)
        return self._take_on(
            self._choose(items).fit_scores(scores, y, sample_weight, classes=classes)
        )

    def _choose(self, items: Labelled) -> Quantifier:
        candidates = self._checked_candidates(len(items.classes))
        measure = check_measure(self.metric)
        splits = make_splits(items, self.protocol, 0.5, _FOLDS, self.random_state)
        names = [*candidates, "CC"]
        outcomes = try_candidates(
            [*candidates.values(), CC()], items, splits, measure, progress=self.progress
        )
        n_items = splits[0].samples.sizes
        rounds = np.ones(len(names), np.int64)
        rounds[-1] = 0  # a yardstick, not a candidate
        self.results_ = SearchResults.of(
            [{"method": name} for name in names], outcomes, rounds, measure.name
        )
        best = self.results_.best
        if names[best] == "CC":
            raise HeadcountError(f"No candidate could be used: {self.results_.problems[0]}")
        self.best_name_ = names[best]
        self.best_score_ = float(self.results_.means[best])
        self.why_ = self._reason(names, int(np.median(n_items)))
        return clone(candidates[self.best_name_])

    def _reason(self, names: list[str], size: int) -> str:
        results = self.results_
        means = results.means
        word = _METRIC_WORDS.get(results.metric, f"mean {results.metric}")
        best = results.best
        others = [i for i in results.order if i != best and not np.isnan(means[i])]
        beside = ", ".join(f"{names[i]} {means[i]:.4f}" for i in others)
        errors = results.errors[best]
        assert errors is not None
        return (
            f"{names[best]} had the least {word} ({means[best]:.4f}) on {len(errors):,} "
            f"samples of {size:,} items with many mixes, drawn from the training set; "
            f"beside it: {beside}."
        )

    def _checked_candidates(self, K: int) -> dict[str, Quantifier]:
        given: Any = self.candidates
        if given is None:
            return _strong_methods(K)
        if not isinstance(given, dict) or not given:
            raise HeadcountError(
                f"candidates is {given!r}; it must be a dict from names to "
                "quantifiers with at least one of them."
            )
        for name, candidate in given.items():
            if not isinstance(candidate, Quantifier) or candidate._input() == "features":
                raise HeadcountError(
                    f"candidate {name!r} is {candidate!r}; it must be a quantifier that works "
                    "on a classifier's scores."
                )
        return dict(given)


def _strong_methods(K: int) -> dict[str, Quantifier]:
    methods: dict[str, Quantifier] = {
        "GPAC": GPAC(),
        "SLD": SLD(),
        "SLD-BCTS": SLD(calibration="bcts"),
        "KDEyML": KDEyML(),
        "EDy": EDy(),
    }
    if K == 2:
        methods |= {"PACC": PACC(), "DyS": DyS(), "MS2": MS2()}
    return methods
