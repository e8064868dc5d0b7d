"""Quantifiers of other packages here, such as those of QuaPy, and ours there."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from headcount._support.arrays import Array, Floats
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_random_state
from headcount.errors import HeadcountError
from headcount.items.arrays import check_lengths, count_rows, encode_labels, take_rows
from headcount.parts.aggregation import Aggregation, Model
from headcount.parts.fitted import Fitted, ItemSource, MethodInfo
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier, is_simple
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


def _import(module: str) -> Any:
    """Module of QuaPy."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise HeadcountError(
            f"QuaPy cannot be imported ({error}): install it with pip install quapy."
        ) from None


def is_quapy(method: Any) -> bool:
    """Check for a quantifier of QuaPy, without importing QuaPy.

    Parameters
    ----------
    method : object
        Any object.

    Examples
    --------
    >>> import headcount as hc
    >>> hc.interop.is_quapy(hc.SLD())
    False
    """
    if "quapy" not in sys.modules:
        return False
    return isinstance(method, _import("quapy.method.base").BaseQuantifier)


@documented(ForeignQuantifier)
class QuaPyQuantifier(ForeignQuantifier):
    """Quantifier of QuaPy: see `from_quapy`.

    Examples
    --------
    >>> from headcount.interop import QuaPyQuantifier
    >>> import quapy  # doctest: +SKIP
    >>> QuaPyQuantifier(quapy.method.aggregative.PACC()).fit(X, y)  # doctest: +SKIP
    """

    info: ClassVar = MethodInfo(
        title="method of QuaPy",
        family="meta",
        input="features",
        reference="Moreo, Esuli & Sebastiani, CIKM 2021",
    )

    def _aggregation(self) -> Aggregation:
        if not is_quapy(self.method):
            raise HeadcountError(
                f"method is {self.method!r}; it must be a quantifier of QuaPy, such as "
                "quapy.method.aggregative.PACC()."
            )
        return _QuaPyAggregation(self.method, self._seed())


@dataclass(frozen=True, eq=False)
class _QuaPyAggregation(ForeignAggregation):
    """Quantifier of QuaPy; an aggregative one classifies a pool once."""

    def predictor(self, items: Any) -> tuple[Any, Callable[[Any], Floats]]:
        aggregative = _import("quapy.method.aggregative").AggregativeQuantifier
        if not isinstance(self.method, aggregative):
            return super().predictor(items)
        return np.asarray(self.method.classify(items)), self.method.aggregate


def from_quapy(
    method: Any, *, classes: ArrayLike | None = None, random_state: Any = None
) -> QuaPyQuantifier:
    """Use a quantifier of QuaPy in `evaluate`, `GridSearch` and wherever else one is taken.

    Shares are those that QuaPy returns, to the last bit. An aggregative method classifies a
    pool once, as QuaPy's own evaluation does. Grids have names such as
    ``{"method__classifier__C": [...]}``. In study specs, QuaPy's classes can be named
    directly, such as ``"quapy.method.aggregative:PACC"``.

    Parameters
    ----------
    method : quantifier of QuaPy
        Fitted or not. It is copied before it is fitted.
    classes : array-like of shape (K,), default=None
        Sorted classes, if the method is fitted already and is to be used as it is. Its
        training shares are not known then: ``prior_`` is NaN.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of numpy's global random state, which QuaPy uses. None leaves it alone.

    Returns
    -------
    QuaPyQuantifier
        To be fitted, unless `classes` are given.

    Examples
    --------
    >>> import headcount as hc
    >>> from quapy.method.aggregative import PACC  # doctest: +SKIP
    >>> q = hc.interop.from_quapy(PACC()).fit(X, y)  # doctest: +SKIP
    >>> hc.evaluate({"QuaPy": q, "ours": hc.PACC().fit(X, y)}, X_pool, y_pool, hc.UPP())
    ... # doctest: +SKIP
    """
    _import("quapy")
    quantifier = QuaPyQuantifier(method, random_state=random_state)
    aggregation: Any = quantifier._aggregation()
    if classes is None:
        return quantifier
    names = encode_labels(classes)[0]
    if names.tolist() != np.asarray(classes).tolist():
        raise HeadcountError(
            f"classes is {classes!r}; they must be sorted and distinct, as QuaPy orders them: "
            f"pass {names.tolist()}."
        )
    model = _QuaPyAggregation(method, aggregation.seed, len(names))
    prior = np.full(len(names), np.nan)
    source = quantifier._source(names)
    return quantifier._keep(quantifier._made(source, model, prior, None))


