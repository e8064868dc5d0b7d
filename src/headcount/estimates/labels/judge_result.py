"""Results of a judge: corrected rates of groups, their differences and ranks, agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy import special

from headcount import plots
from headcount._support.arrays import Array, Floats
from headcount._support.frames import pl
from headcount._support.parameters import check_fraction
from headcount._support.text import Table, chance, html_result
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimand, Estimate
from headcount.estimates.estimates import Estimates
from headcount.estimates.labels.difference import (
    ConfidenceSequence,
    Difference,
    on_simplex,
    share_ends,
)
from headcount.estimates.labels.from_labels import Agreement, normal_posterior
from headcount.estimates.labels.judge_errors import (
    Calibration,
    RateEstimate,
    SliceTest,
    rate_difference,
)
from headcount.metrics.agreement import AgreementStatistic, Bias

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class JudgedEstimate(Estimate):
    """Rates of one group of items, corrected for the errors of a judge. Prints as a table."""

    group: Any = field(kw_only=True)
    n_gold: int = field(kw_only=True)
    estimator: str = field(kw_only=True)
    reason: str = field(kw_only=True)
    by_labels: Difference | None = field(kw_only=True)
    by_rates: RateEstimate | None = field(kw_only=True)
    agreement: Agreement | None = field(kw_only=True)
    influence: Floats | None = field(default=None, kw_only=True)
    sequence: ConfidenceSequence | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        group: Any,
        classes: Array,
        n_items: int,
        estimand: Estimand,
        raw: Floats | None,
        by_labels: Difference | None,
        by_rates: RateEstimate | None,
        warnings: tuple[str, ...],
        **facts: Any,
    ) -> JudgedEstimate:
        """Rates from gold labels if there are enough, or else from error rates."""
        corrected = by_rates if by_labels is None else by_labels
        assert corrected is not None
        if by_labels is None:
            posterior = normal_posterior(corrected.centre, corrected.covariance)
        else:
            posterior = normal_posterior(by_labels.centre, by_labels.with_unseen())
        return cls(
            method="error rates" if by_labels is None else "gold labels",
            classes=classes,
            shares=on_simplex(corrected.centre),
            raw=np.full(len(classes), np.nan) if raw is None else raw,
            n_items=n_items,
            estimand=estimand,
            posterior=posterior,
            warnings=warnings,
            group=group,
            estimator="rates" if by_labels is None else "labels",
            by_labels=by_labels,
            by_rates=by_rates,
            **facts,
        )

    @property
    def basis(self) -> str:
        """Foundation of the shares: "labels" of the items, or error "rates" on others."""
        return self.estimator

    @property
    def verdict_shares(self) -> Floats | None:
        """Shares of the verdicts themselves; None if they are not named as the classes."""
        return None if np.isnan(self.raw).any() else self.raw

    def _ends(self, level: float) -> tuple[Floats, Floats]:
        corrected = self.by_rates if self.by_labels is None else self.by_labels
        assert corrected is not None
        if self.sequence is not None:
            return self.sequence.ends(level)
        return share_ends(corrected.centre, corrected.ends(level), self.n_items)

    @property
    def _remarks(self) -> tuple[str, ...]:
        compared = self.agreement
        sentence = "" if compared is None else compared.sentence("the error rates of the judge")
        return tuple(filter(None, (self.reason, sentence)))


class GroupDifference(NamedTuple):
    """Difference of the rates of two groups."""

    first: Any
    second: Any
    difference: Floats
    low: Floats
    high: Floats


class Contribution(NamedTuple):
    """Use of a judge: lengths of intervals with it alone, without it, and with all."""

    judge: str
    alone: float
    without: float
    together: float


class Rank(NamedTuple):
    """Rank of a group, the highest first, and the ranks that its intervals allow."""

    group: Any
    rank: int
    best: int
    worst: int


@dataclass(frozen=True, eq=False, repr=False)
class JudgeResult:
    """Rates of groups, or means, corrected for the errors of a judge. Prints as tables.

    With `scale`, the ends of a scale, means are shown: shares of its upper end in its units.
    """

    classes: Array
    verdicts: tuple[Any, ...]
    estimates: Estimates
    rates: Mapping[str, Calibration]
    positive: Any = None
    scale: tuple[float, float] | None = field(default=None, kw_only=True)
    slices: SliceTest | None = field(default=None, kw_only=True)
    contributions: tuple[Contribution, ...] = field(default=(), kw_only=True)
    agreements: Mapping[str, list[AgreementStatistic]] = field(
        default_factory=lambda: MappingProxyType({}), kw_only=True
    )
    biases: tuple[Bias, ...] = field(default=(), kw_only=True)

    @property
    def groups(self) -> tuple[JudgedEstimate, ...]:
        """Corrected rates of each group."""
        return tuple(cast(JudgedEstimate, rate) for rate in self.estimates.to_list())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of all groups, one sentence each."""
        return tuple(
            self._of_group(group, text) for group in self.groups for text in group.warnings
        )

    def _of_group(self, group: JudgedEstimate, text: str) -> str:
        return text if len(self.groups) == 1 else f"{group.group}: {text}"

    def differences(
        self, level: float = 0.95, *, simultaneous: bool = True
    ) -> list[GroupDifference]:
        """Differences between the rates of all pairs of groups, with intervals of a level.

        Simultaneous intervals all contain their differences with this probability (max-t);
        otherwise each does so by itself.
        """
        level = check_fraction("level", level)
        if simultaneous:
            level = _simultaneous_level(self.groups, self.shown_classes, level)
        return [_difference(a, b, level) for a, b in combinations(self.groups, 2)]

    def ranks(self, level: float = 0.95) -> list[Rank]:
        """Ranks of the groups by the rate of the class shown, or by the mean; highest first.

        With the given probability all true ranks are between `best` and `worst` at once.
        """
        k = self.shown_classes[-1]
        above = dict.fromkeys((group.group for group in self.groups), 0)
        below = above.copy()
        for pair in self.differences(level):
            if pair.low[k] > 0 or pair.high[k] < 0:
                higher, lower = pair.first, pair.second
                if pair.high[k] < 0:
                    higher, lower = lower, higher
                above[lower] += 1
                below[higher] += 1
        order = sorted(self.groups, key=lambda group: -float(group.shares[k]))
        return [
            Rank(group.group, place, 1 + above[group.group], len(order) - below[group.group])
            for place, group in enumerate(order, 1)
        ]

    def in_units(self, share: Any) -> Any:
        """Share as it is shown: itself, or a mean on the scale."""
        if self.scale is None or share is None:
            return share
        return self.scale[0] + self.width * share

    @property
    def width(self) -> float:
        """Length of the scale of means; 1 for rates."""
        return 1.0 if self.scale is None else self.scale[1] - self.scale[0]

    @property
    def _rows(self) -> list[tuple[int, Any]]:
        """Positions and names of the classes in frames: all of them, or the mean."""
        if self.scale is not None:
            return [(1, "mean")]
        return list(enumerate(self.classes.tolist()))

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with one row per group and class, and intervals of a level."""
        rows = []
        for group in self.groups:
            ends, raw = group.interval(level), group.verdict_shares
            for k, label in self._rows:
                rows.append(
                    {
                        "group": group.group,
                        "class": label,
                        "share": self.in_units(float(group.shares[k])),
                        "low": self.in_units(float(ends.low[k])),
                        "high": self.in_units(float(ends.high[k])),
                        "raw": None if raw is None else self.in_units(float(raw[k])),
                        "items": group.n_items,
                        "gold": group.n_gold,
                        "estimator": group.estimator,
                    }
                )
        frame = pl.DataFrame(rows)
        return frame if self.scale is None else frame.rename({"share": "mean"}).drop("class")

    def differences_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of `differences` with one row per pair of groups and class."""
        return pl.DataFrame(
            [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "class": label,
                    "difference": self.width * float(pair.difference[k]),
                    "low": self.width * float(pair.low[k]),
                    "high": self.width * float(pair.high[k]),
                }
                for pair in self.differences(level)
                for k, label in self._rows
            ]
        )

    def agreement_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of the agreement of each judge with the gold labels."""
        return pl.DataFrame(
            [
                {"judge": judge, "measure": statistic.name, "value": statistic.value}
                | dict(zip(("low", "high"), statistic.interval(level), strict=True))
                for judge, statistics in self.agreements.items()
                for statistic in statistics
            ]
        )

    def rates_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of the judge's verdicts by true class, with intervals of a level."""
        level = check_fraction("level", level)
        rows = []
        for source, table in self.rates.items():
            low, high = table.ends(level)
            for k, label in enumerate(self.classes.tolist()):
                for v, verdict in enumerate(self.verdicts):
                    ends = float(table.rates[k, v]), float(low[k, v]), float(high[k, v])
                    rows.append((source, label, verdict, *ends))
        columns = ["source", "class", "verdict", "rate", "low", "high"]
        return pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all results, with intervals of a level, as plain values for JSON."""
        several = len(self.groups) > 1
        return {
            "level": check_fraction("level", level),
            "classes": self.classes.tolist(),
            "verdicts": list(self.verdicts),
            "groups": [_group_dict(group, level) for group in self.groups],
            "differences": self.differences_frame(level).to_dicts() if several else [],
            "ranks": [rank._asdict() for rank in self.ranks(level)] if several else [],
            "rates": self.rates_frame(level).to_dicts(),
            "scale": None if self.scale is None else list(self.scale),
            "slices": None if self.slices is None else self.slices.to_dict(),
            "judges": [addition._asdict() for addition in self.contributions],
            "agreement": self.agreement_frame(level).to_dicts(),
            "bias": [vars(bias) for bias in self.biases],
        }

    def plot(self, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the corrected rates of the groups with their intervals."""
        frame = self.to_frame(level)
        if self.scale is not None:
            raise HeadcountError("plot draws rates from 0 to 1, not means: use report(path).")
        if len(self.groups) == 1:
            return plots.bars(frame, ax=ax)
        classes = self.shown_classes
        positive = self.classes.tolist()[classes[0]] if len(classes) == 1 else None
        return plots.by_group(frame, positive=positive, ax=ax)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        n_items = sum(group.n_items for group in self.groups)
        n_gold = sum(group.n_gold for group in self.groups)
        what = "rates" if self.scale is None else "means"
        return (
            f"Corrected {what} of {n_items:,} items, {n_gold:,} with gold labels, with "
            f"{100 * level:.6g}% intervals"
        )

    def tables(self, level: float = 0.95) -> list[Table]:
        """Tables that `print` shows: rates, differences or ranks, and what judges are worth."""
        return list(self.named_tables(level).values())

    def named_tables(self, level: float = 0.95) -> dict[str, Table]:
        """Tables by name, those that there are."""
        tables = {"rates": self._rates_table(level)}
        if 1 < len(self.groups) <= _MOST_PAIRED:
            tables["differences"] = self._differences_table(level)
        if len(self.groups) > 2 and len(self.shown_classes) == 1:
            tables["ranks"] = self._ranks_table(level)
        if self.rates:
            tables["verdicts"] = self._verdicts_table(level)
        if self.agreements:
            tables["agreement"] = self._agreement_table(level)
        if self.contributions:
            tables["judges"] = self._judges_table()
        if self.biases:
            tables["bias"] = self._bias_table()
        return tables

    @property
    def main_class(self) -> int:
        """Class of a headline: of several, the one whose rates differ most, or the largest."""
        rates = np.stack([group.shares for group in self.groups])[:, self.shown_classes]
        size = rates[0] if len(rates) == 1 else np.ptp(rates, axis=0)
        return self.shown_classes[int(size.argmax())]

    @property
    def shown_classes(self) -> list[int]:
        """Positions of the classes in the tables: the positive, the second of two, or all."""
        if self.positive is not None:
            return [self.classes.tolist().index(self.positive)]
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    def written(self, share: float | None) -> str:
        """Rate as a percentage, or mean on its scale."""
        if share is None:
            return ""
        return f"{share:.1%}" if self.scale is None else f"{self.in_units(share):.4g}"

    @property
    def _shown(self) -> list[tuple[int, str]]:
        """Positions and names of the classes in tables, or the mean."""
        labels = self.classes.tolist()
        return [
            (k, str(labels[k]) if self.scale is None else "mean") for k in self.shown_classes
        ]

    def _rates_table(self, level: float) -> Table:
        rows = []
        for group in self.groups:
            ends, raw = group.interval(level), group.verdict_shares
            for k, label in self._shown:
                shares = [group.shares[k], ends.low[k], ends.high[k]]
                texts = map(self.written, [*shares, None if raw is None else float(raw[k])])
                counts = f"{group.n_items:,}", f"{group.n_gold:,}"
                rows.append([group.group, label, *texts, *counts, group.estimator])
        value = "rate" if self.scale is None else "mean"
        columns = ["group", "class", value, "from", "to", "raw", "items", "gold", "from what"]
        return Table.of(columns, rows, [False] * 2 + [True] * 6 + [False])

    def _differences_table(self, level: float) -> Table:
        rows = []
        factor, form = (100, "{:+.1f}") if self.scale is None else (self.width, "{:+.3g}")
        for pair in self.differences(level):
            for k, label in self._shown:
                values = pair.difference[k], pair.low[k], pair.high[k]
                texts = [form.format(factor * value) for value in values]
                rows.append([f"{pair.first} - {pair.second}", label, *texts])
        unit = "points" if self.scale is None else "difference"
        columns = ["groups", "class", unit, "from", "to"]
        return Table.of(columns, rows, [False] * 2 + [True] * 3)

    def _ranks_table(self, level: float) -> Table:
        return Table.of(["group", "rank", "best", "worst"], self.ranks(level))

    def _agreement_table(self, level: float) -> Table:
        rows: list[list[str]] = []
        names: list[str] = []
        for judge, statistics in self.agreements.items():
            names = [statistic.name for statistic in statistics]
            rows.append([judge])
            for statistic in statistics:
                low, high = statistic.interval(level)
                rows[-1].append(f"{statistic.value:.3f} ({low:z.2f} to {high:z.2f})")
        return Table.of(["judge", *names], rows)

    def _judges_table(self) -> Table:
        factor, form = (100, "{:.1f}") if self.scale is None else (1, "{:.3g}")
        rows = [
            [judge, *(form.format(factor * width) for width in widths)]
            for judge, *widths in self.contributions
        ]
        columns = ["interval length with", "it alone", "all others", "all judges"]
        return Table.of(columns, rows)

    def _bias_table(self) -> Table:
        rows = [
            [bias.covariate, f"{100 * bias.effect:+.1f}", bias.detail, chance(bias.adjusted)]
            for bias in self.biases
        ]
        columns = ["verdicts depend on", "points", "compared", "with Holm"]
        return Table.of(columns, rows, [False, True, False, False])

    def _verdicts_table(self, level: float) -> Table:
        cells: dict[tuple[str, str], list[str]] = {}
        for source, label, _, *values in self.rates_frame(level).iter_rows():
            rate, low, high = (f"{value:.1%}" for value in values)
            row = cells.setdefault((source, str(label)), [source, str(label)])
            row.append(f"{rate} ({low} to {high})")
        named = [f"verdict {verdict}" for verdict in self.verdicts]
        numeric = [False] * 2 + [True] * len(named)
        return Table.of(["source", "true class", *named], cells.values(), numeric)

    def notes(self) -> list[str]:
        """Sentences that `print` shows below the tables."""
        compared = [
            self._of_group(group, group.agreement.sentence("the error rates of the judge"))
            for group in self.groups
            if group.agreement is not None
        ]
        return [*self.reasons(), *compared, *self.slice_notes(), *self.warnings]

    def reasons(self) -> list[str]:
        """Basis of the rates, in one sentence for all groups with gold labels."""
        sizes = [group.n_gold for group in self.groups if group.by_labels is not None]
        reasons = []
        if len(sizes) > 2:
            reasons.append(
                f"{len(sizes)} groups have gold labels of their own, {min(sizes):,} to "
                f"{max(sizes):,} each. These correct the verdicts under any shift, if they are "
                "a random part."
            )
        reasons += [
            self._of_group(group, group.reason)
            for group in self.groups
            if group.by_labels is None or len(sizes) <= 2
        ]
        return reasons

    def slice_notes(self) -> list[str]:
        """Whether the judge errs alike in all groups, in one sentence."""
        if self.slices is None:
            return []
        if not self.slices.differ:
            return [
                "The judge's error rates do not clearly differ between groups "
                f"({chance(self.slices.p_value)})."
            ]
        by_right = sorted(self.slices.right.items(), key=lambda pair: pair[1])
        named = [(self.groups[g].group, right) for g, right in (by_right[0], by_right[-1])]
        between = ""
        if set(self.verdicts) <= set(self.classes.tolist()):
            (worst, low), (best, high) = named
            between = f": it is right on {low:.0%} of {worst} and on {high:.0%} of {best}"
        return [
            f"The judge's error rates differ between groups ({chance(self.slices.p_value)})"
            f"{between}. One table of errors for all would be wrong, so each group is "
            "corrected by its own gold labels, or with an interval that allows for that."
        ]

    def to_text(self, level: float = 0.95) -> str:
        """Text that `print` shows, at any level."""
        tables = [table.to_text(ruled=False) for table in self.tables(level)]
        notes = "\n".join(self.notes())
        return "\n\n".join([f"{self.title(level)}\n{tables[0]}", *tables[1:], notes])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_result(self.title(), self.tables(), self.notes())


