"""Models of tables: a fitted quantifier with the preparation of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from headcount.analysis.class_order import are_ordered, order_note
from headcount.analysis.classifiers import best_scorer
from headcount.analysis.label_columns import LabelledItems
from headcount.analysis.score_columns import ScoreColumns, find_score_columns
from headcount.data.features import dense_if_narrow
from headcount.data.preparation import Preparation, Tally, prepare, prepared_batches
from headcount.data.readers import TableFile
from headcount.deep.base import NetworkQuantifier
from headcount.errors import HeadcountError
from headcount.quantify import method as find_method
from headcount.quantify.auto import AutoQuantifier
from headcount.quantify.base import ScoringPlan
from headcount.quantify.one_vs_rest import OneVsRest
from headcount.scores import CALIBRATIONS, Scored, Scorer
from headcount.scores.outputs import calling

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Labelled",
    "ScoreModel",
    "TableModel",
    "fit_score_model",
    "fit_table_model",
    "named_quantifier",
]


# Rows of posteriors of two classes that are read at a time, if they are not kept. Cells of more
# classes take memory for each row.
_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled items that a quantifier was fitted on.

    Attributes
    ----------
    items : ndarray or sparse matrix
        Features or posteriors.
    labels : ndarray of shape (n,)
        Their labels.
    arrays : dict of str to ndarray
        Weights of a network that was trained on them; see `NetworkQuantifier.trained_arrays`.
    """

    items: Any
    labels: NDArray[Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class TableModel:
    """A quantifier for tables with the columns of the training table.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    target : str
        Column of the labels.
    preparation : Preparation
        Kinds of the columns.
    features : ColumnTransformer or None
        Fitted, for methods without a classifier; those with one have it in a pipeline.
    training : str
        Name of the labelled table and its number of rows.
    source : Scorer or Labelled
        The fitted scorer, or the labelled features, that the quantifier was fitted on.
    why_classifier : str
        Reason for the choice of the classifier; empty if the caller chose it.
    """

    quantifier: Any
    target: str
    preparation: Preparation
    features: Any
    training: str
    source: Scorer | Labelled
    why_classifier: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return self.preparation.used

    def column_facts(self) -> dict[str, str]:
        """Treatment of each column, in words."""
        return self.preparation.facts()

    def refitted(self) -> TableModel:
        """Fit an unfitted copy of the quantifier on `source`, as it was fitted first.

        Returns
        -------
        TableModel
        """
        quantifier = clone(self.quantifier)
        if isinstance(self.source, Scorer):
            return replace(self, quantifier=quantifier.fit_scorer(self.source))
        source: Any = self.source
        if isinstance(quantifier, NetworkQuantifier):
            quantifier.fit_trained(source.items, source.labels, source.arrays)
        else:
            quantifier.fit(source.items, source.labels)
        return replace(self, quantifier=quantifier)

    def choice(self) -> str:
        """Reasons for what the caller did not choose: the classifier, an order of classes."""
        return " ".join(filter(None, [self.why_classifier, _said_of_order(self.quantifier)]))

    def items(self, table: TableFile, dates: str | None = None) -> tuple[Any, Tally]:
        """Rows of a table as the quantifier takes them, made in batches.

        Parameters
        ----------
        table : TableFile
            A table with these columns.
        dates : {"day-first", "month-first"}, default=None
            Order of day and month, where both are possible.

        Returns
        -------
        items : Scored, array or sparse matrix
            Scores, or features where the method works on these.
        tally : Tally
            Numbers of values that could not be used as they are.
        """
        tally = Tally()
        made = [items for items, _ in self.item_batches(table, dates, tally)]
        if not made:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        tally.check(table.name)
        if self.features is None:
            return Scored.concatenate(made), tally
        stack = sparse.vstack if sparse.issparse(made[0]) else np.concatenate
        return stack(made), tally

    def item_batches(
        self, table: TableFile, dates: str | None, tally: Tally, beside: str | None = None
    ) -> Iterator[tuple[Any, pl.Series | None]]:
        """Rows of a table as the quantifier takes them, batch by batch.

        Parameters
        ----------
        table : TableFile
            A table with these columns.
        dates : {"day-first", "month-first"} or None
            Order of day and month, where both are possible.
        tally : Tally
            Numbers of values that could not be used as they are, which are added to.
        beside : str, default=None
            Another column to read.

        Yields
        ------
        items : Scored, array or sparse matrix
        values : polars.Series or None
            The other column.
        """
        for batch, values in prepared_batches(self.preparation, table, dates, tally, beside):
            yield self._of_batch(batch), values

    def _of_batch(self, batch: pl.DataFrame) -> Any:
        if self.features is None:
            counts_predictions = self.quantifier.fitted_.takes == "labels"
            return self.quantifier.fitted_.scorer.score(batch, predictions=counts_predictions)
        with calling("The preparation of the columns"):
            return dense_if_narrow(self.features.transform(batch))


@dataclass(frozen=True)
class ScoreModel:
    """A quantifier for tables of posteriors.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    target : str
        Column of the labels.
    scores : ScoreColumns
        Columns of the posteriors.
    training : str
        Name of the labelled table and its number of rows.
    source : Labelled
        The labelled posteriors that the quantifier was fitted on.
    """

    quantifier: Any
    target: str
    scores: ScoreColumns
    training: str
    source: Labelled

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return self.scores.names

    def column_facts(self) -> dict[str, str]:
        """Treatment of each column, in words."""
        labels = self.quantifier.classes_.tolist()
        if len(self.columns) == 1:
            labels = [labels[self.scores.positive]]
        named = zip(self.columns, labels, strict=True)
        return {column: f"posterior of class {label!r}" for column, label in named}

    def refitted(self) -> ScoreModel:
        """Fit an unfitted copy of the quantifier on `source`, as it was fitted first.

        Returns
        -------
        ScoreModel
        """
        quantifier = clone(self.quantifier)
        scored = Scored(self.source.items)
        return replace(self, quantifier=quantifier.fit(scored, self.source.labels))

    def choice(self) -> str:
        """Class that a single column of scores is of, or the order of the classes."""
        if len(self.columns) > 1:
            return _said_of_order(self.quantifier)
        label = self.quantifier.classes_.tolist()[self.scores.positive]
        return f"Column {self.columns[0]} was taken for the score of class {label!r}."

    def items(self, table: TableFile, dates: str | None = None) -> tuple[Scored, Tally]:
        """Posteriors of the rows of a table, none of them missing.

        Parameters
        ----------
        table : TableFile
            A table with these columns.
        dates : {"day-first", "month-first"}, default=None
            No effect, as there are no dates.

        Returns
        -------
        items : Scored
            The posteriors.
        tally : Tally
            Empty.
        """
        table.require(self.columns, "which the labelled table has")
        items = Scored(self.scores.read(table), self.quantifier.classes_)
        return items, Tally(len(items))

    def item_batches(
        self, table: TableFile, dates: str | None, tally: Tally, beside: str | None = None
    ) -> Iterator[tuple[Scored, pl.Series | None]]:
        """Posteriors of the rows of a table, batch by batch.

        Parameters
        ----------
        table : TableFile
            A table with these columns.
        dates : {"day-first", "month-first"} or None
            No effect, as there are no dates.
        tally : Tally
            Gets the number of rows.
        beside : str, default=None
            Another column to read.

        Yields
        ------
        items : Scored
        values : polars.Series or None
            The other column.
        """
        table.require(self.columns, "which the labelled table has")
        K = len(self.quantifier.classes_)
        rows = _ROWS_AT_ONCE if K == 2 else max(1, _ROWS_AT_ONCE // K)
        for posteriors, values in self.scores.read_batches(table, beside, rows):
            tally.n_rows += len(posteriors)
            yield Scored.unchecked(posteriors, self.quantifier.classes_), values


def fit_table_model(
    labelled: LabelledItems,
    target: str,
    *,
    method: str = "auto",
    classifier: Any = "logistic",
    random_state: int = 0,
    leave_out: Mapping[str, str] | None = None,
    dates: str | None = None,
) -> TableModel:
    """Fit a quantifier on a labelled table.

    Parameters
    ----------
    labelled : LabelledItems
        Items with labels and features.
    target : str
        Column of the labels.
    method : str, default="auto"
        Name of a method, or "auto" for several strong ones combined.
    classifier : {"logistic", "forest", "boosting", "auto"} or classifier, default="logistic"
        Classifier of the prepared columns; "auto" takes the one with the least log loss on
        items that it was not trained on.
    random_state : int, default=0
        Random seed.
    leave_out : mapping of str to str, default=None
        Columns that must not become features, and why.
    dates : {"day-first", "month-first"}, default=None
        Order of day and month, where both are possible.

    Returns
    -------
    TableModel
    """
    frame, y = labelled.table.read(), labelled.labels
    preparation = prepare(
        frame, leave_out=dict(leave_out or {}), name=repr(labelled.table.name), dates=dates
    )
    X = preparation.conform(frame)
    del frame
    quantifier = named_quantifier(method, LogisticRegression(), np.unique(y), random_state)
    description = labelled.description
    if quantifier is None:
        features = preparation.pipeline().fit(X)
        quantifier = named_quantifier(method, None, np.unique(y), random_state)
        source = Labelled(dense_if_narrow(features.transform(X)), y)
        quantifier.fit(source.items, source.labels)
        if isinstance(quantifier, NetworkQuantifier):
            source = replace(source, arrays=quantifier.trained_arrays())
        return TableModel(quantifier, target, preparation, features, description, source)
    # Out-of-fold scores for every method: the test of its assumption needs them.
    scorer, why = best_scorer(preparation, classifier, X, y, random_state)
    ordered = _is_auto(method) and are_ordered(
        scorer.classes_, scorer.posteriors_, scorer.codes_
    )
    quantifier = named_quantifier(
        method, scorer.classifier, np.unique(y), random_state, ordered
    )
    quantifier.fit_scorer(scorer)
    return TableModel(quantifier, target, preparation, None, description, scorer, why)


def fit_score_model(
    labelled: LabelledItems,
    target: str,
    *,
    method: str = "auto",
    random_state: int = 0,
    leave_out: Collection[str] = (),
) -> ScoreModel:
    """Fit a quantifier on a labelled table of posteriors.

    Parameters
    ----------
    labelled : LabelledItems
        Items with labels, and one column of posteriors per class or for one of two.
    target : str
        Column of the labels.
    method : str, default="auto"
        Name of a method, or "auto" for several strong ones combined.
    random_state : int, default=0
        Random seed.
    leave_out : collection of str, default=()
        Columns that do not hold posteriors.

    Returns
    -------
    ScoreModel
    """
    table, y = labelled.table, labelled.labels
    classes = np.unique(y)
    columns = find_score_columns(table, target, classes.tolist(), leave_out)
    source = Labelled(columns.read(table), y)
    ordered = are_ordered(classes, source.items, np.searchsorted(classes, y))
    quantifier = named_quantifier(method, LogisticRegression(), classes, random_state, ordered)
    if quantifier is None or not ScoringPlan(quantifier).takes_scores:
        raise HeadcountError(
            f"`method` is {method!r}, which works on features, not on scores: choose another."
        )
    quantifier.fit(Scored(source.items), y)
    return ScoreModel(quantifier, target, columns, labelled.description, source)


def _said_of_order(quantifier: Any) -> str:
    if not isinstance(quantifier, AutoQuantifier):
        return ""
    return order_note(quantifier.classes_, quantifier.ordered)


def named_quantifier(
    method: str,
    classifier: Any,
    classes: NDArray[Any],
    random_state: int,
    ordered: bool = False,
) -> Any:
    """Quantifier of a name; None if a classifier is given and it works on features.

    Parameters
    ----------
    method : str
        Name of a method, or "auto" for several strong ones combined.
    classifier : classifier or None
        Its classifier.
    classes : ndarray of shape (K,)
        The classes.
    random_state : int
        Random seed.
    ordered : bool, default=False
        True if the classes are ordered, for "auto".

    Returns
    -------
    Quantifier or None
    """
    if _is_auto(method):
        return AutoQuantifier(classifier, ordered=ordered, random_state=random_state)
    chosen, options = _named_method(method)
    known = inspect.signature(chosen).parameters
    if "random_state" in known:
        options["random_state"] = random_state
    if classifier is not None:
        if "classifier" not in known or chosen.info.input == "features":
            return None
        options["classifier"] = classifier
    quantifier = chosen(**options)
    if len(classes) > 2 and chosen.info.multiclass == "one-vs-rest":
        return OneVsRest(quantifier)
    return quantifier


def _is_auto(method: str) -> bool:
    return method.lower() == "auto"


def _named_method(name: str) -> tuple[Any, dict[str, Any]]:
    """Class and settings of a name as we print it, such as SLD(bcts) or SLD-BCTS."""
    try:
        return find_method(name), {}
    except HeadcountError as error:
        refused = HeadcountError(f"`method`{str(error).removeprefix('name')}")
    base, _, setting = name.rstrip(")").replace("-", "(").replace("_", "(").rpartition("(")
    if base and setting.lower() in CALIBRATIONS:
        try:
            chosen = find_method(base)
        except HeadcountError:
            raise refused from None
        if "calibration" in inspect.signature(chosen).parameters:
            return chosen, {"calibration": setting.lower()}
    raise refused
