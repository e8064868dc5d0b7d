"""Cross-fitting: folds, and what the classifiers of the folds return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import base_seeds
from headcount.errors import HeadcountError, warn
from headcount.items.arrays import as_numbers, check_scores, encode_labels, take_rows
from headcount.scores.calibration import Scaling, fit_scaling, smoothed_targets
from headcount.scores.logistic import cross_fit, is_supported

Output = Literal["posteriors", "decisions", "labels"]


def output_of(model: Any) -> Output:
    """Best output that a classifier has."""
    if hasattr(model, "predict_proba"):
        return "posteriors"
    return "decisions" if hasattr(model, "decision_function") else "labels"


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn an error of another package's estimator into one sentence."""
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
    """Classifier at the end of a pipeline, and items as its other steps transform them."""
    if type(model) is not Pipeline or len(model) == 1:
        return model, X
    with calling(f"transform of {_name(model)}"):
        return model[-1], model[:-1].transform(X)


def predict_codes(model: Any, X: Any, classes: Array) -> Ints:
    """Return the labels of the classifier's own ``predict``, as codes."""
    with calling(f"predict of {_name(model)}"):
        predicted = model.predict(X)
    return encode_labels(predicted, name=f"predict of {_name(model)}", classes=classes)[1]


def score(model: Any, X: Any, classes: Array) -> Floats:
    """Posteriors, zero for unknown classes, or decision values: -d/2 and d/2 of two classes."""
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

    def posteriors(self, decisions: Floats) -> Floats:
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


def fit_decisions(decisions: Floats, codes: Ints, weights: Floats) -> DecisionScaling:
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


def _decision_values(model: Any, X: Any, classes: Array) -> Floats:
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


def _columns(model: Any, classes: Array) -> Ints:
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
    """True if an estimator, or what it applies first, says that it takes missing numbers."""
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
    """Let the last step of a pipeline take sample weights as without metadata routing."""
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


Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

# Times that folds of tags are drawn before the tags are found to be too rare.
_DRAWS = 10


def check_cv(cv: Any, *, held_out: bool = False) -> None:
    """Refuse what is no number of folds, splitter or list of splits, or held-out part."""
    if held_out and (is_single_split(cv) or (isinstance(cv, float) and 0 < cv < 1)):
        return
    is_number = isinstance(cv, int | np.integer) and cv >= 2
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str | bytes | type)
    if not (is_number or is_splitter or _is_list_of_splits(cv)):
        raise HeadcountError(
            f"cv is {cv!r}, but must be a number of folds of at least 2, a scikit-learn "
            f"splitter, {'a share to hold out, ' * held_out}or a list of pairs of row numbers: "
            "pass for instance cv=5."
        )


def is_single_split(cv: Any) -> bool:
    """True for one pair of training rows and held-out rows."""
    if not isinstance(cv, list | tuple) or len(cv) != 2:
        return False
    return all(
        isinstance(rows, np.ndarray | range | list) and len(rows) and np.ndim(rows[0]) == 0
        for rows in cv
    )


def held_out_split(
    cv: Any, X: Any, codes: Ints, classes: Array, random_state: Any, groups: Array | None = None
) -> Fold | None:
    """Rows to train on and rows held out; None if `cv` means folds."""
    if isinstance(cv, float):
        split = _stratified_part(cv, codes, random_state, groups)
    else:
        pair = _only_pair(cv, X, classes[codes], groups)
        if pair is None:
            return None
        split = np.asarray(pair[0]), np.asarray(pair[1])
        _check_rows([split], len(codes))
        if np.intersect1d(*split).size:
            raise HeadcountError("cv has rows both to train on and held out: divide them.")
    for name, rows in zip(("training part", "held-out part"), split, strict=True):
        counts = np.bincount(codes[rows], minlength=len(classes))
        if not counts.all():
            raise HeadcountError(
                f"cv leaves no item of class {classes.tolist()[counts.argmin()]!r} in the "
                f"{name}: label more, or choose another split."
            )
    return split


def _only_pair(cv: Any, X: Any, y: Array, groups: Array | None) -> Any:
    """The pair of rows that `cv` is, lists or splits into; None if there are several."""
    if is_single_split(cv):
        return cv
    if isinstance(cv, list | tuple):
        return cv[0] if len(cv) == 1 else None
    try:
        n_splits = cv.get_n_splits(X, y, groups)
    except (AttributeError, TypeError, ValueError):  # a number of folds, or groups are needed
        return None
    return _splits(cv, X, y, groups)[0] if n_splits == 1 else None


