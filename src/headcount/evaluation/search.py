"""Results of a search, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds, track
from headcount._support.frames import pl
from headcount._support.parameters import check_count, check_grid, check_number
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError
from headcount.evaluation.fitting import fit_together, is_pipeline, unfitted_scorer
from headcount.evaluation.measures import (
    Measure,
    Metric,
    check_measure,
    given_shares,
    shares_for,
)
from headcount.items.arrays import (
    Scored,
    Verdicts,
    check_features,
    check_labels,
    check_lengths,
    check_weights,
    class_shares,
    count_rows,
    encode_labels,
    take_rows,
)
from headcount.parts.fitted import Fitted, Input, MethodInfo
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import UPP, draw_samples
from headcount.samples.samples import Samples, as_samples, check_share_rows
from headcount.scores.folds import make_folds
from headcount.scores.scorer import ScoredPool, equal_scorers

# Settings that are printed.
_MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class SearchResults:
    """Settings and their errors on the samples; prints as a table, the best first."""

    settings: tuple[dict[str, Any], ...]  # settings that were tried
    errors: tuple[Floats | None, ...]
    problems: tuple[str, ...]  # why a setting failed; empty if it did not
    rounds: Ints  # the last round of successive halving that each setting reached
    metric: str  # name of the error

    @classmethod
    def of(
        cls,
        settings: Sequence[dict[str, Any]],
        outcomes: Sequence[Outcome],
        rounds: Ints,
        metric: str,
    ) -> SearchResults:
        """Put together; refused if every setting failed."""
        if all(outcome.errors is None for outcome in outcomes):
            n = "The only setting" if len(outcomes) == 1 else f"All {len(outcomes)} settings"
            raise HeadcountError(f"{n} failed; the first because: {outcomes[0].problem}")
        return cls(
            tuple(settings),
            tuple(outcome.errors for outcome in outcomes),
            tuple(outcome.problem for outcome in outcomes),
            rounds,
            metric,
        )

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def means(self) -> Floats:
        """Mean error of each setting; NaN if it failed."""
        return np.array([np.nan if e is None else e.mean() for e in self.errors])

    @property
    def order(self) -> Ints:
        """Positions of the settings, the best first, those that failed last."""
        means = self.means
        return np.lexsort((np.nan_to_num(means, nan=np.inf), -self.rounds, np.isnan(means)))

    @property
    def best(self) -> int:
        """Position of the best setting."""
        return int(self.order[0])

    def to_frame(self) -> pl.DataFrame:
        """The table as a Polars frame: parameters, mean, standard deviation, problem."""
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        columns: dict[str, list[Any]] = {
            name: [_plain(setting.get(name)) for setting in self.settings] for name in names
        }
        columns[f"mean_{self.metric}"] = [None if np.isnan(m) else m for m in self.means]
        columns[f"sd_{self.metric}"] = [
            None if e is None else float(e.std()) for e in self.errors
        ]
        columns["samples"] = [0 if e is None else len(e) for e in self.errors]
        columns["round"] = self.rounds.tolist()
        columns["problem"] = [problem or None for problem in self.problems]
        return pl.DataFrame(columns, strict=False)[self.order.tolist()]

    def __repr__(self) -> str:
        lines = [f"{mean:8}  {setting}" for mean, setting in self._shown()]
        return "\n".join([self._title, *lines, *self._left_out()])

    def _repr_html_(self) -> str:
        table = Table.of([f"mean {self.metric}", "setting"], self._shown(), [True, False])
        return html_result(self._title, [table], self._left_out())

    @property
    def _title(self) -> str:
        return f"mean {self.metric} by setting, the best first"

    def _shown(self) -> list[tuple[str, str]]:
        rows = []
        for i in self.order[:_MOST_ROWS]:
            setting = ", ".join(f"{name}={value!r}" for name, value in self.settings[i].items())
            mean = "failed" if self.problems[i] else f"{self.means[i]:.6f}"
            rows.append((mean, f"{setting}{self.problems[i] and ': ' + self.problems[i]}"))
        return rows

    def _left_out(self) -> list[str]:
        more = len(self) - _MOST_ROWS
        return [f"... and {more:,} more: see to_frame()."] if more > 0 else []


def _plain(value: Any) -> Any:
    """A value that fits a column: estimators and the like by their name."""
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


# Items in a sample that a search draws by default: as many as there are, at most.
_LARGEST = 500


def labelled(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None = None
) -> LabelledPool:
    """Items with labels, and their groups, checked."""
    classified = isinstance(X, Scored | Verdicts)
    names, codes = check_labels(y, classes=X.classes if classified else None)
    # Classifiers check for missing numbers themselves: some accept them.
    X = X if classified else check_features(X, allow_nan=True, any_shape=True)
    check_lengths("X", count_rows(X), codes)
    weights = check_weights(sample_weight, len(codes), name="sample_weight")
    class_shares(codes, weights, names)
    group_names = None if groups is None else np.asarray(groups)
    if group_names is not None:
        check_lengths("groups", len(group_names), codes)
    return LabelledPool(
        X, names, codes, None if sample_weight is None else weights, group_names
    )


def validation_split(
    items: LabelledPool, validation: Any, protocol: Any, random_state: Any
) -> Split:
    """All rows to fit on, and samples of other items."""
    if isinstance(validation, list) and validation:
        validation = _joined_bags(validation, items.classes)
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise HeadcountError(
            f"validation is of type {type(validation).__name__}; it must be a pair: (X, y) of "
            "labelled items to draw samples from, (X, samples) with the samples' prevalence, "
            "or a list of samples, each a pair of its items and their shares."
        )
    X, truth = validation
    X = (
        X
        if isinstance(X, Scored | Verdicts)
        else check_features(X, allow_nan=True, any_shape=True)
    )
    if isinstance(truth, Samples):
        samples = as_samples(truth, count_rows(X))
        given_shares(samples, items.classes)
        if protocol is not None:
            raise HeadcountError(
                "validation has samples of its own, so protocol would have no effect: leave "
                "one of them out."
            )
    else:
        codes = encode_labels(truth, name="validation labels", classes=items.classes)[1]
        check_lengths("X of validation", count_rows(X), codes)
        seed = base_seeds(random_state, 2)[1] % 2**32
        protocol = _protocol(protocol, len(codes), seed)
        samples = draw_samples(protocol, items.classes[codes], items.classes)
    rows = np.arange(len(items.codes))
    return Split(rows, np.arange(count_rows(X)), samples, X)


def _joined_bags(bags: list[Any], classes: Array) -> tuple[Any, Samples]:
    """Items of several samples, and which are of each, with their shares."""
    tables, shares = [], []
    for number, bag in enumerate(bags):
        if not isinstance(bag, tuple) or len(bag) != 2:
            raise HeadcountError(
                f"validation has a {type(bag).__name__} at {number}; each sample must be a "
                "pair (X, shares)."
            )
        X, bag_shares = bag
        if isinstance(bag_shares, Mapping):
            bag_shares = [bag_shares.get(label, 0.0) for label in classes.tolist()]
        if np.shape(bag_shares) != (len(classes),):
            raise HeadcountError(
                f"validation has a sample whose shares, at {number}, are not one number for "
                f"each of the {len(classes)} classes."
            )
        tables.append(check_features(X, allow_nan=True, any_shape=True))
        shares.append(bag_shares)
    sizes = np.array([count_rows(X) for X in tables])
    if any(sparse.issparse(X) for X in tables):
        together = sparse.vstack(tables, format="csr")
    else:
        together = np.concatenate([np.asarray(X) for X in tables])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    prevalence = check_share_rows(shares, name="shares of validation")
    return together, Samples(
        np.arange(sizes.sum()), offsets, n_pool=int(sizes.sum()), prevalence=prevalence
    )


def make_splits(
    items: LabelledPool, protocol: Any, holdout: Any, folds: Any, random_state: Any
) -> list[Split]:
    """Rows to fit on and samples of the other rows: held out once, or fold by fold."""
    split_seed, draw_seed = (seed % 2**32 for seed in base_seeds(random_state, 2))
    counts = np.bincount(items.codes, minlength=len(items.classes))
    if counts.min() < 2:
        label = items.classes.tolist()[counts.argmin()]
        raise HeadcountError(
            f"y has a single item of class {label!r}: a search needs at least two of each "
            "class, to fit on and to draw from."
        )
    splits = []
    rows = _rows(items.codes, counts, holdout, folds, split_seed)
    if items.groups is not None:
        rows = _rows_of_groups(items, holdout, folds, split_seed)
    for train, test in rows:
        samples = draw_samples(
            _protocol(protocol, len(test), draw_seed),
            items.classes[items.codes[test]],
            items.classes,
        )
        splits.append(Split(train, test, samples))
    return splits


def _protocol(protocol: Any, n_items: int, seed: int) -> Any:
    if protocol is None:
        return UPP(n_samples=1000, size=min(_LARGEST, n_items), random_state=seed)
    return protocol


def _rows_of_groups(
    items: LabelledPool, holdout: float, folds: int | None, seed: int
) -> Iterator[tuple[Ints, Ints]]:
    """Rows to fit on and rows to draw from, which have no group in common."""
    n = round(1 / holdout) if folds is None else folds
    splitter = StratifiedGroupKFold(max(2, n), shuffle=True, random_state=seed)
    number = None if folds is not None else 1
    made_folds = make_folds(
        splitter, items.codes, items.codes, items.classes, None, groups=items.groups
    )
    yield from (made_folds or [])[:number]


def _rows(
    codes: Ints, counts: Ints, holdout: Any, folds: Any, seed: int
) -> Iterator[tuple[Ints, Ints]]:
    """Rows to fit on and rows to draw from, with every class among both."""
    if folds is not None:
        if check_count("folds", folds, 2) > counts.min():
            raise HeadcountError(
                f"folds is {folds}, but the smallest class has {counts.min()} items: it must "
                "be at most that."
            )
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes)
        return
    allowed = "a share of the items between 0 and 1, such as 0.4"
    check_number("holdout", holdout, lambda x: 0 < x < 1, allowed)
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    held = np.clip(np.round(holdout * counts).astype(np.int64), 1, counts - 1)
    # The place of each item among those of its class, in the shuffled order.
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    places = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    held_out = places < np.repeat(held, counts)
    yield np.sort(by_class[~held_out]), np.sort(by_class[held_out])


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Items with labels."""

    X: Any
    classes: Array
    codes: Ints
    weights: Floats | None
    groups: Array | None = None

    @property
    def classified(self) -> bool:
        """True if the items are given by scores or decisions."""
        return isinstance(self.X, Scored | Verdicts)

    def take(self, rows: Ints) -> LabelledPool:
        """Items at some positions."""
        weights = None if self.weights is None else self.weights[rows]
        X = self.X.take(rows) if self.classified else take_rows(self.X, rows)
        groups = None if self.groups is None else self.groups[rows]
        return LabelledPool(X, self.classes, self.codes[rows], weights, groups)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on, rows to draw samples from, and the samples (of the latter's rows)."""

    train: Ints
    test: Ints
    samples: Samples
    X: Any = None


@dataclass(frozen=True)
class Outcome:
    """Result of a candidate: one error per sample, or the reason why there is none."""

    errors: Floats | None
    problem: str = ""


def try_candidates(
    candidates: Sequence[Quantifier],
    items: LabelledPool,
    splits: Sequence[Split],
    measure: Measure,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Fit every candidate on every split and measure it; one outcome per candidate."""
    classified = items.classified
    scorers = [None if classified else unfitted_scorer(candidate) for candidate in candidates]
    groups = equal_scorers(scorers)
    tasks = [(members, split) for split in splits for members in groups]
    work = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_try_group)([candidates[i] for i in members], items, split, measure)
        for members, split in tasks
    )
    by_candidate: list[list[Outcome]] = [[] for _ in candidates]
    done = track(zip(tasks, work, strict=True), len(tasks), "Trying settings", show=progress)
    for (members, _), outcomes in done:
        for i, outcome in zip(members, outcomes, strict=True):
            by_candidate[i].append(outcome)
    return [_joined(outcomes) for outcomes in by_candidate]


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome over all splits; it failed if it failed on one."""
    errors = []
    for outcome in outcomes:
        if outcome.errors is None:
            return outcome
        errors.append(outcome.errors)
    return Outcome(np.concatenate(errors))


def _try_group(
    candidates: Sequence[Quantifier], items: LabelledPool, split: Split, measure: Measure
) -> list[Outcome]:
    train = items.take(split.train)
    test = items.take(split.test).X if split.X is None else split.X
    try:
        candidates, train, test = _prepared(candidates, train, test)
    except Exception as error:
        return [_failed(error)] * len(candidates)
    pool = test if isinstance(test, Scored | Verdicts) else ScoredPool(test)
    true = given_shares(split.samples, items.classes)
    outcomes = [Outcome(None, "not tried")] * len(candidates)
    named = dict(enumerate(candidates))
    y = train.classes[train.codes]
    fits = fit_together(named, train.X, y, train.weights, train.groups)
    for i, fitted in fits:
        try:
            if fitted.error is not None:
                raise fitted.error
            estimated = shares_for(fitted.quantifier, pool, split.samples, measure)
            errors = measure(true, estimated, split.samples.sizes)
            outcomes[i] = Outcome(np.asarray(errors))
        except Exception as error:
            outcomes[i] = _failed(error)
    return outcomes


def _prepared(
    candidates: Sequence[Any], train: LabelledPool, test: Any
) -> tuple[Sequence[Quantifier], LabelledPool, Any]:
    """Last step of a pipeline, and the items as its other steps make them."""
    first = candidates[0]
    if not is_pipeline(first):
        return candidates, train, test
    if len(first) > 1:
        steps = clone(first[:-1])
        items = steps.fit_transform(train.X, train.classes[train.codes])
        train, test = replace(train, X=items), steps.transform(test)
    return [first[-1]], train, test


def _failed(error: Exception) -> Outcome:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return Outcome(None, f"{kind}{error}")


@dataclass(eq=False, repr=False)
class GridSearch(Quantifier):
    """Try settings of a quantifier on samples with many mixes; keep the best.

    Settings are judged by the error of the estimated shares, on samples that a protocol
    draws from labelled items the quantifier was not fitted on. A classifier is trained
    and its scores are made once for all settings that agree on it: a search over
    bandwidths, bins or calibrations trains no more classifiers than a single setting.

    A setting that fails is recorded with its reason, and the search goes on.

    Parameters
    ----------
    quantifier : Quantifier, or pipeline that ends in one
        Quantifier to tune; it is cloned, never changed. The other steps of a pipeline are
        fitted on the items that the quantifier is fitted on, without weights.
    param_grid : dict of str to list, or list of such dicts
        The values to try by parameter, such as ``{"classifier__C": [0.1, 1, 10]}``.
    protocol : protocol, default=None
        Draws the samples; 1,000 of 500 items (fewer if fewer are held out) with mixes
        uniform on the simplex by default.
    metric : str or callable, default="ae"
        Mean over the samples is minimised: a name from `headcount.metrics`, or a function
        of true and estimated shares.
    holdout : float, default=0.4
        Share of the items that samples are drawn from; the rest is fitted on.
    folds : int or None, default=None
        Cross-validation instead of a held-out part: each of so many parts in turn.
    validation : (X, y), (X, Samples) or list of (X, shares), default=None
        Items of your own instead of a held-out part: labelled ones that `protocol` draws
        from, a pool and samples of it whose ``prevalence`` is known, or a list of samples,
        each with its shares, in the order of the classes or by class. Settings are fitted
        on all items that ``fit`` gets, and so is the best one.
    halving : int or None, default=None
        Successive halving: try all settings on few items first, and keep one in `halving`
        for a round with as many times the items, until the last round has all of them.
    refit : bool, default=True
        Fit the best setting on everything. Otherwise the search only reports.
    n_jobs : int or None, default=None
        Trainings side by side; None is one, -1 as many as there are cores.
    progress : bool or None, default=None
        Whether to show a bar; None does on a terminal.
    random_state : int, RandomState, Generator or None, default=None
        Decides the held-out part, and the samples unless `protocol` does.

    Attributes
    ----------
    best_quantifier_ : Quantifier
        The best setting, fitted on everything; predictions are its own. Of a pipeline, its
        last step.
    preparation_ : Pipeline or None
        The other steps of a pipeline, fitted on everything.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean error.
    results_ : SearchResults
        All settings; prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(600, random_state=0)
    >>> search = hc.GridSearch(hc.KDEyML(), {"bandwidth": [0.1, 5.0]}, random_state=0)
    >>> search.fit(X[:400], y[:400]).best_params_
    {'bandwidth': 0.1}
    >>> search.predict(X[400:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="best of a grid of settings", family="meta", input="any", reference=""
    )

    quantifier: Any
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    protocol: Any = None
    metric: Metric = "ae"
    holdout: float = 0.4
    folds: int | None = None
    validation: Any = None
    halving: int | None = None
    refit: bool = True
    n_jobs: int | None = None
    progress: bool | None = None
    random_state: Any = None

    @documented(Quantifier.fit)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Search, then fit the best setting on everything.

        Parameters
        ----------
        groups : array-like of shape (n,), default=None
            Groups of the items: none is divided, neither by the parts that settings are
            tried on nor by cross-fitting.
        """
        if self.refit:
            return super().fit(X, y, sample_weight, groups)
        self._search(labelled(X, y, sample_weight, groups))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        """The best setting fitted on everything, after the other steps of a pipeline."""
        best: Any = self._search(labelled(X, y, sample_weight, groups))
        self.preparation_ = None
        if is_pipeline(best):
            if len(best) > 1:
                self.preparation_ = best[:-1]
                X = self.preparation_.fit_transform(X, y)
            best = best[-1]
        self.best_quantifier_ = best.fit(X, y, sample_weight, groups)
        fitted: Fitted = self.best_quantifier_.fitted_
        if self.preparation_ is None:
            return fitted
        return replace(fitted, source=fitted.source.after(self.preparation_))

    def _takes(self) -> Input:
        return "posteriors"

    def _scorer(self) -> Any:
        return None  # the candidates have theirs

    def fit_scorer(self, scorer: Any) -> Self:
        """Not possible: a search fits scorers of its own."""
        raise HeadcountError(
            "GridSearch fits classifiers of its own and cannot take a scorer: use fit, with "
            "hc.Scored(posteriors) for items that were scored elsewhere."
        )

    def explain(self, size: int = 500) -> str:
        """Setting that was selected, and its error.

        Parameters
        ----------
        size : int, default=500
            No effect: the protocol determines the sizes of samples.
        """
        check_is_fitted(self, "results_")
        setting = ", ".join(f"{name}={value!r}" for name, value in self.best_params_.items())
        return (
            f"{setting} had the least mean {self.results_.metric} ({self.best_score_:.4f}) of "
            "the settings that were tried."
        )

    def _splits(self, items: LabelledPool) -> list[Split]:
        if self.validation is None:
            return make_splits(
                items, self.protocol, self.holdout, self.folds, self.random_state
            )
        if self.folds is not None:
            raise HeadcountError(
                "folds and validation exclude each other: the items are divided, or those of "
                "your own are used; set one of them to None."
            )
        return [validation_split(items, self.validation, self.protocol, self.random_state)]

    def _search(self, items: LabelledPool) -> Quantifier:
        settings = check_grid(self.param_grid)
        candidates = _candidates(self.quantifier, settings)
        measure = check_measure(self.metric)
        splits = self._splits(items)
        rounds = _rounds(self.halving, len(settings))
        alive = np.arange(len(settings))
        outcomes: list[Outcome] = [Outcome(None, "not tried")] * len(settings)
        reached = np.zeros(len(settings), np.int64)
        for number, share in enumerate(rounds):
            tried = try_candidates(
                [candidates[i] for i in alive],
                items,
                [_thinned(split, items.codes, share, self.random_state) for split in splits],
                measure,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )
            for i, outcome in zip(alive, tried, strict=True):
                outcomes[i], reached[i] = outcome, number
            if number + 1 < len(rounds):
                alive = _survivors(alive, tried, rounds, number)
        self.results_ = SearchResults.of(settings, outcomes, reached, measure.name)
        best = self.results_.best
        self.best_params_ = settings[best]
        self.best_score_ = float(self.results_.means[best])
        return clone(candidates[best])


def _candidates(quantifier: Any, settings: list[dict[str, Any]]) -> list[Quantifier]:
    if not (isinstance(quantifier, Quantifier) or is_pipeline(quantifier)):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a quantifier, or a pipeline that ends "
            "in one: pass for instance PACC()."
        )
    try:
        return [clone(quantifier).set_params(**_own_copies(setting)) for setting in settings]
    except ValueError as error:
        raise HeadcountError(f"param_grid does not suit the quantifier: {error}") from None
    except AttributeError:
        raise HeadcountError(
            "param_grid names parameters of an estimator that the quantifier does not have: "
            "pass one, as in PACC(LogisticRegression()) for classifier__C."
        ) from None


def _own_copies(setting: dict[str, Any]) -> dict[str, Any]:
    """The setting with its own copy of every estimator in it."""
    return {name: clone(value, safe=False) for name, value in setting.items()}


def _rounds(halving: int | None, n_settings: int) -> Floats:
    """The share of the training items that each round of the search fits on."""
    if halving is None:
        return np.ones(1)
    factor = check_count("halving", halving, 2)
    rounds = 1
    while factor**rounds <= n_settings:
        rounds += 1
    return np.power(1.0 / factor, np.arange(rounds - 1, -1, -1))


def _survivors(alive: Ints, outcomes: list[Outcome], rounds: Floats, number: int) -> Ints:
    means = np.array([np.inf if o.errors is None else o.errors.mean() for o in outcomes])
    keep = int(np.ceil(len(alive) * rounds[number] / rounds[number + 1]))
    best = np.argsort(means, kind="stable")[:keep]
    best = best[np.isfinite(means[best])]
    return np.sort(alive[best]) if len(best) else alive


def _thinned(split: Split, codes: Ints, share: float, random_state: Any) -> Split:
    """The split with a share of its training rows, the same in every class."""
    if share == 1:
        return split
    rng = np.random.default_rng(base_seeds(random_state, 3)[2])
    thinned = []
    for code in np.unique(codes[split.train]):
        rows = split.train[codes[split.train] == code]
        thinned.append(rng.permutation(rows)[: max(2, round(share * len(rows)))])
    return replace(split, train=np.sort(np.concatenate(thinned)))
