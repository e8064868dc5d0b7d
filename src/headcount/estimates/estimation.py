"""From the answers of a fitted method to estimates: the only maker of estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Array, Floats, Ints, indicators
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_choice, check_count, check_flag
from headcount.errors import HeadcountError
from headcount.estimates.assumption import (
    BROKEN_LEVEL,
    Diagnosis,
    Diagnostics,
    assumption_warnings,
    format_p_value,
)
from headcount.estimates.conditioning import Prior, ShareConditioning, check_prior
from headcount.estimates.estimate import Estimand, Estimate
from headcount.estimates.estimates import (
    Answers,
    ConditionedEstimates,
    Estimates,
    GroupAnswers,
    Revise,
)
from headcount.estimates.history import ScoreMeans
from headcount.estimates.labels.from_labels import estimates_from_labels
from headcount.estimates.labels.plan import (
    LabelPlan,
    PlanOptions,
    join_plans,
    make_plan,
    pool_key,
)
from headcount.estimates.labels.pool import PoolPosteriors
from headcount.estimates.labels.sample import effective_size, weighted_rows
from headcount.estimates.posterior_draws import share_posteriors
from headcount.estimates.statistics.warehouse import CountedScores
from headcount.items.arrays import check_clusters, check_weights, count_rows, encode_labels
from headcount.parts.aggregation import Model
from headcount.parts.classifier_outputs import LargestPosterior, Posterior
from headcount.parts.fitted import (
    EvidenceItems,
    Fitted,
    Form,
    GroupStatistics,
    Part,
    PoolSamples,
    solved,
)
from headcount.parts.training import MeanOf, Training
from headcount.samples.samples import Samples, as_samples

_ESTIMANDS = ("realised", "expected")
SHARED = "shared"
"""Name of the prior that is learnt from all samples."""
# Samples that a prior is learnt from, at least and at most; the draws that it has of them, and
# of the usual prior for each of these. (On 15 datasets, with samples of 40 and 100 items that
# had the mixes of real sites and products, errors fell by 6% and widths by 12%.)
_FEWEST_SHARING, _MOST_SHARING, _SHARED_DRAWS, _USUAL_PART = 10, 100, 3000, 0.4
# Samples of more items, in the median, hardly gain.
_SMALL_SAMPLE = 200


@dataclass(frozen=True, eq=False)
class EstimateOptions:
    """Options of estimates, as `Quantifier.estimate` documents them; `groups` names samples."""

    estimand: Any = "realised"
    prior: Any = None
    posterior: bool = False
    replicates: Any = 4000
    random_state: Any = None
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        check_choice("estimand", self.estimand, _ESTIMANDS)
        check_flag("posterior", self.posterior)
        if isinstance(self.prior, str):
            check_choice("prior", self.prior, (SHARED,))
            if self.posterior:
                raise HeadcountError(
                    "prior is 'shared', which is not for posterior=True: leave one of them out."
                )

    @property
    def alone(self) -> EstimateOptions:
        """Options without a prior that samples share."""
        return replace(self, prior=None) if isinstance(self.prior, str) else self


def estimates(
    fitted: Fitted, reduced: PoolSamples | GroupStatistics, options: EstimateOptions
) -> Estimates:
    """Estimates of samples of a pool, or of groups given by their statistics."""
    if isinstance(options.prior, str):
        return _with_shared_prior(estimates(fitted, reduced, options.alone), fitted, options)
    if options.posterior:
        return _under_likelihood(fitted, reduced, options)
    groups: _EstimatedGroups = (
        _PoolGroups(fitted, reduced)
        if isinstance(reduced, PoolSamples)
        else _StatisticsGroups(fitted, reduced)
    )
    shares = conditioning(fitted, groups.model, options)
    # The answers of methods that are combined are the means given those of the methods.
    conditioned = shares is fitted.conditioning and not groups.weighted
    return ConditionedEstimates(
        GroupAnswers(
            names=groups.names,
            method=fitted.method,
            classes=fitted.classes,
            sizes=groups.sizes,
            estimand=options.estimand,
            conditioning=shares,
            answers=groups.answers(warn=conditioned),
            own=None if conditioned else groups.own_answers(),
            conditioned_sizes=groups.conditioned_sizes,
            n_effective=groups.n_effective,
            examine=groups.examination(),
            revise=None if fitted.history is None else _from_history(fitted, groups, options),
        )
    )


def _with_shared_prior(alone: Estimates, fitted: Fitted, options: EstimateOptions) -> Estimates:
    """Estimates of samples with a prior that is learnt from those of all of them.

    The means of the distributions of all samples are a step of the EM algorithm towards the
    distribution that their shares come from. A sample without a name, which is all items of
    several groups, is estimated alone.
    """
    assert isinstance(alone, ConditionedEstimates)
    answered = alone.answered
    names = [True] * len(alone) if options.groups is None else options.groups
    named = np.array([place for place, name in enumerate(names) if name is not None], np.int64)
    if len(named) < _FEWEST_SHARING or np.median(answered.sizes[named]) > _SMALL_SAMPLE:
        return alone
    # In an order that does not depend on that of the samples.
    in_order = named[np.lexsort(answered.answers.values[named].T)]
    chosen = np.linspace(0, len(named) - 1, min(len(named), _MOST_SHARING)).astype(np.int64)
    rows, shares = in_order[chosen], answered.conditioning
    posteriors = shares.posteriors(
        answered.answers.values[rows], answered.conditioned_sizes[rows]
    )
    rng, n_draws = np.random.default_rng(shares.seed), -(-_SHARED_DRAWS // len(rows))
    draws = [rng.choice(posterior.draws, n_draws) for posterior in posteriors]
    usual = shares.prior.draw(round(_USUAL_PART * _SHARED_DRAWS), fitted.prior, rng)
    learnt = replace(shares, prior=Prior(draws=np.concatenate([*draws, usual])))
    return ConditionedEstimates(
        replace(answered, shared=learnt, named=frozenset(named.tolist()))
    )


def _from_history(fitted: Fitted, groups: _EstimatedGroups, options: EstimateOptions) -> Revise:
    """Estimates of places under prior shift, revised by what held in labelled groups."""
    means, history = groups.score_means(), fitted.history
    names = [None] * len(groups.sizes) if options.groups is None else list(options.groups)
    # Of all groups, as an estimate must not depend on the others that are read with it.
    steps = history.steps(names)

    def revise(places: list[int], under_shift: list[Estimate]) -> list[Estimate]:
        return history.estimates(
            under_shift,
            None if means is None else means.of(places),
            [names[place] for place in places],
            steps[places],
        )

    return revise


def score_means(fitted: Fitted, reduced: PoolSamples) -> ScoreMeans | None:
    """Means of the posteriors of samples of a pool; None if there are none."""
    evidence = fitted.evidence(reduced.X)
    if evidence is None:
        return None
    posteriors, counts = (
        representation.embed(evidence.posteriors).means(reduced.samples)
        for representation in (Posterior(), LargestPosterior(len(fitted.classes)))
    )
    return ScoreMeans(posteriors, counts)


def estimate_groups(
    fitted: Fitted, statistics: Any, by: str | None, options: EstimateOptions
) -> Estimates:
    """Estimates of groups from their statistics, or from a frame of counted cells."""
    if isinstance(statistics, GroupStatistics):
        if by is not None:
            raise HeadcountError("by is for a frame of counted cells: leave it out.")
        return estimates(fitted, statistics, options)
    if len(fitted.classes) != 2:
        raise HeadcountError(
            f"Cells hold the scores of two classes, and the quantifier has "
            f"{len(fitted.classes)}: use Statistics.update_stream instead."
        )
    return estimates(fitted, CountedScores.of(statistics, by), options)


def conditioning(fitted: Fitted, model: Model, options: EstimateOptions) -> ShareConditioning:
    """Distribution of the shares given the answers of a model of a fitted method."""
    training = fitted.simulation_items()
    prior = fitted.share_prior if options.prior is None else options.prior
    checked = check_prior(prior, training.n_classes)
    if training.weights is not None and np.ptp(training.weights) == 0:
        training = replace(training, weights=None)
    shares = ShareConditioning(
        model,
        training,
        fitted.noisy,
        checked,
        check_count("replicates", options.replicates, 100),
        base_seeds(fitted.seed_or(options.random_state), 1)[0],
    )
    # Simulations of `predict` serve `estimate` as well.
    of_predict = fitted.conditioning
    same = options.prior is None and of_predict is not None and shares.same_as(of_predict)
    return of_predict if same else shares


@dataclass(frozen=True, eq=False)
class Examination:
    """Means over samples of what the assumption is tested on; without, warnings alone."""

    classes: Sequence[Any]
    sizes: Ints
    diagnostics: Diagnostics | None = None
    seen: Floats | None = None
    outside: Floats | None = None

    @classmethod
    def of_pool(cls, fitted: Fitted, X: Any, samples: Samples) -> Examination:
        """Examination of samples of a pool."""
        evidence, classes = fitted.evidence(X), fitted.classes.tolist()
        if evidence is None:
            return cls(classes, samples.sizes)
        diagnostics = Diagnostics.learn(evidence.training, classes)
        means, outside = diagnostics.means(evidence.posteriors, samples)
        return cls(classes, samples.sizes, diagnostics, means, outside)

    def __call__(self, places: list[int], shares: Floats) -> list[Diagnosis]:
        """Tests and warnings of some samples, given their estimated shares."""
        sizes = self.sizes[places]
        if self.diagnostics is None:
            return [
                Diagnosis(None, assumption_warnings(row, self.classes, n=int(n)))
                for row, n in zip(shares, sizes, strict=True)
            ]
        assert self.seen is not None
        assert self.outside is not None
        return self.diagnostics.examine(self.seen[places], self.outside[places], sizes, shares)


@dataclass(frozen=True, eq=False)
class WeightedSamples(PoolSamples):
    """Samples of items with survey weights or clusters, as numbers of independent items."""

    tested: Samples
    n_items: Ints
    n_effective: Sequence[float]


@dataclass(frozen=True, eq=False)
class _PoolGroups:
    """Samples of a pool in memory."""

    fitted: Fitted
    reduced: PoolSamples

    @property
    def names(self) -> tuple[int, ...]:
        return tuple(range(len(self.reduced.samples)))

    @cached_property
    def model(self) -> Model:
        return self.fitted.cross_fitted()

    @property
    def weighted(self) -> bool:
        return isinstance(self.reduced, WeightedSamples)

    @property
    def sizes(self) -> Ints:
        reduced = self.reduced
        return reduced.n_items if isinstance(reduced, WeightedSamples) else self._tested.sizes

    @property
    def conditioned_sizes(self) -> Ints:
        return self._tested.sizes

    @property
    def n_effective(self) -> Sequence[float | None]:
        reduced = self.reduced
        if isinstance(reduced, WeightedSamples):
            return reduced.n_effective
        return [None] * len(reduced.samples)

    @property
    def _tested(self) -> Samples:
        reduced = self.reduced
        return reduced.tested if isinstance(reduced, WeightedSamples) else reduced.samples

    def answers(self, *, warn: bool) -> Answers:
        fitted = self.fitted
        solution = fitted.answer(self.reduced, self.model, by_folds=fitted.source.has_folds)
        if warn:
            fitted.warn_of_failures(solution)
        return Answers(solution.prevalence)

    def own_answers(self) -> Answers:
        return Answers(self.fitted.solve(self.reduced).prevalence)

    def examination(self) -> Examination:
        return Examination.of_pool(self.fitted, self.reduced.X, self._tested)

    def score_means(self) -> ScoreMeans | None:
        return score_means(self.fitted, self.reduced)


@dataclass(frozen=True, eq=False)
class _StatisticsGroups:
    """Groups given by statistics of their items."""

    fitted: Fitted
    statistics: GroupStatistics

    weighted = False

    @cached_property
    def _needs(self) -> _Needs:
        return _Needs.of(self.fitted, self.statistics.form)

    @property
    def names(self) -> tuple[Any, ...]:
        return tuple(self.statistics.groups)

    @property
    def model(self) -> Model:
        return self._needs.model

    @property
    def sizes(self) -> Ints:
        return self.statistics.sizes

    @cached_property
    def conditioned_sizes(self) -> Ints:
        needs = self._needs
        return self.statistics.effective_sizes([*needs.answers, *needs.raw])

    @property
    def n_effective(self) -> Sequence[float | None]:
        pairs = zip(self.conditioned_sizes.tolist(), self.sizes.tolist(), strict=True)
        return [None if effective == size else float(effective) for effective, size in pairs]

    def answers(self, *, warn: bool) -> Answers:
        return self._solved(self.model, self._needs.answers)

    def own_answers(self) -> Answers:
        return self._solved(self.fitted.model, self._needs.raw)

    def _solved(self, model: Model, parts: Sequence[Part]) -> Answers:
        return Answers(
            *solved(
                lambda reduced, sizes: model.solve_reduced(reduced, sizes).prevalence,
                self.statistics,
                parts,
            )
        )

    def examination(self) -> Examination:
        needs, classes = self._needs, self.fitted.classes.tolist()
        if needs.diagnostics is None:
            return Examination(classes, self.sizes)
        everything = slice(0, len(self.sizes))
        means, outside = self.statistics.reduced(needs.evidence[:2], everything)
        return Examination(
            classes, self.sizes, needs.diagnostics, np.asarray(means), np.asarray(outside)
        )

    def score_means(self) -> ScoreMeans | None:
        needed = self._needs.evidence[2:]
        if not needed:
            return None
        means = self.statistics.reduced(needed, slice(0, len(self.sizes)))
        return ScoreMeans(np.asarray(means[0]), np.asarray(means[1]))


_EstimatedGroups = _PoolGroups | _StatisticsGroups


@dataclass(frozen=True, eq=False)
class _Needs:
    """Statistics that the estimates of a fitted method need."""

    model: Model
    answers: list[Part]
    raw: list[Part]
    evidence: list[Part]
    diagnostics: Diagnostics | None

    @classmethod
    def of(cls, fitted: Fitted, form: Form) -> _Needs:
        model = fitted.cross_fitted()
        answers = fitted.parts(model, by_folds=fitted.source.has_folds)
        raw = fitted.parts(fitted.model, by_folds=fitted.by_folds)
        training = fitted.evidence_training(form)
        if training is None:
            return cls(model, answers, raw, [], None)
        diagnostics = Diagnostics.learn(training, fitted.classes.tolist())
        source = EvidenceItems(fitted.source, fitted.scorer is not None)
        reductions = list(diagnostics.reduction)
        if fitted.history is not None:
            reductions += [MeanOf(Posterior()), MeanOf(LargestPosterior(len(fitted.classes)))]
        evidence = [Part(source, reduction) for reduction in reductions]
        return cls(model, answers, raw, evidence, diagnostics)


def needed_statistics(fitted: Fitted, form: Form) -> list[Part]:
    """Statistics that the estimates of a fitted method need, for items of a form."""
    needs = _Needs.of(fitted, form)
    return [*needs.answers, *needs.raw, *needs.evidence]


def _under_likelihood(
    fitted: Fitted, reduced: PoolSamples | GroupStatistics, options: EstimateOptions
) -> Estimates:
    """Estimates under the likelihood of the method itself."""
    assert isinstance(reduced, PoolSamples)
    if isinstance(reduced, WeightedSamples):
        raise HeadcountError(
            "posterior is True with weights or clusters of items, which a likelihood of "
            "independent items does not know: leave posterior out."
        )
    seed = base_seeds(fitted.seed_or(options.random_state), 1)[0]
    raw = fitted.solve(reduced).prevalence
    posteriors = share_posteriors(
        fitted,
        reduced,
        options.prior,
        seed,
        lambda: conditioning(fitted, fitted.cross_fitted(), options),
    )
    shares = np.stack([posterior.shares for posterior in posteriors])
    places = list(range(len(posteriors)))
    examined = Examination.of_pool(fitted, reduced.X, reduced.samples)(places, shares)
    estimand: Estimand = options.estimand
    return Estimates(
        {
            place: Estimate(
                method=fitted.method,
                classes=fitted.classes,
                shares=shares[place],
                raw=raw[place],
                n_items=int(reduced.samples.sizes[place]),
                estimand=estimand,
                posterior=posteriors[place],
                fit_test=examined[place].fit_test,
                warnings=examined[place].warnings,
            )
            for place in places
        }
    )


def estimate_pool(
    fitted: Fitted,
    X: Any,
    samples: Any,
    options: EstimateOptions,
    *,
    labelled: Any = None,
    design: LabelPlan | None = None,
    guarantee: str = "approximate",
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> list[Estimate]:
    """Estimates of samples of a pool, from labels of some of its items if there are any."""
    reduced = fitted.reduce(X, samples)
    if labelled is None and (design is not None or guarantee != "approximate"):
        raise HeadcountError(
            "design and guarantee are for labels of some items: pass them with labelled."
        )
    n_items = reduced.samples.n_pool
    mass = None if weights is None else check_weights(weights, n_items)
    codes = check_clusters(clusters, n_items)
    plain = mass is None and codes is None
    weighted = reduced if plain else _weighted(fitted, reduced, mass, codes)
    if labelled is None:
        return estimates(fitted, weighted, options).to_list()
    # Labels are compared with the estimate that they replace.
    under_shift = estimates(replace(fitted, history=None), weighted, options.alone).to_list()
    scores = PoolScores.of(fitted, reduced.X)
    return estimates_from_labels(
        scores.corrected,
        list(reduced.samples),
        under_shift,
        labelled,
        n_pool=scores.n_items,
        design=design,
        key=scores.key,
        weights=mass,
        clusters=codes,
        guarantee=guarantee,
    )


def _weighted(
    fitted: Fitted, reduced: PoolSamples, weights: Floats | None, clusters: Ints | None
) -> WeightedSamples:
    """Samples of items with survey weights or clusters."""
    values = None if clusters is None else _scores_of_items(fitted, reduced.X)
    sizes, n_items, repeated, tested = [], [], [], []
    for rows in reduced.samples:
        n = len(rows)
        mass = None if weights is None else weights[rows]
        members = None
        if clusters is not None:
            members = np.unique(clusters[rows], return_inverse=True)[1]
        scores = None if values is None else values[rows]
        sizes.append(effective_size(n, mass, members, scores))
        n_items.append(n)
        masses = np.ones(n) if mass is None else mass
        copies = 1 if mass is None or n > 50_000 else 4
        repeated.append(rows[weighted_rows(masses, n * copies)])
        # As many items as there are independent ones, for the assumption test.
        tested.append(rows[weighted_rows(masses, max(round(sizes[-1]), 1))])
    n_pool = reduced.samples.n_pool
    return WeightedSamples(
        reduced.X,
        as_samples(repeated, n_pool),
        tested=as_samples(tested, n_pool),
        n_items=np.array(n_items, np.int64),
        n_effective=sizes,
    )


def _scores_of_items(fitted: Fitted, X: Any) -> Floats | None:
    """Scores that show how alike the items of a cluster are; None if there are none."""
    items: Any = fitted.source.items(X, by_folds=False)
    if fitted.takes == "labels":
        return indicators(items, len(fitted.classes))
    return items if isinstance(items, np.ndarray) and fitted.takes == "posteriors" else None


def plan_labels(
    fitted: Fitted, X: Any, groups: ArrayLike | None, options: PlanOptions, random_state: Any
) -> LabelPlan:
    """Items to label, as `Quantifier.plan_labels` chooses them."""
    X = fitted.source.prepared(X)
    scores = PoolScores.of(fitted, X)
    rng = np.random.default_rng(base_seeds(fitted.seed_or(random_state), 1)[0])
    codes = check_clusters(groups, scores.n_items, "groups")
    if options.positive is not None:
        place = encode_labels([options.positive], name="positive", classes=fitted.classes)[1]
        options = replace(options, positive=int(place[0]))
    samples = Samples.whole(scores.n_items)
    if codes is not None:
        samples = Samples.by_code(codes, int(codes.max()) + 1)
    predicted = fitted.solve(PoolSamples(X, samples)).prevalence
    plans = []
    for items, shares in zip(samples, predicted, strict=True):
        if options.budget and codes is not None:  # all items of a group that has fewer
            options_of_group = replace(options, budget=min(options.budget, len(items)))
        else:
            options_of_group = options
        pool = scores.corrected(items, shares, None)
        plans.append(make_plan(pool, scores.key, options_of_group, rng))
    plan = plans[0] if len(plans) == 1 else join_plans(plans, list(samples), scores.key, rng)
    return _doubted(plan, Examination.of_pool(fitted, X, samples), predicted)


def _doubted(plan: LabelPlan, examination: Examination, shares: Floats) -> LabelPlan:
    """The plan, with a warning if the assumption behind its precision is broken."""
    diagnoses = examination(list(range(len(shares))), shares)
    tests = [diagnosis.fit_test for diagnosis in diagnoses if diagnosis.fit_test is not None]
    broken = [test for test in tests if test.p_value < BROKEN_LEVEL]
    if not broken:
        return plan
    worst = min(broken, key=lambda test: test.p_value)
    return plan.doubted(len(broken), format_p_value(worst))


@dataclass(frozen=True, eq=False)
class PoolScores:
    """Posteriors of a pool that labels are combined with; or predicted classes, or neither."""

    n_items: int
    key: str
    posteriors: Floats | None = None
    decisions: Ints | None = None
    training: Training | None = None

    @classmethod
    def of(cls, fitted: Fitted, X: Any) -> PoolScores:
        """Scores of a pool by the classifier of a fitted method."""
        n_items = count_rows(X)
        evidence = fitted.evidence(X)
        if evidence is not None:
            posteriors = evidence.posteriors
            key = pool_key(n_items, posteriors)
            return cls(n_items, key, posteriors, None, evidence.training)
        training = fitted.training
        if fitted.takes == "labels" and training is not None and training.items is not None:
            codes = fitted.source.items(X, by_folds=False)
            key = pool_key(n_items, indicators(codes, training.n_classes))
            return cls(n_items, key, None, codes, training)
        return cls(n_items, pool_key(n_items, None))

    def corrected(self, items: Array, shares: Floats, weights: Floats | None) -> PoolPosteriors:
        """Posteriors of some items, corrected to their shares."""
        if self.training is None:
            return PoolPosteriors.none(len(items), shares)
        if self.posteriors is not None:
            return PoolPosteriors.of(self.posteriors[items], self.training, shares, weights)
        assert self.decisions is not None
        return PoolPosteriors.of_decisions(
            self.decisions[items], self.training, shares, weights
        )