def _group_dict(group: JudgedEstimate, level: float) -> dict[str, Any]:
    ends = group.interval(level)
    by_rates = group.by_rates if group.by_labels is not None else None
    return {
        "group": group.group,
        "n_items": group.n_items,
        "n_gold": group.n_gold,
        "estimator": group.estimator,
        "reason": group.reason,
        "shares": group.shares.tolist(),
        "low": ends.low.tolist(),
        "high": ends.high.tolist(),
        "raw": None if group.verdict_shares is None else group.verdict_shares.tolist(),
        "by_rates": None if by_rates is None else np.clip(by_rates.centre, 0, 1).tolist(),
        "agreement": None if group.agreement is None else group.agreement.to_dict(),
        "warnings": list(group.warnings),
    }


def _difference(first: JudgedEstimate, second: JudgedEstimate, level: float) -> GroupDifference:
    """Difference of two groups; the squares of half-widths add (Zou and Donner's MOVER)."""
    rates = first.by_rates, second.by_rates
    if first.by_labels is None and second.by_labels is None:
        assert rates[0] is not None
        assert rates[1] is not None
        if rates[0].calibration is rates[1].calibration:
            gap, low, high = rate_difference(rates[0], rates[1], level)
            return GroupDifference(
                first.group, second.group, gap, np.clip(low, -1, 1), np.clip(high, -1, 1)
            )
    first_ends, second_ends = first.interval(level), second.interval(level)
    gap = first.shares - second.shares
    correlation = _correlation(first, second)
    pairs = (
        (first.shares - first_ends.low, second_ends.high - second.shares),
        (first_ends.high - first.shares, second.shares - second_ends.low),
    )
    down, up = (
        np.sqrt(np.maximum(a**2 + b**2 - 2 * correlation * a * b, 0.0)) for a, b in pairs
    )
    least = 0.5 / max(first.n_items, second.n_items)
    return GroupDifference(
        first.group,
        second.group,
        gap,
        np.clip(gap - np.maximum(down, least), -1, 1),
        np.clip(gap + np.maximum(up, least), -1, 1),
    )


