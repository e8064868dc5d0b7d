"""Inputs that classifiers accept, and their outputs in the order of given classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from headcount.errors import HeadcountError
from headcount.items.inputs import as_numbers, check_scores
from headcount.items.labels import encode_labels
from headcount.scores.calibration import Scaling, fit_scaling, smoothed_targets

Output = Literal["posteriors", "decisions", "labels"]


def output_of(model: Any) -> Output:
    """Best output that a classifier has."""
    if hasattr(model, "predict_proba"):
        return "posteriors"
    return "decisions" if hasattr(model, "decision_function") else "labels"


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn an error of another package's estimator into one sentence.

    Its output is checked afterwards, so that warnings of numpy on the way to it say nothing
    new.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except HeadcountError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        fault = str(error).partition("\n")[0]
        raise HeadcountError(
            f"{what} failed ({type(error).__name__}: {fault[:150]}): pass items like those it "
            "was fitted on."
        ) from error


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Classifier at the end of a pipeline, and items as its other steps transform them.

    Several outputs of the classifier then take one transformation. Another model and its
    items are returned as they are.
    """
    if type(model) is not Pipeline or len(model) == 1:
        return model, X
    with calling(f"transform of {_name(model)}"):
        return model[-1], model[:-1].transform(X)


def predict_codes(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the labels of the classifier's own ``predict``, as codes."""
    with calling(f"predict of {_name(model)}"):
        predicted = model.predict(X)
    return encode_labels(predicted, name=f"predict of {_name(model)}", classes=classes)[1]


def score(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return posteriors or, if there are none, decision values, one column per class.

    A class the model was not trained on has a posterior of zero. Of two classes, decision
    values d come as the columns (-d/2, d/2).
    """
    if output_of(model) == "posteriors":
        name = f"predict_proba of {_name(model)}"
        columns = _columns(model, classes)
        with calling(name):
            posteriors = model.predict_proba(X)
        checked = check_scores(posteriors, len(columns), name=name)
        if np.array_equal(columns, np.arange(len(classes))):
            return checked
        aligned = np.zeros((len(checked), len(classes)))
        aligned[:, columns] = checked
        return aligned
    return _decision_values(model, X, classes)


@dataclass(frozen=True)
class DecisionScaling:
    """Posteriors from decision values: scaled to a spread of 1, then to log-odds."""

    spread: float
    scaling: Scaling

    def posteriors(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn decision values, one column per class, into posteriors."""
        with np.errstate(all="ignore"):
            posteriors = self.scaling.posteriors(decisions / self.spread)
        if not np.isfinite(posteriors).all():
            raise HeadcountError(
                "Decision values of the classifier are too large for posteriors: scale the "
                "features, or use a classifier with predict_proba."
            )
        return posteriors

    def checked(self, n_classes: int) -> DecisionScaling:
        """The scaling, if it fits the number of classes and is finite."""
        scaling = self.scaling
        for values in (scaling.slopes, scaling.biases):
            if values.shape != (n_classes,) or not np.isfinite(as_numbers(values, "it")).all():
                raise HeadcountError("The scaling must have finite slopes and biases.")
        if not 0 < self.spread < np.inf:
            raise HeadcountError("The spread of decision values must be positive and finite.")
        return self


def fit_decisions(
    decisions: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64]
) -> DecisionScaling:
    """Learn posteriors from decision values, which are best out-of-fold.

    Two classes: Platt's sigmoid. More: one multinomial logistic model, in which every
    class has a slope for its own decision value and a bias. Both are fitted to Platt's
    smoothed targets, so that perfectly separated classes do no harm.
    """
    counted = weights > 0
    decisions, codes, weights = decisions[counted], codes[counted], weights[counted]
    n_classes = decisions.shape[1]
    spread = float(decisions.std()) or 1.0
    scaling = fit_scaling(
        decisions / spread,
        smoothed_targets(codes, weights, n_classes),
        weights,
        one_slope=n_classes == 2,
        with_bias=True,
    )
    return DecisionScaling(spread, scaling)


def _decision_values(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    name = f"decision_function of {_name(model)}"
    with calling(name):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        values = np.column_stack([-values / 2, values / 2])
    columns = _columns(model, classes)
    # Three classes have three pairs, so counting columns does not tell pairs from classes.
    of_pairs = len(classes) > 2 and _decides_by_pairs(model)
    if of_pairs or not len(columns) == values.shape[1] == len(classes):
        raise HeadcountError(
            f"{name} has {values.shape[1]} columns{' of pairs' * of_pairs} for {len(classes)} "
            "classes: use a classifier with one decision value per class (in scikit-learn "
            "decision_function_shape='ovr'), or one with predict_proba."
        )
    if not np.isfinite(values).all():
        raise HeadcountError(f"{name} has NaN or infinite values: check the classifier.")
    return values[:, np.argsort(columns)]


def _decides_by_pairs(model: Any) -> bool:
    parameters = model.get_params(deep=True).items()
    return any(
        key.endswith("decision_function_shape") and value == "ovo" for key, value in parameters
    )


def _columns(model: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Position among the classes of each column of the model."""
    model_classes = getattr(model, "classes_", classes)
    return encode_labels(model_classes, name=f"classes_ of {_name(model)}", classes=classes)[1]


def _name(model: Any) -> str:
    return type(model).__name__


def numeric_space(model: Any, X: Any) -> Any:
    """Items as the last step of a fitted pipeline takes them, or X itself."""
    Z = X
    if isinstance(model, Pipeline) and len(model) > 1:
        with calling(f"transform of {_name(model)}"):
            Z = model[:-1].transform(X)
    if issparse(Z):
        return Z.tocsr()
    try:
        table = np.asarray(Z, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or not np.isfinite(table).all():
        fault = "is not a table of numbers" if table.ndim != 2 else "has missing numbers"
        raise HeadcountError(
            f"X {fault}, but its features are needed besides the scores: put the preprocessing "
            "into a pipeline as the classifier, or choose a setting that uses the scores alone."
        )
    return table


def allows_nan(estimator: Any) -> bool:
    """True if an estimator accepts missing numbers; False if it does not declare it.

    For a pipeline, its first step decides. One of several parallel transformers is enough,
    as the others may get other columns. For a wrapper, the estimator inside decides.
    """
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if _is_estimator(step)]
        return bool(steps) and allows_nan(steps[0])
    if isinstance(estimator, ColumnTransformer):
        return any(allows_nan(step) for _, step, _ in estimator.transformers)
    if isinstance(estimator, FeatureUnion):
        return any(allows_nan(step) for _, step in estimator.transformer_list)
    inner = getattr(estimator, "estimator", None)
    if _is_estimator(inner):
        return allows_nan(inner)
    try:
        tags = get_tags(estimator)
        return bool(tags.input_tags.allow_nan or tags.no_validation)
    except (AttributeError, TypeError):
        return False


def request_weights(estimator: Any) -> None:
    """Let an estimator of scikit-learn route sample weights as without metadata routing.

    The last step of a pipeline takes them, the others do not, unless they request otherwise.
    """
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            _request(step, False)
        request_weights(estimator.steps[-1][1])
    elif isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        request_weights(estimator.estimator)
    else:
        _request(estimator, True)


def _request(estimator: Any, value: bool) -> None:
    """Set the requests of an estimator that were left open; scores are not weighted."""
    routing = get_routing_for_object(estimator)
    if not isinstance(routing, MetadataRequest):
        return
    if routing.fit.requests.get("sample_weight", False) is None:
        estimator.set_fit_request(sample_weight=value)
    if routing.score.requests.get("sample_weight", False) is None:
        estimator.set_score_request(sample_weight=False)


def weight_parameter(estimator: Any) -> str | None:
    """Name of the parameter of ``fit`` for sample weights; None if there is none."""
    if isinstance(estimator, Pipeline) and get_config()["enable_metadata_routing"]:
        return weight_parameter(estimator.steps[-1][1]) and "sample_weight"
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return f"{name}__{inner}" if inner else None
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        # They pass other parameters on to the estimator that they tune.
        return weight_parameter(estimator.estimator)
    return None


def _is_estimator(candidate: Any) -> bool:
    return hasattr(candidate, "fit") and not isinstance(candidate, type)
