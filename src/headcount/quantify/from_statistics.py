"""Estimates from statistics of items that were read elsewhere, or are too many for memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice
from headcount._text import Cell, Table, html_result
from headcount.data import count_rows, take_rows
from headcount.errors import HeadcountError
from headcount.quantify.estimation import conditioning
from headcount.representation import Reduced, Reduction, Training
from headcount.scores import Scored, ScoredPool

if TYPE_CHECKING:
    import polars as pl

    from headcount.diagnose import Diagnosis, Diagnostics
    from headcount.quantify.aggregation import Model
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate, ShareConditioning

__all__ = [
    "Form",
    "FromStatistics",
    "GroupEstimates",
    "GroupStatistics",
    "NeedsStatistics",
    "Part",
    "ScoredItems",
    "deviations",
    "solved",
]

Floats = NDArray[np.float64]
Form = Literal["items", "scored", "verdicts"]
"""Form of the items: scored here or by all folds, by one classifier, or decided."""

# Numbers of cells and of groups that are solved at a time.
_GROUPS_AT_ONCE = 1024
_MOST_SHOWN = 20


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


@dataclass(frozen=True, eq=False)
class ScoredItems:
    """Items in the form that a quantifier takes.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted quantifier.
    by_folds : bool
        True if items are scored by the classifiers of all folds.
    """

    quantifier: Quantifier
    by_folds: bool

    def items(self, X: Any) -> Any:
        """Items of a pool."""
        return self.quantifier.items_of(X, by_folds=self.by_folds)

    def identity(self) -> Any:
        """Classifiers that score the items."""
        return _identity(self.quantifier, self.quantifier.takes, self.by_folds)

    def take(self, items: Any, rows: slice) -> Any:
        """Consecutive rows."""
        if isinstance(items, np.ndarray):
            return items[rows]
        return take_rows(items, np.arange(rows.start, rows.stop))

    def count(self, items: Any) -> int:
        """Number of rows."""
        return count_rows(items)


@dataclass(frozen=True, eq=False)
class _EvidenceItems(ScoredItems):
    """Posteriors that the assumption is tested on, by all folds if there are any."""

    def items(self, X: Any) -> Any:
        scorer, classes = self.quantifier.scorer_, self.quantifier.classes_
        if isinstance(X, Scored):
            given: Sequence[Scored] = X.folds if self.by_folds else [X]
            return np.concatenate([each.posteriors_of(classes) for each in given])
        pooled = isinstance(X, ScoredPool)
        by_folds = X.fold_posteriors(scorer) if pooled else scorer.fold_posteriors(X)
        return by_folds.reshape(-1, len(classes))

    def identity(self) -> Any:
        return _identity(self.quantifier, "posteriors", self.by_folds)


def _identity(quantifier: Quantifier, kind: str, by_folds: bool) -> Any:
    scorer = quantifier.scorer_
    if scorer is None:
        return kind, quantifier.classes_
    return kind, quantifier.classes_, scorer.fold_judge_ if by_folds else scorer.judge_


class GroupStatistics(Protocol):
    """Statistics of the items of groups, as `headcount.Statistics` has them."""

    @property
    def form(self) -> Form:
        """Form of the items."""

    @property
    def groups(self) -> Sequence[Any]:
        """Names of the groups."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items of each group."""

    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants of the statistics whose answers show their error."""

    def effective_sizes(self, parts: Sequence[Part]) -> NDArray[np.int64]:
        """Number of items of each group that are left: all of them, or those of a sample."""

    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the parts for some groups."""


def solved(
    solve: Callable[[Reduced, NDArray[np.int64]], Floats],
    statistics: GroupStatistics,
    parts: Sequence[Part],
) -> tuple[Floats, Floats | None]:
    """Answers of a model to all groups, and to variants of their statistics.

    Parameters
    ----------
    solve : callable
        Returns the answers of the model, given its statistics and the numbers of items.
    statistics : GroupStatistics
        Statistics of the groups.
    parts : sequence of Part
        Parts that the model needs.

    Returns
    -------
    answers : ndarray of shape (G, ...)
    variants : ndarray of shape (V, G, ...) or None
        Answers to variants of the statistics, which show the error; None if there is none.
    """
    sizes = statistics.sizes
    n_variants = statistics.n_variants(parts)
    found: list[list[Floats]] = [[] for _ in range(n_variants + 1)]
    for first in range(0, len(sizes), _GROUPS_AT_ONCE):
        groups = slice(first, min(first + _GROUPS_AT_ONCE, len(sizes)))
        for variant, parts_found in enumerate(found):
            reduced = statistics.reduced(parts, groups, variant)
            parts_found.append(solve(reduced, sizes[groups]))
    each = [np.concatenate(answers) for answers in found]
    return each[0], np.stack(each[1:]) if n_variants else None


