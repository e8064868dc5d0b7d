"""Summaries of chunks, the series of their values, and the detector of changes in these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount.accuracy.leap import LEAP
from headcount.accuracy.metrics import realised
from headcount.estimates.assumption import MixtureTest, p_value_of
from headcount.estimates.backtest import TooFewGroupsError, run_backtest, usual_history
from headcount.estimates.estimation import EstimateOptions, estimates, score_means
from headcount.estimates.history import (
    Drift,
    History,
    Readings,
    chance_of_method,
    read_samples,
)
from headcount.items.arrays import Scored, Verdicts
from headcount.monitor.deliveries import MonitorSpec
from headcount.monitor.folder import (
    COMPLETE,
    Chunk,
    ChunkEstimates,
    ChunkSummary,
    LabelledReadings,
    MonitorFolder,
    Rows,
)
from headcount.monitor.reference import MonitorReference
from headcount.parts.training import Dense, Training
from headcount.quantifiers.adjusted import ACC
from headcount.quantifiers.from_history import labelled_groups
from headcount.quantifiers.registry import method as find_method
from headcount.samples.samples import Samples

# Resampled copies of a chunk that its sampling variance is computed from, and their items.
_COPIES, _MOST_RESAMPLED = 100, 2000
# Simulated samples behind an interval.
_REPLICATES = 2000
# Labels of a chunk that are needed for an estimate that rests on them.
_FEWEST_LABELS = 20
# Chunks of fewer items have no variance.
_FEWEST_ITEMS = 2
# Labelled chunks that estimates follow at most: the latest.
_MOST_LABELLED = 100
# Rows that are summarised at a time.
_MOST_ROWS = 200_000


Earlier = Sequence[ChunkSummary | int]
"""Labelled chunks that estimates follow: summaries, or places of chunks that have none yet."""


@dataclass(frozen=True, eq=False)
class ChunkSummaries:
    """Estimates for chunks, as the settings of a monitor say."""

    spec: MonitorSpec
    reference: MonitorReference

    @cached_property
    def _classes(self) -> Array:
        return np.asarray(self.spec.classes)

    @cached_property
    def _quantifier(self) -> Any:
        """Method for the shares."""
        return self._fitted(self._method())

    @cached_property
    def _past(self) -> History:
        """What held in the periods of the reference."""
        if (periods := self._periods) is None:
            return usual_history(self._quantifier.fitted_)
        items = self._items(self.reference.scores, self.reference.predictions)
        labels = self._classes[self.reference.labels]
        try:
            groups = labelled_groups(self._method(), items, labels, *periods)
            return run_backtest(groups, random_state=0).history
        except TooFewGroupsError:
            return usual_history(self._quantifier.fitted_)

    @cached_property
    def _predictor(self) -> Any:
        predictor = self._fitted(LEAP(quantifier=self._method()))
        if (periods := self._periods) is not None:
            values, ordered, names = periods
            with suppress(TooFewGroupsError):
                predictor._follow(values, ordered, names)
        return predictor

    @property
    def _periods(self) -> tuple[Array, bool, list[str]] | None:
        """Period of each item of the reference, a sequence, and the names in its order."""
        if self.reference.periods is None:
            return None
        names = [name for name in np.unique(self.reference.periods).tolist() if name]
        return self.reference.periods, True, names

    def _method(self) -> Any:
        return ACC() if self.spec.kind == "verdicts" else find_method(self.spec.method)()

    def _fitted(self, method: Any) -> Any:
        """Fit a method on the reference."""
        items = self._items(self.reference.scores, self.reference.predictions)
        return method.fit(items, self._classes[self.reference.labels])

    @cached_property
    def _mixture_test(self) -> MixtureTest | None:
        if self.spec.kind == "verdicts":
            return None
        K = len(self._classes)
        return MixtureTest.of_posteriors(
            Training(self.reference.scores, self.reference.labels, K)
        )

    @cached_property
    def _described(self) -> list[int]:
        """Classes whose shares are series: all, or of two the rarer one."""
        K = len(self._classes)
        if K > 2:
            return list(range(K))
        return [int(np.bincount(self.reference.labels, minlength=K).argmin())]

    @cached_property
    def series(self) -> tuple[tuple[str, float], ...]:
        """Names and weights of the series that changes are detected in."""
        labels = [str(label) for label in self._classes.tolist()]
        shares = [labels[j] for j in self._described]
        n_forms = self._invariants(self.reference.scores[:1]).shape[1]
        of_shares, of_accuracy, of_form = (0.6, 0.2, 0.2) if n_forms else (0.6, 0.4, 0.0)
        return (
            *((f"share:{label}", of_shares / len(shares)) for label in shares),
            ("accuracy", of_accuracy),
            *((f"form:{number}", of_form / n_forms) for number in range(n_forms)),
        )

    def check(self) -> None:
        """Fit everything, so that a wrong setting is refused now."""
        _ = self.start

    @cached_property
    def start(self) -> dict[str, tuple[float, float, float]]:
        """Values of the series in the reference, their unit variances, and its items."""
        n = len(self.reference.labels)
        reference = (self.reference.scores, self.reference.predictions)
        (values,), (variances,) = self.observed(*reference, Samples.whole(n), [0])
        names = [f"start:{name}" for name, _ in self.series]
        pairs = zip(values.tolist(), variances.tolist(), strict=True)
        start = {name: (*pair, n) for name, pair in zip(names, pairs, strict=True)}
        items = self._items(*reference)
        accuracy = realised(self.spec.metric, items, self.reference.labels, self._classes)
        return {**start, "reference": (accuracy, *start["start:accuracy"][1:])}

    def summarise(
        self, chunks: list[Rows], seeds: list[int], earlier: Sequence[Earlier]
    ) -> list[ChunkSummary]:
        """Summaries of chunks by their seeds, and the labelled chunks that each follows."""
        scored = [rows.take(~np.isnan(rows.scores).any(axis=1)) for rows in chunks]
        summaries = [
            self._realised(rows, n_missing=len(delivered) - len(rows))
            for delivered, rows in zip(chunks, scored, strict=True)
        ]
        enough = [i for i, rows in enumerate(scored) if len(rows) >= _FEWEST_ITEMS]
        if not enough:
            return summaries
        pool = Rows.concatenate([scored[i] for i in enough])
        edges = np.concatenate([[0], np.cumsum([len(scored[i]) for i in enough])])
        samples = Samples(np.arange(len(pool)), edges, n_pool=len(pool))
        items = self._items(pool.scores, pool.predictions)
        options: dict[str, Any] = {"replicates": _REPLICATES, "random_state": 0}
        fitted = self._quantifier.fitted_
        reduced = fitted.reduce(items, samples)
        under_shift = estimates(fitted, reduced, EstimateOptions(**options)).to_list()
        means = score_means(fitted, reduced)
        accuracy = self._predictor.estimate_many(items, samples, self.spec.metric, **options)
        values, variances = self.observed(
            pool.scores, pool.predictions, samples, [seeds[i] for i in enough]
        )
        for place, i in enumerate(enough):
            followed = [
                summaries[chunk] if isinstance(chunk, int) else chunk for chunk in earlier[i]
            ]
            history = self._with_labels(followed)
            sample = ([under_shift[place]], None if means is None else means.of([place]))
            shares = under_shift[place]
            if history.drift is not None:
                shares = history.estimates(*sample, [None], np.ones(1))[0]
            chunk_estimates = _chunk_estimates(shares, accuracy[place])
            if self.spec.labels == "random":
                rows = pool.take(slice(edges[place], edges[place + 1]))
                chunk_estimates = self._by_labels(rows, options) or chunk_estimates
            summaries[i] = replace(
                summaries[i],
                estimates=chunk_estimates,
                labelled_readings=self._readings(history, *sample, summaries[i]),
                values=values[place].tolist(),
                unit_variances=variances[place].tolist(),
            )
        return summaries

    def counts(self, n: int, n_labelled: int) -> bool:
        """True if so many labels of a chunk say what held in it."""
        complete = self.spec.labels == "random" or n_labelled >= COMPLETE * n
        return complete and n_labelled >= _FEWEST_LABELS

    def _with_labels(self, earlier: Sequence[ChunkSummary]) -> History:
        """What held in the periods of the reference and in labelled chunks."""
        past = self._past
        last = past.past if past.last is None else past.last
        chunks = [summary.labelled_readings for summary in earlier[-_MOST_LABELLED:]]
        labelled = [chunk for chunk in chunks if chunk is not None]
        if not labelled:
            return replace(past, last=last)
        readings = Readings(
            tuple(labelled[0].names),
            np.stack([chunk.shares for chunk in labelled], axis=1),
            np.stack([chunk.errors for chunk in labelled], axis=1),
            np.ones(len(labelled)),
        )
        truth = np.array([chunk.truth for chunk in labelled])
        p_values = None
        if chance_of_method(past.uncertainty, past.past) == 1:
            p_values = np.array([chunk.p_value for chunk in labelled], np.float64)
        drift = Drift.learn(readings, truth, range(len(labelled)), p_values=p_values)
        if past.drift is not None:
            drift = past.drift.with_groups(drift)
        n, sizes = len(self.reference.labels), [summary.labelled for summary in earlier]
        shares = [past.past, *(summary.realised for summary in earlier)]
        mean = np.average(np.array(shares), axis=0, weights=[n, *sizes])
        enough = len(drift.groups) > 1
        return replace(past, drift=drift if enough else None, past=mean, last=truth[-1])

    def _readings(
        self, history: History, under_shift: Any, means: Any, summary: ChunkSummary
    ) -> LabelledReadings | None:
        """Readings of a chunk whose labels count; None for another one."""
        if summary.realised is None or not self.counts(summary.n, summary.labelled):
            return None
        readings = read_samples(
            under_shift, means, history.past, history.last, history.uncertainty, np.ones(1)
        )
        truth, n = np.array(summary.realised), summary.labelled
        by_chance = truth * (1 - truth) / n * max(0.0, 1 - n / summary.n)
        return LabelledReadings(
            list(readings.names),
            readings.shares[:, 0].tolist(),
            np.sqrt(readings.errors[:, 0] ** 2 + by_chance).tolist(),
            truth.tolist(),
            p_value_of(under_shift[0]),
        )

    @cached_property
    def past(self) -> tuple[ChunkSummary, ...]:
        """Summaries of the periods of the reference, without estimates."""
        periods = [rows for rows in self.reference.in_periods() if len(rows) >= _FEWEST_ITEMS]
        if not periods:
            return ()
        pool = self.reference.to_rows()
        samples = Samples.from_arrays(periods, n_pool=len(pool))
        values, variances = self.observed(
            pool.scores, pool.predictions, samples, range(len(periods))
        )
        return tuple(
            replace(
                self._realised(pool.take(rows), 0),
                values=values[place].tolist(),
                unit_variances=variances[place].tolist(),
            )
            for place, rows in enumerate(periods)
        )

    def complete(self, folder: MonitorFolder) -> dict[Chunk, ChunkSummary]:
        """Summaries of all chunks in the order of time; those that are missing are written.

        Estimates of a chunk follow the labels of earlier ones of its stream, whenever these
        arrived; the latest `maturity` of them, whose labels may be missing, do not count.
        """
        chunks = folder.chunks()
        stored, summaries = folder.summaries(chunks), dict[Chunk, ChunkSummary]()
        labelled: dict[str, list[tuple[Chunk, int]]] = defaultdict(list)
        times = {name: i for i, name in enumerate(sorted({chunk.name for chunk in chunks}))}
        batch: list[tuple[Chunk, Rows, list[Chunk], str]] = []
        for chunk, mark in chunks.items():
            latest = times[chunk.name] - self.spec.maturity
            followed = [item for item in labelled[chunk.stream] if times[item[0].name] < latest]
            total = sum(mark for _, mark in followed) % 2**128
            rests_on = f"{total:032x}" if followed else ""
            summary = stored.get(chunk)
            if summary is not None and summary.rests_on == rests_on:
                summaries[chunk], counts = summary, summary.labelled_readings is not None
            else:
                rows = folder.rows(chunk)
                batch.append((chunk, rows, [earlier for earlier, _ in followed], rests_on))
                scored = ~np.isnan(rows.scores).any(axis=1)
                n_labelled = int((rows.labels[scored] >= 0).sum())
                counts = self.counts(int(scored.sum()), n_labelled)
            if counts:
                labelled[chunk.stream].append((chunk, mark))
            if sum(len(rows) for _, rows, _, _ in batch) >= _MOST_ROWS:
                self._write(folder, chunks, batch, summaries)
                batch = []
        self._write(folder, chunks, batch, summaries)
        return {chunk: summaries[chunk] for chunk in chunks}

    def _write(
        self,
        folder: MonitorFolder,
        chunks: dict[Chunk, int],
        batch: list[tuple[Chunk, Rows, list[Chunk], str]],
        summaries: dict[Chunk, ChunkSummary],
    ) -> None:
        """Summarise chunks of a batch, and write their summaries."""
        if not batch:
            return
        members = {chunk: place for place, (chunk, *_) in enumerate(batch)}
        # Labels that come later leave the random numbers as they are.
        seeds = [rows.without_labels().fingerprint % 2**64 for _, rows, _, _ in batch]
        earlier: list[Earlier] = [
            [members[chunk] if chunk in members else summaries[chunk] for chunk in followed]
            for _, _, followed, _ in batch
        ]
        new_summaries = self.summarise([rows for _, rows, _, _ in batch], seeds, earlier)
        for (chunk, _, _, rests_on), summary in zip(batch, new_summaries, strict=True):
            summaries[chunk] = replace(summary, rests_on=rests_on)
        for stream in sorted({chunk.stream for chunk in members}):
            folder.write_summaries(stream, chunks, summaries)

    def _by_labels(self, rows: Rows, options: dict[str, Any]) -> ChunkEstimates | None:
        """Shares and accuracy that rest on labels of a random sample of the rows."""
        places = np.flatnonzero(rows.labels >= 0)
        if not _FEWEST_LABELS <= len(places) < len(rows):
            return None
        items = self._items(rows.scores, rows.predictions)
        labelled = (places, self._classes[rows.labels[places]])
        shares = self._quantifier.estimate(items, labelled=labelled, **options)
        metric = self.spec.metric
        accuracy = self._predictor.estimate(items, metric, labelled=labelled, **options)
        return replace(_chunk_estimates(shares, accuracy), basis="labels")

    def _items(self, scores: Floats, predictions: Ints) -> Scored | Verdicts:
        if self.spec.kind == "verdicts":
            return Verdicts(self._classes[scores[:, 0].astype(np.int64)], self._classes)
        decided = None
        if self.spec.prediction:
            decided = self._classes[predictions]
        return Scored(scores, self._classes, decided)

    def _invariants(self, scores: Floats) -> Floats:
        if self._mixture_test is None:
            return np.empty((len(scores), 0))
        return self._mixture_test.invariants(scores)

    @cached_property
    def _inverse(self) -> Floats:
        """Matrix that turns mean scores into shares, without limits to them."""
        scores, labels = self._described_scores(self.reference.scores), self.reference.labels
        means = [scores[labels == j].mean(axis=0) for j in range(len(self._classes))]
        return np.asarray(np.linalg.pinv(np.stack(means), rcond=1e-9))

    def _described_scores(self, scores: Floats) -> Floats:
        if self.spec.kind == "verdicts":
            return np.eye(len(self._classes))[scores[:, 0].astype(np.int64)]
        return scores

    def _contributions(self, scores: Floats, predictions: Ints) -> Floats:
        """Numbers of items whose means are series: shares, the accuracy, and the form.

        Estimates within limits pile up there, and their variances are hard to know. Means
        are nearly normal whatever the shares are. The accuracy is that of `LEAP`; NaN for
        another metric, which is not a mean.
        """
        counts = self._described_scores(scores) @ self._inverse
        right = np.full(len(scores), np.nan)
        if self.spec.is_mean:
            rates = self._predictor.fitted_.training.rates
            predicted = self._items(scores, predictions).codes_of(self._classes)
            right = counts[:, 1:] @ (np.diagonal(rates) - rates[:, 0])[1:] + (predicted == 0)
            right = 1 - right if self.spec.metric == "error" else right
        return np.column_stack([counts[:, self._described], right, self._invariants(scores)])

    def observed(
        self, scores: Floats, predictions: Ints, samples: Samples, seeds: Sequence[int]
    ) -> tuple[Floats, Floats]:
        """Values of the series in samples of a pool, and variances for samples of one item."""
        numbers = self._contributions(scores, predictions)
        moments = Dense(np.hstack([numbers, numbers**2])).means(samples)
        means, squares = np.hsplit(moments, 2)
        n, K = samples.sizes[:, None], len(self._described)
        variances = (squares - means**2) * n / (n - 1)
        if not self.spec.is_mean:
            items = self._items(scores, predictions)
            means[:, K] = self._predictor.predict_many(items, samples, self.spec.metric)
            for i, seed in enumerate(seeds):
                variances[i, K] = self._metric_variance(items, samples[i], seed)
        # Shares vary at least as much as those of labelled items would.
        near = np.clip(means[:, :K], 1 / n, 1 - 1 / n)
        least = np.repeat(1 / n, means.shape[1], axis=1)
        least[:, :K] = near * (1 - near)
        return means, np.maximum(variances, least)

    def _metric_variance(
        self, items: Scored | Verdicts, sample: NDArray[np.integer[Any]], seed: int
    ) -> float:
        """Variance of a metric in samples of one item, by resampled copies of a sample."""
        n = min(len(sample), _MOST_RESAMPLED)
        items_of_copies = np.random.default_rng(seed).choice(sample, size=_COPIES * n)
        copies = Samples(items_of_copies, n * np.arange(_COPIES + 1), n_pool=len(items))
        answers = self._predictor.predict_many(items, copies, self.spec.metric)
        return float(n * answers.var(ddof=1))

    def _realised(self, rows: Rows, n_missing: int) -> ChunkSummary:
        """Summary by the labels that have arrived, without estimates."""
        labelled = rows.take(rows.labels >= 0)
        if not len(labelled):
            return ChunkSummary(len(rows), n_missing, 0)
        counts = np.bincount(labelled.labels, minlength=len(self._classes))
        return ChunkSummary(
            len(rows),
            n_missing,
            len(labelled),
            (counts / len(labelled)).tolist(),
            self._measured(labelled),
            None if self.spec.is_mean else self._measured_variance(labelled),
        )

    def _measured(self, labelled: Rows) -> float:
        """Metric of labelled rows."""
        items = self._items(labelled.scores, labelled.predictions)
        return realised(self.spec.metric, items, labelled.labels, self._classes)

    def _measured_variance(self, labelled: Rows) -> float:
        """Variance of the metric in samples of one labelled row, by resampled copies."""
        n = min(len(labelled), _MOST_RESAMPLED)
        rng = np.random.default_rng(labelled.without_labels().fingerprint % 2**64)
        copies = [labelled.take(rng.integers(len(labelled), size=n)) for _ in range(_COPIES)]
        values = np.array([self._measured(rows) for rows in copies], np.float64)
        return max(n * float(np.nanvar(values)), 1 / len(labelled))


def _chunk_estimates(shares: Any, accuracy: Any) -> ChunkEstimates:
    ends = shares.interval()
    accuracy_low, accuracy_high = accuracy.interval()
    basis = "history" if shares.basis == accuracy.basis == "history" else "shift"
    return ChunkEstimates(
        shares.shares.tolist(),
        ends.low.tolist(),
        ends.high.tolist(),
        shares.raw.tolist(),
        accuracy.value,
        accuracy_low,
        accuracy_high,
        p_value_of(shares),
        list(shares.warnings),
        basis,
    )


# Detection of changes in series of estimates, with a bound on the rate of false alarms: a
# mixture of e-detectors (Shin, Ramdas & Rinaldo, "E-detectors", 2023). Each value is compared
# with the mean of all earlier ones of its series. Without a change these differences, divided
# by their standard errors, are independent with mean 0 and variance 1, whatever the error of
# the reference set is: it is the same in all of them and cancels.

# Sizes of change that are looked for, in standard errors of one value, upwards and downwards.
_STEPS = np.array([0.25, 0.5, 1.0, 2.0, 3.0])
_TILTS = np.concatenate([_STEPS, -_STEPS])
# Part of the evidence that each has. It sums to 1, so that the rate of false alarms is bounded.
# Most of it is for changes of one standard error, which take longest to see.
_OF_STEPS = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_OF_TILTS = np.concatenate([_OF_STEPS, _OF_STEPS]) / 2
# Evidence of a change that is beyond doubt stays a finite number.
_MOST_EXPONENT, _MOST_EVIDENCE = 300.0, 1e100
# A family of series has changed if it adds this part to the evidence of its stream.
_LEAST_PART = 0.1
# A change is over if values of the earlier level are so many times as likely, on the log scale.
_RETURNED = float(np.log(1000))
# The size of a change is the mean of its values and of so many zeros, within limits: values
# that raise an alarm are larger than those that follow. For limits, any value beyond counts.
_ZEROS, _MOST_SHIFT, _MOST_BEYOND = 4, 3.0, 1.0
# Values that are compared with a level that was known before the first one.
_FIRST_VALUES = 10
# Variation between values beyond that of samples is learnt from this many differences, and
# used if it exceeds that of samples by this factor.
_FEWEST_DIFFERENCES, _MOST_DIFFERENCES, _EXCESS = 10, 60, 2.0
# Median of the absolute value of a standard normal variable.
_NORMAL_MEDIAN = 0.6744897501960817


@dataclass(frozen=True, eq=False)
class WatchedSeries:
    """Values over time, one column per series; NaN where there is none."""

    values: Floats  # values, in the order of time
    unit_variances: Floats  # variance of a value due to its sample, times the number of items
    sizes: Floats  # number of items of each value
    streams: Ints  # stream of each series, from 0 on
    families: Ints  # series of one family have changed together, or none of them
    weights: Floats
    limits: Floats
    # Value, unit variance and items of a level known before the first value; NaN without one.
    starts: Floats | None = None
    # Variance between values beyond that of samples, as far as it is known before the first.
    usual: Floats | None = None


@dataclass(frozen=True, eq=False)
class Alarm:
    """A change in some series of a stream."""

    stream: int
    series: tuple[int, ...]  # series that have changed, that with the most evidence first
    since: int  # time of the first changed value, as estimated
    at: int  # time of the alarm
    end: int | None  # time at which the values were back at the earlier mean
    before: tuple[float, ...]  # mean of each series before the change


@dataclass(frozen=True)
class Restart:
    """A change of a stream that was accepted."""

    stream: int
    since: int  # time of the first value of the new level
    at: int  # time after which later values are compared with the new level only


@dataclass(frozen=True, eq=False)
class Detection:
    """Result of a detector."""

    evidence: Floats
    by_stream: Floats  # contribution of each stream
    z: Floats  # difference of each value from the earlier mean, in standard errors
    alarms: tuple[Alarm, ...]  # in the order of time
    remaining: float  # evidence after the alarms and restarts of the last time


def detect(
    series: WatchedSeries, false_alarms: float, restarts: Iterable[Restart] = ()
) -> Detection:
    """Find changes; without any, the mean time to an alarm is at least `false_alarms`."""
    state = _State(series)
    by_time: dict[int, list[Restart]] = {}
    for restart in restarts:
        by_time.setdefault(restart.at, []).append(restart)
    T, n_streams = len(series.values), int(series.streams.max(initial=-1)) + 1
    evidence, by_stream = np.zeros(T), np.zeros((T, n_streams))
    for t in range(T):
        by_stream[t] = state.step(t)
        evidence[t] = by_stream[t].sum()
        remaining = by_stream[t].copy()
        while remaining.sum() >= false_alarms:
            stream = int(remaining.argmax())
            state.alarm(stream, t)
            remaining[stream] = 0.0
        for restart in by_time.get(t, ()):
            state.restart(restart, t)
    remaining = float(state.evidence().sum())
    return Detection(evidence, by_stream, state.z, tuple(state.finished()), remaining)


@dataclass
class _State:
    """State of the detector between two times."""

    series: WatchedSeries
    z: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Begin before the first value."""
        T, C = self.series.values.shape
        self.z = np.full((T, C), np.nan)
        # Only a rise above a limit counts.
        self.limited = np.isfinite(self.series.limits)
        self.tilts = np.where(self.limited[:, None], np.abs(_TILTS), _TILTS)
        self.grown = np.zeros((C, len(_TILTS)))
        self.first = np.zeros(C, np.int64)  # first time of the baseline
        self.begun = np.zeros(C, np.int64)  # first time whose evidence counts
        self.items = np.zeros(C)  # items, sums and variances of the baseline
        self.sums = np.zeros(C)
        self.counts = np.zeros(C)
        self.variance_sums = np.zeros(C)
        self.learnt = np.zeros((T, C), bool)  # values that are part of a baseline
        self.total_variance = _total_variance(self.series.values)
        self.suspended = np.zeros(C, bool)
        self.started = np.zeros(C, bool)  # series with a level known before the first value
        if self.series.starts is not None:
            self._start(self.series.starts)
        self.known = np.zeros(int(self.series.streams.max(initial=-1)) + 1, bool)
        self.open: dict[Alarm, _Return] = {}
        self.closed: list[Alarm] = []

    def _start(self, starts: Floats) -> None:
        self.started = np.asarray(np.isfinite(starts).all(axis=1))
        level, unit, items = np.where(self.started[:, None], starts, 0.0).T
        self.items, self.sums, self.variance_sums = items, items * level, unit
        self.counts = self.started.astype(np.float64)

    def step(self, t: int) -> Floats:
        """Take in the values of one time; returns the evidence of each stream."""
        series = self.series
        observed = np.isfinite(series.values[t])
        ready = observed & ((self.counts > 0) | self.limited) & np.isfinite(self.counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.z[t, ready] = self._standardised(t)[ready]
        over = self.started & (self.counts > _FIRST_VALUES)
        moving = ready & ~self.suspended & ~over
        z = self.z[t, moving, None]
        tilts = self.tilts[moving]
        growth = np.exp(np.minimum(tilts * z - tilts**2 / 2, _MOST_EXPONENT))
        self.grown[moving] = np.minimum(growth * (self.grown[moving] + 1), _MOST_EVIDENCE)
        self.known[series.streams[observed]] = True
        self._end_alarms(t)
        self._learn(t, observed & ~self.suspended)
        return self.evidence()

    def evidence(self) -> Floats:
        """Evidence of each stream."""
        weighted = self.series.weights * (self.grown @ _OF_TILTS)
        total = np.bincount(self.series.streams, weighted, len(self.known))
        return np.asarray(total / max(self.known.sum(), 1))

    def _standardised(self, t: int) -> Floats:
        x, n = self.series.values[t], self.series.sizes[t]
        # The first value of a series with a limit has no earlier ones.
        first = self.counts == 0
        unit = np.where(first, self.series.unit_variances[t], self.variance_sums / self.counts)
        sampling = np.where(first, 0.0, unit * self.counts / self.items)
        total = self.total_variance[t]
        between = np.where(total > _EXCESS * sampling, total - sampling, 0.0)
        if self.series.usual is not None:
            # A limit is one whatever is usual.
            between = np.maximum(between, np.where(self.limited, 0.0, self.series.usual))
        # A limit has no error.
        per_item = np.where(self.limited, 0.0, 1 / self.items)
        per_value = np.where(self.limited, 0.0, 1 / self.counts)
        variance = unit * (1 / n + per_item) + between * (1 + per_value)
        level = np.where(self.limited, self.series.limits, self.sums / self.items)
        return np.asarray((x - level) / np.sqrt(variance))

    def _learn(self, t: int, observed: Bools) -> None:
        """Add the values of one time to the baselines."""
        x, n = self.series.values[t, observed], self.series.sizes[t, observed]
        self.learnt[t, observed] = True
        self.items[observed] += n
        self.sums[observed] += n * x
        self.counts[observed] += 1
        self.variance_sums[observed] += self.series.unit_variances[t, observed]

    def alarm(self, stream: int, t: int) -> None:
        """Raise an alarm; its series wait until they are back at their baseline."""
        members = np.flatnonzero(self.series.streams == stream)
        evidence = self.series.weights[members] * (self.grown[members] @ _OF_TILTS)
        families = self.series.families[members]
        by_family = np.bincount(families, evidence)
        strong = by_family[families] >= _LEAST_PART * evidence.sum()
        order = np.argsort(-np.where(strong, evidence, -1.0), kind="stable")
        changed = members[order[: strong.sum()]]
        since = self._change_point(int(changed[0]), t)
        self.grown[members] = 0.0
        self.begun[members] = t + 1
        self.suspended[changed] = True
        lead = int(changed[0])
        z = self.z[since : t + 1, lead]
        most = _MOST_BEYOND if self.limited[lead] else _MOST_SHIFT
        before = []
        for c in changed.tolist():
            self._forget(c, since, t)
            before.append(float(self.sums[c] / self.items[c]))
        alarm = Alarm(stream, tuple(changed.tolist()), since, t, None, tuple(before))
        self.open[alarm] = _Return(z[np.isfinite(z)], most)

    def _change_point(self, c: int, t: int) -> int:
        """Time from which on the differences of a series best fit a change."""
        times = np.flatnonzero(np.isfinite(self.z[: t + 1, c]))
        times = times[times >= self.begun[c]]
        tilts = np.unique(self.tilts[c])
        gains = self.z[times, c, None] * tilts - tilts**2 / 2
        later = np.cumsum(gains[::-1], axis=0)[::-1]
        return int(times[later.max(axis=1).argmax()])

    def _forget(self, c: int, since: int, t: int) -> None:
        """Take the changed values out of a baseline again, all but its first one."""
        first = -1
        if not self.started[c]:
            first = int(self.learnt[self.first[c] :, c].argmax()) + int(self.first[c])
        rows = np.arange(max(since, first + 1), t + 1)
        rows = rows[self.learnt[rows, c]]
        x, n = self.series.values[rows, c], self.series.sizes[rows, c]
        self.learnt[rows, c] = False
        self.items[c] -= n.sum()
        self.sums[c] -= (n * x).sum()
        self.counts[c] -= len(rows)
        self.variance_sums[c] -= self.series.unit_variances[rows, c].sum()

    def _end_alarms(self, t: int) -> None:
        """End alarms whose first series is back; another one that is not raises its own."""
        for alarm, back in list(self.open.items()):
            z = float(self.z[t, alarm.series[0]])
            if np.isfinite(z) and back.add(z):
                self._close(alarm, t)

    def _close(self, alarm: Alarm, t: int) -> None:
        del self.open[alarm]
        self.suspended[list(alarm.series)] = False
        self.begun[list(alarm.series)] = t + 1
        self.closed.append(replace(alarm, end=t))

    def restart(self, accepted: Restart, t: int) -> None:
        """Begin new baselines for the series of a stream."""
        for alarm in list(self.open):
            if alarm.stream == accepted.stream:
                self._close(alarm, t)
        members = self.series.streams == accepted.stream
        self.grown[members] = 0.0
        # A level that was known before is no longer the one to compare with.
        self.counts[members & self.started] = np.inf
        members = members & ~self.started
        self.first[members] = accepted.since
        self.begun[members] = t + 1
        self.learnt[:, members] = False
        for sums in (self.items, self.sums, self.counts, self.variance_sums):
            sums[members] = 0.0
        for time in range(accepted.since, t + 1):
            self._learn(time, members & np.isfinite(self.series.values[time]))

    def finished(self) -> list[Alarm]:
        return sorted([*self.closed, *self.open], key=lambda alarm: (alarm.at, alarm.stream))


class _Return:
    """Evidence that a changed series is back, as a likelihood ratio since each time."""

    def __init__(self, z: Floats, most: float) -> None:
        self.n, self.total, self.most = len(z) + _ZEROS, float(z.sum()), most
        self.shifts, self.evidence = np.zeros(0), np.zeros(0)

    def add(self, z: float) -> bool:
        """Take in a value; True if the series is back."""
        shift = np.clip(self.total / self.n, -_MOST_SHIFT, self.most)
        self.shifts = np.append(self.shifts, shift)
        self.evidence = np.append(self.evidence, 0.0) + self.shifts * (self.shifts / 2 - z)
        self.n, self.total = self.n + 1, self.total + z
        return bool(self.evidence.max() >= _RETURNED)


def _total_variance(values: Floats) -> Floats:
    """Variance of values up to each time, by successive differences; 0 if there are few."""
    variances = np.zeros(values.shape)
    for c in range(values.shape[1]):
        times = np.flatnonzero(np.isfinite(values[:, c]))
        if len(times) <= _FEWEST_DIFFERENCES:
            continue
        sizes = np.abs(np.diff(values[times, c]))
        padded = np.concatenate([np.full(_MOST_DIFFERENCES - 1, np.nan), sizes])
        windows = np.lib.stride_tricks.sliding_window_view(padded, _MOST_DIFFERENCES)
        typical = np.nanmedian(windows[_FEWEST_DIFFERENCES - 1 :], axis=1)
        # Differences up to a time are used from the next time on.
        squares = (typical / _NORMAL_MEDIAN) ** 2 / 2
        later = times[_FEWEST_DIFFERENCES + 1 :]
        variances[later, c] = squares[: len(later)]
    return variances
