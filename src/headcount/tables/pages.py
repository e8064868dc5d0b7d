"""Pages of results: what `report` writes, section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from headcount._support.text import Table, chance, first_of, percent
from headcount.estimates.assumption import BROKEN_LEVEL, UNLIKE
from headcount.estimates.history import MEANINGS, HistoryEstimate
from headcount.report import page as html
from headcount.report.charts import (
    Row,
    group_chart,
    histogram_chart,
    is_wide,
    rows_chart,
    share_axis,
)
from headcount.report.page import Note, Page, PageColumn
from headcount.tables.words import compared_with_truth, words

if TYPE_CHECKING:
    from headcount.tables.analysis import Analysis, Slice
    from headcount.tables.tags import TagAnalysis

ADVICE = (
    "Label a random sample of the new items: headcount label draws it, and headcount estimate "
    "--labelled uses it. That is right whatever has changed: 100 labels give a share or an "
    "accuracy to within 10 percentage points, 400 to within 5.",
    "Or train on labelled items that are more like the new ones: the same source, the same "
    "period.",
    "Or leave out columns whose meaning has changed since then, such as prices or codes.",
)
"""Sentences on what to do if the new items do not look like the labelled ones."""

QUESTION = "Do the new items look like the labelled ones?"
REST = "What do the shares rest on?"
RESTS = ("labels", "history")
# Beyond these a page would be too large to read or to send; downloads have all of it.
MOST_PANELS, MOST_ROWS, _MOST_NAMED = 12, 2000, 12
# Classes above which they are sorted by size, and those that then stay in view.
MANY_CLASSES, _LARGEST = 12, 10
# Classes whose shares are shown under each reading of the data.
_MOST_READ = 4
# Groups that a note names, and a number in a note.
_NAMED, _NUMBER = 3, re.compile(r"\d[\d.,e-]*")
# Difference between counting and an estimate that is worth a sentence.
_CLOSE = 0.01


# Words that several pages use.


def answer(
    overall: tuple[float | None, bool], groups: Sequence[tuple[float | None, bool]], what: str
) -> str:
    """Answer whether new items look like labelled ones, by p-values and flags."""
    p_value, is_broken = overall
    n_tested = sum(p is not None for p, _ in groups)
    n_broken = sum(broken for _, broken in groups)
    if p_value is None:
        return "Not tested: read with care"
    if is_broken:
        return f"No: do not rely on {what}"
    if n_broken:
        verb = "does" if n_broken == 1 else "do"
        return f"Together yes, but {n_broken} of {n_tested} groups {verb} not"
    return "Yes: no sign that more than the mix has changed"


def about_counting(analysis: Analysis) -> str:
    """Comparison of the estimates with classify and count; empty without a classifier."""
    slices = [
        item
        for item in analysis.groups or (analysis.overall,)
        if item.classify_and_count is not None
    ]
    if not slices:
        return ""
    counted = np.array([item.classify_and_count for item in slices])
    shares = np.array([item.estimate.shares for item in slices])
    apart = np.abs(counted - shares)
    of_groups = " on average" if analysis.groups else ""
    start = "Classify and count, which counts what the classifier predicts,"
    if apart.mean() < _CLOSE:
        return (
            f"{start} gives nearly the same ({100 * apart.mean():.1f} points apart{of_groups})."
        )
    # Between training and the estimate: it moves in the same direction, but not far enough.
    before = analysis.training
    lags = (np.minimum(before, shares) <= counted) & (counted <= np.maximum(before, shares))
    lags &= apart >= _CLOSE
    sentence = f"{start} is {100 * apart.mean():.1f} points away from the estimates{of_groups}."
    n_lagging, n_apart = int(lags.sum()), int((apart >= _CLOSE).sum())
    if n_lagging > n_apart / 2:
        where = f" in {n_lagging:,} of the {n_apart:,} cases where they differ"
        sentence += (
            f" It stays nearer to the shares in training{where if n_apart > 2 else ''}, which "
            "is its bias when the mix changes."
        )
    if analysis.overall.is_broken and analysis.overall.truth is None:
        sentence += " Which of the two is nearer to the truth cannot be said here."
    return sentence


def grouped_notes(texts_of: Iterable[tuple[Any, Sequence[str]]], n_all: int) -> list[Note]:
    """Each warning once, whatever its numbers, with its groups; not those on the assumption."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, texts in texts_of:
        for text in texts:
            if not text.startswith(UNLIKE):
                alike.setdefault(_NUMBER.sub("#", text), []).append((words(name), text))
    return [_joint_note(named, n_all) for named in alike.values()]


