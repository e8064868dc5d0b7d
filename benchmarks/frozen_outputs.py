"""Outputs of one version of the package on fixed inputs, as arrays by name.

Inputs and scores are made by numpy and scikit-learn alone, so that they are the same for all
versions. The classifiers are exact (counts, means, a tree, a frozen one): a version that solves
logistic regression more exactly returns the same numbers. The default classifier has a part of
its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

import headcount as hc
from headcount import accuracy, metrics, shift
from headcount.quantifiers import AdaptedClassifier
from versions import (
    estimand_name,
    evaluate_scores,
    fit_test,
    is_old,
    make,
    quantifiers,
    solver_of,
    with_decisions,
    with_scores,
)

__all__ = ["save_outputs"]

SIZES = (60, 1, 150, 2, 33, 100, 80, 45)
N_ESTIMATED, REPLICATES = 3, 200
# Settings other than the defaults, by method.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "BBSE": [{"soft": True}],
    "ContinuousSweep": [{"p_delta": 0.3}],
    "DM": [{"divergence": name} for name in ("topsoe", "l2")] + [{"smoothness": 0.1}],
    "DyS": [{"divergence": "hellinger"}, {"bins": 20, "balanced": False}],
    "Ensemble": [{"policy": name} for name in ("ptr", "ds", "ae", "rae")]
    + [{"scoring": "left-out"}, {"combine": "median", "sample_size": 80}],
    "FMM": [{"bins": 30}],
    "GAC": [{"smoothness": 0.1}],
    "GPAC": [{"smoothness": 0.1}],
    "EDy": [{"smoothness": 0.1}],
    "CvMy": [{"smoothness": 0.1}],
    "FM": [{"smoothness": 0.1}],
    "KMM": [{"smoothness": 0.1, "bandwidth": 0.3}],
    "HDx": [{"combine": "mean"}],
    "HDy": [{"bins": (10, 20, 30), "balanced": False}],
    "KDEyML": [{"bandwidth": 0.05}],
    "KDEyCS": [{"bandwidth": 0.05}],
    "KDEyHD": [{"bandwidth": 0.05, "n_points": 500}],
    "LEIP": [{"soft": True}],
    "Mean": [{"weights": "ae", "keep": 0.5}],
    "Median": [{"weights": "rae"}],
    "MS": [{"decimals": None}],
    "MS2": [{"decimals": None}],
    "T50": [{"decimals": None}],
    "TX": [{"decimals": 2}],
    "OneVsRest": [{"scoring": "separate"}],
    "OrdinalSLD": [{"calibration": "bcts"}],
    "PWK": [{"alpha": 2.0}],
    "QF": [{"criterion": "balance_errors", "scope": "tree"}],
    "QFAC": [{"scope": "tree"}],
    "ReadMe": [{"bins": 3, "subset_size": 2}],
    "RegularizedLikelihood": [
        {"flatness": 0.01, "smoothness": 0.1, "calibration": "ts"},
        {"concentration": 2.0},
    ],
    "RLLS": [{"soft": False, "shrinkage": 0.1}],
    "SLD": [{"calibration": None, "stop": name} for name in ("classic", "converged", "norm")]
    + [{"calibration": name} for name in ("nbvs", "bcts", "ts", "vs", "platt", "isotonic")],
    "SVMQ": [{"kernel": "rbf", "n_components": 20}],
    "ATC": [{"score": "entropy"}],
    "CBPE": [{"calibration": None}, {"calibration": "bcts", "correction": "prior"}],
    "LEAP": [{"quantifier": hc.PACC()}],
    "QuAcc": [{"variant": "nxn"}, {"variant": "1xn+1", "covariates": False}],
}


@dataclass(frozen=True)
class Input:
    """Labelled items, a pool and samples of it; scores of both by logistic regression."""

    name: str
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    X_pool: Any
    y_pool: np.ndarray
    classifier: Any
    model: Any
    scores: np.ndarray
    pool_scores: np.ndarray
    samples: list[np.ndarray]

    @property
    def n_classes(self) -> int:
        return self.scores.shape[1]


def _sources() -> Iterator[tuple[str, Any, np.ndarray, Any]]:
    """Items, labels and a classifier for 2, 3 and 5 classes: dense, then sparse."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", scale(X)[:, :8], y, GaussianNB()
    X, y = load_wine(return_X_y=True)
    yield "wine", scale(X), y, DecisionTreeClassifier(max_depth=3, random_state=0)
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 5, 16:40] / 16, y[y < 5]
    frozen = LogisticRegression(max_iter=1000).fit(X[-150:], y[-150:])
    yield "digits", X[:-150], y[:-150], FrozenEstimator(frozen)
    for K, classifier in (
        (2, BernoulliNB()),
        (3, BernoulliNB(alpha=0.1)),
        (5, MultinomialNB()),
    ):
        X, codes = make_classification(
            900, 15, n_informative=8, n_classes=K, class_sep=0.8, flip_y=0.02, random_state=K
        )
        labels = np.array(["e", "a", "d", "b", "c"])[codes]
        yield f"synthetic {K}, sparse", csr_array(np.maximum(X, 0)), labels, classifier


