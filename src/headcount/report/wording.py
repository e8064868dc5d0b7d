"""Sentences of the pages of an analysis, computed from its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.analysis import Analysis
from headcount.analysis.facts import words
from headcount.diagnose.diagnostics import UNLIKE

__all__ = ["ADVICE", "Note", "about_counting", "answer", "grouped_notes"]

ADVICE = (
    "Label a random sample of the new items and count the labels. That is right whatever has "
    "changed: 100 labels give a share or an accuracy to within 10 percentage points, 400 to "
    "within 5.",
    "Or train on labelled items that are more like the new ones: the same source, the same "
    "period.",
    "Or leave out columns whose meaning has changed since then, such as prices or codes.",
)
"""Sentences on what to do if the new items do not look like the labelled ones."""

_NAMED = 3
_NUMBER = re.compile(r"\d[\d.,e-]*")
# Difference between counting and an estimate that is worth a sentence.
_CLOSE = 0.01


@dataclass(frozen=True)
class Note:
    """Warning or note, with the groups that it is about.

    Attributes
    ----------
    about : str
        The groups; empty if there are none.
    text : str
        The sentence, or one of several that differ in their numbers only.
    """

    about: str
    text: str


def answer(
    overall: tuple[float | None, bool], groups: Sequence[tuple[float | None, bool]], what: str
) -> str:
    """Answer to the question whether the new items look like the labelled ones.

    Parameters
    ----------
    overall : tuple of float or None, and bool
        P-value of all items, and True if they do not look like the labelled ones.
    groups : sequence of such tuples
        One per group.
    what : str
        Name of the estimates.

    Examples
    --------
    >>> answer((0.4, False), [(0.3, False), (0.001, True)], "the shares")
    'Together yes, but 1 of 2 groups does not'
    """
    p_value, is_broken = overall
    tested = sum(p is not None for p, _ in groups)
    broken = sum(each for _, each in groups)
    if p_value is None:
        return "Not tested: read with care"
    if is_broken:
        return f"No: do not rely on {what}"
    if broken:
        verb = "does" if broken == 1 else "do"
        return f"Together yes, but {broken} of {tested} groups {verb} not"
    return "Yes: no sign that more than the mix has changed"


def about_counting(analysis: Analysis) -> str:
    """Comparison of the estimates with classify and count; empty without a classifier."""
    parts = [
        part
        for part in analysis.groups or (analysis.overall,)
        if part.classify_and_count is not None
    ]
    if not parts:
        return ""
    counted = np.array([part.classify_and_count for part in parts])
    shares = np.array([part.estimate.shares for part in parts])
    apart = np.abs(counted - shares)
    of_groups = " on average" if analysis.groups else ""
    start = "Classify and count, which counts what the classifier predicts,"
    if apart.mean() < _CLOSE:
        return (
            f"{start} gives nearly the same ({100 * apart.mean():.1f} points apart{of_groups})."
        )
    # Between training and the estimate: it moves in the same direction, but not far enough.
    before = analysis.training
    lags = (np.minimum(before, shares) <= counted) & (counted <= np.maximum(before, shares))
    lags &= apart >= _CLOSE
    sentence = f"{start} is {100 * apart.mean():.1f} points away from the estimates{of_groups}."
    n_lagging, n_apart = int(lags.sum()), int((apart >= _CLOSE).sum())
    if n_lagging > n_apart / 2:
        where = f" in {n_lagging:,} of the {n_apart:,} cases where they differ"
        sentence += (
            f" It stays nearer to the shares in training{where if n_apart > 2 else ''}, which "
            "is its bias when the mix changes."
        )
    if analysis.overall.is_broken and analysis.overall.truth is None:
        sentence += " Which of the two is nearer to the truth cannot be said here."
    return sentence


def grouped_notes(found: Iterable[tuple[Any, Sequence[str]]], n_all: int) -> list[Note]:
    """Each warning once, with the groups it is about.

    Warnings that differ in their numbers only are one. Those that report a violated
    assumption are left out, as pages show them in their own way.

    Parameters
    ----------
    found : iterable of (name of a group, sequence of str)
        The warnings of each group; the name is None for all items.
    n_all : int
        Number of groups, all items included, that are everything.

    Returns
    -------
    list of Note

    Examples
    --------
    >>> few = "The sample has {} items."
    >>> grouped_notes([("a", [few.format(3)]), ("b", [few.format(5)]), ("c", [])], 3)
    [Note(about='a, b', text='The sample has 3 items. (This is about a.)')]
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, texts in found:
        for text in texts:
            if not text.startswith(UNLIKE):
                alike.setdefault(_NUMBER.sub("#", text), []).append((words(name), text))
    return [_note(each, n_all) for each in alike.values()]


def _note(alike: list[tuple[str, str]], n_all: int) -> Note:
    names, texts = [name for name, _ in alike], [text for _, text in alike]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    about = "everything" if len(names) >= n_all else ", ".join(names[:_NAMED]) + more
    varies = len(set(texts)) > 1
    return Note(about, f"{texts[0]} (This is about {names[0]}.)" if varies else texts[0])
