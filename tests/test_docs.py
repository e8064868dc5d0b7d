"""The documents are true: their code runs and prints what they say it prints.

In a document, ``python`` blocks run in order in one namespace. A ``text`` block that directly
follows one is what it must print; decimal numbers may differ a little (`near`). A block marked
``python no-run`` is left out. ``console`` blocks, with lines such as ``$ headcount ...``, run
as well.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

import headcount
from headcount.accuracy.base import predictors
from headcount.cli.execute import execute as run_headcount
from headcount.errors import MissingPackageError
from headcount.parts import solvers as solver_module
from headcount.quantifiers.registry import one_class_quantifiers, quantifiers

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/results/*.md")]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES])
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)|src=\"(?P<image>[^\"]+)\"")
TREE = re.compile(r"^```\{toctree\}\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Decimal numbers, percentages, and counts of three digits or more.
NUMBER = re.compile(
    r"(?<![\w.])-?(?:\d*\.\d+(?:e-?\d+)?|\d+(?:,\d{3})+|\d+(?=%)|\d{3,}(?![\w.,%]))"
    r"(?P<percent>%?)"
)
# Decimal numbers may differ by this, percentages by so many hundredths. Counts of the items of
# a class, which are often small shares of many, may differ by this part.
CLOSE, CLOSE_COUNT = 0.02, 0.1
# Characters of a line of code that the site shows without scrolling, and of printed tables.
WIDTH, PRINTED_WIDTH = 88, 97
WIDE = {"engineer.md", "llm-judge.md", "uncertainty.md"}


@dataclass(frozen=True)
class Block:
    code: str
    line: int
    prints: str | None
    kind: str = "python"


def blocks(text):
    """Blocks of a document that run, each with what it should print."""
    fences = list(FENCE.finditer(text))
    for fence, following in zip_longest(fences, fences[1:]):
        if fence["kind"] not in ("python", "console"):
            continue
        prints = None
        if following is not None and following["kind"] == "text":
            between = text[fence.end() : following.start()]
            prints = None if between.strip() else following["body"]
        line = text.count("\n", 0, fence.start()) + 1
        yield Block(fence["body"], line, prints, fence["kind"])


def run(block, path, namespace):
    if block.kind == "console":
        return "".join(map(run_command, block.code.replace("\\\n", "").splitlines()))
    # Empty lines in front, so that a traceback names the line of the document.
    code = compile("\n" * block.line + block.code, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def run_command(line):
    start = "$ headcount "
    assert line.startswith(start), line
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert run_headcount(shlex.split(line.removeprefix(start))) == 0, line
    return printed.getvalue()


def near(expected, printed):
    """True if a text is as expected, apart from small differences of numbers."""
    if doctest.OutputChecker().check_output(expected, printed, LOOSELY):
        return True
    words = [NUMBER.sub("#", text) for text in (expected, printed)]
    parts = [" ".join(part.split()) for part in words[0].split("...")]
    pattern = ".*?".join(map(re.escape, parts))
    if not re.fullmatch(pattern, " ".join(words[1].split())):
        return False
    if len(parts) > 1:  # only the words can be compared, and the numbers of the first part
        expected = expected.split("...")[0]
    pairs = zip(NUMBER.finditer(expected), NUMBER.finditer(printed), strict=False)
    return all(_close(one, other) for one, other in pairs)


def _close(one, other):
    wanted, value = (float(match[0].rstrip("%").replace(",", "")) for match in (one, other))
    most = CLOSE * 100 if one["percent"] else CLOSE if "." in one[0] else CLOSE_COUNT * wanted
    return one["percent"] == other["percent"] and abs(wanted - value) <= most


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.name for path in paths])


@by_name([path for path in DOCUMENTS if any(blocks(path.read_text(encoding="utf-8")))])
def test_code_in_documents_runs(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # Classes find the module they are defined in by its name.
    module = ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)
    for block in blocks(path.read_text(encoding="utf-8")):
        try:
            printed = run(block, path, vars(module))
        except MissingPackageError as error:
            pytest.skip(str(error))
        if block.prints is not None and not near(block.prints, printed):
            pytest.fail(
                f"{path.name}, line {block.line}: expected\n{block.prints}\ngot\n{printed}"
            )


@by_name([path for path in DOCUMENTS if path.name not in WIDE])
def test_lines_of_code_fit_the_page(path):
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        width = (
            WIDTH if fence["kind"].startswith(("python", "console", "sh")) else PRINTED_WIDTH
        )
        wide = [line for line in fence["body"].splitlines() if len(line) > width]
        assert not wide, f"{path.name}: {wide[0]}"


def test_numbers_may_differ_a_little_and_words_may_not():
    assert near("share 0.512 (48.1%)", "share  0.52 (49.0%)")
    assert not near("share 0.512", "share 0.55")
    assert not near("share 48.1%", "share 51.1%")
    assert not near("share 0.512", "part 0.512")
    assert near("4,015 items", "4,020 items")
    assert not near("4,015 items", "5,015 items")
    assert near("708 of 16,561 items", "736 of 16,561 items")
    assert not near("708 items", "836 items")
    assert not near("3 items", "4 items")


def test_the_first_lines_of_the_readme_work_on_tables_with_texts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n, share in (("labelled", 400, 0.3), ("new", 300, 0.6)):
        spam = rng.random(n) < share
        words = np.where(spam, "win a prize now", "see you at the meeting")
        pl.DataFrame(
            {
                "subject": [f"{text} {k}" for k, text in enumerate(words)],
                "sender": np.where(rng.random(n) < 0.8 - 0.6 * spam, "known", "unknown"),
                "length": rng.normal(100 - 20 * spam, 20),
                "plot": rng.choice(["A", "B"], n),
                "genus": np.where(spam, "spam", "ham"),
            }
        ).drop([] if name == "labelled" else ["genus"]).write_csv(f"{name}.csv")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = next(fence for fence in FENCE.finditer(readme) if "python" in fence["kind"])
    namespace = {}
    exec(first["body"], namespace)
    result = namespace["result"]
    assert result.overall.estimate.prevalence["spam"] == pytest.approx(0.6, abs=0.1)
    assert (tmp_path / "report.html").is_file()


def test_the_method_that_is_added_passes_the_checks_of_the_project():
    text = (ROOT / "docs/adding-a-method.md").read_text(encoding="utf-8")
    codes = [block.code for block in blocks(text)]
    name = str(ROOT / "src/headcount/quantify/two_moments.py")
    ruff = [sys.executable, "-m", "ruff"]
    calls = [[*ruff, "check", "--stdin-filename", name, "-"]]
    width = ["--line-length", str(WIDTH)]
    calls.append([*ruff, "format", *width, "--check", "--stdin-filename", name, "-"])
    for command in calls:
        done = subprocess.run(command, input=codes[0], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    for code in codes[1:]:
        done = subprocess.run(calls[1], input=code, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{code}"


def test_all_solvers_are_described():
    text = (ROOT / "docs/adding-a-method.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", text.split("## Solvers")[1], re.MULTILINE))
    solvers = {
        name
        for name, value in vars(solver_module).items()
        if hasattr(value, "solve") and value.__module__ == solver_module.__name__
    }
    assert described == solvers


def anchors(text):
    """Fragments that the headings of a document answer to."""
    prose = FENCE.sub("", text)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in HEADING.findall(prose)
    }


@by_name(DOCUMENTS)
def test_links_between_documents_lead_somewhere(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target = match["target"] or match["image"]
        if target.startswith(("http://", "https://")):
            continue
        file, _, fragment = target.partition("#")
        found = path if not file else path.parent / file
        assert found.exists(), f"{path.name} links to {target}, which is not there"
        if fragment:
            assert fragment in anchors(found.read_text(encoding="utf-8")), target


def test_the_site_has_every_document_once():
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    lines = [
        line for text in texts for tree in TREE.findall(text) for line in tree.splitlines()
    ]
    entries = [line for line in lines if line and not line.startswith(":")]
    named = [re.sub(r".*<(.*)>$", r"\1", entry) for entry in entries]
    there = {str(path.relative_to(ROOT / "docs").with_suffix("")) for path in PAGES}
    # The pages of the examples are written when the site is built.
    assert sorted(named) == sorted(there - {"index"} | {"examples/index"})


def test_the_reference_names_every_package():
    named = (ROOT / "docs/api.md").read_text(encoding="utf-8").split()
    packages = {each.name for each in pkgutil.iter_modules(headcount.__path__) if each.ispkg}
    there = {f"headcount.{name}" for name in packages if not name.startswith("_")}
    # The command line has a page of its own, and pages are written by results.
    missing = there - {"headcount.cli", "headcount.report"} - set(named)
    assert not missing, f"name them in docs/api.md: {sorted(missing)}"


def test_the_command_line_reference_has_every_option():
    text = script("command_reference").command_reference()
    for words in ("## headcount estimate\n", "## headcount study run\n", "`--verbose`, `-v`"):
        assert words in text
    assert "| `--method` | See headcount methods;" in text
    assert "Instead of `--train`: a file" in text


def test_a_release_has_absolute_links_and_addresses():
    release = script("absolute_links", ".github")
    address = "https://example.org/headcount"
    readme = release.absolute((ROOT / "README.md").read_text(encoding="utf-8"), address, "v1")
    targets = [match["target"] or match["image"] for match in LINK.finditer(readme)]
    assert targets
    assert all(target.startswith("https://") for target in targets)
    assert f'srcset="{address}/raw/v1/docs/images/rodents-dark.png"' in readme
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(release.with_addresses(pyproject, address))["project"]
    assert project["urls"]["Source"] == address
    assert project["scripts"]["headcount"]


def script(name, folder="docs"):
    """A script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_methods_are_up_to_date():
    make_methods = script("make_methods")
    page = make_methods.PAGE.read_text(encoding="utf-8")
    assert page == make_methods.renewed(page), "run `make docs-table`"