def _joint_note(named: list[tuple[str, str]], n_all: int) -> Note:
    names, texts = [name for name, _ in named], [text for _, text in named]
    about = "everything" if len(names) >= n_all else first_of(names, _NAMED)
    varies = len(set(texts)) > 1
    return Note(about, f"{texts[0]} (This is about {names[0]}.)" if varies else texts[0])


def plain_notes(texts: Iterable[str]) -> list[Note]:
    """Notes that are about no group."""
    return [Note("", text) for text in texts]


def written_level(level: float) -> str:
    """Level of intervals in percent."""
    return f"{100 * level:.6g}%"


def short_p(p_value: float | None) -> str:
    """p-value for a cell of a table."""
    if p_value is None:
        return ""
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.2g}"


# Page of shares.


def share_page(analysis: Analysis) -> Page:
    """Page of the shares of classes, and of groups."""
    overall, status = analysis.overall, analysis.verdict.status
    is_labelled = overall.labelled is not None
    classes = _shown_classes(analysis)
    warnings = _share_warnings(analysis)
    counts = overall.classify_and_count is not None
    doubtful = bool(analysis.broken_groups) or overall.is_broken
    links = {"advice": "What to do"} if doubtful else {}
    return Page(
        title=analysis.title,
        eyebrow=[
            analysis.method.name, f"{overall.estimate.n_items:,} items", analysis.created,
        ],
        headline=html.headline(
            status,
            _share_answer(analysis),
            analysis.verdict.sentences,
            question=QUESTION if overall.estimate.basis not in RESTS else REST,
            muted=status == "broken",
            links=links | html.warnings_link(warnings),
        ),
        sections=[
            html.advice(ADVICE) if doubtful else Markup(""),
            _shares_section(analysis),
            _groups_section(analysis, classes),
            _before_section(analysis, classes) if is_labelled else Markup(""),
            _readings_section(analysis, classes),
            _likeness_section(analysis, classes),
            _changes_section(analysis),
            html.warnings_section(warnings),
            html.notes_section(plain_notes(analysis.notes)),
            html.section(
                "How it was done",
                html.paragraph(analysis.method.why),
                html.pair(
                    html.facts("Method", _method_facts(analysis)),
                    html.facts("Data and versions", _data_facts(analysis)),
                ),
            ),
        ],
        columns=analysis.table_columns,
        rows=analysis.rows(),
        content=analysis.to_dict(),
        counts=counts,
    )  # fmt: skip


def _share_answer(analysis: Analysis) -> str:
    if analysis.overall.labelled is not None:
        return f"{analysis.overall.labelled.n_labels:,} labels of the new items"
    if isinstance(analysis.overall.estimate, HistoryEstimate) and analysis.history:
        n_groups = analysis.overall.estimate.n_groups
        return f"What held in {n_groups} labelled group{'' if n_groups == 1 else 's'}"
    if analysis.method.shift != "prior":
        return "Read with care"
    overall, *groups = (
        (item.p_value, item.is_broken) for item in (analysis.overall, *analysis.groups)
    )
    return answer(overall, groups, "the shares")


def _by_size(analysis: Analysis) -> list[int]:
    return np.argsort(-analysis.overall.estimate.shares, kind="stable").tolist()


def _split_classes(analysis: Analysis) -> tuple[list[int], list[int]]:
    """Classes in view, and those that are folded: the second of two; the largest of many."""
    K = len(analysis.classes)
    if K <= MANY_CLASSES:
        return ([1] if K == 2 else list(range(K))), []
    order = _by_size(analysis)
    return order[:_LARGEST], order[_LARGEST:]


def _shown_classes(analysis: Analysis) -> list[int]:
    """Classes that have panels: one of two, or the largest."""
    return [1] if len(analysis.classes) == 2 else sorted(_by_size(analysis)[:MOST_PANELS])


