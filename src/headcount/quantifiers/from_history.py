"""Shares by what held in labelled groups: months, sites."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount.errors import HeadcountError
from headcount.estimates.backtest import LabelledGroups, group_members, run_backtest
from headcount.estimates.history import History
from headcount.items.arrays import Scored, Verdicts, encode_labels, take_rows
from headcount.parts.fitted import Fitted, Input, MethodInfo
from headcount.quantifiers.base import Quantifier, ShareEstimator, seeded
from headcount.quantifiers.likelihood import SLD


@dataclass(eq=False, repr=False)
class FromHistory(Quantifier):
    """Shares by the reading of the data that held in labelled groups, such as months or sites.

    New items can be read in several ways: the shares are those of the past; the class of an
    item depends on its features as before, so mean posteriors are right; or only the mix of
    the classes has changed, so the quantifier is right. Labelled groups tell which reading
    holds. A backtest estimates each of them by models that have not seen it. New samples are
    estimated by all readings, weighted by how well each held, with intervals that contain the
    drift that the labelled groups show.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Method for prior shift. By default ``SLD(calibration="bcts")``.
    random_state : int, RandomState, Generator or None, default=None
        Random seed, also of a quantifier that has none.

    Attributes
    ----------
    quantifier_ : Quantifier
        The quantifier, fitted on all labelled items.
    backtest_ : Backtest
        What would have been estimated for the labelled groups, compared with their shares.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(8), 200)
    >>> y = (rng.random(1600) < np.resize([0.2, 0.7], 8)[month]).astype(int)
    >>> X = rng.normal(size=(1600, 2)) + y[:, None]  # only the mix changes
    >>> old, new = month < 7, month == 7
    >>> q = hc.FromHistory(random_state=0)
    >>> q = q.fit(X[old], y[old], groups=month[old], ordered=True)
    >>> max(q.backtest_.weights, key=q.backtest_.weights.get)
    'prior shift'
    >>> q.estimate(X[new]).basis
    'history'
    """

    info: ClassVar = MethodInfo(
        title="readings of the data, weighted by what held in labelled groups",
        family="meta",
        input="any",
        reference="headcount",
        inconsistency="readings are averaged",
        depends_on_size=True,
        resamples=True,
        needs_groups=True,
    )

    quantifier: Quantifier | None = None
    _: KW_ONLY
    random_state: Any = None

    def _takes(self) -> Input:
        return self._unfitted()._takes()

    def _why_no_scores(self) -> str:
        return self._unfitted()._why_no_scores()

    def _unfitted(self) -> Quantifier:
        quantifier: Any = (
            SLD(calibration="bcts") if self.quantifier is None else self.quantifier
        )
        if not isinstance(quantifier, Quantifier):
            raise HeadcountError(
                f"quantifier is {quantifier!r}; it must be a quantifier, such as SLD()."
            )
        return seeded(clone(quantifier), base_seeds(self.random_state, 1)[0])

    @documented(ShareEstimator.fit)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        ordered: Any = "auto",
    ) -> Self:
        """Learn from labelled items, and from what held in their groups.

        Parameters
        ----------
        groups : array-like of shape (n,)
            Group of each item, such as its month or site.
        ordered : {"auto"} or bool, default="auto"
            True if the groups are a sequence in time: each is estimated from earlier ones only,
            and the last labelled share is one more reading. "auto" takes dates for a sequence.
        """
        return self._keep(self._from_groups(X, y, sample_weight, groups, ordered))

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        return self._from_groups(X, y, sample_weight, groups, "auto")

    def _from_groups(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, ordered: Any
    ) -> Fitted:
        if groups is None:
            raise HeadcountError(
                "groups is missing: pass the month or site of each labelled item as "
                "fit(X, y, groups=...), or use the quantifier itself."
            )
        quantifier = self._unfitted()
        labelled = labelled_groups(quantifier, X, y, groups, ordered)
        backtest = run_backtest(labelled, random_state=base_seeds(self.random_state, 1)[0])
        self.quantifier_ = quantifier.fit(X, y, sample_weight)
        self.backtest_ = backtest
        return replace(
            self.quantifier_.fitted_,
            method=f"{type(self).__name__}({self.quantifier_.fitted_.method})",
            history=backtest.history,
        )

    @documented(ShareEstimator.predict_many)
    def predict_many(self, X: Any, samples: Any) -> Floats:
        """Shares of the classes in many samples of a pool: those of `estimate_many`."""
        return np.stack([estimate.shares for estimate in self.estimate_many(X, samples)])


def labelled_groups(
    quantifier: Quantifier,
    X: Any,
    y: ArrayLike,
    groups: ArrayLike,
    ordered: Any,
    names: Sequence[Any] | None = None,
) -> LabelledGroups[Fitted]:
    """Labelled items in groups, for a backtest of a quantifier that is not fitted."""
    classes, codes = encode_labels(y, name="y")
    in_order, members, is_sequence = group_members(groups, len(codes), ordered, names)
    labels = np.asarray(classes)[codes]

    def fit(rows: Ints) -> Fitted:
        items = X.take(rows) if isinstance(X, Scored | Verdicts) else take_rows(X, rows)
        return clone(quantifier).fit(items, labels[rows]).fitted_

    return LabelledGroups(X, codes, members, in_order, classes, is_sequence, fit)


def following(quantifier: Any, history: History | None) -> Any:
    """Fitted quantifier whose estimates follow a history; None for prior shift alone."""
    if history is quantifier.fitted_.history:
        return quantifier
    return copy(quantifier)._keep(replace(quantifier.fitted_, history=history))
