"""Models of tables: a fitted quantifier with the preparation of its columns."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount.estimates.history import History
from headcount.items.arrays import Scored, dense_if_narrow
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.conditioned import AutoQuantifier
from headcount.quantifiers.deep.quantifiers import NetworkQuantifier
from headcount.quantifiers.from_history import following
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.quantifiers.registry import method as find_method
from headcount.scores.calibration import CALIBRATIONS
from headcount.scores.folds import calling
from headcount.scores.scorer import Scorer
from headcount.tables.preparation import Preparation, Tally, prepare, prepared_batches
from headcount.tables.readers import TableFile
from headcount.tables.roles import LabelledItems, ScoreColumns, find_score_columns

# Rows of posteriors of two classes that are read at a time, if they are not kept. Cells of more
# classes take memory for each row.
_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class ModelItems:
    """Labelled items that a quantifier was fitted on."""

    items: Any
    labels: Array
    arrays: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class TableModel:
    """A quantifier for tables with the columns of the training table."""

    quantifier: Any
    target: str
    preparation: Preparation
    features: Any
    training: str
    source: Scorer | ModelItems
    why_classifier: str = ""
    history: History | None = None
    why_history: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return self.preparation.used

    def column_facts(self) -> dict[str, str]:
        """Treatment of each column, in words."""
        return self.preparation.facts()

    def refitted(self) -> TableModel:
        """Fit an unfitted copy of the quantifier on `source`, as it was fitted first."""
        quantifier = clone(self.quantifier)
        source: Any = self.source
        if isinstance(source, Scorer):
            quantifier.fit_scorer(source)
        elif isinstance(quantifier, NetworkQuantifier):
            quantifier.fit_trained(source.items, source.labels, source.arrays)
        else:
            quantifier.fit(source.items, source.labels)
        return replace(self, quantifier=following(quantifier, self.history))

    def choice(self) -> str:
        """Reasons for what the caller did not choose: the classifier, an order of classes."""
        return " ".join(filter(None, [self.why_classifier, _said_of_order(self.quantifier)]))

    def items(self, table: TableFile, date_order: str | None = None) -> tuple[Any, Tally]:
        """Rows of a table as the quantifier takes them, made in batches."""
        tally = Tally()
        batches = [items for items, _ in self.item_batches(table, date_order, tally)]
        if not batches:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        tally.check(table.name)
        if self.features is None:
            return Scored.concatenate(batches), tally
        stack = sparse.vstack if sparse.issparse(batches[0]) else np.concatenate
        return stack(batches), tally

    def item_batches(
        self, table: TableFile, date_order: str | None, tally: Tally, beside: str | None = None
    ) -> Iterator[tuple[Any, pl.Series | None]]:
        """Rows of a table as the quantifier takes them, batch by batch."""
        for batch, values in prepared_batches(
            self.preparation, table, date_order, tally, beside
        ):
            yield self._of_batch(batch), values

    def _of_batch(self, batch: pl.DataFrame) -> Any:
        if self.features is None:
            counts_predictions = self.quantifier.fitted_.takes == "labels"
            return self.quantifier.fitted_.scorer.score(batch, predictions=counts_predictions)
        with calling("The preparation of the columns"):
            return dense_if_narrow(self.features.transform(batch))


@dataclass(frozen=True)
class ScoreModel:
    """A quantifier for tables of posteriors."""

    quantifier: Any
    target: str
    scores: ScoreColumns
    training: str
    source: ModelItems
    history: History | None = None
    why_history: str = ""

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
        """Fit an unfitted copy of the quantifier on `source`, as it was fitted first."""
        quantifier = clone(self.quantifier)
        scored = Scored(self.source.items)
        quantifier.fit(scored, self.source.labels)
        return replace(self, quantifier=following(quantifier, self.history))

    def choice(self) -> str:
        """Class that a single column of scores is of, or the order of the classes."""
        if len(self.columns) > 1:
            return _said_of_order(self.quantifier)
        label = self.quantifier.classes_.tolist()[self.scores.positive]
        return f"Column {self.columns[0]} was taken for the score of class {label!r}."

    def items(self, table: TableFile, date_order: str | None = None) -> tuple[Scored, Tally]:
        """Posteriors of the rows of a table, none of them missing."""
        table.require(self.columns, "which the labelled table has")
        items = Scored(self.scores.read(table), self.quantifier.classes_)
        return items, Tally(len(items))

    def item_batches(
        self, table: TableFile, date_order: str | None, tally: Tally, beside: str | None = None
    ) -> Iterator[tuple[Scored, pl.Series | None]]:
        """Posteriors of the rows of a table, batch by batch."""
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
    date_order: str | None = None,
) -> TableModel:
    """Fit a quantifier on a labelled table; `leave_out` are columns that are not features."""
    frame, y = labelled.table.read(), labelled.labels
    preparation = prepare(
        frame, leave_out=leave_out, name=repr(labelled.table.name), dates=date_order
    )
    X = preparation.conform(frame)
    del frame
    named, classes = NamedMethod.of(method), np.unique(y)
    description = labelled.description
    if not named.uses_classifier:
        features = preparation.pipeline().fit(X)
        quantifier = named.quantifier(classes, random_state)
        source = ModelItems(dense_if_narrow(features.transform(X)), y)
        quantifier.fit(source.items, source.labels)
        if isinstance(quantifier, NetworkQuantifier):
            source = replace(source, arrays=quantifier.trained_arrays())
        return TableModel(quantifier, target, preparation, features, description, source)
    # Out-of-fold scores for every method: the test of its assumption needs them.
    scorer, why = best_scorer(preparation, classifier, X, y, random_state)
    ordered = named.is_auto and are_ordered(scorer.classes_, scorer.posteriors_, scorer.codes_)
    quantifier = named.quantifier(classes, random_state, scorer.classifier, ordered)
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
    """Fit a quantifier on a labelled table of posteriors, in all columns but `leave_out`."""
    table, y = labelled.table, labelled.labels
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)
    columns = find_score_columns(table, target, classes.tolist(), codes, leave_out)
    source = ModelItems(columns.read(table), y)
    ordered = are_ordered(classes, source.items, codes)
    named = NamedMethod.of(method)
    quantifier = None
    if named.uses_classifier:
        quantifier = named.quantifier(classes, random_state, LogisticRegression(), ordered)
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


@dataclass(frozen=True)
class NamedMethod:
    """Method of a name that a caller gives, such as SLD(bcts), SLD-BCTS or auto."""

    method: Any
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, name: str) -> NamedMethod:
        """Method of a name; an error if there is none."""
        if name.lower() == "auto":
            return cls(AutoQuantifier, {})
        try:
            return cls(find_method(name), {})
        except HeadcountError as error:
            refused = HeadcountError(f"`method`{str(error).removeprefix('name')}")
        base, _, setting = name.rstrip(")").replace("-", "(").replace("_", "(").rpartition("(")
        if base and setting.lower() in CALIBRATIONS:
            try:
                method = find_method(base)
            except HeadcountError:
                raise refused from None
            if "calibration" in inspect.signature(method).parameters:
                return cls(method, {"calibration": setting.lower()})
        raise refused

    @property
    def is_auto(self) -> bool:
        """True if strong methods are combined."""
        return self.method is AutoQuantifier

    @property
    def uses_classifier(self) -> bool:
        """False if it works on features."""
        return self.is_auto or (
            "classifier" in inspect.signature(self.method).parameters
            and self.method.info.input != "features"
        )

    def quantifier(
        self, classes: Array, random_state: int, classifier: Any = None, ordered: bool = False
    ) -> Any:
        """Quantifier, not fitted, with a classifier if it uses one."""
        if self.is_auto:
            return AutoQuantifier(classifier, ordered=ordered, random_state=random_state)
        settings = dict(self.settings)
        if "random_state" in inspect.signature(self.method).parameters:
            settings["random_state"] = random_state
        if classifier is not None:
            settings["classifier"] = classifier
        quantifier = self.method(**settings)
        if len(classes) > 2 and self.method.info.multiclass == "one-vs-rest":
            return OneVsRest(quantifier)
        return quantifier


# Classifiers of prepared columns, and the choice between them.

CLASSIFIERS = ("logistic", "forest", "boosting", "auto")
"""Classifiers by name."""
_TRIED = ("logistic", "boosting")


def best_scorer(
    preparation: Preparation, classifier: Any, X: Any, y: Array, random_state: int
) -> tuple[Scorer, str]:
    """Scorer of prepared columns, fitted."""
    has_texts = any(column.kind == "text" for column in preparation.columns)
    if isinstance(classifier, str):
        check_choice("`classifier`", classifier, CLASSIFIERS)
    if classifier == "boosting" and has_texts:
        raise HeadcountError(
            "`classifier` is 'boosting', which takes no columns of texts: choose logistic or "
            "forest, or leave these columns out."
        )
    if classifier != "auto":
        return _fitted_scorer(preparation, classifier, X, y, random_state), ""
    if has_texts:
        why = "classifier: logistic, as there are texts."
        return _fitted_scorer(preparation, "logistic", X, y, random_state), why
    scorers = {name: _fitted_scorer(preparation, name, X, y, random_state) for name in _TRIED}
    losses = {name: _log_loss(scorer) for name, scorer in scorers.items()}
    best = min(losses, key=losses.__getitem__)
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    why = f"classifier: {best}, by log loss on held-out labelled items ({listed})."
    return scorers[best], why


def _fitted_scorer(
    preparation: Preparation, classifier: Any, X: Any, y: Array, random_state: int
) -> Scorer:
    pipeline = make_classifier(preparation, classifier, random_state)
    return Scorer(pipeline, random_state=random_state).fit(X, y)


def make_classifier(preparation: Preparation, classifier: Any, random_state: int) -> Pipeline:
    """Pipeline of the prepared columns and a classifier."""
    model = _classifier(classifier, random_state) if isinstance(classifier, str) else classifier
    columns = preparation.pipeline()
    if classifier == "boosting":
        columns.set_params(sparse_threshold=0)
    return make_pipeline(columns, model)


def _log_loss(scorer: Scorer) -> float:
    """Mean log loss of the out-of-fold posteriors."""
    posteriors = scorer.posteriors_[np.arange(len(scorer.codes_)), scorer.codes_]
    return float(-np.log(np.clip(posteriors, 1e-12, None)).mean())


def _classifier(name: str, random_state: int) -> BaseEstimator:
    # Imported here: trees take a while to import.
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            200, min_samples_leaf=3, n_jobs=-1, random_state=random_state
        )
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=random_state)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


# Numbers as classes: grades in an order, or codes of names.

# Orders of the classes that are compared at most, and the part of them that may keep classes
# which are confused as near to one another as the order of the numbers does. Of three classes
# no other order may.
_MOST_ORDERS, _MOST_AS_GOOD = 2000, 0.2


def are_ordered(classes: NDArray[np.generic], posteriors: Floats, codes: Ints) -> bool:
    """True if classes are numbers, and the classifier confuses those that are near."""
    K = len(classes)
    if K < 3 or classes.dtype.kind not in "iuf":
        return False
    if (classes != np.round(classes.astype(np.float64))).any():
        return True
    return _as_good(_confusions(posteriors, codes)) <= (_MOST_AS_GOOD if K > 3 else 1 / 3)


def _confusions(posteriors: Floats, codes: Ints) -> Floats:
    """Mean posterior of each class among the items of each other, relative to its mean."""
    indicators = np.eye(posteriors.shape[1])[codes]
    sums = indicators.T @ posteriors / np.maximum(indicators.sum(axis=0), 1)[:, None]
    relative = sums / np.maximum(posteriors.mean(axis=0), 1e-300)
    return np.asarray(relative + relative.T)


def _as_good(confusions: Floats) -> float:
    """Part of the orders in which confused classes are as near to one another, or nearer."""
    K = len(confusions)
    if K <= 6:
        orders = np.array(list(permutations(range(K))))
    else:
        rng = np.random.default_rng(0)
        orders = np.stack(
            [np.arange(K), *(rng.permutation(K) for _ in range(_MOST_ORDERS - 1))]
        )
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    costs = np.array([(confusions[np.ix_(order, order)] * apart).sum() for order in orders])
    natural = costs[0]  # the first order is that of the numbers
    return float((costs <= natural * (1 + 1e-12)).mean())


def order_note(classes: NDArray[np.generic], ordered: bool) -> str:
    """Sentence on the order of classes that are numbers; empty for others."""
    if len(classes) < 3 or classes.dtype.kind not in "iuf":
        return ""
    if ordered:
        return "classes: numbers, and near ones are confused most, so they count as ordered."
    return "classes: numbers, but near ones are not confused most, so they count as names."