def _share_row(analysis: Analysis, item: Slice, j: int, label: Any) -> Row:
    counted, truth, training = item.classify_and_count, item.truth, float(analysis.training[j])
    if item.in_labelled is not None:
        training = float(item.in_labelled[j])
    return Row(
        words(label),
        float(item.estimate.shares[j]),
        float(item.low[j]),
        float(item.high[j]),
        item.estimate.n_items,
        training if np.isfinite(training) else None,
        None if counted is None else float(counted[j]),
        None if truth is None else float(truth[j]),
        item.is_broken,
    )


def _class_rows(analysis: Analysis, classes: Sequence[int]) -> list[Row]:
    """One row per class, for all items."""
    return [_share_row(analysis, analysis.overall, j, analysis.classes[j]) for j in classes]


def _group_rows(analysis: Analysis, j: int) -> list[Row]:
    """One row per group, for class j."""
    return [_share_row(analysis, item, j, item.name) for item in analysis.groups]


def _number_columns(analysis: Analysis, *, labelled: bool = False) -> list[PageColumn]:
    columns = [PageColumn("Share"), PageColumn("From"), PageColumn("To"), PageColumn("Count")]
    if analysis.overall.classify_and_count is not None:
        columns.append(PageColumn("Classify and count", "cc-cell"))
    columns += [PageColumn("Labelled")] * labelled
    return columns + [PageColumn("Truth")] * (analysis.overall.truth is not None)


def _numbers(item: Slice, j: int, *, labelled: bool = False) -> list[str]:
    """Cells of `_number_columns`."""
    form = "{:,}" if item.estimate.estimand == "realised" else "{:,.1f}"
    cells = [percent(value) for value in (item.estimate.shares[j], item.low[j], item.high[j])]
    cells.append(form.format(item.count[j]))
    if item.classify_and_count is not None:
        cells.append(percent(item.classify_and_count[j]))
    if labelled:
        cells.append("" if item.in_labelled is None else percent(item.in_labelled[j]))
    return cells + ([] if item.truth is None else [percent(item.truth[j])])


def _shares_section(analysis: Analysis) -> Markup:
    """Shares of the classes among all items."""
    overall, is_broken = analysis.overall, analysis.verdict.status == "broken"
    shares, level = overall.estimate.shares, written_level(analysis.level)
    classes, tail = _split_classes(analysis)
    where = "among" if overall.estimate.estimand == "realised" else "behind"
    caption = f"Shares {where} all {overall.estimate.n_items:,} items, with {level} intervals"
    of_first_class = Markup("")
    if len(analysis.classes) == 2:
        first = words(analysis.classes[0])
        of_first_class = html.note(f"The rest, {percent(shares[0])}, are “{first}”.")
    folded_classes = Markup("")
    if tail:
        folded_classes = html.folded(
            f"{len(tail)} more classes, {percent(float(shares[tail].sum()))} together",
            _class_table(
                analysis, "more-shares", tail, "The other classes, on an axis of their own"
            ),
        )
    return html.section(
        "Shares, if only the mix had changed" if is_broken else "Shares",
        html.estimate_legend(
            level,
            training=True,
            counted=overall.classify_and_count is not None,
            truth=overall.truth is not None,
            flagged=overall.is_broken,
        ),
        _class_table(analysis, "shares", classes, caption),
        of_first_class,
        folded_classes,
        Markup("") if analysis.groups else html.note(about_counting(analysis), "cc-cell"),
        css="muted" if is_broken else "",
    )


def _class_table(analysis: Analysis, name: str, classes: Sequence[int], caption: str) -> Markup:
    """Chart and table of classes, beside each other."""
    rows = _class_rows(analysis, classes)
    chart = rows_chart(rows, "Share of each class, with its interval", share_axis(rows))
    columns = [
        PageColumn("Class", names=True), *_number_columns(analysis), PageColumn("Training"),
    ]  # fmt: skip
    cells = [
        [
            words(analysis.classes[j]),
            *_numbers(analysis.overall, j),
            percent(analysis.training[j]),
        ]
        for j in classes
    ]
    described = html.element(
        "div",
        html.note(caption, name=f"{name}-caption"),
        html.scrolled(html.table(columns, cells, name=name)),
    )
    return html.pair(html.figure(chart), described, css="pair uneven")