def test_results_pages_have_the_stored_numbers():
    make_results = script("make_results")
    names = make_results.names()
    assert names
    for name in names:
        page = (make_results.RESULTS / f"{name}.md").read_text(encoding="utf-8")
        assert page == make_results.page(name), "run `make docs-table`"
    page = make_results.COVERAGE.read_text(encoding="utf-8")
    assert page == make_results.renewed(page), "run `make docs-table`"


def test_the_guide_to_studies_has_the_stored_agreement():
    results = script("make_results").Results.of("comparison-binary")
    title, column = "Absolute error compared with the paper", "median difference, %"
    distances = results.column(title, column)
    near = sum(abs(distance) <= 10 for distance in distances)
    guide = " ".join((ROOT / "docs" / "studies.md").read_text(encoding="utf-8").split())
    assert f"{near} of {len(distances)} methods are within 10%" in guide
    assert all(abs(float(results.value(title, name, column))) <= 1 for name in ("CC", "PCC"))


def test_coverage_of_papers_names_sections_that_studies_have():
    make_results = script("make_results")
    papers = tomllib.loads(make_results.COVERED.read_text(encoding="utf-8"))["papers"]
    for paper in papers:
        stored = [spec for spec in paper["specs"] if spec in make_results.names()]
        titles = [title for spec in stored for title in make_results.Results.of(spec).titles]
        for entry in paper["items"] if stored else ():
            section = entry.get("section", "").partition(" .")[0]
            linked = section.startswith("[") or not section
            assert linked or any(title.startswith(section) for title in titles), section


