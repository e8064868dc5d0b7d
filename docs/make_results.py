"""Write the results pages of studies and the table of what is covered.

python docs/make_results.py STORE [STORE ...] --published FOLDER   # read finished studies
python docs/make_results.py                                       # write all pages again

The first form keeps the tables of a study in results/NAME.json and draws its figures; both
render the templates of _templates/results with these numbers, and coverage.md from
coverage.toml. No number on these pages is typed by hand.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

DOCS = Path(__file__).parent
RESULTS, TEMPLATES = DOCS / "results", DOCS / "_templates" / "results"
BENCHMARKS = DOCS.parent / "benchmarks" / "results"
COVERAGE, COVERED = DOCS / "coverage.md", DOCS / "coverage.toml"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
SIGNIFICANT = 5


class Results:
    """Stored results of a study: facts, and sections with tables."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    @classmethod
    def of(cls, name: str) -> Results:
        """Results of a study by name."""
        return cls(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))

    @property
    def titles(self) -> list[str]:
        """Titles of the sections."""
        return list(self.content["sections"])

    def section(self, title: str) -> dict[str, Any]:
        """A section by its title."""
        try:
            return self.content["sections"][title]
        except KeyError:
            raise KeyError(f"{self.content['study']} has no section {title!r}") from None

    def table(self, title: str) -> str:
        """The printed table of a section, with marks."""
        return self.section(title)["markdown"].rstrip()

    def text(self, title: str) -> str:
        """The text of a section."""
        return self.section(title)["text"]

    def column(self, title: str, column: str) -> list[Any]:
        """Values of a column of a section's table, without gaps."""
        table = self.section(title)
        place = table["columns"].index(column)
        return [row[place] for row in table["rows"] if row[place] is not None]

    def value(self, title: str, row: str, column: str, digits: int = 3) -> str:
        """A number of a section's table, by the first entry of its row."""
        table = self.section(title)
        place = table["columns"].index(column)
        (number,) = (cells[place] for cells in table["rows"] if str(cells[0]) == row)
        return number if isinstance(number, str) else written(number, digits)

    def median(self, title: str, column: str, digits: int = 2) -> str:
        """Median of a column."""
        return written(statistics.median(self.column(title, column)), digits)

    def listed(
        self, title: str, column: str, wanted: str, name: str, number: str, digits: int = 2
    ) -> str:
        """Names and numbers of the rows that have a value in a column."""
        table = self.section(title)
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        return ", ".join(
            f"{row[name]} {written(row[number], digits)}"
            for row in rows
            if row[column] == wanted and row[number] is not None
        )

    def mean(self, title: str, column: str) -> float:
        """Mean of a column."""
        return statistics.fmean(self.column(title, column))

    def published(self, task: str, run: str, column: str) -> str:
        """A published number of a task of LeQua."""
        table = self.section(f"{task}: compared with the published results")
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        (number,) = (row[column] for row in rows if row["run"] == run and row["kind"] != "ours")
        return written(number, 3)

    def share(self, title: str, column: str, wanted: Any) -> str:
        """How many entries of a column have a value: "3 of 4"."""
        values = self.column(title, column)
        return f"{sum(value == wanted for value in values)} of {len(values)}"

    def claim(self, claim: str) -> str:
        """How often a claim of the paper holds, over datasets."""
        table = self.section("Claims of the paper")
        held = [row[-1] for row in table["rows"] if row[0] == claim]
        return f"on {held.count('yes')} of {len(held)}"

    @property
    def facts(self) -> str:
        """Sentences on when, with what and on how much the study was run."""
        return " ".join(self.content["facts"])


def written(number: float, digits: int) -> str:
    """A number without the zero before its point."""
    text = f"{number:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(number) < 1 and digits else text


def benchmark(name: str) -> str:
    """Table of a benchmark, as it was written."""
    return (BENCHMARKS / f"{name}.md").read_text(encoding="utf-8").rstrip()


def figure(name: str, text: str) -> str:
    """Image of a study in Markdown."""
    return f"![{text}](../images/{name}.png)"


