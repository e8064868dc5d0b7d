"""Conclusions of an analysis: the shares in words, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headcount._text import chance, percent
from headcount.analysis.facts import words
from headcount.analysis.groups import MISSING
from headcount.diagnose.diagnostics import BROKEN_LEVEL

if TYPE_CHECKING:
    from headcount.analysis.analysis import Analysis, Part

__all__ = [
    "MARK",
    "Verdict",
    "compared_with_truth",
    "range_of_groups",
    "verdict_of",
]

MARK = "do not rely on it"
"""Mark of a row whose number is not to be relied on."""
_NAMED = 3


@dataclass(frozen=True)
class Verdict:
    """Summary of an analysis for a reader with ten seconds.

    Attributes
    ----------
    status : {"fits", "unsure", "broken"}
        The assumption of the method holds, may not hold, or does not hold.
    sentences : tuple of str
        The shares, how they differ from training, the groups, and the status in words.
    """

    status: Literal["fits", "unsure", "broken"]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def verdict_of(analysis: Analysis) -> Verdict:
    """Verdict on an analysis."""
    status, trust = _trust(analysis)
    if status == "broken":
        # The reader must not take the number for an answer.
        sentences = (
            trust,
            f"If only the mix had changed: {_shares(analysis)}",
            _groups(analysis),
        )
    else:
        sentences = (_shares(analysis), _groups(analysis), trust)
    return Verdict(status, tuple(sentence for sentence in sentences if sentence))


def compared_with_truth(analysis: Analysis) -> str:
    """Errors and coverage of the groups in words; empty if the true shares are not known."""
    parts = [part for part in analysis.groups if part.truth is not None]
    if not parts:
        return ""
    truth = np.array([part.truth for part in parts])
    shares = np.array([part.estimate.shares for part in parts])
    low, high = np.array([(part.low, part.high) for part in parts]).transpose(1, 0, 2)
    error = np.abs(shares - truth).mean()
    counted = [part.classify_and_count for part in parts]
    counts = ""
    if all(each is not None for each in counted):
        counts = f" (classify and count: {100 * np.abs(np.array(counted) - truth).mean():.1f})"
    # An interval that ends at the truth contains it, up to rounding.
    held = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    if len(analysis.classes) == 2:
        held = held[:, 1:]  # of two classes, one is enough
    return (
        f"Compared with the truth: {100 * error:.1f} percentage points off on average{counts}; "
        f"it is within {held.sum():,} of {held.size:,} intervals."
    )


def _main_class(analysis: Analysis) -> int:
    """Class to report: the second of two, or the one with the greatest change."""
    if len(analysis.classes) == 2:
        return 1
    return int(np.argmax(np.abs(analysis.overall.estimate.shares - analysis.training)))


def _shares(analysis: Analysis) -> str:
    overall, shares = analysis.overall, analysis.overall.estimate.shares
    items = f"{overall.estimate.n_items:,} item{'' if overall.estimate.n_items == 1 else 's'}"
    j = _main_class(analysis)
    before, now = float(analysis.training[j]), float(shares[j])
    moved = _moved(before, now)
    if len(shares) == 2:
        return (
            f"Of {items}, about {percent(now)} are {_quoted(analysis.classes[j])} "
            f"({100 * analysis.level:.6g}% interval {percent(overall.low[j])} to "
            f"{percent(overall.high[j])}), {moved}."
        )
    order = np.argsort(-shares, kind="stable")
    named, rest = (order, order[:0]) if len(order) <= _NAMED + 1 else np.split(order, [_NAMED])
    listed = [f"{percent(shares[i])} are {_quoted(analysis.classes[i])}" for i in named]
    if len(rest):
        listed.append(f"{percent(float(shares[rest].sum()))} are of {len(rest)} other classes")
    return (
        f"Of {items}, about {', '.join(listed[:-1])} and {listed[-1]}; the greatest change is "
        f"in {_quoted(analysis.classes[j])}, {moved}."
    )


def _moved(before: float, now: float) -> str:
    if percent(before) == percent(now):
        return "as in training"
    return f"{'up' if now > before else 'down'} from {percent(before)} in training"


def _groups(analysis: Analysis) -> str:
    j = _main_class(analysis)
    # Shares that are not to be relied on say nothing about the range.
    kept = [part for part in analysis.groups if not part.is_broken]
    return range_of_groups(
        f"the share of {_quoted(analysis.classes[j])}",
        {words(part.name): float(part.estimate.shares[j]) for part in kept},
        len(analysis.groups),
        percent,
    )


def range_of_groups(
    what: str, values: Mapping[str, float], n_groups: int, written: Callable[[float], str]
) -> str:
    """Least and greatest value of the groups in words; empty for fewer than two.

    Items without a group are left out.

    Examples
    --------
    >>> range_of_groups("the share", {"May": 0.2, "June": 0.5}, 3, percent)
    'Over 2 other groups the share goes from 20.0% (May) to 50.0% (June).'
    >>> range_of_groups("it", {"May": 0.2, "June": 0.5, MISSING: 0.9}, 3, percent)
    'Over 2 groups it goes from 20.0% (May) to 50.0% (June).'
    """
    n_groups -= MISSING in values
    values = {name: value for name, value in values.items() if name != MISSING}
    if len(values) < 2:
        return ""
    least, most = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    others = " other" if len(values) < n_groups else ""
    return (
        f"Over {len(values):,}{others} groups {what} goes from {written(values[least])} "
        f"({least}) to {written(values[most])} ({most})."
    )


def _trust(analysis: Analysis) -> tuple[Literal["fits", "unsure", "broken"], str]:
    p, broken = analysis.overall.p_value, analysis.broken_groups
    labelled = analysis.overall.labelled
    if labelled is not None:
        return "fits", (
            f"This rests on {labelled.n_labels:,} labels of the new items, and holds whatever "
            f"has changed if their rows were drawn at random. {labelled.agreement.sentence()}"
        )
    if analysis.method.shift != "prior":
        return "unsure", (
            f"{analysis.method.name} does not correct for a change of the mix, so that the "
            "shares are right only if nothing but the inputs has changed."
            if analysis.method.shift == "covariate"
            else f"{analysis.method.name} does not correct for any change since training."
        )
    if p is None:
        return "unsure", "Whether the method's assumption holds could not be tested."
    if p < BROKEN_LEVEL:
        return "broken", (
            "We cannot say what the shares are: the new items do not look like the labelled "
            f"ones, whatever the mix ({chance(p)}). Label a random sample of them, or train on "
            "items that are more like them."
        )
    if broken:
        one = len(broken) == 1
        return "unsure", (
            "Together the new items look like the labelled ones, but for the mix "
            f"({chance(p)}). {len(broken)} of the groups {'does' if one else 'do'} not, or "
            f"cannot be estimated: do not rely on {_named(broken)}."
        )
    return "fits", (
        f"The new items look like the labelled ones, but for the mix ({chance(p)}), as the "
        "method assumes."
    )


def _named(parts: list[Part]) -> str:
    names = [_quoted(part.name) for part in parts[:_NAMED]]
    more = len(parts) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _quoted(label: Any) -> str:
    return f"“{words(label)}”"