def test_a_changed_number_of_a_study_changes_its_page(tmp_path, monkeypatch):
    make_results = script("make_results")
    name = make_results.names()[0]
    stored = json.loads((make_results.RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    for part in stored["sections"].values():
        part["markdown"] = part.get("markdown", "").replace("0.", "9.")
    (tmp_path / f"{name}.json").write_text(json.dumps(stored), encoding="utf-8")
    before = make_results.page(name)
    monkeypatch.setattr(make_results, "RESULTS", tmp_path)
    assert make_results.page(name) != before


def test_blocks_are_found_with_what_they_print():
    text = "a\n```python\nprint(1)\n```\n\n```text\n1\n```\n```python no-run\nboom\n```\n"
    assert list(blocks(text)) == [Block("print(1)\n", 2, "1\n")]


SOURCE = re.compile(
    r"\b(?:src/)?(?:headcount|headcount_studies|tests|benchmarks|examples)/[\w/]+\.\w+"
)


@by_name(DOCUMENTS)
def test_files_named_in_documents_exist(path):
    named = set(SOURCE.findall(path.read_text(encoding="utf-8")))
    missing = [name for name in sorted(named) if not exists(name)]
    assert not missing


def exists(name):
    return (ROOT / name).exists() or (ROOT / "src" / name).exists()


def test_publications_of_methods_are_listed():
    listed = tomllib.loads((ROOT / "docs/references.toml").read_text(encoding="utf-8"))
    methods = {**quantifiers(), **one_class_quantifiers(), **predictors()}
    named = {
        part
        for method in methods.values()
        for part in method.info.reference.split("; ")
        if part not in ("folklore", "headcount")
    }
    assert named <= set(listed)
    assert all(len(entry) == 3 for entry in listed.values())
