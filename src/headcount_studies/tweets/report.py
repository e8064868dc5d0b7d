"""Report: errors by collection and method, ranks, comparison with the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import polars as pl

from headcount_studies.data.texts import TWEET_CLASSES, VECTOR_TWEETS
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import Panel, line_panels, mean_curves, name_boxes, values_by
from headcount_studies.tables import (
    NOTE,
    agreement,
    marked_datasets,
    mean_ranks,
    paired_errors,
    published_errors,
    rank_correlation,
    with_mean,
)

_PUBLISHED_NAMES = {
    f"SemEval{year}": f"semeval20{year}" for year in ("13", "14", "15", "16")
} | {"HCR": "hcr", "OMD": "omd", "Sanders": "sanders", "SST": "sst"}
_BINS = 20  # of distances in the figures
_FEWEST = 3  # methods of the earlier study that a table of ranks needs
_FRONT, _BEHIND = ("SLD", "PACC", "ACC"), ("CC", "PCC")


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Per metric: errors by collection and by shift, ranks, comparison with the paper."""
    tables = []
    for metric in spec.metrics:
        # Settings are not chosen by a metric that was added to the report.
        by = metric if metric in results["chosen_by"] else spec.metrics[0]
        rows = results.filter((pl.col("chosen_by") == by) & pl.col(metric).is_not_null())
        if rows.is_empty():
            continue
        methods = [method.name for method in spec.methods if method.name in rows["method"]]
        table, section = _errors(spec, rows, methods, (metric, by))
        tables += [section, _ranks(table, methods, metric), *_earlier(table, methods, metric)]
        errors = published_errors(published, f"tweets_{metric}.csv")
        if errors is not None:
            tables.append(_compared(table, methods, metric, errors))
    if results.schema.get("estimated") == pl.List(pl.Float64):
        tables += _shares(spec, results.drop_nulls("estimated"))
    return tables


def _errors(
    spec: Spec, rows: pl.DataFrame, methods: list[str], metrics: tuple[str, str]
) -> tuple[pl.DataFrame, Section]:
    metric, by = metrics
    wide = paired_errors(rows, ("dataset", "sample"), methods, metric)
    table, marks = marked_datasets(wide, spec.datasets, methods, test="ttest")
    with_mean_row, marks = with_mean(table, marks, wide, methods, test="ttest")
    return table, Section(
        f"{metric.upper()} by collection",
        f"Mean {metric.upper()} over all mixes, C selected by {by.upper()}. Paired t-tests, in "
        f"the last row over the samples of all collections: {NOTE} The figure has the mean by "
        "distance (AE) of the mix from that of training; the dotted lines are the least and "
        "the largest distance in the earlier study of Gao and Sebastiani (2016).",
        with_mean_row,
        lambda: line_panels(
            [mean_curves(rows, "", "method", "shift", metric, bins=_BINS)],
            1,
            ("distance of the mix from training (AE)", metric.upper()),
            log=metric == "rae",
            verticals=SHIFTS,
            height=4.2,
        ),
        marks,
    )


def _earlier(table: pl.DataFrame, methods: list[str], metric: str) -> Iterator[Section]:
    """Ranks of the methods of the earlier study, with its ranks in parentheses."""
    before = earlier_ranks(metric)
    shared = [name for name in METHODS if name in methods]
    table = table.filter(pl.col("dataset").is_in(list(before))).drop_nulls(shared)
    if len(shared) < _FEWEST or table.is_empty():
        return
    rows, mean_ranks = [], []
    our_ranks: dict[str, list[int]] = {name: [] for name in shared}
    for dataset, *errors in table.select("dataset", *shared).iter_rows():
        order = sorted(range(len(shared)), key=errors.__getitem__)
        for rank, place in enumerate(order, start=1):
            our_ranks[shared[place]].append(rank)
        pairs = [(our_ranks[name][-1], before[dataset][name]) for name in shared]
        rows.append([dataset, *(f"{ours} ({theirs})" for ours, theirs in pairs)])
    for name in shared:
        theirs = fmean(before[dataset][name] for dataset in table["dataset"])
        mean_ranks.append(f"{fmean(our_ranks[name]):.1f} ({theirs:.1f})")
    rows.append(["mean", *mean_ranks])
    yield Section(
        f"Ranks by {metric.upper()}, beside the earlier study",
        "Rank among the methods of both studies and, in parentheses, the rank in the study "
        "of Gao and Sebastiani (2016), who tested on one natural sample per collection.",
        pl.DataFrame(rows, schema=["dataset", *shared], orient="row"),
    )


