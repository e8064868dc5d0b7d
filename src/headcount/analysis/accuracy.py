"""From two tables of scores to the accuracy of a model: ``headcount accuracy``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._files import did_you_mean
from headcount._text import Cell, Table, chance, html_result, printable
from headcount.accuracy import (
    METRIC_NAMES,
    AccuracyEstimate,
    Predictor,
    predictors,
    realised,
)
from headcount.analysis.analysis import Result
from headcount.analysis.groups import Groups
from headcount.analysis.label_columns import match_labels, read_labelled, read_true_labels
from headcount.analysis.options import Options
from headcount.analysis.pages import accuracy_page
from headcount.analysis.score_columns import find_score_columns
from headcount.analysis.words import MARK, plain, range_of_groups
from headcount.data.readers import TableFile
from headcount.diagnose.diagnostics import BROKEN_LEVEL
from headcount.errors import HeadcountError
from headcount.report.page import Page
from headcount.scores import Scored


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyAnalysis(Result):
    """Accuracy of a model on a table and its groups; prints as a table."""

    groups: tuple[Any, ...]
    estimates: tuple[AccuracyEstimate, ...]
    truths: tuple[float, ...] | None
    notes: tuple[str, ...]
    ordered: bool = False
    before: float | None = None

    def is_broken(self, i: int) -> bool:
        """True if the items of a group do not look like a mixture of the reference classes."""
        test = self.estimates[i].fit_test
        return test is not None and bool(test.p_value < BROKEN_LEVEL)

    @property
    def info(self) -> Any:
        """Title and reference of the method."""
        return predictors()[self.estimates[0].method].info

    @property
    def is_reliable(self) -> bool:
        """False if the estimate of all items or of a group is not to be relied on."""
        return not any(self.is_broken(i) for i in range(len(self.groups)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Doubts about the estimate, and the range of the groups that can be relied on."""
        said, broken = [], [i for i in range(1, len(self.groups)) if self.is_broken(i)]
        test, metric = self.estimates[0].fit_test, self.estimates[0].metric
        if self.is_broken(0):
            p_value = None if test is None else test.p_value
            said.append(
                f"We cannot say what the {metric} is: the new items do not look like the "
                f"labelled ones, whatever the mix ({chance(p_value)}). "
                "Label a random sample of them."
            )
        kept = [i for i in range(1, len(self.groups)) if i not in broken]
        said.append(
            range_of_groups(
                f"the {metric}",
                {self._name(i): self.estimates[i].value for i in kept},
                len(self.groups) - 1,
                "{:.3f}".format,
            )
        )
        if broken:
            named = ", ".join(self._name(i) for i in broken[:3])
            more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
            said.append(
                f"{len(broken)} of the groups {'does' if len(broken) == 1 else 'do'} not look "
                f"like the labelled items, whatever the mix: do not rely on {named}{more}."
            )
        return tuple(filter(None, said))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of all items, and a list of ``groups``."""
        rows = []
        for i, estimate in enumerate(self.estimates):
            facts = {"reliable": not self.is_broken(i), "true": self._truth(i)}
            rows.append({"group": self._name(i), **estimate.to_dict(), **facts})
        others = {
            "before": self.before,
            "sentences": list(self.sentences),
            "notes": list(self.notes),
        }
        return {**rows[0], "groups": rows[1:], **others}

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`."""
        return (
            "group", "method", "metric", "value", "raw", "low", "high", "level", "items",
            "p_value", "reliable", "warning", "truth",
        )  # fmt: skip

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`, one per group, all items first."""
        for i, estimate in enumerate(self.estimates):
            test, (low, high) = estimate.fit_test, estimate.interval()
            p_value = None if test is None else float(test.p_value)
            yield (
                plain(self.groups[i]), estimate.method, estimate.metric, estimate.value,
                estimate.raw, low, high, estimate.level, estimate.size, p_value,
                not self.is_broken(i), " ".join(estimate.warnings) or None, self._truth(i),
            )  # fmt: skip

    def to_table(self) -> Table:
        """Estimates to print, one row per group, all items first."""
        first = self.estimates[0]
        head = ["group", first.metric, f"{100 * first.level:.6g}% from", "to", "items"]
        rows = []
        for i, estimate in enumerate(self.estimates):
            values = [estimate.value, *estimate.interval()]
            cells = [self._name(i), *(f"{value:.3f}" for value in values)]
            cells.append(f"{estimate.size:,}")
            cells += [] if self.truths is None else [f"{self.truths[i]:.3f}"]
            rows.append([Cell(cell) for cell in (*cells, MARK * self.is_broken(i))])
        head += ["true"] * (self.truths is not None)
        return Table([*head, ""], rows, [False, *(True for _ in head[1:]), False])

    def to_text(self) -> str:
        """Doubts, the estimate for all items, then a table of the groups."""
        first = self.estimates[0]
        lines = [" ".join(self.sentences)] if self.sentences else []
        lines += first.to_text().split("\n")
        if self.before is not None:
            lines.append(f"on the labelled items of the reference: {self.before:.3f}")
        if self.truths is not None:
            lines.append(f"by the labels of the new table: {self.truths[0]:.3f}")
        if len(self.groups) > 1:
            lines += ["", self.to_table().to_text(ruled=False)]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(printable(line) for line in "\n".join(lines).split("\n"))

    def page(self) -> Page:
        """Page that `report` writes."""
        return accuracy_page(self)

    def _repr_html_(self) -> str:
        first = self.estimates[0]
        title = first.to_text().split("\n")[0]
        if self.before is not None:
            title += f"; on the labelled items of the reference {self.before:.3f}"
        notes = [*self.sentences, *first.warnings, *self.notes]
        return html_result(title, [self.to_table()], notes)

    def _truth(self, i: int) -> float | None:
        return None if self.truths is None else self.truths[i]

    def _name(self, i: int) -> str:
        return "all" if self.groups[i] is None else str(self.groups[i])


def analyse_accuracy(
    new: Any,
    *,
    reference: Any,
    target: str,
    prediction: str | None = None,
    metric: str = "accuracy",
    method: str = "LEAP",
    by: str | None = None,
    date_column: str | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
    date_order: str | None = None,
) -> AccuracyAnalysis:
    """Estimate how well a model does on a table of unlabelled items, and in its groups.

    Parameters
    ----------
    new : frame or path
        Table of the items, with the posteriors of the model.
    reference : frame or path
        Labelled table of items that the model was not trained on, with its posteriors in one
        column named after each class, or in one for the positive class.
    target : str
        Column of the labels in `reference`.
    prediction : str, default=None
        Column of the predicted classes in both tables; by default the likeliest class.
    metric : str, default="accuracy"
        Name of a measure in `headcount.accuracy.METRIC_NAMES`.
    method : str, default="LEAP"
        Name of a method of `headcount.accuracy` that needs scores only.
    by, date_column : str, default=None
        Groups, as for `headcount.analyse`.
    level : float, default=0.95
        Probability that an interval contains the value.
    random_state : int, default=0
        Random seed.
    separator : str, default=None
        Separator of columns in CSV files; found from the file by default.
    date_order : {"day-first", "month-first"}, default=None
        Order of day and month in dates such as 03/04/2024; found from the column by default.

    Returns
    -------
    AccuracyAnalysis

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from headcount.analysis.accuracy import analyse_accuracy
    >>> def scored(n, share, seed):
    ...     rng = np.random.default_rng(seed)
    ...     late = rng.random(n) < share
    ...     yes = rng.beta(1 + 3 * late, 1 + 3 * ~late)
    ...     return pl.DataFrame({"yes": yes, "late": np.where(late, "yes", "no")})
    >>> known, new = scored(600, 0.3, 0), scored(400, 0.6, 1).drop("late")
    >>> print(analyse_accuracy(new, reference=known, target="late", method="CBPE"))
    CBPE: accuracy on these 400 items 0...
    """
    options = Options(
        by=by,
        date_column=date_column,
        date_order=date_order,
        separator=separator,
        level=level,
        random_state=random_state,
    )
    predictor = _predictor(method, metric, random_state)
    labelled = options.table(reference, "reference")
    table = options.table(new, "new")
    options = options.of_table(table)
    labelled.require([target], "which `target` names")
    if prediction is not None:
        for source in (labelled, table):
            source.require([prediction], "which `prediction` names")
    reference_notes = labelled.notes
    training = read_labelled(labelled, target, random_state=random_state)
    labelled, y = training.table, training.labels
    classes = np.unique(y)
    leave_out = tuple(filter(None, (prediction, options.column)))
    columns = find_score_columns(labelled, target, classes.tolist(), leave_out)
    table.require(columns.names, "in which the reference has scores")
    reference_scores, pool = (
        Scored(columns.read(source), classes, _predictions(source, prediction, classes))
        for source in (labelled, table)
    )
    predictor.fit(reference_scores, y)
    before = realised(metric, reference_scores, np.searchsorted(classes, y), classes)
    groups = options.groups(table) or Groups.of(None, len(pool))
    estimates = predictor.estimate_many(
        pool, groups.samples, metric, random_state=random_state, level=level
    )
    truths, note = None, ""
    if target in table.columns:
        labels, note = read_true_labels(table.read([target])[target], classes, table.name)
        if labels is not None:
            true = np.searchsorted(classes, labels)
            truths = tuple(
                realised(metric, pool.take(rows), true[rows], classes)
                for rows in groups.samples
            )
    meant = ""
    if len(columns.names) == 1:
        label = classes.tolist()[columns.positive]
        meant = f"Column {columns.names[0]} was taken for the score of class {label!r}."
    notes = tuple(
        filter(
            None, (*table.notes, *reference_notes, *training.notes, note, groups.note, meant)
        )
    )
    return AccuracyAnalysis(
        groups.names, tuple(estimates), truths, notes, groups.ordered, before
    )


def _predictor(method: str, metric: str, random_state: int) -> Predictor:
    known = {
        name.lower(): found
        for name, found in predictors().items()
        if found.info.input != "features"
    }
    if method.lower() not in known:
        names = ", ".join(sorted(found.__name__ for found in known.values()))
        meant = did_you_mean(method, [found.__name__ for found in known.values()])
        raise HeadcountError(
            f"`method` is {method!r}: {meant}With scores alone it must be one of {names}."
        )
    if metric not in METRIC_NAMES:
        raise HeadcountError(
            f"`metric` is {metric!r}: {did_you_mean(metric, METRIC_NAMES)}It must be one of "
            f"{', '.join(METRIC_NAMES)}."
        )
    predictor: Predictor = known[method.lower()]()
    if "random_state" in predictor.get_params(deep=False):
        predictor.set_params(random_state=random_state)
    return predictor


def _predictions(
    table: TableFile, prediction: str | None, classes: NDArray[Any]
) -> NDArray[Any] | None:
    if prediction is None:
        return None
    codes, strange = match_labels(table.read([prediction])[prediction], classes)
    if (codes < 0).any():
        what = "lacks some predictions" if strange is None else f"has {strange!r}, no class"
        raise HeadcountError(
            f"Column {prediction!r} of {table.name!r} {what}: fill in a class, or leave "
            "`prediction` out."
        )
    return np.asarray(classes[codes])
