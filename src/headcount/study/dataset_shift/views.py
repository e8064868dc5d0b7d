"""The parts of the results that tables are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["VIEWS", "View"]

_SIGN = "The degree is the prevalence in the test less that in training"
_ALPHA = "The degree is the share of the first group in training less that in the test"


@dataclass(frozen=True)
class View:
    """Some of the results: a protocol, or a part of it."""

    title: str
    text: str
    protocol: str
    pure: bool | None = None

    def of(self, results: pl.DataFrame) -> pl.DataFrame:
        """The rows of it."""
        import polars as pl

        rows = results.filter(pl.col("protocol") == self.protocol)
        if self.pure is None:
            return rows
        alike = pl.col("p_train") == pl.col("p_test")
        return rows.filter(alike if self.pure else ~alike)


VIEWS = {
    "prior": View("Prior shift", f"{_SIGN}.", "prior"),
    "pure": View(
        "Global pure covariate shift",
        f"{_ALPHA}; training and test have the same prevalence.",
        "global",
        True,
    ),
    "pure-unselected": View(
        "Global pure covariate shift, settings not selected",
        f"{_ALPHA}; training and test have the same prevalence. All methods have the same "
        "classifier, with settings that were not chosen. One that tells little apart does well "
        "here, as its PCC says the prevalence of training whatever the sample.",
        "global-unselected",
        True,
    ),
    "mixed": View(
        "Global mixed covariate shift",
        f"{_ALPHA}; training and test have different prevalences.",
        "global",
        False,
    ),
    "local": View(
        "Local covariate shift",
        f"{_SIGN}; only positives of the first group become more or fewer.",
        "local",
    ),
    "local-control": View(
        "Prior shift, for comparison with local shift",
        f"{_SIGN}; positives of both groups become more or fewer, from the same training sets.",
        "local-control",
    ),
    "concept": View(
        "Concept shift",
        "The degree is the number of stars where training cuts negatives from positives, less "
        "that of the test.",
        "concept",
    ),
}
"""What tables are made of, by name."""
