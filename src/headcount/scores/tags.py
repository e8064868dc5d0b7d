"""Scorers of several tags that share their folds, and the first steps of their pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from headcount._support.arrays import Array, Floats, Ints
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, as_narwhals, as_numbers, check_lengths, take_rows
from headcount.scores.folds import CrossFits, check_cv, make_tag_folds, output_of
from headcount.scores.scorer import Scorer

_Rows = NDArray[np.intp] | slice


def check_tags(y: Any) -> tuple[Array, Ints]:
    """Check indicators of tags, one column per tag."""
    frame = None if issparse(y) else as_narwhals(y, "y")
    try:
        values = as_numbers(y.toarray() if issparse(y) else y, "y")
    except HeadcountError as error:
        raise HeadcountError(
            "y must be a table of indicators with one column per tag, 1 for items with the tag "
            f"and 0 for others ({str(error)[:90]}): make one of lists of tags by "
            "scikit-learn's MultiLabelBinarizer."
        ) from None
    if values.ndim != 2 or 0 in values.shape:
        raise HeadcountError(
            f"y has the shape {values.shape}, but must be a table with one row per item and "
            "one column per tag: for one label per item, use the quantifier without MultiLabel."
        )
    named = frame is not None and values.ndim == 2
    tags = np.asarray(frame.columns) if named else np.arange(values.shape[1])  # type: ignore[union-attr]
    strange = (values != 0) & (values != 1)
    if strange.any():
        row, column = (int(positions[0]) for positions in np.nonzero(strange))
        raise HeadcountError(
            f"y has the value {values[row, column]} for the tag {tags.tolist()[column]!r} in "
            f"row {row}: indicators are 1 or 0, none of them missing."
        )
    counts = values.sum(axis=0)
    few = np.flatnonzero(np.minimum(counts, len(values) - counts) < 2)
    if len(few):
        name, count = tags.tolist()[few[0]], int(counts[few[0]])
        more = "" if len(few) == 1 else f" (and {len(few) - 1:,} more tags are like this)"
        raise HeadcountError(
            f"{count:,} of {len(values):,} items have the tag {name!r}{more}: a tag needs at "
            "least two items with it and two without, so drop it or label more."
        )
    return tags, values.astype(np.int64)


class TagScorer:
    """One scorer per tag, all with the same folds, on shared preprocessing.

    The first steps of a pipeline that need no labels, such as tf-idf, are fitted and applied
    once on all items and once per fold, not once per tag. They are fitted without labels, so a
    step must not use them if its ``fit`` does without.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def fit(
        self,
        X: Any,
        indicators: Ints,
        tags: Sequence[Any],
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        out_of_fold: bool = True,
    ) -> Self:
        """Fit the classifiers of all tags and score the training items."""
        scorer = self.scorer
        if isinstance(scorer.classifier, FrozenEstimator):
            raise HeadcountError(
                "classifier is frozen, but every tag needs a classifier of its own: pass an "
                "unfitted one, or a list with hc.Scored(posteriors) of each tag as X."
            )
        folds: Any = scorer.cv
        if out_of_fold:
            check_cv(folds)
            item_groups = None if groups is None else np.asarray(groups)
            if item_groups is not None:
                check_lengths("groups", len(item_groups), indicators[:, 0])
            folds = make_tag_folds(folds, X, indicators, tags, scorer.random_state, item_groups)
        self.n_shared_ = _n_shared(scorer.classifier)
        steps = _FirstSteps(scorer.classifier[: self.n_shared_]) if self.n_shared_ else None
        self.each_ = []
        for column in indicators.T:
            tag_scorer = Scorer() if steps is None else _SharingScorer()
            tag_scorer.set_params(**scorer.get_params(deep=False) | {"cv": folds})
            if isinstance(tag_scorer, _SharingScorer):
                tag_scorer.first_steps = steps
            tag_scorer.fit(X, column, sample_weight, out_of_fold=out_of_fold)
            if isinstance(tag_scorer, _SharingScorer):
                tag_scorer.first_steps = None
            self.each_.append(tag_scorer)
        return self

    @property
    def scores_items(self) -> bool:
        """True if the classifiers have posteriors, or decision values to make them of."""
        return all(output_of(tag_scorer.classifier_) != "labels" for tag_scorer in self.each_)

    def score(self, X: Any, *, predictions: bool = False) -> list[Scored]:
        """Score items in every way that quantifiers may need."""
        items = X
        if self.n_shared_:
            items = _Transformed(self.each_[0].check_items(X), self.n_shared_)
        return [tag_scorer.score(items, predictions=predictions) for tag_scorer in self.each_]


