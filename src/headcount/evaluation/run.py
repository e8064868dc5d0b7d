"""Evaluation of quantifiers on samples whose true shares are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import track
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError, warn
from headcount.evaluation.evaluation import Evaluation, parameters_of
from headcount.evaluation.fitting import fit_together, is_pipeline
from headcount.evaluation.measures import (
    Measure,
    Metrics,
    check_measures,
    errors_by_metric,
    errors_of_methods,
    given_shares,
    interval_errors,
    naming_method,
)
from headcount.items.arrays import (
    Scored,
    Verdicts,
    check_features,
    check_lengths,
    count_rows,
    encode_labels,
    take_rows,
)
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import draw_samples
from headcount.samples.samples import Samples, as_samples
from headcount.scores.scorer import ScoredPool
from headcount.shift.experiments import ShiftedSamples

# Indices of samples held at a time: 64 MB.
_BATCH_ITEMS = 1 << 24


def evaluate(
    quantifiers: Any,
    X: Any,
    y: ArrayLike | None,
    samples: Any,
    *,
    metrics: Metrics = ("ae", "rae"),
    on_error: str = "raise",
    progress: bool | None = None,
) -> Evaluation:
    """Estimate samples of a labelled pool by quantifiers, and measure the errors.

    The pool is scored once by each distinct classifier, however many quantifiers use it.

    Parameters
    ----------
    quantifiers : quantifier, mapping of str to quantifier, or sequence of quantifiers
        Fitted, all on the same classes. A sequence is named by the classes of its members.
        Anything with ``predict_many(X, samples)`` and ``classes_`` will do, and pipelines of
        scikit-learn that end in a quantifier.
    X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
        The pool, of items that no quantifier was fitted on.
    y : array-like of shape (n,) or None
        Labels of the pool. None takes the true shares from ``samples.prevalence``, for
        samples whose items nobody has labelled one by one.
    samples : protocol, Samples, iterable of index arrays, or ShiftedSamples
        The samples. Those of a protocol are drawn in batches, never all in memory. With
        `ShiftedSamples`, copies of the quantifiers, which need not be fitted, are fitted on
        every training set, and estimate its test samples. `y` is then not used.
    metrics : str, callable, sequence of these, or mapping of str to these
        Names from `headcount.metrics` ("mae" and the like too), or functions ``(p, p_hat)``
        that return one number per sample. Those that smooth do so with 1 / (2 n), n being the
        sample's own size. For relative errors ("rae", "nrae") and "se", methods with draws of
        the shares give the best shares for them, and `SLD` and `KDEyML`, which stop early, go
        on for relative errors. "winkler" measures the intervals of level 0.95 of
        `estimate_many`, which takes longer.
    on_error : {"raise", "leave out"}, default="raise"
        Action if a method fails on some samples: raise an error, or leave the method out,
        with a warning. The reasons are in ``failures``.
    progress : bool, default=None
        Show a progress bar; by default only on a terminal.

    Returns
    -------
    Evaluation
        Prints as a table; has ``to_frame``, ``summary``, ``compare`` and plots.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(2000, flip_y=0.1, random_state=0)
    >>> scorer = hc.Scorer(random_state=0).fit(X[:500], y[:500])
    >>> quantifiers = {"count": hc.CC().fit_scorer(scorer), "SLD": hc.SLD().fit_scorer(scorer)}
    >>> protocol = hc.UPP(n_samples=100, size=100, random_state=0)
    >>> hc.evaluate(quantifiers, X[500:], y[500:], protocol, metrics=["ae", "nkld"])
    Evaluation: 2 methods, 100 samples of 100 items, 2 classes
    method       ae     nkld
    ------  -------  -------
    SLD     0.0206*  0.0015*
    count   0.0366   0.0039

    A pool that was scored elsewhere:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.beta(0.3, 0.3, 2000)
    >>> y = rng.random(2000) < scores
    >>> quantifier = hc.SLD().fit(hc.Scored(scores[:500]), y[:500])
    >>> hc.evaluate(quantifier, hc.Scored(scores[500:]), y[500:], protocol, metrics="ae")
    Evaluation: 1 method, 100 samples of 100 items, 2 classes
    method       ae
    ------  -------
    SLD     0.0328*
    """
    measures = check_measures(metrics, intervals=True)
    check_choice("on_error", on_error, ("raise", "leave out"))
    shifted = isinstance(samples, ShiftedSamples)
    methods = _named(quantifiers, fitted=not shifted)
    collected = _Collected(methods, measures, stop=on_error == "raise")
    if shifted:
        _collect_shifted(collected, X, samples, progress)
        return collected.assembled(samples.classes)
    classes = _common_classes(methods)
    pool = X if isinstance(X, ScoredPool | Scored | Verdicts) else ScoredPool(X)
    # Quantifiers of other packages do not accept a ScoredPool.
    items = pool.X if isinstance(pool, ScoredPool) else pool
    n_pool = _n_items(items)
    codes = None if y is None else encode_labels(y, classes=classes)[1]
    if codes is not None:
        check_lengths("X", n_pool, codes)

    priors = {name: _prior(quantifier, len(classes)) for name, quantifier in methods.items()}
    with_items = {
        name: _with_items(quantifier, pool, items) for name, quantifier in methods.items()
    }
    for batch in _batches(samples, y, classes, n_pool):
        true = (
            given_shares(batch, classes)
            if codes is None
            else batch.prevalence_of(codes, len(classes))
        )
        estimates: dict[str, Floats] = {}
        working = collected.working()
        for name in track(working, len(working), "Evaluating", show=progress):
            with collected.attempt(name):
                estimates[name] = collected.estimated(name, *with_items[name], batch, true)
        collected.add(batch.sizes, true, estimates, priors)
    return collected.assembled(classes)


class _Collected:
    """Results of methods on one part of the samples after the other."""

    def __init__(
        self, methods: Mapping[str, Any], measures: Sequence[Measure], *, stop: bool
    ) -> None:
        self._methods, self._measures, self._stop = methods, measures, stop
        self.seconds = dict.fromkeys(methods, 0.0)
        self.failures: dict[str, str] = {}
        self.sizes: list[Ints] = []
        self.true: list[Floats] = []
        self.shares: list[Mapping[str, Floats]] = []
        self.priors: list[Mapping[str, Floats]] = []
        self._measured: dict[tuple[str, str], list[Floats]] = {}

    def working(self) -> dict[str, Any]:
        """Methods that have not failed."""
        return {
            name: method for name, method in self._methods.items() if name not in self.failures
        }

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Measure the time of a method and record a failure, unless it is to be raised."""
        start = perf_counter()
        try:
            yield
        except HeadcountError as error:
            if self._stop:
                raise
            self.failures[name] = str(error)
        finally:
            self.seconds[name] += perf_counter() - start

    def add(
        self,
        sizes: Ints,
        true: Floats,
        estimated: Mapping[str, Floats],
        priors: Mapping[str, Floats],
    ) -> None:
        """Keep the results of a part."""
        self.sizes.append(sizes)
        self.true.append(true)
        self.shares.append(estimated)
        self.priors.append(priors)

    def estimated(
        self, name: str, quantifier: Any, items: Any, samples: Samples, true: Floats
    ) -> Floats:
        """Shares of samples by a method; errors that these do not determine are kept."""
        with naming_method(name):
            shares = np.asarray(quantifier.predict_many(items, samples), dtype=np.float64)
            if shares.shape != true.shape:
                raise HeadcountError(
                    f"predict_many gave an array of shape {shares.shape} for {len(samples):,} "
                    f"samples and {true.shape[1]} classes: it must have one row per sample "
                    "and one column per class."
                )
            of_intervals = [measure.name for measure in self._measures if measure.of_intervals]
            measured = interval_errors(quantifier, items, samples, true, of_intervals)
            measured |= errors_by_metric(quantifier, items, samples, true, self._measures)
        for metric, values in measured.items():
            self._measured.setdefault((metric, name), []).append(values)
        return shares

    def errors(
        self,
        names: Sequence[str],
        measure: Measure,
        true: Floats,
        estimated: Floats,
        sizes: Ints,
    ) -> Floats:
        """Errors by a metric, one row per method: as measured, or of the shares."""
        rows = {
            name: np.concatenate(self._measured[measure.name, name])
            for name in names
            if (measure.name, name) in self._measured
        }
        remaining = [i for i, name in enumerate(names) if name not in rows]
        if remaining:
            unmeasured = [names[i] for i in remaining]
            errors = errors_of_methods(unmeasured, measure, true, estimated[remaining], sizes)
            rows |= dict(zip(unmeasured, errors, strict=True))
        return np.stack([rows[name] for name in names])

    def priors_of(self, names: Sequence[str]) -> Floats:
        """Training shares of methods: of all samples, or of each if they differ."""
        tables = [np.stack([priors[name] for name in names]) for priors in self.priors]
        if all(np.array_equal(table, tables[0], equal_nan=True) for table in tables):
            return tables[0]
        counts = [len(sizes) for sizes in self.sizes]
        pairs = zip(tables, counts, strict=True)
        return np.concatenate([np.repeat(p[:, None], n, axis=1) for p, n in pairs], axis=1)

    def assembled(self, classes: Array) -> Evaluation:
        """All results as an evaluation."""
        names, failures = list(self.working()), self.failures
        if not names:
            raise HeadcountError(
                "no method could be evaluated. The first reason: "
                + next(iter(failures.values()))
            )
        if failures:
            warn(
                f"left out, as they failed: {', '.join(failures)}; see `failures` for the "
                "reasons."
            )
        by_method = [
            np.concatenate([estimates[name] for estimates in self.shares]) for name in names
        ]
        shares = np.concatenate(self.true), np.stack(by_method), np.concatenate(self.sizes)
        return Evaluation(
            tuple(names),
            classes,
            *shares,
            self.priors_of(names),
            {measure.name: self.errors(names, measure, *shares) for measure in self._measures},
            np.array([self.seconds[name] for name in names]),
            {name: parameters_of(self._methods[name]) for name in names},
            failures,
        )


