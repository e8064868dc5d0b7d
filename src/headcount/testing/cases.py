"""A quantifier to check, its data, and assertions that need no test framework."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from headcount._support.arrays import Array, Floats
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.samples.samples import Samples


class NotApplicable(Exception):  # noqa: N818 (it is not an error)
    """Reason why a check does not apply to a method."""


def expect(holds: Any, message: str) -> None:
    """Fail with a message unless a condition holds, also under ``python -O``."""
    if not holds:
        raise AssertionError(message)


def equal(actual: Any, expected: Any) -> None:
    """Fail unless arrays are equal to the last bit."""
    np.testing.assert_array_equal(actual, expected)


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Fail unless arrays differ by less than a tolerance."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def on_simplex(shares: Any, *shape: int) -> None:
    """Fail unless shares are an array of a shape, not negative, with sums of 1."""
    expect(isinstance(shares, np.ndarray), f"shares are of type {type(shares).__name__}")
    expect(shares.dtype == np.float64, f"shares are of type {shares.dtype}, not float64")
    expect(shares.shape == shape, f"shares have the shape {shares.shape}, not {shape}")
    expect((shares >= 0).all(), f"a share is {shares.min()}")
    close(shares.sum(axis=-1), np.ones(shape[:-1]), 1e-12)


@contextmanager
def raises(kind: type[Exception], match: str = "") -> Iterator[None]:
    """Fail unless the block raises an error of a kind with a message that matches."""
    try:
        yield
    except kind as error:
        expect(
            re.search(match, str(error)), f"the message {str(error)!r} does not match {match!r}"
        )
        return
    raise AssertionError(f"no {kind.__name__} was raised; expected a message like {match!r}")


def refuses(match: str, *calls: Callable[..., Any]) -> None:
    """Fail unless every call raises a `HeadcountError` with a message that matches."""
    for call in calls:
        with raises(HeadcountError, match):
            call()


@dataclass(frozen=True, eq=False)
class Case:
    """A quantifier and a number of classes.

    A method for two classes is checked on two, and on three inside `OneVsRest`.

    Attributes
    ----------
    prototype : Quantifier
        Unfitted quantifier; it is cloned, never fitted.
    n_classes : int
        Number of classes.
    """

    prototype: Quantifier
    n_classes: int

    @property
    def info(self) -> MethodInfo:
        """Declared facts about the method."""
        return self.prototype.info

    @property
    def name(self) -> str:
        """Name of the class of the quantifier."""
        return type(self.prototype).__name__

    @property
    def wrapped(self) -> bool:
        """True if the quantifier is checked inside `OneVsRest`."""
        return self.n_classes > 2 and self.info.multiclass == "one-vs-rest"

    @property
    def takes_scores(self) -> bool:
        """True if it can be fitted on scores made elsewhere."""
        return ScoringPlan(self.prototype).takes_scores

    @property
    def trains_several(self) -> bool:
        """True if it trains more than one classifier, so no scorer can be shared."""
        return self.info.input == "any" and ScoringPlan(self.prototype).scorer() is None

    @property
    def simulates(self) -> bool:
        """True if its answers depend on simulated samples, and so on chance."""
        return "replicates" in self.parameters

    @property
    def brings_learner(self) -> bool:
        """True if it has a learner of its own, which takes no weights."""
        return self.info.family in ("learner", "network")

    @property
    def smooth(self) -> bool:
        """True if it expects smooth shares along the classes, as those of two always are."""
        parameters = self.prototype.get_params(deep=False)
        is_smooth = any(parameters.get(name) for name in ("smoothness", "flatness"))
        return is_smooth and self.n_classes > 2

    @property
    def ordered(self) -> bool:
        """True if the order of the classes makes a difference; that of two does not."""
        return self.smooth or (self.info.family == "ordinal" and self.n_classes > 2)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters of the class."""
        return list(inspect.signature(type(self.prototype)).parameters)

    @property
    def classifier(self) -> Any:
        """Classifier of the quantifier; naive Bayes if it has none."""
        parameters = self.prototype.get_params()
        classifier = next(
            (parameters[name] for name in parameters if _LAST["classifier"].match(name)), None
        )
        return GaussianNB() if classifier is None else clone(classifier)

    def require_scores(self) -> tuple[Array, ...]:
        """Scores and y to fit on; the check is skipped if the method takes no scores."""
        if not self.takes_scores:
            raise NotApplicable("takes no scores made elsewhere")
        return scored(self.n_classes)

    def require_two_classes(self) -> None:
        """Skip the check for more than two classes: it is about the class alone."""
        if self.n_classes > 2:
            raise NotApplicable("checked with two classes")

    def make_base(self, classifier: Any = None, seed: Any = 0) -> Quantifier:
        """Unfitted quantifier, not wrapped, with another classifier or random seed."""
        quantifier = clone(self.prototype)
        values: dict[str, Any] = {"random_state": seed}
        if classifier is not None:
            values |= {"classifier": classifier, "classifiers": [classifier]}
        names = {
            name: value
            for name in quantifier.get_params()
            for last, value in values.items()
            if _LAST[last].match(name)
        }
        quantifier.set_params(**names)
        return quantifier

    def make(self, classifier: Any = None, seed: Any = 0) -> Quantifier:
        """Unfitted quantifier for the classes of the case."""
        base = self.make_base(classifier, seed)
        return OneVsRest(base) if self.wrapped else base

    def fit_quick(self) -> Quantifier:
        """Fitted on scores if it takes them."""
        return self.make().fit(*self.training)

    @property
    def training(self) -> tuple[Any, Array]:
        """Items and labels that `fit_quick` learns from."""
        if self.takes_scores:
            return labelled_scores(self.n_classes)
        X, y = labelled(self.n_classes)
        return X, y

    def predict_quick(self, quantifier: Quantifier, samples: Any) -> Floats:
        """Shares in samples of the pool that belongs to `fit_quick`."""
        return quantifier.predict_many(
            self.new_scores if self.takes_scores else self.new, samples
        )

    @property
    def new(self) -> Array:
        """Items to draw samples from."""
        return pool(self.n_classes)

    @property
    def new_scores(self) -> Scored:
        """Scores of items to draw samples from."""
        return Scored(scored_pool(self.n_classes))

    def shares(self, quantifier: Quantifier) -> Floats:
        """Shares in samples of new items."""
        return quantifier.predict_many(self.new, samples())

    def score_shares(self, quantifier: Quantifier) -> Floats:
        """Shares in samples of new scores."""
        return quantifier.predict_many(self.new_scores, samples())

    @cached_property
    def expected(self) -> Floats:
        """Shares by the quantifier that was fitted on items."""
        return self.shares(self.fitted)

    @cached_property
    def expected_of_scores(self) -> Floats:
        """Shares by the quantifier that was fitted on scores."""
        return self.score_shares(self.fitted_on_scores)

    @cached_property
    def fitted(self) -> Quantifier:
        """Fitted on items; not to be changed."""
        return self.make().fit(*labelled(self.n_classes))

    @cached_property
    def fitted_on_scores(self) -> Quantifier:
        """Fitted on scores; not to be changed."""
        return self.make().fit(*labelled_scores(self.n_classes))

    @property
    def fitted_quick(self) -> Quantifier:
        """Fitted on scores if it takes them; not to be changed."""
        return self.fitted_on_scores if self.takes_scores else self.fitted

    def __str__(self) -> str:
        name = f"OneVsRest({self.name})" if self.wrapped else self.name
        return f"{name}-{self.n_classes}"


