"""Facts about a method of accuracy prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headcount.quantify.info import Input, Shift

__all__ = ["AccuracyInfo", "Gives"]

Gives = Literal["table", "metrics", "accuracy"]


@dataclass(frozen=True)
class AccuracyInfo:
    """Facts about a method, for tables, checks and messages.

    Attributes
    ----------
    title : str
        Description in a few words.
    input : {"posteriors", "labels", "features", "any"}
        Kind of items that the method works on: posteriors or predicted labels of the
        classifier, the features themselves, or whatever its quantifier works on.
    gives : {"table", "metrics", "accuracy"}
        Output: the table of true and predicted classes, any metric but no table, or the
        accuracy alone.
    shift : {"prior", "covariate", "none"}
        Change since the reference under which the method is correct.
    reference : str
        Publication that describes the method.

    Examples
    --------
    >>> from headcount.accuracy import LEAP
    >>> LEAP.info.shift
    'prior'
    """

    title: str
    input: Input
    gives: Gives
    shift: Shift
    reference: str
