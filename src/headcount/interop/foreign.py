"""Quantifiers of other packages as quantifiers of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from headcount._support.arrays import Floats
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_random_state
from headcount.errors import HeadcountError
from headcount.items.arrays import take_rows
from headcount.parts.aggregation import Aggregation, Model
from headcount.parts.fitted import Fitted, ItemSource, MethodInfo
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier
from headcount.samples.samples import Samples


class ForeignQuantifier(Quantifier):
    """Method with ``fit(X, y)`` and ``predict(X)``, for one sample at a time.

    It is a quantifier like all others, for `evaluate`, `GridSearch`, `OneVsRest` and studies.
    The method receives the features and the positions of the labels in ``classes_``. It
    returns shares as it computes them. It has no estimates with intervals, as these need
    out-of-fold scores of the training items.

    Parameters
    ----------
    method : object with fit and predict
        The method. It is copied before it is fitted.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for methods that use numpy's global random state: it is set while the
        method is fitted or predicts, and restored afterwards. None leaves it alone.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of every result.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.interop import ForeignQuantifier
    >>> class TrainingShares:
    ...     def fit(self, X, y):
    ...         self.shares = np.bincount(y) / len(y)
    ...
    ...     def predict(self, X):
    ...         return self.shares
    >>> q = ForeignQuantifier(TrainingShares()).fit([[0.0], [1.0], [1.0], [1.0]], list("abbb"))
    >>> q.predict([[0.5]])
    array([0.25, 0.75])
    """

    info: ClassVar = MethodInfo(
        title="method of another package",
        family="meta",
        input="features",
        reference="see the method",
    )

    def __init__(self, method: Any, *, random_state: Any = None) -> None:
        self.method = method
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        for name in ("fit", "predict"):
            if isinstance(self.method, type) or not callable(getattr(self.method, name, None)):
                raise HeadcountError(
                    f"method is {self.method!r}; it must be a quantifier with {name}()."
                )
        return ForeignAggregation(self.method, self._seed())

    def _seed(self) -> int | None:
        check_random_state(self.random_state)
        if self.random_state is None or isinstance(self.random_state, int):
            return self.random_state
        return base_seeds(self.random_state, 1)[0] % 2**32

    def _made(
        self,
        source: ItemSource,
        model: Model,
        prior: Floats,
        training: Training | None,
        **more: Any,
    ) -> Fitted:
        reason = (
            f"{type(self.method).__name__} is a method of another package and has no estimates "
            "with intervals: use predict, or a method of headcount."
        )
        return super()._made(source, model, prior, training, no_simulation=reason, **more)

    def __sklearn_clone__(self) -> Self:
        # Constructors of other packages may change their parameters, which clone refuses.
        return type(self)(deepcopy(self.method), random_state=self.random_state)


@dataclass(frozen=True, eq=False)
class ForeignAggregation(Aggregation):
    """Method of another package, fitted on features, called for every sample."""

    method: Any
    seed: int | None = None
    n_classes: int = 0

    def fit(self, training: Training) -> Self:
        """Fit a copy of the method."""
        if training.weights is not None:
            raise HeadcountError(
                f"sample_weight was given, but {self._name} takes none: repeat items instead."
            )
        method = deepcopy(self.method)
        with self._calling("fitted"):
            method.fit(training.items, training.codes)
        return replace(self, method=method, n_classes=training.n_classes)

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        with self._calling("used"):
            rows, predict = self.predictor(items)
            shares = [
                np.asarray(predict(take_rows(rows, index)), dtype=np.float64).ravel()
                for index in samples
            ]
        for row in shares:
            if row.shape != (self.n_classes,) or not np.isfinite(row).all():
                raise HeadcountError(
                    f"{self._name} returned {row.tolist()} for {self.n_classes} classes: it "
                    "must return one finite share per class."
                )
        return Solution.closed_form(np.stack(shares))

    def predictor(self, items: Any) -> tuple[Any, Callable[[Any], Floats]]:
        """Rows of a pool, and the function that returns the shares of some of them."""
        return items, self.method.predict

    @property
    def _name(self) -> str:
        return type(self.method).__name__

    @contextmanager
    def _calling(self, done: str) -> Iterator[None]:
        """Set the random state, and name the method in errors of its own."""
        state = np.random.get_state()  # noqa: NPY002 (other packages use it)
        if self.seed is not None:
            np.random.seed(self.seed)  # noqa: NPY002
        try:
            yield
        except HeadcountError:
            raise
        except Exception as error:  # another package may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:150]
            raise HeadcountError(
                f"{self._name} of {type(self.method).__module__} cannot be {done} ({reason})."
            ) from error
        finally:
            if self.seed is not None:
                np.random.set_state(state)  # noqa: NPY002


def from_qunfold(method: Any, *, random_state: Any = None) -> ForeignQuantifier:
    """Use a method of qunfold as a quantifier.

    This is qunfold by Mirko Bunse, from its repository. On PyPI another package has this name.

    Parameters
    ----------
    method : method of qunfold
        Such as ``qunfold.ACC(RandomForestClassifier(oob_score=True))``, not fitted.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of numpy's global random state; methods of qunfold have a ``seed`` too.

    Returns
    -------
    ForeignQuantifier
        To be fitted.

    Examples
    --------
    >>> import qunfold  # doctest: +SKIP
    >>> q = hc.interop.from_qunfold(qunfold.EDx()).fit(X, y)  # doctest: +SKIP
    >>> q.predict_many(X_pool, samples)  # doctest: +SKIP
    """
    return ForeignQuantifier(method, random_state=random_state)
