"""Compare the outputs of versions of the package bit by bit.

    python frozen.py --source OLD/src [MORE ...] [--out results]
    python frozen.py --save old.npz [--of OLD/src]     # only save the outputs of a version

Version 0 is this tree, the others are the sources: a folder with a package, or a file that
``--save`` wrote. Every version runs in a process of its own, on one thread.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from environment import RESULTS, describe_machine
from tables import markdown_table
from versions import SOURCE, check_version, describe_version, run

DEFAULT_CLASSIFIER = "default classifier"


@dataclass
class Case:
    """One case (input, method, form of input) in two versions, over all of its outputs."""

    part: str
    name: str
    numbers: int = 0
    identical: int = 0
    largest: float = 0.0
    problem: str = ""

    @property
    def differs(self) -> bool:
        return bool(self.problem) or self.identical < self.numbers

    def compare(self, new: np.ndarray, old: np.ndarray) -> None:
        """Count the numbers of an output, and those with equal bits."""
        if new.dtype != old.dtype or new.shape != old.shape:
            self.problem = f"{new.dtype}{new.shape} and {old.dtype}{old.shape}"
            return
        self.numbers += new.size
        if new.dtype.kind != "f":
            self.identical += int((new == old).sum())
            if new.dtype.kind == "i" and new.size:
                self.largest = max(self.largest, float(np.abs(new - old).max()))
            return
        same = new.view(np.int64) == old.view(np.int64)
        self.identical += int(same.sum())
        if not same.all():
            gap = np.abs(new - old)[~same]
            worst = float(gap.max()) if np.isfinite(gap).all() else np.inf
            self.largest = max(self.largest, worst)


def save(source: Path, file: Path, inputs: list[str]) -> None:
    """Run a version and save its outputs."""
    run(source, __file__, "--here", str(file.resolve()), "--inputs", *inputs)


def load(source: Path, inputs: list[str]) -> dict[str, np.ndarray]:
    """Outputs of a version, computed unless the source is a file of outputs."""
    with tempfile.TemporaryDirectory() as folder:
        file = source
        if source.is_dir():
            file = Path(folder) / "outputs.npz"
            save(source, file, inputs)
        with np.load(file) as kept:
            return dict(kept)


def compare(new: dict[str, np.ndarray], old: dict[str, np.ndarray]) -> Iterator[Case]:
    """Every case of either version."""
    cases: dict[tuple[str, str], Case] = {}
    for key in dict.fromkeys([*new, *old]):
        part, name, output = key.split("|")
        case = cases.setdefault((part, name), Case(part, name))
        if key in new and key in old and output != "failed":
            if output != "refused":
                case.compare(new[key], old[key])
            continue
        for version, found in ((0, new), (1, old)):
            if key in found and output in ("refused", "failed"):
                case.problem = f"version {version} {output}: {found[key]}"
            elif key not in found and not case.problem:
                case.problem = f"version {version} has no {output}"
    yield from cases.values()


def _size(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"


def _sums(cases: list[Case]) -> tuple[int, int]:
    return sum(case.numbers for case in cases), sum(case.identical for case in cases)


def _totals(cases: list[Case]) -> str:
    rows = []
    for part in dict.fromkeys(case.part for case in cases):
        chosen = [case for case in cases if case.part == part]
        numbers, identical = _sums(chosen)
        rows.append([
            part, f"{len(chosen):,}", f"{sum(case.differs for case in chosen):,}",
            f"{numbers:,}", f"{identical:,}", _size(max(case.largest for case in chosen)),
        ])  # fmt: skip
    header = ["part", "cases", "that differ", "numbers", "bit-identical", "largest difference"]
    return markdown_table(header, rows)


def _listed(cases: list[Case]) -> str:
    """Cases that differ; those of one method are one row, whatever the input."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.differs:
            groups.setdefault((case.part, case.name.split(" / ", 1)[-1]), []).append(case)
    rows = []
    for (part, name), group in groups.items():
        numbers, identical = _sums(group)
        problem = next((case.problem for case in group if case.problem), "")
        largest = _size(max(case.largest for case in group))
        differ = f"{numbers - identical:,} of {numbers:,}"
        rows.append([part, name, str(len(group)), differ, largest, problem])
    header = ["part", "case", "inputs", "numbers that differ", "largest difference", "problem"]
    return markdown_table(header, rows) if rows else "None."


def report(cases: list[Case]) -> str:
    """Tables of a comparison of two versions."""
    exact = [case for case in cases if case.part != DEFAULT_CLASSIFIER]
    fitted = [case for case in cases if case.part == DEFAULT_CLASSIFIER]
    return "\n\n".join([
        "### With exact classifiers, and on given scores", _totals(exact),
        "Cases that differ:", _listed(exact),
        "### With the default classifier, which a version may solve more exactly",
        _totals(fitted), "Cases that differ:", _listed(fitted),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, nargs="+", default=[], help="other versions")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of frozen.md")
    parser.add_argument("--save", type=Path, help="save the outputs of a version in this file")
    parser.add_argument("--of", type=Path, default=SOURCE, help="the version to save")
    parser.add_argument("--inputs", nargs="*", default=[], help="inputs to use (default: all)")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        check_version()
        from frozen_outputs import save_outputs

        save_outputs(given.here, given.inputs)
        return
    if given.save:
        save(given.of, given.save, given.inputs)
        return
    facts, new = describe_machine(), load(SOURCE, given.inputs)
    parts = [
        "# Outputs of versions, bit by bit",
        "\n".join(f"- {name}: {facts[name]}" for name in ("date", "machine", "packages")),
        "A case is an input, a method with its settings, and a form of input (items, scores, "
        "decisions, a shared scorer). Its outputs are shares, diagnostics of the solver, "
        "intervals, regions, p-values and more. Refused in both versions counts as identical.",
    ]
    for number, source in enumerate(given.source, 1):
        title = source.stem if source.is_file() else describe_version(source)
        parts.append(
            f"## This tree ({describe_version(SOURCE)}) and version {number} ({title})"
        )
        parts.append(report(list(compare(new, load(source, given.inputs)))))
    text = "\n\n".join(parts) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "frozen.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
