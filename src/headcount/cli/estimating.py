"""From files to shares: the work behind ``headcount estimate``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount._parameters import check_fraction
from headcount.cli.grouping import Groups, find_column, read_groups
from headcount.cli.labels import true_labels
from headcount.cli.models import ScoreModel, TableModel, fit_scores, fit_table
from headcount.cli.saving import load_model, save_model
from headcount.cli.scored import taking_scores
from headcount.cli.writing import (
    TABLE_ENDINGS,
    check_writable,
    frame_bytes,
    lay_out,
    printable,
    write_bytes,
)
from headcount.data.readers import TableFile, open_table
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from headcount.report import Analysis

__all__ = ["Outcome", "Wishes", "estimate_files"]


@dataclass(frozen=True)
class Wishes:
    """What was asked for; the options of the command, which says what they mean.

    The title is that of the page.
    """

    new: Path
    train: Path | None = None
    scores: Path | None = None
    model: Path | None = None
    target: str | None = None
    by: str | None = None
    date: str | None = None
    method: str = "auto"
    classifier: str = "logistic"
    level: float = 0.95
    seed: int = 0
    separator: str | None = None
    report: Path | None = None
    output: Path | None = None
    save: Path | None = None
    title: str | None = None

    def check(self) -> None:
        """Refuse, before any work is done, what cannot be."""
        given = [name for name in ("train", "scores", "model") if getattr(self, name)]
        if len(given) != 1:
            what = f"not {' and '.join(f'--{name}' for name in given)}" if given else "none is"
            raise HeadcountError(f"One of --train, --scores and --model is needed, {what}.")
        if self.target is None and self.model is None:
            raise HeadcountError(
                "--target is missing: name the column that holds the labels of the labelled "
                "table."
            )
        check_fraction("--level", self.level)
        if self.output:
            check_writable(self.output, "--output", TABLE_ENDINGS)
        if self.report:
            check_writable(self.report, "--report", (".html", ".htm"))
        if self.save:
            check_writable(self.save, "--save", (".skops",))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out.

    Attributes
    ----------
    analysis : Analysis
        The shares.
    model : TableModel or ScoreModel
        What was learnt.
    columns : dict of str to str
        What was done with each column.
    notes : tuple of str
        What the reader ought to know of the tables.
    """

    analysis: Analysis
    model: TableModel | ScoreModel
    columns: dict[str, str]
    notes: tuple[str, ...]

    def text(self, *, as_json: bool = False, verbose: bool = False) -> str:
        """All of it, for people or for machines."""
        if as_json:
            content = self.analysis.to_dict()
            content |= {"columns": self.columns, "notes": list(self.notes)}
            return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
        parts = [str(self.analysis.verdict), self._table()]
        if verbose:
            parts.append("\n".join(f"{name}: {said}" for name, said in self.columns.items()))
        said = [*self.analysis.warnings, *self.analysis.overall.estimate.warnings, *self.notes]
        parts.append("\n".join(f"note: {each}" for each in dict.fromkeys(said)))
        lines = "\n\n".join(part for part in parts if part).split("\n")
        return "\n".join(map(printable, lines))

    def _table(self) -> str:
        frame = self.analysis.to_frame()
        grouped, known = bool(self.analysis.groups), frame["truth"].null_count() == 0
        level = f"{100 * self.analysis.level:.6g}%"
        head = ["class", "share", f"{level} from", "to", "items", "of"]
        rows = []
        for row in frame.to_dicts():
            cells = [row["class"], *(f"{row[name]:.1%}" for name in ("share", "low", "high"))]
            cells += [f"{row['count']:,}", f"{row['items']:,}"]
            if known:
                cells.append(f"{row['truth']:.1%}")
            if grouped:
                cells.insert(0, "all" if row["group"] is None else row["group"])
            rows.append([str(cell) for cell in cells])
        head = ["group"] * grouped + head + ["true share"] * known
        return lay_out(head, rows, 1 + grouped)


def estimate_files(wishes: Wishes) -> Outcome:
    """Learn from one table, estimate the shares in another, and write what was asked for.

    Parameters
    ----------
    wishes : Wishes
        The files and options.

    Returns
    -------
    Outcome
    """
    wishes.check()
    separator = None if wishes.separator is None else wishes.separator.replace("\\t", "\t")
    new = open_table(wishes.new, separator=separator)
    column = find_column(new, wishes.by, wishes.date)
    model = _model(wishes, separator, column)
    groups = None
    if wishes.by is not None and column is not None:
        groups = read_groups(new, wishes.by, column)
    outcome = apply(
        model, new, groups, level=wishes.level, seed=wishes.seed, title=wishes.title
    )
    _write(wishes, outcome)
    return outcome