def _groups_section(analysis: Analysis, shown: list[int]) -> Markup:
    """Charts and table of the groups; nothing without groups."""
    if not analysis.groups:
        return Markup("")
    overall, level = analysis.overall, written_level(analysis.level)
    is_binary, flagged = len(analysis.classes) == 2, bool(analysis.broken_groups)
    charts = []
    for j in shown:
        name, rows = words(analysis.classes[j]), _group_rows(analysis, j)
        label = f"Share of {name} by group, with intervals"
        chart = group_chart(
            rows, label, share_axis(rows), ordered=analysis.ordered, n_panels=len(shown)
        )
        charts.append((name, chart))
    columns = [PageColumn("Group", "words", names=True)]
    columns += [PageColumn("Class", "words", names=True)] * (not is_binary)
    labelled = any(item.in_labelled is not None for item in analysis.groups)
    numbers = _number_columns(analysis, labelled=labelled)
    columns += [*numbers, PageColumn("Items"), PageColumn("p")]
    rows_of = [(item, j) for item in analysis.groups for j in shown]
    cells = [
        [
            words(item.name),
            *([words(analysis.classes[j])] * (not is_binary)),
            *_numbers(item, j, labelled=labelled),
            f"{item.estimate.n_items:,}",
            short_p(item.p_value),
        ]
        for item, j in rows_of[:MOST_ROWS]
    ]
    return html.section(
        "Over time" if analysis.ordered else "By group",
        html.note(about_counting(analysis), "cc-cell"),
        html.estimate_legend(
            level,
            line=analysis.ordered,
            training=True,
            counted=overall.classify_and_count is not None,
            truth=overall.truth is not None,
            flagged=flagged,
        ),
        html.panels(charts, wide=is_wide(len(shown), len(analysis.groups)), scrolls=True),
        html.paragraph(compared_with_truth(analysis)),
        *groups_table(
            _groups_caption(analysis, level),
            columns,
            cells,
            [item.is_broken for item, _ in rows_of],
        ),
    )


def groups_table(
    caption: str,
    columns: list[PageColumn],
    rows: Sequence[Sequence[str]],
    is_broken: Sequence[bool],
) -> list[Markup]:
    """Caption, the first rows of groups with flags if any is broken, a note on the others."""
    flagged = any(is_broken)
    cells = [
        [*([html.flag(broken)] * flagged), *row]
        for row, broken in zip(rows, is_broken, strict=False)
    ]
    shown = html.table(
        [html.FLAG] * flagged + columns,
        cells,
        name="groups",
        css="sortable flagged" if flagged else "sortable",
        muted=is_broken,
    )
    hidden = html.hidden_rows(len(is_broken) - len(rows))
    return [html.note(caption, name="groups-caption"), html.scrolled(shown, "tall"), hidden]


def p_values_explained(below: str) -> str:
    """What the p-values of groups mean, and what to do below the level of the test."""
    return (
        " p: the chance of items at least so unlike the labelled ones if only the mix has "
        f"changed. Below {BROKEN_LEVEL}, {below}."
    )


def _groups_caption(analysis: Analysis, level: str) -> str:
    n_groups = len(analysis.groups)
    caption = f"{n_groups} group{'' if n_groups == 1 else 's'}"
    if len(analysis.classes) == 2:
        caption += f", share of “{words(analysis.classes[1])}”"
    caption += f", with {level} intervals."
    if _n_tested(analysis):
        labels = analysis.overall.labelled is not None
        unreliable = "do not rely on the share"
        if analysis.overall.estimate.basis == "history":
            unreliable = "more has changed; the intervals contain such drift"
        caption += p_values_explained("the labels are needed" if labels else unreliable)
    n_hidden = len(analysis.classes) - MOST_PANELS
    if n_hidden > 0:
        caption += f" The {n_hidden} smallest classes are in the downloads."
    return caption


def _n_tested(analysis: Analysis) -> int:
    return sum(item.p_value is not None for item in analysis.groups)


def _before_section(analysis: Analysis, shown: list[int]) -> Markup:
    """Shares without and with labels of the new items, on one axis."""
    charts: list[tuple[str, str]] = []
    for j in shown:
        after = _group_rows(analysis, j) if analysis.groups else _class_rows(analysis, [j])
        before = _rows_without_labels(analysis, j)
        axis, name = share_axis([*before, *after]), words(analysis.classes[j])
        for rows, what in ((before, "without"), (after, "with")):
            label = f"Share of {name} {what} labels"
            chart = group_chart(rows, label, axis, ordered=analysis.ordered)
            charts.append((f"{name}: {what} labels", chart))
    return html.section(
        "Before and after the labels",
        html.paragraph(
            "Without labels the shares rest on the assumption that only the mix has changed. "
            "The labels need no such assumption: they correct the shares whatever has changed. "
            "The classifier only makes their intervals shorter."
        ),
        html.panels(charts, wide=True, scrolls=True),
        html.note(
            "Agreement: the chance of labels at least so unlike the estimate without them, if "
            "only the mix has changed."
        ),
        html.scrolled(_before_table(analysis, shown), "tall"),
        name="before",
    )


