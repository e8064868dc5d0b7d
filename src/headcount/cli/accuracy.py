"""From tables of scores to accuracy: ``headcount accuracy``."""

from __future__ import annotations

import json as json_text
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headcount.accuracy import AccuracyEstimate, Predictor
    from headcount.cli.grouping import Groups
    from headcount.data.readers import TableFile

__all__ = ["accuracy"]

_As = typer.Option
_ALL = "all"


def accuracy(
    new: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table of new items with the model's scores."),
    ],
    reference: Annotated[
        Path,
        _As(
            "--reference",
            help="Table of labelled items the model was not trained on, with its posteriors in "
            "a column for each class, or in one for the positive class.",
        ),
    ],
    target: Annotated[str, _As("--target", help="Column of the labels, in the reference.")],
    prediction: Annotated[
        str | None,
        _As(
            "--prediction",
            help="Column of the predicted classes, in both tables; the likeliest by default.",
        ),
    ] = None,
    metric: Annotated[
        str, _As("--metric", help="accuracy, f1, precision, recall, balanced_accuracy, mcc ...")
    ] = "accuracy",
    method: Annotated[
        str,
        _As("--method", help="LEAP and others for a new mix of classes, CBPE for new inputs."),
    ] = "LEAP",
    by: Annotated[
        str | None,
        _As("--by", help="Also by group: a column, or year, quarter, month, week or day."),
    ] = None,
    date: Annotated[
        str | None, _As("--date", help="Column of the dates that --by month goes by.")
    ] = None,
    level: Annotated[float, _As("--level", help="Of the intervals.")] = 0.95,
    seed: Annotated[int, _As("--seed", min=0, help="Of all that is drawn at random.")] = 0,
    separator: Annotated[
        str | None, _As("--separator", help="Between columns of CSV files; a comma by default.")
    ] = None,
    json: Annotated[bool, _As("--json", help="Print JSON, for machines.")] = False,
) -> str:
    """Estimate how well a model does on new items nobody has labelled."""
    from headcount._parameters import check_fraction
    from headcount.data.readers import open_table

    check_fraction("--level", level)
    signs = None if separator is None else separator.replace("\\t", "\t")
    predictor = _predictor(method, metric, seed)
    tables = _Tables(
        open_table(reference, separator=signs),
        open_table(new, separator=signs),
        target,
        prediction,
    )
    groups = _groups(tables.new, by, date)
    found = _estimated(tables, predictor, metric, groups, level, seed)
    return found.in_json() if json else found.in_words()


@dataclass(frozen=True, eq=False)
class _Tables:
    """Both tables, and the columns that are no scores."""

    reference: TableFile
    new: TableFile
    target: str
    prediction: str | None

    def check(self) -> None:
        self.reference.require([self.target], "which --target names")
        if self.prediction is not None:
            for table in (self.reference, self.new):
                table.require([self.prediction], "which --prediction names")

    def score_columns(self, classes: list[Any]) -> tuple[tuple[str, ...], int]:
        """Columns of the scores, and the class of the score if there is one only."""
        from headcount.cli.models import _score_columns

        shown: Any = SimpleNamespace(
            name=self.reference.name,
            columns=[name for name in self.reference.columns if name != self.prediction],
        )
        columns, positive = _score_columns(shown, self.target, classes)
        self.new.require(list(columns), "in which the reference has scores")
        return columns, positive

    def predictions(self, table: TableFile, classes: Any) -> Any:
        from headcount.cli.labels import true_labels
        from headcount.errors import HeadcountError

        if self.prediction is None:
            return None
        labels, _ = true_labels(
            table.read([self.prediction])[self.prediction], classes, table.name
        )
        if labels is None:
            raise HeadcountError(
                f"Column {self.prediction!r} of {table.name!r} lacks some predictions: fill "
                "them in, or leave --prediction out."
            )
        return labels


