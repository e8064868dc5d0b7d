"""Report of `real_data.py`: results/real_data.md and .csv from a store.

    python benchmarks/real_data_report.py [--store FOLDER] [--baseline FOLDER] [--out FOLDER]

``--baseline`` is a store of another version of the code: the report then compares errors and
widths on the samples that both have.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from environment import PROJECT, describe_machine
from real_data_measures import CELL, cluster_mean, mean_over_datasets, paired, read_store
from real_datasets import FINAL
from tables import markdown_table

STORE = PROJECT / "benchmarks" / ".real_data"
# Not what a method's error is compared with: they choose among methods, or do not look.
NOT_IN_HINDSIGHT = ("AutoQuantifier", "MLPE", "Conditioned")
LOWEST = 0.90
_NOTES = """\
Truth: the shares among the items of the sample. Coverage, width and Winkler score are means
over classes, of 95% intervals. Each dataset has equal weight. Standard errors are over training
sets. `plain` is the method's own answer, `conditioned` the shares of its estimate with
intervals. AE is the mean absolute error over classes, RAE its relative form, smoothed by
1/(2n). Training sets are random (each class with at least 5 items), the pool is the rest.
Samples are drawn without replacement unless a class of the pool has too few items."""


def _text(value: float | None, form: str = ".3f") -> str:
    return "" if value is None or np.isnan(value) else format(value, form)


def _lookup(frame: pl.DataFrame, keys: list[str]) -> dict:
    return {tuple(row[key] for key in keys): row for row in frame.to_dicts()}


def _methods(frame: pl.DataFrame, value: str) -> list[str]:
    """Methods that have a measure, in the order in which they were run."""
    there = frame.drop_nulls(value).select("library", "method").unique(maintain_order=True)
    order = {"headcount": 0, "quapy": 1}
    return [row[1] for row in sorted(there.rows(), key=lambda row: order.get(row[0], 2))]


def coverage_section(frame: pl.DataFrame) -> str:
    """Coverage per method, training size and n; the lowest dataset; regions."""
    rows = frame.drop_nulls("covered")
    if rows.is_empty():
        return ""
    cells = sorted(rows.select("training", "n").unique().rows())
    found = _lookup(
        mean_over_datasets(rows, "covered", ["method", "training", "n"]),
        ["method", "training", "n"],
    )
    by_kind = _lookup(
        mean_over_datasets(rows, "covered", ["method", "shares"]), ["method", "shares"]
    )
    whole = _lookup(mean_over_datasets(rows, "covered", ["method"]), ["method"])
    fresh = _lookup(
        mean_over_datasets(rows.filter(pl.col("repeated") == 0), "covered", ["method"]),
        ["method"],
    )
    kinds = sorted(rows["shares"].unique())
    head = ["method", *[f"{t:,} / {n:,}" for t, n in cells], "all", "SE", *kinds, "no repeats"]
    table = []
    for name in _methods(rows, "covered"):
        line = [name]
        line += [_text(found.get((name, *cell), {}).get("mean")) for cell in cells]
        line += [_text(whole[name,]["mean"]), _text(whole[name,]["se"])]
        line += [_text(by_kind.get((name, kind), {}).get("mean")) for kind in kinds]
        line.append(_text(fresh.get((name,), {}).get("mean")))
        table.append(line)
    return "\n\n".join(
        [
            "## Coverage of 95% intervals",
            "Columns: training size / n. `no repeats`: samples without a repeated item.",
            markdown_table(head, table),
            _lowest_table(rows),
        ]
    )


def _lowest_table(rows: pl.DataFrame) -> str:
    """The dataset with the lowest coverage, widths, Winkler scores, zero widths, regions."""
    each = cluster_mean(rows, "covered", ["method", "dataset"])
    means = {
        value: _lookup(mean_over_datasets(rows, value, ["method"]), ["method"])
        for value in ("width", "winkler")
    }
    regions = rows.with_columns(pl.col("region").cast(pl.Float64))
    joint = _lookup(mean_over_datasets(regions, "region", ["method"]), ["method"])
    zero = dict(
        rows.group_by("method").agg((pl.col("zero_width") > 0).sum().alias("zero")).rows()
    )
    table = []
    for name in _methods(rows, "covered"):
        own = each.filter(pl.col("method") == name).sort("mean")
        lowest = own.row(0, named=True)
        below = own.filter(pl.col("mean") < LOWEST)["dataset"].len()
        table.append(
            [
                name,
                f"{lowest['dataset']} {lowest['mean']:.3f} (SE {_text(lowest['se'])})",
                f"{below} of {len(own)}",
                _text(means["width"][name,]["mean"], ".4f"),
                _text(means["winkler"][name,]["mean"]),
                f"{zero[name]:,}",
                _text(joint.get((name,), {}).get("mean")),
            ]
        )
    head = ["method", "lowest dataset", f"datasets below {LOWEST}", "mean width", "Winkler",
            "samples with a zero width", "region coverage"]  # fmt: skip
    return markdown_table(head, table)


_ERRORS = {
    "AE plain": "ae", "AE conditioned": "ae_conditioned",
    "RAE plain": "rae", "RAE conditioned": "rae_conditioned",
}  # fmt: skip


def error_section(frame: pl.DataFrame) -> str:
    """Errors per method, plain and conditioned, and relative to the best plain method."""
    errors = {
        title: dict(mean_over_datasets(frame, value, ["method"])["method", "mean"].rows())
        for title, value in _ERRORS.items()
    }
    ratios = {title: _to_best(frame, value) for title, value in _ERRORS.items()}

    def table(part: pl.DataFrame, titles: list[str]) -> str:
        lines = [
            [name]
            + [_text(errors[title].get(name), ".4f") for title in titles]
            + [_text(ratios[title].get(name), ".2f") for title in titles]
            for name in _methods(part, "ae")
        ]
        return markdown_table(
            ["method", *titles, *[f"{title} / best" for title in titles]], lines
        )

    ours = pl.col("library") == "headcount"
    parts = [table(frame.filter(ours), list(_ERRORS))]
    if not frame.filter(~ours).is_empty():
        parts.append(table(frame.filter(~ours), ["AE plain", "RAE plain"]))
    note = (
        "`/ best`: mean over dataset x training size x n of the ratio to the plain method that "
        f"was best there in hindsight ({', '.join(NOT_IN_HINDSIGHT)} not among them)."
    )
    return "\n\n".join(["## Errors", note, *parts])


def _to_best(frame: pl.DataFrame, value: str) -> dict[str, float]:
    """Mean over cells of a method's error, divided by that of the best plain method."""
    plain = value.removesuffix("_conditioned")
    choosing = [pl.col("method").str.starts_with(name) for name in NOT_IN_HINDSIGHT]
    best = (
        frame.filter((pl.col("library") == "headcount") & ~pl.any_horizontal(choosing))
        .group_by([*CELL, "method"])
        .agg(pl.col(plain).mean())
        .group_by(CELL)
        .agg(pl.col(plain).min().alias("best"))
    )
    means = frame.group_by([*CELL, "method"]).agg(pl.col(value).mean().alias("error"))
    ratio = (pl.col("error") / pl.col("best")).mean()
    return dict(means.join(best, on=CELL).group_by("method").agg(ratio).rows())


