"""Kinds of input that a classifier takes."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

__all__ = ["allows_nan", "weight_parameter"]


def allows_nan(estimator: Any) -> bool:
    """Tell whether the estimator takes missing numbers; no if it does not say.

    A pipeline is as good as its first step; of transformers side by side one is enough, as
    the others may see other columns; a wrapper is as good as the estimator inside.
    """
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if _is_estimator(step)]
        return bool(steps) and allows_nan(steps[0])
    if isinstance(estimator, ColumnTransformer):
        return any(allows_nan(part) for _, part, _ in estimator.transformers)
    if isinstance(estimator, FeatureUnion):
        return any(allows_nan(part) for _, part in estimator.transformer_list)
    inner = getattr(estimator, "estimator", None)
    if _is_estimator(inner):
        return allows_nan(inner)
    try:
        tags = get_tags(estimator)
        return bool(tags.input_tags.allow_nan or tags.no_validation)
    except (AttributeError, TypeError):
        return False


def weight_parameter(estimator: Any) -> str | None:
    """Name the parameter of ``fit`` that takes the sample weights, if there is one."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return f"{name}__{inner}" if inner else None
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        # They hand what they do not know to the estimator they tune.
        return weight_parameter(estimator.estimator)
    return None


def _is_estimator(candidate: Any) -> bool:
    return hasattr(candidate, "fit") and not isinstance(candidate, type)
