"""Settings to try, and their selection on development samples: each pool scored once.

Candidates with the same classifier are one unit of work: the classifier is trained, the
development samples are scored in blocks, and all candidates estimate them. Of the test
samples, a block is read at a time and scored by each selected classifier. Networks have no
classifier of that kind: they are trained on the development samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from headcount._support.execution import track
from headcount.errors import HeadcountError
from headcount.evaluation.measures import Measure, check_measure, shares_for
from headcount.items.arrays import Scored
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.deep.quantifiers import NetworkQuantifier
from headcount.samples.samples import Samples
from headcount.scores.scorer import Scorer
from headcount_studies.classifier_grid import is_installed, made, quietly
from headcount_studies.data.lequa import LequaTask
from headcount_studies.datasets import LequaData, LequaSamples
from headcount_studies.engine.spec import MethodSpec, Spec, reason

_LOGISTIC = "logistic"
# Quantifier of a committee, its grid, and its name as a setting.
_NamedMember = tuple[Quantifier, dict[str, Any], dict[str, str]]
# Losses of networks by the metric of a task.
_LOSSES = {"rae": "ae-rae", "nmd": "nmd"}
CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {
    "lightgbm": lambda seed: _lightgbm(seed),
    "rbf-svm": lambda seed: make_pipeline(StandardScaler(), SVC(random_state=seed)),
    "discriminant": lambda seed: LinearDiscriminantAnalysis(),
    "svm": lambda seed: make_pipeline(StandardScaler(), LinearSVC(C=0.01, random_state=seed)),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(100, min_samples_leaf=3, random_state=seed),
    "mlp-512-tanh": lambda seed: _network(512, "tanh", seed),
    "mlp-320": lambda seed: _network(320, "relu", seed),
}
"""Classifiers by the names of a spec; "logistic" stands for the grid of the spec."""


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def _network(units: int, activation: str, seed: int) -> Any:
    network = MLPClassifier(
        (units,), activation=activation, early_stopping=True, random_state=seed
    )
    return make_pipeline(StandardScaler(), network)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A quantifier with a classifier, in one setting."""

    classifier: Any
    held_out: bool
    quantifier: Quantifier
    setting: dict[str, Any] = field(default_factory=dict)
    race: int | None = None
    labelled: bool = False  # networks: half of the training bags are drawn from labelled items


@dataclass(frozen=True)
class Combination:
    """How the best of each group become one answer: of all, or of the best ones."""

    combine: str = "median"
    keep: int | None = None


def named_method(spec: Spec, name: str) -> MethodSpec:
    """Method of the spec by its name, or any other quantifier of the library."""
    for listed in spec.methods:
        if listed.name.lower() == name.lower():
            return listed
    unlisted = MethodSpec(name)
    quantifier = made(unlisted)
    if not ScoringPlan(quantifier).takes_scores and not isinstance(
        quantifier, NetworkQuantifier
    ):
        names = ", ".join(method.name for method in spec.methods)
        raise HeadcountError(
            f"method is {name!r}, which does not work on the scores of one classifier: choose "
            f"one that does, a network, or one of {names}."
        )
    return unlisted


def methods_of(spec: Spec, task: LequaTask) -> list[MethodSpec]:
    """Methods of the spec that are meant for a task, and whose packages are installed."""
    return [
        method
        for method in spec.methods
        if task.name in method.options.get("tasks", [task.name]) and is_installed(method)
    ]


def _options(method: MethodSpec, task: LequaTask) -> dict[str, Any]:
    """Options of a method for a task."""
    return method.options | method.options.get("by_task", {}).get(task.name, {})


