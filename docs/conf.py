"""Configuration of the documentation site: `make docs`.

Sphinx is used because the reference comes from docstrings in numpydoc form, which it reads,
because it checks every link between pages (`-W` turns problems into errors), and because
NumPy, SciPy and scikit-learn use it. MyST reads the Markdown that GitHub shows as well. Furo
has a light and a dark theme and works on small screens. The site loads nothing from
other hosts.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import latex2mathml.converter
from command_reference import command_reference
from docutils.nodes import SkipNode

project = "headcount"
author = "headcount contributors"
version = release = version_of("headcount")
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_site", "_build", "_templates"]
templates_path = ["_templates"]

# Anchors of headings, as on GitHub.
myst_heading_anchors = 3
# Separate pictures for light and dark pages: {.only-light}.
myst_enable_extensions = ["attrs_inline", "dollarmath"]

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
# One page per class with all its methods. One page per method would be thousands.
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
autodoc_typehints = "none"
default_role = "code"

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "headcount"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6aa8", "color-brand-content": "#0b6aa8"},
    "dark_css_variables": {"color-brand-primary": "#63b6ec", "color-brand-content": "#63b6ec"},
}
copybutton_exclude = ".linenos, .gp, .go"

# The examples run when the site is built, and become pages with their output and notebooks.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"/\d\d_",
    "image_scrapers": ("example_pictures.save_axes",),
    "capture_repr": (),
    "reset_modules": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "show_signature": False,
    "thumbnail_size": (440, 300),
    "min_reported_time": 60,
    "write_computation_times": False,
}

_BARS = re.compile(r"(``.*?``)|(\|)")
_LINK = r"\[([^\]]*)\]\({}([^)]*)\)"


def plain_bars(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep |x| as the absolute value in docstrings, not as a substitution."""
    lines[:] = [_BARS.sub(lambda m: m[1] or r"\|", line) for line in lines]


def add_references(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Write the publications of a method below its description."""
    named = getattr(getattr(obj, "info", None), "reference", "") if what == "class" else ""
    references = [REFERENCES[part] for part in named.split("; ") if part in REFERENCES]
    if references:
        lines += ["", ".. rubric:: References", ""]
        # Initials at the start would number a list.
        lines += [f"* \\{', '.join(filter(None, reference))}." for reference in references]


def linked(title: str, where: str, identifier: str) -> tuple[str, str, str]:
    """A publication with a link: a DOI, or the one of a preprint."""
    if identifier.startswith("arXiv:"):
        doi = "10.48550/arXiv." + identifier.removeprefix("arXiv:")
        return title, where, f"`{identifier} <https://doi.org/{doi}>`_"
    link = f"`doi:{identifier} <https://doi.org/{identifier}>`_" if identifier else ""
    return title, where, link


REFERENCES = {
    key: linked(*values)
    for key, values in tomllib.loads(
        Path(__file__).with_name("references.toml").read_text(encoding="utf-8")
    ).items()
}


def name_files(app: Any, name: str, source: list[str]) -> None:
    """Replace links to files outside docs, which are not on the site, by their paths."""
    above = re.escape("../" * (1 + name.count("/")))
    source[0] = re.sub(_LINK.format(above), r"\1 (`\2`)", source[0])


def skip_foreign(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that scikit-learn and Python add to classes."""
    inner = getattr(obj, "fget", None) or getattr(obj, "func", None) or obj
    home = getattr(inner, "__module__", None) or getattr(
        getattr(inner, "__objclass__", None), "__module__", ""
    )
    foreign = home.split(".")[0] in ("sklearn", "builtins", "collections", "typing", "enum")
    return True if foreign or name.endswith("_request") else None


def add_commands(app: Any, name: str, source: list[str]) -> None:
    """Write the options of every command into the page of the command line."""
    if name == "command-line":
        source[0] = source[0].replace("<!-- commands -->", command_reference())


def outdated(
    app: Any, env: Any, added: set[str], changed: set[str], gone: set[str]
) -> list[str]:
    """Pages that do not only depend on their files."""
    return ["command-line"]


def link_methods(app: Any, name: str, source: list[str]) -> None:
    """Link the names in the tables of methods to the reference."""
    if name == "methods":
        source[0] = re.sub(
            r"^\| `(\w+)` \|", r"| {py:class}`\1 <headcount.quantifiers.\1>` |", source[0],
            flags=re.MULTILINE,
        )  # fmt: skip


def write_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    display = "block" if node.tagname == "math_block" else "inline"
    writer.body.append(latex2mathml.converter.convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> None:
    """Register the hooks of Sphinx."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-process-docstring", add_references)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("env-get-outdated", outdated)
    for hook in (name_files, add_commands, link_methods):
        app.connect("source-read", hook)
