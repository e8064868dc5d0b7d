"""Methods and classifiers that a spec names: by name, or by the import path of a class."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import GridSearchCV

from headcount._support.parameters import check_count, check_grid
from headcount.errors import HeadcountError
from headcount.evaluation.search import GridSearch
from headcount.interop.quapy import from_quapy, is_quapy
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.quantifiers.registry import method as find_method
from headcount.samples.protocols import UPP
from headcount_studies.engine.spec import MethodSpec, Spec, check_keys, import_object

_INSIDE = "quantifier__"
_SEARCH = ("grid", "folds", "scoring")


def check_classifier(where: str, given: Mapping[str, Any], seed: int = 0) -> Any:
    """Classifier of a table of the spec; logistic regression if the table is empty.

    With a grid, its parameters are chosen on each training set that it is fitted on.
    """
    check_keys(where, given, ("class", "parameters", *_SEARCH))
    if not given:
        return LogisticRegression(max_iter=1000)
    path = given.get("class")
    if not isinstance(path, str) or not {":", "."} & set(path):
        raise HeadcountError(
            f"class of {where} is {path!r}; it must be an import path, such as "
            "'sklearn.ensemble:RandomForestClassifier'."
        )
    classifier = _made(
        import_object("classifier", path), given.get("parameters", {}), seed, where
    )
    return _searched(where, given, classifier)


def _searched(where: str, given: Mapping[str, Any], classifier: Any) -> Any:
    """Classifier with a search of its grid, if it has one."""
    options = {name: given[name] for name in _SEARCH if name in given}
    if not options:
        return classifier
    if "grid" not in options:
        raise HeadcountError(f"{where} has {next(iter(options))!r} but no grid: add one.")
    grid = options["grid"]
    check_grid(grid)
    parameters = classifier.get_params()
    for name in grid:
        if name not in parameters:
            raise HeadcountError(
                f"grid of {where} has {name!r}, which is not a parameter of "
                f"{type(classifier).__name__}: check its name, such as 'C'."
            )
    folds = check_count(f"folds of {where}", options.get("folds", 5), least=2)
    scoring = options.get("scoring", "accuracy")
    if scoring not in get_scorer_names():
        raise HeadcountError(
            f"scoring of {where} is {scoring!r}; it must be a score of scikit-learn, such as "
            "'accuracy' or 'neg_log_loss'."
        )
    return GridSearchCV(classifier, grid, cv=folds, scoring=scoring)


def make_method(spec: Spec, method: MethodSpec, *, n_classes: int, seed: int) -> Any:
    """Unfitted quantifier of a method.

    Methods for two classes are wrapped in `OneVsRest` for more. A method with a grid becomes
    a `GridSearch`.
    """
    where = f"method {method.name!r}"
    path = method.quantifier
    method_class = import_object("method", path) if ":" in path else find_method(path)
    parameters = method.arguments
    classifier = method.options.get("classifier", spec.classifier)
    if "classifier" in _signature(method_class):
        parameters.setdefault(
            "classifier", check_classifier(f"classifier of {where}", classifier, seed)
        )
    quantifier = _made(method_class, parameters, seed, where)
    if is_quapy(quantifier):
        quantifier = from_quapy(quantifier, random_state=seed)
    for attribute in ("fit", "predict_many", "get_params"):
        if not callable(getattr(quantifier, attribute, None)):
            raise HeadcountError(
                f"{path!r} of {where} is not a quantifier: it has no {attribute}()."
            )
    wrapped = (
        n_classes > 2
        and isinstance(quantifier, Quantifier)
        and quantifier.info.multiclass == "one-vs-rest"
    )
    if wrapped:
        quantifier = OneVsRest(quantifier)
    grid = method.options.get("grid")
    if grid is None:
        return quantifier
    return _search(spec, quantifier, grid, _INSIDE if wrapped else "", seed)


def _search(spec: Spec, quantifier: Any, grid: Any, prefix: str, seed: int) -> GridSearch:
    check_grid(grid)
    parameters = quantifier.get_params()
    named = {f"{prefix}{name}": values for name, values in grid.items()}
    for name in named:
        if name not in parameters:
            raise HeadcountError(
                f"grid has {name.removeprefix(prefix)!r}, which is not a parameter of "
                f"{type(quantifier).__name__}: check its name, such as 'classifier__C'."
            )
    options = {"metric": spec.metrics[0]} | spec.selection
    sampling = {name: options.pop(name) for name in ("n_samples", "size") if name in options}
    protocol = UPP(**sampling, random_state=seed) if sampling else None
    return GridSearch(
        quantifier, named, protocol=protocol, random_state=seed, progress=False, **options
    )


def _made(found: Any, parameters: Any, seed: int, where: str) -> Any:
    if not isinstance(parameters, Mapping):
        raise HeadcountError(f"parameters of {where} is {parameters!r}; it must be a table.")
    options = dict(parameters)
    if "random_state" in _signature(found):
        options.setdefault("random_state", seed)
    try:
        return found(**options)
    except TypeError as error:
        raise HeadcountError(
            f"{where} cannot be made ({error}): check its parameters."
        ) from None


def _signature(found: Any) -> Mapping[str, Any]:
    try:
        return inspect.signature(found).parameters
    except (TypeError, ValueError):
        return {}
