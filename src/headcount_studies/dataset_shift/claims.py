"""Claims of the paper, checked on the results of one dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_claims"]

_LARGE = 0.5  # of the largest degree: from there on a shift counts as large
_ADJUSTED = ("ACC", "PACC", "DyS", "SLD")
_Row = tuple[str, str, bool]


def check_claims(parts: Mapping[str, pl.DataFrame]) -> Iterator[_Row]:
    """Check the claims about the parts of the results that there are.

    Parameters
    ----------
    parts : mapping of str to polars.DataFrame
        Results of one dataset by the names of `report.VIEWS`.

    Yields
    ------
    tuple of str, str and bool
        Claim, what was found, and True if the claim holds.
    """
    if "prior" in parts:
        yield _first("SLD first under prior shift", "SLD", parts["prior"])
        yield _last("CC and PCC last under prior shift", parts["prior"])
    if "pure" in parts:
        pure = "PCC first under pure covariate shift"
        yield _first(pure, "PCC", parts["pure"])
        # The paper has one table per training prevalence.
        for (prevalence,), part in (
            parts["pure"].sort("p_train").group_by("p_train", maintain_order=True)
        ):
            yield _first(f"{pure}, trained at {prevalence:g}", "PCC", part)
        yield _grows("all hurt by pure covariate shift", parts["pure"])
    if "pure-unselected" in parts:
        claim = "PCC first under pure covariate shift, settings not selected"
        yield _first(claim, "PCC", parts["pure-unselected"])
    if "mixed" in parts:
        yield _last("CC and PCC last under mixed covariate shift", parts["mixed"])
    if "local" in parts and "local-control" in parts:
        yield from _local(parts["local"], parts["local-control"])
    if "concept" in parts:
        yield _grows("all hurt by concept shift", parts["concept"])


def _mean_errors(
    rows: pl.DataFrame, *, least: float = 0.0, most: float = 1.0
) -> dict[str, float]:
    """Mean error per method at degrees in a range, given as parts of the largest degree.

    Every degree has the same weight, whatever its number of samples.
    """
    import polars as pl

    size = pl.col("degree").abs()
    limits = size.max() * least - 1e-9, size.max() * most + 1e-9
    return dict(
        rows.filter(size.is_between(*limits))
        .group_by("method", "degree")
        .agg(pl.col("ae").mean())
        .group_by("method")
        .agg(pl.col("ae").mean())
        .drop_nulls()
        .sort("ae", "method")
        .iter_rows()
    )


def _first(claim: str, method: str, part: pl.DataFrame) -> _Row:
    means = _mean_errors(part)
    return claim, _listed(means), next(iter(means)) == method


def _last(claim: str, part: pl.DataFrame) -> _Row:
    means = _mean_errors(part)
    return claim, _listed(means), set(list(means)[-2:]) == {"CC", "PCC"}


def _grows(claim: str, part: pl.DataFrame) -> _Row:
    none, large = _mean_errors(part, most=0), _mean_errors(part, least=_LARGE)
    grown = {name: large[name] - none[name] for name in none if name in large}
    found = "without and with large shift: " + ", ".join(
        f"{name} {none[name]:.3f} {large[name]:.3f}" for name in grown
    )
    return claim, found, all(more > 0 for more in grown.values())


def _local(local: pl.DataFrame, control: pl.DataFrame) -> Iterator[_Row]:
    here, there = _mean_errors(local, least=_LARGE), _mean_errors(control, least=_LARGE)
    for claim, methods, sign in (
        ("adjusted methods hurt by local covariate shift", _ADJUSTED, 1),
        ("CC and PCC helped by local covariate shift", ("CC", "PCC"), -1),
    ):
        both = [name for name in methods if name in here and name in there]
        found = "local, and prior shift as large: " + ", ".join(
            f"{name} {here[name]:.3f} {there[name]:.3f}" for name in both
        )
        yield claim, found, all(sign * (here[n] - there[n]) > 0 for n in both)


def _listed(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {error:.3f}" for name, error in means.items())
