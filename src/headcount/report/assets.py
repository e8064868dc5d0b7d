"""Templates, styles, scripts and data of pages."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from headcount._support.text import csv_text

# A script ends at its closing tag, wherever that is; old browsers end lines at U+2028.
_UNSAFE = str.maketrans(
    {sign: f"\\u{ord(sign):04x}" for sign in ("<", ">", "&", "\u2028", "\u2029")}
)


@cache
def asset(name: str) -> str:
    """Text of a file that comes with the reports."""
    folder = files("headcount.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def script_json(value: Any) -> str:
    r"""JSON that can stand inside a script element of a page.

    >>> print(script_json({"class": "</script>"}))
    {"class":"\u003c/script\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def packed_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV table, compressed, for the download of a page."""
    # The mark at the start shows spreadsheets that the text is UTF-8. Warnings, which are on
    # every row of a group, would be most of the page: compressed they are next to nothing.
    table = ("\ufeff" + csv_text(header, rows)).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(table, mtime=0)).decode()


def rounded(value: Any) -> Any:
    """The same plain value with numbers of six digits, and None for those that are not finite.

    >>> rounded({"share": [1 / 3, 2, float("nan")]})
    {'share': [0.333333, 2, None]}
    """
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def content_policy(style: str, script: str, *, images: bool = False) -> str:
    """Policy that lets a browser use one style and one script, and load nothing.

    >>> content_policy("", "", images=True).split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        f"{'img-src data:; ' if images else ''}base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def rendered(
    name: str,
    values: Mapping[str, Any],
    *,
    data: Mapping[str, Any],
    filters: Mapping[str, Callable[..., Any]] | None = None,
    styles: Sequence[str] = ("page.css",),
    images: bool = False,
) -> str:
    """Page of a template, which escapes all values and raises an error for missing ones."""
    style, script = "".join(map(asset, styles)), asset("page.js")
    return str(
        _template(name, *(filters or {}).items()).render(
            style=Markup(style),
            script=Markup(script),
            policy=content_policy(style, script, images=images),
            data=Markup(script_json(data)),
            **values,
        )
    )


@cache
def _template(name: str, *filters: tuple[str, Callable[..., Any]]) -> Any:
    # Imported here, as only pages need it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )  # fmt: skip
    environment.filters |= dict(filters)
    return environment.get_template(name)
