"""Models of tables: a fitted quantifier with the preparation of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from headcount._parameters import check_choice
from headcount._progress import track
from headcount.analysis.label_columns import read_labels
from headcount.analysis.score_columns import ScoreColumns, find_score_columns
from headcount.data.preparation import Preparation, prepare
from headcount.data.readers import TableFile, batch_rows
from headcount.errors import HeadcountError
from headcount.quantify import AutoQuantifier, OneVsRest
from headcount.quantify import method as find_method
from headcount.scores import Scored, Scorer
from headcount.scores.outputs import calling

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Labelled", "ScoreModel", "TableModel", "fit_score_model", "fit_table_model"]

# Features of methods that work on them are dense unless there are more of them.
_MOST_DENSE = 2000


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled items that a quantifier was fitted on.

    Attributes
    ----------
    items : ndarray or sparse matrix
        Features or posteriors.
    labels : ndarray of shape (n,)
        Their labels.
    """

    items: Any
    labels: NDArray[Any]


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
    """

    quantifier: Any
    target: str
    preparation: Preparation
    features: Any
    training: str
    source: Scorer | Labelled

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
        return replace(self, quantifier=quantifier.fit(self.source.items, self.source.labels))

    def items(self, table: TableFile) -> tuple[Any, dict[str, int]]:
        """Rows of a table as the quantifier takes them, made in batches.

        Parameters
        ----------
        table : TableFile
            A table with these columns.

        Returns
        -------
        items : Scored, array or sparse matrix
            Scores, or features where the method works on these.
        missing : dict of str to int
            Missing values by column.
        """
        table.require(self.columns, "which the training table has")
        missing = dict.fromkeys(self.columns, 0)
        made = []
        for batch in self._batches(table):
            for column in batch.iter_columns():
                missing[column.name] += column.null_count()
            made.append(self._of_batch(batch))
        if not made:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        if self.features is None:
            return Scored.concatenate(made), missing
        stack = sparse.vstack if sparse.issparse(made[0]) else np.concatenate
        return stack(made), missing

    def _batches(self, table: TableFile) -> Iterator[pl.DataFrame]:
        n_batches = -(-table.count_rows() // batch_rows(len(self.columns)))
        first_row = 0
        for batch in track(table.batches(self.columns), n_batches, f"Reading {table.name}"):
            yield self.preparation.conform(batch, table.name, first_row=first_row)
            first_row += len(batch)

    def _of_batch(self, batch: pl.DataFrame) -> Any:
        if self.features is None:
            counts_predictions = self.quantifier.takes == "labels"
            return self.quantifier.scorer_.score(batch, predictions=counts_predictions)
        with calling("The preparation of the columns"):
            return _dense(self.features.transform(batch))


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

    def items(self, table: TableFile) -> tuple[Scored, dict[str, int]]:
        """Posteriors of the rows of a table, none of them missing.

        Parameters
        ----------
        table : TableFile
            A table with these columns.

        Returns
        -------
        items : Scored
            The posteriors.
        missing : dict
            Empty.
        """
        table.require(self.columns, "which the labelled table has")
        return Scored(self.scores.read(table), self.quantifier.classes_), {}


def fit_table_model(
    table: TableFile,
    target: str,
    *,
    method: str = "auto",
    classifier: Any = "logistic",
    random_state: int = 0,
    leave_out: Mapping[str, str] | None = None,
) -> TableModel:
    """Fit a quantifier on a labelled table.

    Parameters
    ----------
    table : TableFile
        Table with labels and features.
    target : str
        Column of the labels.
    method : str, default="auto"
        Name of a method, or "auto" for several strong ones combined.
    classifier : {"logistic", "forest"} or scikit-learn classifier, default="logistic"
        Classifier of the prepared columns.
    random_state : int, default=0
        Random seed.
    leave_out : mapping of str to str, default=None
        Columns that must not become features, and why.

    Returns
    -------
    TableModel
    """
    if isinstance(classifier, str):
        named = {"logistic": _logistic, "forest": _forest}
        classifier = named[check_choice("`classifier`", classifier, tuple(named))](random_state)
    table.require([target], "which `target` names")
    frame = table.read()
    y = read_labels(frame[target], table.name)
    preparation = prepare(
        frame.drop(target), leave_out=dict(leave_out or {}), name=repr(table.name)
    )
    X = preparation.conform(frame, table.name)
    del frame
    pipeline = make_pipeline(preparation.pipeline(), classifier)
    n_classes = len(np.unique(y))
    quantifier = _quantifier(method, pipeline, n_classes, random_state)
    training = f"{table.name}, {len(X):,} rows"
    if quantifier is not None:
        # Out-of-fold scores for every method: the test of its assumption needs them.
        scorer = Scorer(pipeline, random_state=random_state).fit(X, y)
        quantifier.fit_scorer(scorer)
        return TableModel(quantifier, target, preparation, None, training, scorer)
    features = preparation.pipeline().fit(X)
    quantifier = _quantifier(method, None, n_classes, random_state)
    source = Labelled(_dense(features.transform(X)), y)
    quantifier.fit(source.items, source.labels)
    return TableModel(quantifier, target, preparation, features, training, source)


def fit_score_model(
    table: TableFile,
    target: str,
    *,
    method: str = "auto",
    random_state: int = 0,
    leave_out: Collection[str] = (),
) -> ScoreModel:
    """Fit a quantifier on a labelled table of posteriors.

    Parameters
    ----------
    table : TableFile
        Table with labels, and one column of posteriors per class or for one of two.
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
    table.require([target], "which `target` names")
    y = read_labels(table.read([target])[target], table.name)
    classes = np.unique(y).tolist()
    columns = find_score_columns(table, target, classes, leave_out)
    source = Labelled(columns.read(table), y)
    quantifier = _quantifier(method, LogisticRegression(), len(classes), random_state)
    if quantifier is None or not quantifier.takes_scores:
        raise HeadcountError(
            f"`method` is {method!r}, which works on features, not on scores: choose another."
        )
    quantifier.fit(Scored(source.items), y)
    return ScoreModel(quantifier, target, columns, f"{table.name}, {len(y):,} rows", source)


def _quantifier(method: str, classifier: Any, n_classes: int, random_state: int) -> Any:
    """Quantifier of a name; None if a classifier is given that it has no parameter for."""
    if method.lower() == "auto":
        return AutoQuantifier(classifier, random_state=random_state)
    try:
        chosen = find_method(method)
    except HeadcountError as error:
        raise HeadcountError(f"`method`{str(error).removeprefix('name')}") from None
    known = inspect.signature(chosen).parameters
    options: dict[str, Any] = {}
    if "random_state" in known:
        options["random_state"] = random_state
    if classifier is not None:
        if "classifier" not in known:
            return None
        options["classifier"] = classifier
    quantifier = chosen(**options)
    if n_classes > 2 and chosen.info.multiclass == "one-vs-rest":
        return OneVsRest(quantifier)
    return quantifier


def _dense(features: Any) -> Any:
    if sparse.issparse(features):
        return features.toarray() if features.shape[1] <= _MOST_DENSE else features.tocsr()
    return features


def _logistic(random_state: int) -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def _forest(random_state: int) -> RandomForestClassifier:
    return RandomForestClassifier(200, min_samples_leaf=3, n_jobs=-1, random_state=random_state)
