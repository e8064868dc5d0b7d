"""Estimates with intervals, and the test of their assumption."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice, check_count
from headcount.data import count_rows
from headcount.quantify.aggregation import Model
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.sampling._streams import base_seeds
from headcount.scores import Scored, ScoredPool, Verdicts, one_fold_each

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate, ShareConditioning

__all__ = ["EstimationMixin", "Evidence", "conditioning", "pool_samples"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Posteriors of training items and of a pool, made in the same way.

    Attributes
    ----------
    training : Training
        Training items by their posteriors.
    posteriors : ndarray of shape (n, K)
        Posteriors of the pool.
    """

    training: Training
    posteriors: NDArray[np.float64]


class EstimationMixin:
    """Estimates with intervals, for every quantifier."""

    def estimate(
        self: Any,
        X: Any,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> Estimate:
        """Estimate the shares of the classes among the items, with intervals.

        Samples with known shares are simulated from the training items, and the quantifier
        answers to each of them. The shares that lead to answers like the one for X are the
        estimate: their mean, their quantiles, and any region of them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            One sample: the items whose shares are wanted.
        target : {"realised", "expected"}, default="realised"
            Shares among these very items, or of the population that they are a random
            sample of, which are less certain.
        prior : None, float, array-like of shape (K,) or (M, K), default=None
            Prior distribution of the shares: parameters of a Dirichlet distribution, or draws
            from any other one. None is a mixture of the uniform distribution (half), one that
            prefers rare classes, and one around the training shares (a quarter each).
        replicates : int, default=4000
            Number of simulated samples; fewer if the sample has more than 5,000 items.
        random_state : int, RandomState, Generator or None, default=None
            Random seed; None takes the quantifier's own, if that is a number.

        Returns
        -------
        Estimate
            With ``prevalence`` by class, ``raw`` (the answer of `predict`), ``draws``, and
            ``interval(level)``, ``region(level)`` and ``counts(level)`` at any level; prints
            as a table.
        """
        found: list[Estimate] = self.estimate_many(
            X,
            None,
            target=target,
            prior=prior,
            replicates=replicates,
            random_state=random_state,
        )
        return found[0]

    def estimate_many(
        self: Any,
        X: Any,
        samples: Any,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> list[Estimate]:
        """Estimate the shares in many samples of a pool, such as months or groups.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of Estimate
            One per sample. Samples of similar size share their simulations.
        """
        check_is_fitted(self, "model_")
        check_choice("target", target, ("realised", "expected"))
        answering = self.answering_
        model = answering.model_.cross_fitted(answering._simulation_items())
        shares = conditioning(answering, model, prior, replicates, random_state)
        items = answering.items_of(X, by_folds=answering.scores_by_folds)
        drawn = pool_samples(samples, X)
        raw = self.predict_many(X, drawn)
        answers = model.solve(items, drawn.over(count_rows(items))).prevalence
        return _estimates(self, shares, answers, drawn, raw, target, self.evidence(X))

    def evidence(self: Any, X: Any) -> Evidence | None:
        """Posteriors that the assumption of prior shift is tested on.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.

        Returns
        -------
        Evidence or None
            None if there are no posteriors of both training items and pool that were made
            in the same way.
        """
        scorer = self.scorer_
        if isinstance(scorer, tuple) or isinstance(X, Verdicts):
            return None
        if scorer is None:
            training = self.training_
            if isinstance(X, Scored) and training is not None and _are_posteriors(training):
                return Evidence(training, X.posteriors_of(self.classes_))
            return None
        if not scorer.has_posteriors_ or (isinstance(X, Scored) and not X.folds):
            return None
        if isinstance(X, Scored):
            by_folds = np.stack([fold.posteriors_of(self.classes_) for fold in X.folds])
        elif isinstance(X, ScoredPool):
            by_folds = X.fold_posteriors(scorer)
        else:
            by_folds = scorer.fold_posteriors(X)
        K = len(scorer.classes_)
        training = Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)
        return Evidence(training, one_fold_each(by_folds))


def pool_samples(samples: Any, X: Any) -> Samples:
    """Samples of a pool, checked; one of all rows for None."""
    n_items = count_rows(X)
    return Samples.whole(n_items) if samples is None else as_samples(samples, n_items)


def conditioning(
    quantifier: Quantifier, model: Model, prior: Any, replicates: Any, random_state: Any
) -> ShareConditioning:
    """Distribution of the shares given the answers of a fitted quantifier.

    Parameters
    ----------
    quantifier : Quantifier
        The quantifier.
    model : Model
        Its model, cross-fitted.
    prior, replicates, random_state
        As for `estimate`.

    Returns
    -------
    ShareConditioning
    """
    # Imported here, as predictions do not need it.
    from headcount.uncertainty import ShareConditioning, check_prior

    training, own = quantifier._simulation_items(), prior is None
    prior = check_prior(quantifier._prior() if prior is None else prior, training.n_classes)
    if random_state is None and isinstance(quantifier.get_params().get("random_state"), int):
        random_state = quantifier.get_params()["random_state"]
    if training.weights is not None and np.ptp(training.weights) == 0:
        training = replace(training, weights=None)
    made = ShareConditioning(
        model,
        training,
        quantifier._items_are_posteriors(),
        prior,
        check_count("replicates", replicates, 100),
        base_seeds(random_state, 1)[0],
    )
    # Simulations of `predict` serve `estimate` as well.
    known = quantifier._known_conditioning()
    return known if own and known is not None and made.same_as(known) else made


def _estimates(
    quantifier: Quantifier,
    shares: ShareConditioning,
    answers: NDArray[np.float64],
    samples: Samples,
    raw: NDArray[np.float64],
    target: Any,
    evidence: Evidence | None,
) -> list[Estimate]:
    from headcount.uncertainty import Estimate

    name = type(quantifier.answering_).__name__
    posteriors = shares.posteriors(answers, samples.sizes)
    found = [
        Estimate(name, quantifier.classes_, posterior.mean, own, size, target, posterior)
        for posterior, own, size in zip(posteriors, raw, samples.sizes.tolist(), strict=True)
    ]
    return _examined(found, evidence, samples)


def _are_posteriors(training: Training) -> bool:
    """True if the items are posteriors of all classes, not predicted classes or features."""
    items: Any = training.items
    if items is None or isinstance(items, list):
        return False
    return bool(items.shape[1:] == (training.n_classes,) and items.dtype.kind == "f")


def _examined(
    estimates: list[Estimate], evidence: Evidence | None, samples: Samples
) -> list[Estimate]:
    """The estimates with the test of their assumption, and warnings."""
    from headcount.diagnose import Diagnosis, Diagnostics, assumption_warnings

    classes = estimates[0].classes.tolist()
    if evidence is None:
        found = [
            Diagnosis(None, assumption_warnings(e.shares, classes, n=e.n_items, shift="prior"))
            for e in estimates
        ]
    else:
        shares = np.stack([e.shares for e in estimates])
        diagnostics = Diagnostics.learn(evidence.training, classes)
        found = diagnostics.examine(evidence.posteriors, samples, shares, shift="prior")
    return [
        replace(e, fit_test=each.fit_test, warnings=(*e.warnings, *each.warnings))
        for e, each in zip(estimates, found, strict=True)
    ]
