"""One grid of classifiers for many quantifiers: each trained once, whoever chooses it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from headcount.errors import HeadcountError, HeadcountWarning
from headcount.evaluation.measures import Measure
from headcount.evaluation.search import LabelledPool, Split
from headcount.items.arrays import Scored
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.one_vs_rest import base_scorer
from headcount.quantifiers.registry import method
from headcount.samples.samples import Samples
from headcount.scores.calibration import fit_calibrator
from headcount.scores.scorer import ScoredPool, equal_scorers
from headcount_studies.engine.spec import MethodSpec, import_object, reason

_MAX_ITER = 1000


@dataclass(frozen=True)
class Choice:
    """The number of a setting, or the reason why none could be chosen."""

    setting: int | None
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """Shares of the classes in samples, or the reason why there are none; time it took.

    The time is that of one test: of a part of the fit, with that of a shared classifier,
    and of the estimates.
    """

    prevalence: NDArray[np.float64] | None
    failure: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class ClassifierGrid:
    """Settings of logistic regression, the same folds for all of them.

    Quantifiers that train a machine of their own take the C of a setting.
    """

    settings: tuple[dict[str, Any], ...]
    folds: int
    seed: int

    def quantifier(self, quantifier: Quantifier, setting: int) -> Quantifier:
        """A copy of a quantifier in a setting: with its classifier, or its own C."""
        copy = clone(quantifier)
        parameters = copy.get_params()
        inner = "" if {"classifier", "C"} & parameters.keys() else "quantifier__"
        if not {f"{inner}classifier", f"{inner}C"} & parameters.keys():
            raise HeadcountError(
                f"{type(copy).__name__} has neither a classifier nor a C to choose: leave "
                "it out."
            )
        settings: dict[str, Any] = dict.fromkeys(
            ("random_state", f"{inner}random_state"), self.seed
        )
        settings[f"{inner}cv"] = self.folds
        settings[f"{inner}classifier"] = self._classifier(setting)
        settings[f"{inner}C"] = self.settings[setting]["C"]
        return copy.set_params(
            **{name: settings[name] for name in settings if name in parameters}
        )

    def _classifier(self, setting: int) -> LogisticRegression:
        return LogisticRegression(max_iter=_MAX_ITER, **self.settings[setting])


def choose(
    grid: ClassifierGrid,
    quantifiers: Mapping[str, Quantifier],
    items: LabelledPool,
    split: Split,
    measures: Sequence[Measure],
) -> list[dict[str, Choice]]:
    """For each measure and quantifier the setting with the least mean error.

    Items are scored as `answer` scores them, with one training per setting.
    """
    train, test = items.take(split.train), items.take(split.test)
    true, sizes = split.samples.prevalence, split.samples.sizes
    assert true is not None  # protocols tell the shares they drew
    labelled_items = train.X, train.classes[train.codes]
    tests = [(ScoredPool(test.X), split.samples)]
    means = np.full((len(measures), len(quantifiers), len(grid.settings)), np.inf)
    problems: dict[str, str] = {}
    for setting in range(len(grid.settings)):
        choices = dict.fromkeys(quantifiers, Choice(setting))
        answers = answer(grid, quantifiers, choices, labelled_items, tests)
        for place, name in enumerate(quantifiers):
            (result,) = answers[name]
            if result.prevalence is None:
                problems.setdefault(name, result.failure or "")
                continue
            means[:, place, setting] = [
                float(measure(true, result.prevalence, sizes).mean()) for measure in measures
            ]
    return [
        {
            name: _least(row.tolist(), problems.get(name, ""))
            for name, row in zip(quantifiers, of_measure, strict=True)
        }
        for of_measure in means
    ]


def answer(
    grid: ClassifierGrid,
    quantifiers: Mapping[str, Quantifier],
    choices: Mapping[str, Choice],
    train: tuple[Any, NDArray[Any]],
    tests: Sequence[tuple[ScoredPool, Samples]],
    *,
    calibration: str | None = None,
) -> dict[str, list[Answer]]:
    """Shares in test samples by each quantifier with the setting chosen for it.

    A calibration is that of a classifier that quantifiers share, fitted on the out-of-fold
    scores of the training items, as SLD does.
    """
    answers = {name: [Answer(None, choices[name].failure)] * len(tests) for name in quantifiers}
    learners = {
        name: grid.quantifier(quantifier, setting)
        for name, quantifier in quantifiers.items()
        if (setting := choices[name].setting) is not None
    }
    names, scorers = list(learners), [_scorer(learner) for learner in learners.values()]
    for group in equal_scorers(scorers):
        if scorers[group[0]] is None:
            name = names[group[0]]
            answers[name] = _answers(partial(learners[name].fit, *train), tests, 0.0)
        else:
            sharing = {names[i]: learners[names[i]] for i in group}
            answers |= _answers_of_sharing(sharing, train, tests, calibration)
    return answers


def _answers_of_sharing(
    learners: Mapping[str, Quantifier],
    train: tuple[Any, NDArray[Any]],
    tests: Sequence[tuple[Any, Samples]],
    calibration: str | None,
) -> dict[str, list[Answer]]:
    """Of quantifiers with the same classifier: one training and one scoring serves them."""
    scorer = _scorer(next(iter(learners.values())))
    learns = any(ScoringPlan(learner).learns for learner in learners.values())
    start = perf_counter()
    try:
        scorer.fit(*train, out_of_fold=learns or calibration is not None)
        fits = {name: partial(learner.fit_scorer, scorer) for name, learner in learners.items()}
        if calibration is not None:
            labelled_scores, tests = _calibrated(scorer, calibration, tests)
            labelled = labelled_scores, train[1]
            fits = {name: partial(learner.fit, *labelled) for name, learner in learners.items()}
    except Exception as error:
        return {name: [Answer(None, reason(error))] * len(tests) for name in learners}
    shared = perf_counter() - start
    return {name: _answers(fit, tests, shared) for name, fit in fits.items()}


def _calibrated(
    scorer: Any, calibration: str, tests: Sequence[tuple[ScoredPool, Samples]]
) -> tuple[Scored, list[tuple[Scored, Samples]]]:
    """Calibrated scores of training items and of tests."""
    calibrator = fit_calibrator(calibration, scorer.posteriors_, scorer.codes_)

    def scored(posteriors: NDArray[np.float64]) -> Scored:
        return Scored(calibrator.transform(posteriors), scorer.classes_)

    return scored(scorer.posteriors_), [
        (scored(pool.posteriors(scorer)), samples) for pool, samples in tests
    ]


def shares_classifier(quantifier: Quantifier) -> bool:
    """True if other quantifiers can use its classifier."""
    return _scorer(quantifier) is not None


def _scorer(quantifier: Quantifier) -> Any:
    """Scorer of its items, unfitted; None if it trains something of its own."""
    scorer = ScoringPlan(quantifier).scorer()
    if scorer is not None:
        # As in the published studies.
        base_scorer(scorer).set_params(fold_scoring=False)
    return scorer


def made(spec: MethodSpec) -> Quantifier:
    """The quantifier of a method, wrapped as the spec demands.

    The option ``inside`` names a quantifier, such as OneVsRest, that the method's own is
    given to; ``around`` has the parameters of that one.
    """
    try:
        path = spec.quantifier
        quantifier_class = import_object("quantifier", path) if ":" in path else method(path)
        quantifier = quantifier_class(**spec.arguments)
        if "inside" in spec.options:
            around = dict(spec.options.get("around", {}))
            quantifier = method(spec.options["inside"])(quantifier, **around)
    except TypeError as error:
        raise HeadcountError(
            f"the method {spec.name!r} cannot be made ({error}): check its parameters."
        ) from None
    return quantifier


def is_installed(spec: MethodSpec) -> bool:
    """False if the option ``needs`` of a method names a package that is not installed."""
    needed = spec.options.get("needs")
    return needed is None or find_spec(needed) is not None


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings that small training sets and bold settings are full of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _answers(
    fit: Callable[[], Quantifier], tests: Sequence[tuple[Any, Samples]], shared: float
) -> list[Answer]:
    start = perf_counter()
    try:
        fitted = fit()
        shares = [fitted.predict_many(pool, samples) for pool, samples in tests]
    except Exception as error:
        return [Answer(None, reason(error))] * len(tests)
    seconds = (shared + perf_counter() - start) / len(tests)
    return [Answer(share, None, seconds) for share in shares]


def _least(means: list[float], problem: str) -> Choice:
    best = int(np.argmin(means))
    return Choice(best) if np.isfinite(means[best]) else Choice(None, problem)
