"""Estimates with intervals, and the test of their assumption."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice, check_count, check_flag
from headcount._random import base_seeds
from headcount.data import count_rows, encode_labels
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Model
from headcount.quantify.evidence import Evidence, doubted, examined
from headcount.quantify.item_posteriors import ItemPosteriors
from headcount.quantify.posterior import posteriors_of
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.scores import Scored, ScoredPool, Verdicts, one_fold_each
from headcount.scores.checks import check_weights

if TYPE_CHECKING:
    from headcount.labels import LabelPlan
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate, ShareConditioning

__all__ = ["EstimationMixin", "conditioning", "pool_samples"]


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
        posterior: bool = False,
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
            prefers rare classes, and one around the training shares (a quarter each); with
            ``posterior`` it is the uniform distribution.
        posterior : bool, default=False
            Draw from the posterior under the method's own likelihood instead: binned scores
            or predicted classes with unknown rates (ACC, PACC, GAC, GPAC, DyS, HDy), or
            likelihoods of the items that are taken as known (SLD, KDEyML).
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
        return self.estimate_many(
            X,
            None,
            labelled=labelled,
            design=design,
            guarantee=guarantee,
            weights=weights,
            clusters=clusters,
            target=target,
            prior=prior,
            posterior=posterior,
            replicates=replicates,
            random_state=random_state,
        )[0]

    def plan_labels(
        self: Any,
        X: Any,
        *,
        precision: float | None = None,
        budget: int | None = None,
        positive: Any = None,
        groups: ArrayLike | None = None,
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
        positive : Any, default=None
            The only class whose share matters: precision is that of its interval, and labels
            serve it more than the others. All classes by default.
        groups : array-like of shape (n,), default=None
            Group of each item, such as its month. Precision and budget are then those of each
            group, and `estimate_many` can use the labels for the groups.
        strata : int, default=5
            Number of strata at most, in each group. Items that the scores leave uncertain are
            in strata that get more labels. 1 draws a simple random sample.
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
        from headcount.labels import check_clusters, join_plans, make_plan

        check_is_fitted(self, "model_")
        X = self._prepared(X)
        source = ItemPosteriors.of(self, X)
        rng = np.random.default_rng(base_seeds(_own_seed(self, random_state), 1)[0])
        codes = check_clusters(groups, source.n_items, "groups")
        wanted = None
        if positive is not None:
            place = encode_labels([positive], name="positive", classes=self.classes_)[1]
            wanted = int(place[0])
        drawn = Samples.whole(source.n_items)
        if codes is not None:
            drawn = Samples.by_code(codes, int(codes.max()) + 1)
        predicted = self.predict_many(X, drawn)
        plans = [
            make_plan(
                source.corrected(items, shares, None),
                source.key,
                precision=precision,
                budget=budget,
                n_strata=strata,
                target=target,
                level=level,
                rng=rng,
                positive=wanted,
            )
            for items, shares in zip(drawn, predicted, strict=True)
        ]
        plan = plans[0] if len(plans) == 1 else join_plans(plans, list(drawn), source.key, rng)
        return doubted(plan, self.evidence(X), drawn, predicted)

    def estimate_many(
        self: Any,
        X: Any,
        samples: Any,
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        guarantee: str = "approximate",
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        target: str = "realised",
        prior: Any = None,
        posterior: bool = False,
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
        labelled : pair of array-like, default=None
            Rows of the pool that have a label, and their labels. Each sample is estimated
            from the labels of its own items.
        design : LabelPlan, default=None
            Plan that the labelled rows were drawn by, with the samples as its groups. None
            for a simple random sample of the pool.
        guarantee : {"approximate", "exact"}, default="approximate"
        weights, clusters : array-like of shape (n,), default=None
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        posterior : bool, default=False
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of Estimate
            One per sample. Samples of similar size share their simulations.
        """
        check_is_fitted(self, "model_")
        X = self._prepared(X)
        drawn = pool_samples(samples, X)
        if labelled is None and (design is not None or guarantee != "approximate"):
            raise HeadcountError(
                "design and guarantee are for labels of some items: pass them with labelled."
            )
        options = {
            "target": target,
            "prior": prior,
            "posterior": check_flag("posterior", posterior),
            "replicates": replicates,
            "random_state": random_state,
        }
        if weights is None and clusters is None:
            mass = groups = None
            found = _estimate_samples(self, X, drawn, **options)
        else:
            from headcount.labels import check_clusters

            n_items = drawn.n_pool
            mass = None if weights is None else check_weights(weights, n_items)
            groups = check_clusters(clusters, n_items)
            found = _weighted(self, X, drawn, mass, groups, **options)
        if labelled is None:
            return found
        from headcount.labels import estimates_from_labels

        source = ItemPosteriors.of(self, X)
        return estimates_from_labels(
            source.corrected,
            list(drawn),
            found,
            labelled,
            n_pool=source.n_items,
            design=design,
            key=source.key,
            weights=mass,
            clusters=groups,
            guarantee=guarantee,
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
        X, scorer = self._prepared(X), self.scorer_
        if isinstance(scorer, tuple) or isinstance(X, Verdicts):
            return None
        if scorer is None:
            training = self.answering_._training_posteriors()
            if isinstance(X, Scored) and training is not None:
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
    if training.weights is not None and np.ptp(training.weights) == 0:
        training = replace(training, weights=None)
    made = ShareConditioning(
        model,
        training,
        quantifier._items_are_posteriors(),
        prior,
        check_count("replicates", replicates, 100),
        base_seeds(_own_seed(quantifier, random_state), 1)[0],
    )
    # Simulations of `predict` serve `estimate` as well.
    known = quantifier._known_conditioning()
    return known if own and known is not None and made.same_as(known) else made


def _own_seed(quantifier: Quantifier, random_state: Any) -> Any:
    """Seed of the quantifier for None, if that is a number."""
    own = quantifier.get_params().get("random_state")
    return own if random_state is None and isinstance(own, int) else random_state


def _weighted(
    quantifier: Any,
    X: Any,
    drawn: Samples,
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.int64] | None,
    **options: Any,
) -> list[Estimate]:
    """Estimates for items with survey weights or clusters: see `EstimationMixin.estimate`."""
    from headcount.labels import effective_size, weighted_rows

    answering = quantifier.answering_
    values = None
    if clusters is not None:
        items: Any = answering.items_of(X, by_folds=False)
        if answering.takes == "labels":
            values = (items[:, None] == np.arange(len(quantifier.classes_))).astype(np.float64)
        elif isinstance(items, np.ndarray) and answering.takes == "posteriors":
            values = items
    sizes, repeated, tested = [], [], []
    for rows in drawn:
        n = len(rows)
        mass = None if weights is None else weights[rows]
        groups = None
        if clusters is not None:
            groups = np.unique(clusters[rows], return_inverse=True)[1]
        own = None if values is None else values[rows]
        sizes.append(effective_size(n, mass, groups, own))
        known = np.ones(n) if mass is None else mass
        copies = 1 if mass is None or n > 50_000 else 4
        repeated.append(rows[weighted_rows(known, n * copies)])
        # As many items as there are independent ones, for the test of the assumption.
        tested.append(rows[weighted_rows(known, max(round(sizes[-1]), 1))])
    found = _estimate_samples(
        quantifier,
        X,
        as_samples(repeated, drawn.n_pool),
        tested=as_samples(tested, drawn.n_pool),
        **options,
    )
    return [
        replace(estimate, n_items=len(rows), n_effective=size)
        for estimate, rows, size in zip(found, drawn, sizes, strict=True)
    ]


