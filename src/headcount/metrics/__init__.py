"""Errors between true and estimated shares.

Every function takes the true shares ``p`` and the estimated ones ``p_hat`` with classes
along the last axis, broadcasts over the axes before it, and returns one number per pair (a
plain number for one-dimensional input). The order of the classes matters only to ``nmd``,
``md``, ``cvm``, ``macro_nmd``, ``nmd_by_bin``, ``rnod`` and ``jaggedness``.

``winkler``, ``coverage`` and ``width`` measure intervals: they take ``(p, low, high)``.

``rae``, ``nrae``, ``kld``, ``nkld`` and ``aitchison`` are undefined where shares are zero.
With ``size=n``, the number of items in the sample, they smooth both vectors to
``(p + eps) / (1 + K * eps)`` with ``eps = 1 / (2 * n)``. ``eps=`` sets the smoothing directly.

Examples
--------
>>> from headcount import metrics
>>> truth = [[0.5, 0.5], [0.9, 0.1]]
>>> metrics.ae(truth, [0.5, 0.5])
array([0. , 0.4])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from headcount.errors import HeadcountError
from headcount.metrics.checks import Errors
from headcount.metrics.intervals import coverage, width, winkler
from headcount.metrics.nominal import (
    ae,
    aitchison,
    bias,
    bray_curtis,
    hellinger,
    jsd,
    kld,
    mae,
    mrae,
    nae,
    nkld,
    nrae,
    rae,
    se,
    shift,
    sre,
    tae,
    topsoe,
)
from headcount.metrics.ordinal import cvm, jaggedness, macro_nmd, md, nmd, nmd_by_bin, rnod

__all__ = [
    "ALIASES",
    "METRICS",
    "OF_INTERVALS",
    "SMOOTHED",
    "ae",
    "aitchison",
    "bias",
    "bray_curtis",
    "by_name",
    "coverage",
    "cvm",
    "hellinger",
    "jaggedness",
    "jsd",
    "kld",
    "macro_nmd",
    "mae",
    "md",
    "mrae",
    "nae",
    "nkld",
    "nmd",
    "nmd_by_bin",
    "nrae",
    "rae",
    "rnod",
    "se",
    "shift",
    "sre",
    "tae",
    "topsoe",
    "width",
    "winkler",
]

_BY_NAME = (
    *(ae, tae, nae, rae, nrae, se, kld, nkld, bias, hellinger, topsoe, jsd, bray_curtis),
    *(aitchison, nmd, md, cvm, macro_nmd, rnod),
)
METRICS: Mapping[str, Callable[..., Errors]] = MappingProxyType(
    {metric.__name__: metric for metric in _BY_NAME}
)
"""The metrics by name. All take ``(p, p_hat)``; those in ``SMOOTHED`` also ``size=``."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {f"m{name}": name for name in ("ae", "nae", "rae", "nrae", "se", "kld", "nkld", "nmd")}
    | {"hd": "hellinger", "js": "jsd", "kl": "kld", "bc": "bray_curtis"}
)
"""Other names of metrics. The mean over samples, such as "mae", is what tables print."""

SMOOTHED = frozenset({"rae", "nrae", "kld", "nkld", "aitchison"})
"""Names of the metrics that can smooth the shares."""

OF_INTERVALS: Mapping[str, Callable[..., Errors]] = MappingProxyType({"winkler": winkler})
"""Errors of intervals by name. They take ``(p, low, high, level=)``."""


def by_name(name: str) -> Callable[..., Errors]:
    """Find a metric by its name.

    Parameters
    ----------
    name : str
        One of the names in ``METRICS`` or ``ALIASES``, in lower or upper case.

    Returns
    -------
    callable
        The function of that name.

    Examples
    --------
    >>> from headcount import metrics
    >>> metrics.by_name("ae") is metrics.by_name("MAE") is metrics.ae
    True
    """
    lower = name.lower()
    metric = ALIASES.get(lower, lower)
    if metric not in METRICS:
        raise HeadcountError(
            f"There is no metric named {name!r}: choose one of {', '.join(METRICS)}."
        )
    return METRICS[metric]
