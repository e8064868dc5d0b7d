"""Summaries of chunks: shares, accuracy, assumption test, values of the series."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._support.arrays import Array, Floats, Ints
from headcount.accuracy.leap import LEAP
from headcount.accuracy.metrics import realised
from headcount.estimates.assumption import MixtureTest
from headcount.estimates.backtest import TooFewGroupsError, run_backtest
from headcount.items.arrays import Scored, Verdicts
from headcount.monitor.deliveries import MonitorSpec
from headcount.monitor.folder import Chunk, ChunkEstimates, ChunkSummary, MonitorFolder, Rows
from headcount.monitor.reference import MonitorReference
from headcount.parts.training import Dense, Training
from headcount.quantifiers.adjusted import ACC
from headcount.quantifiers.from_history import following, labelled_groups
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
# Rows that are summarised at a time.
_MOST_ROWS = 200_000


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
        """Method for the shares, which follows what held in the periods of the reference."""
        method = self._fitted(self._method())
        if (periods := self._periods) is None:
            return method
        items = self._items(self.reference.scores, self.reference.predictions)
        labels = self._classes[self.reference.labels]
        try:
            groups = labelled_groups(self._method(), items, labels, *periods)
            return following(method, run_backtest(groups, random_state=0).history)
        except TooFewGroupsError:
            return method

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
        """Names and weights of the series that changes are detected in.

        Shares have most of the weight; accuracy and the assumption share the rest.
        """
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
        """Values of the series in the reference, their unit variances, and its items.

        Also the realised accuracy, under "reference".
        """
        n = len(self.reference.labels)
        reference = (self.reference.scores, self.reference.predictions)
        (values,), (variances,) = self.observed(*reference, Samples.whole(n), [0])
        names = [f"start:{name}" for name, _ in self.series]
        pairs = zip(values.tolist(), variances.tolist(), strict=True)
        start = {name: (*pair, n) for name, pair in zip(names, pairs, strict=True)}
        items = self._items(*reference)
        accuracy = realised(self.spec.metric, items, self.reference.labels, self._classes)
        return {**start, "reference": (accuracy, *start["start:accuracy"][1:])}

    def summarise(self, chunks: list[Rows], seeds: list[int]) -> list[ChunkSummary]:
        """Summaries of chunks; the seed of a chunk is a function of its content."""
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
        shares = self._quantifier.estimate_many(items, samples, **options)
        accuracy = self._predictor.estimate_many(items, samples, self.spec.metric, **options)
        values, variances = self.observed(
            pool.scores, pool.predictions, samples, [seeds[i] for i in enough]
        )
        for place, i in enumerate(enough):
            estimates = _chunk_estimates(shares[place], accuracy[place])
            if self.spec.labels == "random":
                rows = pool.take(slice(edges[place], edges[place + 1]))
                estimates = self._by_labels(rows, options) or estimates
            summaries[i] = replace(
                summaries[i],
                estimates=estimates,
                values=values[place].tolist(),
                unit_variances=variances[place].tolist(),
            )
        return summaries

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
        """Summaries of all chunks in the order of time; those that are missing are written."""
        chunks = folder.chunks()
        summaries = folder.summaries(chunks)
        pending = [chunk for chunk in chunks if chunk not in summaries]
        batch: list[tuple[Chunk, Rows]] = []
        for number, chunk in enumerate(pending):
            batch.append((chunk, folder.rows(chunk)))
            full = sum(len(rows) for _, rows in batch) >= _MOST_ROWS
            if full or number == len(pending) - 1:
                # Labels that come later leave the random numbers as they are.
                seeds = [rows.without_labels().fingerprint % 2**64 for _, rows in batch]
                new_summaries = self.summarise([rows for _, rows in batch], seeds)
                members = [chunk for chunk, _ in batch]
                summaries |= zip(members, new_summaries, strict=True)
                for stream in sorted({chunk.stream for chunk in members}):
                    folder.write_summaries(stream, chunks, summaries)
                batch = []
        return {chunk: summaries[chunk] for chunk in chunks}

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
        """Values of the series in samples of a pool, and variances for samples of one item.

        The variance of a metric other than a mean is computed from copies drawn with the seeds.
        """
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
    ends, test = shares.interval(), shares.fit_test
    accuracy_low, accuracy_high = accuracy.interval()
    p_value = None if test is None or np.isnan(test.p_value) else float(test.p_value)
    basis = "history" if shares.basis == accuracy.basis == "history" else "shift"
    return ChunkEstimates(
        shares.shares.tolist(),
        ends.low.tolist(),
        ends.high.tolist(),
        shares.raw.tolist(),
        accuracy.value,
        accuracy_low,
        accuracy_high,
        p_value,
        list(shares.warnings),
        basis,
    )
