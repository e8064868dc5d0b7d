"""Preparation of the columns of a table as numeric features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from headcount.data.column_kinds import Column, infer_column
from headcount.data.column_values import Categories, DateParts, Flags, Texts
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Preparation", "prepare"]

# Values of a category that are rarer share one feature with those not seen in training.
_RARE = 5
_MOST_CATEGORIES = 100
_MOST_WORDS = 50_000


@dataclass(frozen=True)
class Preparation:
    r"""Conversion of the columns of a table to features, determined by the training table.

    Attributes
    ----------
    columns : tuple of Column
        Kind and treatment of each column.

    Examples
    --------
    >>> import polars as pl
    >>> from headcount.data.preparation import prepare
    >>> table = pl.DataFrame({"age": [31, 54, None, 27], "member": [True, False, True, True]})
    >>> preparation = prepare(table)
    >>> print(*preparation.columns, sep="\n")
    age: number; median for missing values, with a flag, standardised (1 of 4 missing)
    member: yes or no; most frequent for missing values, standardised
    >>> preparation.pipeline().fit_transform(table).shape
    (4, 3)
    """

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that become features."""
        return tuple(column.name for column in self.columns if column.is_used)

    def facts(self) -> dict[str, str]:
        """Description of each column, by its name."""
        return {column.name: column.describe() for column in self.columns}

    def pipeline(self) -> ColumnTransformer:
        """Create an unfitted transformer of frames with these columns.

        Returns
        -------
        ColumnTransformer
            Transformer of Polars and pandas frames, to be put before a classifier in a
            pipeline.
        """
        by_kind = {
            kind: [column.name for column in self.columns if column.kind == kind]
            for kind in ("number", "flag", "date", "category")
        }
        parts = [(kind, _MAKERS[kind](), names) for kind, names in by_kind.items() if names]
        parts += [
            (f"text {column.name}".replace("__", "_"), _words(column), [column.name])
            for column in self.columns
            if column.kind == "text"
        ]
        return ColumnTransformer(parts)

    def conform(self, frame: pl.DataFrame, name: str, *, first_row: int = 0) -> pl.DataFrame:
        """Give the columns of another table the types of the training table.

        Parameters
        ----------
        frame : polars.DataFrame
            Table with all columns that are used, of any type.
        name : str
            Name of the table in messages.
        first_row : int, default=0
            Number of the first row in the whole table, for messages.

        Returns
        -------
        polars.DataFrame
            The columns that are used, in the order of training.
        """
        used = [column for column in self.columns if column.is_used]
        return frame.select(
            column.conform(frame[column.name], name, first_row) for column in used
        )


def prepare(
    frame: pl.DataFrame, *, leave_out: dict[str, str] | None = None, name: str = "The table"
) -> Preparation:
    """Infer the kinds and treatments of the columns of a training table.

    Parameters
    ----------
    frame : polars.DataFrame
        Training table without the labels. Columns of texts that are all numbers or dates are
        treated as numbers or dates.
    leave_out : dict of str to str, default=None
        Columns that are not used as features, with the reasons.
    name : str, default="The table"
        Name of the table in error messages.

    Returns
    -------
    Preparation
    """
    out = leave_out or {}
    columns = tuple(infer_column(frame[each], out.get(each)) for each in frame.columns)
    preparation = Preparation(columns)
    if not preparation.used:
        why = "; ".join(f"{column.name}: {column.treatment}" for column in columns[:5])
        raise HeadcountError(
            f"{name} has no column that can be used as a feature{f' ({why})' if why else ''}: "
            "add columns with features."
        )
    return preparation


def _numbers() -> Pipeline:
    return make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )


def _flags() -> Pipeline:
    imputer = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    return make_pipeline(Flags(), imputer, StandardScaler())


def _dates() -> Pipeline:
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(DateParts(), imputer, StandardScaler())


def _categories() -> Pipeline:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_RARE,
        max_categories=_MOST_CATEGORIES,
    )
    return make_pipeline(Categories(), encoder)


def _words(column: Column) -> Pipeline:
    least = 2 if column.n_values >= 200 else 1
    return make_pipeline(
        Texts(), TfidfVectorizer(min_df=least, max_features=_MOST_WORDS, sublinear_tf=True)
    )


_MAKERS: dict[str, Any] = {
    "number": _numbers,
    "flag": _flags,
    "date": _dates,
    "category": _categories,
}
