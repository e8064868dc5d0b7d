"""The comparison beside the paper's own figures, and whether its conclusions hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.study.comparison import drawing
from headcount.study.comparison.claims import CLAIMS, Claim, check_claim
from headcount.study.comparison.summary import View, partial_among
from headcount.study.published import (
    FLAGGED,
    Agreement,
    agreement,
    plain_name,
    read_published,
)
from headcount.study.sections import Section

if TYPE_CHECKING:
    import polars as pl

__all__ = ["against_published"]

_FILES = {"tae": "ae", "nkld": "nkld"}


def against_published(view: View, published: Path | None) -> Iterator[Section]:
    """Sections on how near the results come to the paper's, and on its conclusions.

    Parameters
    ----------
    view : View
        The results.
    published : Path or None
        Folder with the paper's tables; without, or without one of this metric, there are
        the conclusions only.

    Yields
    ------
    Section
    """
    theirs = _read(view, published)
    found = None if theirs is None else agreement(view.means.to_long(), theirs)
    if found is not None:
        yield _beside(view, found)
    claim = CLAIMS.get((view.classes, view.metric))
    if claim is not None and view.means.ranks:
        yield _conclusions(view, claim, found)


def _read(view: View, published: Path | None) -> pl.DataFrame | None:
    name = f"comparison_{view.classes}_{_FILES.get(view.metric)}.csv"
    if published is None or not (published / name).is_file():
        return None
    return read_published(published / name)


def _beside(view: View, found: Agreement) -> Section:
    import polars as pl

    methods = found.methods
    table = methods.select(
        "method",
        "datasets",
        "ours",
        "published",
        pl.col("rank").alias("our rank"),
        pl.col("published_rank").alias("published rank"),
        _percent("difference").alias("median difference, %"),
        _percent("near").alias("near, %"),
    )
    flagged = methods["flagged"].to_list()
    marks = {(i, "median difference, %"): "!" for i, each in enumerate(flagged) if each}
    partial = partial_among(found.pairs["dataset"])
    return Section(
        f"{view.heading} beside the published",
        _beside_text(view, found, partial),
        table,
        lambda: drawing.scatter_panels(found, partial=partial, error=view.title),
        marks,
    )


def _percent(part: str) -> pl.Expr:
    import polars as pl

    return (100 * pl.col(part)).round(0).cast(pl.Int64)


def _beside_text(view: View, found: Agreement, partial: list[str]) -> str:
    n = found.pairs["dataset"].n_unique()
    flagged = found.methods.filter("flagged")["method"].to_list()
    said = [
        f"Over the {n} dataset{'' if n == 1 else 's'} and {len(found.methods)} methods that "
        "both have, Spearman's "
        f"correlation with the published figures is {found.of_means:.3f} for the methods' mean "
        f"errors and {found.of_ranks:.3f} for their mean ranks."
    ]
    if partial:
        whole = found.pairs.filter(~found.pairs["dataset"].is_in(partial))
        again = Agreement.of_pairs(whole)
        said[0] += (
            f" Without the datasets of which only a part is at hand ({', '.join(partial)}; "
            "hollow in the figure) it is "
            + (f"{again.of_means:.3f} and {again.of_ranks:.3f}." if again else "not known.")
        )
    listed = f"beyond {FLAGGED:.0%}: {', '.join(flagged)}" if flagged else "none is flagged"
    said.append(
        "Median difference: the median over the datasets of ours / published - 1, with an "
        f"exclamation mark beyond {FLAGGED:.0%} either way ({listed}). Near: part of the "
        f"datasets where the difference is within {FLAGGED:.0%}, the grey band of the figure."
    )
    missing = [m for m in view.means.methods if m not in set(found.methods["method"])]
    if missing:
        said.append(f"Not in the published table: {', '.join(missing)}.")
    return "\n\n".join(said)


def _conclusions(view: View, claim: Claim, found: Agreement | None) -> Section:
    import polars as pl

    checked = check_claim(claim, view.means.ranks)
    table = checked.with_columns(
        pl.when("holds").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("holds")
    )
    if found is not None:
        theirs = dict(found.methods.select("method", "published_rank").iter_rows())
        places = check_claim(claim, theirs).select(
            "method", pl.col("place").alias("published place")
        )
        table = table.join(places, on="method", how="left", maintain_order="left")
        table = table.select("method", "said", "place", "published place", "holds")
    marks = {(i, "holds"): "!" for i, holds in enumerate(checked["holds"]) if not holds}
    return Section(
        f"Do the conclusions hold? By {view.title}",
        _conclusions_text(view, claim, checked),
        table,
        marks=marks,
    )


def _conclusions_text(view: View, claim: Claim, checked: pl.DataFrame) -> str:
    ranks = {plain_name(method): rank for method, rank in view.means.ranks.items()}
    front = [ranks[name] for name in map(plain_name, claim.front) if name in ranks]
    behind = [ranks[name] for name in map(plain_name, claim.behind) if name in ranks]
    right = sum(a < b for a in front for b in behind)
    return (
        f"{checked['holds'].sum()} of {len(checked)} hold. The paper puts "
        f"{', '.join(claim.front)} in front and {', '.join(claim.behind)} behind. In front is "
        f"taken to be the first third of the {len(ranks)} methods by mean rank over the "
        "datasets, behind the last third.\n\n"
        f"Of {len(front) * len(behind)} pairs of a method said to be in front and one said to "
        f"be behind, {right} are in that order."
    )