class NeedsStatistics(ABC):
    """Fitted object that needs statistics of items: a method, or a part of a report."""

    @abstractmethod
    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that are needed of items of a form."""


class FromStatistics(NeedsStatistics):
    """Estimates from statistics, for every quantifier whose model can be reduced."""

    def statistics_parts(self: Any, form: Form) -> list[Part]:
        """Statistics that estimates need, for items of a form.

        Parameters
        ----------
        form : {"items", "scored", "verdicts"}
            Form of the items: items or scores by all folds, scores by one classifier, or
            decisions.

        Returns
        -------
        list of Part
        """
        needs = _Needs.of(self, form)
        return [*needs.answers, *needs.raw, *needs.evidence]

    @property
    def is_reducible(self: Any) -> bool:
        """True if the fitted method can be reduced to statistics."""
        answering: Quantifier = self.answering_
        return answering.model_.reduction() is not None

    def evidence_training(self: Any, form: Form) -> Training | None:
        """Posteriors of the training items, made like those of new items of a form.

        Parameters
        ----------
        form : {"items", "scored", "verdicts"}
            Form of the items.

        Returns
        -------
        Training or None
            None if there are none.
        """
        scorer = self.scorer_
        if isinstance(scorer, tuple) or form == "verdicts":
            return None
        if scorer is None:
            training: Training | None = self.training_
            return training if training is not None and training.are_posteriors else None
        if not scorer.has_posteriors_ or form != "items":
            return None
        K = len(scorer.classes_)
        return Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)

    def estimate_statistics(
        self: Any,
        statistics: GroupStatistics,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> GroupEstimates:
        """Estimate the shares in groups of items from their statistics, with intervals.

        Parameters
        ----------
        statistics : Statistics
            Statistics of the items, made with this quantifier.
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        GroupEstimates
            Estimates by the name of the group, computed when they are read.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(1000, class_sep=2, random_state=0)
        >>> q = hc.SLD(random_state=0).fit(X[:500], y[:500])
        >>> months = ["January"] * 300 + ["February"] * 200
        >>> statistics = hc.Statistics(q).update(X[500:], groups=months)
        >>> estimates = q.estimate_statistics(statistics)
        >>> list(estimates)
        ['February', 'January']
        >>> estimates["January"].n_items
        300
        """
        check_is_fitted(self, "model_")
        check_choice("target", target, ("realised", "expected"))
        answering: Quantifier = self.answering_
        needs = _Needs.of(self, statistics.form)
        shares = conditioning(answering, needs.model, prior, replicates, random_state)
        answers, variants = solved(_shares_of(needs.model), statistics, needs.answers)
        raw, raw_variants = solved(_shares_of(answering.model_), statistics, needs.raw)
        effective = statistics.effective_sizes([*needs.answers, *needs.raw])
        sampled = effective < statistics.sizes
        evidence = None
        if needs.diagnostics is not None:
            everything = slice(0, len(answers))
            seen, outside = statistics.reduced(needs.evidence, everything)
            evidence = _Evidence(needs.diagnostics, np.asarray(seen), np.asarray(outside))
        return GroupEstimates(
            type(answering).__name__,
            self.classes_,
            tuple(statistics.groups),
            statistics.sizes,
            raw,
            None if raw_variants is None else deviations(raw, raw_variants, sampled),
            target,
            shares,
            answers,
            variants,
            effective,
            evidence,
        )

    def estimate_cells(self: Any, frame: Any, *, by: str | None = None, **options: Any) -> Any:
        """Estimate the shares of two classes from scores that a database has counted.

        Parameters
        ----------
        frame : frame of pandas, polars or pyarrow
            Result of the query of ``headcount sql``: one row per group and cell, with the
            columns cell, items and total.
        by : str, default=None
            Column of the groups; by default the only other one.
        **options
            Options of `estimate_statistics`.

        Returns
        -------
        GroupEstimates

        Examples
        --------
        >>> import polars as pl
        >>> import headcount as hc
        >>> q = hc.PACC().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
        >>> cells = pl.DataFrame({"cell": [464, 559], "items": [60, 40], "total": [12.0, 32.0]})
        >>> q.estimate_cells(cells).raw.round(2)
        array([[0.63, 0.37]])
        """
        from headcount.quantify.warehouse_cells import CountedScores

        check_is_fitted(self, "model_")
        if len(self.classes_) != 2:
            raise HeadcountError(
                f"Cells hold the scores of two classes, and the quantifier has "
                f"{len(self.classes_)}: use Statistics.update_stream instead."
            )
        return self.estimate_statistics(CountedScores.of(frame, by), **options)


@dataclass(frozen=True, eq=False)
class _Needs:
    """Parts that the estimates of a quantifier need."""

    model: Model
    answers: list[Part]
    raw: list[Part]
    evidence: list[Part]
    diagnostics: Diagnostics | None

    @classmethod
    def of(cls, quantifier: Any, form: Form) -> _Needs:
        check_is_fitted(quantifier, "model_")
        answering: Quantifier = quantifier.answering_
        model = answering.model_.cross_fitted(answering._simulation_items())
        answers = _parts(answering, model, answering.scores_by_folds)
        raw = _parts(answering, answering.model_, answering.predicts_by_folds)
        training = quantifier.evidence_training(form)
        if training is None:
            return cls(model, answers, raw, [], None)
        # Imported here, as predictions do not need it.
        from headcount.diagnose import Diagnostics

        diagnostics = Diagnostics.learn(training, quantifier.classes_.tolist())
        source = _EvidenceItems(quantifier, quantifier.scorer_ is not None)
        evidence = [Part(source, each) for each in diagnostics.reduction]
        return cls(model, answers, raw, evidence, diagnostics)


def _parts(quantifier: Quantifier, model: Model, by_folds: bool) -> list[Part]:
    reductions = model.reduction()
    if reductions is None:
        raise HeadcountError(
            f"{type(quantifier).__name__} needs all items of a sample at once, so that it "
            "cannot be reduced to statistics: use another method, such as SLD, PACC or DyS."
        )
    sources = quantifier.statistics_sources(by_folds)
    return [Part(*pair) for pair in zip(sources, reductions, strict=True)]


def deviations(answers: Floats, variants: Floats, sampled: NDArray[np.bool_]) -> Floats:
    """Errors of answers, from those to variants of the statistics.

    For cells, twice the largest difference between answers with these cells, with cells of
    twice the width and, divided by four, with cells of four times the width: about six times
    the error, which is of second order. For samples, four standard errors by the jackknife,
    of the class with the largest.
    """
    wider = np.abs(variants[1] - variants[0]) / 4
    found = 2 * np.maximum(np.abs(variants[0] - answers), wider)
    if sampled.any():
        V = len(variants)
        spread = ((variants - variants.mean(axis=0)) ** 2).sum(axis=0)
        found = np.where(sampled[:, None], 4 * np.sqrt((V - 1) / V * spread), found)
    return np.repeat(found.max(axis=1, keepdims=True), found.shape[1], axis=1)


def _shares_of(model: Model) -> Callable[[Reduced, NDArray[np.int64]], Floats]:
    return lambda reduced, sizes: model.solve_reduced(reduced, sizes).prevalence


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Means of the functions that the assumption is tested on."""

    diagnostics: Diagnostics
    seen: Floats
    outside: Floats


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Mapping[Any, "Estimate"]):
    """Estimates of groups by name. Each is computed when it is read.

    Attributes
    ----------
    method : str
        Name of the quantifier.
    classes : ndarray of shape (K,)
        The classes.
    names : tuple
        Names of the groups.
    sizes : ndarray of shape (G,)
        Number of items of each group.
    raw : ndarray of shape (G, K)
        Shares that the method alone finds.
    raw_error : ndarray of shape (G, K) or None
        Bound on their error that comes from cells or samples in place of items; None if there
        is none. Methods that stop early, such as `SLD`, can differ by a last step as well.
    """

    method: str
    classes: NDArray[Any]
    names: tuple[Any, ...]
    sizes: NDArray[np.int64]
    raw: Floats
    raw_error: Floats | None
    target: Any
    conditioning: ShareConditioning
    answers: Floats
    variants: Floats | None
    effective: NDArray[np.int64]
    evidence: _Evidence | None

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: Any) -> Estimate:
        if name not in self._places:
            raise KeyError(name)
        return self._estimates([self._places[name]])[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _estimates(self, places: list[int]) -> list[Estimate]:
        from headcount.uncertainty import Estimate

        sizes = self.effective[places]
        posteriors = self.conditioning.posteriors(self.answers[places], sizes)
        shares = np.stack([posterior.mean for posterior in posteriors])
        errors = self._errors(places, shares)
        return [
            Estimate(
                self.method,
                self.classes,
                posterior.mean,
                self.raw[place],
                int(self.sizes[place]),
                self.target,
                posterior,
                diagnosis.fit_test,
                diagnosis.warnings,
                None if effective == self.sizes[place] else float(effective),
                error,
            )
            for place, effective, posterior, diagnosis, error in zip(
                places, sizes, posteriors, self._diagnoses(places, shares), errors, strict=True
            )
        ]

    def _errors(self, places: list[int], shares: Floats) -> list[Floats | None]:
        """Errors of the shares that come from cells or samples in place of items."""
        if self.variants is None:
            return [None] * len(places)
        means = [
            self.conditioning.means(answers[places], self.effective[places])
            for answers in self.variants
        ]
        sampled = self.effective[places] < self.sizes[places]
        return list(deviations(shares, np.stack(means), sampled))

    def _diagnoses(self, places: list[int], shares: Floats) -> list[Diagnosis]:
        from headcount.diagnose import Diagnosis, assumption_warnings

        sizes = self.sizes[places]
        evidence = self.evidence
        if evidence is None:
            classes = self.classes.tolist()
            return [
                Diagnosis(None, assumption_warnings(own, classes, n=int(n), shift="prior"))
                for own, n in zip(shares, sizes, strict=True)
            ]
        return evidence.diagnostics.examine_means(
            evidence.seen[places], evidence.outside[places], sizes, shares, shift="prior"
        )

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with one row per group and class.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        polars.DataFrame
            With the columns group, items, class, share, raw, low, high, count, count_low,
            count_high, error and fit_p_value.
        """
        import polars as pl

        frames = []
        for name, estimate in self.items():
            test, error = estimate.fit_test, estimate.reduction_error
            frames.append(
                estimate.to_frame(level).select(
                    pl.lit(name).alias("group"),
                    pl.lit(estimate.n_items).alias("items"),
                    pl.all(),
                    pl.Series("error", np.zeros(len(self.classes)) if error is None else error),
                    pl.lit(None if test is None else test.p_value, pl.Float64).alias(
                        "fit_p_value"
                    ),
                )
            )
        return pl.concat(frames, how="vertical_relaxed")

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows: one row per group, with an interval for each class.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        Table
        """
        rows = []
        for name in self.names[:_MOST_SHOWN]:
            estimate = self[name]
            ends = estimate.interval(level)
            shares = [
                f"{share:.1%} ({low:.1%} to {high:.1%})"
                for share, low, high in zip(estimate.shares, ends.low, ends.high, strict=True)
            ]
            label = "all" if name is None else str(name)
            rows.append([Cell(label), Cell(f"{estimate.n_items:,}"), *map(Cell, shares)])
        head = ["group", "items", *map(str, self.classes.tolist())]
        return Table(head, rows, [False] + [True] * (len(head) - 1))

    def _title(self) -> str:
        n = len(self)
        shown = f", the first {_MOST_SHOWN}" if n > _MOST_SHOWN else ""
        plural = "" if n == 1 else "s"
        return f"{self.method}: shares in {n:,} group{plural}, with 95% intervals{shown}"

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        return html_result(self._title(), [self.to_table()], ())