def _correlation(first: JudgedEstimate, second: JudgedEstimate) -> Floats:
    """Correlation of two estimates whose groups have items in the same clusters."""
    if first.influence is None or second.influence is None:
        return np.zeros(len(first.classes))
    together = (first.influence * second.influence).sum(axis=0)
    alone = (first.influence**2).sum(axis=0) * (second.influence**2).sum(axis=0)
    correlation = together / np.sqrt(np.where(alone > 0, alone, 1.0))
    return np.where(alone > 0, correlation, 0.0)


# Draws that the quantile of the largest difference is computed from, and groups above which
# Bonferroni's bound is used instead.
_MAX_T_DRAWS, _MOST_GROUPS = 20_000, 60
# Groups whose differences `print` shows.
_MOST_PAIRED = 6


def _simultaneous_level(
    groups: tuple[JudgedEstimate, ...], classes: list[int], level: float
) -> float:
    """Level of single intervals at which those of all pairs hold together (max-t)."""
    n_pairs = len(groups) * (len(groups) - 1) // 2
    if n_pairs < 2:
        return level
    if len(groups) > _MOST_GROUPS:
        return 1 - (1 - level) / n_pairs
    quantile = 0.0
    for k in classes:
        errors = []
        for group in groups:
            ends = group.interval(level)
            errors.append(max(float(ends.high[k] - ends.low[k]), 1e-9))
        correlation = np.eye(len(groups))
        for (i, a), (j, b) in combinations(enumerate(groups), 2):
            correlation[i, j] = correlation[j, i] = _correlation(a, b)[k]
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = np.random.default_rng(0).standard_normal((_MAX_T_DRAWS, len(groups)))
        draws = normal @ root.T * np.array(errors)
        largest = np.zeros(_MAX_T_DRAWS)
        for i, j in combinations(range(len(groups)), 2):
            gap = draws[:, i] - draws[:, j]
            np.maximum(largest, np.abs(gap) / max(gap.std(), 1e-12), out=largest)
        quantile = max(quantile, float(np.quantile(largest, level)))
    return max(level, float(2 * special.ndtr(quantile) - 1))