def _collect_shifted(
    collected: _Collected, X: Any, shifted: ShiftedSamples, progress: bool | None
) -> None:
    """Fit the methods on every training set, and estimate its test samples."""
    X = X.X if isinstance(X, ScoredPool) else X
    classified = isinstance(X, Scored | Verdicts)
    if not classified:
        X = check_features(X, allow_nan=True, any_shape=True)
    if count_rows(X) != shifted.n_pool:
        raise HeadcountError(
            f"X has {count_rows(X):,} rows, but samples were drawn from {shifted.n_pool:,}: "
            "pass the pool that they were drawn from."
        )
    rows, n_classes = shifted.test_items, len(shifted.classes)
    items = X.take(rows) if classified else take_rows(X, rows)
    for experiment in track(shifted, len(shifted), "Training sets", show=progress):
        train, labels = experiment.train[0], experiment.train_labels
        test = experiment.test.within(rows)
        assert test.prevalence is not None
        pool = items if classified else ScoredPool(items)
        train_items = X.take(train) if classified else take_rows(X, train)
        estimates: dict[str, Floats] = {}
        priors: dict[str, Floats] = {}
        for name, fitted in fit_together(collected.working(), train_items, labels):
            collected.seconds[name] += fitted.seconds
            with collected.attempt(name):
                with naming_method(name):
                    if fitted.error is not None:
                        raise fitted.error
                    _check_classes(fitted.quantifier, shifted.classes)
                own_items = _with_items(fitted.quantifier, pool, items)
                estimates[name] = collected.estimated(name, *own_items, test, test.prevalence)
                priors[name] = _prior(fitted.quantifier, n_classes)
        collected.add(test.sizes, test.prevalence, estimates, priors)


