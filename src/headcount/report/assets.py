"""Templates, styles and scripts of pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["asset", "content_policy", "template_of"]


@cache
def asset(name: str) -> str:
    """The text of a file that comes with the reports."""
    folder = files("headcount.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str, *, images: bool = False) -> str:
    """What lets a browser use this very style and script, and nothing from elsewhere.

    Parameters
    ----------
    style, script : str
        Their texts.
    images : bool, default=False
        Whether the page has pictures in it.

    Returns
    -------
    str

    Examples
    --------
    >>> content_policy("", "", images=True).split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        f"{'img-src data:; ' if images else ''}base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def template_of(name: str, filters: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """A template in which whatever is put is escaped, and nothing may be missing.

    Parameters
    ----------
    name : str
        Its file.
    filters : mapping of str to callable, default=None
        What it can do to values.

    Returns
    -------
    jinja2.Template
    """
    # Imported here, as only pages need it.
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= dict(filters or {})
    return environment.from_string(asset(name))
