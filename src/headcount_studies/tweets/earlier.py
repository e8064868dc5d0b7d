"""Ranks in the study of Gao and Sebastiani (2016), which the paper puts beside its own."""

from __future__ import annotations

METHODS = ("CC", "ACC", "PCC", "PACC", "SLD", "SVM(Q)", "SVM(KLD)", "SVM(NKLD)")
"""Methods of both studies."""

SHIFTS = (0.0020, 0.1055)
"""Least and largest shift of the test sets that the earlier study used as they are."""

MEAN_SHIFT = 0.0301
"""Mean shift of these test sets, all eleven."""

_COLLECTIONS = (
    "gasp", "hcr", "omd", "sanders", "semeval2013", "semeval2014", "semeval2015", "semeval2016",
    "sst", "wa", "wb",
)  # fmt: skip
# One row per collection, one digit per method.
_RANKS = {
    "ae": (
        "53216847", "52137846", "63128745", "54236817", "75168432", "82613754", "43127865",
        "34175826", "25183647", "65213874", "24135687",
    ),
    "rae": (
        "54326817", "42137856", "63128745", "54136827", "73148625", "42836715", "35124867",
        "35274816", "35162748", "54213876", "24135687",
    ),
}  # fmt: skip


def earlier_ranks(metric: str) -> dict[str, dict[str, int]]:
    """Ranks by collection and method; empty for other metrics than AE and RAE.

    >>> earlier_ranks("ae")["gasp"]["PACC"]
    1
    """
    rows = _RANKS.get(metric, ())
    return {
        collection: dict(zip(METHODS, map(int, row), strict=True))
        for collection, row in zip(_COLLECTIONS, rows, strict=False)
    }