def to_quapy(quantifier: Quantifier) -> Any:
    """Use a quantifier of headcount as one of QuaPy, for its protocols and `GridSearchQ`.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted or not. ``fit`` of the result fits a clone.

    Returns
    -------
    quapy.method.base.BaseQuantifier
        With the parameter ``quantifier``, so that grids have names such as
        ``{"quantifier__bandwidth": [...]}``. Of a method with one classifier, it is an
        ``AggregativeQuantifier``: QuaPy classifies the items of a protocol once, and not those
        of each sample.

    Examples
    --------
    >>> import headcount as hc
    >>> import quapy as qp  # doctest: +SKIP
    >>> q = hc.interop.to_quapy(hc.KDEyML())  # doctest: +SKIP
    >>> qp.evaluation.evaluate(q.fit(X, y), protocol, "mae")  # doctest: +SKIP
    """
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be one of headcount, such as SLD()."
        )
    if is_simple(quantifier) and quantifier._takes() != "features":
        return _aggregative()(quantifier)
    return _for_quapy()(quantifier)


@cache
def _for_quapy() -> type:
    """Class of the results of `to_quapy`; it is made when QuaPy is there to inherit from."""
    base: Any = _import("quapy.method.base").BaseQuantifier

    class HeadcountQuantifier(base):
        """Quantifier of headcount for QuaPy."""

        def __init__(self, quantifier: Quantifier) -> None:
            self.quantifier = quantifier

        def fit(self, X: Any, y: ArrayLike) -> Self:
            """Fit a clone of the quantifier."""
            self.quantifier_ = clone(self.quantifier).fit(X, y)
            return self

        def predict(self, X: Any) -> Floats:
            """Shares of the classes among the items."""
            fitted = vars(self).get("quantifier_", self.quantifier)
            return np.asarray(fitted.predict(X))

        @property
        def classes_(self) -> Array:
            """The classes, in the order of the shares."""
            return np.asarray(vars(self).get("quantifier_", self.quantifier).classes_)

    HeadcountQuantifier.__qualname__ = "HeadcountQuantifier"
    return HeadcountQuantifier


