"""Backtests of labelled tables: which reading of the data held in their months or groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from headcount._support.arrays import Array
from headcount._support.documentation import documented
from headcount._support.text import Table, percent
from headcount.errors import HeadcountError
from headcount.estimates.backtest import (
    COMBINED,
    FEWEST_ITEMS,
    Backtest,
    TooFewGroupsError,
    run_backtest,
    usual_history,
)
from headcount.estimates.history import PRIOR_SHIFT, History
from headcount.items.arrays import Scored
from headcount.quantifiers.deep.quantifiers import NetworkQuantifier
from headcount.quantifiers.from_history import following, labelled_groups
from headcount.report import page as html
from headcount.report.charts import Row, group_chart, is_wide, share_axis
from headcount.report.page import Page, Reported
from headcount.scores.scorer import Scorer
from headcount.tables.changes import what_changed
from headcount.tables.columns import find_date_form, without_marks
from headcount.tables.models import ScoreModel, TableModel, fit_score_model, fit_table_model
from headcount.tables.pages import MOST_PANELS, plain_notes, written_level
from headcount.tables.roles import (
    MISSING,
    PERIODS,
    LabelledItems,
    Options,
    group_names,
    order_names,
    read_labelled,
)
from headcount.tables.words import plain, words

# What the estimates of a page are compared with.
_COMPARED = "prior-shift estimate"
# Numbers of periods that dates are divided into if no groups are named, and their items.
_FEWEST_PERIODS, _MOST_PERIODS, _FEWEST_IN_PERIOD = 6, 36, 100


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """Group of each labelled row, and names in order; `as_new` if new items have such too."""

    values: Array
    names: tuple[Any, ...]
    ordered: bool
    noun: str
    as_new: bool = True

    @classmethod
    def of(cls, values: pl.Series, by: str, table: str, date_order: str | None) -> GroupColumn:
        """Groups of a column, or of the periods of its dates."""
        texts, _ = group_names(values, by, table, date_order)
        names = np.asarray(texts.fill_null(MISSING).to_list(), dtype=np.str_)
        order, ordered = order_names(sorted(set(names.tolist())), values.name != by)
        in_order = tuple(name for name in order if name != MISSING)
        return cls(names, in_order, ordered, by if by in PERIODS else "group")

    def n_large(self, fewest: int) -> int:
        """Number of groups with so many items."""
        _, counts = np.unique(self.values[self.values != MISSING], return_counts=True)
        return int((counts >= fewest).sum())


def find_groups(labelled: LabelledItems, options: Options) -> GroupColumn | None:
    """Groups of labelled rows: those of the new table, or the periods of the only dates."""
    table, column = labelled.table, options.column
    if column is not None and column in table.columns:
        try:
            groups = GroupColumn.of(
                table.read([column])[column], str(options.by), table.name, options.date_order
            )
        except HeadcountError:
            return None  # of another form than in the new table
        if groups.n_large(FEWEST_ITEMS) < 2 and not options.of_time:
            return _periods(labelled, options) or groups
        return replace(groups, ordered=groups.ordered or options.are_later(groups.names))
    return _periods(labelled, options)


def _periods(labelled: LabelledItems, options: Options) -> GroupColumn | None:
    """Periods of the only column of dates, as long as leaves enough of them; else None."""
    frame = labelled.table.read()
    dated = [
        column.name
        for column in frame.iter_columns()
        if (form := find_date_form(without_marks(column.head(1000)))) is not None
        and form.order != "undecided"
    ]
    if len(dated) != 1:
        return None
    for by in PERIODS:
        try:
            groups = GroupColumn.of(
                frame[dated[0]], by, labelled.table.name, options.date_order
            )
        except HeadcountError:
            return None
        enough = groups.n_large(_FEWEST_IN_PERIOD) >= _FEWEST_PERIODS
        if enough and len(groups.names) <= _MOST_PERIODS:
            return replace(groups, as_new=False)
    return None


def no_groups(labelled: LabelledItems, reason: str) -> HeadcountError:
    """Error of a history that is demanded where no groups are labelled."""
    return HeadcountError(
        f"`history` is 'yes', but {labelled.table.name!r} has no labelled groups: name them by "
        f"`by`, or leave `history` out. {reason}".strip()
    )


def model_backtest(
    model: TableModel | ScoreModel,
    labelled: LabelledItems,
    groups: GroupColumn,
    random_state: int,
) -> Backtest:
    """Backtest of a model on the labelled rows that it was fitted on."""
    source, labels = model.source, labelled.labels
    if isinstance(source, Scorer):
        assert isinstance(model, TableModel)
        X: Any = model.preparation.conform(labelled.table.read())
    else:
        X = Scored(source.items) if isinstance(model, ScoreModel) else source.items
    in_groups = labelled_groups(
        model.quantifier, X, labels, groups.values, groups.ordered, groups.names
    )
    result = run_backtest(in_groups, random_state=random_state)
    history = result.history if groups.as_new else replace(result.history, labelled=())
    return replace(result, history=history, noun=groups.noun)


def has_history(model: TableModel | ScoreModel) -> bool:
    """True if readings of the data can be compared with the method of a model."""
    fitted = model.quantifier.fitted_
    too_slow = isinstance(model.quantifier, NetworkQuantifier)
    return fitted.info.shift == "prior" and not fitted.no_simulation and not too_slow


def with_history(
    model: TableModel | ScoreModel, history: History, why: str
) -> TableModel | ScoreModel:
    """The model with what held in labelled groups, which its estimates follow."""
    return replace(
        model, quantifier=following(model.quantifier, history), history=history, why_history=why
    )


def learn_history(
    model: TableModel | ScoreModel, training: LabelledItems, options: Options, history: str
) -> tuple[TableModel | ScoreModel, str]:
    """The model with what held in labelled groups, or with the drift that is usual; a note."""
    if history == "no" or not has_history(model):
        return model, ""
    groups, reason = find_groups(training, options), ""
    if groups is not None:
        try:
            backtest = model_backtest(model, training, groups, options.random_state)
            return with_history(model, backtest.history, backtest.sentence), ""
        except TooFewGroupsError as error:
            reason = str(error)
    if history == "yes":
        raise no_groups(training, reason)
    return with_history(model, usual_history(model.quantifier.fitted_), ""), without_history(
        reason
    )


def without_history(reason: str) -> str:
    """Note that labelled groups are not used; empty if there are none."""
    return f"The past does not show how much is usual. {reason}" if reason else ""


@dataclass(frozen=True, eq=False, repr=False)
class TableBacktest(Backtest, Reported):
    """Backtest of a labelled table, made by `headcount.backtest`.

    Attributes
    ----------
    title : str
        Heading of the report.
    notes : tuple of str
        Notes about the table.
    facts : mapping of str to str
        Facts about the data and the method.
    level : float
        Level of the intervals that are printed and drawn.
    """

    title: str = ""
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    level: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON.

        Returns
        -------
        dict
            ``title``, ``sentence``, ``level``, ``coverage``, ``readings`` (name, error,
            weight), ``error`` of the estimates, and ``groups``, the rows of `to_frame`.
        """
        weights, errors = self.weights, self.errors
        return {
            "title": self.title,
            "sentence": self.sentence,
            "level": self.level,
            "coverage": self.coverage(self.level),
            "readings": [
                {"name": name, "error": errors[name], "weight": weight}
                for name, weight in weights.items()
            ],
            "error": errors[COMBINED],
            "groups": [
                {name: plain(value) for name, value in row.items()}
                for row in self.to_frame(self.level).iter_rows(named=True)
            ],
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """Text that `print` shows."""
        notes = [f"note: {text}" for text in self.notes]
        return "\n".join([super().to_text(), *notes])

    def page(self) -> Page:
        """Page that `report` writes."""
        frame, level = self.to_frame(self.level), written_level(self.level)
        n, inside = len(self.truth), self.coverage(self.level)
        by_size = np.argsort(-self.truth.mean(axis=0), kind="stable")
        shown = [1] if len(self.classes) == 2 else by_size[:MOST_PANELS].tolist()
        charts = [
            (words(label), self._chart(frame, label, len(shown)))
            for label in self.classes[shown].tolist()
        ]
        good = inside >= self.level - 0.1
        return Page(
            title=self.title,
            eyebrow=[f"{n} labelled {self.noun}s", html.now()],
            headline=html.headline(
                "fits" if good else "unsure",
                f"{inside:.0%} of the true shares are in the {level} intervals",
                [self.sentence],
                question="Would the estimates have been right?",
            ),
            sections=[
                html.section(
                    "Over time" if self.ordered else "By group",
                    html.estimate_legend(
                        level,
                        line=self.ordered,
                        truth=True,
                        counted=True,
                        counted_name=_COMPARED,
                    ),
                    html.panels(charts, wide=is_wide(len(shown), n), scrolls=True),
                    html.note(
                        f"Each {self.noun} was estimated by a model that had not seen it"
                        f"{', fitted on earlier ones only' if self.ordered else ''}. The "
                        f"{_COMPARED} assumes that only the mix of the classes changes."
                    ),
                ),
                html.section(
                    "Which reading of the data held",
                    html.paragraph(self.sentence),
                    self.to_table().to_html(label="Readings of the data"),
                    html.note(
                        "Error: mean distance from the true shares. Weight: what the reading "
                        "counts for in estimates of new items."
                    ),
                ),
                html.section(
                    "All numbers",
                    html.scrolled(self._numbers(frame).to_html(css_class="sortable"), "tall"),
                ),
                html.notes_section(plain_notes(self.notes)),
                html.section("How it was done", html.facts("Data and method", self.facts)),
            ],
            columns=tuple(frame.columns),
            rows=frame.iter_rows(),
            content=self.to_dict(),
        )

    def _chart(self, frame: pl.DataFrame, label: Any, n_panels: int) -> Markup:
        rows = [
            Row(
                words(row["group"]),
                row["share"],
                row["low"],
                row["high"],
                row["items"],
                counted=row[PRIOR_SHIFT],
                truth=row["truth"],
                counted_name=_COMPARED,
            )
            for row in frame.filter(pl.col("class") == label).iter_rows(named=True)
        ]
        title = f"Share of {words(label)} by {self.noun}: estimate, interval and truth"
        return group_chart(
            rows, title, share_axis(rows), ordered=self.ordered, n_panels=n_panels
        )

    def _numbers(self, frame: pl.DataFrame) -> Table:
        """All numbers of a page."""
        columns = [
            self.noun,
            "class",
            "truth",
            "estimate",
            "from",
            "to",
            *self.readings,
            "items",
        ]
        rows = [
            [
                words(row["group"]),
                words(row["class"]),
                *(percent(row[name]) for name in ("truth", "share", "low", "high")),
                *(percent(row[name]) for name in self.readings),
                f"{row['items']:,}",
            ]
            for row in frame.iter_rows(named=True)
        ]
        return Table.of(columns, rows, [False, False] + [True] * (len(columns) - 2))


@documented(what_changed)
def backtest(
    labelled: Any,
    *,
    target: str,
    by: str | Sequence[str] | None = None,
    scores: bool = False,
    date_column: str | None = None,
    method: str = "auto",
    classifier: Any = "logistic",
    leave_out: Sequence[str] = (),
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
    date_order: str | None = None,
    title: str | None = None,
) -> TableBacktest:
    """Estimate the labelled months or groups of a table as if they were new.

    Each group is estimated by models that have not seen it, and compared with its true shares:
    what the past mean, the last labelled share, mean posteriors and the prior-shift estimate
    would have said, and the interval. This is what the command ``headcount backtest`` does.

    Parameters
    ----------
    labelled : frame, path or list of paths
        Labelled table.
    target : str
        Column of the labels.
    by : str or sequence of str, default=None
        Groups: a column, several, or "year", "quarter", "month", "week" or "day". By default
        the periods of the only column of dates.
    scores : bool, default=False
        True if the other columns hold the posteriors of a classifier that was not trained on
        these items.
    date_column : str, default=None
        Column of the dates, for periods; needed if there are several.
    method : str, default="auto"
        Method for prior shift: a name in `headcount.methods`, or "auto".
    classifier : {"logistic", "forest", "boosting", "auto"} or classifier, default="logistic"
        Classifier of the prepared columns, by name or from scikit-learn. "auto" fits logistic
        regression and gradient boosting, and takes the one with the lower log loss on
        held-out labelled items.
    leave_out : sequence of str, default=()
        Columns that do not become features.
    level : float, default=0.95
        Level of the intervals.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    TableBacktest
        With `to_frame`, `to_dict`, `plot` and `report`; prints as a table of the readings.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(1, 9), 150)
    >>> size = rng.normal(size=1200) + month / 4
    >>> late = rng.random(1200) < 1 / (1 + np.exp(2 - size))  # depends on the size as ever
    >>> table = pl.DataFrame({"size": size, "late": late, "month": month})
    >>> b = hc.backtest(table, target="late", by="month")
    >>> max(b.weights, key=b.weights.get)
    'mean posteriors'
    >>> b.to_frame().columns[:8]
    ['group', 'class', 'items', 'truth', 'share', 'low', 'high', 'inside']
    """
    options = Options(
        by=by,
        date_column=date_column,
        date_order=date_order,
        separator=separator,
        level=level,
        random_state=random_state,
        title=title,
    )
    table = options.table(labelled, "labelled")
    table.require(leave_out, "which `leave_out` names")
    options = options.of_table(table)
    items = read_labelled(table, target, random_state=random_state)
    groups = _named_groups(items, options)
    reasons = dict.fromkeys(leave_out, "left out by the caller") | options.not_features()
    learning: dict[str, Any] = {
        "method": method, "random_state": random_state, "leave_out": reasons,
    }  # fmt: skip
    model: TableModel | ScoreModel
    if scores:
        model = fit_score_model(items, target, **learning)
    else:
        model = fit_table_model(
            items, target, classifier=classifier, date_order=date_order, **learning
        )
    if not has_history(model):
        raise HeadcountError(
            f"`method` is {method!r}, which is not a method for prior shift that can be fitted "
            "several times: choose another, such as SLD."
        )
    result = model_backtest(model, items, groups, random_state)
    described = {
        "Labelled table": model.training,
        "Groups": f"{len(result.truth)} of {len(groups.names)} were estimated",
        "Method for prior shift": model.quantifier.fitted_.method,
    }
    return TableBacktest(
        **vars(result),
        title=title or f"{target} in {table.name}: backtest",
        notes=(*table.notes, *items.notes),
        facts=described,
        level=level,
    )


def _named_groups(labelled: LabelledItems, options: Options) -> GroupColumn:
    """Groups that a caller names, or the periods of the only dates; else an error."""
    table = labelled.table
    if options.by is not None and options.column is not None:
        return GroupColumn.of(
            table.read([options.column])[options.column],
            options.by,
            table.name,
            options.date_order,
        )
    groups = _periods(labelled, options)
    if groups is None:
        raise HeadcountError(
            f"`by` is missing, and {table.name!r} does not have one column of dates with at "
            f"least {_FEWEST_PERIODS} periods of {_FEWEST_IN_PERIOD} items: name the groups by "
            "`by`."
        )
    return groups
