"""Report: tables, tests and figures as in the paper, compared with its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from headcount.evaluation.significance import Comparison, compare
from headcount_studies.comparison import figures
from headcount_studies.comparison.figures import errors_of
from headcount_studies.data.tables import RECIPES, ROWS_OF_SEVERAL, SIZES, rule_of
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import figure_of
from headcount_studies.tables import (
    FLAGGED,
    PublishedAgreement,
    agreement,
    best_marks,
    by_method,
    plain_name,
    published_errors,
)


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

TUNING = {
    "binary": (("CC", "PCC", "CDE", "GAC"), ("MS", "DyS", "TSX", "FM", "TSMax")),
    "multiclass": (("EM", "PAC", "GPAC", "FM", "CDE", "CC", "PCC"), ()),
}
"""Methods that tuned classifiers make better, and worse, by the paper."""


def check_claim(claim: Claim, ranks: Mapping[str, float]) -> pl.DataFrame:
    """Compare the places of methods with a claim.

    In front is the first third of the methods by mean rank, behind the last third.

    >>> ranks = {"CC": 2.9, "MS": 1.2, "AC": 1.9}
    >>> check_claim(Claim(("MS",), ("AC",)), ranks).rows()
    [('MS', 'in front', 1, True), ('AC', 'behind', 2, False)]
    """
    names = {plain_name(method): method for method in ranks}
    third = math.ceil(len(ranks) / 3)
    rows = []
    for end, methods in (("in front", claim.front), ("behind", claim.behind)):
        for method in methods:
            if (name := names.get(plain_name(method))) is None:
                continue
            place = 1 + sum(rank < ranks[name] for rank in ranks.values())
            inside = place <= third if end == "in front" else place > len(ranks) - third
            rows.append((name, end, place, inside))
    columns = {"method": pl.String, "claim": pl.String, "place": pl.Int64, "holds": pl.Boolean}
    return pl.DataFrame(rows, columns, orient="row")


LITTLE_TRAINING = 0.1
"""Share of items for training that counts as little."""

_NAMES = ("minor", "medium", "major")
_EDGES = {"binary": (0.4, 0.8), "multiclass": (0.5,)}
_TITLES = {"tae": "absolute error", "nkld": "NKLD"}
_LINEAR_BELOW = {"tae": 0.1, "nkld": 0.01}
_CLOSE = 1e-9  # |.7 - .5| + |.3 - .5| is not exactly .4 in floating point


@dataclass(frozen=True, eq=False)
class Means:
    """Mean errors by dataset and method."""

    table: pl.DataFrame
    methods: tuple[str, ...]
    ranked: Comparison | None

    @property
    def ranks(self) -> dict[str, float]:
        """Mean rank per method, the best one first; empty without tests."""
        if self.ranked is None:
            return {}
        return dict(zip(self.ranked.methods, self.ranked.ranks.tolist(), strict=True))

    @property
    def overall(self) -> dict[str, float | None]:
        """Mean of the datasets' means."""
        return self.table.select(self.methods).mean().row(0, named=True)

    def to_long(self) -> pl.DataFrame:
        """Means as a table with the columns dataset, method and ours."""
        return self.table.unpivot(
            index="dataset", variable_name="method", value_name="ours"
        ).drop_nulls()


@dataclass(frozen=True, eq=False)
class MetricView:
    """Results by one metric."""

    spec: Spec
    results: pl.DataFrame
    metric: str
    means: Means

    @property
    def title(self) -> str:
        """Name of the metric within a sentence."""
        return _TITLES.get(self.metric, self.metric)

    @property
    def heading(self) -> str:
        """Name of the metric at the start of a sentence."""
        return self.title[0].upper() + self.title[1:]

    @property
    def linear_below(self) -> float:
        """Start of logarithmic scales."""
        return _LINEAR_BELOW.get(self.metric, 0.1)

    @property
    def classes(self) -> str:
        """Kind of task: "binary" or "multiclass"."""
        return str(self.spec.protocol["task"])


