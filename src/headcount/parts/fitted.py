"""Declared facts about a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from headcount._support.arrays import Array, Floats, Ints
from headcount.errors import HeadcountError, warn
from headcount.items.arrays import (
    Scored,
    Verdicts,
    check_features,
    column_names,
    count_rows,
    take_rows,
)
from headcount.parts.aggregation import Model
from headcount.parts.solvers import Solution
from headcount.parts.training import Reduced, Reduction, Training
from headcount.samples.samples import Samples, as_samples
from headcount.scores.folds import one_fold_each
from headcount.scores.scorer import ScoredPool

Input = Literal["posteriors", "labels", "features", "any"]
Multiclass = Literal["native", "one-vs-rest"]
Shift = Literal["prior", "covariate", "none"]
Scoring = Literal["folds", "classifier"]
Gives = Literal["shares", "table", "metrics", "accuracy"]
Labels = Literal["all classes", "one class", "one class and unlabelled"]


@dataclass(frozen=True)
class MethodInfo:
    """Facts about a method, for tables, checks and messages.

    Attributes
    ----------
    title : str
        Short description.
    family : str
        Group of methods that work in a similar way.
    reference : str
        Publication that first described it.
    input : {"posteriors", "labels", "features", "any"}
        Input of the method: posteriors or predicted labels of a classifier, features, or the
        input of the quantifier that it wraps.
    multiclass : {"native", "one-vs-rest"}
        Any number of classes, or two, and `OneVsRest` for more.
    shift : {"prior", "covariate", "none"}
        Change since training under which it is unbiased.
    scoring : {"folds", "classifier"}
        Classifiers that score new items for ``predict``, if the method learns from
        out-of-fold scores: those of the folds, which made these scores, or the one that was
        trained on all items.
    inconsistency : str
        Reason why the shares of an exact mixture of the training classes are not recovered;
        empty if they are. `OneVsRest` around a method, a positive smoothness and learners
        trained on the same items are further reasons.
    no_scores : str
        Reason why it takes no scores made elsewhere, though its input is not features; empty
        if it takes them.
    needs_overlap : bool
        True if scores that separate the classes perfectly are not counted without error.
    depends_on_size : bool
        True if the number of items, in training or in a sample, has an influence on its own:
        an item given twice counts as two.
    resamples : bool
        True if it draws samples of the training items.
    needs_groups : bool
        True if `fit` needs the groups of the labelled items. Such a method is not among those
        that `methods` lists, which learn from items and labels alone.
    sparse : bool
        True if it takes sparse features, provided that its classifier does.
    labels : {"all classes", "one class", "one class and unlabelled"}
        Classes of which labelled items are needed, and unlabelled items if `fit` needs them.
    gives : {"shares", "table", "metrics", "accuracy"}
        Output: shares of the classes, or of a method of accuracy prediction the table of true
        and predicted classes, any metric but no table, or the accuracy alone.
    aliases : tuple of str
        Other names in the literature. `method` ignores case, spaces, hyphens and brackets,
        so a name that differs in these only needs no entry.

    Examples
    --------
    >>> from headcount import SLD
    >>> SLD.info.shift
    'prior'
    """

    title: str
    family: str
    reference: str
    input: Input = "posteriors"
    multiclass: Multiclass = "native"
    shift: Shift = "prior"
    scoring: Scoring = "folds"
    inconsistency: str = ""
    no_scores: str = ""
    needs_overlap: bool = False
    depends_on_size: bool = False
    resamples: bool = False
    needs_groups: bool = False
    sparse: bool = True
    labels: Labels = "all classes"
    gives: Gives = "shares"
    aliases: tuple[str, ...] = ()


Form = Literal["items", "scored", "verdicts"]
"""Form of the items: scored here or by all folds, by one classifier, or decided."""

# Groups that are solved at a time.
_GROUPS_AT_ONCE = 1024


class Source(Protocol):
    """Maker of the items that statistics are taken of."""

    def items(self, X: Any) -> Any:
        """Items of a pool in the form that a method takes, with one or several rows each."""

    def identity(self) -> Any:
        """Everything that the items of a pool depend on."""

    def take(self, items: Any, rows: slice) -> Any:
        """Consecutive rows of items."""

    def count(self, items: Any) -> int:
        """Number of rows."""


@dataclass(frozen=True, eq=False)
class Part:
    """Statistic that a method needs: what is kept of which items."""

    source: Source
    reduction: Reduction


class NeedsStatistics(ABC):
    """Fitted object that needs statistics of items: a method, or a part of a report."""

    @abstractmethod
    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that are needed of items of a form."""