def apply(
    model: TableModel | ScoreModel,
    table: TableFile,
    groups: Groups | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
    title: str | None = None,
) -> Outcome:
    """Estimate the shares of the classes in a table, and in groups of its rows.

    Parameters
    ----------
    model : TableModel or ScoreModel
        What was learnt.
    table : TableFile
        The items.
    groups : Groups, default=None
        The group of each row.
    level : float, default=0.95
        Of the intervals.
    seed : int, default=0
        Of the replicates behind the intervals.
    title : str, default=None
        Of the page; says what is counted where by default.

    Returns
    -------
    Outcome
    """
    from headcount.report import analyse, analyse_scores

    items, scored, missing = model.items(table)
    truth, note = None, ""
    if model.target in table.columns:
        labels = table.read([model.target])[model.target]
        truth, note = true_labels(labels, model.quantifier.classes_, table.name)
    n_rows = items.shape[0]
    columns = model.facts()
    for name, count in missing.items():
        if count:
            columns[name] += f"; {count:,} of {n_rows:,} missing in {table.name}"
    notes = [note, groups.note if groups else "", _missing(missing, n_rows, table.name)]
    facts = {"Labelled table": model.training, "New table": f"{table.name}, {n_rows:,} rows"}
    options: dict[str, Any] = {"level": level, "random_state": seed, "truth": truth}
    if groups is not None:
        facts["Groups"] = f"by {groups.column}"
        options |= {"groups": groups.names, "order": groups.order}
    facts |= _by_treatment(columns)
    options |= {"data_facts": facts, "title": title or f"{model.target} in {table.name}"}
    if isinstance(model, ScoreModel):
        analysis = analyse_scores(model.quantifier, items, **options)
    else:
        quantifier = taking_scores(model.quantifier) if scored else model.quantifier
        analysis = analyse(quantifier, items, **options)
    return Outcome(analysis, model, columns, tuple(filter(None, notes)))


def _by_treatment(columns: dict[str, str]) -> dict[str, str]:
    """What was done with columns, told once for those with which the same was done."""
    alike: dict[str, list[str]] = {}
    for name, said in columns.items():
        alike.setdefault(said, []).append(name)
    return {
        f"Column{'' if len(names) == 1 else 's'} {_listed(names)}": said
        for said, names in alike.items()
    }


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most + 1} more" if len(names) > most else ""
    return ", ".join(names[: most - 1] if more else names) + more


def _model(
    wishes: Wishes, separator: str | None, group_column: str | None
) -> TableModel | ScoreModel:
    if wishes.model is not None:
        model = load_model(wishes.model)
        if group_column in model.columns:
            raise HeadcountError(
                f"--by goes by column {group_column!r}, which the model tells the classes by: "
                "train anew with the same --by, or choose other groups."
            )
        return model
    target = wishes.target or ""
    if wishes.scores is not None:
        table = open_table(wishes.scores, separator=separator)
        return fit_scores(table, target, method=wishes.method, seed=wishes.seed)
    assert wishes.train is not None
    leave_out = {}
    if group_column is not None:
        leave_out[group_column] = "groups go by it, so it must not tell the classes"
    return fit_table(
        open_table(wishes.train, separator=separator),
        target,
        method=wishes.method,
        classifier=wishes.classifier,
        seed=wishes.seed,
        leave_out=leave_out,
    )


def _missing(missing: dict[str, int], n_rows: int, table: str) -> str:
    counted = [f"{name} {count:,}" for name, count in missing.items() if count]
    if not counted:
        return ""
    more = f" and {len(counted) - 5} more columns" if len(counted) > 5 else ""
    return (
        f"values missing in {table}, of {n_rows:,} each, were filled in from training: "
        f"{', '.join(counted[:5])}{more}."
    )


def _write(wishes: Wishes, outcome: Outcome) -> None:
    if wishes.output is not None:
        write_bytes(wishes.output, frame_bytes(outcome.analysis.to_frame(), wishes.output))
    if wishes.report is not None:
        from headcount.report import page

        write_bytes(wishes.report, page(outcome.analysis).encode("utf-8", "replace"))
    if wishes.save is not None:
        save_model(outcome.model, wishes.save)