def _rows_without_labels(analysis: Analysis, j: int) -> list[Row]:
    """One row per group for class j, as estimated without labels of the items."""
    rows = []
    for item in analysis.groups or (analysis.overall,):
        assert item.labelled is not None
        estimate = item.labelled.under_shift
        ends = estimate.interval(analysis.level)
        without = replace(item, estimate=estimate, low=ends.low, high=ends.high)
        label = item.name if analysis.groups else analysis.classes[j]
        rows.append(_share_row(analysis, without, j, label))
    return rows


def _before_table(analysis: Analysis, shown: list[int]) -> Markup:
    rows = []
    for item in (analysis.overall, *analysis.groups)[:MOST_ROWS]:
        if item.labelled is None:
            return Markup("")
        ends = item.labelled.under_shift.interval(analysis.level)
        for j in shown:
            before, after = item.labelled.under_shift.shares[j], item.estimate.shares[j]
            numbers = [before, ends.low[j], ends.high[j], after, item.low[j], item.high[j]]
            texts = [words(item.name), words(analysis.classes[j]), *map(percent, numbers)]
            if item.truth is not None:
                texts.append(percent(item.truth[j]))
            agreement = (
                chance(item.labelled.agreement.p_value).removeprefix("p ").removeprefix("= ")
            )
            texts += [f"{item.labelled.n_labels:,}", agreement]
            rows.append(texts)
    head = ["group", "class", "without", "from", "to", "with", "from", "to"]
    head += ["truth"] * (analysis.overall.truth is not None) + ["labels", "agreement"]
    compared = Table.of(head, rows, [False] * 2 + [True] * (len(head) - 2))
    return compared.to_html(label="Shares without and with labels")


def _readings_section(analysis: Analysis, shown: list[int]) -> Markup:
    """Shares under each reading of the data; nothing for other estimates."""
    estimate = analysis.overall.estimate
    if not isinstance(estimate, HistoryEstimate):
        return Markup("")
    classes = [analysis.classes[j] for j in shown[:_MOST_READ]]
    columns = [PageColumn("Reading", "words", names=True), PageColumn("Right if", "words")]
    columns += [PageColumn(words(label)) for label in classes] + [PageColumn("Weight")]
    by_weight = sorted(estimate.weights, key=estimate.weights.__getitem__, reverse=True)
    cells = [
        [
            name,
            MEANINGS[name],
            *(percent(float(estimate.readings[name][j])) for j in shown[:_MOST_READ]),
            f"{estimate.weights[name]:.0%}",
        ]
        for name in by_weight
        if estimate.weights[name] > 0
    ]
    about = analysis.history or (
        "The labelled table has no months or groups that show which reading holds. The weights "
        "are those that held on many real datasets."
    )
    return html.section(
        "Readings of the data",
        html.paragraph(about),
        html.scrolled(html.table(columns, cells, name="readings")),
        html.note(
            "The share of all items under each reading, and its weight. The estimate is their "
            "mean, and the intervals contain the drift of each."
        ),
    )


def _changes_section(analysis: Analysis) -> Markup:
    """Columns that changed beyond the mix; nothing if they were not compared."""
    changes = analysis.changes
    if changes is None:
        return Markup("")
    return html.section(
        "What changed",
        html.paragraph(changes.sentence),
        html.scrolled(changes.to_table().to_html(label="Columns that changed")),
        html.note(
            "Each column is compared with what the other columns and a change of the mix "
            "explain. Items moved: the part of the items that would have to be different."
        ),
    )