def partial_among(datasets: Iterable[str]) -> list[str]:
    """Datasets of which only a part is available, each once.

    >>> partial_among(["wine", "news", "news"])
    ['news']
    """
    return [
        name for name in dict.fromkeys(datasets) if name in RECIPES and RECIPES[name].partial
    ]


def mean_errors(spec: Spec, results: pl.DataFrame, metric: str) -> Means:
    """Mean errors by dataset and method, in the order of the spec.

    >>> from headcount_studies import MethodSpec, Spec
    >>> methods = (MethodSpec("MS"), MethodSpec("CC"))
    >>> spec = Spec("s", "comparison", ("wine", "spam"), methods, ("tae",))
    >>> results = pl.DataFrame({"dataset": ["spam", "spam", "wine", "wine"],
    ...                         "method": ["CC", "MS"] * 2, "tae": [0.3, 0.1, 0.2, 0.1]})
    >>> mean_errors(spec, results, "tae").table.rows()
    [('wine', 0.1, 0.2), ('spam', 0.1, 0.3)]
    """
    cells = (
        results.lazy()
        .group_by("dataset", "method")
        .agg(pl.col(metric).fill_nan(None).mean())
        .collect()
    )
    wide = cells.drop_nulls().pivot("method", index="dataset", values=metric)
    methods = tuple(method.name for method in spec.methods if method.name in wide.columns)
    order = pl.DataFrame({"dataset": spec.datasets})
    table = order.join(wide, on="dataset", maintain_order="left").select("dataset", *methods)
    return Means(table, methods, _ranked(table.drop_nulls().drop("dataset")))


def _ranked(errors: pl.DataFrame) -> Comparison | None:
    return compare(errors, test="nemenyi") if len(errors) > 1 and errors.width > 1 else None


def shift_groups(results: pl.DataFrame, classes: str) -> dict[str, pl.DataFrame]:
    """Results by the size of the shift since training.

    >>> list(shift_groups(pl.DataFrame({"shift": [0.1, 0.5]}), "multiclass"))
    ['minor shift (below 0.5)', 'major shift (0.5 and more)']
    """
    edges = _EDGES[classes]
    limits = list(zip((None, *edges), (*edges, None), strict=True))
    names = (_NAMES[0], *_NAMES[1:-1][: len(edges) - 1], _NAMES[-1])
    shift = pl.col("shift") + _CLOSE
    groups = {}
    for name, (low, high) in zip(names, limits, strict=True):
        inside = pl.lit(True) if low is None else shift >= low
        inside = inside if high is None else inside & (shift < high)
        rows = results.filter(inside)
        if len(rows):
            groups[f"{name} shift ({_range(low, high)})"] = rows
    return groups


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:g}"
    return f"{low:g} and more" if high is None else f"{low:g} to {high:g}"


_UNTUNED, _REGRESSION = "untuned", "LR"
_FILES = {"tae": "ae", "nkld": "nkld"}  # name of a metric in the files of published tables


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Sections of the report."""
    tables: list[Section] = []
    for metric in spec.metrics:
        view = MetricView(spec, results, metric, mean_errors(spec, results, metric))
        if not view.means.methods:
            continue
        tables += [_mean_table(view), *_ranks(view.means, f"Ranks by {view.title}")]
        tables += [_distribution(view), *_tuning(view)]
        tables += [*_by_shift(view), *_little_training(view)]
        if not spec.selection:  # claims and figures of the paper are about untuned classifiers
            tables += _compared(view, published)
    return [*tables, _datasets(spec, results), _distributions(spec)]


def _datasets(spec: Spec, results: pl.DataFrame) -> Section:
    """Sizes of the datasets, as the paper's Table 2."""
    rows = []
    for name in spec.datasets:
        if name not in results["dataset"]:
            continue
        (items, features), recipe = SIZES[name], RECIPES[name]
        n_classes = rule_of(name, spec.protocol["task"]).n_classes
        if spec.protocol["task"] == "multiclass":
            items = ROWS_OF_SEVERAL.get(name, items)
        extent = f"part: {recipe.available}" if recipe.partial else "whole"
        binned = "no" if recipe.finite else "yes"
        rows.append((name, items, features, binned, n_classes, extent))
    columns = ["dataset", "items", "features", "non-categorical", "classes", "data"]
    return Section(
        "Datasets",
        "As the paper's Table 2. Items and features are those after preparation, as methods "
        "see them. Non-categorical features are binned for methods that need finite ones.",
        pl.DataFrame(rows, columns, orient="row"),
    )


