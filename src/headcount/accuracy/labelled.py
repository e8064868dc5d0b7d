"""Accuracy of a classifier on a sample, estimated with labels of some of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_fraction
from headcount.accuracy.estimates import AccuracyEstimate, Interval
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.rankings import ReferenceRanking
from headcount.errors import HeadcountError
from headcount.labels import (
    Agreement,
    LabelledTable,
    LabelPlan,
    PoolPosteriors,
    check_design,
    check_enough,
    check_labelled,
    draw_of,
    places_within,
)
from headcount.representation import Training
from headcount.sampling import Samples

if TYPE_CHECKING:
    from headcount.accuracy.base import Predictor

__all__ = ["LabelledAccuracy", "accuracy_from_labels"]

Floats = NDArray[np.float64]

_N_DRAWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class LabelledAccuracy(AccuracyEstimate):
    """Metric of a classifier on a sample, from labels of some items.

    The labels make it valid under any shift, if their rows were drawn at random. The scores of
    the other items make its interval shorter.

    Attributes
    ----------
    n_labels : int
        Number of labels.
    cells : LabelledTable
        Shares by true and predicted class from the labels, with their uncertainty.
    under_shift : AccuracyEstimate
        Estimate of the same metric by the method, without the labels.
    agreement : Agreement
        Test whether the two estimates agree.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(4000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X[1000:2000], y[1000:2000])
    >>> new, truth = X[2000:], y[2000:]
    >>> rows = np.random.default_rng(0).choice(2000, 200, replace=False)
    >>> estimate = leap.estimate(new, labelled=(rows, truth[rows]), random_state=0)
    >>> low, high = estimate.interval()
    >>> low < model.score(new, truth) < high, estimate.basis
    (True, 'labels')
    """

    n_labels: int = field(kw_only=True)
    cells: LabelledTable = field(kw_only=True)
    under_shift: AccuracyEstimate = field(kw_only=True)
    agreement: Agreement = field(kw_only=True)

    @property
    def basis(self) -> str:
        """Foundation of the value: "labels" of the items themselves."""
        return "labels"

    def interval(self, level: float | None = None) -> Interval:
        """Interval for the metric.

        Parameters
        ----------
        level : float, default=None
            Probability that the interval contains the truth; ``self.level`` by default.

        Returns
        -------
        Interval
            The pair (low, high).
        """
        level = self.level if level is None else check_fraction("level", level)
        measure = self.measure
        found = self.cells.metric(
            _single(measure), level=level, low=measure.low, high=measure.high
        )
        return Interval(found.low, found.high)

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything but the draws, as plain values for JSON.

        Parameters
        ----------
        level : float, default=None
            As for `interval`.

        Returns
        -------
        dict
        """
        return super().to_dict(level) | {
            "basis": self.basis,
            "n_labels": self.n_labels,
            "agreement": self.agreement.to_dict(),
            "under_shift": self.under_shift.to_dict(level),
        }

    def to_text(self, level: float | None = None) -> str:
        """Text that `print` shows, at any level.

        Parameters
        ----------
        level : float, default=None
            As for `interval`.

        Returns
        -------
        str
        """
        lines = super().to_text(level).split("\n")
        low, high = self.under_shift.interval(level)
        lines[0] = f"{self.n_labels:,} labels and {lines[0]}"
        lines[1] = (
            f"without labels: {self.under_shift.value:.3f}, interval {low:.3f} to {high:.3f}"
        )
        return "\n".join([*lines[:2], repr(self.agreement), *lines[2:]])


def accuracy_from_labels(
    predictor: Predictor,
    pool: ModelOutputs,
    samples: Samples,
    under_shift: Sequence[AccuracyEstimate],
    labelled: Any,
    design: LabelPlan | None,
) -> list[AccuracyEstimate]:
    """Estimate a metric on samples of a pool from labels of some of its items.

    Parameters
    ----------
    predictor : Predictor
        The fitted predictor.
    pool : ModelOutputs
        Outputs of the classifier for the pool.
    samples : Samples
        The samples.
    under_shift : sequence of AccuracyEstimate
        Estimates of the same metric without labels.
    labelled : pair of array-like
        Rows of the pool that have a label, and their labels.
    design : LabelPlan or None
        Plan by which the rows were drawn; None for a simple random sample.

    Returns
    -------
    list of LabelledAccuracy
    """
    if any(isinstance(each.measure, ReferenceRanking) for each in under_shift):
        raise HeadcountError(
            f"metric is {under_shift[0].metric!r}, which is no function of the table that "
            "labels of some items give: choose another metric, or pass no labels."
        )
    n_pool, classes = len(pool), predictor.classes_
    rows, codes = check_labelled(labelled, n_pool, classes)
    # Plans are made for shares, with scores of the folds: only the size can be compared.
    plan = check_design(design, str(n_pool))
    found: list[AccuracyEstimate] = []
    for items, estimate in zip(samples, under_shift, strict=True):
        places, own = places_within(rows, items, n_pool)
        check_enough(len(places), len(classes), "a sample")
        part = None if plan is None else plan.within(items)
        scores = None if pool.scores is None else pool.scores[items]
        outputs = ModelOutputs(scores, pool.labels[items])
        sample = draw_of(places, len(items), part, None, None)
        cells = LabelledTable.of(
            _posteriors(predictor.reference_, outputs, estimate.table),
            outputs.labels,
            sample,
            codes[own],
            expected=estimate.estimand == "expected",
        )
        found.append(_estimate(estimate, cells))
    return found


def _estimate(under_shift: AccuracyEstimate, cells: LabelledTable) -> LabelledAccuracy:
    measure = under_shift.measure
    found = cells.difference(_single(measure))
    value, spread = float(found.centre[0]), found.with_unseen() + np.diag(found.population)
    normal = np.random.default_rng(0).standard_normal(_N_DRAWS)
    draws = np.clip(value + normal * np.sqrt(spread[0, 0]), measure.low, measure.high)
    both = spread + np.var(under_shift.draws)
    return LabelledAccuracy(
        under_shift.method,
        measure,
        value,
        under_shift.raw,
        under_shift.size,
        under_shift.estimand,
        under_shift.level,
        draws,
        under_shift.classes,
        cells.table,
        under_shift.fit_test,
        n_labels=len(cells.codes),
        cells=cells,
        under_shift=under_shift,
        agreement=Agreement.of(found.centre - under_shift.value, both, found.df),
    )


def _posteriors(
    reference: Reference, outputs: ModelOutputs, table: Floats | None
) -> PoolPosteriors:
    """Posteriors of the items, corrected to the shares that the method estimates."""
    K = reference.n_classes
    shares = reference.prior if table is None else table.sum(axis=1)
    known = reference.outputs
    if len(reference.present) < K:
        if outputs.scores is None:
            return PoolPosteriors.none(len(outputs), shares)
        return PoolPosteriors(outputs.scores, 1.0)
    if outputs.scores is None or known.scores is None:
        training = Training(known.labels, reference.codes, K)
        return PoolPosteriors.of_decisions(outputs.labels, training, shares)
    return PoolPosteriors.of(outputs.scores, Training(known.scores, reference.codes, K), shares)


def _single(measure: Any) -> Any:
    """Metric as a function of one table."""
    return lambda table: float(measure(table[None])[0])