@cache
def _aggregative() -> type:
    """Like `_for_quapy`, for methods with one classifier, whose scores can be kept."""
    base: Any = _import("quapy.method.aggregative").AggregativeQuantifier

    class HeadcountAggregative(_for_quapy(), base):  # type: ignore[misc]
        """Quantifier of headcount with one classifier, for QuaPy."""

        def classifier_fit_predict(self, X: Any, y: ArrayLike) -> tuple[Any, ArrayLike]:
            """The items themselves: the classifier is fitted with the rest."""
            return X, y

        def aggregation_fit(self, classif_predictions: Any, labels: ArrayLike) -> None:
            """Fit a clone of the quantifier to what `classifier_fit_predict` returns."""
            self.fit(classif_predictions, labels)

        def classify(self, X: Any) -> Array:
            """Scores or decisions for `aggregate`, those of each fold side by side."""
            fitted = self._fitted()
            items = np.asarray(fitted.source.items(X, by_folds=fitted.by_folds))
            n = count_rows(X)
            by_fold = items.reshape(len(items) // n, n, *items.shape[1:])
            return np.ascontiguousarray(np.moveaxis(by_fold, 0, 1))

        def aggregate(self, classif_predictions: Array) -> Floats:
            """Shares of the classes among items that were classified."""
            scores, n = np.asarray(classif_predictions), len(classif_predictions)
            items = np.moveaxis(scores, 1, 0).reshape(-1, *scores.shape[2:])
            samples = Samples.whole(n).over(len(items))
            solution = self._fitted().model.solve(np.ascontiguousarray(items), samples)
            return np.asarray(solution.prevalence[0])

        @property
        def classifier(self) -> Any:
            """The classifier, fitted once the quantifier is."""
            scorer = self._fitted().scorer if "quantifier_" in vars(self) else None
            return self.quantifier.classifier if scorer is None else scorer.classifier_

        def _fitted(self) -> Fitted:
            return vars(self).get("quantifier_", self.quantifier).fitted_

    HeadcountAggregative.__qualname__ = "HeadcountAggregative"
    return HeadcountAggregative


def __getattr__(name: str) -> Any:
    # For pickle, which finds a class by its name.
    if name == "HeadcountQuantifier":
        return _for_quapy()
    if name == "HeadcountAggregative":
        return _aggregative()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def to_labelled_collection(X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Any:
    """Items and labels as a `LabelledCollection` of QuaPy.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or list of texts
        Items.
    y : array-like of shape (n,)
        Labels.
    classes : array-like of shape (K,), default=None
        All classes, if some have no items.

    Returns
    -------
    quapy.data.LabelledCollection

    Examples
    --------
    >>> import headcount as hc
    >>> hc.interop.to_labelled_collection(X, y).prevalence()  # doctest: +SKIP
    """
    module = _import("quapy.data")
    names, codes = encode_labels(y, classes=classes)
    check_lengths("X", count_rows(X), codes)
    return module.LabelledCollection(X, names[codes], classes)


def from_labelled_collection(collection: Any) -> tuple[Any, Array]:
    """Items and labels of a `LabelledCollection` of QuaPy.

    Parameters
    ----------
    collection : quapy.data.LabelledCollection
        Labelled items.

    Returns
    -------
    tuple of array or sparse matrix, and ndarray of shape (n,)
        Items and labels, for ``quantifier.fit(*...)``.

    Examples
    --------
    >>> import headcount as hc
    >>> X, y = hc.interop.from_labelled_collection(collection)  # doctest: +SKIP
    """
    if not isinstance(collection, _import("quapy.data").LabelledCollection):
        raise HeadcountError(
            f"collection is of type {type(collection).__name__}; it must be a "
            "LabelledCollection of QuaPy."
        )
    return collection.instances, np.asarray(collection.labels)


class LabelledSamples(NamedTuple):
    """Pool and samples of a protocol of QuaPy, in the order that `evaluate` takes them.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        Items of the pool.
    y : ndarray of shape (n,) or None
        Labels of the pool; None if the protocol gives shares only.
    samples : Samples
        Samples as rows of the pool, with their true shares.
    """

    X: Any
    y: Array | None
    samples: Samples


def samples_from_quapy(protocol: Any) -> LabelledSamples:
    """Samples of a protocol of QuaPy, the same that QuaPy draws.

    A protocol on a `LabelledCollection` gives rows of it. The samples of any other protocol
    become a pool, one after the other.

    Parameters
    ----------
    protocol : protocol of QuaPy
        With the random state that QuaPy would use.

    Returns
    -------
    LabelledSamples
        For ``hc.evaluate(quantifiers, *hc.interop.samples_from_quapy(protocol))``.

    Examples
    --------
    >>> import headcount as hc
    >>> drawn = hc.interop.samples_from_quapy(qp.protocol.UPP(test))  # doctest: +SKIP
    >>> hc.evaluate(quantifiers, *drawn)  # doctest: +SKIP
    """
    module = _import("quapy.protocol")
    if not isinstance(protocol, module.AbstractProtocol):
        raise HeadcountError(
            f"protocol is {protocol!r}; it must be a protocol of QuaPy, such as "
            "quapy.protocol.UPP(collection)."
        )
    if isinstance(protocol, module.OnLabelledCollectionProtocol):
        collection = protocol.get_labelled_collection()
        indexed = copy(protocol)
        indexed.collator = protocol.get_collator("index")
        return _of_rows(collection, list(indexed()))
    if isinstance(protocol, module.ProtocolFromIndex):
        return _of_rows(protocol.data, list(protocol.indexes))
    return _of_items(list(protocol()))


def _of_rows(collection: Any, rows: list[Any]) -> LabelledSamples:
    X, y = from_labelled_collection(collection)
    classes, codes = encode_labels(y, classes=collection.classes_)
    samples = Samples.from_arrays(rows, n_pool=len(codes))
    shares = samples.prevalence_of(codes, len(classes))
    facts: dict[str, Any] = {"n_pool": len(codes), "prevalence": shares, "classes": classes}
    return LabelledSamples(X, y, Samples(samples.indices, samples.offsets, **facts))


def _of_items(drawn: list[Any]) -> LabelledSamples:
    if not drawn or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in drawn):
        raise HeadcountError(
            "protocol does not yield pairs of items and shares: make it with "
            "return_type='sample_prev'."
        )
    items = [pair[0] for pair in drawn]
    pool = sparse.vstack(items) if sparse.issparse(items[0]) else np.concatenate(items)
    offsets = np.cumsum([0, *(item.shape[0] for item in items)])
    n_pool = int(offsets[-1])
    shares = np.array([pair[1] for pair in drawn], dtype=np.float64)
    samples = Samples(np.arange(n_pool), offsets, n_pool=n_pool, prevalence=shares)
    return LabelledSamples(pool, None, samples)
