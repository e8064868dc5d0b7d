"""How a fitted quantifier tells how sure its estimates are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from headcount.data import count_rows
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.scores import ScoredPool, check_scores

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate

__all__ = ["Estimating", "takes_scores"]

Evidence = tuple[Training, NDArray[np.float64]]
"""Training items by their posteriors, and the posteriors of a pool made in the same way."""


def takes_scores(quantifier: Quantifier) -> bool:
    """Whether it can do with scores alone; the reason, as an error, if not."""
    reason = quantifier._why_no_scores()
    if reason:
        raise AttributeError(f"{type(quantifier).__name__} {reason}: use fit and predict.")
    return True


class Estimating:
    """The part of every quantifier that estimates with intervals."""

    def estimate(
        self: Any,
        X: Any,
        *,
        target: str = "realised",
        replicates: int = 1000,
        training_replicates: int = 200,
        random_state: Any = None,
    ) -> Estimate:
        """Shares of the classes among the items, with intervals.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            One sample: the items whose shares are wanted.
        target : {"realised", "expected"}, default="realised"
            Whose shares: those among these very items, or those of the population that they
            are a random sample of, which are less certain.
        replicates : int, default=1000
            How often the sample is drawn anew; less often if it has more than 100,000
            items, but at least 200 times.
        training_replicates : int, default=200
            How often the training set is drawn anew; 0 leaves the noise of training out.
        random_state : int, RandomState, Generator or None, default=None
            Draws the replicates; None takes the quantifier's own, if that is a number.

        Returns
        -------
        Estimate
            With ``prevalence`` by class, and ``interval(level)``, ``region(level)`` and
            ``counts(level)`` at any level; prints as a table.
        """
        options = _options(target, replicates, training_replicates, random_state)
        found: list[Estimate] = self.estimate_many(X, None, **options)
        return found[0]

    def estimate_many(
        self: Any,
        X: Any,
        samples: Any,
        *,
        target: str = "realised",
        replicates: int = 1000,
        training_replicates: int = 200,
        random_state: Any = None,
    ) -> list[Estimate]:
        """Like `estimate`, for many samples of a pool: months, say, or groups.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        target : {"realised", "expected"}, default="realised"
        replicates : int, default=1000
        training_replicates : int, default=200
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of Estimate
            One a sample. They share the replicates of the training set.
        """
        check_is_fitted(self, "model_")
        options = _options(target, replicates, training_replicates, random_state)
        items, evidence = self._items(X), evidence_of_items(self, X)
        return estimate_samples(self, items, samples, evidence, **options)

    @available_if(takes_scores)
    def estimate_scores(
        self: Any,
        scores: Any,
        *,
        target: str = "realised",
        replicates: int = 1000,
        training_replicates: int = 200,
        random_state: Any = None,
    ) -> Estimate:
        """Like `estimate`, for items that were scored elsewhere.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the items, columns in the order of ``classes_``.
        target : {"realised", "expected"}, default="realised"
        replicates : int, default=1000
        training_replicates : int, default=200
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        Estimate
            As of `estimate`.
        """
        options = _options(target, replicates, training_replicates, random_state)
        found: list[Estimate] = self.estimate_many_scores(scores, None, **options)
        return found[0]

    @available_if(takes_scores)
    def estimate_many_scores(
        self: Any,
        scores: Any,
        samples: Any,
        *,
        target: str = "realised",
        replicates: int = 1000,
        training_replicates: int = 200,
        random_state: Any = None,
    ) -> list[Estimate]:
        """Like `estimate_many`, for a pool that was scored elsewhere.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the pool, columns in the order of ``classes_``.
        samples : Samples, iterable of index arrays, or None
            As for `estimate_many`.
        target : {"realised", "expected"}, default="realised"
        replicates : int, default=1000
        training_replicates : int, default=200
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of Estimate
            One a sample.
        """
        check_is_fitted(self, "model_")
        options = _options(target, replicates, training_replicates, random_state)
        items, evidence = self._scored_items(scores), evidence_of_scores(self, scores)
        return estimate_samples(self, items, samples, evidence, **options)


def _options(
    target: str, replicates: int, training_replicates: int, random_state: Any
) -> dict[str, Any]:
    return {
        "target": target,
        "replicates": replicates,
        "training_replicates": training_replicates,
        "random_state": random_state,
    }


def evidence_of_items(quantifier: Quantifier, X: Any) -> Evidence | None:
    """What the assumption is tested on; None if the quantifier keeps no out-of-fold scores."""
    scorer = quantifier.scorer_
    if not hasattr(scorer, "posteriors_by_folds") or not hasattr(scorer, "posteriors_"):
        return None
    K = len(scorer.classes_)
    training = Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)
    return training, scorer.posteriors_by_folds(X.X if isinstance(X, ScoredPool) else X)


def evidence_of_scores(quantifier: Quantifier, scores: Any) -> Evidence | None:
    """The same for a pool that was scored elsewhere, as the training items were."""
    training = quantifier._answering()._training
    K = len(quantifier.classes_)
    if quantifier.scorer_ is not None or training is None or training.items is None:
        return None
    if training.items.shape[1:] != (K,) or training.items.dtype.kind != "f":
        return None  # predicted classes alone cannot tell
    return training, check_scores(scores, K)


def estimate_samples(
    quantifier: Quantifier,
    items: Any,
    samples: Any,
    evidence: Evidence | None,
    *,
    random_state: Any,
    **options: Any,
) -> list[Estimate]:
    """Estimates for samples of items that the quantifier has scored; None for all of them.

    ``options`` are those of `headcount.uncertainty.make_estimates` that users have.
    """
    # Imported here, as predictions do not need it.
    from headcount.uncertainty import Problem, make_estimates

    n_items = count_rows(items)
    drawn = Samples.whole(n_items) if samples is None else as_samples(samples, n_items)
    answering = quantifier._answering()
    if random_state is None:
        own = getattr(answering, "random_state", None)
        random_state = own if isinstance(own, int) else None
    problem = Problem(
        answering.model_,
        None if _trains_itself(answering) else answering._training,
        answering.info.shift,
        items,
        drawn,
        quantifier._solve(items, drawn).prevalence,
        learns=answering._learns_from_scores(),
        consistent=not _parts_classes(answering),
        calibrates=getattr(answering, "calibration", None) is not None,
    )
    estimates = make_estimates(
        problem,
        method=type(answering).__name__,
        classes=quantifier.classes_,
        random_state=random_state,
        **options,
    )
    return _examined(estimates, evidence, drawn, answering.info.shift)


def _examined(
    estimates: list[Estimate], evidence: Evidence | None, samples: Samples, shift: str
) -> list[Estimate]:
    """The estimates with the test of their assumption, and what else should be said."""
    from headcount.diagnose import Diagnosis, Diagnostics, assumption_warnings

    classes = estimates[0].classes.tolist()
    if evidence is None:
        found = [
            Diagnosis(None, assumption_warnings(e.shares, classes, n=e.n_items, shift=shift))
            for e in estimates
        ]
    else:
        training, posteriors = evidence
        shares = np.stack([e.shares for e in estimates])
        diagnostics = Diagnostics.learn(training, classes)
        found = diagnostics.examine(posteriors, samples, shares, shift=shift)
    return [
        replace(e, fit_test=each.fit_test, warnings=(*e.warnings, *each.warnings))
        for e, each in zip(estimates, found, strict=True)
    ]


def _trains_itself(quantifier: Any) -> bool:
    """Whether the model trains a learner, which has seen the training items then.

    Samples must not be drawn from these, and to train it hundreds of times takes too long.
    """
    inside = getattr(quantifier, "quantifier", None)
    if hasattr(inside, "info"):
        return _trains_itself(inside)
    return bool(quantifier.info.family == "learner")


def _parts_classes(quantifier: Quantifier) -> bool:
    """Whether each class is found beside the rest, which a shift makes another rest."""
    from headcount.quantify.one_vs_rest import OneVsRest

    return isinstance(quantifier, OneVsRest) and len(quantifier.classes_) > 2