def _shares(spec: Spec, results: pl.DataFrame) -> Iterator[Section]:
    """Estimated by true share, and signed errors, of each class and metric of selection."""
    order = pl.Enum([method.name for method in spec.methods])
    metrics = [name for name in spec.metrics if name in results["chosen_by"]]
    results = results.with_columns(pl.col("method").cast(order)).sort("method")
    by_selection = {
        (name, metric): results.filter(pl.col("chosen_by") == metric).select(
            pl.col("method").cast(pl.String),
            pl.col("true").list.get(place).round(6),
            pl.col("estimated").list.get(place),
        )
        for place, name in reversed(list(enumerate(TWEET_CLASSES)))
        for metric in metrics
    }
    by_selection = {key: rows for key, rows in by_selection.items() if rows.height}
    if not by_selection:
        return
    titled = {
        f"{name}, selected by {by.upper()}": rows for (name, by), rows in by_selection.items()
    }
    across = len(metrics)
    yield Section(
        "Estimated and true shares",
        "Mean estimate of each class by its true share, over all collections. The diagonal "
        "is dashed; behind the lines, the number of samples.",
        figure=lambda: line_panels(
            [
                mean_curves(rows, title, "method", "true", "estimated")
                for title, rows in titled.items()
            ],
            across,
            ("true share", "estimated share"),
            diagonal=True,
        ),
    )
    yield _bias(titled, across)


def _bias(titled: dict[str, pl.DataFrame], across: int) -> Section:
    """Signed errors of each part: boxes by method, and means."""
    error = (pl.col("estimated") - pl.col("true")).alias("bias")
    errors = {
        title: rows.with_columns(error, pl.lit(0.0).alias("x"))
        for title, rows in titled.items()
    }
    means = [
        (title, method, float(mean))
        for title, rows in errors.items()
        for method, mean in rows.group_by("method", maintain_order=True)
        .agg(pl.col("bias").mean())
        .iter_rows()
    ]
    table = pl.DataFrame(means, schema=["class", "method", "bias"], orient="row")
    return Section(
        "Bias by class",
        "Estimated less true share: boxes hold the middle half, whiskers are Tukey's, dots are "
        "outliers. The table has the means.",
        table.pivot("method", index="class", values="bias"),
        lambda: name_boxes(
            [
                Panel(title, values_by(rows, "method", "x", "bias"))
                for title, rows in errors.items()
            ],
            across,
            ("", "estimated less true share"),
            symmetric=True,
        ),
    )


def _ranks(table: pl.DataFrame, methods: list[str], metric: str) -> Section:
    ranks = mean_ranks(table, methods).sort("rank", maintain_order=True)
    order = ranks["method"].to_list()
    front = [name for name in order if name in _FRONT]
    behind = [name for name in order if name in _BEHIND or name.startswith("SVM")]
    text = "Mean rank over the collections."
    if front and behind:
        holds = max(map(order.index, front)) < min(map(order.index, behind))
        text += (
            " The paper finds SLD, PACC and ACC ahead of CC, of PCC and of all machines: this "
            f"{'holds' if holds else 'does not fully hold'} here."
        )
    return Section(f"Ranks by {metric.upper()}", text, ranks)


def _compared(
    table: pl.DataFrame, methods: list[str], metric: str, errors: pl.DataFrame
) -> Section:
    names = pl.col("dataset").replace(_PUBLISHED_NAMES)
    paper = errors.with_columns(names)
    ours = table.unpivot(index="dataset", on=methods, variable_name="method", value_name="ours")
    title = f"Compared with the paper: {metric.upper()}"
    agreed = agreement(ours, paper)
    if agreed is None:
        return Section(title, "No collection and method in common.")
    correlations = []
    for name in table["dataset"]:
        pairs = agreed.pairs.filter(pl.col("dataset") == name)
        correlation = rank_correlation(pairs, "ours", "published")
        correlations.append(
            f"{name} {'-' if correlation is None else format(correlation, '.2f')}"
        )
    return Section(
        title,
        "Means over the collections in common, and the median relative difference. The "
        "vectors of the paper have features made for tweets, so compare ranks, not errors. "
        f"Spearman's correlation with the paper: {agreed.of_means:.2f} of mean errors, "
        f"{agreed.of_ranks:.2f} of mean ranks; by collection: {', '.join(correlations)}.",
        agreed.methods.select(
            "method", "ours", "published", "rank", "published_rank", "difference"
        ),
    )


METHODS = ("CC", "ACC", "PCC", "PACC", "SLD", "SVM(Q)", "SVM(KLD)", "SVM(NKLD)")
"""Methods of both studies."""

SHIFTS = (0.0020, 0.1055)
"""Least and largest shift of the test sets that the earlier study used as they are."""

# One row per collection, one digit per method.
_RANKS = {
    "ae": (
        "53216847", "52137846", "63128745", "54236817", "75168432", "82613754", "43127865",
        "34175826", "25183647", "65213874", "24135687",
    ),
    "rae": (
        "54326817", "42137856", "63128745", "54136827", "73148625", "42836715", "35124867",
        "35274816", "35162748", "54213876", "24135687",
    ),
}  # fmt: skip


def earlier_ranks(metric: str) -> dict[str, dict[str, int]]:
    """Ranks by collection and method; empty for other metrics than AE and RAE.

    >>> earlier_ranks("ae")["gasp"]["PACC"]
    1
    """
    rows = _RANKS.get(metric, ())
    return {
        collection: dict(zip(METHODS, map(int, row), strict=True))
        for collection, row in zip(VECTOR_TWEETS, rows, strict=False)
    }
