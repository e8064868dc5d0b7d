"""From tables of verdicts and gold labels to corrected rates: behind ``headcount judge``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headcount._parameters import check_fraction
from headcount._versions import versions
from headcount.analysis.label_columns import stripped
from headcount.analysis.options import as_table
from headcount.analysis.pages import judge_page
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.labels import JudgeResult, correct_verdicts
from headcount.report.page import Page

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAnalysis(JudgeResult):
    """Rates of groups in a table, corrected for the errors of a judge.

    Made by `headcount.judge`. Prints as tables.
    """

    heading: str = field(kw_only=True)
    created: str = field(kw_only=True)
    level: float = field(kw_only=True)
    data_facts: Mapping[str, str] = field(kw_only=True)

    def page(self) -> Page:
        """Page that `report` writes."""
        return judge_page(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page to share: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or path
            File that ends in .html, in a folder that exists.
        """
        self.page().write(path)

    def to_frame(self, level: float | None = None) -> pl.DataFrame:
        """Table with one row per group and class, with intervals of the level of the result."""
        return super().to_frame(self.level if level is None else level)

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        return super().to_dict(self.level if level is None else level)

    def to_text(self, level: float | None = None) -> str:
        """Text that `print` shows."""
        return super().to_text(self.level if level is None else level)


def judge(
    items: Any,
    *,
    verdict: str,
    gold: str,
    by: str | None = None,
    calibration: Any = None,
    cluster: str | None = None,
    weight: str | None = None,
    positive: Any = None,
    target: str = "expected",
    level: float = 0.95,
    separator: str | None = None,
    title: str | None = None,
) -> JudgeAnalysis:
    """Correct the rates that a judge measures, by gold labels of some items.

    A judge is an LLM, a rule or a person whose verdicts are cheap and not always right. If a
    random part of the items has gold labels, each group's rate is estimated from its own
    labels, by verdict: this holds whatever errors the judge makes. If the gold labels are those
    of other items, a calibration set, rates are corrected by the judge's errors on them
    (Rogan and Gladen): this holds if the judge errs on both alike. This is what the command
    ``headcount judge`` does.

    Parameters
    ----------
    items : frame or path
        Table of the judged items.
    verdict : str
        Column of the verdicts: texts, numbers, or scores, which are cut into five bins.
    gold : str
        Column of the true classes, empty where they are not known. The items with gold must be
        a random part of each group, or of the items with each verdict.
    by : str, default=None
        Column of the groups to compare, such as the model that was judged.
    calibration : frame or path, default=None
        Table of other items, all with verdict and gold.
    cluster : str, default=None
        Column of the clusters, such as conversations. Items of one cluster may be alike.
    weight : str, default=None
        Column of survey weights.
    positive : Any, default=None
        Class whose rate is shown; by default the second of two classes, or all of more.
    target : {"expected", "realised"}, default="expected"
        Rates in the population that the items are a random sample of, or among these items.
    level : float, default=0.95
        Probability that an interval contains the rate.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    JudgeAnalysis
        With ``groups``, ``differences()``, ``to_frame()``, ``rates`` (how often the judge
        gives each verdict by true class) and ``report(path)``. Prints as tables.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> truth = np.where(rng.random(2000) < 0.2, "fail", "pass")
    >>> wrong = rng.random(2000) < np.where(truth == "fail", 0.3, 0.05)
    >>> verdicts = np.where(wrong, np.where(truth == "fail", "pass", "fail"), truth)
    >>> labelled = rng.random(2000) < 0.1
    >>> items = pl.DataFrame({
    ...     "judge": verdicts, "human": np.where(labelled, truth, None).tolist()})
    >>> result = hc.judge(items, verdict="judge", gold="human", positive="fail")
    >>> low, high = result.groups[0].interval()["fail"]
    >>> low < 0.2 < high
    True
    """
    check_fraction("`level`", level)
    table = as_table(items, "items", separator)
    columns = {"verdict": verdict, "by": by, "cluster": cluster, "weight": weight}
    for option, column in columns.items():
        if column is not None:
            table.require([column], f"which `{option}` names")
    if calibration is None:
        table.require([gold], "which `gold` names")
    frame = table.read([name for name in dict.fromkeys([*columns.values(), gold])
                        if name in table.columns])  # fmt: skip
    facts = {"Items": f"{table.name}, {len(frame):,} rows"}
    known = None
    if calibration is not None:
        other = as_table(calibration, "calibration", separator)
        known, n_rows = _calibration(other, verdict, gold, cluster)
        facts["Calibration set"] = f"{other.name}, {n_rows:,} rows"
    facts["Columns"] = ", ".join(
        f"{option} {column}"
        for option, column in [*columns.items(), ("gold", gold)]
        if column is not None
    )
    given: Any = [None] * len(frame) if gold not in frame.columns else _values(frame[gold])
    result = correct_verdicts(
        _full(frame[verdict], table.name, "verdict"),
        given,
        by=None if by is None else _texts(frame[by]),
        calibration=known,
        clusters=None if cluster is None else _texts(frame[cluster]),
        weights=None if weight is None else _full(frame[weight], table.name, "weight"),
        target=target,
        positive=_of_classes(positive, given, known),
    )
    return JudgeAnalysis(
        **vars(result),
        heading=title or f"Rates of {gold} in {table.name}, judged by {verdict}",
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        level=float(level),
        data_facts=facts | versions(),
    )


def _calibration(
    table: TableFile, verdict: str, gold: str, cluster: str | None
) -> tuple[tuple[Any, ...], int]:
    """Verdicts, gold labels and clusters of a calibration set."""
    for option, column in (("verdict", verdict), ("gold", gold)):
        table.require([column], f"which `{option}` names")
    clustered = cluster is not None and cluster in table.columns
    frame = table.read([verdict, gold, *([cluster] if clustered and cluster else [])])
    found = [_full(frame[verdict], table.name, "verdict"), _values(frame[gold])]
    if clustered and cluster:
        found.append(_texts(frame[cluster]))
    return tuple(found), len(frame)


def _values(column: pl.Series) -> list[Any]:
    """Values of a column; texts that are all numbers become numbers."""
    import polars as pl

    raw = stripped(column)
    if raw.dtype == pl.String and raw.null_count() < len(raw):
        for dtype in (pl.Int64, pl.Float64):
            made = raw.cast(dtype, strict=False)
            if made.null_count() == raw.null_count():
                return made.to_list()
    return raw.to_list()


def _full(column: pl.Series, table: str, option: str) -> list[Any]:
    """Values of a column, none of them missing."""
    values = _values(column)
    missing = [row for row, value in enumerate(values, 1) if value is None]
    if missing:
        raise HeadcountError(
            f"Column {column.name!r} of {table!r}, which `{option}` names, lacks "
            f"{len(missing):,} of {len(values):,} values, the first in row {missing[0]:,}: "
            "leave these items out."
        )
    return values


def _texts(column: pl.Series) -> list[str]:
    """Names of groups or clusters; missing ones are a group of their own."""
    import polars as pl

    return stripped(column).cast(pl.String).fill_null("(missing)").to_list()


def _of_classes(positive: Any, gold: list[Any], known: tuple[Any, ...] | None) -> Any:
    """Class that a text from the command line stands for."""
    if not isinstance(positive, str):
        return positive
    found = {
        str(label): label for labels in (gold, known[1] if known else ()) for label in labels
    }
    return found.get(positive, positive)
