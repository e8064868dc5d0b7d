"""What a page is made of, as plain data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.report.facts import MethodFacts, plain
from headcount.report.histograms import ScoreHistogram
from headcount.report.verdict import Verdict, judge
from headcount.uncertainty import Estimate

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Analysis", "MethodFacts", "Part"]

COLUMNS = (
    "group", "class", "share", "low", "high", "items", "count", "classify_and_count",
    "p_value", "warning", "truth",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """All items, or those of one group.

    Attributes
    ----------
    name : Any
        The group; None for all items.
    estimate : Estimate
        The shares of the classes among them.
    low, high : ndarray of shape (K,)
        Ends of the intervals.
    count : ndarray of shape (K,)
        Estimated numbers of items.
    classify_and_count : ndarray of shape (K,) or None
        Shares of the classes that the classifier predicts; None if none is there.
    truth : ndarray of shape (K,) or None
        The true shares, if labels were given.
    """

    name: Any
    estimate: Estimate
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    count: NDArray[Any]
    classify_and_count: NDArray[np.float64] | None = None
    truth: NDArray[np.float64] | None = None

    @property
    def p_value(self) -> float | None:
        """Of the test of the assumption; None if there was none."""
        test = self.estimate.fit_test
        return None if test is None or np.isnan(test.p_value) else float(test.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: a list over the classes for everything that each class has."""
        test = self.estimate.fit_test
        return {
            "group": plain(self.name),
            "items": self.estimate.n_items,
            "shares": self.estimate.shares.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "counts": self.count.tolist(),
            "classify_and_count": _listed(self.classify_and_count),
            "truth": _listed(self.truth),
            "fit_test": None
            if test is None
            else {"statistic": test.statistic, "df": test.df, "p_value": self.p_value},
            "warnings": list(self.estimate.warnings),
        }


@dataclass(frozen=True, eq=False)
class Analysis:
    """The shares of the classes among items and groups of them, and what to think of it.

    Made by `analyse` or `analyse_scores`; prints as its verdict.

    Attributes
    ----------
    title : str
        Heading of the page.
    created : str
        Date and time, UTC.
    classes : tuple
        The classes.
    level : float
        How often the intervals hold the shares.
    overall : Part
        All items.
    groups : tuple of Part
        The groups; empty if there are none.
    ordered : bool
        Whether the groups follow one another, as months do.
    training : ndarray of shape (K,)
        Shares in the training set.
    n_training : int or None
        Number of training items, if it is known.
    method : MethodFacts
        The method, its settings, and why it was chosen.
    histograms : tuple of ScoreHistogram
        One a class; empty if the method keeps no scores of its training items.
    warnings : tuple of str
        What the reader ought to know of all of it.
    versions, data_facts : mapping of str to str
        Of packages; of the data, as the caller gave them.
    """

    title: str
    created: str
    classes: tuple[Any, ...]
    level: float
    overall: Part
    groups: tuple[Part, ...]
    ordered: bool
    training: NDArray[np.float64]
    n_training: int | None
    method: MethodFacts
    histograms: tuple[ScoreHistogram, ...]
    warnings: tuple[str, ...]
    versions: Mapping[str, str]
    data_facts: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """The answer in a sentence or two, and whether to believe it."""
        return judge(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values that JSON can hold.

        Returns
        -------
        dict
            ``title``, ``created``, ``verdict`` (status, sentences), ``level``, ``classes``,
            ``training`` (shares, items), ``overall`` and ``groups``, which are a dict or a
            list of dicts with ``group``, ``items``, ``shares``, ``low``, ``high``,
            ``counts``, ``classify_and_count``, ``truth``, ``fit_test`` (statistic, df,
            p_value) and ``warnings``; ``method``, ``histograms`` (class, edges, training,
            sample, mixture), ``warnings``, ``versions``, ``data``. Lists over classes are
            in the order of ``classes``.
        """
        verdict = self.verdict
        return {
            "title": self.title,
            "created": self.created,
            "verdict": {"status": verdict.status, "sentences": list(verdict.sentences)},
            "level": self.level,
            "classes": [plain(label) for label in self.classes],
            "training": {"shares": self.training.tolist(), "items": self.n_training},
            "overall": self.overall.to_dict(),
            "groups": [part.to_dict() for part in self.groups],
            "ordered": self.ordered,
            "method": asdict(self.method),
            "histograms": [
                {
                    "class": plain(each.label),
                    "edges": each.edges.tolist(),
                    "training": each.training.tolist(),
                    "sample": each.sample.tolist(),
                    "mixture": each.mixture.tolist(),
                }
                for each in self.histograms
            ],
            "warnings": list(self.warnings),
            "versions": dict(self.versions),
            "data": dict(self.data_facts),
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of `to_frame`."""
        for part in (self.overall, *self.groups):
            said = " ".join(part.estimate.warnings) or None
            for j, label in enumerate(self.classes):
                yield (
                    plain(part.name), plain(label), float(part.estimate.shares[j]),
                    float(part.low[j]), float(part.high[j]), part.estimate.n_items,
                    part.count[j].item(), _at(part.classify_and_count, j), part.p_value, said,
                    _at(part.truth, j),
                )  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """A row a group and class, all items first, with no group.

        Returns
        -------
        polars.DataFrame
            With the columns group, class, share, low, high, items, count,
            classify_and_count, p_value, warning, truth.
        """
        import polars as pl

        columns = zip(*self.rows(), strict=True)
        numbers = {"classify_and_count": pl.Float64, "p_value": pl.Float64, "truth": pl.Float64}
        kinds = numbers | {"warning": pl.String}
        if not self.groups:
            kinds["group"] = pl.String
        return pl.DataFrame(
            [
                pl.Series(name, column, dtype=kinds.get(name), strict=False)
                for name, column in zip(COLUMNS, columns, strict=True)
            ]
        )

    def write_page(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML file, wholly or not at all.

        Parameters
        ----------
        path : str or path
            The file, in a folder that exists.
        """
        from headcount.report.page import page
        from headcount.report.writing import write_whole

        write_whole(path, page(self))

    def __repr__(self) -> str:
        return f"{self.title}: {' '.join(self.verdict.sentences)}"


def _listed(values: NDArray[np.float64] | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _at(values: NDArray[np.float64] | None, j: int) -> float | None:
    return None if values is None else float(values[j])
