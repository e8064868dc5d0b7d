"""Files of fitted models, which cannot run code when they are read.

The format is that of skops: a zip archive of JSON and arrays. Unlike a pickle it names the
types of its objects, and only those allowed here are created: classes of scikit-learn and
numpy that skops trusts or that are listed below, the estimators of headcount, and the methods
of other packages that are installed.

A file holds fitted classifiers, the training items in the form that the quantifier takes, and
the quantifier *without* what it has learnt: it is refitted when the file is read, so that
its state cannot be wrong. Of a network it holds the weights, whose names and shapes must be
those of its parameters. The zip format has a checksum of every part, which detects accidental
damage.

The audit of a file only names types. An array of an allowed type may still have indices that
compiled loops of scikit-learn and scipy would follow out of bounds. So every object of a file
must have one of the types below, and each type whose state such loops read has a check of it.
All other state is only used by numpy, which checks shapes and indices itself.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from sklearn.base import BaseEstimator, clone

from headcount._support.arrays import Array, Bools
from headcount._support.files import write_bytes
from headcount.errors import HeadcountError, HeadcountWarning, MissingPackageError, warn
from headcount.quantifiers.registry import installed_methods
from headcount.scores.scorer import Scorer
from headcount.tables.models import ModelItems, ScoreModel, TableModel

_KIND = "headcount model"
# Bytes that every file may unpack to, and how many times its own size a larger one may.
_SMALL, _MOST_RATIO = 256 << 20, 50
_OUR_ESTIMATORS = ("headcount.learn", "headcount.quantifiers")


def save_model(model: TableModel | ScoreModel, path: Path) -> None:
    """Write a fitted model atomically."""
    import skops.io
    from sklearn import __version__ as sklearn_version

    source = model.source.stripped() if isinstance(model.source, Scorer) else model.source
    unfitted = replace(model, quantifier=clone(model.quantifier), source=source)
    content = {"kind": _KIND, "sklearn": sklearn_version, "model": unfitted}
    try:
        check_state(unfitted)
        packed = skops.io.dumps(content, compression=ZIP_DEFLATED)
        if not _is_moderate(packed):
            packed = skops.io.dumps(content)
        safe = all(map(_is_allowed, skops.io.get_untrusted_types(data=packed)))
    except (HeadcountError, TypeError, AttributeError, NotImplementedError):
        safe = False
    if not safe:
        name = type(model.quantifier).__name__
        raise HeadcountError(
            f"The model of {name} cannot be saved safely: choose another `method` or "
            "`classifier`."
        )
    write_bytes(path, packed)


def _is_moderate(packed: bytes) -> bool:
    """True if the parts of an archive are not far larger than the archive itself."""
    with ZipFile(BytesIO(packed)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    return size <= max(_SMALL, _MOST_RATIO * len(packed))


def load_model(path: Path) -> TableModel | ScoreModel:
    """Read a model that `save_model` has written; refuse everything else."""
    import skops.io

    try:
        packed = path.read_bytes()
    except OSError as error:
        raise HeadcountError(
            f"`model` is {str(path)!r}, which cannot be read ({error.strerror})."
        ) from None
    no_model = HeadcountError(
        f"{path.name!r} is not a model that headcount has saved, or it is damaged: train it "
        "again."
    )
    try:
        if not _is_moderate(packed):
            raise no_model
        types = skops.io.get_untrusted_types(data=packed)
    except Exception:  # whatever a broken or forged archive makes skops raise
        raise no_model from None
    strange = [name for name in types if not _is_allowed(name)]
    if strange:
        raise HeadcountError(
            f"{path.name!r} holds an object of type {strange[0]}, which no model of headcount "
            "has: it is refused, as it may do harm."
        )
    try:
        content = skops.io.loads(packed, trusted=types)
    except Exception:
        raise no_model from None
    return _checked(content, path.name, no_model)


def _checked(content: Any, name: str, no_model: HeadcountError) -> TableModel | ScoreModel:
    from sklearn import __version__ as sklearn_version

    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise no_model
    model = content.get("model")
    if not isinstance(model, TableModel | ScoreModel):
        raise no_model
    if content.get("sklearn") != sklearn_version:
        warn(
            f"{name} was saved with scikit-learn {content.get('sklearn')}, and this is "
            f"{sklearn_version}: estimates may differ."
        )
    try:
        return _refitted(model)
    except MissingPackageError:
        raise
    except Exception:  # whatever a forged state makes the checks or the fit raise
        raise no_model from None


def _refitted(model: TableModel | ScoreModel) -> TableModel | ScoreModel:
    check_state(model)
    if isinstance(model.source, Scorer):
        assert isinstance(model, TableModel)
        model = replace(model, source=model.source.checked())
    elif type(model.source) is not ModelItems:
        raise HeadcountError("The model was fitted on nothing.")
    with warnings.catch_warnings():
        # The user has read them when the model was fitted first.
        warnings.simplefilter("ignore", HeadcountWarning)
        return model.refitted()


def _is_allowed(name: str) -> bool:
    """True if an object of a type may be created from a file."""
    module, _, last = name.rpartition(".")
    if name == "numpy.dtype" or last in _names_with_state(module):
        return True
    if not module.startswith(tuple(f"{package}." for package in _OUR_ESTIMATORS)):
        installed = installed_methods().values()
        return name in {f"{kind.__module__}.{kind.__qualname__}" for kind in installed}
    try:
        kind = getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError):
        return False
    return isinstance(kind, type) and issubclass(kind, BaseEstimator)


# Checks of the state of objects that were read from a file.

# Kinds of arrays: booleans, numbers, texts, objects (which are checked) and nodes of trees.
_KINDS = "biufUOV"
_PLAIN = (str, bytes, bool, int, float, type(None), slice)
# Types whose arrays only numpy uses, which checks them itself, by package.
_WITH_STATE = {
    "headcount": (
        "TableModel", "ScoreModel", "ScoreColumns", "ModelItems", "Preparation", "Column",
        "DateParts", "Flags", "Texts", "Scorer", "DecisionScaling", "Scaling", "History",
        "Drift",
    ),
    "numpy": ("RandomState", "Generator"),
    "sklearn": (
        "Bunch", "Pipeline", "FeatureUnion", "ColumnTransformer", "FrozenEstimator",
        "SimpleImputer", "MissingIndicator", "StandardScaler", "MinMaxScaler",
        "LabelBinarizer", "LabelEncoder", "TfidfTransformer", "PredefinedSplit",
        "LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "SGDClassifier",
        "Perceptron", "LinearSVC", "GaussianNB", "MultinomialNB", "ComplementNB",
        "BernoulliNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
        "HalfBinomialLoss", "HalfMultinomialLoss", "CyHalfBinomialLoss",
        "CyHalfMultinomialLoss", "LogitLink", "MultinomialLogit", "Interval",
        # Checked together with the classifiers that they belong to.
        "Tree", "TreePredictor", "_BinMapper",
    ),
}  # fmt: skip


def _names_with_state(module: str) -> frozenset[str]:
    """Names of the types of a package whose objects may have a state."""
    package = module.partition(".")[0]
    return frozenset([*_WITH_STATE.get(package, ()), *_CHECKS.get(package, ())])


def check_state(model: Any) -> None:
    """Raise an error if an object, or one inside it, has a state that no fit can create."""
    _check(model, set())


def _check(item: Any, checked: set[int]) -> None:
    if isinstance(item, _PLAIN) or callable(item) or id(item) in checked:
        return
    checked.add(id(item))
    if not _is_sound(item):
        raise HeadcountError(f"An object of type {type(item).__name__} has an invalid state.")
    for inner in _inner(item):
        _check(inner, checked)


def _is_sound(item: Any) -> bool:
    if isinstance(item, np.dtype):
        return item.kind in _KINDS
    if isinstance(item, np.ndarray | np.generic):
        return item.dtype.kind in _KINDS
    if isinstance(item, list | tuple | dict | set | frozenset):
        return True
    kind = type(item)
    package, name = kind.__module__.partition(".")[0], kind.__name__
    check = _CHECKS.get(package, {}).get(name)
    if check is not None:
        return check(item)
    if name in _names_with_state(kind.__module__):
        return True
    # Any other estimator may be a parameter, but must not be fitted.
    return isinstance(item, BaseEstimator) and vars(item).keys() <= item.get_params().keys()


def _inner(item: Any) -> Iterable[Any]:
    """Objects inside an object."""
    if isinstance(item, np.ndarray):
        return item.ravel().tolist() if item.dtype == object else ()
    if isinstance(item, list | tuple | set | frozenset):
        return item
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return vars(item).values() if hasattr(item, "__dict__") else ()


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
            isinstance(positions, dict)
            and sorted(positions.values()) == list(range(len(positions)))
            for positions in columns
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
    return all(
        type(tree).__name__ in ("DecisionTreeClassifier", "ExtraTreeClassifier")
        and tree.n_features_in_ == forest.n_features_in_
        and "tree_" in vars(tree)
        for tree in vars(forest).get("estimators_", [])
    )


def _is_valid_tree(classifier: Any) -> bool:
    """Children must follow their parents, and features be among those of training."""
    fitted = vars(classifier).get("tree_")
    if fitted is None:
        return True
    if (
        type(fitted).__name__ != "Tree"
        or fitted.node_count != fitted.capacity
        or not fitted.capacity
    ):
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
        type(tree).__name__ == "TreePredictor"
        and tree.nodes.dtype.names is not None
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
    left: Array, right: Array, feature: Array, is_leaf: Bools, n_features: int
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


_CHECKS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "headcount": {"Categories": _has_positions},
    "scipy": dict.fromkeys(
        ("csr_matrix", "csr_array", "csc_matrix", "csc_array"), _is_valid_matrix
    ),
    "sklearn": {
        "OneHotEncoder": _is_valid_encoder,
        "CountVectorizer": _has_valid_vocabulary,
        "TfidfVectorizer": _has_valid_vocabulary,
        "DecisionTreeClassifier": _is_valid_tree,
        "ExtraTreeClassifier": _is_valid_tree,
        "RandomForestClassifier": _is_valid_forest,
        "ExtraTreesClassifier": _is_valid_forest,
        "HistGradientBoostingClassifier": _is_valid_boosting,
    },
}
"""Checks of types whose state compiled loops read, by package and name."""
