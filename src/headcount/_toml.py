"""Plain data written as TOML; the standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headcount.errors import HeadcountError

__all__ = ["toml_text"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(content: Mapping[str, Any]) -> str:
    """Write texts, numbers, booleans, lists and tables as TOML.

    Parameters
    ----------
    content : mapping
        Data to write. Its tables, and lists of tables, get headings of their own.

    Returns
    -------
    str

    Examples
    --------
    >>> print(toml_text({"seed": 0, "protocol": {"draws": [1, 2]}}))
    seed = 0
    <BLANKLINE>
    [protocol]
    draws = [1, 2]
    """
    plain: dict[str, Any] = {}
    blocks: list[str] = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            blocks.append(f"[{_key(key)}]\n{_lines(value)}".rstrip())
        elif _is_list_of_tables(value):
            blocks += [f"[[{_key(key)}]]\n{_lines(table)}".rstrip() for table in value]
        else:
            plain[key] = value
    return "\n\n".join([_lines(plain), *blocks] if plain else blocks)


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{_key(key)} = {_value(value)}" for key, value in table.items())


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise HeadcountError(f"The key {key!r} of a spec must be a text.")
    return key if _BARE.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{{inside}}}"
    raise HeadcountError(
        f"A spec holds {value!r}; it may hold texts, numbers, booleans, lists and tables."
    )


def _string(text: str) -> str:
    # JSON's escapes are TOML's as well; TOML escapes one more character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