def candidates_of(
    spec: Spec, method: MethodSpec, task: LequaTask, seed: int
) -> list[list[Candidate]]:
    """Candidates of a method for a task, in groups: the best of each group is used."""
    options = _options(method, task)
    parameters = method.parameters | options.get("parameters", {})
    around: dict[str, Any] = {
        key: options[key] for key in ("inside", "around") if key in options
    }
    quantifier = made(MethodSpec(method.name, method.quantifier, parameters, around))
    if isinstance(quantifier, NetworkQuantifier):
        settings_of_candidate = {"loss": _LOSSES.get(task.metric, "ae"), "random_state": seed}
        network = quantifier.set_params(**settings_of_candidate | parameters)
        labelled = bool(network.estimates) or options.get("labelled", False)
        return [[Candidate(None, False, network, labelled=labelled)]]
    held_out = options.get("scoring") == "holdout"
    members: list[_NamedMember] = [(quantifier, dict(options.get("grid", {})), {})]
    if "quantifiers" in options:
        members = [_member(method.name, name) for name in options["quantifiers"]]
    groups = []
    for name in options.get("classifiers", [_LOGISTIC]):
        if name == "lightgbm" and find_spec(name) is None:
            continue
        classifiers = _classifiers(spec, name, options, seed)
        for member, grid, named in members:
            groups.append(
                [
                    Candidate(
                        classifier,
                        held_out,
                        clone(member).set_params(**_inner(member, tried)),
                        named | setting | tried,
                        options.get("race"),
                    )
                    for classifier, setting in classifiers
                    for tried in ParameterGrid(grid)
                ]
            )
    return groups


def _member(method: str, table: Mapping[str, Any]) -> _NamedMember:
    name = table["quantifier"]
    quantifier = made(MethodSpec(method, name, dict(table.get("parameters", {}))))
    return quantifier, dict(table.get("grid", {})), {"quantifier": name.rpartition(":")[2]}


def combination_of(method: MethodSpec, task: LequaTask) -> Combination:
    """Combination of the groups of candidates of a method."""
    options = _options(method, task)
    return Combination(options.get("combine", "median"), options.get("keep"))