def _check_classes(quantifier: Any, classes: Array) -> None:
    theirs = np.asarray(quantifier.classes_).tolist()
    if theirs != classes.tolist():
        raise HeadcountError(
            f"it has the classes {theirs}, but the samples have {classes.tolist()}: draw "
            "larger training sets."
        )


def _with_items(quantifier: Any, pool: Any, items: Any) -> tuple[Any, Any]:
    """Quantifier and the form of the items that it takes; the last step of a pipeline."""
    if isinstance(quantifier, Pipeline):
        transformed = quantifier[:-1].transform(items) if len(quantifier) > 1 else items
        return quantifier[-1], transformed
    return quantifier, pool if isinstance(quantifier, Quantifier) else items


def _named(quantifiers: Any, *, fitted: bool = True) -> dict[str, Any]:
    """Quantifiers by name, which are refused if they should be fitted and are not."""
    if isinstance(quantifiers, Mapping):
        named = dict(quantifiers)
    elif hasattr(quantifiers, "predict_many") or isinstance(quantifiers, Pipeline):
        named = {_class_name(quantifiers): quantifiers}
    elif isinstance(quantifiers, Iterable) and not isinstance(quantifiers, str):
        named = {}
        for quantifier in quantifiers:
            named[_unused(_class_name(quantifier), named)] = quantifier
    else:
        named = {"": quantifiers}
    if not named:
        raise HeadcountError("quantifiers is empty: pass at least one.")
    for name, quantifier in named.items():
        _check_method(name, quantifier, fitted)
    return named


