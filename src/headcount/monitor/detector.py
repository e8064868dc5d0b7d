"""Detection of changes in series of estimates, with a bound on the rate of false alarms.

The detector is a mixture of e-detectors (Shin, Ramdas & Rinaldo, "E-detectors", 2023). Each
value is compared with the mean of all earlier ones of its series. Without a change these
differences, divided by their standard errors, are independent with mean 0 and variance 1,
whatever the error of the reference set is: it is the same in all of them and cancels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from headcount._support.arrays import Bools, Floats, Ints

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
    """Find changes; without any, the mean time to an alarm is at least `false_alarms`.

    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(0.2, 0.01, (60, 1))
    >>> values[40:] += 0.03
    >>> ones = np.ones_like(values)
    >>> series = WatchedSeries(
    ...     values, 0.1 * ones, 1000 * ones, np.array([0]), np.array([0]), np.array([1.0]),
    ...     np.array([np.nan]),
    ... )
    >>> [(alarm.since, alarm.at) for alarm in detect(series, 365).alarms]
    [(39, 41)]
    """
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
        self.closed.append(
            Alarm(alarm.stream, alarm.series, alarm.since, alarm.at, t, alarm.before)
        )

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
    """Evidence that a changed series is back, for each time at which it may have come back.

    The size of the change is the mean of the values before that time, so that the evidence is
    a likelihood ratio of the values since then.
    """

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
    """Variance of the values of each series up to each time; 0 where too few are known.

    By successive differences, which hardly notice a single change of the level.
    """
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
