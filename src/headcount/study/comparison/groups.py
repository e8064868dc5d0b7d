"""Methods that share work: each group trains, or measures distances, once for all of its own.

A group is a function of a `Bench`, trials and methods. It yields, for each trial in turn, the
trial's samples and what each method says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount.data.datasets import Dataset
from headcount.quantify.base import Quantifier
from headcount.quantify.registry import method as find_method
from headcount.sampling import Samples
from headcount.study.comparison.draws import Drawer, Trial
from headcount.study.comparison.estimates import Estimates
from headcount.study.spec import MethodSpec
from headcount.study.task import task_seed

__all__ = ["Answers", "Bench", "Group", "made", "quantifier_of", "wanted"]


Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Bench:
    """A dataset, and what is drawn from it."""

    dataset: Dataset
    drawer: Drawer
    _made: dict[str, Any] = field(default_factory=dict)

    def remembered(self, what: str, make: Callable[[], Made]) -> Made:
        """What depends on the dataset alone, made when first asked for."""
        if what not in self._made:
            self._made[what] = make()
        found: Made = self._made[what]
        return found

    @cached_property
    def binned(self) -> NDArray[np.generic]:
        """The features with a finite number of values, as small as can be."""
        codes = self.dataset.binned()
        return codes.astype(np.min_scalar_type(codes.max()))

    def features(self, method: MethodSpec) -> NDArray[np.generic]:
        """The features that a method is to have."""
        return self.binned if method.options.get("binned") else self.dataset.X

    def seed(self, trial: Trial, purpose: str) -> int:
        """A seed for one purpose in one trial."""
        names = (self.dataset.name, trial.split, trial.train, trial.number, purpose)
        return task_seed(self.drawer.seed, *names)


@dataclass(frozen=True, eq=False)
class Answers:
    """What methods say of the samples of a trial, by their names."""

    trial: Trial
    n_train: int
    samples: Samples
    estimates: Mapping[str, Estimates]


Group = Callable[[Bench, Sequence[Trial], Sequence[MethodSpec]], Iterator[Answers]]


def made(method: MethodSpec, **more: Any) -> Quantifier:
    """The quantifier of a method, with its parameters."""
    return quantifier_of(method.quantifier)(**more | method.parameters)


@lru_cache
def quantifier_of(name: str) -> type[Quantifier]:
    """The class of a quantifier; looked for once only, as it takes milliseconds."""
    return find_method(name)


def wanted(methods: Sequence[MethodSpec], trial: Trial) -> list[MethodSpec]:
    """The methods that take part in a trial: some make fewer draws."""
    return [m for m in methods if trial.number < m.options.get("draws", trial.number + 1)]
