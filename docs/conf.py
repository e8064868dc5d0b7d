"""How the site is built: `make docs`.

Sphinx, because the reference comes from docstrings in numpydoc form, which its own extension
reads, because it checks every link between pages (`-W` makes what it finds an error), and
because it is what NumPy, SciPy and scikit-learn are documented with, so that it will be kept.
MyST lets it read the Markdown that GitHub shows as well; Furo is light, dark, and legible on a
telephone. Nothing on the site comes from another host.
"""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

project = "headcount"
author = "the headcount developers"
version = release = version_of("headcount")
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
exclude_patterns = ["_site", "_build"]
templates_path = ["_templates"]

# Headings answer to the fragments that GitHub gives them.
myst_heading_anchors = 3
# Pictures for a light and a dark page: {.only-light}.
myst_enable_extensions = ["attrs_inline"]

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
# One page per class has them all in one place; one page per method would be thousands.
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
autodoc_typehints = "none"
default_role = "code"

html_theme = "furo"
html_title = "headcount"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6aa8", "color-brand-content": "#0b6aa8"},
    "dark_css_variables": {"color-brand-primary": "#63b6ec", "color-brand-content": "#63b6ec"},
}
copybutton_exclude = ".linenos, .gp, .go"

_BARS = re.compile(r"(``.*?``)|(\|)")
_OUT_OF_DOCS = re.compile(r"\[([^\]]*)\]\(\.\./([^)]*)\)")


def plain_bars(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Let |x| be the absolute value in docstrings, not a name to be replaced."""
    lines[:] = [_BARS.sub(lambda m: m[1] or r"\|", line) for line in lines]


def name_files(app: Any, name: str, source: list[str]) -> None:
    """Name files of the repository that pages link to: they are not part of the site."""
    source[0] = _OUT_OF_DOCS.sub(r"\1 (`\2`)", source[0])


def skip_foreign(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    home = getattr(obj, "__module__", None) or ""
    return True if home.startswith("sklearn") or name.endswith("_request") else None


def setup(app: Any) -> None:
    """What Sphinx asks for."""
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("source-read", name_files)
