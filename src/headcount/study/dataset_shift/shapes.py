"""The shapes that the paper found, checked on the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headcount.study.dataset_shift.views import VIEWS
from headcount.study.sections import Section
from headcount.study.spec import Spec

if TYPE_CHECKING:
    import polars as pl

__all__ = ["shapes"]

_LARGE = 0.5  # of the largest degree: from there on a shift counts as large here
_ADJUSTED = ("ACC", "PACC", "DyS", "SLD")
_Row = tuple[str, str, str, bool]


def _mean_errors(
    rows: pl.DataFrame, *, least: float = 0.0, most: float = 1.0
) -> dict[str, float]:
    """Mean error of each method at degrees in a range, as parts of the largest degree.

    Every degree counts the same, however many samples it has.
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


def shapes(spec: Spec, results: pl.DataFrame) -> Section:
    """A row a shape and dataset: what the paper says, what was found, whether it holds."""
    import polars as pl

    rows = [
        row
        for dataset in spec.datasets
        for row in _shapes_of(dataset, results.filter(pl.col("dataset") == dataset))
    ]
    table = pl.DataFrame(rows, ["shape", "dataset", "found", "holds"], orient="row")
    table = table.with_columns(
        pl.when("holds").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("holds")
    )
    return Section(
        "The shapes of the paper",
        "Mean absolute errors over degrees, each of which counts the same. A shift is large "
        "from half of the largest degree on.",
        table.sort("shape", maintain_order=True),
    )


def _shapes_of(dataset: str, results: pl.DataFrame) -> Iterator[_Row]:
    parts = {name: view.of(results) for name, view in VIEWS.items()}
    parts = {name: part for name, part in parts.items() if part["ae"].count()}
    if "prior" in parts:
        yield _first("SLD first under prior shift", dataset, "SLD", parts["prior"])
        yield _last("CC and PCC last under prior shift", dataset, parts["prior"])
    if "pure" in parts:
        pure = "PCC first under pure covariate shift"
        yield _first(pure, dataset, "PCC", parts["pure"])
        # The paper has a table for each.
        for (prevalence,), part in (
            parts["pure"].sort("p_train").group_by("p_train", maintain_order=True)
        ):
            yield _first(f"{pure}, trained at {prevalence:g}", dataset, "PCC", part)
        yield _grows("all hurt by pure covariate shift", dataset, parts["pure"])
    if "pure-unselected" in parts:
        shape = "PCC first under pure covariate shift, settings not selected"
        yield _first(shape, dataset, "PCC", parts["pure-unselected"])
    if "mixed" in parts:
        yield _last("CC and PCC last under mixed covariate shift", dataset, parts["mixed"])
    if "local" in parts and "local-control" in parts:
        yield from _local(dataset, parts["local"], parts["local-control"])
    if "concept" in parts:
        yield _grows("all hurt by concept shift", dataset, parts["concept"])


def _first(shape: str, dataset: str, method: str, part: pl.DataFrame) -> _Row:
    means = _mean_errors(part)
    return shape, dataset, _said(means), next(iter(means)) == method


def _last(shape: str, dataset: str, part: pl.DataFrame) -> _Row:
    means = _mean_errors(part)
    return shape, dataset, _said(means), set(list(means)[-2:]) == {"CC", "PCC"}


def _grows(shape: str, dataset: str, part: pl.DataFrame) -> _Row:
    none, large = _mean_errors(part, most=0), _mean_errors(part, least=_LARGE)
    grown = {name: large[name] - none[name] for name in none if name in large}
    found = "without and with large shift: " + ", ".join(
        f"{name} {none[name]:.3f} {large[name]:.3f}" for name in grown
    )
    return shape, dataset, found, all(more > 0 for more in grown.values())


def _local(dataset: str, local: pl.DataFrame, control: pl.DataFrame) -> Iterator[_Row]:
    here, there = _mean_errors(local, least=_LARGE), _mean_errors(control, least=_LARGE)
    for shape, methods, sign in (
        ("adjusted methods hurt by local covariate shift", _ADJUSTED, 1),
        ("CC and PCC helped by local covariate shift", ("CC", "PCC"), -1),
    ):
        both = [name for name in methods if name in here and name in there]
        found = "local, and prior shift as large: " + ", ".join(
            f"{name} {here[name]:.3f} {there[name]:.3f}" for name in both
        )
        yield shape, dataset, found, all(sign * (here[n] - there[n]) > 0 for n in both)


def _said(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {error:.3f}" for name, error in means.items())
