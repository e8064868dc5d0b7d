"""Estimates with intervals, and the test of their assumption."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice, check_count
from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Model
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.sampling._streams import base_seeds
from headcount.scores import Scored, ScoredPool, Verdicts, one_fold_each
from headcount.scores.checks import check_weights

if TYPE_CHECKING:
    from headcount.labels import LabelPlan, PoolPosteriors
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
        labelled: Any = None,
        design: LabelPlan | None = None,
        guarantee: str = "approximate",
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> Estimate:
        """Estimate the shares of the classes among the items, with intervals.

        Samples with known shares are simulated from the training items, and the quantifier
        answers to each of them. The shares that lead to answers like the one for X are the
        estimate: their mean, their quantiles, and any region of them. This holds under prior
        shift. With labels of some items it holds under any shift.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            One sample: the items whose shares are wanted.
        labelled : pair of array-like, default=None
            Rows of X that have a label, and their labels. The rows must have been drawn at
            random: by `plan_labels`, or as a simple random sample.
        design : LabelPlan, default=None
            Plan that the labelled rows were drawn by. None for a simple random sample.
        guarantee : {"approximate", "exact"}, default="approximate"
            Kind of intervals from labels. Exact ones hold in finite samples, and are wider.
        weights : array-like of shape (n,), default=None
            Survey weights of the items: how many items of the population each stands for.
        clusters : array-like of shape (n,), default=None
            Cluster of each item, such as an author or a conversation. Items of one cluster may
            be alike.
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
            as a table. With labels a `LabelledEstimate`, which has ``agreement`` and
            ``under_shift`` besides.
        """
        options = {
            "target": target,
            "prior": prior,
            "replicates": replicates,
            "random_state": random_state,
        }
        if labelled is None and (design is not None or guarantee != "approximate"):
            raise HeadcountError(
                "design and guarantee are for labels of some items: pass them with labelled."
            )
        if weights is None and clusters is None:
            found: Estimate = self.estimate_many(X, None, **options)[0]
            mass = groups = None
        else:
            from headcount.labels import check_clusters

            n_items = count_rows(X)
            mass = None if weights is None else check_weights(weights, n_items)
            groups = check_clusters(clusters, n_items)
            found = _weighted(self, X, mass, groups, **options)
        if labelled is None:
            return found
        from headcount.labels import check_labelled, estimate_from_labels

        rows, codes = check_labelled(labelled, found.n_items, self.classes_)
        pool, key = _pool_posteriors(self, X, found.raw, mass)
        return estimate_from_labels(
            pool,
            rows,
            codes,
            found,
            design=design,
            key=key,
            weights=mass,
            clusters=groups,
            guarantee=guarantee,
        )

    def plan_labels(
        self: Any,
        X: Any,
        *,
        precision: float | None = None,
        budget: int | None = None,
        strata: int = 5,
        target: str = "realised",
        level: float = 0.95,
        random_state: Any = None,
    ) -> LabelPlan:
        """Choose items to label, at random, so that few labels buy much precision.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool whose shares are wanted.
        precision : float, default=None
            Half the width that the widest interval should have, such as 0.01.
        budget : int, default=None
            Number of labels. Pass either precision or budget.
        strata : int, default=5
            Number of strata at most. Items that the scores leave uncertain are in strata that
            get more labels. 1 draws a simple random sample.
        target : {"realised", "expected"}, default="realised"
            Shares that the precision is for: those of the pool, or of its population.
        level : float, default=0.95
            Level of the intervals.
        random_state : int, RandomState, Generator or None, default=None
            Random seed; None takes the quantifier's own, if that is a number.

        Returns
        -------
        LabelPlan
            With ``rows`` to label and ``to_frame()``. Prints the precision that several
            budgets buy. Pass it to `estimate` as ``design``, with the labels.
        """
        from headcount.labels import make_plan

        check_is_fitted(self, "model_")
        pool, key = _pool_posteriors(self, X, self.predict(X), None)
        return make_plan(
            pool,
            key,
            precision=precision,
            budget=budget,
            n_strata=strata,
            target=target,
            level=level,
            rng=np.random.default_rng(base_seeds(_own_seed(self, random_state), 1)[0]),
        )

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
        drawn = pool_samples(samples, X)
        return _estimate_samples(
            self,
            X,
            drawn,
            target=target,
            prior=prior,
            replicates=replicates,
            random_state=random_state,
        )

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

    training = quantifier._simulation_items()
    prior = check_prior(quantifier._prior() if prior is None else prior, training.n_classes)
    if training.weights is not None and np.ptp(training.weights) == 0:
        training = replace(training, weights=None)
    return ShareConditioning(
        model,
        training,
        quantifier._items_are_posteriors(),
        prior,
        check_count("replicates", replicates, 100),
        base_seeds(_own_seed(quantifier, random_state), 1)[0],
    )


def _own_seed(quantifier: Quantifier, random_state: Any) -> Any:
    """Seed of the quantifier for None, if that is a number."""
    own = quantifier.get_params().get("random_state")
    return own if random_state is None and isinstance(own, int) else random_state


def _pool_posteriors(
    quantifier: Quantifier,
    X: Any,
    shares: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> tuple[PoolPosteriors, str]:
    """Posteriors of a pool, corrected to the shares, and its key.

    From decisions if there are no posteriors. Without either, labels are used alone.
    """
    from headcount.labels import PoolPosteriors, pool_key

    n_items = count_rows(X)
    evidence = quantifier.evidence(X)
    if evidence is not None:
        found = PoolPosteriors.of(evidence.posteriors, evidence.training, shares, weights)
        return found, pool_key(n_items, evidence.posteriors)
    answering, training = quantifier.answering_, quantifier.training_
    if answering.takes == "labels" and training is not None and training.items is not None:
        codes = answering.items_of(X, by_folds=False)
        decisions = (codes[:, None] == np.arange(training.n_classes)).astype(np.float64)
        found = PoolPosteriors.of_decisions(codes, training, shares, weights)
        return found, pool_key(n_items, decisions)
    return PoolPosteriors.none(n_items, shares), pool_key(n_items, None)


def _weighted(
    quantifier: Any,
    X: Any,
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.int64] | None,
    **options: Any,
) -> Estimate:
    """Estimate for items with survey weights or clusters: see `EstimationMixin.estimate`."""
    from headcount.labels import effective_size, weighted_rows

    n_items = count_rows(X)
    answering = quantifier.answering_
    values = None
    if clusters is not None:
        items: Any = answering.items_of(X, by_folds=False)
        if answering.takes == "labels":
            values = (items[:, None] == np.arange(len(quantifier.classes_))).astype(np.float64)
        elif isinstance(items, np.ndarray) and answering.takes == "posteriors":
            values = items
    size = effective_size(n_items, weights, clusters, values)
    mass = np.ones(n_items) if weights is None else weights
    rows = weighted_rows(mass, n_items * (1 if weights is None or n_items > 50_000 else 4))
    # As many items as there are independent ones, for the test of the assumption.
    tested = weighted_rows(mass, max(round(size), 1))
    [found] = _estimate_samples(
        quantifier,
        X,
        as_samples([rows], n_items),
        tested=as_samples([tested], n_items),
        **options,
    )
    return replace(found, n_items=n_items, n_effective=size)


def _estimate_samples(
    quantifier: Any,
    X: Any,
    drawn: Samples,
    *,
    tested: Samples | None = None,
    target: Any,
    prior: Any,
    replicates: Any,
    random_state: Any,
) -> list[Estimate]:
    """Estimates for samples of a pool.

    ``tested`` are samples of as many items as there are independent ones, if these are fewer.
    """
    from headcount.uncertainty import Estimate

    check_choice("target", target, ("realised", "expected"))
    answering = quantifier.answering_
    model = answering.model_.cross_fitted(answering._simulation_items())
    shares = conditioning(answering, model, prior, replicates, random_state)
    items = answering.items_of(X, by_folds=answering.scores_by_folds)
    raw = quantifier.predict_many(X, drawn)
    answers = model.solve(items, drawn.over(count_rows(items))).prevalence
    tested = drawn if tested is None else tested
    posteriors = shares.posteriors(answers, tested.sizes)
    name = type(answering).__name__
    found = [
        Estimate(name, quantifier.classes_, posterior.mean, own, size, target, posterior)
        for posterior, own, size in zip(posteriors, raw, tested.sizes.tolist(), strict=True)
    ]
    return _examined(found, quantifier.evidence(X), tested)


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