# Parameters of the quantifier itself or of the one that it wraps.
_LAST = {
    name: re.compile(rf"(quantifier__)*{name}$")
    for name in ("classifier", "classifiers", "random_state")
}


def _read_only(*arrays: Array) -> tuple[Array, ...]:
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _items(codes: Array, rng: np.random.Generator) -> Array:
    centres = np.array([[0.0, 0.0, 0.0], [1.5, 0.5, 0.0], [0.0, 1.0, 1.5]])
    return centres[codes] + rng.normal(size=(len(codes), 3))


def _scores(codes: Array, n_classes: int, rng: np.random.Generator) -> Array:
    evidence = 1.5 * np.eye(n_classes)[codes] + rng.normal(size=(len(codes), n_classes))
    scores: Array = np.exp(evidence)
    return scores / scores.sum(axis=1, keepdims=True)


def _codes(n_classes: int, n: int, rng: np.random.Generator) -> Array:
    shares = np.arange(1, n_classes + 1) / sum(range(1, n_classes + 1))
    return rng.choice(n_classes, n, p=shares)


@cache
def labelled(n_classes: int) -> tuple[Array, ...]:
    """X and y to fit on; read-only, like all data of the checks."""
    rng = np.random.default_rng(n_classes)
    codes = _codes(n_classes, 180, rng)
    return _read_only(_items(codes, rng), codes)


@cache
def pool(n_classes: int) -> Array:
    """Items to draw samples from."""
    rng = np.random.default_rng(10 + n_classes)
    return _read_only(_items(rng.integers(n_classes, size=120), rng))[0]


@cache
def scored(n_classes: int) -> tuple[Array, ...]:
    """Scores and y to fit on."""
    rng = np.random.default_rng(20 + n_classes)
    codes = _codes(n_classes, 180, rng)
    return _read_only(_scores(codes, n_classes, rng), codes)


def labelled_scores(n_classes: int) -> tuple[Scored, Array]:
    """The same, as `fit` takes them."""
    scores, y = scored(n_classes)
    return Scored(scores), y


@cache
def scored_pool(n_classes: int) -> Array:
    """Scores of items to draw samples from."""
    rng = np.random.default_rng(30 + n_classes)
    codes = rng.integers(n_classes, size=120)
    return _read_only(_scores(codes, n_classes, rng))[0]


@cache
def samples() -> Samples:
    """Samples of either pool: of different sizes, some items several times."""
    rng = np.random.default_rng(40)
    return Samples.from_arrays(
        [rng.integers(120, size=size) for size in (40, 1, 75, 2, 120, 33)], n_pool=120
    )