def _stratified_part(
    share: float, codes: Ints, random_state: Any, groups: Array | None
) -> Fold:
    """Rows without and with a share of the items of every class; whole groups."""
    if groups is not None:
        n_folds = max(2, round(1 / share))
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=_seed(random_state))
        train, test = next(iter(splitter.split(codes, codes, groups)))
        return train, test
    rng = np.random.default_rng(base_seeds(random_state, 1)[0])
    held_out = np.zeros(len(codes), np.bool_)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        number = min(max(1, round(share * len(rows))), len(rows) - 1)
        held_out[rng.permutation(rows)[:number]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _is_list_of_splits(cv: Any) -> bool:
    if not isinstance(cv, list | tuple):
        return False
    return bool(cv) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in cv)


def make_folds(
    cv: Any, X: Any, codes: Ints, classes: Array, random_state: Any, groups: Array | None = None
) -> list[Fold] | None:
    """Split the rows into (train, test) folds; ``None`` if a class is too small to split."""
    if isinstance(cv, int | np.integer):
        if groups is None:
            return _stratified(int(cv), codes, classes, random_state)
        cv = StratifiedGroupKFold(int(cv), shuffle=True, random_state=_seed(random_state))
    pairs = cv if isinstance(cv, list | tuple) else _splits(cv, X, classes[codes], groups)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    _check_rows(folds, len(codes))
    _check_tested_once(folds, len(codes))
    _check_all_classes(folds, codes, classes)
    return folds


def make_tag_folds(
    cv: Any,
    X: Any,
    indicators: Ints,
    tags: Sequence[Any],
    random_state: Any,
    groups: Array | None = None,
) -> list[Fold]:
    """Split the rows into (train, test) folds that serve several tags at once."""
    if not isinstance(cv, int | np.integer):
        pairs = cv if isinstance(cv, list | tuple) else _splits(cv, X, indicators, groups)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
        _check_rows(folds, len(indicators))
        _check_tested_once(folds, len(indicators))
        one_sided = _one_sided(folds, indicators)
        if one_sided is not None:
            raise HeadcountError(
                f"cv has a training fold without items with, or without, the tag "
                f"{tags[one_sided]!r}: choose other folds, or drop the tag."
            )
        return folds
    rng = np.random.default_rng(base_seeds(random_state, 1)[0])
    units = np.arange(len(indicators))
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
    for _ in range(_DRAWS):
        fold = _stratified_by_tags(int(cv), indicators, units, rng)[units]
        rows = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)]
        folds = [(train, test) for train, test in rows if len(test)]
        one_sided = _one_sided(folds, indicators)
        if one_sided is None:
            return folds
    raise HeadcountError(
        f"the items with, or without, the tag {tags[one_sided or 0]!r} are too few to be in "
        f"several of {int(cv)} folds{'' if groups is None else ' of whole groups'}: label "
        "more, or drop the tag."
    )


def _stratified_by_tags(
    n_folds: int, indicators: Ints, units: Ints, rng: np.random.Generator
) -> Ints:
    """Fold of each unit: the rarest tag first, each unit to the fold that lacks it most."""
    n_units = int(units.max()) + 1
    # Of a tag that most items have, those without it are the rare ones.
    rare = np.where(indicators.mean(axis=0) > 0.5, 1 - indicators, indicators)
    counts = np.zeros((n_units, rare.shape[1] + 1))
    np.add.at(counts[:, :-1], units, rare)
    counts[:, -1] = np.bincount(units, minlength=n_units)
    lacking = np.tile(counts.sum(axis=0) / n_folds, (n_folds, 1))
    fold = np.full(n_units, -1)
    # The last column is the number of items, which units without any tag balance.
    order = np.argsort(counts[:, :-1].sum(axis=0), kind="stable")
    for column in (*order, counts.shape[1] - 1):
        for unit in rng.permutation(np.flatnonzero((counts[:, column] > 0) & (fold < 0))):
            demand = lacking[:, column]
            most = np.flatnonzero(demand > demand.max() - 1e-9)
            neediest = most[np.argmax(lacking[most, -1] + 1e-6 * rng.random(len(most)))]
            fold[unit] = neediest
            lacking[neediest] -= counts[unit]
    return fold


