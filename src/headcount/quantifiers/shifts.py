"""Comparison of prior and covariate shift as explanations of a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse, vstack
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from headcount._support.arrays import Array, Floats
from headcount._support.execution import base_seeds
from headcount._support.text import Table, html_result
from headcount.estimates.assumption import BROKEN_LEVEL
from headcount.items.arrays import count_rows
from headcount.learn.multicalibrated import MulticalibratedClassifier
from headcount.quantifiers.adjusted import PCC
from headcount.quantifiers.likelihood import SLD
from headcount.scores.folds import numeric_space
from headcount.scores.scorer import Scorer

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class ShiftComparison:
    """Shares under two assumptions about a change, and the evidence. Prints as a table."""

    classes: Array
    training: Floats
    prior: Floats
    covariate: Floats
    score_p_value: float
    feature_p_value: float
    separation: float
    change_p_value: float
    mix_changed: bool

    @property
    def changed(self) -> bool:
        """True if the new items differ from the training items."""
        tested = min(self.change_p_value, self.score_p_value) < BROKEN_LEVEL
        return tested or self.mix_changed

    @property
    def prior_fits(self) -> bool:
        """True if a change of the mix of the classes explains what has changed."""
        return min(self.score_p_value, self.feature_p_value) >= BROKEN_LEVEL

    @property
    def conclusion(self) -> str:
        """Explanation that fits better, in a sentence or two."""
        if not self.changed and self.prior_fits:
            return "The new items look like the training items: there is no shift to explain."
        if self.prior_fits:
            return (
                "Prior shift fits: once the training items are weighted to the new shares, the "
                "new items look like them. Use the shares under prior shift."
            )
        return (
            "Prior shift does not fit: items have changed within the classes as well. The "
            "shares under covariate shift are valid if the relation of features and classes is "
            "as it was, which unlabelled items cannot show: label a few of the new items."
        )

    def to_table(self) -> Table:
        """Table that `print` shows, one row per class."""
        columns = (self.training, self.prior, self.covariate)
        rows = [
            [label, *(f"{share:.1%}" for share in shares)]
            for label, *shares in zip(self.classes.tolist(), *columns, strict=True)
        ]
        head = ["class", "training", "under prior shift", "under covariate shift"]
        return Table.of(head, rows)

    def __repr__(self) -> str:
        return "\n".join([self.conclusion, self.to_table().to_text(ruled=False), self._tests()])

    def _repr_html_(self) -> str:
        return html_result(self.conclusion, [self.to_table()], (self._tests(),))

    def _tests(self) -> str:
        scores, features = (
            "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
            for p_value in (self.score_p_value, self.feature_p_value)
        )
        return (
            f"tests of prior shift: scores {scores}, features {features} (a classifier "
            f"separates {self.separation:.0%} of pairs of new and weighted training items)"
        )


def compare_shifts(
    X: Any, y: ArrayLike, X_new: Any, *, classifier: Any = None, random_state: Any = None
) -> ShiftComparison:
    """Compare prior and covariate shift as explanations of a change since training.

    Under prior shift, training items that are weighted to the new shares of their classes look
    like the new items. Both the scores and the features are tested for this: the latter by a
    classifier of new and weighted training items, on items that it was not trained on.
    Covariate shift cannot be tested without labels, as it allows any change of the features.
    Nothing is chosen silently: the shares under both assumptions are returned.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n, d), list of texts
        Labelled items, as the classifier takes them.
    y : array-like of shape (n,)
        Their labels.
    X_new : array-like, sparse matrix or frame of shape (m, d), list of texts
        New items.
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    random_state : int, RandomState, Generator or None, default=None
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.quantifiers import compare_shifts
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [700, 300])
    >>> X = rng.normal(size=(1000, 3)) + 1.5 * y[:, None]
    >>> more = np.repeat([0, 1], [150, 350])
    >>> mixed = rng.normal(size=(500, 3)) + 1.5 * more[:, None]
    >>> compare_shifts(X, y, mixed, random_state=0).prior_fits
    True
    >>> moved = rng.normal(size=(500, 3)) + [0, 0, 1.5]
    >>> compare_shifts(X, y, moved, random_state=0).prior_fits
    False
    """
    seed = base_seeds(random_state, 1)[0] % 2**32
    scorer = Scorer(classifier, random_state=seed).fit(X, y)
    estimate = (
        SLD(classifier, calibration="bcts")
        .fit_scorer(scorer)
        .estimate(X_new, random_state=seed)
    )
    multi = MulticalibratedClassifier(classifier, random_state=seed)
    covariate = PCC(multi, cv=None).fit(X, y).predict(X_new)
    old, new = (numeric_space(scorer.classifier_, items) for items in (X, X_new))
    weights = (estimate.shares / scorer.prior_)[scorer.codes_]
    separation, feature_p_value = _told_apart(old, new, weights, seed)
    _, change_p_value = _told_apart(old, new, np.ones(count_rows(old)), seed)
    test, ends = estimate.fit_test, estimate.interval(1 - BROKEN_LEVEL)
    outside = (scorer.prior_ < ends.low) | (scorer.prior_ > ends.high)
    return ShiftComparison(
        scorer.classes_,
        scorer.prior_,
        estimate.shares,
        covariate,
        float(test.p_value) if np.isfinite(test.p_value) else 1.0,
        feature_p_value,
        separation,
        change_p_value,
        bool(outside.any()),
    )


def _told_apart(old: Any, new: Any, weights: Floats, seed: int) -> tuple[float, float]:
    """Area under the ROC curve of new against weighted old items, and its p-value."""
    n, m = count_rows(old), count_rows(new)
    is_new = np.repeat([0, 1], [n, m])
    # Both sides weigh the same.
    mass = np.concatenate([weights * (m / weights.sum()), np.ones(m)])
    sparse = issparse(old)
    items = vstack([old, new]).tocsr() if sparse else np.concatenate([old, new])
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    areas, variances = [], []
    for train, test in folds.split(is_new, is_new):
        model: Any = LogisticRegression(max_iter=1000) if sparse else (
            HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=seed)
        )  # fmt: skip
        model.fit(items[train], is_new[train], sample_weight=mass[train])
        score = model.predict_proba(items[test])[:, 1]
        areas.append(roc_auc_score(is_new[test], score, sample_weight=mass[test]))
        old_mass = mass[test][is_new[test] == 0]
        n_old, n_new = old_mass.sum() ** 2 / (old_mass**2).sum(), is_new[test].sum()
        variances.append((n_old + n_new + 1) / (12 * n_old * n_new))
    area = float(np.mean(areas))
    error = float(np.sqrt(np.mean(variances) / len(areas)))
    return area, float(norm.sf((area - 0.5) / error))
