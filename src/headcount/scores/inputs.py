"""Typed input: items that were classified elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.data import encode_labels, take_rows
from headcount.errors import HeadcountError
from headcount.scores.checks import as_numbers, check_scores


@dataclass(frozen=True, eq=False, repr=False)
class Scored:
    """Items given by the posteriors of a classifier.

    Accepted wherever items are. To fit on, the posteriors must come from a classifier that
    was not trained on these items.

    Parameters
    ----------
    posteriors : array-like or frame of shape (n, K), or (n,) for two classes
        One row per item and one column per class. A vector holds the posteriors of the
        second class.
    classes : array-like of shape (K,), default=None
        Classes in the order of the columns; by default the sorted classes.
    predictions : array-like of shape (n,), default=None
        Labels that the classifier predicts; by default the class with the highest posterior.
    folds : sequence of Scored, default=()
        The same items, scored by the classifier of each fold. `Scorer.score` fills it in.

    Examples
    --------
    >>> import headcount as hc
    >>> q = hc.PACC().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
    >>> q.predict(hc.Scored([0.2, 0.6, 0.7])).round(2)
    array([0.54, 0.46])
    """

    posteriors: Any
    classes: Any = None
    predictions: Any = None
    folds: Sequence[Scored] = ()

    def __post_init__(self) -> None:
        values = as_numbers(self.posteriors, "posteriors")
        n_classes = values.shape[1] if values.ndim == 2 else 2
        if n_classes < 2:
            raise HeadcountError(
                f"posteriors has {n_classes} columns; it must have one column per class, or be "
                "a vector with the posteriors of the second of two classes."
            )
        _set(self, "posteriors", check_scores(values, n_classes, name="posteriors"))
        if self.classes is not None:
            classes, _ = encode_labels(self.classes, name="classes", classes=self.classes)
            if len(classes) != n_classes:
                raise HeadcountError(
                    f"classes has {len(classes)} entries, but posteriors has {n_classes} "
                    "columns: name one class per column."
                )
            _set(self, "classes", classes)
        if self.predictions is not None:
            _set(self, "predictions", _column(self.predictions, "predictions", len(self)))

    def __len__(self) -> int:
        return len(self.posteriors)

    def __repr__(self) -> str:
        return f"Scored({len(self):,} items, {self.posteriors.shape[1]} classes)"

    def take(self, rows: ArrayLike) -> Scored:
        """Items at some positions.

        Parameters
        ----------
        rows : array-like of int
            Positions of the items, in any order.

        Returns
        -------
        Scored
        """
        predictions = self.predictions
        return Scored(
            take_rows(self.posteriors, rows),
            self.classes,
            None if predictions is None else take_rows(predictions, rows),
            tuple(fold.take(rows) for fold in self.folds),
        )

    def posteriors_of(self, classes: NDArray[Any]) -> NDArray[np.float64]:
        """Posteriors with columns in the order of given classes.

        Parameters
        ----------
        classes : ndarray of shape (K,)
            The classes that a quantifier was fitted on.

        Returns
        -------
        ndarray of shape (n, K)
        """
        posteriors: NDArray[np.float64] = self.posteriors
        if posteriors.shape[1] != len(classes):
            raise HeadcountError(
                f"posteriors has {posteriors.shape[1]} columns, but there are {len(classes)} "
                f"classes: pass one column for each of {_listed(classes)}."
            )
        if self.classes is None:
            return posteriors
        order = encode_labels(classes, name="the fitted classes", classes=self.classes)[1]
        return (
            posteriors if np.array_equal(order, np.arange(len(order))) else posteriors[:, order]
        )

    def codes_of(self, classes: NDArray[Any]) -> NDArray[np.int64]:
        """Predicted classes as positions in given classes.

        Parameters
        ----------
        classes : ndarray of shape (K,)
            The classes that a quantifier was fitted on.

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.predictions is None:
            return self.posteriors_of(classes).argmax(axis=1)
        return encode_labels(self.predictions, name="predictions", classes=classes)[1]

    @classmethod
    def unchecked(cls, posteriors: NDArray[np.float64], classes: NDArray[Any]) -> Scored:
        """Items with posteriors that `check_scores` has returned, without checks or copies."""
        items = cls.__new__(cls)
        _set(items, "posteriors", posteriors)
        _set(items, "classes", classes)
        return items

    @classmethod
    def concatenate(cls, batches: Sequence[Scored]) -> Scored:
        """Items of several batches, one after the other.

        Parameters
        ----------
        parts : sequence of Scored
            Batches that were scored by the same classifier.

        Returns
        -------
        Scored
        """
        first = batches[0]
        predictions = [batch.predictions for batch in batches]
        return cls(
            np.concatenate([batch.posteriors for batch in batches]),
            first.classes,
            None if first.predictions is None else np.concatenate(predictions),
            tuple(
                cls.concatenate(folds)
                for folds in zip(*[p.folds for p in batches], strict=True)
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """Items given by hard decisions: of a classifier, a rule or an LLM judge.

    Accepted wherever items are, by methods that work on decisions: `CC`, `ACC`, `GAC` and
    others of `hc.methods()` with the input "labels".

    Parameters
    ----------
    labels : array-like of shape (n,)
        One decision per item: text or numbers, among the classes.
    classes : array-like of shape (K,), default=None
        The classes, in the order to use; by default those of the labels ``y``, sorted.

    Examples
    --------
    >>> import headcount as hc
    >>> judged = hc.Verdicts(["ok", "ok", "bad", "bad", "ok"])
    >>> q = hc.ACC().fit(judged, ["ok", "ok", "bad", "bad", "bad"])
    >>> q.predict(hc.Verdicts(["ok", "bad", "ok"])).round(2)
    array([0.5, 0.5])
    """

    labels: Any
    classes: Any = None

    def __post_init__(self) -> None:
        _, codes = encode_labels(self.labels, name="labels", classes=self.classes)
        _set(self, "labels", _column(self.labels, "labels", len(codes)))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Verdicts({len(self):,} items)"

    def take(self, rows: ArrayLike) -> Verdicts:
        """Items at some positions.

        Parameters
        ----------
        rows : array-like of int
            Positions of the items, in any order.

        Returns
        -------
        Verdicts
        """
        return Verdicts(take_rows(self.labels, rows), self.classes)

    def codes_of(self, classes: NDArray[Any]) -> NDArray[np.int64]:
        """Decisions as positions in given classes.

        Parameters
        ----------
        classes : ndarray of shape (K,)
            The classes that a quantifier was fitted on.

        Returns
        -------
        ndarray of shape (n,)
        """
        return encode_labels(self.labels, name="labels of Verdicts", classes=classes)[1]


def _column(values: Any, name: str, n_items: int) -> NDArray[Any]:
    classes, codes = encode_labels(values, name=name)
    if len(codes) != n_items:
        raise HeadcountError(
            f"{name} has {len(codes):,} labels, but there are {n_items:,} items: pass one per "
            "item."
        )
    return classes[codes]


def _listed(classes: NDArray[Any]) -> str:
    return ", ".join(repr(name) for name in classes.tolist())


def _set(frozen: Any, name: str, value: Any) -> None:
    object.__setattr__(frozen, name, value)
