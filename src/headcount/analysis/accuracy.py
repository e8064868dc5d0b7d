"""From two tables of scores to the accuracy of a model: ``headcount accuracy``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_fraction
from headcount._text import printable, text_table
from headcount.accuracy import METRICS, AccuracyEstimate, Predictor, predictors, table_of
from headcount.analysis.from_tables import as_table
from headcount.analysis.groups import Groups, group_column, read_groups
from headcount.analysis.label_columns import read_labels, read_true_labels
from headcount.analysis.score_columns import find_score_columns
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.scores import Scored

__all__ = ["AccuracyAnalysis", "analyse_accuracy"]


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyAnalysis:
    """Accuracy of a model on a table and its groups; prints as a table.

    Attributes
    ----------
    groups : tuple
        None, for all items, then the groups.
    estimates : tuple of AccuracyEstimate
        One per group.
    truths : tuple of float or None
        Values by the labels of the new table; None if they are not known.
    notes : tuple of str
        Notes about the tables.
    """

    groups: tuple[Any, ...]
    estimates: tuple[AccuracyEstimate, ...]
    truths: tuple[float, ...] | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: those of all items, and a list of ``groups``."""
        rows = []
        for i, estimate in enumerate(self.estimates):
            true = None if self.truths is None else self.truths[i]
            rows.append({"group": self._name(i), **estimate.to_dict(), "true": true})
        return {**rows[0], "groups": rows[1:], "notes": list(self.notes)}

    def to_text(self) -> str:
        """Estimate for all items, then a table of the groups."""
        first = self.estimates[0]
        lines = [printable(line) for line in first.to_text().split("\n")]
        if self.truths is not None:
            lines.append(f"by the labels of the new table: {self.truths[0]:.3f}")
        if len(self.groups) > 1:
            head = ["group", first.metric, f"{100 * first.level:.6g}% from", "to", "items"]
            rows = []
            for i, each in enumerate(self.estimates):
                values = [each.value, *each.interval()]
                cells = [self._name(i), *(f"{value:.3f}" for value in values), f"{each.size:,}"]
                rows.append(cells + ([] if self.truths is None else [f"{self.truths[i]:.3f}"]))
            head += ["true"] * (self.truths is not None)
            lines += ["", *text_table(head, rows)]
        return "\n".join([*lines, *(f"note: {printable(note)}" for note in self.notes)])

    def __repr__(self) -> str:
        return self.to_text()

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
    date: str | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
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
        Name of a measure in `headcount.accuracy.METRICS`.
    method : str, default="LEAP"
        Name of a method of `headcount.accuracy` that needs scores only.
    by, date : str, default=None
        Groups, as for `headcount.analyse`.
    level : float, default=0.95
        Probability that an interval contains the value.
    random_state : int, default=0
        Random seed.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.

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
    check_fraction("`level`", level)
    predictor = _predictor(method, metric, random_state)
    labelled = as_table(reference, "reference", separator)
    table = as_table(new, "new", separator)
    column = group_column(table, by, date)
    labelled.require([target], "which `target` names")
    if prediction is not None:
        for each in (labelled, table):
            each.require([prediction], "which `prediction` names")
    y = read_labels(labelled.read([target])[target], labelled.name)
    classes = np.unique(y)
    leave_out = () if prediction is None else (prediction,)
    columns = find_score_columns(labelled, target, classes.tolist(), leave_out)
    table.require(columns.names, "in which the reference has scores")
    known, pool = (
        Scored(columns.read(each), classes, _predictions(each, prediction, classes))
        for each in (labelled, table)
    )
    predictor.fit(known, y)
    groups = Groups.of(None, len(pool))
    if by is not None and column is not None:
        groups = read_groups(table, by, column)
    estimates = predictor.estimate_many(
        pool, groups.samples, metric, random_state=random_state, level=level
    )
    truths, note = None, ""
    if target in table.columns:
        labels, note = read_true_labels(table.read([target])[target], classes, table.name)
        if labels is not None:
            K, true = len(classes), np.searchsorted(classes, labels)
            codes = pool.codes_of(classes)
            truths = tuple(
                float(METRICS[metric](table_of(true[rows], codes[rows], K)))
                for rows in groups.samples
            )
    notes = tuple(filter(None, (note, groups.note)))
    return AccuracyAnalysis(groups.names, tuple(estimates), truths, notes)


def _predictor(method: str, metric: str, random_state: int) -> Predictor:
    known = {
        name.lower(): found
        for name, found in predictors().items()
        if found.info.input != "features"
    }
    if method.lower() not in known:
        names = ", ".join(sorted(found.__name__ for found in known.values()))
        raise HeadcountError(
            f"`method` is {method!r}; with scores alone it must be one of {names}."
        )
    if metric not in METRICS:
        raise HeadcountError(f"`metric` is {metric!r}; it must be one of {', '.join(METRICS)}.")
    predictor: Predictor = known[method.lower()]()
    if "random_state" in predictor.get_params(deep=False):
        predictor.set_params(random_state=random_state)
    return predictor


def _predictions(
    table: TableFile, prediction: str | None, classes: NDArray[Any]
) -> NDArray[Any] | None:
    if prediction is None:
        return None
    labels, _ = read_true_labels(table.read([prediction])[prediction], classes, table.name)
    if labels is None:
        raise HeadcountError(
            f"Column {prediction!r} of {table.name!r} lacks some predictions: fill them in, or "
            "leave `prediction` out."
        )
    return labels
