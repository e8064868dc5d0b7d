"""Shares from verdicts whose error rates are known from a calibration set.

For two classes this is the estimator of Rogan and Gladen. Intervals are inverted tests
(Fieller): all shares that the verdicts do not contradict, given the noise of both sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._support.parameters import check_fraction
from headcount._support.text import Cell, Table, html_result
from headcount.estimates.estimate import Estimand, Estimate
from headcount.estimates.estimates import Estimates
from headcount.estimates.labels.difference import (
    Difference,
    clopper_pearson,
    on_simplex,
    share_ends,
)
from headcount.estimates.labels.from_labels import Agreement, normal_posterior
from headcount.estimates.labels.sample import effective_size

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Condition number above which the verdicts do not determine the shares.
_SINGULAR = 1e10


@dataclass(frozen=True, eq=False)
class Calibration:
    """Verdicts on items whose true class is known.

    >>> import numpy as np
    >>> calibration = Calibration.of(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0]), 2, 2)
    >>> calibration.rates.round(2)
    array([[0.5 , 0.5 ],
           [0.33, 0.67]])
    """

    counts: Floats
    sizes: Floats

    @classmethod
    def of(
        cls,
        codes: Ints,
        verdicts: Ints,
        n_classes: int,
        n_verdicts: int,
        weights: Floats | None = None,
        clusters: Ints | None = None,
    ) -> Calibration:
        """Count verdicts by class.

        Items may have weights and clusters.
        """
        mass = np.ones(len(codes)) if weights is None else weights
        cells = np.bincount(codes * n_verdicts + verdicts, mass, n_classes * n_verdicts)
        counts = np.asarray(cells.reshape(n_classes, n_verdicts), np.float64)
        one_hot = (verdicts[:, None] == np.arange(n_verdicts)).astype(np.float64)
        sizes = np.ones(n_classes)
        for k in range(n_classes):
            of_class = codes == k
            if of_class.any():
                groups = None if clusters is None else clusters[of_class]
                sizes[k] = _independent(one_hot[of_class], mass[of_class], groups)
        return cls(counts, sizes)

    @property
    def rates(self) -> Floats:
        """Probability of each verdict by true class, (K, V)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def spreads(self) -> Floats:
        """Covariance of the rates of each class, (K, V, V).

        One item is added to each verdict, so that a verdict that was never seen is uncertain.
        """
        V = self.counts.shape[1]
        scaled = self.rates * self.sizes[:, None]
        smooth = (scaled + 1) / (self.sizes[:, None] + V)
        return _multinomial(smooth) / self.sizes[:, None, None]

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Clopper-Pearson intervals of the rates."""
        sizes = self.sizes[:, None]
        return clopper_pearson(self.rates * sizes, sizes, level)


@dataclass(frozen=True, eq=False)
class RateEstimate:
    """Shares of the classes among items with verdicts, from the rates of a calibration set.

    >>> import numpy as np
    >>> counts = np.array([[85.0, 15.0], [10.0, 90.0]])
    >>> calibration = Calibration(counts, np.array([100.0, 100.0]))
    >>> found = RateEstimate.of(calibration, np.array([0.70, 0.30]), 1000)
    >>> found.centre.round(3)  # (0.30 - 0.15) / (0.90 - 0.15)
    array([0.8, 0.2])
    >>> [end[1].round(2).item() for end in found.ends(0.95)]
    [0.11, 0.28]
    """

    calibration: Calibration
    seen: Floats
    n_effective: float
    inverse: Floats
    centre: Floats

    @classmethod
    def of(cls, calibration: Calibration, seen: Floats, n_effective: float) -> RateEstimate:
        """Solve for the shares.

        ``seen`` are the shares of the verdicts among items that count as
        ``n_effective``.
        """
        K, V = calibration.counts.shape
        rates = calibration.rates
        # The last verdict and the last class follow from the others.
        apart = (rates[:-1] - rates[-1])[:, : V - 1].T
        shares, inverse = np.full(K, 1 / K), np.full((K, V), np.nan)
        # Two steps of generalised least squares; with as many verdicts as classes the first
        # is exact.
        for _ in range(2):
            likely = on_simplex(np.maximum(shares, 0.0) + 0.5 / K)
            noise = _noise(calibration, likely, seen, n_effective)[: V - 1, : V - 1]
            weighted = np.linalg.solve(noise, apart).T
            normal = weighted @ apart
            if np.linalg.cond(normal) > _SINGULAR:
                return cls(calibration, seen, n_effective, inverse, shares)
            weights_of_verdicts = np.linalg.solve(normal, weighted)
            inverse = np.zeros((K, V))
            inverse[:-1, :-1] = weights_of_verdicts
            inverse[-1] = -inverse[:-1].sum(axis=0)
            first = weights_of_verdicts @ (seen - rates[-1])[: V - 1]
            shares = np.append(first, 1 - first.sum())
        return cls(calibration, seen, n_effective, inverse, shares)

    @property
    def informative(self) -> bool:
        """False if the verdicts hardly depend on the class, so shares are arbitrary."""
        every = range(len(self.centre))
        return bool(
            np.isfinite(self.inverse).all()
            and all(self._quadratic(k, 0.95)[0] > 0 for k in every)
        )

    @property
    def covariance(self) -> Floats:
        """Covariance of the estimated shares, (K, K)."""
        if not np.isfinite(self.inverse).all():
            return np.eye(len(self.centre))
        likely = on_simplex(self.centre)
        noise = _noise(self.calibration, likely, self.seen, self.n_effective)
        return np.asarray(self.inverse @ noise @ self.inverse.T)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the intervals, not clipped."""
        K = len(self.centre)
        low, high = np.zeros(K), np.ones(K)
        for k in range(K):
            a, b, c = self._quadratic(k, level)
            if not a > 0:  # no share is contradicted
                low[k], high[k] = min(0.0, self.centre[k]), max(1.0, self.centre[k])
                continue
            root = np.sqrt(max(b * b - 4 * a * c, 0.0))
            low[k], high[k] = (-b - root) / (2 * a), (-b + root) / (2 * a)
        return np.minimum(low, self.centre), np.maximum(high, self.centre)

    def _quadratic(self, k: int, level: float) -> tuple[float, float, float]:
        """Coefficients of the inequality whose solutions are the shares in the interval."""
        z2 = special.ndtri((1 + level) / 2) ** 2
        weights = self.inverse[k]
        spreads = np.einsum("v,jvw,w->j", weights, self.calibration.spreads, weights)
        sampling = float(weights @ _sampling(self.seen, self.n_effective) @ weights)
        # The others keep their proportions while the share of class k is t.
        proportions = np.maximum(self.centre, 0.0)
        proportions[k] = 0.0
        total = proportions.sum()
        proportions = (
            proportions / total if total > 0 else proportions + 1 / max(len(proportions) - 1, 1)
        )
        proportions[k] = 0.0
        of_others = float((proportions**2) @ spreads)
        of_class = float(spreads[k])
        # (centre - t)^2 <= z2 (sampling + t^2 own + (1 - t)^2 rest)
        a = 1 - z2 * (of_class + of_others)
        b = -2 * float(self.centre[k]) + 2 * z2 * of_others
        c = float(self.centre[k]) ** 2 - z2 * (sampling + of_others)
        return a, b, c


