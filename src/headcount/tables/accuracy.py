"""From two tables of scores to the accuracy of a model: ``headcount accuracy``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from headcount._support.arrays import Array
from headcount._support.execution import versions
from headcount._support.files import did_you_mean
from headcount._support.parameters import check_choice
from headcount._support.text import Table, chance, first_of, html_result, printable
from headcount.accuracy.base import Predictor, predictors
from headcount.accuracy.estimates import AccuracyEstimate, HistoryAccuracy
from headcount.accuracy.fitted import FittedPredictor
from headcount.accuracy.history import usual_accuracy
from headcount.accuracy.metrics import METRIC_NAMES, realised
from headcount.errors import HeadcountError
from headcount.estimates.assumption import BROKEN_LEVEL, p_value_of
from headcount.estimates.backtest import TooFewGroupsError
from headcount.estimates.estimates import Estimates
from headcount.estimates.history import POSTERIORS, PRIOR_SHIFT
from headcount.items.arrays import Scored, Verdicts
from headcount.quantifiers.adjusted import ACC
from headcount.report import page as html
from headcount.report.charts import Axis, Row, group_chart, rows_chart
from headcount.report.page import Page, PageColumn
from headcount.tables.analysis import Result, clear_groups
from headcount.tables.backtests import find_groups, no_groups, without_history
from headcount.tables.pages import (
    ADVICE,
    MANY_CLASSES,
    MOST_ROWS,
    QUESTION,
    answer,
    grouped_notes,
    groups_table,
    p_values_explained,
    plain_notes,
    short_p,
    written_level,
)
from headcount.tables.readers import TableFile
from headcount.tables.roles import (
    Groups,
    LabelledItems,
    Options,
    ScoreColumns,
    find_score_columns,
    has_score_columns,
    match_labels,
    read_labelled,
    read_true_labels,
)
from headcount.tables.words import MARK, plain, printed_groups, range_of_groups, words


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyAnalysis(Result):
    """Accuracy of a model on a table and its groups; prints as a table.

    The first of ``estimates``, with the name None, is that of all items. ``broken`` are the
    names of those that are not to be relied on, ``truths`` the realised values by group, if
    they are known, and ``before`` is that of the reference.
    """

    estimates: Estimates[AccuracyEstimate]
    broken: frozenset[Hashable]
    truths: Mapping[Hashable, float]
    notes: tuple[str, ...]
    ordered: bool = False
    before: float | None = None

    @property
    def overall(self) -> AccuracyEstimate:
        """Estimate of all items."""
        return self.estimates[None]

    @property
    def groups(self) -> dict[Hashable, AccuracyEstimate]:
        """Estimates of the groups."""
        return {name: item for name, item in self.estimates.items() if name is not None}

    @property
    def broken_groups(self) -> list[Hashable]:
        """Groups that are not to be relied on."""
        return [name for name in self.groups if name in self.broken]

    @property
    def info(self) -> Any:
        """Title and reference of the method."""
        return predictors()[self.overall.method].info

    @property
    def is_reliable(self) -> bool:
        """False if the estimate of all items or of a group is not to be relied on."""
        return not self.broken

    @property
    def history(self) -> str:
        """Sentence on what held in labelled groups; empty if that was not asked for."""
        if not isinstance(self.overall, HistoryAccuracy):
            return ""
        if self.overall.history:
            return self.overall.history
        leans, alone = "", self.overall.under_shift
        if self.overall.value != alone.value and None not in self.broken:
            leans = (
                f" The scores hardly tell the classes apart, so the {self.overall.metric} "
                f"relies on the confidence of the classifier more than on {alone.method}, by "
                f"which it is {alone.value:.3f}."
            )
        return (
            "No labelled groups show how much else may change, so the intervals allow for the "
            f"drift that is usual in dated data.{leans}"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Doubts about the estimate, and the range of the groups that can be relied on."""
        sentences, broken, metric = [], self.broken_groups, self.overall.metric
        if None in self.broken:
            sentences.append(
                f"We cannot say what the {metric} is: the new items do not look like the "
                f"labelled ones, whatever the mix ({chance(p_value_of(self.overall))})."
                f"{_both_readings(self.overall)} Label a random sample of them."
            )
        groups = self.groups
        sentences.append(
            range_of_groups(
                f"the {metric}",
                {str(name): groups[name].value for name in groups if name not in broken},
                {str(name): estimate.n_items for name, estimate in groups.items()},
                "{:.3f}".format,
            )
        )
        if broken:
            is_doubtful = any(not _is_broken(groups[name]) for name in broken)
            sentences.append(
                f"{len(broken)} of the groups {'does' if len(broken) == 1 else 'do'} not look "
                f"like the labelled items{', or may not' * is_doubtful}, whatever the mix: do "
                f"not rely on {first_of(broken, 3)}."
            )
        return tuple(filter(None, sentences))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of all items, and a list of ``groups``."""
        rows = []
        for name, estimate in self.estimates.items():
            facts = {"reliable": name not in self.broken, "true": self.truths.get(name)}
            rows.append({"group": _label(name), **estimate.to_dict(), **facts})
        facts_of_all = {
            "before": self.before,
            "sentences": list(self.sentences),
            "history": self.history or None,
            "notes": list(self.notes),
        }
        return {**rows[0], "groups": rows[1:], **facts_of_all}

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`."""
        return (
            "group", "method", "metric", "value", "raw", "low", "high", "level", "items",
            "p_value", "reliable", "warning", "truth",
        )  # fmt: skip

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`, one per group, all items first."""
        for name, estimate in self.estimates.items():
            test, (low, high) = estimate.fit_test, estimate.interval()
            p_value = None if test is None else float(test.p_value)
            yield (
                plain(name), estimate.method, estimate.metric, estimate.value,
                estimate.raw, low, high, estimate.level, estimate.n_items, p_value,
                name not in self.broken, " ".join(estimate.warnings) or None,
                self.truths.get(name),
            )  # fmt: skip

    def to_table(self, names: Iterable[Hashable] | None = None) -> Table:
        """Estimates to print, one row per group, all items first; of some groups or all."""
        metric, level = self.overall.metric, self.overall.level
        head = ["group", metric, f"{100 * level:.6g}% from", "to", "items"]
        rows = []
        for name in self.estimates if names is None else names:
            estimate = self.estimates[name]
            values = [estimate.value, *estimate.interval()]
            cells = [_label(name), *(f"{value:.3f}" for value in values)]
            cells.append(f"{estimate.n_items:,}")
            cells += [f"{self.truths[name]:.3f}"] if self.truths else []
            rows.append([*cells, MARK * (name in self.broken)])
        head += ["true"] * bool(self.truths)
        return Table.of([*head, ""], rows, [False, *(True for _ in head[1:]), False])

    def to_text(self) -> str:
        """Doubts, the estimate for all items, then a table of the groups."""
        lines = [" ".join(self.sentences)] if self.sentences else []
        lines += self.overall.to_text().split("\n")
        if self.before is not None:
            lines.append(f"on the labelled items of the reference: {self.before:.3f}")
        if self.truths:
            lines.append(f"by the labels of the new table: {self.truths[None]:.3f}")
        lines += [self.history] if self.history else []
        if len(self.estimates) > 1:
            overall, *groups = self.estimates
            sizes = [self.estimates[name].n_items for name in groups]
            places, note = printed_groups(sizes, self.ordered)
            table = self.to_table([overall, *(groups[place] for place in places)])
            lines += ["", table.to_text(ruled=False), *([note] if note else [])]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(printable(line) for line in "\n".join(lines).split("\n"))

    def page(self) -> Page:
        """Page that `report` writes."""
        return accuracy_page(self)

    def _repr_html_(self) -> str:
        title = self.overall.to_text().split("\n")[0]
        if self.before is not None:
            title += f"; on the labelled items of the reference {self.before:.3f}"
        notes = [*self.sentences, *filter(None, [self.history])]
        notes += [*self.overall.warnings, *self.notes]
        return html_result(title, [self.to_table()], notes)


def _is_broken(estimate: AccuracyEstimate) -> bool:
    """True if the items are unlike the reference, and no labelled groups show what holds."""
    p_value = p_value_of(estimate)
    return estimate.basis != "history" and p_value is not None and p_value < BROKEN_LEVEL


def _broken(
    estimates: Estimates[AccuracyEstimate],
    predictor: Predictor,
    pool: Scored | Verdicts,
    groups: Groups,
    random_state: int,
) -> frozenset[Hashable]:
    """Names of estimates that are not to be relied on: of all items, and of groups."""
    broken = {name for name, estimate in estimates.items() if _is_broken(estimate)}
    overall, *names = estimates
    if overall not in broken or not names:
        return frozenset(broken)

    def p_value(places: list[int]) -> float | None:
        samples, metric = groups.united(places).samples, estimates[overall].metric
        united = predictor.estimate_many(pool, samples, metric, random_state=random_state)
        return p_value_of(united[0])

    clear = clear_groups([p_value_of(estimates[name]) for name in names], p_value)
    doubtful = {name for place, name in enumerate(names, 1) if place not in clear}
    return frozenset(broken | doubtful)


def _both_readings(estimate: AccuracyEstimate) -> str:
    """Values if the confidence of the classifier is right, and if only the mix has changed."""
    readings = estimate.readings if isinstance(estimate, HistoryAccuracy) else {}
    if POSTERIORS not in readings:
        return ""
    return (
        f" It is {readings[POSTERIORS]:.3f} if the classifier is as right about its confidence "
        f"as before, {readings[PRIOR_SHIFT]:.3f} if only the mix has changed."
    )


def _label(name: Hashable) -> str:
    return "all" if name is None else str(name)


# Predictors that need no posteriors.
_OF_DECISIONS = ("LEAP", "OLEAP", "SLEAP", "Naive")


def analyse_accuracy(
    new: Any,
    *,
    reference: Any,
    target: str,
    prediction: str | None = None,
    metric: str = "accuracy",
    method: str = "LEAP",
    by: str | Sequence[str] | None = None,
    date_column: str | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
    date_order: str | None = None,
    history: str = "auto",
) -> AccuracyAnalysis:
    """Estimate how well a model does on a table of unlabelled items, and in its groups."""
    options = Options(
        by, date_column, date_order, separator, level=level, random_state=random_state
    )
    check_choice("`history`", history, ("auto", "yes", "no"))
    predictor = _predictor(method, metric, random_state)
    labelled = options.table(reference, "reference")
    table = options.table(new, "new")
    options = options.of_table(table)
    labelled.require([target], "which `target` names")
    if prediction is not None:
        for source in (labelled, table):
            source.require([prediction], "which `prediction` names")
    training = read_labelled(labelled, target, random_state=random_state)
    classes = np.unique(training.labels)
    leave_out = tuple(filter(None, (prediction, options.column, *options.parts)))
    columns = _score_columns(training, table, target, prediction, leave_out, predictor)
    reference_items, pool = (
        _outputs(source, columns, prediction, classes) for source in (training.table, table)
    )
    predictor.fit(reference_items, training.labels)
    predictor.fitted_.checked(metric)
    codes = np.searchsorted(classes, training.labels)
    groups = options.groups(table) or Groups.of(None, len(pool))
    reason = _learn_history(predictor, training, options, history)
    estimates = predictor.estimate_many(
        pool,
        groups.samples,
        metric,
        random_state=random_state,
        level=level,
        groups=groups.names,
    )
    if predictor.fitted_.past is None and history != "no":
        estimates = _with_usual_drift(predictor.fitted_, metric, estimates, pool, groups)
    truths, note = _true_values(table, target, pool, groups, metric, classes)
    meant = _about_columns(columns, prediction, classes)
    notes = (*table.notes, *labelled.notes, *training.notes, note, groups.note, meant, reason)
    before = realised(metric, reference_items, codes, classes)
    by_group = Estimates(dict(zip(groups.names, estimates, strict=True)))
    broken = _broken(by_group, predictor, pool, groups, random_state)
    return AccuracyAnalysis(
        by_group, broken, truths, tuple(filter(None, notes)), groups.ordered, before
    )


def _with_usual_drift(
    fitted: FittedPredictor,
    metric: str,
    estimates: list[AccuracyEstimate],
    pool: Scored | Verdicts,
    groups: Groups,
) -> list[AccuracyEstimate]:
    """Estimates with the drift that is usual, as no labelled groups show any."""
    outputs, measure = fitted.source.items(pool), fitted.checked(metric)
    return list(usual_accuracy(fitted, measure, estimates, outputs, groups.samples))


def _score_columns(
    training: LabelledItems,
    table: TableFile,
    target: str,
    prediction: str | None,
    leave_out: tuple[str, ...],
    predictor: Predictor,
) -> ScoreColumns | None:
    """Columns of the scores; None, for a predictor that takes them, if there are decisions."""
    source, names = training.table, np.unique(training.labels)
    classes = names.tolist()
    if prediction is not None and not has_score_columns(source, target, classes, leave_out):
        _check_takes_decisions(predictor, prediction)
        if "quantifier" in predictor.get_params(deep=False):
            predictor.set_params(quantifier=ACC())
        return None
    codes = np.searchsorted(names, training.labels)
    columns = find_score_columns(source, target, classes, codes, leave_out)
    table.require(columns.names, "in which the reference has scores")
    return columns


def _true_values(
    table: TableFile,
    target: str,
    pool: Scored | Verdicts,
    groups: Groups,
    metric: str,
    classes: Array,
) -> tuple[dict[Hashable, float], str]:
    """Realised values by group, if the new table has all labels, and a note."""
    if target not in table.columns:
        return {}, ""
    labels, note = read_true_labels(table.read([target])[target], classes, table.name)
    if labels is None:
        return {}, note
    codes = np.searchsorted(classes, labels)
    by_group = zip(groups.names, groups.samples, strict=True)
    return {
        name: realised(metric, pool.take(rows), codes[rows], classes) for name, rows in by_group
    }, note


def _about_columns(columns: ScoreColumns | None, prediction: str | None, classes: Array) -> str:
    """Note on the columns that were read, unless they are named after all classes."""
    if columns is None:
        return f"There are no scores: the decisions of column {prediction} are used alone."
    if len(columns.names) > 1:
        return ""
    label = classes.tolist()[columns.positive]
    return f"Column {columns.names[0]} was taken for the score of class {label!r}."


def _learn_history(
    predictor: Predictor, training: LabelledItems, options: Options, history: str
) -> str:
    """Let estimates follow the labelled groups of the reference; the reason if they cannot."""
    if history == "no":
        return ""
    groups, reason = find_groups(training, options), ""
    if groups is not None:
        try:
            predictor._follow(groups.values, groups.ordered, groups.names, groups.noun)
        except TooFewGroupsError as error:
            reason = str(error)
    if history == "yes" and predictor.fitted_.past is None:
        raise no_groups(training, reason)
    return without_history(reason)


def _predictor(method: str, metric: str, random_state: int) -> Predictor:
    by_name = {
        name.lower(): kind
        for name, kind in predictors().items()
        if kind.info.input != "features"
    }
    if method.lower() not in by_name:
        names = sorted(kind.__name__ for kind in by_name.values())
        raise HeadcountError(
            f"`method` is {method!r}: {did_you_mean(method, names)}With scores alone it must "
            f"be one of {', '.join(names)}."
        )
    if metric not in METRIC_NAMES:
        raise HeadcountError(
            f"`metric` is {metric!r}: {did_you_mean(metric, METRIC_NAMES)}It must be one of "
            f"{', '.join(METRIC_NAMES)}."
        )
    predictor: Predictor = by_name[method.lower()]()
    if "random_state" in predictor.get_params(deep=False):
        predictor.set_params(random_state=random_state)
    return predictor


def _check_takes_decisions(predictor: Predictor, prediction: str) -> None:
    name = type(predictor).__name__
    if name not in _OF_DECISIONS:
        raise HeadcountError(
            f"`method` is {name!r}, which needs posteriors, but there are the decisions of "
            f"column {prediction!r} alone: choose one of {', '.join(_OF_DECISIONS)}."
        )


def _outputs(
    table: TableFile, columns: ScoreColumns | None, prediction: str | None, classes: Array
) -> Scored | Verdicts:
    """Posteriors and predicted classes of a table, or its decisions alone."""
    predictions = None if prediction is None else _predictions(table, prediction, classes)
    if columns is None:
        assert predictions is not None
        return Verdicts(predictions, classes)
    return Scored(columns.read(table), classes, predictions)


def _predictions(table: TableFile, prediction: str, classes: Array) -> Array:
    codes, strange = match_labels(table.read([prediction])[prediction], classes)
    if (codes < 0).any():
        what = "lacks some predictions" if strange is None else f"has {strange!r}, no class"
        raise HeadcountError(
            f"Column {prediction!r} of {table.name!r} {what}: fill in a class, or leave "
            "`prediction` out."
        )
    return np.asarray(classes[codes])


# Page of the accuracy of a model.


def accuracy_page(analysis: AccuracyAnalysis) -> Page:
    """Page of the accuracy of a model on unlabelled items."""
    first, *groups = _accuracy_rows(analysis)
    estimate, level = analysis.overall, written_level(analysis.overall.level)
    axis = Axis.around(
        [value for row in (first, *groups) for value in row.values], estimate.measure.high
    )
    status = _accuracy_status(analysis)
    doubtful = status == "broken" or any(row.is_broken for row in groups)
    warnings = grouped_notes(
        ((name, item.warnings) for name, item in analysis.estimates.items()),
        len(analysis.estimates),
    )
    tests = [
        (p_value_of(item), name in analysis.broken) for name, item in analysis.estimates.items()
    ]
    links = {"advice": "What to do"} if doubtful else {}
    frame = analysis.to_frame()
    return Page(
        title="How accurate is the model?",
        eyebrow=[estimate.method, f"{estimate.n_items:,} items", html.now()],
        headline=html.headline(
            status,
            answer(tests[0], tests[1:], f"the {estimate.metric}"),
            _accuracy_sentences(analysis),
            question=QUESTION,
            muted=status == "broken",
            links=links | html.warnings_link(warnings),
        ),
        sections=[
            html.advice(ADVICE[:2]) if doubtful else Markup(""),
            _accuracy_section(analysis, first, axis, status),
            _accuracy_groups_section(analysis, groups, axis, level),
            _accuracy_likeness_section(analysis, status),
            html.warnings_section(warnings),
            html.notes_section(plain_notes(analysis.notes)),
            html.section(
                "How it was done",
                html.pair(
                    html.facts("Method", _accuracy_method(analysis)),
                    html.facts("Versions", versions()),
                ),
            ),
        ],
        columns=frame.columns,
        rows=frame.fill_nan(None).rows(),
        content=analysis.to_dict(),
    )


def _accuracy_section(analysis: AccuracyAnalysis, row: Row, axis: Axis, status: str) -> Markup:
    """Accuracy on all items, and the table of true and predicted classes."""
    estimate, level = analysis.overall, written_level(analysis.overall.level)
    chart = rows_chart([row], f"{estimate.metric} on all items, with its interval", axis)
    broken = status == "broken"
    only_if = ", if only the mix had changed" if estimate.basis == "prior shift" else ""
    return html.section(
        "All items" + broken * only_if,
        html.estimate_legend(level, truth=bool(analysis.truths), flagged=row.is_broken),
        html.pair(html.figure(chart, estimate.metric), _confusion_block(estimate)),
        css="muted" if broken else "",
    )


def _accuracy_method(analysis: AccuracyAnalysis) -> dict[str, str]:
    estimate, info = analysis.overall, analysis.info
    return {
        "name": f"{estimate.method}: {info.title}",
        "metric": estimate.metric,
        "answer of the method itself": f"{estimate.raw:.3f}",
        "reference": info.reference,
    }


def _accuracy_rows(analysis: AccuracyAnalysis) -> list[Row]:
    rows = []
    for name, estimate in analysis.estimates.items():
        low, high = estimate.interval()
        truth = analysis.truths.get(name)
        rows.append(
            Row(
                words(name), estimate.value, low, high, estimate.n_items,
                truth=None if truth is None or math.isnan(truth) else truth,
                is_broken=name in analysis.broken,
                text="{:.3f}".format,
            )
        )  # fmt: skip
    return rows


def _accuracy_status(analysis: AccuracyAnalysis) -> str:
    if None in analysis.broken:
        return "broken"
    is_tested = p_value_of(analysis.overall) is not None
    return "fits" if is_tested and analysis.is_reliable else "unsure"


def _accuracy_sentences(analysis: AccuracyAnalysis) -> list[str]:
    estimate = analysis.overall
    low, high = estimate.interval()
    text = (
        f"On {estimate.n_items:,} new items the {estimate.metric} is about "
        f"{estimate.value:.3f} ({written_level(estimate.level)} interval {low:.3f} to "
        f"{high:.3f})"
    )
    if analysis.before is not None and not math.isnan(analysis.before):
        text += f"; on the labelled ones it is {analysis.before:.3f}"
    text += "."
    if None in analysis.broken:
        doubt, *more = analysis.sentences
        if estimate.basis == "prior shift":
            text = f"If only the mix had changed: {text}"
        return [doubt, text, *more]
    return [text, *analysis.sentences, *filter(None, [analysis.history])]


def _confusion_block(estimate: AccuracyEstimate) -> Markup:
    """Shares by true and predicted class; nothing if they are many or not known."""
    if estimate.table is None or len(estimate.classes) > MANY_CLASSES:
        return Markup("")
    names = [words(name) for name in estimate.classes.tolist()]
    rows = [
        [name, *(f"{share:.1%}" for share in row)]
        for name, row in zip(names, estimate.table, strict=True)
    ]
    by_class = Table.of(["really", *(f"predicted {name}" for name in names)], rows)
    return html.element(
        "div",
        html.note(
            "Shares of the items by true and predicted class, as "
            f"{estimate.method} estimates them",
            name="classes-caption",
        ),
        html.scrolled(
            by_class.to_html(
                css_class="sortable even", label="Shares by true and predicted class"
            )
        ),
    )


def _accuracy_groups_section(
    analysis: AccuracyAnalysis, rows: list[Row], axis: Axis, level: str
) -> Markup:
    """Chart and table of the groups; nothing without groups."""
    if not rows:
        return Markup("")
    metric, is_known = analysis.overall.metric, bool(analysis.truths)
    flagged = any(row.is_broken for row in rows)
    caption = f"{metric} with {level} intervals."
    p_values = list(map(p_value_of, analysis.groups.values()))
    if any(p_value is not None for p_value in p_values):
        caption += p_values_explained(f"do not rely on the {metric}")
    columns = [PageColumn("Group", "words", names=True)]
    columns += [PageColumn(metric), PageColumn("From"), PageColumn("To"), PageColumn("Items")]
    columns += [PageColumn("Truth")] * is_known + [PageColumn("p")]
    cells = []
    for row, p_value in zip(rows[:MOST_ROWS], p_values, strict=False):
        truth = "" if row.truth is None else row.text(row.truth)
        cells.append(
            [
                row.label,
                *map(row.text, (row.value, row.low, row.high)),
                f"{row.items:,}",
                *([truth] * is_known),
                short_p(p_value),
            ]
        )
    chart = group_chart(rows, f"{metric} by group", axis, ordered=analysis.ordered)
    return html.section(
        "Over time" if analysis.ordered else "By group",
        html.estimate_legend(level, truth=is_known, flagged=flagged),
        html.panels([(metric, chart)], wide=True, scrolls=True),
        *groups_table(caption, columns, cells, [row.is_broken for row in rows]),
    )


def _accuracy_likeness_section(analysis: AccuracyAnalysis, status: str) -> Markup:
    p_value, groups = p_value_of(analysis.overall), analysis.groups.values()
    n_tested = sum(p_value_of(estimate) is not None for estimate in groups)
    n_broken = sum(map(_is_broken, groups))
    if p_value is None:
        result = Markup("This was not tested.")
    elif status == "broken":
        result = Markup(
            "The new items do <strong>not</strong> look like the labelled ones, whatever the "
            "mix."
        )
    else:
        result = Markup(
            "All new items together look like the labelled ones, apart from the class mix."
        )
    if n_tested and not n_broken:
        which = "does the group" if n_tested == 1 else f"do all {n_tested} groups"
        result += f" So {which}."
    elif n_tested:
        verb = "does" if n_broken == 1 else "do"
        result += (
            f" Of {n_tested} groups, {n_broken} {verb} not; by chance alone "
            f"{BROKEN_LEVEL * n_tested:.2g} would not."
        )
    tested = "Without posteriors, or with a single class, this cannot be tested."
    if p_value is not None:
        tested = (
            "The test compares the distribution of the posteriors with that of the nearest "
            f"mixture: {chance(p_value)} for all items. Below {BROKEN_LEVEL} the estimate is "
            "not to be relied on."
        )
    return html.section(
        QUESTION,
        html.paragraph(
            "The estimate is valid if only the mix of the classes has changed since the "
            "reference was labelled: the items of each class look as they did then, and the "
            "model errs on them as often."
        ),
        html.paragraph(result),
        html.folded(
            "How this was tested",
            html.paragraph(
                "Under prior shift any sample is a mixture of the classes of the reference. "
                + tested
            ),
        ),
    )
