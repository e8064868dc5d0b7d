"""Report: tables and figures by degree of shift, claims of the paper, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from headcount_studies.classifier_grid import made
from headcount_studies.dataset_shift.study import (
    EXCHANGED,
    PROTOCOLS,
    make_protocol,
    protocol_datasets,
)
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import Panel, box_panels, values_by
from headcount_studies.tables import (
    NOTE,
    Marks,
    by_method,
    marked_means,
    paired_errors,
    published_file,
    rank_correlation,
)

_MANY_DEGREES = 10  # with fewer, three panels fit beside each other
_LARGE = 0.5  # of the largest degree: from there on a shift counts as large
_ADJUSTED = ("ACC", "PACC", "DyS", "SLD")
_Row = tuple[str, str, bool]


def check_claims(views: Mapping[str, pl.DataFrame]) -> Iterator[_Row]:
    """Check the claims about the parts of the results, and about methods, that there are."""
    if "prior" in views:
        yield from _first("SLD first under prior shift", "SLD", views["prior"])
        yield from _last("CC and PCC last under prior shift", views["prior"])
    if "pure" in views:
        pure = "PCC first under pure covariate shift"
        yield from _first(pure, "PCC", views["pure"])
        # The paper has one table per training prevalence.
        for (prevalence,), rows in (
            views["pure"].sort("p_train").group_by("p_train", maintain_order=True)
        ):
            yield from _first(f"{pure}, trained at {prevalence:g}", "PCC", rows)
        yield _grows("all hurt by pure covariate shift", views["pure"])
    if "pure-unselected" in views:
        claim = "PCC first under pure covariate shift, settings not selected"
        yield from _first(claim, "PCC", views["pure-unselected"])
    if "mixed" in views:
        yield from _last("CC and PCC last under mixed covariate shift", views["mixed"])
    if "local" in views and "local-control" in views:
        yield from _local(views["local"], views["local-control"])
    if "concept" in views:
        yield _grows("all hurt by concept shift", views["concept"])


def _mean_errors(
    rows: pl.DataFrame, *, least: float = 0.0, most: float = 1.0
) -> dict[str, float]:
    """Mean error per method at degrees in a range, given as parts of the largest degree.

    Every degree has the same weight, whatever its number of samples.
    """
    size = pl.col("degree").abs()
    limits = size.max() * least - 1e-9, size.max() * most + 1e-9
    return dict(
        rows.filter(size.is_between(*limits))
        .group_by("method", "degree", maintain_order=True)
        .agg(pl.col("ae").mean())
        .group_by("method", maintain_order=True)
        .agg(pl.col("ae").mean())
        .drop_nulls()
        .sort("ae", "method")
        .iter_rows()
    )


def _first(claim: str, method: str, rows: pl.DataFrame) -> Iterator[_Row]:
    means = _mean_errors(rows)
    if method in means and len(means) > 1:
        yield claim, _listed(means), next(iter(means)) == method


def _last(claim: str, rows: pl.DataFrame) -> Iterator[_Row]:
    means, last = _mean_errors(rows), {"CC", "PCC"}
    if last < means.keys():
        yield claim, _listed(means), set(list(means)[-2:]) == last


def _grows(claim: str, rows: pl.DataFrame) -> _Row:
    none, large = _mean_errors(rows, most=0), _mean_errors(rows, least=_LARGE)
    grown = {name: large[name] - none[name] for name in none if name in large}
    evidence = "without and with large shift: " + ", ".join(
        f"{name} {none[name]:.3f} {large[name]:.3f}" for name in grown
    )
    return claim, evidence, all(more > 0 for more in grown.values())


def _local(local: pl.DataFrame, control: pl.DataFrame) -> Iterator[_Row]:
    here, controlled = _mean_errors(local, least=_LARGE), _mean_errors(control, least=_LARGE)
    for claim, methods, sign in (
        ("adjusted methods hurt by local covariate shift", _ADJUSTED, 1),
        ("CC and PCC helped by local covariate shift", ("CC", "PCC"), -1),
    ):
        shared = [name for name in methods if name in here and name in controlled]
        if not shared:
            continue
        evidence = "local, and prior shift as large: " + ", ".join(
            f"{name} {here[name]:.3f} {controlled[name]:.3f}" for name in shared
        )
        yield claim, evidence, all(sign * (here[n] - controlled[n]) > 0 for n in shared)


def _listed(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {error:.3f}" for name, error in means.items())


# Columns that identify the test samples of a dataset and protocol.
_SAMPLE = (
    "degree", "p_train", "p_test", "alpha_train", "alpha_test", "cut_train", "cut_test",
    "repeat", "test_repeat",
)  # fmt: skip
_SIGN = "The degree is the prevalence in the test less that in training"
_STARS = (
    "The degree is the number of stars where training cuts negatives from positives, less that "
    "of the test"
)
_ALPHA = "The degree is the share of the first group in training less that in the test"


@dataclass(frozen=True)
class View:
    """A part of the results: a protocol, or one kind of its samples."""

    title: str
    text: str
    protocol: str
    pure: bool | None = None

    def of(self, results: pl.DataFrame) -> pl.DataFrame:
        """Rows of this part."""
        rows = results.filter(pl.col("protocol") == self.protocol)
        if self.pure is None:
            return rows
        alike = pl.col("p_train") == pl.col("p_test")
        return rows.filter(alike if self.pure else ~alike)


VIEWS = {
    "prior": View("Prior shift", f"{_SIGN}.", "prior"),
    "pure": View(
        "Global pure covariate shift",
        f"{_ALPHA}; training and test have the same prevalence.",
        "global",
        True,
    ),
    "pure-unselected": View(
        "Global pure covariate shift, settings not selected",
        f"{_ALPHA}; training and test have the same prevalence. All methods have the same "
        "classifier, with settings that were not selected. A weak classifier does well here, "
        "as its PCC stays at the prevalence of training whatever the sample.",
        "global-unselected",
        True,
    ),
    "mixed": View(
        "Global mixed covariate shift",
        f"{_ALPHA}; training and test have different prevalences.",
        "global",
        False,
    ),
    "local": View(
        "Local covariate shift",
        f"{_SIGN}; only positives of the first group become more or fewer.",
        "local",
    ),
    "local-control": View(
        "Prior shift, for comparison with local shift",
        f"{_SIGN}; positives of both groups become more or fewer, from the same training sets.",
        "local-control",
    ),
    "concept": View("Concept shift", f"{_STARS}.", "concept"),
    "forced": View(
        "Concept shift with forced prevalences",
        f"{_STARS}. The prevalences of training and test are fixed, and they differ: without "
        "concept shift there is prior shift.",
        "forced",
    ),
}
"""Parts of the results that tables are made of, by name."""

_TABLES = {
    # protocol: file of the published table, its keys, title
    "prior": ("shift_prior_mae.csv", ("degree",), "prior shift"),
    "global": (
        "shift_global_covariate_mae.csv",
        ("p_train", "p_test", "degree"),
        "global covariate shift",
    ),
}


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Experiments, claims, tables and figures by view and dataset, the paper's tables."""
    results = results.with_columns(pl.col("degree").round(6) + 0.0)
    tables = [_experiments(spec, results), _claims(spec, results)]
    for name, view in VIEWS.items():
        rows = view.of(results)
        for dataset in spec.datasets:
            subset = rows.filter(pl.col("dataset") == dataset)
            if subset["ae"].count():
                tables.append(_by_degree(spec, view, dataset, subset))
                if name == "prior":
                    tables += _calibration(spec, dataset, subset, results)
    tables += _blocks(spec, results)
    tables += _compared_pair(spec, results)
    distances = []
    for protocol, (file, keys, title) in _TABLES.items():
        subset = results.filter(pl.col("protocol") == protocol)
        if (path := published_file(published, file)) and subset["ae"].count():
            table, of_table = _compared(spec, subset, path, keys, title)
            tables.append(table)
            distances += of_table
    if distances:
        tables.append(_distance_section(distances))
    return tables