def _likeness_section(analysis: Analysis, shown: list[int]) -> Markup:
    """Assumption of the estimates, whether it holds, and the scores that show it."""
    method, overall = analysis.method, analysis.overall
    if method.shift == "prior":
        starts = {"labels": "Without labels the", "history": "The prior-shift"}
        start = starts.get(overall.estimate.basis, "The")
        assumption = (
            f"{start} shares are valid if only the mix has changed since the items were "
            "labelled: the items of each class look as they did then. If so, the classifier is "
            "as often sure or unsure about the new items as it was about labelled items in the "
            "estimated shares."
        )
    elif method.shift == "covariate":
        assumption = (
            f"{method.name} is right if the classifier's scores are still right for the new "
            "items. Unlabelled items cannot show whether they are."
        )
    else:
        assumption = (
            f"{method.name} does not correct for any change since training. Its shares are "
            "biased as soon as the mix has changed."
        )
    return html.section(
        QUESTION,
        html.paragraph(assumption),
        html.facts("", _likeness_facts(analysis)),
        *_histogram_blocks(analysis, shown),
        html.folded("How this was tested", *_test_paragraphs(analysis)),
    )


def _likeness_facts(analysis: Analysis) -> dict[str, Any]:
    overall = analysis.overall
    if overall.p_value is None:
        result: str = "This was not tested."
    elif overall.is_unlike:
        result = Markup(
            "They do <strong>not</strong> look like the labelled ones, whatever the mix."
        )
    else:
        result = "They look like the labelled ones, apart from the mix."
    values = {"All items": result}
    n_tested = _n_tested(analysis)
    if n_tested:
        unlike = [words(item.name) for item in analysis.groups if item.is_unlike]
        text = (
            f"{len(unlike)} of {n_tested} do not; by chance alone "
            f"{BROKEN_LEVEL * n_tested:.2g} would not."
        )
        if unlike:
            more = " and more" if len(unlike) > _MOST_NAMED else ""
            text += f" These are {', '.join(unlike[:_MOST_NAMED])}{more}."
        values["Groups"] = text
    return values


def _histogram_blocks(analysis: Analysis, shown: list[int]) -> list[Markup]:
    """Distribution of the scores, in the sample and as the labelled items give it."""
    if not analysis.histograms:
        has_classifier = analysis.overall.classify_and_count is not None
        reason = "keeps none" if has_classifier else "does not use a classifier's scores"
        return [
            html.note(
                "There are no scores of labelled items to draw: "
                f"{analysis.method.name} {reason}."
            )
        ]
    n_items = analysis.overall.estimate.n_items
    charts = []
    for j in shown:
        name, scores = words(analysis.classes[j]), analysis.histograms[j]
        expected = scores.share * scores.training
        chart = histogram_chart(
            words(scores.label), scores.edges, expected, scores.sample, scores.mixture, n_items
        )
        caption = (
            f"How sure the classifier is of “{name}”: from 0, certainly not, to 1, certainly"
        )
        charts.append((caption, chart))
    block = html.panels(charts, wide=len(charts) == 1)
    if len(charts) > 4:
        block = html.folded(f"The charts of {len(charts)} classes", block)
    return [
        html.legend(
            ("sample", "the new items"),
            ("band", "what labelled items in these shares give, with the noise to expect"),
            ("own", "of that, the class itself"),
        ),
        block,
        html.note(
            "Where grey lies outside the band, the new items are unlike the labelled ones."
        ),
    ]


def _test_paragraphs(analysis: Analysis) -> list[Markup]:
    overall, text = analysis.overall, ""
    if analysis.method.shift == "prior":
        text += (
            f"{analysis.method.name} assumes prior shift: only the shares of the classes "
            "change, not the distribution of the items within a class. Any sample is then a "
            "mixture of the training classes. "
        )
    test = overall.estimate.fit_test
    if overall.p_value is None or test is None:
        text += "There was no test of it."
    else:
        text += (
            "The test compares the distribution of the posteriors with that of the nearest "
            f"mixture. For all items {chance(overall.p_value)} (statistic "
            f"{test.statistic:.4g}, {test.df} degrees of freedom). Below {BROKEN_LEVEL} an "
            "estimate without labels is not to be relied on."
        )
    broken = analysis.broken_groups[:_MOST_NAMED]
    if broken:
        named = ", ".join(f"{words(item.name)} ({chance(item.p_value)})" for item in broken)
        text += f" Groups below: {named}."
    of_charts = (
        "The charts show the part of the items by posterior, on a square-root scale; the line "
        "is the mixture of the training classes in the estimated shares."
    )
    return [html.paragraph(text), html.paragraph(of_charts if analysis.histograms else "")]


