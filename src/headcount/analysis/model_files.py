"""Files of fitted models, which cannot run code when they are read.

The format is that of skops: a zip archive of JSON and arrays. Unlike a pickle it names the
types of its objects, and only those allowed here are created: classes of scikit-learn and
numpy that skops trusts, and classes and functions of the packages of headcount that only do
arithmetic.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from headcount._files import write_bytes
from headcount.analysis.models import ScoreModel, TableModel
from headcount.analysis.score_columns import ScoreColumns
from headcount.errors import HeadcountError, warn

__all__ = ["load_model", "save_model"]

_KIND = "headcount model"
_OUR_PACKAGES = (
    "headcount.data.column_kinds", "headcount.data.column_values", "headcount.data.preparation",
    "headcount.evaluation", "headcount.learn", "headcount.quantify", "headcount.representation",
    "headcount.sampling", "headcount.scores", "headcount.solve", "headcount.uncertainty",
)  # fmt: skip
_OUR_MODELS = {
    f"{model.__module__}.{model.__qualname__}"
    for model in (ScoreColumns, ScoreModel, TableModel)
}
# Plain values that skops does not list.
_OTHERS = {
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.model_selection._split.PredefinedSplit",
}


def save_model(model: TableModel | ScoreModel, path: Path) -> None:
    """Write a fitted model atomically.

    Parameters
    ----------
    model : TableModel or ScoreModel
        The model.
    path : Path
        The file.
    """
    import skops.io
    from sklearn import __version__ as sklearn_version

    content = {"kind": _KIND, "sklearn": sklearn_version, "model": model}
    packed = b""
    try:
        packed = skops.io.dumps(content)
        strange = _strange_types(packed)
    except (TypeError, AttributeError, NotImplementedError):
        strange = ["unknown to skops"]
    if strange:
        name = type(model.quantifier).__name__
        raise HeadcountError(
            f"The model of {name} cannot be saved safely: choose another `method` or "
            "`classifier`."
        )
    write_bytes(path, packed)


def load_model(path: Path) -> TableModel | ScoreModel:
    """Read a model that `save_model` has written; refuse everything else.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    TableModel or ScoreModel
    """
    import skops.io

    try:
        packed = path.read_bytes()
    except OSError as error:
        raise HeadcountError(
            f"`model` is {str(path)!r}, which cannot be read ({error.strerror})."
        ) from None
    no_model = HeadcountError(f"{path.name!r} is not a model that headcount has saved.")
    try:
        strange = _strange_types(packed)
    except Exception:  # whatever a broken or forged archive makes skops raise
        raise no_model from None
    if strange:
        raise HeadcountError(
            f"{path.name!r} holds an object of type {strange[0]}, which no model of headcount "
            "has: it is refused, as it may do harm."
        )
    try:
        content = skops.io.loads(packed, trusted=skops.io.get_untrusted_types(data=packed))
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
    return model


def _strange_types(packed: bytes) -> list[str]:
    """Types and functions in an archive that neither skops nor we allow."""
    import skops.io

    return [name for name in skops.io.get_untrusted_types(data=packed) if not _is_allowed(name)]


def _is_allowed(name: str) -> bool:
    """True if a type or function may be created from a file."""
    if name in _OUR_MODELS or name in _OTHERS:
        return True
    module, _, last = name.rpartition(".")
    if not any(
        module == package or module.startswith(f"{package}.") for package in _OUR_PACKAGES
    ):
        return False
    try:
        found = getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError):
        return False
    ours = getattr(found, "__module__", None) == module
    return ours and (inspect.isclass(found) or inspect.isfunction(found))
