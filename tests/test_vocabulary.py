"""Plain technical English in the source, its messages and the documents.

The tables at the top are the rules. A failure names file, line, phrase and what to write.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/headcount"

COUNTED = (
    "answer|array|bar|bin|box|cell|chart|class|classifier|code|column|count|dot|draw|entry|error|"
    "estimate|file|figure|group|interval|item|label|line|mean|method|metric|name|number|outcome|"
    "page|panel|picture|point|prediction|quantifier|record|result|row|sample|score|sentence|share|"
    "shift|slack|stream|table|task|test|training set|tree|value|vector|weight|word"
)
UNIT = (
    "attempt|batch|bin|block|candidate|class|classifier|collection|column|component|dataset|draw|"
    "experiment|feature|file|fold|group|item|label|line|measure|member|method|metric|model|node|"
    "pair|panel|part|point|pool|prevalence|protocol|quantifier|repetition|replicate|result|row|run|sample|"
    "section|setting|shape|share|split|table|task|text|training set|tree|trial|value|view|word|"
    "worker"
)
SPEAKERS = "classifier|forest|learner|member|method|model|quantifier|tree"
NUMBER = r"two|three|four|five|ten|\d[\d,]*"

# Regular expression (a space matches any gap, also between lines) -> what to write.
PHRASES = {
    rf"\b(a|an|one|such) ({COUNTED}) an? ({UNIT})\b": "one row per class",
    rf"\b(one|row) an? ({UNIT})\b": "one per sample",
    rf"\b({NUMBER}) ({COUNTED})s an? ({UNIT})\b": "five samples per class",
    r"\banew\b": "again; or resampled, refitted, retrained",
    r"\b(learnt|learned|fitted|trained) again\b": "resampled, refitted, retrained",
    r"\bbeside (its|the|other|their) (peers?|librar\w+)\b": "compared with",
    r"\bwholly\b": "atomically; complete; completely",
    r"\bThat which\b": "name the thing",
    r"\b(is|are|was|were|be|been|being|if|as|when) (asked|told)\b(?! apart)": (
        "is called with, is given, is predicted, is computed"
    ),
    r"(?<!paper\s)\b(says|tells)\b": "predicts, returns, reports, states, shows",
    r"\bknows\b": "has, contains, has been trained on",
    rf"\b({SPEAKERS})s? (say|said|tell|know|think)\b": "predicts, returns",
    r"\bgoes by\b": "is named, uses",
    r"\bwhat came of\b": "result of",
    r"\bwhat became of\b": "outcome of",
    r"\bOf all that is\b": "name the thing: Random seed.",
}  # fmt: skip

# First words of docstrings. They start with a noun or a verb.
DOCSTRING_OPENINGS = frozenset(
    {"What", "How", "Whether", "That", "Those", "Which", "Where", "When", "Who", "Why"}
)
# First words of the descriptions of parameters and attributes, which must stand alone.
PARAMETER_OPENINGS = frozenset({"Of", "What", "That", "Those", "Who"})

# Name of a module -> what to name it after.
MODULES = {
    "beside": "the comparison",
    "drawing": "resampling, replicates, plots",
    "estimating": "what is estimated",
    "growing": "tree_growth",
    "judging": "model_outputs",
    "labelling": "what is labelled",
    "listing": "the list",
    "looking": "what is looked at",
    "making": "what is made",
    "members": "ensemble",
    "planning": "plan",
    "running": "execute, run",
    "saving": "persistence",
    "showing": "report",
    "studying": "study",
    "watching": "progress",
    "writing": "files, output",
}
# Names of classes, with or without an underscore.
CLASSES = {
    "Believing": "WithPrior",
    "Eyes": "the inputs",
    "Judged": "ModelOutputs",
    "Learnt": "the model",
    "Told": "WithPrior",
    "Wishes": "EstimateOptions",
}

GAP = r"""(?:\s+(?:\#\s*)?|\s*["']\s+[rf]?["']\s*)"""
COMPILED = [(re.compile(phrase.replace(" ", GAP)), write) for phrase, write in PHRASES.items()]
PARAMETER = re.compile(r"^( *)\*{0,2}\w[\w, *]* : .+\n\1 +(\w+)", re.MULTILINE)


def texts():
    """Files that are checked, by the folder that a test is named after."""
    found = {}
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in {".py", ".toml", ".html", ".js"}:
            found.setdefault(path.relative_to(SOURCE).parts[0], []).append(path)
    found["docs"] = sorted(ROOT.glob("docs/**/*.md"))
    found |= {name: [ROOT / name] for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")}
    return found


def phrases(text):
    """Line and wording of each phrase that is left out, with the one to write."""
    ends = set()
    for pattern, write in COMPILED:
        for match in pattern.finditer(text):
            if match.end() not in ends:  # "a row a class" has "row a class" in it
                ends.add(match.end())
                phrase = " ".join(match.group().split())
                yield text.count("\n", 0, match.start()) + 1, phrase, write


def names(path, text):
    """The same for docstrings, classes and the name of the module."""
    if path.stem.strip("_") in MODULES:
        yield 1, path.name, f"name the module after {MODULES[path.stem.strip('_')]}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.name.strip("_") in CLASSES:
            yield node.lineno, node.name, CLASSES[node.name.strip("_")]
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        doc = ast.get_docstring(node) or ""
        line = 1 if isinstance(node, ast.Module) else node.body[0].lineno
        if (first := re.match(r"\w*", doc).group()) in DOCSTRING_OPENINGS:
            yield line, f'"""{first}', "start with a noun or a verb"
        for match in PARAMETER.finditer(doc):
            if match[2] in PARAMETER_OPENINGS:
                at = line + doc.count("\n", 0, match.start(2))
                yield at, match[2], "start with the thing that the parameter is"


def faults(path):
    text = path.read_text(encoding="utf-8")
    found = [*phrases(text), *(names(path, text) if path.suffix == ".py" else ())]
    where = path.relative_to(ROOT)
    return [f"{where}:{line}: {bad!r}, write: {good}" for line, bad, good in sorted(found)]


@pytest.mark.parametrize("folder", texts())
def test_phrases_that_are_left_out(folder):
    found = [fault for path in texts()[folder] for fault in faults(path)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "a row a class",
        "one column\n    a class",
        "# one row\n    # a sample",
        '"one number "\n    f"a sample"',
        "weights, one an item",
        "two columns a class",
        "drawn anew",
        "what the model says",
        "written wholly or not at all",
        "speed beside its peers",
    ],
)
def test_phrases_are_found(text):
    assert any(phrases(text))


@pytest.mark.parametrize(
    "text",
    [
        "a share of a class",
        "one row per class",
        "the samples a method gets",
        "one of a class",
        "once a sample is drawn",
        "each row is a sample",
        "add a method",
    ],
)
def test_plain_phrases_are_not(text):
    assert not any(phrases(text))


def test_docstrings_and_names_are_found():
    doc = '"""Prior.\n\n    p : int\n        Of it.\n    """'
    text = f'"""How it is."""\nclass _Told:\n    {doc}\n'
    found = [bad for _, bad, _ in names(Path("_drawing.py"), text)]
    assert found == ["_drawing.py", '"""How', "_Told", "Of"]
