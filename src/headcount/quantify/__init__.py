"""The methods, one family per module: each has a representation and a solver.

Every public class with an ``info``, in any module of this package, is a method and can be
imported from here.
"""
# ruff: noqa: F403

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headcount.quantify.adapted import AdaptedClassifier as AdaptedClassifier
from headcount.quantify.base import Quantifier as Quantifier
from headcount.quantify.info import MethodInfo as MethodInfo
from headcount.quantify.registry import MethodTable as MethodTable
from headcount.quantify.registry import installed_methods as installed_methods
from headcount.quantify.registry import method as method
from headcount.quantify.registry import methods as methods
from headcount.quantify.registry import one_class_quantifiers as one_class_quantifiers
from headcount.quantify.registry import quantifiers as quantifiers

# Names that are no methods, and their modules, which are imported when they are used.
_OTHERS = {
    "MultiLabel": "multi_label",
    "OneClassQuantifier": "one_class",
    "OpenSet": "open_set",
    "PAT": "one_class",
    "ShiftComparison": "shifts",
    "TCPU": "positive_unlabelled",
    "TagEstimate": "multi_label",
    "compare_shifts": "shifts",
}

if TYPE_CHECKING:
    # For type checkers and editors, which cannot look for methods as the code below does.
    from headcount.quantify.adjusted import *
    from headcount.quantify.auto import *
    from headcount.quantify.committees import *
    from headcount.quantify.compose import *
    from headcount.quantify.conditioned import *
    from headcount.quantify.counting import *
    from headcount.quantify.efficient import *
    from headcount.quantify.ensemble import *
    from headcount.quantify.features import *
    from headcount.quantify.importance_weights import *
    from headcount.quantify.iterative import *
    from headcount.quantify.kernels import *
    from headcount.quantify.learners import *
    from headcount.quantify.learnt_prior import *
    from headcount.quantify.likelihood import *
    from headcount.quantify.matching import *
    from headcount.quantify.multi_label import MultiLabel as MultiLabel
    from headcount.quantify.multi_label import TagEstimate as TagEstimate
    from headcount.quantify.one_class import PAT as PAT
    from headcount.quantify.one_class import OneClassQuantifier as OneClassQuantifier
    from headcount.quantify.one_vs_rest import *
    from headcount.quantify.open_set import OpenSet as OpenSet
    from headcount.quantify.ordinal import *
    from headcount.quantify.positive_unlabelled import TCPU as TCPU
    from headcount.quantify.score_order import *
    from headcount.quantify.shifts import ShiftComparison as ShiftComparison
    from headcount.quantify.shifts import compare_shifts as compare_shifts
    from headcount.quantify.sweeps import *
    from headcount.quantify.thresholds import *
    from headcount.quantify.vector_machines import *
else:

    def __getattr__(name: str) -> Any:
        # Methods are looked for when the first one is used: a command that needs few of them
        # does not wait for the modules of all.
        if name != "__all__" and name.startswith("_"):
            raise AttributeError(f"module 'headcount.quantify' has no attribute {name!r}")
        if name in _OTHERS:
            home = importlib.import_module(f"headcount.quantify.{_OTHERS[name]}")
            return getattr(home, name)
        found = quantifiers()
        globals().update(found)
        if name == "__all__":
            return [
                "AdaptedClassifier",
                "MethodInfo",
                "MethodTable",
                "Quantifier",
                "installed_methods",
                "method",
                "methods",
                "one_class_quantifiers",
                "quantifiers",
                *_OTHERS,
                *found,
            ]
        if name not in found:
            raise AttributeError(f"module 'headcount.quantify' has no attribute {name!r}")
        return found[name]
