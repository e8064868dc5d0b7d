"""Transformers of dates, booleans and texts, which scikit-learn does not have."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

__all__ = ["Categories", "DateParts", "Flags", "Texts"]

_TIME = nw.Datetime("us")
_DAY = 86_400_000_000  # in microseconds


class _Stateless(TransformerMixin, BaseEstimator):
    """Transformer of frames without a fitted state."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing."""
        self.n_features_in_ = X.shape[1]
        return self


class Flags(_Stateless):
    """Booleans as 1 and 0, missing values as NaN."""

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Turn a frame into a table of numbers."""
        columns = nw.from_native(X, eager_only=True).iter_columns()
        return np.column_stack(
            [np.asarray(column.cast(nw.Float64).to_numpy(), np.float64) for column in columns]
        )


class Categories(TransformerMixin, BaseEstimator):
    """Positions of categories among the sorted ones of training, -1 for others.

    Missing values are a category of their own. scikit-learn encodes numbers many times faster
    than texts.

    Attributes
    ----------
    positions_ : list of dict of str to int
        Position of each category, column by column.

    Examples
    --------
    >>> import polars as pl
    >>> encoder = Categories().fit(pl.DataFrame({"city": ["Rome", "Oslo", "Rome"]}))
    >>> encoder.transform(pl.DataFrame({"city": ["Oslo", "Bern"]})).tolist()
    [[0], [-1]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the categories."""
        self.n_features_in_ = X.shape[1]
        columns = nw.from_native(X, eager_only=True).iter_columns()
        known = (sorted(set(_texts(column))) for column in columns)
        self.positions_ = [{text: i for i, text in enumerate(texts)} for texts in known]
        return self

    def transform(self, X: Any) -> NDArray[np.int64]:
        """Turn a frame into a table of numbers."""
        columns = nw.from_native(X, eager_only=True).iter_columns()
        return np.column_stack(
            [
                np.array([positions.get(text, -1) for text in _texts(column)], np.int64)
                for column, positions in zip(columns, self.positions_, strict=True)
            ]
        )


class Texts(_Stateless):
    """Texts of one column, missing values as empty texts."""

    def transform(self, X: Any) -> list[str]:
        """Turn a frame with one column into a list of texts."""
        column = next(iter(nw.from_native(X, eager_only=True).iter_columns()))
        return _texts(column)


class DateParts(TransformerMixin, BaseEstimator):
    """Days since 1970, year, month, day of the week and hour of dates.

    Days and years outside the range of training are replaced by its first or last value, so
    that a trend is not extrapolated to times without labels.

    Attributes
    ----------
    earliest_, latest_ : ndarray
        First and last days and years of training, column by column.

    Examples
    --------
    >>> from datetime import date
    >>> import polars as pl
    >>> dates = pl.DataFrame({"day": [date(1970, 1, 2), date(1970, 2, 1)]})
    >>> DateParts().fit_transform(dates).astype(int).tolist()
    [[1, 1970, 1, 5, 0], [31, 1970, 2, 7, 0]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the range of the dates."""
        self.n_features_in_ = X.shape[1]
        parts = _parts(X)[..., :2]
        known = ~np.isnan(parts)
        self.earliest_ = np.where(known, parts, np.inf).min(axis=0)
        self.latest_ = np.where(known, parts, -np.inf).max(axis=0)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Turn a frame of dates into a table of numbers, five per column."""
        parts = _parts(X)
        parts[..., :2] = np.clip(parts[..., :2], self.earliest_, self.latest_)
        return parts.reshape(len(parts), -1)


def _texts(column: nw.Series[Any]) -> list[str]:
    # Only NaN differs from itself.
    return ["" if text is None or text != text else str(text) for text in column.to_list()]


def _parts(X: Any) -> NDArray[np.float64]:
    """Array of rows, columns and parts, with NaN where a date is missing."""
    made = []
    for column in nw.from_native(X, eager_only=True).iter_columns():
        zoned = getattr(column.dtype, "time_zone", None) is not None
        dates = (column.dt.replace_time_zone(None) if zoned else column).cast(_TIME).dt
        parts = (
            dates.timestamp("us").cast(nw.Float64) / _DAY,
            dates.year(),
            dates.month(),
            dates.weekday(),
            dates.hour(),
        )
        made.append(np.column_stack([_floats(part) for part in parts]))
    return np.stack(made, axis=1)


def _floats(part: nw.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(part.cast(nw.Float64).to_numpy(), np.float64)