def page(name: str) -> str:
    """Results page of a study, from its template and stored results."""
    template = (TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    results = Results.of(name)
    note = f"<!-- Written by docs/make_results.py from {name}.json: do not edit. -->"
    head, _, rest = filled(template, results, title="").partition("\n")
    return f"{head}\n\n{note}\n{rest}".rstrip() + "\n"


def filled(template: str, results: Results | None, *, title: str) -> str:
    """Text with the numbers that it names."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    titles = {"title": title} if title else {}
    names = {"results": results, "figure": lambda _, name, text: figure(name, text)}
    return environment.from_string(template).render(
        **names, **titles, of=Results.of, written=written, benchmark=benchmark
    )


def coverage() -> str:
    """Tables of what is covered: paper, every table and figure, status, distance."""
    content = tomllib.loads(COVERED.read_text(encoding="utf-8"))
    parts = []
    for paper in content["papers"]:
        lines = ["| of the paper | content | status | section of the report | distance |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for entry in paper["items"]:
            unknown = entry.keys() - {"item", "shows", "status", "section", "distance"}
            if unknown or entry["status"] not in content["statuses"]:
                raise ValueError(f"{paper['title']}, {entry.get('item')}: check its entry")
            distance = filled(entry.get("distance", ""), None, title=entry.get("section", ""))
            cells = (
                entry["item"], entry["shows"], entry["status"], entry.get("section", ""),
                distance,
            )  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
        specs = ", ".join(f"`{name}`" for name in paper["specs"])
        parts.append(f"## {paper['title']}\n\nSpec: {specs}. {paper['note']}\n\n")
        parts[-1] = parts[-1] + "\n".join(lines)
    statuses = "\n".join(f"- **{name}**: {text}" for name, text in content["statuses"].items())
    return "\n\n".join([statuses, *parts])


def renewed(page_text: str) -> str:
    """Page of what is covered, with new tables between its marks."""
    before, rest = page_text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{coverage()}\n\n{END}{after}"


def names() -> list[str]:
    """Studies that have a template and results."""
    return sorted(
        path.stem
        for path in TEMPLATES.glob("*.md")
        if (RESULTS / f"{path.stem}.json").is_file()
    )


def read_store(folder: Path, published: Path | None) -> None:
    """Keep the tables of a study, and draw the figures that its template shows."""
    from headcount_studies.engine.store import Store
    from headcount_studies.page import study_parts, study_sections

    store = Store(folder)
    spec, results = store.spec, store.results()
    sections = study_sections(store, spec, results, published)
    wanted = _figures(spec.name)
    drawn = [section for section in sections if section.title in wanted]
    for part in study_parts(drawn):
        assert part.picture is not None, f"{part.title} has no figure"
        (DOCS / "images" / f"{wanted[part.title]}.png").write_bytes(part.picture.png)
    lacking = wanted.keys() - {section.title for section in drawn}
    if lacking:
        raise SystemExit(f"{folder} has no section {sorted(lacking)[0]!r}")
    content = {
        "study": spec.name,
        "facts": _facts(store, results),
        "sections": {section.title: _kept(section) for section in sections},
    }
    text = json.dumps(content, ensure_ascii=False, indent=1)
    (RESULTS / f"{spec.name}.json").write_text(text + "\n", encoding="utf-8")


def _figures(name: str) -> dict[str, str]:
    """File names of the figures that a template shows, by section."""
    images: dict[str, str] = {}

    def note(title: str, file: str, text: str) -> str:
        images[title] = file
        return ""

    class Nothing:
        def __getattr__(self, attribute: str) -> Any:
            return lambda *arguments, **named: ""

    template = (TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    Environment().from_string(template).render(
        results=Nothing(),
        figure=note,
        of=lambda name: Nothing(),
        written=lambda *_: "",
        benchmark=lambda name: "",
    )
    return images


def _kept(section: Any) -> dict[str, Any]:
    from headcount_studies.page import study_table

    kept: dict[str, Any] = {"text": section.text}
    if section.table is not None:
        frame = section.table
        kept["markdown"] = study_table(section).to_markdown()
        kept["columns"] = frame.columns
        kept["rows"] = [[_plain(value) for value in row] for row in frame.fill_nan(None).rows()]
    return kept


def _plain(value: Any) -> Any:
    return float(f"{value:.{SIGNIFICANT}g}") if isinstance(value, float) else value


def _facts(store: Any, results: Any) -> list[str]:
    from headcount_studies.engine.spec import read_spec
    from headcount_studies.page import summary

    spec, runs = store.spec, store.journal.runs()
    last, _ = runs[-1]
    commits = dict.fromkeys(_landed(str(run.get("commit") or "unknown")) for run, _ in runs)
    sentences = [f"Run of {last['at'][:10]}, commit {', '.join(commits)}."]
    sentences += summary(spec, store.status(), results)
    whole = read_spec(spec.name)
    differs = [
        name
        for name in ("protocol", "selection")
        if getattr(spec, name) != getattr(whole, name)
    ]
    if differs:
        sentences.append(f"This is a part of the study: another {' and '.join(differs)}.")
    for what in ("datasets", "methods"):
        of_whole = [getattr(entry, "name", entry) for entry in getattr(whole, what)]
        here = [getattr(entry, "name", entry) for entry in getattr(spec, what)]
        lacking = [name for name in of_whole if name not in here]
        if lacking:
            sentences.append(f"Not run: the {what} {', '.join(f'`{n}`' for n in lacking)}.")
    return sentences


def _landed(commit: str) -> str:
    """A commit of the history; of one that was rebased since, the one with its subject."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=DOCS, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    subject = git("log", "-1", "--format=%s", commit)
    history = git("log", "--format=%h %s", "-2000").splitlines()
    names = [line.partition(" ")[0] for line in history if line.partition(" ")[2] == subject]
    return names[0] if subject and len(names) == 1 else commit


def main() -> None:
    """Read stores, and write all pages."""
    parser = argparse.ArgumentParser(description="Write the results pages of studies.")
    parser.add_argument("stores", nargs="*", type=Path)
    parser.add_argument("--published", type=Path)
    options = parser.parse_args()
    for store in options.stores:
        read_store(store, options.published)
    for name in names():
        (RESULTS / f"{name}.md").write_text(page(name), encoding="utf-8")
    COVERAGE.write_text(renewed(COVERAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
