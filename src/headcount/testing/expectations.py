"""Assertions of the conformance checks, which need no test framework."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from headcount.errors import HeadcountError

__all__ = ["NotApplicable", "close", "equal", "expect", "on_simplex", "raises", "refuses"]


class NotApplicable(Exception):  # noqa: N818 (it is no error)
    """Reason why a check does not apply to a method."""


def expect(holds: Any, message: str) -> None:
    """Fail with a message unless a condition holds, also under ``python -O``."""
    if not holds:
        raise AssertionError(message)


def equal(given: Any, expected: Any) -> None:
    """Fail unless arrays are equal to the last bit."""
    np.testing.assert_array_equal(given, expected)


def close(given: Any, expected: Any, tolerance: float) -> None:
    """Fail unless arrays differ by less than a tolerance."""
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance)


def on_simplex(shares: Any, *shape: int) -> None:
    """Fail unless shares are an array of a shape, not negative, with sums of 1."""
    expect(isinstance(shares, np.ndarray), f"shares are of type {type(shares).__name__}")
    expect(shares.dtype == np.float64, f"shares are of type {shares.dtype}, not float64")
    expect(shares.shape == shape, f"shares have the shape {shares.shape}, not {shape}")
    expect((shares >= 0).all(), f"a share is {shares.min()}")
    close(shares.sum(axis=-1), np.ones(shape[:-1]), 1e-12)


@contextmanager
def raises(kind: type[Exception], match: str = "") -> Iterator[None]:
    """Fail unless the block raises an error of a kind with a message that matches."""
    try:
        yield
    except kind as error:
        expect(
            re.search(match, str(error)), f"the message {str(error)!r} does not match {match!r}"
        )
        return
    raise AssertionError(f"no {kind.__name__} was raised; expected a message like {match!r}")


def refuses(match: str, *calls: Callable[..., Any]) -> None:
    """Fail unless every call raises a `HeadcountError` with a message that matches."""
    for call in calls:
        with raises(HeadcountError, match):
            call()
