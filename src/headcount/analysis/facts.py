"""Facts about a method and about the program that ran it, in words."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from headcount.evaluation.search import GridSearch
from headcount.quantify import AutoQuantifier, Quantifier
from headcount.scores import Scorer

__all__ = ["MethodFacts", "method_facts", "plain", "versions", "words"]

_LONGEST = 300


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


def method_facts(quantifier: Quantifier) -> MethodFacts:
    """Facts about a fitted quantifier, or about the one that it selected.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted one.

    Returns
    -------
    MethodFacts
    """
    answering = quantifier.answering_
    settings = {
        name: _shortened(value) for name, value in answering.get_params(deep=False).items()
    }
    if "classifier" in settings:
        # The one that was used: a search has its own, and None stands for the default.
        if isinstance(quantifier.scorer_, Scorer):
            settings["classifier"] = _shortened(quantifier.scorer_.classifier_)
        else:
            settings["classifier"] = "none: the scores were made elsewhere"
            settings.pop("cv", None)
    info = answering.info
    return MethodFacts(
        type(answering).__name__, info.title, info.shift, info.reference, settings,
        _why(quantifier),
    )  # fmt: skip


def _why(quantifier: Any) -> str:
    if isinstance(quantifier, AutoQuantifier):
        return quantifier.explain()
    if isinstance(quantifier, GridSearch):
        chosen = ", ".join(
            f"{name}={value!r}" for name, value in quantifier.best_params_.items()
        )
        return (
            f"{chosen} had the least mean {quantifier.results_.metric} "
            f"({quantifier.best_score_:.4f}) of the settings that were tried."
        )
    return ""


def _shortened(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def versions() -> dict[str, str]:
    """Versions of the packages that the numbers depend on.

    Returns
    -------
    dict of str to str
    """
    packages = ("headcount", "numpy", "scipy", "scikit-learn")
    return {name: version(name) for name in packages} | {"python": platform.python_version()}


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
