"""Polars, imported when it is first used: quantifying arrays does not need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["pl"]

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            import polars

            return getattr(polars, name)

    pl = _Polars()