def peer_section(frame: pl.DataFrame) -> str:
    """Each method compared with the same method of each peer, dataset by dataset."""
    theirs = frame.filter(
        (pl.col("library") != "headcount") & pl.col("counterpart").is_not_null()
    )
    pairs = theirs.select("method", "counterpart").unique(maintain_order=True).rows()
    table = []
    for peer, same_as in pairs:
        rows = theirs.filter(pl.col("method") == peer)
        for name in same_as.split(","):
            ours = frame.filter((pl.col("library") == "headcount") & (pl.col("method") == name))
            if not ours.is_empty():
                table.append([name, peer, *_compared(ours, rows)])
    if not table:
        return ""
    head = ["method", "peer", "datasets"]
    for part in ("plain", "conditioned"):
        for measure in ("AE", "RAE"):
            head += [f"{measure} {part}: better / worse", "ratio"]
    head.append("worse by AE, plain")
    note = (
        "Number of datasets on which headcount's error is significantly lower / higher than "
        "the peer's: beyond 2 standard errors of the paired difference, and 2%. `ratio`: "
        "geometric mean over datasets, headcount / peer. Settings are the defaults of each."
    )
    table.sort(key=lambda line: line[0])
    return "\n\n".join(["## Compared with the peers", note, markdown_table(head, table)])


def _compared(ours: pl.DataFrame, theirs: pl.DataFrame) -> list[str]:
    cells, n_datasets, worse_names = [], 0, ""
    for part in ("", "_conditioned"):
        for measure in ("ae", "rae"):
            found = paired(ours, theirs, f"{measure}{part}", measure)
            if found.is_empty():
                cells += ["", ""]
                continue
            ratio = float(np.exp((found["ours"] / found["theirs"]).log().mean()))
            cells += [f"{found['better'].sum()} / {found['worse'].sum()}", _text(ratio, ".2f")]
            if measure == "ae" and not part:
                n_datasets = len(found)
                worse_names = ", ".join(sorted(found.filter("worse")["dataset"]))
    return [str(n_datasets), *cells, worse_names]


def fit_test_section(frame: pl.DataFrame) -> str:
    """Share of tests that reject prior shift at 5%, although it holds."""
    tested = frame.filter(pl.col("library") == "headcount").drop_nulls("p_value")
    if tested.is_empty():
        return ""
    name = "SLD" if "SLD" in tested["method"].unique() else tested["method"][0]
    tested = tested.filter(pl.col("method") == name).with_columns(
        (pl.col("p_value") < 0.05).cast(pl.Float64).alias("rejected")
    )
    found = mean_over_datasets(tested, "rejected", ["training", "n"]).sort("training", "n")
    highest = cluster_mean(tested, "rejected", ["dataset"]).sort("mean").row(-1, named=True)
    table = [
        [f"{row['training']:,}", f"{row['n']:,}", _text(row["mean"]), _text(row["se"])]
        for row in found.to_dicts()
    ]
    note = (
        f"Of {name}. Highest dataset: {highest['dataset']} {highest['mean']:.3f} "
        f"(SE {_text(highest['se'])})."
    )
    head = ["training", "n", "rejected at 5%", "SE"]
    return "\n\n".join(["## Level of the fit test", note, markdown_table(head, table)])


