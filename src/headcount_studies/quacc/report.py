"""Report: errors of predicted accuracy, figures, selected settings, the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from headcount import accuracy
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import figure_of
from headcount_studies.quacc.study import is_quacc, is_uniform, repeats_of
from headcount_studies.tables import (
    BEST,
    NOTE,
    Marks,
    best_marks,
    by_method,
    marks_of,
    paired_errors,
    published_file,
    rank_correlation,
)

_SAMPLE = ("dataset", "training_set", "sample")  # columns that identify a sample
_SHOWN = 5  # methods in a figure
_FILE = "quacc.csv"
_COLUMNS = {"accuracy": "Acc", "f1": "F1"}
_PAPER: dict[str, tuple[str, dict[str, str]]] = {
    "binary": (
        "RCV1 topics",
        {"imdb": "d1", "rcv1-CCAT": "d2", "rcv1-GCAT": "d3", "rcv1-MCAT": "d4"},
    ),
    "multiclass": (
        "RCV1 nodes",
        {"rcv1-root": "d1", "rcv1-C": "d2", "rcv1-M1": "d3", "rcv1-M14": "d4"},
    ),
}
"""Name of the paper's collections that others stand for, and columns of its tables."""

_OURS = ("QuAcc(SLD)", "QuAcc(KDEy)")
_NOT_IN_PAPER = ("CBPE",)


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Experiments, errors, comparison with the paper, figures, selected settings."""
    tables = [_experiments(spec, results), *_errors(spec, results), *_reduction(spec, results)]
    if path := published_file(published, _FILE):
        tables += _compared(spec, results, path)
    for dataset, metric, rows in _measured(spec, results):
        tables += _figures(rows, dataset, metric)
        tables += [] if is_uniform(spec) else [_by_training(rows, dataset, metric)]
    return [*tables, *_choices(spec, results)]


def _experiments(spec: Spec, results: pl.DataFrame) -> Section:
    """Sizes and shares of the collections, as in the paper's Tables 1 and 2, and runs."""
    table = results.group_by("dataset", maintain_order=True).agg(
        pl.col("pool_size", "test_pool_size").first(),
        pl.col("pool_shares").first().list.len().alias("classes"),
        pl.col("pool_shares").first(),
        pl.col("training_size").first(),
        pl.col("training_set").n_unique().alias("training sets"),
        pl.struct(_SAMPLE).n_unique().alias("samples"),
        pl.len().alias("results"),
        pl.col("failure").count().alias("failed"),
    )
    shares = pl.col("pool_shares").list.eval(pl.element().round(3).cast(pl.String))
    names = {
        "dataset": "data",
        "pool_size": "items of T",
        "test_pool_size": "items of U",
        "pool_shares": "shares of T",
        "training_size": "items of Tᵢ",
    }
    table = table.with_columns(shares.list.join(", ")).rename(names)
    fewer = [
        f"{method.name} is run on {repeats_of(spec, method)} of the "
        f"{spec.protocol['repeats']} samples of each test prevalence"
        for method in spec.methods
        if not is_uniform(spec) and repeats_of(spec, method) < spec.protocol["repeats"]
    ]
    exceptions = "".join(f" {sentence}." for sentence in fewer)
    drawn = (
        "Shares of training sets and samples are drawn uniformly from the simplex."
        if is_uniform(spec)
        else "Prevalences of training sets and samples are those of a grid."
    )
    return Section(
        "Experiments",
        f"{len(spec.methods)} methods predict {' and '.join(spec.metrics)} of logistic "
        f"regression on test samples of {spec.protocol['size']:,} items. Training sets Tᵢ and "
        "labelled sets have the same shares and size, and come from two halves of the "
        f"training texts, of which T is one; samples come from U. {drawn}{exceptions}",
        table,
    )


