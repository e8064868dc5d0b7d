"""What the study shows: errors of predicted accuracy, with marks, figures and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.evaluation.significance import compare
from headcount.study.marked_tables import BEST, NOTE, Marks, paired_errors
from headcount.study.quacc.beside import beside_the_paper
from headcount.study.quacc.settings import is_quacc, repeats_of
from headcount.study.sections import Section
from headcount.study.spec import Spec

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["SAMPLE", "sections"]

SAMPLE = ("dataset", "train_prevalence", "sample")
"""Columns that tell samples apart."""

_SHOWN = 5  # methods in a figure


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """What was run, the table of errors, the paper's beside it, figures, what was chosen."""
    made = [_what_was_run(spec, results), _errors(spec, results)]
    if published is not None:
        made += beside_the_paper(spec, results, published)
    for dataset in spec.datasets:
        for metric in spec.metrics:
            part = results.filter(results["dataset"] == dataset)
            if part[metric].count():
                made += _figures(spec, part, dataset, metric)
    made.append(_choices(spec, results))
    return made


def _what_was_run(spec: Spec, results: pl.DataFrame) -> Section:
    import polars as pl

    table = (
        results.group_by("dataset", maintain_order=True)
        .agg(
            pl.col("train_prevalence").n_unique().alias("training prevalences"),
            pl.struct(SAMPLE).n_unique().alias("samples"),
            pl.len().alias("results"),
            pl.col("failure").count().alias("failed"),
        )
        .rename({"dataset": "data"})
    )
    fewer = [
        f"{method.name} is asked about {repeats_of(spec, method)} of the "
        f"{spec.protocol['repeats']} samples of each test prevalence"
        for method in spec.methods
        if repeats_of(spec, method) < spec.protocol["repeats"]
    ]
    words = "".join(f" {each}." for each in fewer)
    return Section(
        "What was run",
        f"{len(spec.methods)} methods predict {' and '.join(spec.metrics)} of logistic "
        f"regression on test samples of {spec.protocol['size']:,} items. Training sets and "
        "labelled sets have the same prevalence and size, and come from two halves of the "
        "training texts." + words,
        table,
    )


def _errors(spec: Spec, results: pl.DataFrame) -> Section:
    """Methods by datasets and measures, as the paper's Table 3."""
    import polars as pl

    methods = [method.name for method in spec.methods]
    columns: dict[str, list[float | None]] = {}
    marks: Marks = {}
    for dataset in spec.datasets:
        part = results.filter(pl.col("dataset") == dataset)
        for metric in spec.metrics:
            if not part[metric].count():
                continue
            name = f"{dataset} {metric}"
            wide = paired_errors(part, SAMPLE, methods, metric)
            columns[name], found = _marked(wide, methods)
            marks |= {(row, name): mark for row, mark in found.items()}
    table = pl.DataFrame(
        {"method": methods} | columns, schema_overrides=dict.fromkeys(columns, pl.Float64)
    )
    return Section(
        "Errors",
        f"Mean absolute error of the predicted measure. t-tests on paired samples: {NOTE}",
        table,
        marks=marks,
    )


def _marked(
    wide: pl.DataFrame, methods: Sequence[str]
) -> tuple[list[float | None], dict[int, str]]:
    """Mean errors of the methods, and the marks of those there are, by their number."""
    means: dict[str, float] = {}
    for name in methods:
        if name in wide.columns:
            means[name] = float(wide[name].mean())  # type: ignore[arg-type]
    best = min(means, key=lambda name: means[name])
    marks = {methods.index(best): BEST}
    for name in means:
        # Each on the samples that both have: some methods are asked about fewer.
        pair = wide.select(best, name).drop_nulls() if name != best else None
        if pair is not None and pair.height > 1:
            mark = next((each for each in compare(pair, test="ttest").marks if each), "")
            if mark:
                marks[methods.index(name)] = mark
    return [means.get(name) for name in methods], marks


def _figures(spec: Spec, part: pl.DataFrame, dataset: str, metric: str) -> list[Section]:
    """Errors by shift over all models, and what is said of the most imbalanced one."""
    import polars as pl

    means = part.group_by("method").agg(pl.col(metric).mean()).drop_nulls()
    best = means.sort(metric)["method"].to_list()[:_SHOWN]
    frame = part.filter(pl.col("method").is_in(best)).select(
        "method",
        "train_prevalence",
        "shift",
        pl.col(f"true_{metric}").alias("true"),
        pl.col(f"estimated_{metric}").alias("estimated"),
    )
    frame = frame.drop_nulls()
    highest = max(frame["train_prevalence"].to_list())
    one = frame.filter(pl.col("train_prevalence") == highest)
    return [
        Section(
            f"Error of {metric} by shift: {dataset}",
            f"The {len(best)} methods with the least mean error.",
            figure=_drawing("plot_errors", frame, metric),
        ),
        Section(
            f"Estimated and true {metric}: {dataset}",
            f"The model trained at a prevalence of {highest:g}.",
            figure=_drawing("plot_estimates", one, metric),
        ),
    ]


def _drawing(name: str, frame: pl.DataFrame, metric: str) -> Callable[[], Figure]:
    """Draws the frame, when it is called."""

    def draw() -> Figure:
        from matplotlib.figure import Figure

        from headcount import accuracy

        ax = getattr(accuracy, name)(frame, metric=metric)
        assert isinstance(ax.figure, Figure)
        return ax.figure

    return draw


def _choices(spec: Spec, results: pl.DataFrame) -> Section:
    """How often each value of a setting was chosen, in percent, as the paper's Tables 5, 6."""
    import polars as pl

    names = [method.name for method in spec.methods if is_quacc(method)]
    rows = []
    for dataset in spec.datasets:
        for name in names:
            part = results.filter((pl.col("dataset") == dataset) & (pl.col("method") == name))
            models = part.unique("train_prevalence", maintain_order=True)
            chosen = [
                dict(each.split("=") for each in setting.split())
                for metric in spec.metrics
                for setting in models[f"chosen_{metric}"].to_list()
                if setting
            ]
            if chosen:
                rows.append({"data": dataset, "method": name, **_frequencies(spec, chosen)})
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else None
    return Section(
        "What was chosen",
        "Percent of the choices (one a model and measure) by which a variant, the covariates, "
        "a recalibration and balanced classes were taken.",
        table,
    )


def _frequencies(spec: Spec, chosen: list[dict[str, str]]) -> dict[str, float | None]:
    wanted = [("variants", variant) for variant in spec.selection["variants"]]
    wanted += [("covariates", "True"), ("calibration", "bcts"), ("class_weight", "balanced")]
    found: dict[str, float | None] = {}
    for name, value in wanted:
        known = [setting[name] for setting in chosen if name in setting]
        title = value if name == "variants" else name.replace("_", " ")
        share = sum(each == value for each in known) / len(known) if known else None
        found[title] = None if share is None else 100 * share
    return found
