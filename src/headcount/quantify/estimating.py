"""Estimates with intervals, for every fitted quantifier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice, check_count
from headcount.data import count_rows
from headcount.quantify.aggregation import Model
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.sampling._streams import base_seeds
from headcount.scores import ScoredPool, check_scores, one_fold_each

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate, ShareConditioning

__all__ = ["Estimating", "conditioning", "takes_scores"]

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
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
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
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
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
        answering = self._answering()
        _check_target(target)
        model = answering.model_.cross_fitted(answering._simulation_items())
        shares = conditioning(answering, model, prior, replicates, random_state)
        by_folds = answering._scores_by_folds()
        items = answering._items(X, by_folds=by_folds)
        drawn = answering._samples(samples, items, by_folds)
        raw = self.predict_many(X, drawn)
        answers = model.solve(items, drawn.over(count_rows(items))).prevalence
        return _estimates(self, shares, answers, drawn, raw, target, _evidence(self, X))

    @available_if(takes_scores)
    def estimate_scores(
        self: Any,
        scores: Any,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> Estimate:
        """Like `estimate`, for items that were scored elsewhere.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the items, columns in the order of ``classes_``.
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        Estimate
            As of `estimate`.
        """
        found: list[Estimate] = self.estimate_many_scores(
            scores,
            None,
            target=target,
            prior=prior,
            replicates=replicates,
            random_state=random_state,
        )
        return found[0]

    @available_if(takes_scores)
    def estimate_many_scores(
        self: Any,
        scores: Any,
        samples: Any,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
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
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of Estimate
            One per sample.
        """
        check_is_fitted(self, "model_")
        _check_target(target)
        answering = self._answering()
        model = answering.model_.cross_fitted(answering._simulation_items())
        shares = conditioning(answering, model, prior, replicates, random_state)
        items = self._scored_items(scores)
        n_items = count_rows(items)
        drawn = Samples.whole(n_items) if samples is None else as_samples(samples, n_items)
        raw = self._solve(items, drawn).prevalence
        answers = model.solve(items, drawn).prevalence
        evidence = _evidence_of_scores(self, scores)
        return _estimates(self, shares, answers, drawn, raw, target, evidence)


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

    training = quantifier._simulation_items()
    prior = check_prior(quantifier._prior() if prior is None else prior, training.n_classes)
    if random_state is None and isinstance(quantifier.get_params().get("random_state"), int):
        random_state = quantifier.get_params()["random_state"]
    if training.weights is not None and np.ptp(training.weights) == 0:
        training = replace(training, weights=None)
    return ShareConditioning(
        model,
        training,
        quantifier._items_are_posteriors(),
        prior,
        check_count("replicates", replicates, 100),
        base_seeds(random_state, 1)[0],
    )


def _check_target(target: Any) -> None:
    check_choice("target", target, ("realised", "expected"))


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

    name = type(quantifier._answering()).__name__
    posteriors = shares.posteriors(answers, samples.sizes)
    found = [
        Estimate(name, quantifier.classes_, posterior.mean, own, size, target, posterior)
        for posterior, own, size in zip(posteriors, raw, samples.sizes.tolist(), strict=True)
    ]
    return _examined(found, evidence, samples)


def _evidence(quantifier: Quantifier, X: Any) -> Evidence | None:
    """Posteriors that the assumption is tested on; None if there are none by folds."""
    scorer = quantifier.scorer_
    if scorer is None or isinstance(scorer, tuple) or not scorer.has_posteriors_:
        return None
    K = len(scorer.classes_)
    training = Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)
    pooled = isinstance(X, ScoredPool)
    by_folds = X.fold_posteriors(scorer) if pooled else scorer.fold_posteriors(X)
    return training, one_fold_each(by_folds)


def _evidence_of_scores(quantifier: Quantifier, scores: Any) -> Evidence | None:
    """The same for a pool that was scored elsewhere, as the training items were."""
    training = quantifier._answering()._training
    K = len(quantifier.classes_)
    if quantifier.scorer_ is not None or training is None or training.items is None:
        return None
    items: Any = training.items
    if isinstance(items, list) or items.shape[1:] != (K,) or items.dtype.kind != "f":
        return None  # predicted classes alone cannot tell
    return training, check_scores(scores, K)


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
        training, posteriors = evidence
        shares = np.stack([e.shares for e in estimates])
        diagnostics = Diagnostics.learn(training, classes)
        found = diagnostics.examine(posteriors, samples, shares, shift="prior")
    return [
        replace(e, fit_test=each.fit_test, warnings=(*e.warnings, *each.warnings))
        for e, each in zip(estimates, found, strict=True)
    ]