def _blocks(spec: Spec, results: pl.DataFrame) -> list[Section]:
    """Global covariate shift by prevalence of training, a block per prevalence of the test."""
    methods = [method.name for method in spec.methods]
    rows = results.filter((pl.col("protocol") == "global") & pl.col("ae").is_not_null())
    return [
        _block(methods, dataset, p_train, subset)
        for dataset in spec.datasets
        for (p_train,), subset in rows.filter(pl.col("dataset") == dataset)
        .sort("p_train")
        .group_by("p_train", maintain_order=True)
    ]


def _block(methods: list[str], dataset: str, p_train: float, results: pl.DataFrame) -> Section:
    table = results.select("degree").unique().sort("degree")
    marks: Marks = {}
    panels = []
    for p_test in sorted(results["p_test"].unique()):
        of_test = results.filter(pl.col("p_test") == p_test)
        wide = paired_errors(of_test, _SAMPLE, methods, "ae")
        means, its_marks = marked_means(wide, "degree", methods)
        new = {method: f"{method}, {p_test:g}" for method in methods}
        rows = table["degree"].to_list()
        table = table.join(means.rename(new), on="degree", how="left", maintain_order="left")
        degrees = means["degree"].to_list()
        marks |= {
            (rows.index(degrees[row]), new[method]): mark
            for (row, method), mark in its_marks.items()
        }
        panels.append((p_test, values_by(of_test, "method", "degree", "ae")))
    return Section(
        f"Global covariate shift, training prevalence {p_train:g}: {dataset}",
        f"Mean absolute error by degree of shift. {_ALPHA}. Columns name a method and the "
        f"prevalence of the test; with {p_train:g} the shift is pure, and the panels are grey. "
        f"Wilcoxon signed-rank tests within a prevalence: {NOTE}",
        table,
        lambda: box_panels(
            [
                Panel(
                    f"{method}, test prevalence {p_test:g}",
                    {"error": values.get(method, {})},
                    grey=p_test == p_train,
                )
                for method in methods
                for p_test, values in panels
            ],
            max(1, len(panels)),
            ("degree of shift", "absolute error"),
            height=1.35,
        ),
        marks,
    )


