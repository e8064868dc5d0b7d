"""Datasets of the quantifier comparison, prepared for learners."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice
from headcount_studies.files.folder import data_file, data_folder
from headcount_studies.files.recipes import RECIPES, Recipe, rule_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dataset", "dataset_file", "dataset_names", "load_dataset"]

Task = Literal["binary", "multiclass"]
_TASKS = ("binary", "multiclass")
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items and classes of one dataset.

    Attributes
    ----------
    name : str
        Name of the dataset in the comparison.
    X : ndarray of shape (n, d)
        Features, each divided by its largest absolute value.
    y : ndarray of shape (n,)
        Classes, 0 to K - 1.
    feature_names : tuple of str
        Names of the columns of `X`, ``column=value`` for a column of one value.
    categorical : ndarray of bool of shape (d,)
        Columns that are categorical.
    partial : bool
        True if these are only a part of the items that the comparison used.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    partial: bool = False

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Items of each class."""
        return np.bincount(self.y)

    def binned(self) -> NDArray[np.int64]:
        """Features as small whole numbers, for methods on finite features.

        The values of a categorical column are numbered in order. Other columns are divided
        at their quartiles. A value equal to a quartile belongs to the part below it.
        """
        codes = np.empty(self.X.shape[::-1], np.int64)
        for j, column in enumerate(np.ascontiguousarray(self.X.T)):
            cuts = (
                np.unique(column)[:-1]
                if self.categorical[j]
                else np.unique(np.quantile(column, _QUARTILES))
            )
            codes[j] = sum((column > cut).astype(np.int64) for cut in cuts)
        return np.ascontiguousarray(codes.T)


def dataset_names(task: Task = "binary") -> tuple[str, ...]:
    """Names of the datasets that have recipes.

    Parameters
    ----------
    task : {"binary", "multiclass"}, default="binary"
        Kind of classes. "multiclass" leaves out datasets with two classes only.

    Returns
    -------
    tuple of str
        Names.

    Examples
    --------
    >>> from headcount_studies.files import dataset_names
    >>> dataset_names("multiclass")[:4]
    ('bike', 'blog', 'conc', 'contra')
    """
    check_choice("task", task, _TASKS)
    return tuple(name for name in RECIPES if task == "binary" or RECIPES[name].multiclass)


def dataset_file(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the file of a dataset, whether it is in the folder or not."""
    rule_of(name, "binary")  # refuses unknown names
    return data_folder(folder) / f"{RECIPES[name].file or name}.csv.gz"


def load_dataset(
    name: str, task: Task = "binary", folder: str | os.PathLike[str] | None = None
) -> Dataset:
    """Read a dataset of the comparison and prepare it as the comparison did.

    Rows with missing values or outside all classes are left out. Columns of unordered values
    become one column per value. Features are then scaled. They are dense: the widest table
    has 1,558 columns but only a thousand rows.

    Parameters
    ----------
    name : str
        One of `dataset_names`.
    task : {"binary", "multiclass"}, default="binary"
        Kind of classes.
    folder : path, default=None
        Folder of the tables; see `data_folder`.

    Returns
    -------
    Dataset
        Features, classes and the kinds of the columns.
    """
    check_choice("task", task, _TASKS)
    rule, recipe = rule_of(name, task), RECIPES[name]
    frame = _complete_rows(_read(data_folder(folder), name), recipe)
    y = rule.codes(frame[recipe.target])
    kept = y >= 0
    X, names, categorical = _features(frame.drop(recipe.target).filter(kept), recipe)
    return Dataset(name, X, y[kept], names, categorical, recipe.partial)


def _read(folder: Path, name: str) -> pl.DataFrame:
    import polars as pl

    path = data_file(folder, dataset_file(name, folder).name)
    return pl.read_csv(path, infer_schema_length=None)


def _complete_rows(frame: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    if recipe.prepare is not None:
        frame = recipe.prepare(frame)
    return frame.drop(recipe.drop).drop_nulls()


def _features(
    frame: pl.DataFrame, recipe: Recipe
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[np.bool_]]:
    """Columns in order, with one-hot columns in the place of the original column."""
    import polars as pl

    columns: list[NDArray[np.float64]] = []
    names: list[str] = []
    categorical: list[bool] = []
    for name in frame.columns:
        column = frame[name]
        spread = (
            column.dtype == pl.String if recipe.one_hot == "texts" else name in recipe.one_hot
        )
        if spread:
            values = column.unique().sort().to_list()
            columns += [(column == value).to_numpy().astype(np.float64) for value in values]
            names += [f"{name}={value}" for value in values]
            categorical += [True] * len(values)
        elif (n_values := column.n_unique()) > 1:
            columns.append(column.to_numpy().astype(np.float64))
            names.append(name)
            categorical.append(recipe.finite or n_values == 2)
    X = np.column_stack(columns)
    return _scaled(X, recipe.scale), tuple(names), np.array(categorical)


def _scaled(X: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    if scale == "min-max":
        X = X - X.min(axis=0)
    largest = np.abs(X).max(axis=0)
    return X / np.where(largest > 0, largest, 1)