def baseline_section(frame: pl.DataFrame, before: pl.DataFrame) -> str:
    """This store divided by another version's, on the same samples."""
    table = []
    for name in _methods(frame.filter(pl.col("library") == "headcount"), "ae"):
        now, then = (part.filter(pl.col("method") == name) for part in (frame, before))
        line = [name]
        for value in ("ae", "ae_conditioned", "rae_conditioned", "width", "winkler"):
            found = paired(now, then, value, value)
            if found.is_empty():
                line.append("")
                continue
            ratio = found["ours"].mean() / found["theirs"].mean()
            line.append(f"{ratio:.2f} ({found['better'].sum()} / {found['worse'].sum()})")
        line.append(_text(then["covered"].mean()) if then.height else "")
        table.append(line)
    head = ["method", "AE plain", "AE conditioned", "RAE conditioned", "width", "Winkler"]
    head.append("coverage of the baseline")
    note = "Mean now / mean of the baseline (datasets significantly lower / higher)."
    return "\n\n".join(["## Compared with the baseline", note, markdown_table(head, table)])


def seconds_section(frame: pl.DataFrame) -> str:
    """Seconds per task of headcount's methods."""
    parts = ["fit", "predict", "estimate"]
    per_task = (
        frame.filter(pl.col("library") == "headcount")
        .group_by(["dataset", "training", "set", "method"], maintain_order=True)
        .agg([pl.col(f"seconds_{part}").sum() for part in parts])
        .group_by("method", maintain_order=True)
        .agg(pl.col("^seconds_.*$").mean())
    )
    table = [[row[0], *[_text(value) for value in row[1:]]] for row in per_task.rows()]
    return "\n\n".join(["## Seconds per task", markdown_table(["method", *parts], table)])


def failure_section(frame: pl.DataFrame) -> str:
    """Tasks in which a method raised an error, samples for which it returned no number."""
    failed = frame.filter(pl.col("error").is_not_null() & (pl.col("error") != "not applicable"))
    reasons = failed.group_by("method", "error").agg(pl.len()).sort("method", "error").rows()
    lines = [f"- {name}: {count} tasks, {error[:120]}" for name, error, count in reasons]
    missing = frame.filter(pl.col("n").is_not_null() & pl.col("ae").is_null())
    counts = missing.group_by("method").agg(pl.len()).sort("method").rows()
    lines += [f"- {name}: no number for {count:,} samples" for name, count in counts]
    return "\n\n".join(["## Failures", "\n".join(lines or ["None."])])


def dataset_section(frame: pl.DataFrame) -> str:
    """Datasets that were used."""
    table = [
        [
            row["dataset"] + (" (final)" if row["dataset"] in FINAL else ""), row["kind"],
            str(row["classes"]), ", ".join(f"{t:,}" for t in sorted(row["training"])),
            str(row["sets"]),
        ]
        for row in frame.group_by("dataset", "kind", "classes")
        .agg(pl.col("training").unique(), pl.col("set").n_unique().alias("sets"))
        .sort("dataset")
        .to_dicts()
    ]  # fmt: skip
    head = ["dataset", "kind", "classes", "training sizes", "training sets"]
    return "\n\n".join(["## Datasets", markdown_table(head, table)])


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per dataset, training size, n, shares and method."""
    measures = ["ae", "rae", "ae_conditioned", "rae_conditioned", "covered", "width",
                "winkler", "zero_width", "region", "p_value"]  # fmt: skip
    by = ["classifier", "dataset", "classes", "training", "n", "shares", "library", "method"]
    return (
        frame.drop_nulls("n")
        .with_columns((pl.col("p_value") < 0.05).alias("p_value"))
        .group_by(by)
        .agg(pl.len().alias("samples"), pl.col(measures).cast(pl.Float64).mean())
        .rename({"p_value": "fit_test_rejects"})
        .with_columns(pl.selectors.float().round(5))
        .sort(by)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--baseline", type=Path, help="a store of another version")
    parser.add_argument("--out", type=Path, default=PROJECT / "benchmarks" / "results")
    given = parser.parse_args()
    everything = read_store(given.store)
    frame = everything.drop_nulls("n")
    machine = describe_machine()
    head = "\n".join(f"- {key}: {machine[key]}" for key in ("date", "machine", "packages"))
    parts = ["# Real data: coverage and errors", head, _NOTES]
    parts += [coverage_section(frame), error_section(frame), peer_section(frame)]
    if given.baseline:
        parts.append(baseline_section(frame, read_store(given.baseline).drop_nulls("n")))
    parts += [fit_test_section(frame), dataset_section(frame), seconds_section(frame)]
    parts.append(failure_section(everything))
    text = "\n\n".join(part for part in parts if part) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "real_data.md").write_text(text)
    compact(frame).write_csv(given.out / "real_data.csv")
    print(text)


if __name__ == "__main__":
    main()
