"""Batches of items in, their statistics out, several batches at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._threads import results_in_order
from headcount.data import count_rows
from headcount.quantify.statistics_parts import Form
from headcount.scores import Scored, Verdicts
from headcount.statistics.group_names import Numbered, number_groups
from headcount.statistics.needed_parts import Batch, NeededParts

FORM_NAMES: dict[Form, str] = {
    "items": "items with scores of all folds",
    "scored": "scores of one classifier",
    "verdicts": "decisions",
}
"""Forms of items, in words."""


class ReducedBatch(NamedTuple):
    """Statistics of a batch of items, by the groups of this batch."""

    form: Form
    groups: Numbered
    sizes: NDArray[np.int64]
    parts: Batch


def form_of(X: Any) -> Form:
    """Form of items."""
    if isinstance(X, Verdicts):
        return "verdicts"
    return "scored" if isinstance(X, Scored) and not X.folds else "items"


def reduce_batch(needed: NeededParts, X: Any, groups: Any) -> ReducedBatch:
    """Statistics of a batch."""
    form = form_of(X)
    numbered = number_groups(groups, count_rows(X))
    parts = needed.batch(form, X, numbered.codes, len(numbered.names))
    sizes = np.bincount(numbered.codes, minlength=len(numbered.names))
    return ReducedBatch(form, numbered, sizes, parts)


def reduce_batches(
    needed: NeededParts, batches: Iterable[tuple[Any, Any]]
) -> Iterator[ReducedBatch]:
    """Statistics of batches in their order; several at once if they are scored."""
    for scored, same in groupby(batches, lambda each: isinstance(each[0], Scored | Verdicts)):
        tasks = (_task(needed, *each) for each in same)
        # Classifiers, which may not be safe for threads, are called in that of the caller.
        yield from results_in_order(tasks) if scored else (task() for task in tasks)


def _task(needed: NeededParts, X: Any, groups: Any) -> Callable[[], ReducedBatch]:
    needed.of_form(form_of(X))  # found once, not by each thread
    return partial(reduce_batch, needed, X, groups)