def _one_sided(folds: list[Fold], indicators: Ints) -> int | None:
    """Number of a tag that all or no items of a training fold have; None if there is none."""
    for train, _ in folds:
        share = indicators[train].mean(axis=0)
        if not ((share > 0) & (share < 1)).all():
            return int(np.minimum(share, 1 - share).argmin())
    return None


def _stratified(
    n_folds: int, codes: Ints, classes: Array, random_state: Any
) -> list[Fold] | None:
    counts = np.bincount(codes, minlength=len(classes))
    smallest = int(counts.min())
    label = classes.tolist()[counts.argmin()]
    if smallest == 1:
        warn(
            f"class {label!r} has a single item, which cannot be cross-fitted: in-sample "
            "scores are used, and they look better than scores of new items; label more."
        )
        return None
    if smallest < n_folds:
        warn(
            f"class {label!r} has {smallest} items, too few for {n_folds} folds: "
            f"{smallest} are used."
        )
    seed = _seed(random_state)
    splitter = StratifiedKFold(min(smallest, n_folds), shuffle=True, random_state=seed)
    return list(splitter.split(codes, codes))


def _seed(random_state: Any) -> Any:
    """Seed as scikit-learn takes it; None is a fixed one."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, int | np.integer):
        return int(random_state) % 2**32
    return random_state


def _splits(cv: Any, X: Any, y: Array, groups: Array | None) -> list[Any]:
    try:
        return list(cv.split(X, y) if groups is None else cv.split(X, y, groups))
    except ValueError as error:  # what scikit-learn raises, such as for missing groups
        advice = "" if groups is not None else ", or pass groups to fit if it needs them"
        raise HeadcountError(
            f"cv cannot split the items ({error}): choose another{advice}."
        ) from None


def _check_rows(folds: list[Fold], n_rows: int) -> None:
    for rows in (rows for fold in folds for rows in fold):
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise HeadcountError(
                "cv has a fold that is not a list of row numbers: pass pairs of arrays of row "
                "numbers, neither of them empty."
            )
        if rows.min() < 0 or rows.max() >= n_rows:
            raise HeadcountError(
                f"cv has the row number {rows.max() if rows.min() >= 0 else rows.min()}, but "
                f"there are {n_rows:,} rows: pass splits of these items."
            )


def _check_tested_once(folds: list[Fold], n_rows: int) -> None:
    tested = np.concatenate([test for _, test in folds])
    times = np.bincount(tested, minlength=n_rows)
    wrong = int((times != 1).sum())
    if wrong:
        raise HeadcountError(
            f"cv must put every row into exactly one test fold, but {wrong:,} of {n_rows:,} "
            f"rows are in none or in several (row {int((times != 1).argmax())} first): use a "
            "splitter such as KFold or StratifiedKFold."
        )


def _check_all_classes(folds: list[Fold], codes: Ints, classes: Array) -> None:
    for number, (train, _) in enumerate(folds):
        counts = np.bincount(codes[train], minlength=len(classes))
        if not counts.all():
            raise HeadcountError(
                f"cv leaves class {classes.tolist()[counts.argmin()]!r} out of training fold "
                f"{number}: use a stratified splitter, or fewer folds."
            )


def one_fold_each(by_folds: Array) -> Array:
    """Scores of items, each by the classifier of one fold, as training items are scored."""
    n_folds, n = by_folds.shape[:2]
    fold = np.random.default_rng(0).integers(n_folds, size=n)
    return np.ascontiguousarray(by_folds[fold, np.arange(n)])


Crossed = tuple[Any, NDArray[np.intp] | slice]
"""A classifier, and the rows of the training items that it scores."""


def check_classifier(classifier: Any) -> Any:
    """Classifier of a scorer, logistic regression by default; others are refused."""
    if classifier is None:
        return LogisticRegression(max_iter=1000)
    needed = ("fit", "predict", "get_params")
    if isinstance(classifier, type) or not all(hasattr(classifier, name) for name in needed):
        raise HeadcountError(
            f"classifier is {classifier!r}, but must be a scikit-learn classifier "
            "(an object with fit, predict and get_params): pass for instance "
            "LogisticRegression()."
        )
    return classifier


class CrossFits:
    """Copies of a classifier, fitted on labelled items and on parts of them."""

    def __init__(
        self,
        classifier: Any,
        X: Any,
        classes: Array,
        codes: Ints,
        weights: Floats | None,
        make_folds: Callable[[], list[Fold] | None],
    ) -> None:
        self.classifier, self.X, self.targets = classifier, X, classes
        self._classes, self._codes, self._weights = classes, codes, weights
        self._make_folds = make_folds
        self._crossed: Iterable[Crossed] | None = None
        self._whole: Any = None

    def whole(self, *, with_folds: bool) -> Any:
        """Classifier fitted on all items; logistic regression on the folds as well."""
        if isinstance(self.classifier, FrozenEstimator):
            _check_frozen(self.classifier, self._classes)
            self._whole = self.classifier
        elif is_supported(self.classifier):
            self._crossed = self._cross_fit(self._make_folds() if with_folds else None)
        else:
            self._whole = self._fit_whole()
        return self._whole

    def crossed(self) -> Iterable[Crossed]:
        """Each model that scores training items, with the rows of these items."""
        return self._models() if self._crossed is None else self._crossed

    def _fit_whole(self) -> Any:
        """Classifier trained on everything; it determines the labels of all others."""
        try:
            return self._fit_clone()
        except HeadcountError:
            raise
        except (ValueError, TypeError) as refused:  # XGBoost, skorch
            codes = np.arange(len(self._classes))
            are_codes = self._classes.tolist() == codes.tolist()
            if are_codes or type_of_target(self._classes) not in ("binary", "multiclass"):
                raise
            self.targets = codes
            try:
                return self._fit_clone()
            except Exception:
                raise refused from None

    def _fit_clone(self, rows: NDArray[np.intp] | slice = slice(None)) -> Any:
        """Clone of the classifier, fitted on some rows of the items."""
        items = self.X if isinstance(rows, slice) else take_rows(self.X, rows)
        return self._fit_on(self.classifier, items, rows)

    def _fit_on(self, classifier: Any, items: Any, rows: NDArray[np.intp] | slice) -> Any:
        """Clone of a classifier, fitted on items that are the given rows."""
        fitted = clone(classifier)
        weights = {}
        if self._weights is not None:
            parameter = weight_parameter(fitted)
            if parameter is None:
                raise HeadcountError(
                    f"sample_weight was given, but {type(fitted).__name__} takes none when "
                    "fitted: leave it out or choose another classifier."
                )
            weights = {parameter: self._weights[rows]}
            if get_config()["enable_metadata_routing"]:
                request_weights(fitted)
        fitted.fit(items, self.targets[self._codes[rows]], **weights)
        return fitted

    def _cross_fit(self, folds: list[Fold] | None) -> list[Crossed]:
        """Fit logistic regression on everything and on the training folds, all at once."""
        trains = [train for train, _ in folds or ()]
        first, *fold_models = cross_fit(
            self.classifier, self.X, self._classes, self._codes, trains, self._weights
        )
        self._whole = self._fit_clone() if first is None else first
        if folds is None:
            return [(self._whole, slice(None))]
        return [
            (self._fit_clone(train) if model is None else model, test)
            for model, (train, test) in zip(fold_models, folds, strict=True)
        ]

    def _models(self) -> Iterator[Crossed]:
        frozen = isinstance(self.classifier, FrozenEstimator)
        folds = None if frozen else self._make_folds()
        if folds is None:
            yield self._whole, slice(None)
            return
        for train, test in folds:
            yield self._fit_clone(train), test


def _check_frozen(classifier: Any, classes: Array) -> None:
    try:
        check_is_fitted(classifier)
    except NotFittedError:
        raise HeadcountError(
            "classifier is frozen, but was never fitted: fit it before it is wrapped in "
            "FrozenEstimator."
        ) from None
    if not hasattr(classifier, "classes_"):
        raise HeadcountError(
            "classifier is frozen and has no classes_, so its columns cannot be told apart: "
            "wrap one that follows scikit-learn's conventions."
        )
    trained, labels = np.asarray(classifier.classes_).tolist(), classes.tolist()
    strange = [label for label in labels if label not in trained]
    if strange:
        raise HeadcountError(
            f"y has the label {strange[0]!r}, which the frozen classifier does not know (its "
            f"classes are {trained}): drop these items or train it on them."
        )
    missing = [label for label in trained if label not in labels]
    if missing:
        raise HeadcountError(
            f"y has no items of class {missing[0]!r}, which the frozen classifier predicts: "
            "add some, as the share of a class cannot be learnt without examples."
        )