@dataclass(frozen=True, eq=False)
class _Found:
    """Estimates by group, and what came out where labels are known."""

    names: list[str]
    estimates: list[AccuracyEstimate]
    truths: list[float] | None
    notes: tuple[str, ...]

    def in_json(self) -> str:
        rows = []
        for number, (name, estimate) in enumerate(zip(self.names, self.estimates, strict=True)):
            true = None if self.truths is None else self.truths[number]
            rows.append({"group": name, **estimate.to_dict(), "true": true})
        content = {**rows[0], "groups": rows[1:], "notes": list(self.notes)}
        return json_text.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)

    def in_words(self) -> str:
        from headcount.cli.writing import lay_out, printable

        first = self.estimates[0]
        said = [printable(line) for line in first.to_text().split("\n")]
        if self.truths is not None:
            said.append(f"by the labels of the new table: {self.truths[0]:.3f}")
        if len(self.names) > 1:
            head = ["group", first.metric, f"{100 * first.level:.6g}% from", "to", "items"]
            rows = []
            for number, (name, each) in enumerate(zip(self.names, self.estimates, strict=True)):
                low, high = each.interval()
                cells = [name, *(f"{value:.3f}" for value in (each.value, low, high))]
                cells.append(f"{each.size:,}")
                if self.truths is not None:
                    cells.append(f"{self.truths[number]:.3f}")
                rows.append(cells)
            head += ["true"] * (self.truths is not None)
            said += ["", lay_out(head, rows, 1)]
        said += [f"note: {printable(note)}" for note in self.notes]
        return "\n".join(said)


def _predictor(method: str, metric: str, seed: int) -> Predictor:
    from headcount.accuracy import METRICS, predictors
    from headcount.errors import HeadcountError

    known = {
        name.lower(): made
        for name, made in predictors().items()
        if made.info.input != "features"
    }
    if method.lower() not in known:
        names = ", ".join(sorted(made.__name__ for made in known.values()))
        raise HeadcountError(
            f"--method is {method!r}; with scores alone it must be one of {names}."
        )
    if metric not in METRICS:
        raise HeadcountError(f"--metric is {metric!r}; it must be one of {', '.join(METRICS)}.")
    made: Predictor = known[method.lower()]()
    if "random_state" in made.get_params(deep=False):
        made.set_params(random_state=seed)
    return made


def _groups(table: TableFile, by: str | None, date: str | None) -> Groups | None:
    from headcount.cli.grouping import find_column, read_groups

    column = find_column(table, by, date)
    return None if by is None or column is None else read_groups(table, by, column)


def _estimated(
    tables: _Tables,
    predictor: Predictor,
    metric: str,
    groups: Groups | None,
    level: float,
    seed: int,
) -> _Found:
    import numpy as np

    from headcount.accuracy import METRICS, table_of
    from headcount.cli.labels import labels_of, true_labels
    from headcount.cli.models import read_scores
    from headcount.scores import Scored

    tables.check()
    y = labels_of(tables.reference.read([tables.target])[tables.target], tables.reference.name)
    classes = np.unique(y)
    columns, positive = tables.score_columns(classes.tolist())
    known = read_scores(tables.reference, columns, positive)
    own = tables.predictions(tables.reference, classes)
    predictor.fit(Scored(known, predictions=own), y)
    scores = read_scores(tables.new, columns, positive)
    said = tables.predictions(tables.new, classes)
    names, samples = _samples(len(scores), groups)
    pool = Scored(scores, predictions=said)
    estimates = predictor.estimate_many(pool, samples, metric, random_state=seed, level=level)
    truths, note = None, ""
    if tables.target in tables.new.columns:
        labels, note = true_labels(
            tables.new.read([tables.target])[tables.target], classes, tables.new.name
        )
        if labels is not None:
            K, true = len(classes), np.searchsorted(classes, labels)
            codes = scores.argmax(axis=1) if said is None else np.searchsorted(classes, said)
            truths = [
                float(METRICS[metric](table_of(true[rows], codes[rows], K))) for rows in samples
            ]
    notes = tuple(filter(None, (note, groups.note if groups else "")))
    return _Found(names, estimates, truths, notes)


def _samples(n: int, groups: Groups | None) -> tuple[list[str], list[Any]]:
    """All rows, then those of each group."""
    import numpy as np

    names, samples = [_ALL], [np.arange(n)]
    if groups is not None:
        for group in groups.order or sorted(set(groups.names.tolist())):
            names.append(str(group))
            samples.append(np.flatnonzero(groups.names == group))
    return names, samples