def _distributions(spec: Spec) -> Section:
    """Training and test distributions, as the paper's Table 3."""
    rows = [
        (int(n_classes), kind, ", ".join(f"{share:g}" for share in shares))
        for n_classes in spec.protocol["train"]
        for kind in ("train", "test")
        for shares in spec.protocol[kind][n_classes]
    ]
    splits = ", ".join(f"{share:g}" for share in spec.protocol["splits"])
    return Section(
        "Distributions",
        "Shares of the classes in training and test, as in the paper's Table 3. Each pair "
        f"is drawn {spec.protocol['draws']} times with {splits} of the items in training.",
        pl.DataFrame(rows, ["classes", "part", "shares"], orient="row"),
    )


def _mean_table(view: MetricView) -> Section:
    means = view.means
    foot: list[dict[str, object]] = [{"dataset": "mean", **means.overall}]
    if means.ranks:
        foot.append({"dataset": "mean rank", **means.ranks})
    table = pl.concat([means.table, pl.DataFrame(foot, schema=means.table.schema)])
    marks = best_marks(table, means.methods, axis=1)
    partial = partial_among(table["dataset"])
    for i, name in enumerate(table["dataset"]):
        if name in partial:
            marks[i, "dataset"] = "*"
    notes = ["The lowest of each row in bold."]
    if view.metric == "tae":
        notes.insert(0, "The error of a sample is the sum over the classes.")
    if partial:
        notes.append("* Part of the data that the paper used.")
    text = f"Mean over all training sets and samples of a dataset. {' '.join(notes)}"
    return Section(f"Mean {view.title}", text, table, marks=marks)


def _ranks(means: Means, title: str) -> Iterator[Section]:
    if (ranked := means.ranked) is not None:
        yield Section(title, _rank_text(means, ranked), figure=_rank_figure(ranked))


def _rank_text(means: Means, ranked: Comparison) -> str:
    assert ranked.friedman is not None
    left_out = len(means.table) - ranked.n_units
    without = f" ({left_out} without results of all methods are left out)" if left_out else ""
    p = ranked.friedman[1]
    return (
        f"Mean ranks over {ranked.n_units} datasets{without}, 1 for the best. Friedman's test "
        f"that no methods differ: p {'< 0.0001' if p < 0.0001 else f'= {p:.4f}'}. Bars join "
        f"methods whose ranks are within {ranked.critical_difference:.2f}, the critical "
        "difference of Nemenyi's test at 5%."
    )


def _rank_figure(ranked: Comparison) -> Callable[[], Figure]:
    return lambda: figure_of(ranked.plot(width=figures.WIDTH))


_BOXES = (
    "The widest box holds half of them, the next, with it, three quarters, and so on; the line "
    "across is the median. The scale is linear up to the dotted line and logarithmic beyond."
)


def _distribution(view: MetricView) -> Section:
    return Section(
        f"Distribution of the {view.title}",
        f"All runs of each method. {_BOXES}",
        figure=lambda: _letter_figure(view, view.results),
    )


def _letter_figure(view: MetricView, results: pl.DataFrame) -> Figure:
    errors = errors_of(view.spec, results, view.metric)
    return figures.letter_figure(errors, linear_below=view.linear_below, error=view.title)