def _share_warnings(analysis: Analysis) -> list[Note]:
    slices = (analysis.overall, *analysis.groups)
    about_slices = ((item.name, item.estimate.warnings) for item in slices)
    return [*plain_notes(analysis.warnings), *grouped_notes(about_slices, len(slices))]


def _method_facts(analysis: Analysis) -> dict[str, str | Markup]:
    method = analysis.method
    values: dict[str, str | Markup] = {"name": f"{method.name}: {method.title}"}
    values |= {
        name: Markup("<code>{}</code>").format(value) for name, value in method.settings.items()
    }
    return values | ({"reference": method.reference} if method.reference else {})


def _data_facts(analysis: Analysis) -> dict[str, str]:
    n = analysis.n_training
    training = {} if n is None else {"training items": f"{n:,}"}
    return {**analysis.data_facts, **training, **analysis.versions}


# Page of tags.


def tag_page(analysis: TagAnalysis) -> Page:
    """Page of the shares of tags."""
    first, level = analysis.first, written_level(analysis.first.level)
    rows = [
        replace(_class_rows(shares, [1])[0], label=tag)
        for tag, shares in analysis.analyses.items()
    ]
    warnings, reliable = plain_notes(analysis.warnings), analysis.is_reliable
    marks: dict[str, Any] = {
        "training": True,
        "counted": True,
        "truth": first.overall.truth is not None,
        "flagged": not reliable,
    }
    return Page(
        title=analysis.title,
        eyebrow=[
            f"{first.overall.estimate.n_items:,} items",
            f"{len(analysis.analyses)} tags",
            first.created,
        ],
        headline=html.headline(
            "fits" if reliable else "unsure",
            "Shares of tags" if reliable else "Read with care",
            [analysis.summary],
            links=html.warnings_link(warnings),
        ),
        sections=[
            html.section(
                "Shares of the tags",
                html.estimate_legend(level, **marks),
                html.figure(
                    rows_chart(rows, "Share of each tag, with its interval", share_axis(rows))
                ),
                html.note(
                    "An item may have several tags or none, so the shares need not sum to "
                    "100%. Each interval holds for its tag alone."
                ),
            ),
            _tag_groups_section(
                analysis, html.estimate_legend(level, line=first.ordered, **marks)
            ),
            _numbers_of_tags(analysis.to_table()),
            html.warnings_section(warnings),
            html.section(
                "How it was done",
                html.paragraph(f"{first.method.name}: {first.method.title}, for each tag."),
                html.notes_list(plain_notes(analysis.notes)) if analysis.notes else Markup(""),
                html.facts("Data and versions", {**first.data_facts, **first.versions}),
            ),
        ],
        columns=analysis.table_columns,
        rows=analysis.rows(),
        content=analysis.to_dict(),
    )


def _numbers_of_tags(table: Table) -> Markup:
    """The first rows of a table, and a note on the others."""
    first = replace(table, rows=table.rows[:MOST_ROWS])
    return html.section(
        "All numbers",
        html.scrolled(first.to_html(css_class="sortable", label="Shares of tags"), "tall"),
        html.hidden_rows(len(table.rows) - MOST_ROWS),
    )


def _tag_groups_section(analysis: TagAnalysis, legend_block: Markup) -> Markup:
    """Charts of the largest tags over the groups; nothing without groups."""
    first = analysis.first
    if not first.groups:
        return Markup("")
    by_size = sorted(
        analysis.analyses,
        key=lambda tag: -float(analysis.analyses[tag].overall.estimate.shares[1]),
    )
    tags = by_size[:MOST_PANELS]
    charts = []
    for tag in tags:
        rows = _group_rows(analysis.analyses[tag], 1)
        label = f"Share of {tag} by group, with intervals"
        chart = group_chart(
            rows, label, share_axis(rows), ordered=first.ordered, n_panels=len(tags)
        )
        charts.append((tag, chart))
    n_hidden = len(by_size) - len(tags)
    return html.section(
        "Over time" if first.ordered else "By group",
        legend_block,
        html.panels(charts, wide=is_wide(len(tags), len(first.groups)), scrolls=True),
        html.note(f"The {n_hidden} rarest tags are in the table only." if n_hidden else ""),
    )
