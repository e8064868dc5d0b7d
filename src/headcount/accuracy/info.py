"""What a method of accuracy prediction says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headcount.quantify.info import Shift

__all__ = ["AccuracyInfo", "Gives", "Needs"]

Gives = Literal["table", "metrics", "accuracy"]
Needs = Literal["scores", "features"]


@dataclass(frozen=True)
class AccuracyInfo:
    """Facts about a method, for tables, checks and messages.

    Attributes
    ----------
    title : str
        What it is, in a few words.
    shift : {"prior", "covariate", "none"}
        The change since the reference under which it is right.
    gives : {"table", "metrics", "accuracy"}
        The whole table of true and predicted classes; numbers for any measure but no table;
        or the accuracy alone.
    needs : {"scores", "features"}
        Whether scores and predictions will do, or the items themselves are needed.
    reference : str
        Where it was first described.

    Examples
    --------
    >>> from headcount.accuracy import LEAP
    >>> LEAP.info.shift
    'prior'
    """

    title: str
    shift: Shift
    gives: Gives
    needs: Needs
    reference: str