def _estimate_samples(
    quantifier: Any,
    X: Any,
    drawn: Samples,
    *,
    tested: Samples | None = None,
    target: Any,
    prior: Any,
    posterior: bool,
    replicates: Any,
    random_state: Any,
) -> list[Estimate]:
    """Estimates for samples of a pool.

    ``tested`` are samples of as many items as there are independent ones, if these are fewer.
    """
    from headcount.uncertainty import Estimate

    check_choice("target", target, ("realised", "expected"))
    answering = quantifier.answering_
    if posterior:
        if tested is not None:
            raise HeadcountError(
                "posterior is True with weights or clusters of items, which a likelihood of "
                "independent items does not know: leave posterior out."
            )
        seed = base_seeds(_own_seed(answering, random_state), 1)[0]
        raw = quantifier.predict_many(X, drawn)
        posteriors = posteriors_of(answering, X, drawn, prior, seed)
    else:
        model = answering.model_.cross_fitted(answering._simulation_items())
        shares = conditioning(answering, model, prior, replicates, random_state)
        items = answering.items_of(X, by_folds=answering.scores_by_folds)
        solution = model.solve(items, drawn.over(count_rows(items)))
        sizes = (drawn if tested is None else tested).sizes
        posteriors = shares.posteriors(solution.prevalence, sizes)
        if tested is None and shares is answering._known_conditioning():
            answering._warn_of_failures(solution)
            raw = np.stack([each.mean for each in posteriors])  # what predict returns
        else:
            raw = quantifier.predict_many(X, drawn)
    tested = drawn if tested is None else tested
    name = type(answering).__name__
    found = [
        Estimate(name, quantifier.classes_, each.mean, own, size, target, each)
        for each, own, size in zip(posteriors, raw, tested.sizes.tolist(), strict=True)
    ]
    return examined(found, quantifier.evidence(X), tested)
