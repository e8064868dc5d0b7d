"""What a method says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Input", "MethodInfo", "Multiclass", "Scoring", "Shift"]

Input = Literal["posteriors", "labels", "features", "any"]
Multiclass = Literal["native", "one-vs-rest"]
Shift = Literal["prior", "covariate", "none"]
Scoring = Literal["folds", "classifier"]


@dataclass(frozen=True)
class MethodInfo:
    """Facts about a method, for tables, checks and messages.

    Attributes
    ----------
    title : str
        What it is, in a few words.
    family : str
        Methods that work alike share one.
    input : {"posteriors", "labels", "features", "any"}
        What it looks at: a classifier's posteriors or predicted labels, the features
        themselves, or whatever the quantifier inside it does.
    multiclass : {"native", "one-vs-rest"}
        Whether it takes any number of classes itself, or two and `OneVsRest` for more.
    shift : {"prior", "covariate", "none"}
        The change since training under which it is right.
    reference : str
        Where it was first described.
    scoring : {"folds", "classifier"}
        The classifiers that score new items for ``predict``, if the method learns from
        out-of-fold scores: those of the folds, which made these scores, or the one that was
        trained on all items.
    aliases : tuple of str
        What else papers call it. Capitals, spaces, hyphens and brackets make no difference
        to `method`, so a name that differs in these only needs no entry.

    Examples
    --------
    >>> from headcount import SLD
    >>> SLD.info.shift
    'prior'
    """

    title: str
    family: str
    input: Input
    multiclass: Multiclass
    shift: Shift
    reference: str
    scoring: Scoring = "folds"
    aliases: tuple[str, ...] = ()
