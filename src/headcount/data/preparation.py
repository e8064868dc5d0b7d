"""Columns of a table as features: what each is, and a pipeline that turns it to numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from headcount.data.column_kinds import Column, look_at
from headcount.data.column_values import Categories, DateParts, Flags, Texts
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Preparation", "prepare"]

# Values of a category that are rarer share one feature, as do those never seen in training.
_RARE = 5
_MOST_CATEGORIES = 100
_MOST_WORDS = 50_000


@dataclass(frozen=True)
class Preparation:
    r"""How the columns of a table become features, as decided on the training table.

    Attributes
    ----------
    columns : tuple of Column
        What was found of each column, and what is done with it.

    Examples
    --------
    >>> import polars as pl
    >>> from headcount.data.preparation import prepare
    >>> table = pl.DataFrame({"age": [31, 54, None, 27], "member": [True, False, True, True]})
    >>> preparation = prepare(table)
    >>> print(*preparation.columns, sep="\n")
    age: number; median for missing, with a flag; standardised (1 of 4 missing)
    member: yes or no; the more frequent for missing; standardised
    >>> preparation.pipeline().fit_transform(table).shape
    (4, 3)
    """

    columns: tuple[Column, ...]

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the columns that become features."""
        return tuple(column.name for column in self.columns if column.is_used)

    def facts(self) -> dict[str, str]:
        """What is done with each column, by its name."""
        return {column.name: column.said() for column in self.columns}

    def pipeline(self) -> ColumnTransformer:
        """A transformer of frames with these columns, not fitted yet.

        Returns
        -------
        ColumnTransformer
            Of scikit-learn, to go before a classifier in a pipeline. It takes Polars and
            pandas frames.
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
            With all columns that are used, of whatever type.
        name : str
            Of the table, for messages.
        first_row : int, default=0
            Number of its first row in the whole table, for messages.

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
    """Decide what to do with the columns of a training table.

    Parameters
    ----------
    frame : polars.DataFrame
        Without the labels. Texts that hold numbers or dates throughout count as these.
    leave_out : dict of str to str, default=None
        Columns that must not become features, and why.
    name : str, default="The table"
        What error messages call it.

    Returns
    -------
    Preparation
    """
    out = leave_out or {}
    columns = tuple(look_at(frame[each], out.get(each)) for each in frame.columns)
    preparation = Preparation(columns)
    if not preparation.used:
        why = "; ".join(f"{column.name}: {column.done}" for column in columns[:5])
        raise HeadcountError(
            f"{name} has no column to tell the classes by{f' ({why})' if why else ''}: add "
            "columns with features."
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
