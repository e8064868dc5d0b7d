from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from headcount_studies.figures import line_panels, mean_curves
from headcount_studies.tables import marked_means, paired_errors, rank_correlation


def long(errors: dict[str, list[float | None]]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {"method": name, "degree": 0, "sample": range(len(values)), "ae": values},
            schema_overrides={"ae": pl.Float64},
        )
        for name, values in errors.items()
    )


def test_methods_are_compared_on_the_samples_that_all_have() -> None:
    rng = np.random.default_rng(0)
    best = rng.uniform(0, 0.1, 60)
    errors = {
        "far": (best + 0.3).tolist(),
        "best": best.tolist(),
        "near": [None, *(best[1:] + rng.normal(0, 0.01, 59)).tolist()],
        "failed": [None] * 60,
    }
    methods = ["best", "near", "far", "failed"]
    wide = paired_errors(long(errors), ("degree", "sample"), methods, "ae")
    assert wide.columns == ["degree", "sample", "best", "near", "far"]
    table, marks = marked_means(wide, "degree", methods)
    assert table.columns == ["degree", *methods]
    assert table["failed"].to_list() == [None]
    assert table["far"].item() == pytest.approx(0.3 + best.mean())
    names = {marks.get((0, "best")), marks.get((0, "near"))}
    assert names == {"best", "‡"}
    assert (0, "far") not in marks


def test_samples_that_are_told_apart_by_nothing_known_keep_their_place() -> None:
    rows = long({"a": [0.1, 0.2], "b": [0.3, 0.4]}).with_columns(
        pl.lit(None, pl.Float64).alias("alpha")
    )
    wide = paired_errors(rows, ("degree", "alpha", "sample"), ["a", "b"], "ae")
    assert wide.select("a", "b").rows() == [(0.1, 0.3), (0.2, 0.4)]


def test_ranks_need_three_methods_that_differ() -> None:
    def correlation(ours: list[float | None]) -> float | None:
        published = [1.0, 2.0, 3.0, None][: len(ours)]
        rows = pl.DataFrame({"ours": ours, "published": published}, strict=False)
        return rank_correlation(rows, "ours", "published")

    assert correlation([0.3, 0.2, 0.1, 0.0]) == -1.0
    assert correlation([0.3, 0.2]) is None
    assert correlation([0.3, 0.2, None]) is None
    assert correlation([0.3, 0.3, 0.3]) is None


def test_lines_of_errors_start_at_zero_and_signed_ones_do_not():
    rows = pl.DataFrame({"method": ["CC"] * 3, "shift": [0.0, 0.1, 0.9], "ae": [1.0, 3.0, 5.0]})
    for sign, starts_at_zero in ((1, True), (-1, False)):
        signed = rows.with_columns(pl.col("ae") * sign)
        figure = line_panels([mean_curves(signed, "", "method", "shift", "ae")], 1, ("x", "y"))
        assert (figure.axes[0].get_ylim()[0] == 0) == starts_at_zero