def rate_difference(
    first: RateEstimate, second: RateEstimate, level: float
) -> tuple[Floats, Floats, Floats]:
    """Differences of the shares of two groups that share a calibration set.

    Returns the differences, and the lower and upper ends of their intervals.
    """
    gap = first.centre - second.centre
    if not (first.informative and second.informative):
        return gap, np.full(len(gap), -1.0), np.full(len(gap), 1.0)
    inverse = (first.inverse + second.inverse) / 2
    noise = _sampling(first.seen, first.n_effective)
    noise = noise + _sampling(second.seen, second.n_effective)
    noise = noise + np.einsum("j,jvw->vw", gap**2, first.calibration.spreads)
    errors = np.sqrt(np.einsum("kv,vw,kw->k", inverse, noise, inverse))
    reach = special.ndtri((1 + level) / 2) * errors
    return gap, gap - reach, gap + reach


def _noise(calibration: Calibration, shares: Floats, seen: Floats, size: float) -> Floats:
    """Covariance of the verdicts' shares minus those that the rates predict."""
    return _sampling(seen, size) + np.einsum("j,jvw->vw", shares**2, calibration.spreads)


def _sampling(seen: Floats, size: float) -> Floats:
    smooth = (seen * size + 1) / (size + len(seen))
    return np.asarray(_multinomial(smooth[None])[0] / size)


def _multinomial(shares: Floats) -> Floats:
    return shares[:, :, None] * np.eye(shares.shape[1]) - shares[:, :, None] * shares[:, None]


def _independent(values: Floats, mass: Floats, clusters: Ints | None) -> float:
    """Number of independent items of equal weight."""
    groups = None
    if clusters is not None:
        groups = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    return effective_size(len(values), mass, groups, values)


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

    @classmethod
    def of(
        cls,
        group: Any,
        classes: NDArray[Any],
        n_items: int,
        estimand: Estimand,
        raw: Floats | None,
        by_labels: Difference | None,
        by_rates: RateEstimate | None,
        warnings: tuple[str, ...],
        **facts: Any,
    ) -> JudgedEstimate:
        """Rates from gold labels, if there are enough, or else from error rates.

        `raw` are the shares of the verdicts; None if verdicts are not named as the classes.
        """
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
        return share_ends(corrected, self.n_items, level)

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


