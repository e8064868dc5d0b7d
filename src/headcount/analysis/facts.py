"""Facts about a method and about the program that ran it, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from headcount.data.preparation import Tally
from headcount.quantify import Quantifier
from headcount.scores import Scorer

__all__ = ["MethodFacts", "add_counts", "by_treatment", "method_facts", "plain", "words"]

_LONGEST = 300
# Columns that are named; others are counted.
_MOST_NAMES = 6


@dataclass(frozen=True)
class MethodFacts:
    """A method, its settings, and why it was chosen.

    Attributes
    ----------
    name : str
        Class of the quantifier.
    title : str
        Description in a few words.
    shift : {"prior", "covariate", "none"}
        Change since training under which it is right.
    reference : str
        Publication of the method.
    settings : dict of str to str
        Its parameters.
    why : str
        Reason for the choice; empty if the caller chose it.
    """

    name: str
    title: str
    shift: str
    reference: str
    settings: dict[str, str]
    why: str


def method_facts(quantifier: Quantifier, size: int) -> MethodFacts:
    """Facts about a fitted quantifier, or about the one that it selected.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted one.
    size : int
        Number of items of the sample that it estimates.

    Returns
    -------
    MethodFacts
    """
    fitted = quantifier.fitted_
    settings = {
        name: "" if name == "classifier" else _shortened(value)
        for name, value in fitted.settings.items()
    }
    if "classifier" in settings:
        # The one that was used: a search has its own, and None stands for the default.
        if isinstance(fitted.scorer, Scorer):
            settings["classifier"] = _shortened(fitted.scorer.classifier_)
        else:
            settings["classifier"] = "none: the scores were made elsewhere"
            settings.pop("cv", None)
    info = fitted.info
    return MethodFacts(
        fitted.method, info.title, info.shift, info.reference, settings,
        quantifier.explain(size),
    )  # fmt: skip


def _shortened(value: Any) -> str:
    if isinstance(value, Pipeline):
        *before, last = [step for _, step in value.steps]
        # The preparation is described column by column, and slow to print.
        return ", ".join([*(type(step).__name__ for step in before), _shortened(last)])
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def plain(label: Any) -> str | int | float | bool | None:
    """Class or group as a value for JSON and tables.

    Examples
    --------
    >>> from datetime import datetime
    >>> plain(3), plain(datetime(2024, 5, 1))
    (3, '2024-05-01')
    """
    if label is None or isinstance(label, str | int | float):
        return label
    return str(label).removesuffix(" 00:00:00")


def words(label: Any) -> str:
    """Class or group as text.

    Examples
    --------
    >>> words(None), words(True)
    ('all items', 'True')
    """
    return "all items" if label is None else str(plain(label))


def add_counts(columns: dict[str, str], tally: Tally, n_rows: int, table: str) -> None:
    """Add numbers of missing and unseen values to the treatments of columns.

    Parameters
    ----------
    columns : dict of str to str
        Treatment of each column, which is changed.
    tally : Tally
        The numbers.
    n_rows : int
        Number of rows.
    table : str
        Name of the table.
    """
    for counts, what in ((tally.missing, "missing"), (tally.unseen, "never seen in training")):
        for name, count in counts.items():
            if count:
                columns[name] += f"; {count:,} of {n_rows:,} {what} in {table}"


def by_treatment(columns: dict[str, str]) -> dict[str, str]:
    """Treatment of the columns, once for those that were treated alike.

    Examples
    --------
    >>> by_treatment({"age": "number", "city": "category", "size": "number"})
    {'Columns age, size': 'number', 'Column city': 'category'}
    """
    alike: dict[str, list[str]] = {}
    for name, treatment in columns.items():
        alike.setdefault(treatment, []).append(name)
    return {
        f"Column{'' if len(names) == 1 else 's'} {_listed(names)}": treatment
        for treatment, names in alike.items()
    }


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES + 1
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {more} more"
