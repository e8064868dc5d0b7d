"""The methods, one family per module: each has a representation and a solver.

Every public class with an ``info``, in any module of this package, is a method and can be
imported from here.
"""
# ruff: noqa: F403

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.quantify.adapted import AdaptedClassifier as AdaptedClassifier
from headcount.quantify.base import Quantifier as Quantifier
from headcount.quantify.info import MethodInfo as MethodInfo
from headcount.quantify.registry import MethodTable as MethodTable
from headcount.quantify.registry import method as method
from headcount.quantify.registry import methods as methods
from headcount.quantify.registry import quantifiers as quantifiers

if TYPE_CHECKING:
    # For type checkers and editors, which cannot look for methods as the code below does.
    from headcount.quantify.adjusted import *
    from headcount.quantify.auto import *
    from headcount.quantify.conditioned import *
    from headcount.quantify.counting import *
    from headcount.quantify.ensembles.averages import *
    from headcount.quantify.ensembles.ensemble import *
    from headcount.quantify.features import *
    from headcount.quantify.importance_weights import *
    from headcount.quantify.iterative import *
    from headcount.quantify.kernels import *
    from headcount.quantify.learners import *
    from headcount.quantify.likelihood import *
    from headcount.quantify.matching import *
    from headcount.quantify.one_vs_rest import *
    from headcount.quantify.ordinal import *
    from headcount.quantify.sweeps import *
    from headcount.quantify.thresholds import *
    from headcount.quantify.vector_machines import *
else:
    globals().update(quantifiers())
    __all__ = [
        "AdaptedClassifier",
        "MethodInfo",
        "MethodTable",
        "Quantifier",
        "method",
        "methods",
        "quantifiers",
        *quantifiers(),
    ]
