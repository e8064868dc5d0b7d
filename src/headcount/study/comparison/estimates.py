"""What methods say of samples, failures included."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.sampling import Samples

__all__ = ["Estimates", "attempted", "quietly"]

Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Shares of one method, a row a sample.

    Attributes
    ----------
    shares : ndarray of shape (S, K)
        Not a number where the method failed.
    failures : tuple of str or None
        Why it failed, by sample.
    """

    shares: Shares
    failures: tuple[str | None, ...]


def attempted(
    estimate: Callable[[Samples], Shares], samples: Samples, n_classes: int
) -> Estimates:
    """Estimate all samples at once, or one by one if that fails: each fails alone.

    Parameters
    ----------
    estimate : callable
        From samples to shares; whatever it raises is the reason of a failure.
    samples : Samples
        The samples.
    n_classes : int
        Number of classes.

    Returns
    -------
    Estimates
        With reasons where there are no shares.
    """
    shares, why = _try(estimate, samples)
    if shares is not None:
        return Estimates(shares, (None,) * len(samples))
    shares = np.full((len(samples), n_classes), np.nan)
    failures: list[str | None] = [why] * len(samples)
    for number in range(len(samples)):
        found, failures[number] = _try(estimate, samples[number : number + 1])
        if found is not None:
            shares[number] = found[0]
    return Estimates(shares, tuple(failures))


def _try(
    estimate: Callable[[Samples], Shares], samples: Samples
) -> tuple[Shares | None, str | None]:
    try:
        shares = np.asarray(estimate(samples), dtype=np.float64)
    except Exception as error:  # a method may fail in any way; the study goes on
        return None, f"{type(error).__name__}: {error}"
    if not np.isfinite(shares).all():
        return None, "the estimate is not a number"
    return shares, None


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings: a study makes thousands, and its rows say what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
