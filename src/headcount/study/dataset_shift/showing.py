"""What the study shows: errors by degree of shift, and whether the paper's shapes are there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.study.dataset_shift.beside import beside_the_paper
from headcount.study.dataset_shift.settings import PROTOCOLS, make_protocol, served
from headcount.study.dataset_shift.shapes import shapes
from headcount.study.dataset_shift.views import VIEWS, View
from headcount.study.marked_tables import NOTE, marked_means, paired_errors
from headcount.study.sections import Section
from headcount.study.spec import Spec

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["sections"]

_SAMPLE = (
    "degree", "p_train", "p_test", "alpha_train", "alpha_test", "cut_train", "cut_test",
    "repeat", "test_repeat",
)  # fmt: skip  # tells the test samples of a dataset and protocol apart


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """What was run, the paper's shapes, then a table and a figure a view and dataset."""
    import polars as pl

    made = [_what_was_run(spec, results), shapes(spec, results)]
    for view in VIEWS.values():
        rows = view.of(results)
        for dataset in spec.datasets:
            part = rows.filter(pl.col("dataset") == dataset)
            if part["ae"].count():
                made.append(_by_degree(spec, view, dataset, part))
    if published is not None:
        made += beside_the_paper(spec, results, published)
    return made


def _what_was_run(spec: Spec, results: pl.DataFrame) -> Section:
    import polars as pl

    rows = []
    for protocol in PROTOCOLS:
        for dataset in served(spec, protocol):
            made = make_protocol(spec, dataset, protocol)
            done = results.filter(
                (pl.col("dataset") == dataset) & (pl.col("protocol") == protocol)
            )
            n_methods = max(1, done["method"].n_unique())
            rows.append(
                (protocol, dataset, made.train_size, made.test_size, made.n_training_sets,
                 made.n_samples, done.height // n_methods)
            )  # fmt: skip
    names = ["protocol", "dataset", "training items", "test items", "training sets"]
    table = pl.DataFrame(rows, schema=[*names, "samples", "samples done"], orient="row")
    failed = results["failure"].count()
    words = f" {failed:,} results are missing because a method failed." if failed else ""
    return Section(
        "What was run",
        f"{len(spec.methods)} methods: {', '.join(each.name for each in spec.methods)}. "
        "Errors are absolute errors of the share of the positive class." + words,
        table,
    )


def _by_degree(spec: Spec, view: View, dataset: str, part: pl.DataFrame) -> Section:
    methods = [each.name for each in spec.methods]
    wide = paired_errors(part, _SAMPLE, methods, "ae")
    table, marks = marked_means(wide, "degree", methods)
    return Section(
        f"{view.title}: {dataset}",
        f"Mean absolute error by degree of shift. {view.text} Wilcoxon signed-rank tests: "
        f"{NOTE}",
        table,
        _boxes(part, methods),
        marks,
    )


def _boxes(part: pl.DataFrame, methods: list[str]) -> Callable[[], Figure]:
    """Draws the errors by degree, when it is called."""

    def draw() -> Figure:
        import polars as pl
        from matplotlib.figure import Figure

        from headcount import plots

        frame = part.select(
            pl.col("method").cast(pl.Enum(methods)),
            pl.col("degree").alias("shift"),
            pl.col("ae").alias("error"),
        )
        frame = frame.drop_nulls().sort("method", maintain_order=True)
        frame = frame.with_columns(pl.col("method").cast(pl.String))
        ax = plots.error_boxes(frame, bins=11, error="absolute error", width=8.0)
        ax.set_xlabel("degree of shift")
        assert isinstance(ax.figure, Figure)
        return ax.figure

    return draw
