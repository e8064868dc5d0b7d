"""Columns that tell the class of an item by themselves, as what is recorded after it does."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from headcount.tables.label_columns import LabelledItems
from headcount.tables.preparation import Preparation

# A column decides the class if it leaves less than this part of the errors of a guess.
_ERRORS_LEFT = 0.02
# Fewest labelled items and most that are looked at; fewest of each value of a category.
_FEWEST, _MOST, _FEWEST_OF_VALUE = 40, 5000, 4
_MOST_NAMES, _MOST_COLUMNS = 3, 300


def leak_note(labelled: LabelledItems, preparation: Preparation) -> str:
    """Note on columns from which the class can be told; empty without any.

    Of very many columns only the first are looked at.
    """
    n = len(labelled.labels)
    columns = [
        column for column in preparation.columns if column.is_used and column.kind != "text"
    ][:_MOST_COLUMNS]
    if n < _FEWEST or not columns:
        return ""
    rows = np.random.default_rng(0).permutation(n)[:_MOST]
    codes = np.unique(labelled.labels[rows], return_inverse=True)[1]
    frame = labelled.table.read([column.name for column in columns])[rows.tolist()]
    names = [
        column.name for column in columns if _decides(column.read(frame[column.name])[0], codes)
    ]
    if not names:
        return ""
    listed = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    one = len(names) == 1
    return (
        f"Column{'' if one else 's'} {listed}{more} tell{'s' if one else ''} the class "
        f"of nearly every labelled item{'' if one else ', each by itself'}. If "
        f"{'it is' if one else 'they are'} recorded after the class is known, leave "
        f"{'it' if one else 'them'} out by leave_out (--leave-out)."
    )


def _decides(values: pl.Series, codes: NDArray[np.int64]) -> bool:
    """True if a rule learnt from half of the items gives the class of the other half."""
    half = len(codes) // 2
    wrong_by_guess = 1 - np.bincount(codes[half:]).max() / (len(codes) - half)
    if values.dtype == pl.String:
        kinds = np.unique(values.fill_null("").to_numpy(), return_inverse=True)[1]
        if len(codes) < _FEWEST_OF_VALUE * (kinds.max() + 1):
            return False
        table = np.zeros((kinds.max() + 1, codes.max() + 1), np.int64)
        np.add.at(table, (kinds[:half], codes[:half]), 1)
        predicted = table.argmax(axis=1)[kinds[half:]]
    else:
        numbers = values.cast(pl.Float64, strict=False).to_numpy().reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * (codes.max() + 1), random_state=0)
        predicted = tree.fit(numbers[:half], codes[:half]).predict(numbers[half:])
    return bool((predicted != codes[half:]).mean() < _ERRORS_LEFT * wrong_by_guess)