def _calibration(
    spec: Spec, dataset: str, rows: pl.DataFrame, results: pl.DataFrame
) -> Iterator[Section]:
    """Prior shift with and without calibration, if both were run."""
    exchanged = results.filter(
        (pl.col("dataset") == dataset)
        & (pl.col("protocol") == f"prior{EXCHANGED}")
        & pl.col("ae").is_not_null()
    )
    if exchanged.is_empty():
        return
    calibrated = [
        method.name
        for method in spec.methods
        if made(method).get_params().get("calibration") is not None
    ]
    has_own = pl.col("method").is_in(calibrated)
    kinds = {
        "without calibration": pl.concat([rows.filter(~has_own), exchanged.filter(has_own)]),
        "with calibration": pl.concat([rows.filter(has_own), exchanged.filter(~has_own)]),
    }
    table = _means_of_kinds(spec, kinds)
    yield Section(
        f"Prior shift with and without calibration: {dataset}",
        "Mean absolute error over degrees, each with the same weight. Calibration is "
        "Platt's. Settings are those selected with the calibration that methods have "
        f"elsewhere: {', '.join(calibrated) or 'no method'} with, the others without.",
        table,
        _boxes([method.name for method in spec.methods], kinds),
    )


def _compared_pair(spec: Spec, results: pl.DataFrame) -> Iterator[Section]:
    """Local covariate shift and prior shift of the same size, in one figure per dataset."""
    for dataset in spec.datasets:
        of_dataset = results.filter(pl.col("dataset") == dataset)
        kinds = {
            "prior shift": VIEWS["local-control"].of(of_dataset),
            "local covariate shift": VIEWS["local"].of(of_dataset),
        }
        if all(kind["ae"].count() for kind in kinds.values()):
            yield Section(
                f"Local covariate shift beside prior shift: {dataset}",
                f"Absolute error by degree. {_SIGN}. The table has means over degrees.",
                _means_of_kinds(spec, kinds),
                _boxes([method.name for method in spec.methods], kinds),
            )


