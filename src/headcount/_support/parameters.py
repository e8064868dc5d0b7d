"""Checks of parameters that several estimators have.

Each function raises `HeadcountError` for a bad value. Most return the value, converted.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence, Sized
from math import inf
from typing import Any

import numpy as np

from headcount.errors import HeadcountError


def check_number(
    name: str, value: Any, is_allowed: Callable[[Any], bool], allowed: str
) -> float:
    """A number, not a truth value, that is allowed."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not is_allowed(value):
        raise HeadcountError(f"{name} is {value!r}; it must be {allowed}.")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    return check_number(name, value, lambda x: 0 < x < inf, "a finite number above 0")


def check_not_negative(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    return check_number(name, value, lambda x: 0 <= x < inf, "a finite number of at least 0")


def check_fraction(name: str, value: Any) -> float:
    """A number between zero and one, both excluded."""
    return check_number(name, value, lambda x: 0 < x < 1, "a number between 0 and 1")


def check_share(name: str, value: Any) -> float:
    """A number from zero to one."""
    return check_number(name, value, lambda x: 0 <= x <= 1, "a number from 0 to 1")


def check_log_base(name: str, value: Any) -> float:
    """Base of a logarithm."""
    return check_number(name, value, lambda x: 1 < x < inf, "a finite number above 1")


def check_bandwidth(value: Any) -> float:
    """A standard deviation in the space of posteriors."""
    allowed = "a finite number of at least 0.0001, as posteriors lie between 0 and 1"
    return check_number("bandwidth", value, lambda x: 1e-4 <= x < inf, allowed)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise HeadcountError(
            f"{name} is {value!r}; it must be a whole number of at least {least}."
        )
    return int(value)


def check_counts(name: str, values: Any, least: int = 1) -> tuple[int, ...]:
    """A non-empty sequence of whole numbers of at least `least`."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | range):
        raise HeadcountError(
            f"{name} is {values!r}; it must be a sequence of whole numbers, such as (10,)."
        )
    counts = tuple(check_count(f"an entry of {name}", value, least) for value in values)
    if not counts:
        raise HeadcountError(f"{name} is empty; it must have at least one whole number.")
    return counts


def check_one_each(name: str, values: Sized, n: int, of: str = "item") -> None:
    """As many values as there are items, or other things."""
    if len(values) != n:
        raise HeadcountError(
            f"{name} has {len(values):,} values, but there are {n:,} {of}s: pass one per {of}."
        )


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise HeadcountError(
            f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}."
        )
    return value


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise HeadcountError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def check_random_state(random_state: Any) -> None:
    """A seed, a numpy generator or None."""
    if random_state is None or isinstance(
        random_state, np.random.Generator | np.random.RandomState
    ):
        return
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise HeadcountError(
            f"random_state is {random_state!r}; it must be None, a whole number of at least 0, "
            "or a numpy Generator or RandomState."
        )


def check_grid(grid: Any) -> list[dict[str, Any]]:
    """Settings of a parameter grid in the format of scikit-learn."""
    from sklearn.model_selection import ParameterGrid

    try:
        settings = [dict(setting) for setting in ParameterGrid(grid)]
    except (TypeError, ValueError) as error:
        raise HeadcountError(
            f"param_grid cannot be read ({error}): pass a dict from parameter names to lists "
            "of values, or a list of such dicts."
        ) from None
    if not settings:
        raise HeadcountError("param_grid is empty: pass at least one setting.")
    return settings