class _Transformed:
    """Items, and what the first steps of pipelines make of them: computed once per pipeline."""

    def __init__(self, X: Any, n_steps: int) -> None:
        self.X = X
        self.n_steps = n_steps
        self._made: dict[tuple[int, ...], tuple[Any, Any]] = {}

    def by(self, model: Pipeline) -> tuple[Pipeline, Any]:
        """Remaining steps of a fitted pipeline, and the items that they take."""
        first = model.steps[: self.n_steps]
        key = tuple(id(step) for _, step in first)
        if key not in self._made:
            # The steps are kept, so that no other object can come to have their identity.
            self._made[key] = first, Pipeline(first).transform(self.X)
        return model[self.n_steps :], self._made[key][1]


class _FirstSteps:
    """First steps of a pipeline, fitted once for each set of training items."""

    def __init__(self, steps: Pipeline) -> None:
        self.steps = steps
        self._fitted: dict[bytes, tuple[Pipeline, Any]] = {}
        self._held_out: dict[bytes, _Transformed] = {}

    def fitted(self, X: Any, rows: _Rows) -> tuple[Pipeline, Any]:
        """Steps fitted on some rows, and these rows transformed."""
        key = b"" if isinstance(rows, slice) else rows.tobytes()
        if key not in self._fitted:
            steps = clone(self.steps)
            items = X if isinstance(rows, slice) else take_rows(X, rows)
            self._fitted[key] = steps, steps.fit_transform(items)
        return self._fitted[key]

    def held_out(self, X: Any, rows: _Rows) -> _Transformed:
        """Rows that the pipeline of a fold scores."""
        key = b"" if isinstance(rows, slice) else rows.tobytes()
        if key not in self._held_out:
            items = X if isinstance(rows, slice) else take_rows(X, rows)
            self._held_out[key] = _Transformed(items, len(self.steps))
        return self._held_out[key]


class _SharingFits(CrossFits):
    """Copies of a pipeline whose first steps are fitted once for all tags."""

    first_steps: _FirstSteps

    @classmethod
    def of(cls, fits: CrossFits, first_steps: _FirstSteps) -> _SharingFits:
        sharing = cls.__new__(cls)
        sharing.__dict__.update(fits.__dict__)
        sharing.first_steps = first_steps
        return sharing

    def _fit_clone(self, rows: _Rows = slice(None)) -> Any:
        first, items = self.first_steps.fitted(self.X, rows)
        last = self._fit_on(self.classifier[len(first) :], items, rows)
        return Pipeline([*first.steps, *last.steps])


class _SharingScorer(Scorer):
    """Scorer of one tag whose pipelines have their first steps from other tags' pipelines."""

    # Set while it is fitted.
    first_steps: _FirstSteps | None = None

    def _cross_fits(self, classifier: Any, X: Any) -> CrossFits:
        fits = super()._cross_fits(classifier, X)
        if self.first_steps is None:
            return fits
        return _SharingFits.of(fits, self.first_steps)

    def _held_out(self, X: Any, rows: _Rows) -> Any:
        if self.first_steps is None:
            return super()._held_out(X, rows)
        return self.first_steps.held_out(X, rows)

    def _last_step(self, model: Any, X: Any) -> tuple[Any, Any]:
        return super()._last_step(*X.by(model) if isinstance(X, _Transformed) else (model, X))

    def _score(self, model: Any, X: Any) -> Floats:
        return super()._score(*X.by(model) if isinstance(X, _Transformed) else (model, X))

    def _predict(self, model: Any, X: Any) -> Ints:
        return super()._predict(*X.by(model) if isinstance(X, _Transformed) else (model, X))

    def check_items(self, X: Any) -> Any:
        """Items, if they have the columns of the training items."""
        return X if isinstance(X, _Transformed) else super().check_items(X)


def _n_shared(classifier: Any) -> int:
    """Number of first steps of a pipeline that do not depend on the labels."""
    # With metadata routing, steps may take sample weights.
    routed = get_config()["enable_metadata_routing"]
    if not isinstance(classifier, Pipeline) or routed or classifier.transform_input:
        return 0
    steps = [step for _, step in classifier.steps[:-1]]
    return next((i for i, step in enumerate(steps) if _needs_labels(step)), len(steps))


def _needs_labels(step: Any) -> bool:
    """True if a step of a pipeline may learn from labels."""
    if step is None or isinstance(step, str):
        return False
    if isinstance(step, Pipeline):
        return any(_needs_labels(substep) for _, substep in step.steps)
    if isinstance(step, ColumnTransformer):
        return any(_needs_labels(substep) for _, substep, _ in step.transformers)
    if isinstance(step, FeatureUnion):
        return any(_needs_labels(substep) for _, substep in step.transformer_list)
    if isinstance(step, SelectorMixin):
        return not isinstance(step, VarianceThreshold)
    parameter = signature(step.fit).parameters.get("y")
    required = parameter is not None and parameter.default is Parameter.empty
    return required or bool(get_tags(step).target_tags.required)