def _means_of_kinds(spec: Spec, kinds: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    columns = {kind: _mean_errors(rows) for kind, rows in kinds.items()}
    return by_method([method.name for method in spec.methods], columns)


def _boxes(methods: Sequence[str], kinds: Mapping[str, pl.DataFrame]) -> Callable[[], Figure]:
    """Function that draws errors by degree, a panel per method, and kinds in it by colour."""

    def draw() -> Figure:
        values = {
            kind: values_by(rows, "method", "degree", "ae") for kind, rows in kinds.items()
        }
        panels = [
            Panel(method, {kind: of.get(method, {}) for kind, of in values.items()})
            for method in methods
            if any(method in of for of in values.values())
        ]
        n_degrees = max(len(by_degree) for by_degree in panels[0].series.values())
        across = 3 if len(kinds) == 1 and n_degrees < _MANY_DEGREES else 2
        return box_panels(panels, across, ("degree of shift", "absolute error"))

    return draw


def _experiments(spec: Spec, results: pl.DataFrame) -> Section:
    rows = []
    for protocol in PROTOCOLS:
        for dataset in protocol_datasets(spec, protocol):
            design = make_protocol(spec, dataset, protocol)
            done = results.filter(
                (pl.col("dataset") == dataset) & (pl.col("protocol") == protocol)
            )
            n_methods = max(1, done["method"].n_unique())
            rows.append(
                (protocol, dataset, design.train_size, design.test_size, design.n_training_sets,
                 design.n_samples, done.height // n_methods)
            )  # fmt: skip
    names = ["protocol", "dataset", "training items", "test items", "training sets"]
    table = pl.DataFrame(rows, schema=[*names, "samples", "samples done"], orient="row")
    failed = results["failure"].count()
    lost = f" {failed:,} results are missing because a method failed." if failed else ""
    return Section(
        "Experiments",
        f"{len(spec.methods)} methods: {', '.join(method.name for method in spec.methods)}. "
        "Errors are absolute errors of the share of the positive class." + lost,
        table,
    )


def _claims(spec: Spec, results: pl.DataFrame) -> Section:
    """One row per claim and dataset: what was found, and whether the claim holds."""
    claims = []
    for dataset in spec.datasets:
        views = {name: view.of(results.filter(dataset=dataset)) for name, view in VIEWS.items()}
        views = {name: rows for name, rows in views.items() if rows["ae"].count()}
        claims += [(claim, dataset, *outcome) for claim, *outcome in check_claims(views)]
    table = pl.DataFrame(
        [(*claim, "yes" if holds else "no") for *claim, holds in claims],
        dict.fromkeys(("claim", "dataset", "found", "holds"), pl.String),
        orient="row",
    )
    return Section(
        "Claims of the paper",
        "Mean absolute errors over degrees, each with the same weight. A shift is large from "
        "half of the largest degree on.",
        table.sort("claim", maintain_order=True),
    )


def _by_degree(spec: Spec, view: View, dataset: str, rows: pl.DataFrame) -> Section:
    methods = [method.name for method in spec.methods]
    wide = paired_errors(rows, _SAMPLE, methods, "ae")
    table, marks = marked_means(wide, "degree", methods)
    return Section(
        f"{view.title}: {dataset}",
        f"Mean absolute error by degree of shift. {view.text} Wilcoxon signed-rank tests: "
        f"{NOTE}",
        table,
        _boxes(methods, {"error": rows}),
        marks,
    )


def _compared(
    spec: Spec, rows: pl.DataFrame, path: Path, keys: Sequence[str], title: str
) -> tuple[Section, list[tuple[Any, ...]]]:
    """Rank correlation of the methods' errors with the paper's, one column per dataset.

    And by dataset its median over the cells, and the median ratio of the errors.
    """
    paper = _rounded(pl.read_csv(path), keys)
    methods = [method.name for method in spec.methods if method.name in paper.columns]
    theirs = paper.unpivot(methods, index=keys, variable_name="method", value_name="paper")
    table = paper.select(keys)
    means: list[str] = []
    distances: list[tuple[Any, ...]] = []
    for (dataset,), of_dataset in rows.drop_nulls("ae").group_by(
        "dataset", maintain_order=True
    ):
        ours = _rounded(of_dataset.group_by(*keys, "method").agg(pl.col("ae").mean()), keys)
        pairs = ours.join(theirs, on=[*keys, "method"])
        correlations = [
            (*key, rank_correlation(cell, "ae", "paper")) for key, cell in pairs.group_by(keys)
        ]
        schema = dict.fromkeys((*keys, str(dataset)), pl.Float64)
        column = pl.DataFrame(correlations, schema, orient="row")
        table = table.join(column, on=keys, how="left", maintain_order="left")
        numbers = column[str(dataset)].drop_nulls().to_list()
        means.append(f"{fmean(numbers):.2f} on {dataset}" if numbers else f"none on {dataset}")
        ratios = pairs.filter(pl.col("paper") > 0).select(pl.col("ae") / pl.col("paper"))
        middle = median(numbers) if numbers else None
        distances.append((title, str(dataset), middle, ratios["ae"].median()))
    names = table.columns[len(keys) :]
    table = table.filter(pl.any_horizontal(pl.col(names).is_not_null()))
    groups = list(keys[:-1])
    if groups:
        table = table.group_by(groups).agg(pl.col(names).mean()).sort(groups)
    over = f"mean over degrees for each {' and '.join(groups)}" if groups else "by degree"
    section = Section(
        f"Compared with the paper: {title}",
        "Spearman's correlation of the methods' mean errors with those in the paper, "
        f"{over}: 1 if the methods come in the same order. Mean: {', '.join(means)}.",
        table,
    )
    return section, distances


def _distance_section(rows: list[tuple[Any, ...]]) -> Section:
    columns: dict[str, type[pl.DataType]] = {"shift": pl.String, "dataset": pl.String}
    columns |= dict.fromkeys(("rank correlation", "error / paper's"), pl.Float64)
    return Section(
        "Distance from the paper",
        "Medians over the cells of the paper's tables: Spearman's correlation of the methods, "
        "and the ratio of our error to the published one. The reviews are others, so errors "
        "need not agree.",
        pl.DataFrame(rows, schema=columns, orient="row"),
    )


def _rounded(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Keys as numbers that can be compared, and no -0."""
    return table.with_columns((pl.col(key).cast(pl.Float64).round(6) + 0.0) for key in keys)