def _tuning(view: MetricView) -> Iterator[Section]:
    """Mean error of each method by its classifier, if some classifiers are tuned."""
    base = {
        method.name: (method.name, _UNTUNED)
        if "classifier" not in method.options
        else (method.name.rpartition("-")[0], method.options["classifier"])
        for method in view.spec.methods
    }
    columns = dict.fromkeys(column for _, column in base.values())
    if len(columns) < 2:
        return
    rows: dict[str, dict[str, float | None]] = {}
    for name, error in view.means.overall.items():
        method, column = base[name]
        rows.setdefault(method, dict.fromkeys(columns))[column] = error
    tuned = [
        {"method": method, **row}
        for method, row in rows.items()
        if any(row[column] is not None for column in columns if column != _UNTUNED)
    ]
    table = pl.DataFrame(tuned, infer_schema_length=None)
    yield Section(
        f"{view.heading} by classifier",
        "Mean over the datasets of the mean errors, with default logistic regression (untuned) "
        "and with classifiers whose parameters are chosen on each training set; the lowest of "
        f"each row in bold.{_tuning_text(view, table)}",
        table,
        marks=best_marks(table, table.columns[1:], axis=1),
    )


def _tuning_text(view: MetricView, table: pl.DataFrame) -> str:
    """Effect of tuning logistic regression, beside what the paper says of it."""
    if not {_UNTUNED, _REGRESSION} <= set(table.columns):
        return ""
    pairs = table.drop_nulls([_UNTUNED, _REGRESSION])
    is_lower = dict(zip(pairs["method"], pairs[_REGRESSION] < pairs[_UNTUNED], strict=True))
    text = (
        " Tuned logistic regression has a lower error than the default for "
        f"{sum(is_lower.values())} of {len(is_lower)} methods."
    )
    better, worse = (
        [name for name in ends if name in is_lower] for ends in TUNING[view.classes]
    )
    same = [is_lower[name] == (name in better) for name in (*better, *worse)]
    finding = f"{', '.join(better)} better" + f" and {', '.join(worse)} worse" * bool(worse)
    return f"{text} The paper finds {finding}: here too for {sum(same)} of these {len(same)}."


def _by_shift(view: MetricView) -> Iterator[Section]:
    groups = shift_groups(view.results, view.classes)
    if len(groups) < 2:
        return
    means = {name: mean_errors(view.spec, rows, view.metric) for name, rows in groups.items()}
    table = by_method(view.means.methods, {name: of.overall for name, of in means.items()})

    def figure() -> Figure:
        errors = {
            name: errors_of(view.spec, rows, view.metric) for name, rows in groups.items()
        }
        return figures.letter_panels(errors, linear_below=view.linear_below, error=view.title)

    yield Section(
        f"{view.heading} by shift",
        "Samples by how far their mix is from that of training (L1 distance). Means of the "
        "datasets' means; the lowest of each column in bold.",
        table,
        figure,
        best_marks(table, table.columns[1:], axis=0),
    )
    for name, of_group in means.items():
        yield from _ranks(of_group, f"Ranks by {view.title}, {name}")


def _little_training(view: MetricView) -> Iterator[Section]:
    little = view.results.filter((pl.col("split") - LITTLE_TRAINING).abs() < 1e-9)
    if little.is_empty() or len(little) == len(view.results):
        return
    means = mean_errors(view.spec, little, view.metric)
    columns: dict[str, Mapping[str, float | None]] = {
        "all": view.means.overall,
        "10% for training": means.overall,
    }
    if means.ranks and view.means.ranks:
        columns |= {"mean rank, all": view.means.ranks, "mean rank, 10%": means.ranks}
    table = by_method(means.methods, columns)
    yield Section(
        f"{view.heading} with little training data",
        "Runs in which 10% of the items were for training and 90% for the test, compared with "
        "all runs; the lowest of each column in bold."
        + (f"\n\n{_rank_text(means, means.ranked)}" if means.ranked else ""),
        table,
        _rank_figure(means.ranked) if means.ranked else None,
        best_marks(table, table.columns[1:], axis=0),
    )
    yield Section(
        f"Distribution of the {view.title} with little training data",
        f"Runs of each method with 10% of the items for training. {_BOXES}",
        figure=lambda: _letter_figure(view, little),
    )


def _compared(view: MetricView, published: Path | None) -> Iterator[Section]:
    """Comparison with the paper's table, if it is given, and check of its conclusions."""
    name = f"comparison_{view.classes}_{_FILES.get(view.metric)}.csv"
    errors = published_errors(published, name)
    compared = None if errors is None else agreement(view.means.to_long(), errors)
    if compared is not None:
        yield _agreement(view, compared)
    claim = CLAIMS.get((view.classes, view.metric))
    methods = set(map(plain_name, view.means.ranks))
    if claim is not None and methods & set(map(plain_name, (*claim.front, *claim.behind))):
        yield _conclusions(view, claim, compared)


