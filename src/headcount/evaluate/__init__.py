"""Evaluation over samples, significance tests and model selection.

The package can be called: ``headcount.evaluate(...)`` is the function `evaluate`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from headcount.evaluate.collection import Evaluations
from headcount.evaluate.evaluation import Evaluation
from headcount.evaluate.run import evaluate, evaluate_scores
from headcount.evaluate.search import GridSearch
from headcount.evaluate.significance import Comparison, compare
from headcount.evaluate.summary import Summary

__all__ = [
    "Comparison",
    "Evaluation",
    "Evaluations",
    "GridSearch",
    "Summary",
    "compare",
    "evaluate",
    "evaluate_scores",
]


class _CallableModule(ModuleType):
    """Makes ``headcount.evaluate`` both the package and its main function.

    Python sets the attribute ``evaluate`` of ``headcount`` to this module as soon as
    anything in it is imported, and would so shadow a function of that name: which of
    the two a user got would depend on what was imported before.
    """

    __wrapped__ = staticmethod(evaluate)  # so that inspect.signature finds its parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Evaluation:
        return evaluate(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        # Plain modules cannot be sent to other processes, functions can.
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallableModule
__doc__ = evaluate.__doc__ or __doc__  # what help(headcount.evaluate) should say
