"""Tables of the comparison, each with a recipe from its file to items and classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount_studies.data.folder import data_file, data_folder

_FIFA_DROPPED = (
    "Unnamed: 0", "ID", "Name", "Photo", "Flag", "Loaned From", "Club", "Club Logo",
    "Real Face", "Nationality", "Release Clause", "Value", "Jersey Number",
)  # fmt: skip
_FIFA_SEASON = 2018
_CM_A_FOOT, _CM_AN_INCH = 30.48, 2.54


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove rows with missing values, also in columns that are dropped later."""
    return frame.drop_nulls()


def ads(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert sizes of pictures to numbers, and remove rows with a question mark."""
    sizes = ["height", "width", "aratio", "local"]
    return frame.with_columns(pl.col(sizes).cast(pl.Float64, strict=False))


def cappl(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert columns with two letters to 0 and 1."""
    letters = {"A1": "a", "A9": "t", "A10": "t", "A12": "t"}
    return frame.with_columns((pl.col(c) == v).cast(pl.Int8) for c, v in letters.items())


def fifa(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert wages, heights, weights, dates and ratings such as 88+2 to numbers."""
    frame = frame.drop(_FIFA_DROPPED)
    ratings = [
        column
        for column, kind in frame.schema.items()
        if kind == pl.String and frame[column].str.contains(r"^\d+\+\d+$").any()
    ]
    year = r"(\d{4})$"
    return frame.with_columns(
        *(_rating(column) for column in ratings),
        _number("Wage"),
        _number("Weight"),
        _number("Height") * _CM_A_FOOT
        + pl.col("Height").str.extract(r"'(\d+)$").cast(pl.Float64) * _CM_AN_INCH,
        (_FIFA_SEASON - pl.col("Joined").str.extract(year).cast(pl.Float64)).alias("Joined"),
        pl.col("Contract Valid Until").str.extract(year).cast(pl.Float64) - _FIFA_SEASON,
    )


def _number(column: str) -> pl.Expr:
    return pl.col(column).str.extract(r"(\d+(?:\.\d+)?)").cast(pl.Float64)


def _rating(column: str) -> pl.Expr:
    base = pl.col(column).str.extract(r"^(\d+)\+").cast(pl.Float64)
    return (base + pl.col(column).str.extract(r"\+(\d+)$").cast(pl.Float64)).alias(column)


def flare(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace 2 by 0 in two columns of ones and twos."""
    pair = pl.col("att7", "att8")
    return frame.with_columns(pl.when(pair > 1).then(0).otherwise(pair).name.keep())


def mush(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert the number of rings to a number."""
    rings = pl.col("ring-number").replace_strict({"n": 0, "o": 1, "t": 2})
    return frame.with_columns(rings.cast(pl.Int8))


Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """A numeric target divided into intervals that are open below and closed above.

    >>> Cut((0, 20, 35, 100)).codes(pl.Series([0.0, 20.0, 20.1, 99.0]))
    array([-1,  0,  1,  2])
    """

    edges: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        """Number of intervals."""
        return len(self.edges) - 1

    def codes(self, target: pl.Series) -> Codes:
        """Interval of each value, -1 for values outside all of them."""
        values = target.to_numpy().astype(np.float64)
        codes = np.searchsorted(self.edges, values, side="left") - 1
        outside = ~((values > self.edges[0]) & (values <= self.edges[-1]))
        return np.where(outside, -1, codes)


@dataclass(frozen=True)
class Labels:
    """A target of labels mapped to classes. Other labels have one class or are left out.

    >>> Labels({"CL0": 0}, otherwise=1).codes(pl.Series(["CL0", "CL3"]))
    array([0, 1])
    """

    named: Mapping[str | int, int]
    otherwise: int = -1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len({*self.named.values(), self.otherwise} - {-1})

    def codes(self, target: pl.Series) -> Codes:
        """Class of each label, -1 for labels without a class."""
        return np.array([self.named.get(label, self.otherwise) for label in target.to_list()])


Rule = Cut | Labels


@dataclass(frozen=True)
class Recipe:
    """Treatment of one table."""

    target: str
    binary: Rule
    multiclass: Rule | None = None
    drop: tuple[str, ...] = ()
    one_hot: Literal["texts"] | tuple[str, ...] = "texts"
    finite: bool = False
    scale: Literal["max-abs", "min-max"] = "max-abs"
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    file: str | None = None
    available: str = ""  # what of the comparison's table the file has, if not all

    @property
    def partial(self) -> bool:
        """True if the available table is a part of what the comparison used."""
        return bool(self.available)


_POSITIVE = Labels({1: 1}, otherwise=0)

RECIPES: Mapping[str, Recipe] = {
    "ads": Recipe(
        "class",
        Labels({"ad.": 1}, otherwise=0),
        prepare=ads,
        file="ads_part",
        available="748 of 2,359 items",
    ),
    "adult": Recipe(
        "Income", Labels({">50K": 1}, otherwise=0), drop=("Census_Weight", "Education", "split")
    ),
    "alco": Recipe("sex", Labels({"F": 1}, otherwise=0), drop=("course",)),
    "avila": Recipe("Class", Labels({"A": 0}, otherwise=1), drop=("split",)),
    "bc-cat": Recipe("diagnosis", Labels({"M": 1}, otherwise=0)),
    "bc-cont": Recipe("Class", Labels({"positive": 1}, otherwise=0)),
    "bike": Recipe(
        "cnt",
        Cut((0, 100, 1000)),
        Cut((0, 100, 200, 300, 1000)),
        drop=("instant", "casual", "registered", "dteday"),
        one_hot=("season", "yr", "mnth", "hr", "weekday", "weathersit"),
    ),
    "blog": Recipe("att280", Cut((-1, 0, 2000)), Cut((-1, 0, 1, 10, 2000))),
    "cappl": Recipe("A16", Labels({"+": 1}, otherwise=0), prepare=cappl),
    "cars": Recipe("Acceptability", Labels({"unacc": 0}, otherwise=1), finite=True),
    "ccard": Recipe(
        "DEFAULT_PAYMENT", _POSITIVE, drop=("ID",), one_hot=("SEX", "EDUCATION", "MARRIAGE")
    ),
    "conc": Recipe("strength", Cut((0, 35, 100)), Cut((0, 20, 35, 100))),
    "contra": Recipe(
        "Contraceptive_method",
        Labels({1: 0}, otherwise=1),
        Labels({1: 0, 2: 1, 3: 2}),
        one_hot=("Husband_occupation",),
    ),
    "diam": Recipe(
        "cut",
        Labels({"Ideal": 1}, otherwise=0),
        Labels({"Fair": 0, "Good": 0, "Very Good": 0, "Premium": 1, "Ideal": 2}),
    ),
    "dota": Recipe(
        "Winner",
        _POSITIVE,
        drop=("LocID", "split"),
        one_hot=("GameMode", "GameType"),
        finite=True,
    ),
    "drugs": Recipe(
        "mushrooms",
        Labels({"CL0": 0}, otherwise=1),
        Labels({"CL0": 0, "CL1": 1, "CL2": 1}, otherwise=2),
        drop=("id",),
    ),
    "ener": Recipe(
        "Appliances", Cut((0, 60, 2000)), Cut((0, 50, 100, 2000)), drop=("date", "rv1", "rv2")
    ),
    "fifa": Recipe("Wage", Cut((0, 3, 1000)), Cut((0, 1, 3, 10, 1000)), prepare=fifa),
    "flare": Recipe(
        "C",
        Labels({0: 0}, otherwise=1),
        drop=("M", "X", "att10"),
        one_hot=("att1", "att2", "att3", "att4", "att5", "att9", "att6"),
        finite=True,
        prepare=flare,
    ),
    "magic": Recipe("class", Labels({"g": 1}, otherwise=0)),
    "mush": Recipe(
        "result",
        Labels({"e": 1}, otherwise=0),
        drop=("stalk-root",),
        finite=True,
        prepare=mush,
    ),
    "music": Recipe("att117", Cut((-40, 35, 60)), drop=("att118",)),
    "musk": Recipe("class", _POSITIVE, drop=("molecule",), scale="min-max"),
    "news": Recipe(
        "shares",
        Cut((0, 1000, 1e6)),
        Cut((0, 1000, 2500, 5000, 1e6)),
        drop=("url",),
        file="news_part",
        available="9,874 of 39,644 items",
    ),
    "nurse": Recipe(
        "Class",
        Labels({"not_recom": 0}, otherwise=1),
        Labels(
            {"not_recom": 0, "recommend": 1, "very_recom": 1, "priority": 1, "spec_prior": 2}
        ),
        finite=True,
    ),
    "occup": Recipe("Occupancy", _POSITIVE, drop=("date", "split")),
    "phish": Recipe("Result", _POSITIVE, finite=True),
    "spam": Recipe("spam", _POSITIVE),
    "study": Recipe("math score", Cut((-1, 66, 100))),
    # The remaining columns only show if any of the heuristics works: class 0.
    "thrm": Recipe(
        "class",
        Labels({0: 1}, otherwise=0),
        file="thrm_h0",
        available="two of the three classes",
    ),
    "turk": Recipe(
        "instr",
        Labels({3: 1}, otherwise=0),
        Labels({1: 0, 2: 1, 3: 2}),
        drop=("class", "nb.repeat"),
        finite=True,
    ),
    "vgame": Recipe(
        "Critic_Score",
        Cut((0, 72, 100)),
        Cut((0, 50, 70, 80, 100)),
        drop=("Name", "Publisher", "Global_Sales", "Developer"),
        prepare=complete,
    ),
    "wine": Recipe("quality", Cut((0, 5, 10)), Cut((0, 4, 5, 6, 10)), drop=("good",)),
    "yeast": Recipe(
        "class",
        Labels({"CYT": 1}, otherwise=0),
        Labels({"CYT": 0, "NUC": 1, "MIT": 2, "ME3": 3}),
        drop=("name",),
    ),
    # As the comparison's table of datasets has it; its figures are nearer to four classes.
    "yeast-5": Recipe(
        "class",
        Labels({"CYT": 1}, otherwise=0),
        Labels({"CYT": 0, "NUC": 1, "MIT": 2, "ME3": 3}, otherwise=4),
        drop=("name",),
        file="yeast",
    ),
}
"""Recipes by the names of the datasets in the comparison."""


def rule_of(name: str, task: str) -> Rule:
    """Rule for the classes of a dataset."""
    if name not in RECIPES:
        raise HeadcountError(
            f"there is no dataset {name!r}: choose one of {', '.join(RECIPES)}."
        )
    recipe = RECIPES[name]
    rule = recipe.binary if task == "binary" else recipe.multiclass
    if rule is None:
        several = [key for key in RECIPES if RECIPES[key].multiclass]
        raise HeadcountError(
            f"the dataset {name!r} has two classes only: choose task='binary', or one of "
            f"{', '.join(several)}."
        )
    return rule


SIZES: Mapping[str, tuple[int, int]] = {
    "ads": (748, 1087), "adult": (45222, 87), "alco": (1044, 57), "avila": (20867, 10),
    "bc-cat": (569, 30), "bc-cont": (683, 9), "bike": (17379, 59), "blog": (52397, 276),
    "cappl": (653, 42), "cars": (1728, 21), "ccard": (30000, 33), "conc": (1030, 8),
    "contra": (1473, 12), "diam": (53940, 22), "dota": (102944, 123), "drugs": (1885, 136),
    "ener": (19735, 25), "fifa": (14751, 117), "flare": (1066, 28), "magic": (19020, 10),
    "mush": (8124, 110), "music": (1059, 116), "musk": (6598, 166), "news": (9874, 59),
    "nurse": (12960, 27), "occup": (20560, 5), "phish": (11055, 30), "spam": (4601, 57),
    "study": (1000, 19), "thrm": (6118, 51), "turk": (5820, 30), "vgame": (6825, 131),
    "wine": (6497, 13), "yeast": (1484, 8), "yeast-5": (1484, 8),
}  # fmt: skip
"""Numbers of rows and features after preparation, to plan work before reading."""

ROWS_OF_SEVERAL: Mapping[str, int] = {"yeast": 1299}
"""Numbers of rows where fewer have one of several classes than one of two."""


Task = Literal["binary", "multiclass"]
_TASKS = ("binary", "multiclass")
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items and classes of one dataset."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    categorical: NDArray[np.bool_]

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
    """
    check_choice("task", task, _TASKS)
    rule, recipe = rule_of(name, task), RECIPES[name]
    path = data_file(data_folder(folder), dataset_file(name, folder).name)
    frame = pl.read_csv(path, infer_schema_length=None)
    if recipe.prepare is not None:
        frame = recipe.prepare(frame)
    frame = frame.drop(recipe.drop).drop_nulls()
    y = rule.codes(frame[recipe.target])
    inside = y >= 0
    X, names, categorical = _features(frame.drop(recipe.target).filter(inside), recipe)
    return Dataset(name, X, y[inside], names, categorical)


def _features(
    frame: pl.DataFrame, recipe: Recipe
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[np.bool_]]:
    """Columns in order, with one-hot columns in the place of the original column."""
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
