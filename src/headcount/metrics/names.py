"""Metrics by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from headcount.errors import HeadcountError
from headcount.metrics import nominal, ordinal
from headcount.metrics.checks import Errors
from headcount.metrics.intervals import winkler

_BY_NAME = (
    nominal.ae, nominal.tae, nominal.nae, nominal.rae, nominal.nrae, nominal.se, nominal.kld,
    nominal.nkld, nominal.bias, nominal.hellinger, nominal.topsoe, nominal.jsd,
    nominal.bray_curtis, nominal.aitchison, ordinal.nmd, ordinal.md, ordinal.cvm,
    ordinal.macro_nmd, ordinal.rnod,
)  # fmt: skip
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