def _agreement(view: MetricView, agreed: PublishedAgreement) -> Section:
    methods = agreed.methods
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
    marks = {
        (i, "median difference, %"): "!" for i, is_flagged in enumerate(flagged) if is_flagged
    }
    partial = partial_among(agreed.pairs["dataset"])
    return Section(
        f"{view.heading} compared with the paper",
        _agreement_text(view, agreed, partial),
        table,
        lambda: figures.scatter_panels(agreed, partial=partial, error=view.title),
        marks,
    )


def _percent(column: str) -> pl.Expr:
    return (100 * pl.col(column)).round(0).cast(pl.Int64)


def _agreement_text(view: MetricView, agreed: PublishedAgreement, partial: list[str]) -> str:
    n = agreed.pairs["dataset"].n_unique()
    flagged = agreed.methods.filter("flagged")["method"].to_list()
    text = [
        f"Over the {n} dataset{'' if n == 1 else 's'} and {len(agreed.methods)} methods in "
        "common, Spearman's correlation with the published figures is "
        f"{agreed.of_means:.3f} for the methods' mean errors and {agreed.of_ranks:.3f} for "
        "their mean ranks."
    ]
    if partial:
        complete = agreed.pairs.filter(~agreed.pairs["dataset"].is_in(partial))
        again = PublishedAgreement.of_pairs(complete)
        text[0] += (
            f" Without the datasets of which only a part is available ({', '.join(partial)}; "
            "hollow in the figure) it is "
            + (f"{again.of_means:.3f} and {again.of_ranks:.3f}." if again else "not known.")
        )
    listed = f"beyond {FLAGGED:.0%}: {', '.join(flagged)}" if flagged else "none is flagged"
    text.append(
        "Median difference: the median over the datasets of ours / published - 1, with an "
        f"exclamation mark beyond {FLAGGED:.0%} either way ({listed}). Near: percentage of the "
        f"datasets where the difference is within {FLAGGED:.0%}, the grey band of the figure."
    )
    missing = [m for m in view.means.methods if m not in set(agreed.methods["method"])]
    if missing:
        text.append(f"Not in the published table: {', '.join(missing)}.")
    return "\n\n".join(text)


def _conclusions(view: MetricView, claim: Claim, agreed: PublishedAgreement | None) -> Section:
    checked = check_claim(claim, view.means.ranks)
    table = checked.with_columns(
        pl.when("holds").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("holds")
    )
    if agreed is not None:
        theirs = dict(agreed.methods.select("method", "published_rank").iter_rows())
        places = check_claim(claim, theirs).select(
            "method", pl.col("place").alias("published place")
        )
        table = table.join(places, on="method", how="left", maintain_order="left")
        table = table.select("method", "claim", "place", "published place", "holds")
    marks = {(i, "holds"): "!" for i, holds in enumerate(checked["holds"]) if not holds}
    return Section(
        f"Do the conclusions hold? By {view.title}",
        _conclusions_text(view, claim, checked),
        table,
        marks=marks,
    )


def _conclusions_text(view: MetricView, claim: Claim, checked: pl.DataFrame) -> str:
    ranks = {plain_name(method): rank for method, rank in view.means.ranks.items()}
    front = [ranks[name] for name in map(plain_name, claim.front) if name in ranks]
    behind = [ranks[name] for name in map(plain_name, claim.behind) if name in ranks]
    right = sum(first < last for first in front for last in behind)
    return (
        f"{checked['holds'].sum()} of {len(checked)} hold. The paper puts "
        f"{', '.join(claim.front)} in front and {', '.join(claim.behind)} behind. In front is "
        f"taken to be the first third of the {len(ranks)} methods by mean rank over the "
        "datasets, behind the last third.\n\n"
        f"Of {len(front) * len(behind)} pairs of a method claimed in front and one claimed "
        f"behind, {right} are in that order."
    )