@dataclass(frozen=True, eq=False, repr=False)
class JudgeResult:
    """Rates of groups, corrected for the errors of a judge. Prints as tables."""

    classes: NDArray[Any]
    verdicts: tuple[Any, ...]
    estimates: Estimates
    rates: Mapping[str, Calibration]
    positive: Any = None

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

    def differences(self, level: float = 0.95) -> list[GroupDifference]:
        """Differences between the rates of all pairs of groups, with intervals of a level."""
        level = check_fraction("level", level)
        return [_difference(a, b, level) for a, b in combinations(self.groups, 2)]

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with one row per group and class, and intervals of a level."""
        import polars as pl

        rows = []
        for group in self.groups:
            ends = group.interval(level)
            raw = (
                [None] * len(self.classes)
                if group.verdict_shares is None
                else group.verdict_shares.tolist()
            )
            for k, label in enumerate(self.classes.tolist()):
                rows.append(
                    {
                        "group": group.group,
                        "class": label,
                        "share": float(group.shares[k]),
                        "low": float(ends.low[k]),
                        "high": float(ends.high[k]),
                        "raw": raw[k],
                        "items": group.n_items,
                        "gold": group.n_gold,
                        "estimator": group.estimator,
                    }
                )
        return pl.DataFrame(rows)

    def differences_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of `differences` with one row per pair of groups and class."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "class": label,
                    "difference": float(pair.difference[k]),
                    "low": float(pair.low[k]),
                    "high": float(pair.high[k]),
                }
                for pair in self.differences(level)
                for k, label in enumerate(self.classes.tolist())
            ]
        )

    def rates_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of the judge's verdicts by true class, with intervals of a level."""
        import polars as pl

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
            "rates": self.rates_frame(level).to_dicts(),
        }

    def plot(self, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the corrected rates of the groups with their intervals."""
        from headcount import plots

        frame = self.to_frame(level)
        if len(self.groups) == 1:
            return plots.bars(frame, ax=ax)
        classes = self.shown_classes
        positive = self.classes.tolist()[classes[0]] if len(classes) == 1 else None
        return plots.by_group(frame, positive=positive, ax=ax)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        n_items = sum(group.n_items for group in self.groups)
        n_gold = sum(group.n_gold for group in self.groups)
        return (
            f"Corrected rates of {n_items:,} items, {n_gold:,} with gold labels, with "
            f"{100 * level:.6g}% intervals"
        )

    def tables(self, level: float = 0.95) -> list[Table]:
        """Tables that `print` shows: rates, differences, and the judge's verdicts."""
        tables = [self._rates_table(level)]
        if 1 < len(self.groups) <= 6:
            tables.append(self._differences_table(level))
        return [*tables, self._verdicts_table(level)]

    @property
    def shown_classes(self) -> list[int]:
        """Positions of the classes in the tables: the positive, the second of two, or all."""
        if self.positive is not None:
            return [self.classes.tolist().index(self.positive)]
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    def _shown_rows(self, frame: pl.DataFrame) -> list[tuple[Any, ...]]:
        """Rows of a table with one per class, of the classes that are shown."""
        K = len(self.classes)
        return [row for i, row in enumerate(frame.iter_rows()) if i % K in self.shown_classes]

    def _rates_table(self, level: float) -> Table:
        rows = []
        for group, label, *shares, items, gold, source in self._shown_rows(
            self.to_frame(level)
        ):
            texts = ["" if share is None else f"{share:.1%}" for share in shares]
            row = [str(group), str(label), *texts, f"{items:,}", f"{gold:,}", source]
            rows.append([Cell(text) for text in row])
        columns = ["group", "class", "rate", "from", "to", "raw", "items", "gold", "from what"]
        return Table(columns, rows, [False] * 2 + [True] * 6 + [False])

    def _differences_table(self, level: float) -> Table:
        rows = [
            [
                Cell(f"{first} - {second}"),
                Cell(str(label)),
                *(Cell(f"{100 * value:+.1f}") for value in values),
            ]
            for first, second, label, *values in self._shown_rows(self.differences_frame(level))
        ]
        return Table(
            ["groups", "class", "points", "from", "to"], rows, [False] * 2 + [True] * 3
        )

    def _verdicts_table(self, level: float) -> Table:
        cells: dict[tuple[str, str], list[Cell]] = {}
        for source, label, _, *values in self.rates_frame(level).iter_rows():
            rate, low, high = (f"{value:.1%}" for value in values)
            row = cells.setdefault((source, str(label)), [Cell(source), Cell(str(label))])
            row.append(Cell(f"{rate} ({low} to {high})"))
        named = [f"verdict {verdict}" for verdict in self.verdicts]
        numeric = [False] * 2 + [True] * len(named)
        return Table(["source", "true class", *named], list(cells.values()), numeric)

    def notes(self) -> list[str]:
        """Sentences that `print` shows below the tables."""
        reasons = dict.fromkeys(self._of_group(group, group.reason) for group in self.groups)
        compared = [
            self._of_group(group, group.agreement.sentence("the error rates of the judge"))
            for group in self.groups
            if group.agreement is not None
        ]
        return [*reasons, *compared, *self.warnings]

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