def _class_name(quantifier: Any) -> str:
    return type(quantifier[-1] if isinstance(quantifier, Pipeline) else quantifier).__name__


def _unused(name: str, used_names: Mapping[str, Any]) -> str:
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(candidate for candidate in names if candidate not in used_names)


def _check_method(name: Any, quantifier: Any, fitted: bool) -> None:
    if not isinstance(name, str):
        raise HeadcountError(
            f"quantifiers has the name {name!r}; names must be strings: pass a dict such as "
            "{'SLD': quantifier}."
        )
    predicts = hasattr(quantifier, "predict_many") or is_pipeline(quantifier)
    if isinstance(quantifier, type) or not predicts:
        raise HeadcountError(
            f"quantifiers has {quantifier!r}, which is not a quantifier: pass fitted ones, "
            "such as SLD().fit(X, y)."
        )
    if fitted and not hasattr(quantifier, "classes_"):
        raise HeadcountError(
            f"method {name!r} is not fitted: call its fit first, on items that are not in "
            "the pool."
        )


def _common_classes(methods: Mapping[str, Any]) -> Array:
    """The classes of all methods, which must agree."""
    first, *remaining = methods.items()
    classes = np.array(first[1].classes_)
    for name, quantifier in remaining:
        theirs = np.asarray(quantifier.classes_).tolist()
        if theirs != classes.tolist():
            raise HeadcountError(
                f"method {name!r} has the classes {theirs}, but {first[0]!r} has "
                f"{classes.tolist()}: evaluate only methods with the same classes, in the "
                "same order, together."
            )
    return classes


def _prior(quantifier: Any, n_classes: int) -> Floats:
    last = quantifier[-1] if isinstance(quantifier, Pipeline) else quantifier
    prior = getattr(last, "prior_", None)
    return np.full(n_classes, np.nan) if prior is None else np.asarray(prior, np.float64)


def _n_items(items: Any) -> int:
    try:
        return count_rows(items)
    except TypeError:
        raise HeadcountError(
            f"X is of type {type(items).__name__}, which has no rows: pass a table with one "
            "row per item."
        ) from None


def _batches(
    samples: Any, y: ArrayLike | None, classes: Array, n_pool: int
) -> Iterable[Samples]:
    if isinstance(samples, type) or not hasattr(samples, "draw"):
        return [as_samples(samples, n_pool)]
    if y is None:
        raise HeadcountError(
            "y is None, but a protocol needs the labels of the pool to draw from it: pass y, "
            "or Samples that have a prevalence."
        )
    if not hasattr(samples, "batches"):  # not one of ours
        return [draw_samples(samples, y, classes)]
    sizes = np.asarray(samples.size)
    # The protocol checks its sizes when it draws.
    largest = int(sizes.max()) if sizes.dtype.kind == "i" and sizes.size else 1
    return samples.batches(y, max(1, _BATCH_ITEMS // max(1, largest)), classes=classes)
