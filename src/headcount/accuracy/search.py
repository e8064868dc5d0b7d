"""Settings of QuAcc, chosen by their error under shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented, parametrised
from headcount._support.execution import base_seeds
from headcount._support.frames import pl
from headcount._support.parameters import check_count, check_fraction, check_grid
from headcount.accuracy.base import Predictor
from headcount.accuracy.fitted import FittedPredictor
from headcount.accuracy.metrics import Metric, OutputSource, Reference, TableMetric, as_metric
from headcount.accuracy.quacc import (
    CellInputs,
    CellSamples,
    CellSet,
    QuAcc,
    as_tables,
    cell_sets,
    covered_by,
    merged_errors_obstacle,
    suited_quantifier,
    with_folds,
)
from headcount.errors import HeadcountError
from headcount.items.arrays import take_rows
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool, equal_scorers

_GRID = {"variant": ["1xn2", "nxn", "1xn+1"], "covariates": [True, False]}


@documented(QuAcc)
@parametrised
class QuAccSearch(Predictor):
    """`QuAcc` with the settings that predict accuracy best on held-out samples.

    A part of the labelled items is held out, and samples with shares uniform on the simplex
    are drawn from it. Settings are compared by the mean absolute error of the predicted
    accuracy on these samples. Settings with equal classifiers share their training: a grid
    of twenty bandwidths or calibrations trains as many classifiers as one setting.

    Parameters
    ----------
    param_grid : dict of str to list, or list of such dicts, default=None
        Values by parameter of `QuAcc`, such as ``{"quantifier__bandwidth": [0.05, 0.1],
        "quantifier__classifier__C": [1, 10]}``; variants and covariates by default.
    metric : str or callable, default="accuracy"
        Metric whose error is minimised.
    holdout : float, default=0.4
        Share of the labelled items that samples are drawn from.
    n_samples : int, default=100
        Number of these samples.
    size : int, default=500
        Number of items in a sample; all held-out items, if they are fewer.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the held-out part and of the samples.

    Attributes
    ----------
    best_predictor_ : QuAcc
        `QuAcc` with the best setting, fitted on all labelled items.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Mean absolute error of the best setting.
    results_ : polars.DataFrame
        One row per setting, in the order of the grid: its error, or the reason why there is
        none.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(2000, flip_y=0.1, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> grid = {"variant": ["nxn", "1xn+1"], "quantifier__calibration": [None, "bcts"]}
    >>> sld = hc.SLD(LogisticRegression(), random_state=0)
    >>> search = hc.accuracy.QuAccSearch(
    ...     model, quantifier=sld, param_grid=grid, random_state=0)
    >>> len(search.fit(X[500:1500], y[500:1500]).results_)
    4
    """

    info: ClassVar = MethodInfo(
        title="QuAcc, settings chosen on held-out items",
        family="cells",
        gives="table",
        reference="Volpi, Moreo & Sebastiani, Intelligenza Artificiale (2025)",
    )
    quantifier: Any = None
    param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    metric: Metric = "accuracy"
    holdout: float = 0.4
    n_samples: int = 100
    size: int = 500
    random_state: Any = None

    def _fit(self, reference: Reference, source: OutputSource) -> FittedPredictor:
        settings = check_grid(_GRID if self.param_grid is None else self.param_grid)
        base = QuAcc(self.classifier, quantifier=self.quantifier)
        candidates = _candidates(base, settings)
        metric = as_metric(self.metric, reference)
        train, test, samples = self._divided(reference)
        trials = try_settings(candidates, train, test, samples, [metric])
        errors = np.array([trial.errors(0) for trial in trials])
        self.results_ = _frame(settings, trials, errors)
        if not np.isfinite(errors).any():
            raise HeadcountError(f"No setting could be used: {trials[0].problem}")
        best = int(np.nanargmin(errors))
        self.best_params_, self.best_score_ = settings[best], float(errors[best])
        self.best_predictor_ = candidates[best]._fitted_on(reference, source)
        return replace(self.best_predictor_.fitted_, method=type(self).__name__)

    def _divided(self, reference: Reference) -> tuple[Reference, Reference, Samples]:
        share = check_fraction("holdout", self.holdout)
        n_samples, size = (
            check_count("n_samples", self.n_samples),
            check_count("size", self.size),
        )
        seeds = base_seeds(self.random_state, 2)
        held_out = held_out_rows(reference.cells, share, seeds[0])
        test = reference.take(np.flatnonzero(held_out))
        train = reference.take(np.flatnonzero(~held_out))
        protocol = UPP(n_samples=n_samples, size=min(size, len(test)), random_state=seeds[1])
        return train, test, protocol.draw(test.codes)


@dataclass(frozen=True, eq=False)
class SettingTrial:
    """Each metric on each sample with a setting; NaN, and a problem, if it is not given."""

    predicted: Floats
    true: Floats
    problem: str = ""

    def errors(self, number: int) -> float:
        """Mean absolute error of a metric."""
        return float(np.abs(self.predicted[number] - self.true[number]).mean())


def held_out_rows(cells: Ints, share: float, seed: int) -> Bools:
    """Mask of held-out items: a random sample with the same share of each cell."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(cells))
    by_cell = shuffled[np.argsort(cells[shuffled], kind="stable")]
    reached = np.floor(np.arange(1, len(cells) + 1) * share + rng.random())
    held_out = np.zeros(len(cells), np.bool_)
    held_out[by_cell] = np.diff(reached, prepend=np.floor(reached[0])) > 0
    return held_out


def try_settings(
    candidates: Sequence[QuAcc],
    train: Reference,
    test: Reference,
    samples: Samples,
    metrics: Sequence[TableMetric],
) -> list[SettingTrial]:
    """Predict metrics on samples of `test` with each setting, fitted on `train`."""
    true = np.stack([metric.on_samples(test, samples) for metric in metrics])
    bench = _Bench(train, test, samples)
    trials: list[SettingTrial] = [SettingTrial(np.full_like(true, np.nan), true)] * len(
        candidates
    )
    for members in _groups(candidates, bench):
        shared: list[Any] = []
        for i in members:
            try:
                tables = bench.tables(candidates[i], shared)
            except Exception as error:
                trials[i] = SettingTrial(np.full_like(true, np.nan), true, str(error))
                continue
            trials[i] = _trial(candidates[i], tables, metrics, true)
    return trials


def _trial(
    candidate: QuAcc, tables: Floats, metrics: Sequence[TableMetric], true: Floats
) -> SettingTrial:
    predicted, problem = np.full_like(true, np.nan), ""
    for number, metric in enumerate(metrics):
        merged = candidate.variant == "1xn+1"
        reason = merged_errors_obstacle(metric, tables.shape[1]) if merged else ""
        if reason:
            problem = f"metric is {metric.name!r}, but {reason}"
        else:
            predicted[number] = metric(tables)
    return SettingTrial(predicted, true, problem)


class _Bench:
    """Two parts of the labelled items, on which settings are fitted and tested."""

    def __init__(self, train: Reference, test: Reference, samples: Samples) -> None:
        self._train, self._test, self._samples = train, test, samples
        self._by_variant: dict[str, list[tuple[CellSet, CellSamples]]] = {}
        self._by_covariates: dict[bool, tuple[Any, Any]] = {}

    def tables(self, candidate: QuAcc, shared: list[Any]) -> Floats:
        """Estimated tables of the samples; `shared` keeps scorers for the next candidate."""
        K = self._train.n_classes
        sets = self._sets(candidate.variant)
        learn, new = self._inputs(candidate)
        quantifier = self.quantifier(candidate)
        if not shared:
            labels = self._test.items.labels
            shared.extend(
                _SharedScorer.of(quantifier, cell_set, learn, new, labels)
                for cell_set, _ in sets
            )
        shares = np.zeros((len(self._samples), K * K + 1))
        for (_, samples), scorer in zip(sets, shared, strict=True):
            samples.add(scorer.solver(quantifier), shares)
        return as_tables(shares, K)

    def quantifier(self, candidate: QuAcc) -> Quantifier:
        """Quantifier of the candidate, with its classifier."""
        return suited_quantifier(candidate.quantifier, self._inputs(candidate)[0])

    def _sets(self, variant: str) -> list[tuple[CellSet, CellSamples]]:
        if variant not in self._by_variant:
            train, labels = self._train, self._test.items.labels
            sets = cell_sets(variant, train.codes, train.items.labels, train.n_classes)
            self._by_variant[variant] = [
                (cell_set, CellSamples(cell_set, labels, self._samples)) for cell_set in sets
            ]
        return self._by_variant[variant]

    def _inputs(self, candidate: QuAcc) -> tuple[Any, Any]:
        key = bool(candidate.covariates)
        if key not in self._by_covariates:
            inputs = CellInputs(candidate.classifier, key)
            of_train, of_test = (inputs.of(x.items) for x in (self._train, self._test))
            self._by_covariates[key] = of_train, of_test
        return self._by_covariates[key]


@dataclass(frozen=True, eq=False)
class _SharedScorer:
    """Set of cells with a fitted scorer, and a pool that is scored once."""

    cell_set: CellSet
    learn: Any
    pool: ScoredPool | None
    scorer: Any

    @classmethod
    def of(
        cls, quantifier: Quantifier, cell_set: CellSet, learn: Any, new: Any, labels: Array
    ) -> _SharedScorer:
        rows = np.flatnonzero(covered_by(cell_set, labels))
        pool = ScoredPool(take_rows(new, rows)) if len(rows) else None
        scorer = None if cell_set.certain else _unfitted(quantifier)
        if scorer is not None:
            scorer.fit(*cell_set.examples(learn))
        return cls(cell_set, learn, pool, scorer)

    def solver(self, quantifier: Quantifier) -> Any:
        if self.cell_set.certain or self.pool is None:
            return None
        fitted = with_folds(quantifier)
        if self.scorer is None:
            fitted.fit(*self.cell_set.examples(self.learn))
        else:
            fitted.fit_scorer(self.scorer)
        return lambda samples: fitted.predict_many(self.pool, samples)


def _unfitted(quantifier: Quantifier) -> Any:
    """Unfitted scorer of the items; None if there is not a single one."""
    return ScoringPlan(with_folds(quantifier)).scorer()


def _groups(candidates: Sequence[QuAcc], bench: _Bench) -> list[list[int]]:
    """Candidates that share their scorers: equal variants, inputs and classifiers."""
    scorers = []
    for candidate in candidates:
        try:
            scorers.append(_unfitted(bench.quantifier(candidate)))
        except (TypeError, AttributeError, ValueError):
            scorers.append(None)  # fitting it raises the error
    return equal_scorers(scorers, [(x.variant, x.covariates) for x in candidates])


def _candidates(base: QuAcc, settings: list[dict[str, Any]]) -> list[QuAcc]:
    try:
        return [
            clone(base).set_params(
                **{name: clone(value, safe=False) for name, value in setting.items()}
            )
            for setting in settings
        ]
    except (ValueError, AttributeError) as error:
        raise HeadcountError(f"param_grid does not suit QuAcc: {error}") from None


def _frame(
    settings: list[dict[str, Any]], trials: Sequence[SettingTrial], errors: Floats
) -> Any:
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    columns: dict[str, Any] = {
        name: [str(setting[name]) if name in setting else None for setting in settings]
        for name in names
    }
    columns |= {"error": errors, "problem": [trial.problem or None for trial in trials]}
    return pl.DataFrame(columns, schema_overrides={"problem": pl.String}, nan_to_null=True)
