"""What is learnt from a labelled table, and what it says of another one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import headcount as hc
from headcount._parameters import check_choice
from headcount._progress import track
from headcount.cli.labels import labels_of
from headcount.cli.scored import all_scores
from headcount.data.preparation import Preparation, prepare
from headcount.data.readers import TableFile, batch_rows
from headcount.errors import HeadcountError
from headcount.scores import check_scores

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ScoreModel", "TableModel", "fit_scores", "fit_table"]

# Features of methods that work on them are dense unless there are more of them.
_MOST_DENSE = 2000


@dataclass(frozen=True)
class TableModel:
    """A quantifier that takes tables like the one it has learnt from.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    target : str
        Column of the labels.
    preparation : Preparation
        What the columns are.
    features : ColumnTransformer or None
        Fitted, for methods without a classifier; those with one have it in a pipeline.
    training : str
        Of the labelled table: name and number of rows.
    """

    quantifier: Any
    target: str
    preparation: Preparation
    features: Any
    training: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return self.preparation.used

    def facts(self) -> dict[str, str]:
        """What is done with each column."""
        return self.preparation.facts()

    def items(self, table: TableFile) -> tuple[Any, bool, dict[str, int]]:
        """Scores or features of a table's rows, made a batch at a time.

        Returns
        -------
        items : array
            Scores as `taking_scores` wants them, or features where the method works on these.
        scored : bool
            Which of the two.
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
        stack = sparse.vstack if sparse.issparse(made[0]) else np.concatenate
        return stack(made), self.features is None, missing

    def _batches(self, table: TableFile) -> Iterator[pl.DataFrame]:
        n_batches = -(-table.count_rows() // batch_rows(len(self.columns)))
        first_row = 0
        for batch in track(table.batches(self.columns), n_batches, f"Reading {table.name}"):
            yield self.preparation.conform(batch, table.name, first_row=first_row)
            first_row += len(batch)

    def _of_batch(self, batch: pl.DataFrame) -> Any:
        if self.features is None:
            return all_scores(self.quantifier.scorer_, batch)
        return _dense(self.features.transform(batch))


@dataclass(frozen=True)
class ScoreModel:
    """A quantifier that takes tables of posteriors.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted.
    target : str
        Column of the labels.
    columns : tuple of str
        Columns of the posteriors, one a class, or the one of a single class.
    positive : int
        Which class the single column is of.
    training : str
        Of the labelled table: name and number of rows.
    """

    quantifier: Any
    target: str
    columns: tuple[str, ...]
    positive: int
    training: str

    def facts(self) -> dict[str, str]:
        """What is done with each column."""
        labels = self.quantifier.classes_.tolist()
        if len(self.columns) == 1:
            labels = [labels[self.positive]]
        named = zip(self.columns, labels, strict=True)
        return {column: f"posterior of class {label!r}" for column, label in named}

    def items(self, table: TableFile) -> tuple[NDArray[np.float64], bool, dict[str, int]]:
        """The posteriors, as `TableModel.items` gives them."""
        table.require(self.columns, "which the labelled table has")
        return read_scores(table, self.columns, self.positive), True, {}


def fit_table(
    table: TableFile,
    target: str,
    *,
    method: str = "auto",
    classifier: str = "logistic",
    seed: int = 0,
    leave_out: dict[str, str] | None = None,
) -> TableModel:
    """Learn from a labelled table.

    Parameters
    ----------
    table : TableFile
        With labels and features.
    target : str
        Column of the labels.
    method : str, default="auto"
        Name of a method, or "auto" for the best of a few strong ones.
    classifier : {"logistic", "forest"}, default="logistic"
        What tells the classes apart.
    seed : int, default=0
        Of all that is drawn at random.
    leave_out : dict of str to str, default=None
        Columns that must not become features, and why.

    Returns
    -------
    TableModel
    """
    check_choice("--classifier", classifier, tuple(_CLASSIFIERS))
    table.require([target], "which --target names")
    frame = table.read()
    y = labels_of(frame[target], table.name)
    preparation = prepare(frame.drop(target), leave_out=leave_out, name=repr(table.name))
    X = preparation.conform(frame, table.name)
    del frame
    judge = make_pipeline(preparation.pipeline(), _CLASSIFIERS[classifier](seed))
    quantifier = make_quantifier(method, judge, len(np.unique(y)), seed)
    training = f"{table.name}, {len(X):,} rows"
    if quantifier is not None:
        # Out-of-fold scores are made for every method: the test of its assumption needs them.
        scorer = quantifier._scorer().fit(X, y)
        return TableModel(quantifier.fit_scorer(scorer), target, preparation, None, training)
    features = preparation.pipeline().fit(X)
    quantifier = make_quantifier(method, None, len(np.unique(y)), seed)
    quantifier.fit(_dense(features.transform(X)), y)
    return TableModel(quantifier, target, preparation, features, training)


def fit_scores(
    table: TableFile, target: str, *, method: str = "auto", seed: int = 0
) -> ScoreModel:
    """Learn from a labelled table of posteriors.

    Parameters
    ----------
    table : TableFile
        With labels, and a column of posteriors for each class or for one of two.
    target : str
        Column of the labels.
    method, seed
        As for `fit_table`.

    Returns
    -------
    ScoreModel
    """
    table.require([target], "which --target names")
    y = labels_of(table.read([target])[target], table.name)
    classes = np.unique(y).tolist()
    columns, positive = _score_columns(table, target, classes)
    scores = read_scores(table, columns, positive)
    quantifier = make_quantifier(method, LogisticRegression(), len(classes), seed)
    if quantifier is None or quantifier._why_no_scores():
        raise HeadcountError(
            f"--method is {method!r}, which works on features, not on scores: choose another."
        )
    quantifier.fit_scores(scores, y)
    return ScoreModel(quantifier, target, columns, positive, f"{table.name}, {len(y):,} rows")


def make_quantifier(method: str, classifier: Any, n_classes: int, seed: int) -> Any:
    """The method of that name; None if it has no use for the classifier."""
    if method.lower() == "auto":
        return hc.AutoQuantifier(classifier, random_state=seed)
    try:
        chosen = hc.method(method)
    except HeadcountError as error:
        said = str(error).removeprefix("name is").replace("hc.methods()", "headcount methods")
        raise HeadcountError(f"--method is{said}") from None
    known = inspect.signature(chosen).parameters
    options: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    if classifier is not None:
        if "classifier" not in known:
            return None
        options["classifier"] = classifier
    try:
        quantifier = chosen(**options)
    except TypeError:
        raise HeadcountError(
            f"--method is {method!r}, which is made of other methods: choose one of these, or "
            "use it from Python."
        ) from None
    if n_classes > 2 and chosen.info.multiclass == "one-vs-rest":
        return hc.OneVsRest(quantifier)
    return quantifier


def read_scores(
    table: TableFile, columns: tuple[str, ...], positive: int
) -> NDArray[np.float64]:
    """Posteriors from their columns, read and checked a batch at a time."""
    from headcount.data.column_kinds import Column

    made, first_row = [], 0
    checks = [Column(name, "number", "", 0, 0) for name in columns]
    for batch in table.batches(columns):
        numbers = [each.conform(batch[each.name], table.name, first_row) for each in checks]
        for column in numbers:
            if column.null_count():
                row = first_row + int(column.is_null().arg_max() or 0) + 1
                raise HeadcountError(
                    f"{table.name!r} has no score in column {column.name!r} (row {row:,}): "
                    "leave out items without scores."
                )
        first_row += len(batch)
        made.append(_posteriors(np.column_stack(numbers), positive, table.name))
    if not made:
        raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
    return np.concatenate(made)


def _posteriors(given: NDArray[np.float64], positive: int, name: str) -> NDArray[np.float64]:
    if given.shape[1] == 1:
        both = check_scores(given[:, 0], 2, name=repr(name))
        return np.ascontiguousarray(both if positive == 1 else both[:, ::-1])
    return check_scores(given, given.shape[1], name=repr(name))


def _score_columns(
    table: TableFile, target: str, classes: list[Any]
) -> tuple[tuple[str, ...], int]:
    names = tuple(map(str, classes))
    others = [name for name in table.columns if name != target]
    there = [name for name in names if name in others]
    if len(there) == len(names):
        return names, 1
    if len(names) == 2 and len(there) == 1:
        return (there[0],), names.index(there[0])
    if len(names) == 2 and len(others) == 1:
        return (others[0],), 1
    missing = [name for name in names if name not in others]
    raise HeadcountError(
        f"{table.name!r} has no column for the class {missing[0]!r}, which column {target!r} "
        f"holds: its columns are {', '.join(map(repr, table.columns[:8]))}; name a column of "
        "posteriors after each class."
    )


def _dense(features: Any) -> Any:
    if sparse.issparse(features):
        return features.toarray() if features.shape[1] <= _MOST_DENSE else features.tocsr()
    return features


_CLASSIFIERS = {
    "logistic": lambda seed: LogisticRegression(max_iter=1000),
    "forest": lambda seed: RandomForestClassifier(
        200, min_samples_leaf=3, n_jobs=-1, random_state=seed
    ),
}
