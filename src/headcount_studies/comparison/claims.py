"""Claims of the paper: which methods are in front, and which are behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount_studies.published_tables import plain_name

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CLAIMS", "FAMILIES", "Claim", "check_claim", "families_of"]

_ADJUSTED, _MATCHING, _CLASSIFIERS, _OTHER = (
    "adjusted counts",
    "distribution matching",
    "classifiers for quantification",
    "other",
)
FAMILIES = {
    plain_name(method): family
    for family, methods in {
        _ADJUSTED: ("AC", "PAC", "TSX", "TS50", "TSMax", "MS"),
        _MATCHING: (
            "GAC", "GPAC", "DyS", "FMM", "readme", "HDx", "HDy", "FM", "ED", "EM", "CDE",
        ),
        _CLASSIFIERS: ("CC", "PCC", "SVM-K", "SVM-Q", "PWK", "QF", "QF-AC"),
    }.items()
    for method in methods
}  # fmt: skip
"""Family of each method in the paper."""


def families_of(methods: Sequence[str]) -> dict[str, str]:
    """Family of each method.

    Examples
    --------
    >>> families_of(["MS", "my own"])
    {'MS': 'adjusted counts', 'my own': 'other'}
    """
    return {method: FAMILIES.get(plain_name(method), _OTHER) for method in methods}


@dataclass(frozen=True)
class Claim:
    """Methods that the paper puts in front, and methods that it puts behind."""

    front: tuple[str, ...]
    behind: tuple[str, ...]


CLAIMS = {
    ("binary", "tae"): Claim(
        ("MS", "DyS", "TSMax", "FM", "PAC", "GPAC"),
        ("CC", "PCC", "CDE", "SVM-K", "SVM-Q", "QF"),
    ),
    ("binary", "nkld"): Claim(
        ("DyS", "MS", "TSMax"), ("CC", "PCC", "CDE", "SVM-K", "SVM-Q", "QF")
    ),
    ("multiclass", "tae"): Claim(("GPAC", "ED", "EM", "FM", "readme"), ("CC", "PCC", "QF")),
    ("multiclass", "nkld"): Claim(("readme", "ED", "EM", "FM", "PWK"), ("CC",)),
}
"""Claims by number of classes and metric."""


def check_claim(claim: Claim, ranks: Mapping[str, float]) -> pl.DataFrame:
    """Compare the places of methods with a claim.

    In front is the first third of the methods by mean rank, behind the last third.

    Parameters
    ----------
    claim : Claim
        Claim of the paper.
    ranks : mapping of str to float
        Mean rank of every method that was compared.

    Returns
    -------
    polars.DataFrame
        method, claim ("in front" or "behind"), place, holds.

    Examples
    --------
    >>> ranks = {"CC": 2.9, "MS": 1.2, "AC": 1.9}
    >>> check_claim(Claim(("MS",), ("AC",)), ranks).rows()
    [('MS', 'in front', 1, True), ('AC', 'behind', 2, False)]
    """
    import polars as pl

    names = {plain_name(method): method for method in ranks}
    third = math.ceil(len(ranks) / 3)
    rows = []
    for where, methods in (("in front", claim.front), ("behind", claim.behind)):
        for method in methods:
            if (name := names.get(plain_name(method))) is None:
                continue
            place = 1 + sum(rank < ranks[name] for rank in ranks.values())
            inside = place <= third if where == "in front" else place > len(ranks) - third
            rows.append((name, where, place, inside))
    return pl.DataFrame(rows, ["method", "claim", "place", "holds"], orient="row")
