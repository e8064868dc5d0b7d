"""Files of fitted models, which cannot run code when they are read.

The format is that of skops: a zip archive of JSON and arrays. Unlike a pickle it names the
types of its objects, and only those allowed here are created: classes of scikit-learn and
numpy that skops trusts or `model_checks` checks, the estimators of headcount, and the methods
of other packages that are installed.

A file holds fitted classifiers, the training items in the form that the quantifier takes, and
the quantifier *without* what it has learnt: it is refitted when the file is read, so that
its state cannot be wrong. Of a network it holds the weights, whose names and shapes must be
those of its parameters. The state of everything else is checked (`model_checks`). The zip
format has a checksum of every part, which detects accidental damage.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

from sklearn.base import BaseEstimator, clone

from headcount._files import write_bytes
from headcount.analysis.model_checks import check_state, is_checked
from headcount.analysis.models import Labelled, ScoreModel, TableModel
from headcount.errors import HeadcountError, HeadcountWarning, MissingPackageError, warn
from headcount.quantify import installed_methods
from headcount.scores import Scorer

_KIND = "headcount model"
_OUR_ESTIMATORS = ("headcount.deep", "headcount.learn", "headcount.quantify")


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
    elif type(model.source) is not Labelled:
        raise HeadcountError("The model was fitted on nothing.")
    with warnings.catch_warnings():
        # The user has read them when the model was fitted first.
        warnings.simplefilter("ignore", HeadcountWarning)
        return model.refitted()


def _is_allowed(name: str) -> bool:
    """True if an object of a type may be created from a file."""
    if name == "numpy.dtype" or is_checked(name):
        return True
    module, _, last = name.rpartition(".")
    if not module.startswith(tuple(f"{package}." for package in _OUR_ESTIMATORS)):
        installed = installed_methods().values()
        return name in {f"{each.__module__}.{each.__qualname__}" for each in installed}
    try:
        found = getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and issubclass(found, BaseEstimator)
