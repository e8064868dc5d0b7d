"""A study that shows whatever a test wants it to."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from headcount_studies.engine.spec import MethodSpec, Spec
from headcount_studies.engine.task import Section
from tests.report.analyses import NASTY

KIND = "tests.studies.study_fixture:experiment"
METHODS = (NASTY, "a|b_c & 5%", "=1+1")


def make_spec(**options) -> Spec:
    given = {"title": f"{NASTY} & <i>", "paper": "</style><img src=x onerror=alert(2)>"}
    methods = tuple(MethodSpec(name, "CC") for name in METHODS)
    return Spec("nasty", KIND, ("one", "two"), methods, ("ae",), **(given | options))


def make_results(spec: Spec) -> pl.DataFrame:
    rows = [
        (dataset, method.name, "</td><b>gone</b>" if j and not i else None, 0.1 * (i + j))
        for i, dataset in enumerate(spec.datasets)
        for j, method in enumerate(spec.methods)
        for _ in range(2)
    ]
    schema = ["dataset", "method", "failure", "ae"]
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.when(pl.col("failure").is_null()).then(pl.col("ae"))
    )


def errors() -> Section:
    table = pl.DataFrame(
        {
            "dataset": ["one", NASTY, "mean", "mean rank"],
            METHODS[0]: [0.25, 0.5, 0.375, 1.5],
            METHODS[1]: [0.125, None, 0.125, 12.0],
            "items": [12_345, 7, None, None],
            "said": ["fine", "=SUM(A1)", None, None],
        }
    )
    marks = {(0, METHODS[1]): "best", (1, METHODS[0]): "†", (0, "dataset"): "*"}
    return Section("Errors of <b>all</b>", "First.\n\nSecond & last.", table, marks=marks)


def picture() -> Figure:
    figure = Figure(figsize=(4, 2))
    figure.add_subplot().plot([0, 1], [0, 1])
    return figure


class Showing:
    def check(self, spec):
        pass

    def plan(self, spec, data):
        return []

    def run(self, spec, task, data):
        raise NotImplementedError

    def sections(self, spec, results, published):
        many = pl.DataFrame({"name": [f"row {i}" for i in (10, 9, 1)], "x": [2.0, 10.0, -1.5]})
        return [
            errors(),
            Section("A figure", figure=picture),
            Section("A figure", "of the same name", figure=picture),
            Section("Many", f"{len(results)} rows, {published}", many),
        ]


experiment = Showing()