def _errors(spec: Spec, results: pl.DataFrame) -> list[Section]:
    """Methods by datasets and metrics, as the paper's Tables 3 and 4; deviations beside."""
    methods = [method.name for method in spec.methods]
    means: dict[str, dict[str, Any]] = {}
    deviations: dict[str, dict[str, Any]] = {}
    marks: Marks = {}
    for dataset, metric, rows in _measured(spec, results):
        name, wide = f"{dataset} {metric}", paired_errors(rows, _SAMPLE, methods, metric)
        errors = wide.drop(_SAMPLE)
        means[name] = errors.mean().row(0, named=True)
        deviations[name] = errors.std().row(0, named=True)
        marks |= {
            (methods.index(method), name): mark
            for method, mark in _marks(wide, methods).items()
        }
    return [
        Section(
            "Errors",
            f"Mean absolute error of the predicted metric. t-tests on paired samples: {NOTE}",
            by_method(methods, means),
            marks=marks,
        ),
        Section(
            "Standard deviations",
            "Standard deviation of the errors over all training sets and samples.",
            by_method(methods, deviations),
        ),
    ]


def _measured(spec: Spec, results: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Datasets and metrics that have results, with these."""
    for dataset in spec.datasets:
        rows = results.filter(results["dataset"] == dataset)
        for metric in spec.metrics:
            if rows[metric].count():
                yield dataset, metric, rows


def _reduction(spec: Spec, results: pl.DataFrame) -> Iterator[Section]:
    """Reduction of the error by the best variant of QuAcc, as in the last row of Table 3."""
    rows = []
    for dataset, metric, subset in _measured(spec, results):
        means = dict(
            subset.group_by("method").agg(pl.col(metric).mean()).drop_nulls().iter_rows()
        )
        compared = _best_of_both(means)
        if compared is not None:
            best, baseline, reduction = compared
            errors = means[best], means[baseline]
            rows.append(
                (dataset, metric, best, errors[0], baseline, errors[1], 100 * reduction)
            )
    columns = ["data", "metric", "QuAcc", "its error", "best baseline", "error", "reduction, %"]
    won = sum(row[-1] > 0 for row in rows)
    if rows:
        yield Section(
            "Error reduction",
            f"The better one of {' and '.join(_OURS)} against the best of the paper's "
            f"baselines and QuAcc(CC). It has the lower error in {won} of {len(rows)} cases.",
            pl.DataFrame(rows, columns, orient="row"),
        )


def _best_of_both(means: Mapping[str, float]) -> tuple[str, str, float] | None:
    """Best variant of QuAcc, best baseline, and the share of its error that is saved.

    >>> _best_of_both({"LEAP": 0.2, "QuAcc(CC)": 0.4, "QuAcc(SLD)": 0.1, "CBPE": 0.01})
    ('QuAcc(SLD)', 'LEAP', 0.5)
    """
    baselines = [name for name in means if name not in (*_OURS, *_NOT_IN_PAPER)]
    variants = [name for name in means if name in _OURS]
    if not baselines or not variants:
        return None
    best, baseline = (
        min(names, key=lambda name: means[name]) for names in (variants, baselines)
    )
    return best, baseline, 1 - means[best] / means[baseline]


def _marks(wide: pl.DataFrame, methods: Sequence[str]) -> dict[str, str]:
    """Mark of each method against the best, on the samples that both are run on."""
    means = (
        wide.select(name for name in methods if name in wide.columns).mean().row(0, named=True)
    )
    best = min(means, key=lambda name: means[name])
    marks = {best: BEST}
    for name in means.keys() - {best}:
        for mark in marks_of(wide.select(best, name), "ttest").values():
            if mark != BEST:
                marks[name] = mark
    return marks


def _figures(rows: pl.DataFrame, dataset: str, metric: str) -> Iterator[Section]:
    """Errors by shift over all models, and estimates for the most imbalanced one."""
    means = rows.group_by("method").agg(pl.col(metric).mean()).drop_nulls()
    best = means.sort(metric)["method"].to_list()[:_SHOWN]
    frame = rows.filter(pl.col("method").is_in(best)).select(
        "method",
        "training_set",
        pl.col("train_shares").list.max().alias("largest"),
        "shift",
        pl.col(f"true_{metric}").alias("true"),
        pl.col(f"estimated_{metric}").alias("estimated"),
    )
    frame = frame.drop_nulls()
    sets = frame.sort("largest", "training_set", descending=True)
    most_uneven = frame.filter(pl.col("training_set") == sets["training_set"][0])
    largest = sets["largest"][0]
    yield Section(
        f"Error of {metric} by shift: {dataset}",
        f"The {len(best)} methods with the least mean error.",
        figure=lambda: figure_of(accuracy.plot_errors(frame, metric=metric)),
    )
    yield Section(
        f"Estimated and true {metric}: {dataset}",
        "The model with the most uneven training set: the largest class has a share of "
        f"{largest:.2g}.",
        figure=lambda: figure_of(accuracy.plot_estimates(most_uneven, metric=metric)),
    )


def _by_training(rows: pl.DataFrame, dataset: str, metric: str) -> Section:
    """Mean errors for each prevalence of training."""
    share = pl.col("train_shares").list.last().round(6).cast(pl.String).alias("share")
    means = rows.group_by("method", share, maintain_order=True).agg(pl.col(metric).mean())
    table = means.drop_nulls().pivot("share", index="method", values=metric, sort_columns=True)
    return Section(
        f"Error of {metric} by training prevalence: {dataset}",
        "Mean error of each model, by the prevalence it was trained at; the lowest of each "
        "column in bold.",
        table,
        marks=best_marks(table, table.columns[1:], axis=0),
    )


def _choices(spec: Spec, results: pl.DataFrame) -> Iterator[Section]:
    """Frequency of each selected value of a setting, in percent, as in Tables 5 and 6."""
    names = [method.name for method in spec.methods if is_quacc(method)]
    rows = []
    for dataset in spec.datasets:
        for name in names:
            subset = results.filter((pl.col("dataset") == dataset) & (pl.col("method") == name))
            models = subset.unique("training_set", maintain_order=True)
            settings = [
                dict(entry.split("=") for entry in setting.split())
                for metric in spec.metrics
                for setting in models[f"chosen_{metric}"].to_list()
                if setting
            ]
            if settings:
                rows.append({"data": dataset, "method": name, **_frequencies(spec, settings)})
    if rows:
        yield Section(
            "Selected settings",
            "Percentage of the selections (one per model and metric) that took a variant, the "
            "covariates, a recalibration and balanced classes.",
            pl.DataFrame(rows, infer_schema_length=None),
        )


def _frequencies(spec: Spec, settings: list[dict[str, str]]) -> dict[str, float | None]:
    questions = [("variants", variant) for variant in spec.selection["variants"]]
    questions += [("covariates", "True"), ("calibration", "bcts"), ("class_weight", "balanced")]
    frequencies: dict[str, float | None] = {}
    for name, value in questions:
        values = [setting[name] for setting in settings if name in setting]
        title = value if name == "variants" else name.replace("_", " ")
        frequencies[title] = 100 * values.count(value) / len(values) if values else None
    return frequencies


def _compared(spec: Spec, results: pl.DataFrame, published: Path) -> list[Section]:
    """One section per metric."""
    setting = "multiclass" if is_uniform(spec) else "binary"
    paper = pl.read_csv(published).filter(pl.col("setting") == setting)
    return [
        _comparison(spec, results, paper, metric)
        for metric in spec.metrics
        if metric in _COLUMNS and results[metric].count()
    ]


def _comparison(spec: Spec, results: pl.DataFrame, paper: pl.DataFrame, metric: str) -> Section:
    """Errors beside those of the paper, of its datasets and of stand-ins."""
    collections, published_columns = _PAPER["multiclass" if is_uniform(spec) else "binary"]
    run = [name for name in spec.datasets if name in results["dataset"]]
    columns_of = {name: published_columns[name] for name in run if name in published_columns}
    stand_ins = [name for name in run if name not in published_columns]
    means = results.group_by("dataset", "method").agg(pl.col(metric).mean())
    table = pl.DataFrame({"method": [method.name for method in spec.methods]})
    texts = []
    for name, column in columns_of.items():
        of_dataset = means.filter(dataset=name).select("method", pl.col(metric).alias(name))
        published = pl.col(f"{column}_{_COLUMNS[metric]}").alias(f"{name}, paper")
        for errors in (of_dataset, paper.select("method", published)):
            table = table.join(errors, "method", "left")
        texts += [_ranks(table, name, f"{name}, paper"), *_distance_and_order(table, name)]
    if stand_ins:
        columns = [
            f"{column}_{_COLUMNS[metric]}"
            for name, column in published_columns.items()
            if name.startswith("rcv1")
        ]
        mean_there = pl.mean_horizontal(columns).alias(f"{collections}, paper")
        of_stand_ins = means.filter(pl.col("dataset").is_in(stand_ins)).group_by("method")
        mean_here = of_stand_ins.agg(pl.col(metric).mean().alias("stand-ins"))
        for errors in (mean_here, paper.select("method", mean_there)):
            table = table.join(errors, "method", "left")
        correlated = _ranks(table, "stand-ins", f"{collections}, paper")
        texts += [f"Stand-ins: means over {', '.join(stand_ins)}.", correlated]
    return Section(f"Compared with the paper: {metric}", " ".join(filter(None, texts)), table)


def _ranks(table: pl.DataFrame, ours: str, published: str) -> str:
    correlation = rank_correlation(table, ours, published)
    if correlation is None:
        return ""
    n_methods = table.drop_nulls([ours, published]).height
    return (
        f"Rank correlation with the paper, {ours}: {correlation:.2f} over {n_methods} methods."
    )


def _distance_and_order(table: pl.DataFrame, name: str) -> list[str]:
    """Distance of each method from its published error, and pairs in another order."""
    errors = {
        method: (error, error_there)
        for method, error, error_there in table.select("method", name, f"{name}, paper")
        .drop_nulls()
        .rows()
    }
    if not errors:
        return []
    distances = ", ".join(f"{method} {a / b - 1:+.0%}" for method, (a, b) in errors.items())
    texts = [f"Distance from the published errors: {distances}."]
    n_pairs = len(list(combinations(errors, 2)))
    if reversed_pairs := reversals(errors):
        listed = ", ".join(
            f"{first} ({errors[first][1]:.4f} there, {errors[first][0]:.4f} here) and {second} "
            f"({errors[second][1]:.4f}, {errors[second][0]:.4f})"
            for first, second in reversed_pairs
        )
        count = f"{len(reversed_pairs)} of {n_pairs} pairs"
        texts.append(f"{count} come in the other order: {listed}.")
    elif n_pairs:
        texts.append(f"All {n_pairs} pairs of methods come in the order of the paper.")
    return texts


def reversals(errors: Mapping[str, tuple[float, float]]) -> list[tuple[str, str]]:
    """Pairs of methods of which the first is ahead in the paper, but not here.

    Errors are those here and those published. Pairs furthest apart in the paper come first.

    >>> reversals({"DoC": (0.02, 0.0226), "LEAP": (0.03, 0.0291), "QuAcc": (0.037, 0.0259)})
    [('QuAcc', 'LEAP')]
    """
    ordered = sorted(errors, key=lambda name: errors[name][1])
    pairs = [
        (first, second)
        for first, second in combinations(ordered, 2)
        if errors[first][1] < errors[second][1] and errors[first][0] >= errors[second][0]
    ]
    return sorted(pairs, key=lambda pair: errors[pair[0]][1] - errors[pair[1]][1])
