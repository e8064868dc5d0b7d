"""Checks of the state of models that were read from a file.

The audit of a file only names types. An array of an allowed type may still have indices that
compiled loops of scikit-learn and scipy would follow out of bounds. So every object of a file
must have one of the types below, and each type whose state such loops read has a check of it.
All other state is only used by numpy, which checks shapes and indices itself.

The state of quantifiers is not read at all: they are refitted (see `model_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from headcount.errors import HeadcountError

__all__ = ["check_state", "is_checked"]

_Check = Callable[[Any], bool]
# Kinds of arrays: booleans, numbers, texts, objects (which are checked) and nodes of trees.
_KINDS = "biufUOV"
_PLAIN = (str, bytes, bool, int, float, type(None), slice)


def check_state(part: Any) -> None:
    """Raise an error if an object, or one inside it, has a state that no fit can create.

    Parameters
    ----------
    part : object
        Object that was read from a file.
    """
    _check(part, set())


def is_checked(name: str) -> bool:
    """True if objects of a type with this name may have a state.

    Parameters
    ----------
    name : str
        Module and name of the type.
    """
    return name in _checked_names()


@cache
def _checked_names() -> frozenset[str]:
    return frozenset(f"{each.__module__}.{each.__qualname__}" for each in _checks())


def _check(part: Any, seen: set[int]) -> None:
    if isinstance(part, _PLAIN) or callable(part) or id(part) in seen:
        return
    seen.add(id(part))
    if not _is_sound(part):
        raise HeadcountError(f"An object of type {type(part).__name__} has an invalid state.")
    for inner in _parts(part):
        _check(inner, seen)


def _is_sound(part: Any) -> bool:
    if isinstance(part, np.dtype):
        return part.kind in _KINDS
    if isinstance(part, np.ndarray | np.generic):
        return part.dtype.kind in _KINDS
    if isinstance(part, list | tuple | dict | set | frozenset):
        return True
    check = _checks().get(type(part))
    if check is not None:
        return check(part)
    # Any other estimator may be a parameter, but must not be fitted.
    return isinstance(part, BaseEstimator) and vars(part).keys() <= part.get_params().keys()


def _parts(part: Any) -> Iterable[Any]:
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype == object else ()
    if isinstance(part, list | tuple | set | frozenset):
        return part
    if isinstance(part, dict):
        return [*part.keys(), *part.values()]
    return vars(part).values() if hasattr(part, "__dict__") else ()


@cache
def _checks() -> dict[type, _Check]:
    """Check by type, for all types with a state that a file may hold."""
    from scipy import sparse
    from sklearn import ensemble, preprocessing, tree
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.feature_extraction import text

    from headcount.data.column_kinds import Categories

    matrices = (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)
    return (
        dict.fromkeys((*_our_types(), *_preparations(), *_classifiers()), _anything)
        | dict.fromkeys(matrices, _is_valid_matrix)
        | {
            Categories: _has_positions,
            preprocessing.OneHotEncoder: _is_valid_encoder,
            text.CountVectorizer: _has_valid_vocabulary,
            text.TfidfVectorizer: _has_valid_vocabulary,
            tree.DecisionTreeClassifier: _is_valid_tree,
            ensemble.RandomForestClassifier: _is_valid_forest,
            ensemble.ExtraTreesClassifier: _is_valid_forest,
            tree.ExtraTreeClassifier: _is_valid_tree,
            # Checked together with the classifiers that they belong to.
            tree._tree.Tree: _anything,
            ensemble.HistGradientBoostingClassifier: _is_valid_boosting,
            TreePredictor: _anything,
            _BinMapper: _anything,
        }
    )


# Types whose arrays only numpy uses, which checks them itself.


def _our_types() -> tuple[type, ...]:
    from headcount.analysis.models import Labelled, ScoreModel, TableModel
    from headcount.analysis.score_columns import ScoreColumns
    from headcount.data.column_kinds import Column, DateParts, Flags, Texts
    from headcount.data.preparation import Preparation
    from headcount.scores import Scorer
    from headcount.scores.calibration import Scaling
    from headcount.scores.outputs import DecisionScaling

    return (
        TableModel, ScoreModel, ScoreColumns, Labelled, Preparation, Column,
        DateParts, Flags, Texts, Scorer, DecisionScaling, Scaling,
        np.random.RandomState, np.random.Generator,
    )  # fmt: skip


def _preparations() -> tuple[type, ...]:
    from sklearn import compose, frozen, impute, model_selection, pipeline, preprocessing
    from sklearn.feature_extraction import text
    from sklearn.utils import Bunch

    return (
        Bunch, pipeline.Pipeline, pipeline.FeatureUnion, compose.ColumnTransformer,
        frozen.FrozenEstimator, impute.SimpleImputer, impute.MissingIndicator,
        preprocessing.StandardScaler, preprocessing.MinMaxScaler,
        preprocessing.LabelBinarizer, preprocessing.LabelEncoder,
        text.TfidfTransformer, model_selection.PredefinedSplit,
    )  # fmt: skip


def _classifiers() -> tuple[type, ...]:
    from sklearn import discriminant_analysis, linear_model, naive_bayes, svm
    from sklearn._loss import _loss, link, loss

    return (
        linear_model.LogisticRegression, linear_model.LogisticRegressionCV,
        linear_model.RidgeClassifier, linear_model.SGDClassifier, linear_model.Perceptron,
        svm.LinearSVC, naive_bayes.GaussianNB, naive_bayes.MultinomialNB,
        naive_bayes.ComplementNB, naive_bayes.BernoulliNB,
        discriminant_analysis.LinearDiscriminantAnalysis,
        discriminant_analysis.QuadraticDiscriminantAnalysis,
        loss.HalfBinomialLoss, loss.HalfMultinomialLoss, _loss.CyHalfBinomialLoss,
        _loss.CyHalfMultinomialLoss, link.LogitLink, link.MultinomialLogit, link.Interval,
    )  # fmt: skip


def _anything(part: Any) -> bool:
    return True


def _is_valid_matrix(matrix: Any) -> bool:
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True


def _has_positions(categories: Any) -> bool:
    """Positions must be whole numbers, one table of them per column."""
    state = vars(categories)
    if "n_features_in_" not in state:
        return True
    columns = state.get("positions_")
    return (
        isinstance(columns, list)
        and len(columns) == state["n_features_in_"]
        and all(
            isinstance(each, dict) and sorted(each.values()) == list(range(len(each)))
            for each in columns
        )
    )


def _is_valid_encoder(encoder: Any) -> bool:
    """Categories must be sorted, and the columns of the output within its width."""
    state = vars(encoder)
    if "categories_" not in state:
        return True
    categories = state["categories_"]
    rare = state.get("_infrequent_indices") or [None] * len(categories)
    mappings = state.get("_default_to_infrequent_mappings") or [None] * len(categories)
    widths = state.get("_n_features_outs")
    if (
        state.get("_drop_idx_after_grouping") is not None
        or not isinstance(widths, list)
        or not len(categories) == len(rare) == len(mappings) == len(widths)
        or encoder.n_features_in_ != len(categories)
    ):
        return False
    return all(
        _is_valid_column(*column)
        for column in zip(categories, rare, mappings, widths, strict=True)
    )


def _is_valid_column(values: Any, rare: Any, mapping: Any, width: Any) -> bool:
    if not isinstance(values, np.ndarray) or values.ndim != 1 or not len(values):
        return False
    if values.dtype != object and not (values[1:] > values[:-1]).all():
        return False
    if (rare is None) != (mapping is None):
        return False
    if rare is None:
        return bool(width == len(values))
    return (
        _are_indices(rare, len(values))
        and len(rare) > 0
        and _are_indices(mapping, width)
        and len(mapping) == len(values)
    )


def _has_valid_vocabulary(vectorizer: Any) -> bool:
    words = vars(vectorizer).get("vocabulary_", {})
    return sorted(words.values()) == list(range(len(words)))


def _is_valid_forest(forest: Any) -> bool:
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    return all(
        type(each) in (DecisionTreeClassifier, ExtraTreeClassifier)
        and each.n_features_in_ == forest.n_features_in_
        and "tree_" in vars(each)
        for each in vars(forest).get("estimators_", [])
    )


def _is_valid_tree(classifier: Any) -> bool:
    """Children must follow their parents, and features be among those of training."""
    from sklearn.tree._tree import Tree

    fitted = vars(classifier).get("tree_")
    if fitted is None:
        return True
    if type(fitted) is not Tree or fitted.node_count != fitted.capacity or not fitted.capacity:
        return False
    nodes = fitted.__getstate__()["nodes"]
    return (
        fitted.n_features == classifier.n_features_in_
        and fitted.n_outputs == 1
        and _is_valid_structure(
            nodes["left_child"],
            nodes["right_child"],
            nodes["feature"],
            nodes["left_child"] == -1,
            fitted.n_features,
        )
    )


def _is_valid_boosting(classifier: Any) -> bool:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    state = vars(classifier)
    if "_predictors" not in state:
        return True
    n_features = classifier.n_features_in_
    numerical = (
        state["is_categorical_"] is None
        and state["_preprocessor"] is None
        and not state.get("_in_fit")
        and np.array_equal(state["_bin_mapper"].is_categorical_, np.zeros(n_features))
    )
    return numerical and all(
        type(tree) is TreePredictor
        and tree.nodes.dtype == PREDICTOR_RECORD_DTYPE
        and tree.nodes.ndim == 1
        and len(tree.nodes) > 0
        and tree.raw_left_cat_bitsets.dtype == np.uint32
        and not tree.nodes["is_categorical"].any()
        and _is_valid_structure(
            tree.nodes["left"].astype(np.int64),
            tree.nodes["right"].astype(np.int64),
            tree.nodes["feature_idx"],
            tree.nodes["is_leaf"] != 0,
            n_features,
        )
        for trees in state["_predictors"]
        for tree in trees
    )


def _is_valid_structure(
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    is_leaf: NDArray[np.bool_],
    n_features: int,
) -> bool:
    inner = ~is_leaf
    numbers = np.arange(len(left))[inner]
    return all(
        _are_indices(children[inner], len(left)) and bool((children[inner] > numbers).all())
        for children in (left, right)
    ) and _are_indices(feature[inner], n_features)


def _are_indices(values: Any, size: int) -> bool:
    """True if an array has positions in a sequence of a size."""
    return (
        isinstance(values, np.ndarray)
        and values.ndim == 1
        and values.dtype.kind in "iu"
        and bool(np.all((values >= 0) & (values < size)))
    )