class GroupStatistics(ABC):
    """Statistics of the items of groups, as `headcount.Statistics` has them."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Form of the items."""

    @property
    @abstractmethod
    def groups(self) -> Sequence[Any]:
        """Names of the groups."""

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """Number of items of each group."""

    @abstractmethod
    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants of the statistics whose answers show their error."""

    @abstractmethod
    def effective_sizes(self, parts: Sequence[Part]) -> Ints:
        """Number of items of each group that are left: all of them, or those of a sample."""

    @abstractmethod
    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the parts for some groups."""


def solved(
    solve: Callable[[Reduced, Ints], Floats], statistics: GroupStatistics, parts: Sequence[Part]
) -> tuple[Floats, Floats | None]:
    """Answers of a model to all groups, and to variants of their statistics."""
    sizes = statistics.sizes
    n_variants = statistics.n_variants(parts)
    by_variant: list[list[Floats]] = [[] for _ in range(n_variants + 1)]
    for first in range(0, len(sizes), _GROUPS_AT_ONCE):
        groups = slice(first, min(first + _GROUPS_AT_ONCE, len(sizes)))
        for variant, batches in enumerate(by_variant):
            reduced = statistics.reduced(parts, groups, variant)
            batches.append(solve(reduced, sizes[groups]))
    answers = [np.concatenate(batches) for batches in by_variant]
    return answers[0], np.stack(answers[1:]) if n_variants else None


@runtime_checkable
class HasFitted(Protocol):
    """A fitted quantifier or predictor, for functions that need what `fit` made of it."""

    @property
    def fitted_(self) -> Fitted:
        """What `fit` made."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Posteriors of training items and of a pool, made in the same way."""

    training: Training
    posteriors: Floats


@dataclass(frozen=True, eq=False)
class PoolSamples:
    """Samples of a pool in memory: items in the form that the method was fitted on."""

    X: Any
    samples: Samples


@dataclass(frozen=True, eq=False)
class ItemSource:
    """Maker of the items that a model takes: features, or outputs of one classifier.

    `scorer` is None if the items are features or were classified elsewhere. `refusal` is the
    reason why items classified elsewhere are not taken. `by_class` makes one column per class
    of predicted classes. `preparation` are steps that transform the items first.
    """

    # Methods that take decisions, for messages.
    deciding: ClassVar[str] = "CC, ACC or GAC"

    method: str
    takes: Input
    classes: Array
    scorer: Any = None
    refusal: str = ""
    by_class: bool = False
    preparation: Any = None

    @property
    def has_folds(self) -> bool:
        """True if items can be scored by the classifiers of the folds, here or elsewhere."""
        return self.takes != "features"

    def items(self, X: Any, *, by_folds: bool) -> Any:
        """Items of a pool in the form that the model takes."""
        X = self.prepared(X)
        if not isinstance(X, Scored | Verdicts):
            return self._scored_here(X, by_folds)
        self.check_classified(X)
        folds = X.folds if by_folds and isinstance(X, Scored) else ()
        scored: Sequence[Any] = folds or [X]
        copies = [self.classified(scores) for scores in scored]
        return self.arranged(copies[0] if len(copies) == 1 else np.concatenate(copies))

    def _scored_here(self, X: Any, by_folds: bool) -> Any:
        """Items of a pool that was not classified elsewhere."""
        pool = X if isinstance(X, ScoredPool) else None
        if self.takes == "features":
            return check_features(X if pool is None else pool.X)
        self.check_scorer()
        scored_by = self.scorer if pool is None else pool
        argument = X if pool is None else self.scorer
        if self.takes == "labels":
            score = scored_by.fold_labels if by_folds else scored_by.labels
        else:
            score = scored_by.fold_posteriors if by_folds else scored_by.posteriors
        scores = score(argument)
        if by_folds:
            scores = scores.reshape(-1, *scores.shape[2:])
        return self.arranged(scores)

    def prepared(self, X: Any) -> Any:
        """Items as the steps of a pipeline before the method make them."""
        if self.preparation is None or isinstance(X, Scored | Verdicts | PreparedPool):
            return X
        items = X.X if isinstance(X, ScoredPool) else X
        return PreparedPool(self.preparation.transform(items))

    def after(self, steps: Any) -> ItemSource:
        """Maker of items that steps of a pipeline transform first."""
        return replace(self, preparation=steps)

    def check_scorer(self) -> None:
        """Raise an error if there is no classifier."""
        if self.scorer is None:
            raise HeadcountError(
                f"{self.method} was fitted on scores or decisions and has no "
                "classifier for X: classify the items and pass hc.Scored(posteriors) or "
                "hc.Verdicts(labels)."
            )

    def check_takes_scores(self) -> None:
        """Raise an error if items that were classified elsewhere are not taken."""
        if self.refusal:
            raise HeadcountError(
                f"{self.method} {self.refusal}: pass the items themselves to fit and predict."
            )

    def check_classified(self, X: Scored | Verdicts) -> None:
        """Raise an error if items that were classified elsewhere are not taken in this form."""
        self.check_takes_scores()
        if isinstance(X, Verdicts) and self.takes == "posteriors":
            raise HeadcountError(
                f"{self.method} needs posteriors, and Verdicts are decisions alone: "
                "pass hc.Scored(posteriors), or use a method that takes decisions, such as "
                f"{self.deciding}."
            )

    def classified(self, X: Scored | Verdicts) -> Array:
        """Posteriors or predicted classes that were made elsewhere."""
        if isinstance(X, Verdicts) or self.takes == "labels":
            return X.codes_of(self.classes)
        return X.posteriors_of(self.classes)

    def out_of_fold(self) -> Array:
        """Out-of-fold predictions or posteriors of the items that the scorer was fitted on."""
        return self.scorer.labels_ if self.takes == "labels" else self.scorer.posteriors_

    def arranged(self, items: Any) -> Any:
        """Scored items as the model takes them: predicted classes may be one column each."""
        if not self.by_class or items is None or items.ndim == 2 or self.takes == "features":
            return items
        return items[:, None] == np.arange(len(self.classes))

    def identity(self, kind: str, by_folds: bool) -> tuple[Any, ...]:
        """Everything that the items of a pool depend on, for fingerprints."""
        identity: tuple[Any, ...] = kind, self.classes
        if self.scorer is not None:
            judge = self.scorer.fold_judge_ if by_folds else self.scorer.judge_
            identity = *identity, judge
        return identity if self.preparation is None else (*identity, self.preparation)