def _inner(quantifier: Quantifier, setting: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the grid, of the quantifier inside if there is one."""
    parameters = quantifier.get_params()
    return {
        name if name in parameters else f"quantifier__{name}": value
        for name, value in setting.items()
    }


def _classifiers(
    spec: Spec, name: str, options: Mapping[str, Any], seed: int
) -> Sequence[tuple[Any, dict[str, Any]]]:
    if name != _LOGISTIC:
        return [(CLASSIFIERS[name](seed), {"classifier": name})]
    classifiers = []
    for weight in options.get("class_weight", spec.selection["class_weight"]):
        for C in options.get("C", spec.selection["C"]):
            classifier = LogisticRegression(
                C=C,
                class_weight=None if weight == "none" else weight,
                max_iter=spec.protocol["max_iter"],
            )
            classifiers.append((classifier, {"C": C, "class_weight": weight}))
    return classifiers


Floats = NDArray[np.float64]
Groups = Mapping[str, Sequence[Sequence[Candidate]]]
_BLOCK_ITEMS = 50_000
_FINALISTS = 3  # settings of a race that are tried on all samples


@dataclass(frozen=True)
class Protocol:
    """Settings of the selection."""

    folds: int = 5
    holdout: float = 0.4
    seed: int = 0
    n_dev: int | None = None


@dataclass(frozen=True, eq=False)
class _Member:
    """Fitted quantifier of a group, with the key of its scorer; networks have none."""

    key: str
    scorer: Any
    quantifier: Quantifier
    setting: dict[str, Any]
    error: float


_Place = tuple[str, int]  # a method, and the number of a group of its candidates
_Outcome = tuple[dict[_Place, _Member], dict[_Place, str]]


@dataclass(frozen=True, eq=False)
class Selected:
    """Fitted quantifiers of a method in the settings that were selected."""

    members: tuple[_Member, ...]
    error: float = float("nan")
    failure: str | None = None
    combine: str = "median"

    @property
    def setting(self) -> str:
        """Settings as text."""
        settings = [
            ", ".join(
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in member.setting.items()
            )
            for member in self.members
        ]
        return "; ".join(settings)


def select(
    data: LequaData,
    methods: Groups,
    protocol: Protocol,
    *,
    combinations: Mapping[str, Combination] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> dict[str, Selected]:
    """Fit all candidates and choose those with the least mean error on development samples."""
    measure = check_measure(data.task.metric)
    encoder = _encoder(data)
    X = encoder(data.X)
    units = _units(methods)
    several = any(len(group) > 1 for groups in methods.values() for group in groups)
    several |= any(how.keep is not None for how in (combinations or {}).values())
    networks = any(unit.candidates[0].classifier is None for unit in units)
    dev = None
    if several or networks:
        # Weights of words are sparse and take long to compute: they are kept.
        dev = _Dev(data.dev, encoder(data.dev.X) if data.task.n_features is None else None)
    work = joblib.Parallel(n_jobs=min(n_jobs, len(units)), return_as="generator")(
        joblib.delayed(_try_unit)(unit, X, data.y, dev, measure, protocol) for unit in units
    )
    best: dict[_Place, _Member] = {}
    failures: dict[str, str] = {}
    for by_place, problems in track(work, len(units), "Selecting settings", show=progress):
        for place, member in by_place.items():
            if place not in best or member.error < best[place].error:
                best[place] = member
        for place, problem in problems.items():
            failures.setdefault(place[0], problem)
    selections = {
        name: _selected(
            name,
            [best.get((name, i)) for i in range(len(groups))],
            failures,
            (combinations or {}).get(name, Combination()),
        )
        for name, groups in methods.items()
    }
    return selections | _median_errors(data, selections, measure, protocol.n_dev)


def predict(
    data: LequaData,
    split: LequaSamples,
    selected: Mapping[str, Selected],
    *,
    n_samples: int | None = None,
    progress: bool | None = None,
) -> dict[str, Floats]:
    """Estimate the samples of a part by each method, reading a block of samples at a time."""
    encoder, measure = _encoder(data), check_measure(data.task.metric)
    K = data.task.n_classes
    test_samples = split.samples[:n_samples]
    shares = {name: np.empty((len(test_samples), K)) for name in selected}
    scorers = {
        member.key: member.scorer
        for selection in selected.values()
        for member in selection.members
    }
    done = 0
    total = sum(1 for _ in test_samples.chunks(_BLOCK_ITEMS))
    blocks = split.blocks(_BLOCK_ITEMS, first=n_samples)
    with quietly():
        for items, samples in track(blocks, total, "Estimating samples", show=progress):
            X = encoder(items)
            scored = {key: _scored(scorer, X) for key, scorer in scorers.items()}
            rows = slice(done, done + len(samples))
            for name, selection in selected.items():
                answers = [
                    shares_for(member.quantifier, scored[member.key], samples, measure)
                    for member in selection.members
                ]
                shares[name][rows] = _COMBINED[selection.combine](np.stack(answers))
            done += len(samples)
    return shares


def _median_errors(
    data: LequaData, chosen: Mapping[str, Selected], measure: Measure, n_dev: int | None
) -> dict[str, Selected]:
    """Methods that are a median, with the error of the median instead of its members."""
    several = {
        name: selection
        for name, selection in chosen.items()
        if selection.failure is None
        and len(selection.members) > 1
        and np.isfinite(selection.error)
    }
    if not several:
        return {}
    shares = predict(data, data.dev, several, n_samples=n_dev, progress=False)
    samples = data.dev.samples[:n_dev]
    true = samples.prevalence
    assert true is not None
    return {
        name: replace(selection, error=float(measure(true, shares[name], samples.sizes).mean()))
        for name, selection in several.items()
    }


def _encoder(data: LequaData) -> Callable[[Any], Any]:
    """From the items of the files to what classifiers take: texts become weights of words."""
    if data.task.n_features is not None:
        return lambda items: items
    words = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float64).fit(data.X)
    return words.transform


@dataclass(frozen=True, eq=False)
class _Unit:
    """Candidates with the same classifier and scoring, by method and number of the group."""

    key: str
    groups: dict[_Place, list[Candidate]]

    @property
    def candidates(self) -> list[Candidate]:
        """Candidates of all groups."""
        return [candidate for group in self.groups.values() for candidate in group]


def _units(methods: Groups) -> list[_Unit]:
    """Candidates by classifier and scoring."""
    units: dict[str, _Unit] = {}
    for name, groups in methods.items():
        for number, group in enumerate(groups):
            for candidate in group:
                key = str(joblib.hash((candidate.classifier, candidate.held_out)))
                places = units.setdefault(key, _Unit(key, {})).groups
                places.setdefault((name, number), []).append(candidate)
    return list(units.values())


@dataclass(frozen=True, eq=False)
class _Dev:
    """Development samples that are read, block by block, as often as they are scored."""

    dev: LequaSamples
    encoded: Any

    def items(self, n_dev: int | None) -> tuple[Any, Samples]:
        """Items of the samples, and the samples."""
        samples = self.dev.samples[:n_dev]
        n = int(samples.offsets[-1])
        items = self.dev.X if self.encoded is None else self.encoded
        return items[:n], _over(samples, n)

    def scored(self, scorer: Any, n_dev: int | None) -> tuple[Scored, Samples]:
        if self.encoded is not None:
            items, samples = self.items(n_dev)
            return _scored(scorer, items), samples
        samples = self.dev.samples[:n_dev]
        chunks = [
            _scored(scorer, X).posteriors for X, _ in self.dev.blocks(_BLOCK_ITEMS, first=n_dev)
        ]
        posteriors = np.concatenate(chunks)
        return Scored(posteriors, scorer.classes_), _over(samples, len(posteriors))


def _over(samples: Samples, n_pool: int) -> Samples:
    return Samples.unchecked(
        samples.indices, samples.offsets, n_pool, samples.prevalence, samples.classes
    )


def _try_unit(
    unit: _Unit,
    X: Any,
    y: NDArray[np.int64],
    dev: _Dev | None,
    measure: Measure,
    protocol: Protocol,
) -> _Outcome:
    """Best candidate of each method and group with this classifier, and failures."""
    if unit.candidates[0].classifier is None:
        assert dev is not None
        return _trained_networks(unit, X, y, dev, protocol)
    best: dict[_Place, _Member] = {}
    problems: dict[_Place, str] = {}
    with quietly():
        try:
            scorer = _fitted_scorer(unit, X, y, protocol)
            trial = (
                None if dev is None else _Trial(*dev.scored(scorer, protocol.n_dev), measure)
            )
        except Exception as error:
            return best, dict.fromkeys(unit.groups, reason(error))
        for place, candidates in unit.groups.items():
            fitted = []
            for candidate in candidates:
                try:
                    quantifier = clone(candidate.quantifier).fit_scorer(scorer)
                    fitted.append(
                        _Member(unit.key, scorer, quantifier, candidate.setting, np.nan)
                    )
                except Exception as error:
                    problems[place] = reason(error)
            if trial is not None:
                fitted, failed = _tried(fitted, trial, candidates[0].race)
                if failed:
                    problems[place] = failed[-1]
            if fitted:
                best[place] = min(fitted, key=_error)
    return best, problems


def _trained_networks(
    unit: _Unit, X: Any, y: NDArray[np.int64], dev: _Dev, protocol: Protocol
) -> _Outcome:
    """Networks, and their errors on development samples held out of training."""
    best: dict[_Place, _Member] = {}
    problems: dict[_Place, str] = {}
    items, samples = dev.items(protocol.n_dev)
    for place, (candidate, *_) in unit.groups.items():
        network: Any = clone(candidate.quantifier)
        # Generated samples may have another size than those of the challenge.
        network.set_params(size=int(samples.sizes[0]))
        try:
            network.fit_samples(items, samples, labelled=(X, y) if candidate.labelled else None)
        except Exception as error:
            problems[place] = reason(error)
            continue
        least = min(network.validation_losses_)
        best[place] = _Member(unit.key, None, network, candidate.setting, least)
    return best, problems


@dataclass(frozen=True, eq=False)
class _Trial:
    """Scored development samples, and the error to measure on them."""

    scored: Scored
    samples: Samples
    measure: Measure

    def error(self, quantifier: Quantifier, n_samples: int | None = None) -> float:
        samples = self.samples[:n_samples]
        true = samples.prevalence
        assert true is not None
        scored = self.scored
        if n_samples is not None:
            # A pool of their own, as methods may score all of it.
            n = int(samples.offsets[-1])
            scored, samples = scored.take(np.arange(n)), _over(samples, n)
        shares = shares_for(quantifier, scored, samples, self.measure)
        return float(self.measure(true, shares, samples.sizes).mean())


def _tried(
    members: Sequence[_Member], trial: _Trial, race: int | None
) -> tuple[list[_Member], list[str]]:
    """Members with their errors, and problems; in a race, the best on the first samples."""
    runs_race = race and len(trial.samples) > race and len(members) > _FINALISTS
    problems: list[str] = []
    for n_samples in (race, None) if runs_race else (None,):
        measured = []
        for member in members:
            try:
                error = trial.error(member.quantifier, n_samples)
                measured.append(replace(member, error=error))
            except Exception as failure:
                problems.append(reason(failure))
        members = measured if n_samples is None else sorted(measured, key=_error)[:_FINALISTS]
    return list(members), problems


_error = attrgetter("error")


def _fitted_scorer(unit: _Unit, X: Any, y: NDArray[np.int64], protocol: Protocol) -> Scorer:
    first = unit.candidates[0]
    classifier = clone(first.classifier)
    if first.held_out:
        rows = np.arange(len(y))
        fit, held = train_test_split(
            rows, test_size=protocol.holdout, stratify=y, random_state=protocol.seed
        )
        frozen = FrozenEstimator(classifier.fit(X[fit], y[fit]))
        return Scorer(frozen, fold_scoring=False).fit(X[held], y[held])
    scorer = Scorer(
        classifier, cv=protocol.folds, fold_scoring=False, random_state=protocol.seed
    )
    learns = any(ScoringPlan(candidate.quantifier).learns for candidate in unit.candidates)
    return scorer.fit(X, y, out_of_fold=learns)


def _scored(scorer: Any, X: Any) -> Any:
    """Posteriors of the items; the items themselves for networks, which have no scorer."""
    if scorer is None:
        return X
    return Scored(scorer.posteriors(X), scorer.classes_)


def _selected(
    name: str, members: Sequence[_Member | None], failures: Mapping[str, str], how: Combination
) -> Selected:
    usable = tuple(member for member in members if member is not None)
    if len(usable) < len(members):
        return Selected(usable, failure=failures.get(name, "no setting could be used"))
    if how.keep is not None:
        usable = tuple(sorted(usable, key=_error)[: how.keep])
    error = float(np.mean([member.error for member in usable]))
    return Selected(usable, error, combine=how.combine)


def _median(shares: Floats) -> Floats:
    """Median over quantifiers by class, divided by its sum."""
    if len(shares) == 1:
        return np.asarray(shares[0])
    middle = np.median(shares, axis=0)
    total = middle.sum(axis=1, keepdims=True)
    return np.where(total > 0, middle / np.where(total > 0, total, 1), shares.mean(axis=0))


_COMBINED: Mapping[str, Callable[[Floats], Floats]] = {
    "median": _median,
    "mean": lambda shares: np.asarray(shares.mean(axis=0)),
}
