"""Recipes that turn each table of the quantifier comparison into features and classes.

A recipe describes the treatment of a table's columns. Steps for a single table are functions
in `headcount_studies.files.special_tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount_studies.files import special_tables

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RECIPES", "SIZES", "Cut", "Labels", "Recipe", "rule_of"]

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """A numeric target divided into intervals that are open below and closed above.

    Examples
    --------
    >>> import polars as pl
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
        found = np.searchsorted(self.edges, values, side="left") - 1
        outside = ~((values > self.edges[0]) & (values <= self.edges[-1]))
        return np.where(outside, -1, found)


@dataclass(frozen=True)
class Labels:
    """A target of labels mapped to classes. Other labels have one class or are left out.

    Examples
    --------
    >>> import polars as pl
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
    """Treatment of one table.

    Attributes
    ----------
    target : str
        Column from which the classes are made.
    binary, multiclass : Cut, Labels or None
        Rule for the classes. None if there are no such classes.
    drop : tuple of str
        Columns that are left out.
    one_hot : "texts" or tuple of str
        Columns that become one column per value: all texts, or those named.
    finite : bool
        True if all features have few values, so that none is binned.
    scale : "max-abs" or "min-max"
        Scaling of the features.
    prepare : callable or None
        First step, from frame to frame.
    file : str or None
        Name of the file without ``.csv.gz``, if it differs from that of the dataset.
    """

    target: str
    binary: Rule
    multiclass: Rule | None = None
    drop: tuple[str, ...] = ()
    one_hot: Literal["texts"] | tuple[str, ...] = "texts"
    finite: bool = False
    scale: Literal["max-abs", "min-max"] = "max-abs"
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    file: str | None = field(default=None)

    @property
    def partial(self) -> bool:
        """True if the available table is a part of what the comparison used."""
        return self.file is not None


_POSITIVE = Labels({1: 1}, otherwise=0)

RECIPES: Mapping[str, Recipe] = {
    "ads": Recipe(
        "class", Labels({"ad.": 1}, otherwise=0), prepare=special_tables.ads, file="ads_part"
    ),
    "adult": Recipe(
        "Income",
        Labels({">50K": 1}, otherwise=0),
        drop=("Census_Weight", "Education", "split"),
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
    "cappl": Recipe("A16", Labels({"+": 1}, otherwise=0), prepare=special_tables.cappl),
    "cars": Recipe("Acceptability", Labels({"unacc": 0}, otherwise=1), finite=True),
    "ccard": Recipe(
        "DEFAULT_PAYMENT",
        _POSITIVE,
        drop=("ID",),
        one_hot=("SEX", "EDUCATION", "MARRIAGE"),
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
        "Appliances",
        Cut((0, 60, 2000)),
        Cut((0, 50, 100, 2000)),
        drop=("date", "rv1", "rv2"),
    ),
    "fifa": Recipe(
        "Wage", Cut((0, 3, 1000)), Cut((0, 1, 3, 10, 1000)), prepare=special_tables.fifa
    ),
    "flare": Recipe(
        "C",
        Labels({0: 0}, otherwise=1),
        drop=("M", "X", "att10"),
        one_hot=("att1", "att2", "att3", "att4", "att5", "att9", "att6"),
        finite=True,
        prepare=special_tables.flare,
    ),
    "magic": Recipe("class", Labels({"g": 1}, otherwise=0)),
    "mush": Recipe(
        "result",
        Labels({"e": 1}, otherwise=0),
        drop=("stalk-root",),
        finite=True,
        prepare=special_tables.mush,
    ),
    "music": Recipe("att117", Cut((-40, 35, 60)), drop=("att118",)),
    "musk": Recipe("class", _POSITIVE, drop=("molecule",), scale="min-max"),
    "news": Recipe(
        "shares",
        Cut((0, 1000, 1e6)),
        Cut((0, 1000, 2500, 5000, 1e6)),
        drop=("url",),
        file="news_part",
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
    "thrm": Recipe("class", Labels({0: 1}, otherwise=0), file="thrm_h0"),
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
        prepare=special_tables.complete,
    ),
    "wine": Recipe("quality", Cut((0, 5, 10)), Cut((0, 4, 5, 6, 10)), drop=("good",)),
    "yeast": Recipe(
        "class",
        Labels({"CYT": 1}, otherwise=0),
        Labels({"CYT": 0, "NUC": 1, "MIT": 2, "ME3": 3}),
        drop=("name",),
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
        several = [each for each in RECIPES if RECIPES[each].multiclass]
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
    "wine": (6497, 13), "yeast": (1484, 8),
}  # fmt: skip
"""Numbers of rows and features after preparation, to plan work before reading."""