class PreparedPool(ScoredPool):
    """Pool that the steps of a pipeline have made."""


@dataclass(frozen=True, eq=False)
class MemberItems(ItemSource):
    """A pool whose items every member of a committee scores by its own classifier."""

    members: Sequence[Fitted] = ()

    @property
    def has_folds(self) -> bool:
        """False: each member decides."""
        return False

    def after(self, steps: Any) -> MemberItems:
        """Maker of items that steps of a pipeline transform first, for all members."""
        members = [
            replace(member, source=member.source.after(steps)) for member in self.members
        ]
        return replace(self, preparation=steps, members=members)

    def items(self, X: Any, *, by_folds: bool) -> Any:
        """The pool itself; members check its items more closely."""
        if isinstance(X, Scored | Verdicts):
            self.check_classified(X)
            raise HeadcountError(
                f"{self.method} was fitted with several classifiers, and X holds what "
                "one of them returned: pass the items themselves."
            )
        if isinstance(X, ScoredPool):
            return X
        return check_features(X, allow_nan=True, any_shape=True)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted method: all that estimates, statistics, labels and pages use of it.

    Attributes
    ----------
    method : str
        Name of the method.
    info : MethodInfo
        Facts about it.
    settings : mapping of str to Any
        Its parameters.
    classes, prior : ndarray of shape (K,)
        The classes, and their shares in training.
    source : ItemSource
        Maker of the items that the model takes.
    model : Model
        From items or statistics of samples to shares.
    training : Training or None
        Labelled items in the form that the method learnt from; None if it kept none.
    by_folds : bool
        True if the classifiers of the folds score the items of ``predict``.
    noisy : bool or list
        Whether training items are posteriors, which simulations move a little; for each entry
        if the items are a list.
    tested : Training or None
        Posteriors of training items that were made elsewhere: what the assumption is tested
        on if there is no scorer.
    share_prior : Any
        Prior distribution of the shares for estimates, if none is given.
    conditioning : Any
        Simulations that ``predict`` uses, which serve estimates too; None if it needs none.
    likelihood : {"", "classes", "scores", "likelihood"}
        Kind of the likelihood of ``estimate(posterior=True)``; empty if there is none.
    no_simulation : str
        Reason why samples cannot be simulated from the training items; empty if there is none.
    history : Any
        What held in labelled groups, which estimates follow; None to assume prior shift.
    """

    # Methods that can be reduced to statistics, for messages.
    reducible: ClassVar[str] = "SLD, PACC or DyS"

    method: str
    info: MethodInfo
    settings: Mapping[str, Any]
    classes: Array
    prior: Floats
    source: ItemSource
    model: Model
    training: Training | None = None
    by_folds: bool = False
    noisy: bool | list[Any] = False
    tested: Training | None = None
    share_prior: Any = None
    conditioning: Any = None
    likelihood: str = ""
    no_simulation: str = field(default="", repr=False)
    history: Any = None

    @property
    def takes(self) -> Input:
        """Kind of items that the model takes."""
        return self.source.takes

    @property
    def scorer(self) -> Any:
        """Scorer of the items; None if there is not exactly one classifier."""
        return self.source.scorer

    @property
    def seed(self) -> int | None:
        """Random seed of the method, if that is a number."""
        seed = self.settings.get("random_state")
        return seed if isinstance(seed, int) else None

    def seed_or(self, random_state: Any) -> Any:
        """The random state that was given, or the seed of the method for None."""
        return self.seed if random_state is None else random_state

    def reduce(self, X: Any, samples: Any = None) -> PoolSamples:
        """Samples of a pool, checked; one of all rows for None."""
        X = self.source.prepared(X)
        return PoolSamples(X, pool_samples(samples, X))

    def solve(self, reduced: PoolSamples) -> Solution:
        """Shares of the classes in each sample, as ``predict`` returns them."""
        self._warn_of_other_scores(reduced.X)
        solution = self.answer(reduced, self.model, by_folds=self.by_folds)
        self.warn_of_failures(solution)
        return solution

    def _warn_of_other_scores(self, X: Any) -> None:
        """Warn of scores by one classifier where training items have those of the folds."""
        if not (self.by_folds and isinstance(X, Scored)) or X.folds or self.scorer is None:
            return
        if self.scorer.n_folds_ > 1:
            warn(
                f"{self.method} learnt from scores by the classifiers of the folds, but X has "
                "those of one classifier, which may differ: pass the items themselves, or "
                "scorer.score(items) in place of hc.Scored(scorer.posteriors(items)); "
                "Scorer(fold_scoring=False) means one classifier throughout."
            )

    def solve_many(self, X: Any, samples: Any = None) -> Solution:
        """Shares in many samples of a pool, with the diagnostics of the solver."""
        return self.solve(self.reduce(X, samples))

    def for_metric(self, metric: str) -> Fitted:
        """The method whose answers have small errors by a metric, if they depend on it.

        `metric` is one of ``"mean"``, ``"ae"`` and ``"rae"``.
        """
        model = self.model.for_metric(metric)
        return self if model is self.model else replace(self, model=model)

    def answer(self, reduced: PoolSamples, model: Model, *, by_folds: bool) -> Solution:
        """Answers of a model, with items scored by one classifier or by those of all folds."""
        items = self.source.items(reduced.X, by_folds=by_folds)
        return model.solve(items, reduced.samples.over(count_rows(items)))

    def cross_fitted(self) -> Model:
        """Model that has not been trained on the items that it solves, for estimates."""
        return self.model.cross_fitted(self.simulation_items())

    @property
    def is_reducible(self) -> bool:
        """True if samples can be reduced to statistics."""
        return self.model.reduction() is not None

    def parts(self, model: Model, *, by_folds: bool) -> list[Part]:
        """Statistics of items that a model needs."""
        reductions = model.reduction()
        if reductions is None:
            raise HeadcountError(
                f"{self.method} needs all items of a sample at once, so it cannot be reduced "
                f"to statistics: use another method, such as {self.reducible}."
            )
        sources = self.part_sources(by_folds=by_folds)
        return [Part(*pair) for pair in zip(sources, reductions, strict=True)]

    def part_sources(self, *, by_folds: bool) -> list[ScoredItems]:
        """Makers of the items of each reduction of the model."""
        if isinstance(self.source, MemberItems):
            return [
                source
                for member in self.source.members
                for source in member.part_sources(by_folds=member.source.has_folds)
            ]
        return [ScoredItems(self.source, by_folds)] * len(self.model.reduction() or ())

    def simulation_items(self) -> Training:
        """Labelled items that samples for estimates are simulated from."""
        if self.no_simulation:
            raise HeadcountError(self.no_simulation)
        items: Any = None if self.training is None else self.training.items
        if items is None or (
            isinstance(items, list) and any(scores is None for scores in items)
        ):
            raise HeadcountError(
                f"{self.method} has no out-of-fold scores of its training items, from "
                "which samples are simulated for estimates: set cv=5, or fit the scorer with "
                "out_of_fold=True."
            )
        assert self.training is not None
        return self.training

    def evidence(self, X: Any) -> Evidence | None:
        """Posteriors that the assumption of prior shift is tested on.

        None if there are no posteriors of both training items and pool that were made in the
        same way.
        """
        X, scorer = self.source.prepared(X), self.scorer
        if isinstance(X, Verdicts):
            return None
        if scorer is None:
            if isinstance(X, Scored) and self.tested is not None:
                copies = X.folds or (X,)
                by_folds = np.stack([copy.posteriors_of(self.classes) for copy in copies])
                return Evidence(self.tested, one_fold_each(by_folds))
            return None
        if not scorer.has_posteriors_ or (isinstance(X, Scored) and not X.folds):
            return None
        if isinstance(X, Scored):
            by_folds = np.stack([fold.posteriors_of(self.classes) for fold in X.folds])
        elif isinstance(X, ScoredPool):
            by_folds = X.fold_posteriors(scorer)
        else:
            by_folds = scorer.fold_posteriors(X)
        return Evidence(self._scorer_training(), one_fold_each(by_folds))

    def evidence_training(self, form: Form) -> Training | None:
        """Posteriors of the training items, made like those of new items of a form."""
        if form == "verdicts":
            return None
        if self.scorer is None:
            return self.tested
        if not self.scorer.has_posteriors_ or form != "items":
            return None
        return self._scorer_training()

    def _scorer_training(self) -> Training:
        scorer = self.scorer
        return Training(
            scorer.posteriors_, scorer.codes_, len(scorer.classes_), scorer.weights_
        )

    def column_fact(self, name: str) -> Any:
        """``n_features_in_`` or ``feature_names_in_`` of the training items, if known."""
        fitted = self
        while isinstance(fitted.source, MemberItems) and fitted.scorer is None:
            fitted = fitted.source.members[0]
        if fitted.scorer is not None:
            return getattr(fitted.scorer, name)
        items = None if fitted.training is None else fitted.training.items
        value = None
        if fitted.takes == "features" and items is not None:
            value = column_names(items) if name == "feature_names_in_" else items.shape[1]
        if value is None:
            raise AttributeError(f"{self.method} has no {name}.")
        return value

    def warn_of_failures(self, solution: Solution) -> None:
        """Warn if the solver did not converge on some samples."""
        failed = int(np.count_nonzero(~solution.converged))
        if failed:
            advice = "raise max_iter, or " if "max_iter" in self.settings else ""
            warn(
                f"{self.method} did not converge on {failed:,} of "
                f"{len(solution.converged):,} samples: their shares are the last ones "
                f"reached; {advice}see which by fitted_.solve_many(...).converged."
            )


@dataclass(frozen=True, eq=False)
class ScoredItems:
    """Items of a pool as statistics are taken of them."""

    source: ItemSource
    by_folds: bool

    def items(self, X: Any) -> Any:
        """Items of a pool."""
        return self.source.items(X, by_folds=self.by_folds)

    def identity(self) -> Any:
        """Classifiers that score the items."""
        return self.source.identity(self.source.takes, self.by_folds)

    def take(self, items: Any, rows: slice) -> Any:
        """Consecutive rows."""
        if isinstance(items, np.ndarray):
            return items[rows]
        return take_rows(items, np.arange(rows.start, rows.stop))

    def count(self, items: Any) -> int:
        """Number of rows."""
        return count_rows(items)


@dataclass(frozen=True, eq=False)
class EvidenceItems(ScoredItems):
    """Posteriors that the assumption is tested on, by all folds if there are any."""

    def items(self, X: Any) -> Any:
        """Posteriors of a pool."""
        X = self.source.prepared(X)
        scorer, classes = self.source.scorer, self.source.classes
        if isinstance(X, Scored):
            scored: Sequence[Scored] = X.folds if self.by_folds else [X]
            return np.concatenate([copy.posteriors_of(classes) for copy in scored])
        pooled = isinstance(X, ScoredPool)
        by_folds = X.fold_posteriors(scorer) if pooled else scorer.fold_posteriors(X)
        return by_folds.reshape(-1, len(classes))

    def identity(self) -> Any:
        """Classifiers that score the items."""
        return self.source.identity("posteriors", self.by_folds)


def pool_samples(samples: Any, X: Any) -> Samples:
    """Samples of a pool, checked; one of all rows for None."""
    n_items = count_rows(X)
    if not n_items:
        # Raises the error that says so.
        check_features(X.X if isinstance(X, ScoredPool) else X, allow_nan=True, any_shape=True)
    return Samples.whole(n_items) if samples is None else as_samples(samples, n_items)
