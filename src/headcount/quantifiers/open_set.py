"""Shares of the known classes and of items that belong to none of them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from headcount._support.arrays import Bools, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_choice, check_count
from headcount.errors import HeadcountError, warn
from headcount.estimates.assumption import UNLIKE, format_p_value
from headcount.estimates.conditioning import Prior
from headcount.estimates.estimate import Estimate
from headcount.parts.aggregation import Model
from headcount.parts.fitted import Fitted
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier, ScoringPlan, ShareEstimator, is_simple
from headcount.quantifiers.likelihood import SLD
from headcount.samples.samples import Samples
from headcount.scores.novelty import NOVELTIES, NoveltyScorer
from headcount.scores.scorer import Scorer

# Below this, left-out classes are hardly told from known ones.
_LEAST_SEPARATION = 0.65


@dataclass(eq=False, repr=False)
class OpenSet(ShareEstimator):
    """Shares of the known classes and of "other": items unlike all known classes.

    Each of several known classes is left out in turn. Its items, scored by a classifier that
    does not know them and by the distance to items of the other classes, show how an unknown
    class looks. The quantifier then has one more class. Without any assumption the share of an
    unknown class is not identified, as it could look like a mixture of the known ones. What is
    assumed here is that it differs from the known classes about as much as these differ from
    each other.

    Intervals are from simulated samples whose items of "other" all come from one left-out
    class, by a quantifier that has not learnt from this class. In one of n + 1 samples, with
    n left-out classes, a random part of them looks like known items. So intervals contain the
    uncertainty about what "other" looks like.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier with one classifier; `SLD` by default.
    novelty : {"both", "scores", "distance"}, default="both"
        Signs of an unknown class: posteriors without a clear class, a large distance to the
        nearest training items, or both. With two known classes "distance" is needed.
    other : Any, default="other"
        Name of the further class.
    held_out : int, default=6
        Number of known classes, drawn at random, that are left out in turn; all if there are
        fewer. Each takes another fit of the classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (K + 1,)
        The known classes, then "other".
    separation_ : float
        Probability that an item of a left-out class seems newer than one of a known class. At
        0.5 the share of "other" cannot be estimated.
    quantifier_ : Quantifier
        Fitted quantifier with K + 1 classes.

    References
    ----------
    Ye, Tsuchida, Petersson & Barnes, CVPR 2025, for maximum likelihood with a classifier of
    unknown items.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> import headcount as hc
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> known = y < 8
    >>> quantifier = hc.OpenSet(hc.SLD(random_state=0)).fit(X[known], y[known])
    >>> quantifier.predict(X_new)[-1].round(2), np.mean(y_new >= 8).round(2)
    (np.float64(0.11), np.float64(0.21))
    """

    quantifier: Any = None
    _: KW_ONLY
    novelty: str = "both"
    other: Any = "other"
    held_out: int = 6

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        check_choice("novelty", self.novelty, NOVELTIES)
        check_count("held_out", self.held_out, 2)
        base: Any = SLD() if self.quantifier is None else self.quantifier
        scorer = ScoringPlan(base).scorer() if is_simple(base) else None
        if not isinstance(scorer, Scorer):
            raise HeadcountError(
                f"quantifier is {base!r}; it must be a quantifier with one classifier: pass "
                "for instance SLD()."
            )
        if base.info.multiclass == "one-vs-rest":
            name = type(base).__name__
            raise HeadcountError(
                f"{name} works with two classes, but with the unknown one there are more: wrap "
                f"it as OneVsRest({name}())."
            )
        scored = NoveltyScorer(
            scorer, novelty=self.novelty, other=self.other, held_out=self.held_out
        ).fit(X, y, sample_weight, groups=groups)
        quantifier = clone(base).fit_scorer(scored)
        model = _LeftOut.of(quantifier, scored.source_)
        quantifier.fitted_ = replace(quantifier.fitted_, model=model)
        self.quantifier_, self.separation_ = quantifier, scored.separation_
        if self.separation_ < _LEAST_SEPARATION:
            warn(
                "classes that are left out of training are hardly told from the known ones "
                f"(in {self.separation_:.0%} of pairs, by chance it would be 50%), so the "
                "share of unknown items is very uncertain: use features that tell the classes "
                "apart better."
            )
        # Shares in training, in which nothing is unknown.
        fitted = scored.fitted_
        of_known = Training(None, fitted.codes_, len(scored.classes_), fitted.weights_)
        return replace(
            quantifier.fitted_,
            method=f"OpenSet({type(base).__name__})",
            prior=of_known.prior,
            # If known classes could be absent, unknown ones could stand for them. Nothing is
            # unknown in training, so the share of the unknown ones may not be near that.
            share_prior=Prior(all_present=True, largest_sum=10.0),
        )

    @documented(ShareEstimator.estimate_many)
    def estimate_many(self, X: Any, samples: Any, **options: Any) -> list[Estimate]:
        """Estimate the shares in many samples of a pool, such as months or groups.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            The pool.
        """
        estimates = super().estimate_many(X, samples, **options)
        return [replace(estimate, warnings=_reworded(estimate)) for estimate in estimates]


def _reworded(estimate: Estimate) -> tuple[str, ...]:
    """Warnings of an estimate, with the one on the assumption for unknown classes."""
    test: Any = estimate.fit_test
    return tuple(
        f"{UNLIKE} the known classes and those that were left out in turn "
        f"({format_p_value(test)}): its unknown items are like neither, or known "
        "classes have changed. Label a few of its items to find out."
        if text.startswith(UNLIKE)
        else text
        for text in estimate.warnings
    )


@dataclass(frozen=True, eq=False)
class _LeftOut(Model):
    """Model of all classes, and models that have not learnt from one left-out class."""

    whole: Model
    without: tuple[Model, ...]
    source: Ints

    @classmethod
    def of(cls, quantifier: Quantifier, source: Ints) -> _LeftOut:
        training = quantifier.fitted_.training
        assert training is not None
        left_out, classes = np.unique(source[source >= 0], return_inverse=True)
        numbers = np.full(len(source), -1)
        numbers[source >= 0] = classes
        aggregation = quantifier._aggregation()
        without = []
        for i in range(len(left_out)):
            remaining = _subset(training, numbers != i)
            without.append(aggregation.fit(remaining))
        return cls(quantifier.fitted_.model, tuple(without), numbers)

    @property
    def copies_only(self) -> bool:
        return True

    def solve(self, items: Any, samples: Samples) -> Solution:
        return self.whole.solve(items, samples)

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares in samples whose unknown items are all of one left-out class."""
        source = self.source if training.copied is None else self.source[training.copied]
        indices = samples.indices.copy()
        number = np.repeat(np.arange(len(samples)), samples.sizes)
        is_other = source[indices] >= 0
        rng = np.random.default_rng(0)
        n_left_out = len(self.without)
        for i in range(n_left_out):
            places = np.flatnonzero(is_other & (number % n_left_out == i))
            rows = np.flatnonzero(source == i)
            chances = training.class_weights[rows]
            indices[places] = rng.choice(rows, len(places), p=chances / chances.sum())
        # Of the left-out classes and the unknown one, each is as likely as any other to look
        # most like known ones. If that is the unknown one, any part of its items may do so.
        unlike = rng.random(len(samples)) < 1 / (n_left_out + 1)
        alike = np.where(unlike, rng.random(len(samples)), 0.0)
        places = np.flatnonzero(is_other & (rng.random(len(indices)) < alike[number]))
        indices[places] = rng.choice(np.flatnonzero(source < 0), len(places))
        moved = Samples.unchecked(indices, samples.offsets, samples.n_pool)
        solved = [
            model.solve_training(replace(training, copied=None), moved[i::n_left_out])
            for i, model in enumerate(self.without)
        ]
        order = np.argsort(np.concatenate([np.arange(i, len(samples), n_left_out)
                                           for i in range(n_left_out)]))  # fmt: skip
        return Solution.concatenate(solved)[order]


def _subset(training: Training, chosen: Bools) -> Training:
    """Some of the training items; the unknown ones weigh as much as before."""
    items: Any = training.items
    weights = training.weights
    assert weights is not None
    unknown = training.codes == training.n_classes - 1
    mass = weights[chosen & unknown].sum()
    scaled = np.where(unknown, weights * (weights[unknown].sum() / mass), weights)
    remaining = items[chosen] if items is not None else None
    return Training(remaining, training.codes[chosen], training.n_classes, scaled[chosen])
