"""Shares of classes in samples, estimated by a quantifier on the outputs of a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.accuracy.fitted import Floats
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
from headcount.errors import HeadcountError
from headcount.items.inputs import Scored, Verdicts
from headcount.parts.embedding import Binned, Embedding
from headcount.parts.training import CellsOf, MeanOf, Reduced, Reduction, Training
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.samples.samples import Samples


def check_quantifier(quantifier: Any, default: Quantifier) -> Quantifier:
    """Check the parameter ``quantifier``; None is the default."""
    quantifier = default if quantifier is None else quantifier
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a quantifier of this library, such as "
            "SLD() or KDEyML()."
        )
    return quantifier


@dataclass(frozen=True, eq=False)
class FittedQuantifier:
    """Quantifier for samples of any pool, or of its own training items if these are given.

    ``model`` is its cross-fitted model; None for the one that ``predict`` uses.
    """

    quantifier: Quantifier
    model: Any = None
    training: Training | None = None

    def cross_fitted(self) -> tuple[FittedQuantifier, FittedQuantifier]:
        """Quantifiers for new items and for the training items, with equal behaviour."""
        fitted = self.quantifier.fitted_
        training = fitted.training
        if training is None or training.items is None:
            return self, self  # its classifier was not trained on these items
        of_new = FittedQuantifier(self.quantifier, fitted.model.cross_fitted(training))
        return of_new, replace(of_new, training=training)

    def shares(self, X: Any, samples: Samples) -> Floats:
        """Shares of the classes of the quantifier in samples of a pool."""
        shares: Floats
        if self.training is not None:
            n_pool = len(self.training.codes)
            if samples.n_pool != n_pool:
                samples = Samples(samples.indices, samples.offsets, n_pool=n_pool)
            shares = self.model.solve_training(self.training, samples).prevalence
        elif self.model is None:
            shares = self.quantifier.predict_many(X, samples)
        else:
            fitted = self.quantifier.fitted_
            by_folds, reduced = fitted.source.has_folds, fitted.reduce(X, samples)
            shares = fitted.answer(reduced, self.model, by_folds=by_folds).prevalence
        return self.checked(shares)

    @property
    def answering_model(self) -> Any:
        """Model that answers."""
        return self.quantifier.fitted_.model if self.model is None else self.model

    def checked(self, shares: Floats) -> Floats:
        """Shares, if there is one answer."""
        if shares.shape[1] != len(self.quantifier.classes_):
            raise HeadcountError(
                f"quantifier is {type(self.quantifier).__name__}, which combines the answers "
                "of several quantifiers, and estimates with intervals need one answer: use "
                "predict, or a single quantifier such as SLD() or KDEyML()."
            )
        return shares


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Shares of all classes in samples; 0 for classes that the reference has no items of.

    The quantifier is None if there is a single class. It was fitted on "posteriors", "labels"
    or "items", as ``form`` says.
    """

    quantifier: FittedQuantifier | None
    present: NDArray[np.int64]
    n_classes: int
    form: str

    def of(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Shares of the classes in each sample, one row per sample."""
        shares = np.zeros((len(samples), self.n_classes))
        if self.quantifier is None:
            shares[:, self.present] = 1.0
        else:
            X = _items(pool, self.present, self.form, self.quantifier.quantifier)
            shares[:, self.present] = self.quantifier.shares(X, samples)
        return shares

    def reduction(self) -> tuple[Reduction, ...] | None:
        """Means over outputs that determine the shares; None if the outputs are needed."""
        if self.quantifier is None:
            return ()
        reductions = self.quantifier.answering_model.reduction()
        if reductions is None or self.form == "items":
            return None
        takes = self.quantifier.quantifier.fitted_.takes
        return tuple(
            _of_outputs(reduction, self.present, self.form, takes) for reduction in reductions
        )

    def of_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        """Shares of the classes in samples given by the values of each `reduction`."""
        shares = np.zeros((len(sizes), self.n_classes))
        if self.quantifier is None:
            shares[:, self.present] = 1.0
        else:
            solution = self.quantifier.answering_model.solve_reduced(reduced, sizes)
            shares[:, self.present] = self.quantifier.checked(solution.prevalence)
        return shares

    def cross_fitted(self) -> tuple[ClassShares, ClassShares]:
        """Shares in samples of new items and of the reference, with equal behaviour."""
        if self.quantifier is None:
            return self, self
        of_new, of_reference = self.quantifier.cross_fitted()
        return replace(self, quantifier=of_new), replace(self, quantifier=of_reference)


@dataclass(frozen=True)
class PredictedLabels:
    """Predicted class of each item, given by its outputs."""

    n_classes: int

    def embed(self, items: ModelOutputs) -> Binned:
        """Embed outputs."""
        return Binned(items.labels.astype(np.int32)[:, None], self.n_classes)


@dataclass(frozen=True, eq=False)
class _OfOutputs:
    """Representation or likelihood of a quantifier, applied to outputs of a classifier."""

    inner: Any
    present: NDArray[np.int64]
    form: str
    takes: str

    def embed(self, items: ModelOutputs) -> Embedding:
        embedding: Embedding = self.inner.embed(self._items(items))
        return embedding

    def ratios(self, items: Any) -> Floats:
        scores = self._items(items)
        return np.asarray(scores if self.inner is None else self.inner.ratios(scores))

    def _items(self, outputs: ModelOutputs) -> Any:
        items, classes = _items(outputs, self.present, self.form), np.arange(len(self.present))
        if self.takes == "posteriors":
            return items.posteriors_of(classes)
        return items.codes_of(classes)


def _of_outputs(
    reduction: Reduction, present: NDArray[np.int64], form: str, takes: str
) -> Reduction:
    """Reduction of a quantifier, applied to outputs of a classifier."""
    if isinstance(reduction, MeanOf):
        return MeanOf(_OfOutputs(reduction.representation, present, form, takes))
    before = _OfOutputs(reduction.before, present, form, takes)
    return CellsOf(reduction.n_classes, before)


def fit_class_shares(quantifier: Quantifier, reference: Reference) -> ClassShares:
    """Fit a copy of a quantifier on the outputs of a classifier, which are held out.

    One that works on the features, or trains several classifiers, is fitted on the items.
    """
    reference.warn_of_absent_classes()
    present, outputs = reference.present, reference.outputs
    form = "items"
    if ScoringPlan(quantifier).takes in ("posteriors", "labels"):
        form = "labels" if outputs.scores is None else "posteriors"
    fitted = None
    if len(present) > 1:
        X = _items(outputs, present, form, quantifier)
        labels = np.searchsorted(present, reference.codes)
        fitted = FittedQuantifier(clone(quantifier).fit(X, labels))
    return ClassShares(fitted, present, reference.n_classes, form)


def _items(
    outputs: ModelOutputs,
    present: NDArray[np.int64],
    form: str,
    quantifier: Quantifier | None = None,
) -> Any:
    """Items in the form that a quantifier of the present classes takes."""
    if form == "items":
        if outputs.X is None:
            raise HeadcountError(
                f"quantifier is {type(quantifier).__name__}, which works on the items "
                "themselves, but only the outputs of the classifier were given: pass the "
                "items, or choose a quantifier of scores such as KDEyML()."
            )
        return outputs.X
    if form == "posteriors" and outputs.scores is not None:
        return Scored(among(outputs.scores, present))
    codes = np.searchsorted(present, outputs.labels)
    is_present = present[np.minimum(codes, len(present) - 1)] == outputs.labels
    if not is_present.all():
        raise HeadcountError(
            "Verdicts has decisions for a class that the labelled items have none of: add "
            "labelled items of it, or pass posteriors as hc.Scored(posteriors)."
        )
    return Verdicts(codes)
