"""Page of a judge: corrected rates first, then groups, agreement, trust, what to label next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from headcount._support.text import Table, percent
from headcount.report import page as html
from headcount.report.charts import Axis, Row, rows_chart, share_axis
from headcount.report.page import Note, Page
from headcount.tables.pages import MOST_PANELS, plain_notes, written_level
from headcount.tables.roles import MISSING
from headcount.tables.words import plain, words

if TYPE_CHECKING:
    from headcount.tables.judges import JudgeAnalysis

# Groups that a chart shows at most, and disagreements that a page lists.
_MOST_GROUPS, _MOST_SHOWN = 60, 25


def judge_page(analysis: JudgeAnalysis) -> Page:
    """Page of rates that were corrected for the errors of a judge."""
    warnings = plain_notes(analysis.warnings)
    frame = analysis.to_frame(analysis.level)
    content = {"title": analysis.heading, "created": analysis.created}
    content |= analysis.to_dict(analysis.level) | {"data": dict(analysis.data_facts)}
    tables = analysis.named_tables(analysis.level)
    return Page(
        title=analysis.heading,
        eyebrow=[
            f"{sum(group.n_items for group in analysis.groups):,} items",
            f"{sum(group.n_gold for group in analysis.groups):,} with gold labels",
            analysis.created,
        ],
        headline=html.headline(
            "unsure" if warnings else "fits",
            "Read with care" if warnings else "Corrected for its errors",
            _judge_sentences(analysis),
            muted=True,
            links=html.warnings_link(warnings),
        ),
        sections=[
            _rates_section(analysis, tables),
            _comparison(analysis, tables),
            _agreement_section(analysis, tables),
            _trust_section(analysis),
            html.warnings_section(warnings),
            _next_section(analysis),
            html.section(
                "How it was done", html.facts("Data and versions", dict(analysis.data_facts))
            ),
        ],
        columns=frame.columns,
        rows=([plain(value) for value in row] for row in frame.iter_rows()),
        content=content,
    )


def _rates_section(analysis: JudgeAnalysis, tables: dict[str, Table]) -> Markup:
    level = written_level(analysis.level)
    groups, several = analysis.groups[:_MOST_GROUPS], len(analysis.groups) > 1
    n_hidden = len(analysis.groups) - len(groups)
    names = [(k, _class_name(analysis, k)) for k in analysis.shown_classes]
    charts = [(name, _rate_chart(analysis, k, name)) for k, name in names[:MOST_PANELS]]
    what = "mean" if analysis.scale is not None else "rate"
    marks = [("estimate", f"corrected {what}, {level} interval")]
    if any(group.verdict_shares is not None for group in analysis.groups):
        marks.append(("counted", f"raw {what}, as the judge counts"))
    return html.section(
        f"{what.capitalize()}s by group" if several else f"{what.capitalize()}s",
        html.legend(*marks),
        html.panels(charts, wide=len(charts) == 1),
        html.note(f"{n_hidden} more groups are in the table only." if n_hidden else ""),
        html.note(
            f"Corrected {what}s with {level} intervals, the raw {what} beside them, and what "
            "they rest on: the group's own gold labels, or the judge's error rates on other "
            "items."
        ),
        html.scrolled(_sortable(tables["rates"], f"Corrected {what}s"), "tall"),
    )


def _comparison(analysis: JudgeAnalysis, tables: dict[str, Table]) -> Markup:
    if len(analysis.groups) < 2:
        return Markup("")
    level = written_level(analysis.level)
    blocks = [
        html.note(
            f"With a probability of {level}, all differences lie in their intervals at once. "
            "An interval that contains 0 does not tell two groups apart."
        )
    ]
    if "ranks" in tables:
        blocks.append(
            html.scrolled(_sortable(tables["ranks"], "Ranks, with the ranks possible"))
        )
    if "differences" in tables:
        blocks.append(html.scrolled(_sortable(tables["differences"], "Differences"), "tall"))
    return html.section("Differences between groups", *blocks)


# Tables on the quality of a judge: name, heading, and how to read it.
_QUALITY = (
    (
        "agreement",
        "Agreement with gold labels",
        "Agreement with the gold labels, with {level} intervals. Kappa, AC1 and alpha are 0 "
        "for agreement by chance, and 1 for full agreement; kappa is low if nearly all items "
        "are of one class, AC1 is not.",
    ),
    (
        "verdicts",
        "Verdicts by true class",
        "How often it gives each verdict to items of each true class. For two classes these "
        "are its sensitivity and its specificity.",
    ),
    (
        "judges",
        "What each judge adds",
        "What each judge adds: the length of the interval for all items. A judge without which "
        "the interval stays as short can be left out.",
    ),
    (
        "bias",
        "Bias of the judge",
        "Whether verdicts depend on other columns among items of the same true class. P-values "
        "are corrected for the number of columns.",
    ),
)


def _agreement_section(analysis: JudgeAnalysis, tables: dict[str, Table]) -> Markup:
    level = written_level(analysis.level)
    blocks = []
    for name, label, text in _QUALITY:
        if name in tables:
            blocks += [
                html.paragraph(text.format(level=level)),
                html.scrolled(_sortable(tables[name], label)),
            ]
    if len(analysis.disagreements):
        first = analysis.disagreements.head(_MOST_SHOWN)
        rows = [[words(plain(value)) for value in row] for row in first.iter_rows()]
        listed = Table.of(first.columns, rows, [True] + [False] * (len(first.columns) - 1))
        title = f"Items on which judge and gold disagree: the first {len(first)}"
        blocks.append(
            html.folded(title, html.scrolled(_sortable(listed, "Disagreements"), "tall"))
        )
    return html.section("How good is the judge?", *blocks) if blocks else Markup("")


def _trust_section(analysis: JudgeAnalysis) -> Markup:
    notes = [Note("", sentence) for sentence in (*analysis.reasons(), *analysis.slice_notes())]
    notes += [
        Note("", group.agreement.sentence("the error rates of the judge"))
        for group in analysis.groups[:_MOST_GROUPS]
        if group.agreement is not None
    ]
    return html.section("What to trust", html.notes_list(notes), css="calm")


def _next_section(analysis: JudgeAnalysis) -> Markup:
    """Table of the verdicts whose items to label next."""
    next_labels = analysis.next_labels
    if not next_labels:
        return Markup("")
    several = len(analysis.groups) > 1
    rows = [
        [
            *([words(line.group)] if several else []),
            words(line.verdict),
            f"{line.unlabelled:,}",
            f"{line.labels:,}",
        ]
        for line in next_labels[:_MOST_SHOWN]
    ]
    columns = [*(["group"] if several else []), "verdict", "items without gold", "label next"]
    numeric = [False] * (len(columns) - 2) + [True] * 2
    total = sum(line.labels for line in next_labels)
    return html.section(
        "What to label next",
        html.paragraph(
            f"{total} more labels shorten the intervals most if they are drawn at random from "
            "the items with these verdicts."
        ),
        html.scrolled(
            _sortable(Table.of(columns, rows, numeric), "What to label next"), "tall"
        ),
    )


def _class_name(analysis: JudgeAnalysis, k: int) -> str:
    return "mean" if analysis.scale is not None else words(analysis.classes.tolist()[k])


def _rate_chart(analysis: JudgeAnalysis, k: int, name: str) -> Markup:
    rows, is_mean = [], analysis.scale is not None
    for group in analysis.groups[:_MOST_GROUPS]:
        ends, raw = group.interval(analysis.level), group.verdict_shares
        shares = group.shares[k], ends.low[k], ends.high[k]
        share, low, high = (float(analysis.in_units(value)) for value in shares)
        rows.append(
            Row(
                words(group.group) if len(analysis.groups) > 1 else "all items",
                share,
                low,
                high,
                group.n_items,
                counted=None if raw is None else float(analysis.in_units(raw[k])),
                counted_name="raw",
                text=(lambda value: f"{value:.4g}") if is_mean else percent,
            )
        )
    values = [value for row in rows for value in row.values]
    axis = Axis.around(values) if is_mean else share_axis(rows)
    what = "Mean" if is_mean else f"Rate of {name}"
    return rows_chart(rows, f"{what} by group, with intervals", axis)


def _judge_sentences(analysis: JudgeAnalysis) -> list[str]:
    """First sentences: the rate, or the highest and lowest, and whether they differ."""
    k = analysis.main_class
    is_mean = analysis.scale is not None
    name = words(analysis.classes.tolist()[k])
    if len(analysis.groups) == 1:
        [group] = analysis.groups
        ends, raw = group.interval(analysis.level), group.verdict_shares
        share, low, high = map(analysis.written, (group.shares[k], ends.low[k], ends.high[k]))
        what = f"the mean is about {share}" if is_mean else f"about {share} are “{name}”"
        counted = "" if raw is None else f" The judge alone gives {analysis.written(raw[k])}."
        return [
            f"Of {group.n_items:,} items, {what} ({written_level(analysis.level)} interval "
            f"{low} to {high}).{counted}"
        ]
    # Groups without labels of their own, or without a name, are the least certain.
    named = [group for group in analysis.groups if group.group != MISSING]
    labelled = [group for group in named if group.by_labels is not None]
    groups = next(several for several in (labelled, named, analysis.groups) if len(several) > 1)
    by_rate = sorted(groups, key=lambda group: -float(group.shares[k]))
    most, least = by_rate[0], by_rate[-1]
    difference = next(
        pair
        for pair in analysis.differences(analysis.level)
        if {pair.first, pair.second} == {most.group, least.group}
    )
    low, high = (
        f"{abs(end) * (analysis.width if is_mean else 100):.3g}"
        for end in sorted((difference.low[k], difference.high[k]), key=abs)
    )
    is_clear = difference.low[k] > 0 or difference.high[k] < 0
    return [
        f"The corrected {'mean' if is_mean else f'rate of “{name}”'} goes from "
        f"{analysis.written(least.shares[k])} ({words(least.group)}) to "
        f"{analysis.written(most.shares[k])} ({words(most.group)}).",
        f"Their difference is clear: {low} to {high}{'' if is_mean else ' points'}."
        if is_clear
        else "Their difference may be chance: its interval contains 0.",
    ]


def _sortable(shown: Table, label: str) -> Markup:
    return shown.to_html(css_class="sortable", label=label)