def inputs() -> Iterator[Input]:
    """Every source with and without weights."""
    for number, (name, X, y, classifier) in enumerate(_sources()):
        rng = np.random.default_rng(number)
        order = rng.permutation(len(y))
        other, train, pool = np.split(order, [len(y) // 5, 3 * len(y) // 5])
        logistic = LogisticRegression(max_iter=1000)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        scores = cross_val_predict(
            logistic, X[train], y[train], cv=folds, method="predict_proba"
        )
        pool_scores = logistic.fit(X[train], y[train]).predict_proba(X[pool])
        # Shares that differ from sample to sample: items are drawn by random class weights.
        codes = np.unique(y[pool], return_inverse=True)[1]
        samples = []
        for size in SIZES:
            by_class = rng.dirichlet(np.ones(codes.max() + 1))[codes] + 1e-3
            samples.append(rng.choice(len(pool), size, p=by_class / by_class.sum()))
        model = LogisticRegression(max_iter=1000).fit(X[other], y[other])
        for weights in (None, rng.uniform(0.5, 2, len(train))):
            yield Input(
                name if weights is None else f"{name}, weights",
                X[train], y[train], weights, X[pool], y[pool], classifier, model, scores,
                pool_scores, samples,
            )  # fmt: skip


class Outputs:
    """Arrays by part, case and name; calls that are refused or fail are noted."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def note(self, part: str, case: str, call: Callable[[], dict[str, Any]]) -> None:
        """Keep what a call returns."""
        # The old version refuses calls with scores by AttributeError.
        refusals = (hc.HeadcountError, AttributeError) if is_old() else hc.HeadcountError
        try:
            found = call()
        except refusals as error:
            found = {"refused": str(error)}
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"}
        for name, value in found.items():
            self.arrays[f"{part}|{case}|{name}"] = _canonical(value)


def _canonical(value: Any) -> np.ndarray:
    """An array of float64, int64 or text."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    return array.astype(np.float64 if array.dtype.kind == "f" else str)


def _solved(solution: Any) -> dict[str, Any]:
    names = ("prevalence", "converged", "iterations", "objective")
    return {name: getattr(solution, name) for name in names}


def _fit_tested(estimates: list[Any]) -> dict[str, Any]:
    tests = [estimate.fit_test for estimate in estimates]
    return {
        "p-value": [np.nan if test is None else test.p_value for test in tests],
        "warnings": [len(estimate.warnings) for estimate in estimates],
    }


def _estimated(estimates: list[Any]) -> dict[str, Any]:
    ends, narrow = ([e.interval(level) for e in estimates] for level in (0.95, 0.5))
    regions = [estimate.region() for estimate in estimates]
    return {
        "shares": [list(estimate.prevalence.values()) for estimate in estimates],
        "raw": [estimate.raw for estimate in estimates],
        "interval": [(each.low, each.high) for each in ends],
        "interval at 50%": [(each.low, each.high) for each in narrow],
        "region": [(each.low, each.high) for each in regions],
        **_fit_tested(estimates),
    }


def _accuracy_estimated(estimates: list[Any]) -> dict[str, Any]:
    return {
        "value": [estimate.value for estimate in estimates],
        "raw": [estimate.raw for estimate in estimates],
        "interval": [tuple(estimate.interval()) for estimate in estimates],
        **_fit_tested(estimates),
    }


def _shared(given: Input, classifier: Any) -> dict[str, Any]:
    """Settings that make methods fast, exact and reproducible."""
    several = [classifier, MultinomialNB(), BernoulliNB(alpha=0.5)]
    if np.min(given.X) < 0:
        several = [classifier, GaussianNB(var_smoothing=0.1), BernoulliNB(alpha=0.5)]
    return {
        "classifier": classifier, "classifiers": several, "random_state": 0,
        "quantifier": hc.GPAC(classifier, random_state=0), "replicates": REPLICATES,
        "n_members": 3, "n_estimators": 8, "n_subsets": 10, "n_points": 1000,
    }  # fmt: skip


def _quantifier(given: Input, name: str, shared: dict[str, Any], own: dict[str, Any]) -> Any:
    made = make(quantifiers()[name], shared, own)
    if given.n_classes > 2 and made.info.multiclass == "one-vs-rest":
        return hc.OneVsRest(made)
    return made


def _cases(given: Input, names: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Methods with their defaults, and with other settings where there are no weights."""
    for name in names:
        yield name, {}
        for own in VARIANTS.get(name, []) if given.weights is None else []:
            yield name, own


def _label(given: Input, name: str, own: dict[str, Any], form: str) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in own.items())
    return f"{given.name} / {name}({settings}) / {form}"


@dataclass(frozen=True)
class Form:
    """A form of input: how to fit, and how to call a fitted method on the pool."""

    name: str
    classifier: Any
    fit: Callable[[Any], Any]
    call: Callable[..., Any]


def _forms(given: Input) -> Iterator[Form]:
    """Items, their scores, the decisions by these scores, and a scorer that is shared."""
    pool, known = given.X_pool, {"sample_weight": given.weights}

    def on_items(model: Any, call: str, *rest: Any, **options: Any) -> Any:
        return getattr(model, call)(pool, *rest, **options)

    def on_scores(model: Any, call: str, *rest: Any, **options: Any) -> Any:
        return with_scores(model, call, given.pool_scores, *rest, **options)

    def on_decisions(model: Any, call: str, *rest: Any, **options: Any) -> Any:
        classes = np.unique(given.y)
        decided = classes[given.pool_scores.argmax(axis=1)]
        return with_decisions(model, call, decided, classes, *rest, **options)

    def fit_decisions(model: Any) -> Any:
        classes = np.unique(given.y)
        decided = classes[given.scores.argmax(axis=1)]
        return with_decisions(model, "fit", decided, classes, given.y, **known)

    def fit_scorer(model: Any) -> Any:
        scorer = hc.Scorer(given.classifier, random_state=0)
        return model.fit_scorer(scorer.fit(given.X, given.y, **known))

    exact = given.classifier
    yield Form("items", exact, lambda q: q.fit(given.X, given.y, **known), on_items)
    yield Form(
        "scores",
        None,
        lambda q: with_scores(q, "fit", given.scores, given.y, **known),
        on_scores,
    )
    yield Form("decisions", None, fit_decisions, on_decisions)
    yield Form("scorer", exact, fit_scorer, on_items)


def _note_quantifier(
    outputs: Outputs, parts: tuple[str, str], case: str, fit: Callable[[], Any], use: Any
) -> None:
    """Solutions and estimates of one quantifier; ``use`` calls it on the pool."""
    fitted: list[Any] = []

    def solved() -> dict[str, Any]:
        fitted.append(fit())
        found = _solved(use(solver_of(fitted[0]), "solve_many"))
        return found | {"predicted": use(fitted[0], "predict_many")}

    def estimated() -> dict[str, Any]:
        options = {"replicates": REPLICATES, "random_state": 0}
        found = _estimated(use(fitted[0], "estimate_many", most=N_ESTIMATED, **options))
        options |= {estimand_name(): "expected", "prior": 2.0}
        other = _estimated(use(fitted[0], "estimate_many", most=1, **options))
        return found | {f"{name}, expected": value for name, value in other.items()}

    outputs.note(parts[0], case, solved)
    if fitted:
        outputs.note(parts[1], case, estimated)


def _note_quantifiers(outputs: Outputs, given: Input) -> None:
    """Every method, with every form of input that it takes."""
    for form in _forms(given):
        shared = _shared(given, form.classifier)
        for name, own in _cases(given, quantifiers()):
            counts = quantifiers()[name].info.input == "labels" and not own.get("soft")
            if (form.name == "decisions" and not counts) or (form.name == "scorer" and own):
                continue

            def use(model, call, *, most=None, form=form, **options) -> Any:
                return form.call(model, call, given.samples[:most], **options)

            _note_quantifier(
                outputs, ("shares", "estimates"), _label(given, name, own, form.name),
                lambda n=name, o=own, d=form, s=shared: d.fit(_quantifier(given, n, s, o)), use,
            )  # fmt: skip


def _note_default_classifier(outputs: Outputs, given: Input) -> None:
    """Cross-fitted logistic regression, which versions solve to different tolerances."""
    part, items = "default classifier", next(_forms(given))
    scorer = hc.Scorer(random_state=0)
    outputs.note(
        part, f"{given.name} / Scorer",
        lambda: {"posteriors": scorer.fit(given.X, given.y, given.weights).posteriors_},
    )  # fmt: skip

    def use(model, call, *, most=None, **options) -> Any:
        return items.call(model, call, given.samples[:most], **options)

    shared = _shared(given, None)
    for name in quantifiers():
        _note_quantifier(
            outputs, (part, part), _label(given, name, {}, "items"),
            lambda n=name: items.fit(_quantifier(given, n, shared, {})), use,
        )  # fmt: skip


def _note_accuracy(outputs: Outputs, given: Input) -> None:
    """Every predictor of the accuracy of a model, on items and on the scores of the model."""
    exact = BernoulliNB(alpha=0.5)
    shared = {
        "classifier": given.model, "quantifier": hc.KDEyML(exact, random_state=0),
        "learner": exact, "random_state": 0, "n_samples": 20, "size": 50,
        "param_grid": {"variant": ["1xn2", "nxn"], "quantifier__bandwidth": [0.1, 0.2]},
    }  # fmt: skip
    scores, pool_scores = map(given.model.predict_proba, (given.X, given.X_pool))
    options = {"replicates": REPLICATES, "random_state": 0}

    def fit_items(made: Any) -> Any:
        return made.fit(given.X, given.y)

    def fit_scores(made: Any) -> Any:
        return with_scores(made.set_params(classifier=None), "fit", scores, given.y)

    def on_items(model: Any, call: str, *rest: Any, **more: Any) -> Any:
        return getattr(model, call)(given.X_pool, *rest, **more)

    def on_scores(model: Any, call: str, *rest: Any, **more: Any) -> Any:
        return with_scores(model, call, pool_scores, *rest, **more)

    forms = {"items": (fit_items, on_items), "scores": (fit_scores, on_scores)}
    for (name, own), (form, (fit, use)) in product(
        _cases(given, accuracy.predictors()), forms.items()
    ):
        case = _label(given, name, own, form)
        fitted: list[Any] = []

        def predicted(fit=fit, use=use, name=name, own=own, fitted=fitted) -> dict[str, Any]:
            fitted.append(fit(make(accuracy.predictors()[name], shared, own)))
            return {"accuracy": use(fitted[0], "predict_many", given.samples)}

        outputs.note("accuracy", case, predicted)
        if not fitted:
            continue
        used = partial(use, fitted[0])
        calls = {
            "f1": lambda used=used: {"f1": used("predict_many", given.samples, "f1")},
            "tables": lambda used=used: {"tables": used("predict_tables", given.samples)},
            "estimates": lambda used=used: _accuracy_estimated(
                used("estimate_many", given.samples[:N_ESTIMATED], **options)
            ),
        }
        for what, call in calls.items():
            outputs.note("accuracy", f"{case} / {what}", call)


def _note_fit_test(outputs: Outputs, given: Input) -> None:
    def tested() -> dict[str, Any]:
        tests = fit_test(
            given.scores, given.y, given.pool_scores, given.samples, weights=given.weights
        )
        names = ("statistic", "df", "p_value", "prevalence")
        return {name: getattr(tests, name) for name in names}

    outputs.note("fit test", given.name, tested)


def _note_evaluation(outputs: Outputs, given: Input) -> None:
    """Evaluation and model selection, on items and on scores."""
    methods = ("CC", "GPAC", "SLD", "KDEyML", "EDy")
    protocol = hc.UPP(n_samples=20, size=50, random_state=0)
    measures = ("ae", "rae", "kld")
    grid = {"bandwidth": [0.05, 0.1, 0.2]}
    options = {"protocol": protocol, "random_state": 0, "n_jobs": 1}

    def of_items() -> dict[str, Any]:
        fitted = {
            name: getattr(hc, name)(given.classifier, random_state=0).fit(given.X, given.y)
            for name in methods
        }
        return hc.evaluate(
            fitted, given.X_pool, given.y_pool, protocol, metrics=measures
        ).metrics

    def of_scores() -> dict[str, Any]:
        fitted = {
            name: with_scores(getattr(hc, name)(), "fit", given.scores, given.y)
            for name in methods
        }
        found = evaluate_scores(
            fitted, given.pool_scores, given.y_pool, protocol, metrics=measures
        )
        return found.metrics

    def searched(search: Any) -> dict[str, Any]:
        return {
            "error": search.best_score_, "bandwidth": search.best_params_["bandwidth"],
            "predicted": search.results_.means,
        }  # fmt: skip

    def search_items() -> dict[str, Any]:
        base = hc.KDEyML(given.classifier, random_state=0)
        return searched(hc.GridSearch(base, grid, **options).fit(given.X, given.y))

    def search_scores() -> dict[str, Any]:
        search = hc.GridSearch(hc.KDEyML(), grid, **options)
        return searched(with_scores(search, "fit", given.scores, given.y))

    def adapted() -> dict[str, Any]:
        classifier = AdaptedClassifier(given.classifier, hc.GPAC(), random_state=0)
        classifier.fit(given.X, given.y, sample_weight=given.weights)
        new = given.X_pool[given.samples[2]]
        return {
            "prior": classifier.adapt(new).adapted_prior_,
            "posteriors": classifier.predict_proba(new),
        }

    calls = {
        "evaluate, items": of_items, "evaluate, scores": of_scores,
        "GridSearch, items": search_items, "GridSearch, scores": search_scores,
        "AdaptedClassifier": adapted,
    }  # fmt: skip
    for name, call in calls.items():
        outputs.note("evaluation", f"{given.name} / {name}", call)


def _note_metrics(outputs: Outputs) -> None:
    rng = np.random.default_rng(0)
    for K in (2, 3, 5):
        true, found = rng.dirichlet(np.ones(K), 50), rng.dirichlet(np.ones(K), 50)
        for name, metric in metrics.METRICS.items():
            options = {"size": 100} if name in metrics.SMOOTHED else {}
            outputs.note(
                "metrics", f"{name}, {K} classes",
                lambda m=metric, t=true, f=found, o=options: {"errors": m(t, f, **o)},
            )  # fmt: skip


def _drawn(samples: Any) -> dict[str, Any]:
    names = ("indices", "offsets", "prevalence")
    return {name: getattr(samples, name) for name in names}


def _note_samples(outputs: Outputs) -> None:
    rng = np.random.default_rng(0)
    for K in (2, 3, 5):
        y = rng.integers(K, size=2000)
        protocols = {
            "APP": hc.APP(n_prevalences=5, repeats=3, size=50, random_state=0),
            "UPP": hc.UPP(n_samples=20, size=50, random_state=0),
            "NPP": hc.NPP(n_samples=20, size=range(30, 50), random_state=0),
            "Dirichlet": hc.Dirichlet(np.arange(1, K + 1), 20, 50, random_state=0),
            "Prevalences": hc.Prevalences(rng.dirichlet(np.ones(K), 5), 3, 50, random_state=0),
        }
        for name, protocol in protocols.items():
            call = partial(lambda p, y: _drawn(p.draw(y)), protocol, y)
            outputs.note("samples", f"{name}, {K} classes", call)
    _note_shifts(outputs, rng)


def _note_shifts(outputs: Outputs, rng: np.random.Generator) -> None:
    """Two experiments of every protocol of dataset shift."""
    y = rng.integers(3, size=4000)
    groups = np.array(["A", "B"])[rng.integers(2, size=4000)]
    ratings = rng.integers(1, 6, size=4000).astype(float)
    common = {
        "train_size": 200, "test_size": 50, "repeats": 2, "test_repeats": 2, "random_state": 0
    }  # fmt: skip
    rated = {"groups": groups, "ratings": ratings}
    protocols = {
        "PriorShift": (shift.PriorShift([0.2, 0.5], [0.1, 0.9], **common), rated),
        "GlobalCovariateShift": (
            shift.GlobalCovariateShift([0.2, 0.8], [0.5], **common),
            rated,
        ),
        "LocalCovariateShift": (shift.LocalCovariateShift([0.4, 0.6], **common), rated),
        "ConceptShift": (shift.ConceptShift([2.5, 3.5], **common), rated),
        "KnockOut": (shift.KnockOut(1, [0.2, 0.5], **common), {"y": y}),
        "TweakOne": (shift.TweakOne(1, [0.2, 0.5], **common), {"y": y}),
    }
    for name, (protocol, given) in protocols.items():

        def experiments(protocol=protocol, given=given) -> dict[str, Any]:
            found = list(protocol.draw(**given))[:2]
            return {
                f"{number}, {what}": value
                for number, each in enumerate(found)
                for side, samples in (("train", each.train), ("test", each.test))
                for what, value in ((f"{side} {k}", v) for k, v in _drawn(samples).items())
            } | {f"{number}, degree": each.degree for number, each in enumerate(found)}

        outputs.note("samples", name, experiments)


def save_outputs(file: Path, chosen: list[str]) -> None:
    """Call everything in the version that is imported, and save what it returns."""
    warnings.simplefilter("ignore")
    outputs = Outputs()
    _note_metrics(outputs)
    _note_samples(outputs)
    for given in inputs():
        if chosen and given.name not in chosen:
            continue
        outputs.note(
            "inputs", given.name,
            lambda g=given: {"scores": g.scores, "pool": g.pool_scores, "labels": g.y},
        )  # fmt: skip
        _note_quantifiers(outputs, given)
        _note_fit_test(outputs, given)
        if given.weights is None:
            _note_accuracy(outputs, given)
            _note_evaluation(outputs, given)
        if given.weights is None and given.n_classes < 5:
            _note_default_classifier(outputs, given)
        print(given.name, file=sys.stderr, flush=True)
    with file.open("wb") as stream:
        np.savez_compressed(stream, **outputs.arrays)
