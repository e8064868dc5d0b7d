"""From tables of verdicts and gold labels to corrected rates: behind ``headcount judge``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from headcount._support.text import Table, percent
from headcount._support.versions import versions
from headcount.errors import HeadcountError
from headcount.estimates.labels.judge_rates import correct_verdicts
from headcount.estimates.labels.judge_result import JudgeResult
from headcount.report.charts import Row, rows_chart, share_axis
from headcount.report.page import (
    Note,
    Page,
    facts,
    headline,
    legend,
    note,
    notes_list,
    now,
    panels,
    paragraph,
    scrolled,
    section,
    warnings_link,
    warnings_section,
)
from headcount.tables.label_columns import stripped
from headcount.tables.options import Options
from headcount.tables.pages import MOST_PANELS, plain_notes, written_level
from headcount.tables.readers import TableFile
from headcount.tables.words import plain, words

# Groups that a chart shows at most.
_MOST_GROUPS = 60


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
    estimand: str = "expected",
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
    estimand : {"expected", "realised"}, default="expected"
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
    options = Options(separator=separator, level=level, weight=weight, cluster=cluster)
    table = options.table(items, "items")
    columns = {"verdict": verdict, "by": by, "cluster": cluster, "weight": weight}
    for option, column in columns.items():
        if column is not None:
            table.require([column], f"which `{option}` names")
    if calibration is None:
        table.require([gold], "which `gold` names")
    frame = table.read([name for name in dict.fromkeys([*columns.values(), gold])
                        if name in table.columns])  # fmt: skip
    data_facts = {"Items": f"{table.name}, {len(frame):,} rows"}
    learnt = None
    if calibration is not None:
        source = options.table(calibration, "calibration")
        learnt, n_rows = _calibration(source, verdict, gold, cluster)
        data_facts["Calibration set"] = f"{source.name}, {n_rows:,} rows"
    data_facts["Columns"] = ", ".join(
        f"{option} {column}"
        for option, column in [*columns.items(), ("gold", gold)]
        if column is not None
    )
    labels: Any = [None] * len(frame) if gold not in frame.columns else _values(frame[gold])
    result = correct_verdicts(
        _full(frame[verdict], table.name, "verdict"),
        labels,
        by=None if by is None else _texts(frame[by]),
        calibration=learnt,
        clusters=None if cluster is None else _texts(frame[cluster]),
        weights=None if weight is None else _full(frame[weight], table.name, "weight"),
        estimand=estimand,
        positive=_of_classes(positive, labels, learnt),
    )
    return JudgeAnalysis(
        **vars(result),
        heading=title or f"Rates of {gold} in {table.name}, judged by {verdict}",
        created=now(),
        level=float(level),
        data_facts=data_facts | versions(),
    )


def _calibration(
    table: TableFile, verdict: str, gold: str, cluster: str | None
) -> tuple[tuple[Any, ...], int]:
    """Verdicts, gold labels and clusters of a calibration set."""
    for option, column in (("verdict", verdict), ("gold", gold)):
        table.require([column], f"which `{option}` names")
    clustered = cluster is not None and cluster in table.columns
    frame = table.read([verdict, gold, *([cluster] if clustered and cluster else [])])
    arrays = [_full(frame[verdict], table.name, "verdict"), _values(frame[gold])]
    if clustered and cluster:
        arrays.append(_texts(frame[cluster]))
    return tuple(arrays), len(frame)


def _values(column: pl.Series) -> list[Any]:
    """Values of a column; texts that are all numbers become numbers."""
    raw = stripped(column)
    if raw.dtype == pl.String and raw.null_count() < len(raw):
        for dtype in (pl.Int64, pl.Float64):
            numbers = raw.cast(dtype, strict=False)
            if numbers.null_count() == raw.null_count():
                return numbers.to_list()
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
    return stripped(column).cast(pl.String).fill_null("(missing)").to_list()


def _of_classes(positive: Any, gold: list[Any], learnt: tuple[Any, ...] | None) -> Any:
    """Class that a text from the command line stands for."""
    if not isinstance(positive, str):
        return positive
    classes = {
        str(label): label for labels in (gold, learnt[1] if learnt else ()) for label in labels
    }
    return classes.get(positive, positive)


# Page of a judge.


def judge_page(analysis: JudgeAnalysis) -> Page:
    """Page of rates that were corrected for the errors of a judge."""
    level = written_level(analysis.level)
    groups, several = analysis.groups[:_MOST_GROUPS], len(analysis.groups) > 1
    rates, *more_tables = analysis.tables(analysis.level)
    names = [(k, words(analysis.classes.tolist()[k])) for k in analysis.shown_classes]
    charts = [(name, _rate_chart(analysis, k, name)) for k, name in names[:MOST_PANELS]]
    marks = [("estimate", f"corrected rate, {level} interval")]
    if any(group.verdict_shares is not None for group in analysis.groups):
        marks.append(("counted", "raw rate, as the judge counts"))
    warnings, n_hidden = plain_notes(analysis.warnings), len(analysis.groups) - len(groups)
    differences = Markup("")
    if len(more_tables) > 1:
        differences = section(
            "Differences between groups",
            note(
                f"In percentage points, with {level} intervals. An interval that contains 0 "
                "does not tell the groups apart. Each interval holds by itself: of twenty, one "
                "is wrong on average."
            ),
            scrolled(_sortable(more_tables[0], "Differences"), "tall"),
        )
    frame = analysis.to_frame(analysis.level)
    content = {"title": analysis.heading, "created": analysis.created}
    content |= analysis.to_dict(analysis.level) | {"data": dict(analysis.data_facts)}
    return Page(
        title=analysis.heading,
        eyebrow=[
            f"{sum(group.n_items for group in analysis.groups):,} items",
            f"{sum(group.n_gold for group in analysis.groups):,} with gold labels",
            analysis.created,
        ],
        headline=headline(
            "unsure" if warnings else "fits",
            "Read with care" if warnings else "Corrected for its errors",
            _judge_sentences(analysis),
            muted=True,
            links=warnings_link(warnings),
        ),
        sections=[
            section(
                "Rates by group" if several else "Rates",
                legend(*marks),
                panels(charts, wide=len(charts) == 1),
                note(f"{n_hidden} more groups are in the table only." if n_hidden else ""),
                note(
                    f"Corrected rates with {level} intervals, the raw rate beside them, and "
                    "what they rest on: the group's own gold labels, or the judge's error "
                    "rates on other items."
                ),
                scrolled(_sortable(rates, "Corrected rates"), "tall"),
            ),
            differences,
            section(
                "How good is the judge?",
                paragraph(
                    "How often it gives each verdict to items of each true class, with "
                    f"{level} intervals. For two classes these are its sensitivity and its "
                    "specificity."
                ),
                scrolled(_sortable(more_tables[-1], "Verdicts by true class")),
            ),
            section(
                "Which estimator, and why",
                notes_list(
                    [
                        Note(words(group.group) if several else "", _judge_reason(group))
                        for group in groups
                    ]
                ),
                css="calm",
            ),
            warnings_section(warnings),
            section("How it was done", facts("Data and versions", dict(analysis.data_facts))),
        ],
        columns=frame.columns,
        rows=([plain(value) for value in row] for row in frame.iter_rows()),
        content=content,
    )


def _rate_chart(analysis: JudgeAnalysis, k: int, name: str) -> Markup:
    rows = []
    for group in analysis.groups[:_MOST_GROUPS]:
        ends, raw = group.interval(analysis.level), group.verdict_shares
        rows.append(
            Row(
                words(group.group) if len(analysis.groups) > 1 else "all items",
                float(group.shares[k]),
                float(ends.low[k]),
                float(ends.high[k]),
                group.n_items,
                counted=None if raw is None else float(raw[k]),
                counted_name="raw",
            )
        )
    return rows_chart(rows, f"Rate of {name} by group, with intervals", share_axis(rows))


def _judge_sentences(analysis: JudgeAnalysis) -> list[str]:
    """First sentences: the rates, and the difference that is clearest."""
    k = analysis.shown_classes[-1]
    name = words(analysis.classes.tolist()[k])
    first = analysis.groups[0]
    ends = first.interval(analysis.level)
    level = written_level(analysis.level)
    between = f"{level} interval {percent(ends.low[k])} to {percent(ends.high[k])}"
    raw = (
        ""
        if first.verdict_shares is None
        else f" The judge alone counts {percent(first.verdict_shares[k])}."
    )
    if len(analysis.groups) == 1:
        return [
            f"Of {first.n_items:,} items, about {percent(first.shares[k])} are “{name}” "
            f"({between}).{raw}"
        ]
    by_rate = sorted(analysis.groups, key=lambda group: -float(group.shares[k]))
    most, least = by_rate[0], by_rate[-1]
    sentence = (
        f"The corrected rate of “{name}” goes from {percent(least.shares[k])} "
        f"({words(least.group)}) to {percent(most.shares[k])} ({words(most.group)})."
    )
    difference = next(
        pair
        for pair in analysis.differences(analysis.level)
        if {pair.first, pair.second} == {most.group, least.group}
    )
    is_clear = difference.low[k] > 0 or difference.high[k] < 0
    low, high = sorted((abs(difference.low[k]), abs(difference.high[k])))
    comparison = (
        f"Their difference is clear: {100 * low:.1f} to {100 * high:.1f} points."
        if is_clear
        else "Their difference may be chance: its interval contains 0."
    )
    return [sentence, comparison]


def _judge_reason(group: Any) -> str:
    text = str(group.reason)
    if group.agreement is not None:
        text += f" {group.agreement.sentence('the error rates of the judge')}"
    return text


def _sortable(shown: Table, label: str) -> Markup:
    return shown.to_html(css_class="sortable", label=label)
