"""Declared facts about a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Input = Literal["posteriors", "labels", "features", "any"]
Multiclass = Literal["native", "one-vs-rest"]
Shift = Literal["prior", "covariate", "none"]
Scoring = Literal["folds", "classifier"]
Labels = Literal["all classes", "one class", "one class and unlabelled"]


@dataclass(frozen=True)
class MethodInfo:
    """Facts about a method, for tables, checks and messages.

    Attributes
    ----------
    title : str
        Short description.
    family : str
        Group of methods that work in a similar way.
    reference : str
        Publication that first described it.
    input : {"posteriors", "labels", "features", "any"}
        Input of the method: posteriors or predicted labels of a classifier, features, or the
        input of the quantifier that it wraps.
    multiclass : {"native", "one-vs-rest"}
        Any number of classes, or two, and `OneVsRest` for more.
    shift : {"prior", "covariate", "none"}
        Change since training under which it is unbiased.
    scoring : {"folds", "classifier"}
        Classifiers that score new items for ``predict``, if the method learns from
        out-of-fold scores: those of the folds, which made these scores, or the one that was
        trained on all items.
    inconsistency : str
        Reason why the shares of an exact mixture of the training classes are not recovered;
        empty if they are. `OneVsRest` around a method, a positive smoothness and learners
        trained on the same items are further reasons.
    no_scores : str
        Reason why it takes no scores made elsewhere, though its input is not features; empty
        if it takes them.
    needs_overlap : bool
        True if scores that separate the classes perfectly are not counted without error.
    depends_on_size : bool
        True if the number of items, in training or in a sample, has an influence on its own:
        an item given twice counts as two.
    resamples : bool
        True if it draws samples of the training items.
    sparse : bool
        True if it takes sparse features, provided that its classifier does.
    labels : {"all classes", "one class", "one class and unlabelled"}
        Classes of which labelled items are needed, and unlabelled items if `fit` needs them.
    aliases : tuple of str
        Other names in the literature. `method` ignores case, spaces, hyphens and brackets,
        so a name that differs in these only needs no entry.

    Examples
    --------
    >>> from headcount import SLD
    >>> SLD.info.shift
    'prior'
    """

    title: str
    family: str
    reference: str
    input: Input = "posteriors"
    multiclass: Multiclass = "native"
    shift: Shift = "prior"
    scoring: Scoring = "folds"
    inconsistency: str = ""
    no_scores: str = ""
    needs_overlap: bool = False
    depends_on_size: bool = False
    resamples: bool = False
    sparse: bool = True
    labels: Labels = "all classes"
    aliases: tuple[str, ...] = ()
