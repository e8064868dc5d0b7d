"""Monitor with labels on streams of real rows: concept drift, lasting changes, false alerts.

    HEADCOUNT_DATA=folder python monitor_labels.py [PART ...] [--streams 100] [--final]

Rows are drawn with replacement from items that the classifier was not trained on. A concept
drifts as labels change in a half-space of the features, which the scores do not show, or as in
reality: later periods of dated data follow the earlier ones that the classifier was trained on.
Chunks pass through the series, weights and alerts of a monitor; only the intervals of the
estimates, which the detector does not read, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from environment import RESULTS, command_line, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MaxAbsScaler  # noqa: E402

from dated import DATASETS, Dated  # noqa: E402
from headcount.monitor.deliveries import MonitorSpec  # noqa: E402
from headcount.monitor.folder import Chunk, ChunkEstimates, Rows  # noqa: E402
from headcount.monitor.history import Alert, MonitorHistory  # noqa: E402
from headcount.monitor.reference import MonitorReference  # noqa: E402
from headcount.monitor.series import ChunkSummaries  # noqa: E402
from headcount.samples.samples import Samples  # noqa: E402
from real_datasets import data_folder, load  # noqa: E402
from tables import bullets, markdown_table, write_json  # noqa: E402

N_TRAINED, N_REFERENCE, MOST_ITEMS = 3000, 2000, 20_000
# Settings were chosen on the first of these; the others were looked at once, at the end.
DEVELOPMENT = (
    "adult", "elec2", "dota", "occup", "imdb50k_binary", "nurse", "fifa", "mnist", "avila",
    "womens_clothing_reviews", "mpls_stops", "bank_marketing", "gss_abortion",
    "football_international", "us_accidents", "comic_characters",
)  # fmt: skip
FINAL = (
    "magic", "ccard", "diam", "acs_employment_ma", "covid_testing", "gusto_regions",
    "houston_crime", "text_airline_tweets", "trump_vote_2016", "crash_nass",
)  # fmt: skip
# Dated data whose later periods differ from the earlier ones.
PERIODS = (
    "mpls_stops", "bank_marketing", "gss_abortion", "football_international", "us_accidents",
    "comic_characters", "houston_crime", "text_trump_tweets", "diabetes130", "portal_rodents",
)  # fmt: skip
_DATED = {dataset.name: dataset for dataset in reversed(DATASETS) if not dataset.set_aside}
_MOST_VALUES, FEWEST_EARLY = 30, 400
# Chunks before a change, after it, after one that is small, and without one.
BEFORE, AFTER, LASTING, QUIET = 30, 30, 100, 400
# Classifiers that are hardly better than a coin are a class of their own.
LEAST_ACCURACY = 0.65


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Scored items, their labels, and numbers that tell two halves of them apart."""

    posteriors: np.ndarray
    labels: np.ndarray
    sides: np.ndarray
    is_late: np.ndarray  # items of later periods than those of the training set

    @property
    def accuracy(self) -> float:
        return self.right(self.labels)

    def right(self, labels: np.ndarray) -> float:
        return float((self.posteriors.argmax(axis=1) == labels).mean())

    def drifted(self, loss: float) -> np.ndarray:
        """Labels of which those on one side are others, so that accuracy falls by `loss`."""
        K, order = self.posteriors.shape[1], np.argsort(-self.sides, kind="stable")
        predicted, labels = self.posteriors.argmax(axis=1)[order], self.labels[order]
        other = (labels + 1) % K
        lost = np.cumsum((predicted == labels).astype(int) - (predicted == other))
        enough = lost >= loss * len(labels)
        n_changed = int(enough.argmax()) + 1 if enough.any() else len(labels)
        changed = self.labels.copy()
        changed[order[:n_changed]] = other[:n_changed]
        return changed


@lru_cache
def labelled_pool(name: str, *, by_time: bool = False) -> LabelledPool:
    """Items of a dataset with the posteriors of a classifier of others of its items."""
    rng = np.random.default_rng(0)
    if name in _DATED:
        X, y, periods = _dated_items(_DATED[name], rng)
    else:
        items = load(name)
        chosen = rng.permutation(len(items.y))[:MOST_ITEMS]
        X, y, periods = items.X[chosen], items.y[chosen], np.zeros(len(chosen))
    late = periods > np.median(periods) if by_time else np.zeros(len(y), bool)
    # A class that hardly was in the earlier periods cannot be in the reference.
    common = np.flatnonzero(np.bincount(y[~late]) >= FEWEST_EARLY)
    present = np.isin(y, common)
    X, y, late = X[present], y[present], late[present]
    trained = np.zeros(len(y), bool)
    trained[rng.permutation(np.flatnonzero(~late))[:N_TRAINED]] = True
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500))
    model.fit(X[trained], y[trained])
    rest = ~trained
    codes = np.searchsorted(model.classes_, y[rest])
    sides = np.asarray(X[rest] @ rng.normal(size=X.shape[1])).ravel()
    return LabelledPool(model.predict_proba(X[rest]), codes, sides, late[rest])


def _dated_items(dataset: Dated, rng: np.random.Generator) -> tuple[Any, np.ndarray, Any]:
    frame = pl.read_parquet(data_folder() / "dated" / f"{dataset.name}.parquet")
    frame = frame.drop_nulls([dataset.target, dataset.by])
    frame = frame[rng.permutation(len(frame))[:MOST_ITEMS].tolist()]
    labels = frame[dataset.target].cast(pl.String)
    frequent = labels.value_counts().filter(pl.col("count") >= 200)[labels.name]
    common = labels.is_in(frequent.to_list())
    frame, labels = frame.filter(common), labels.filter(common)
    groups = {dataset.by for dataset in DATASETS}
    left_out = {dataset.target, *dataset.leave_out, *groups, "text", "id"}
    periods = frame[dataset.by].rank("dense").to_numpy()
    y = np.unique(labels.to_numpy(), return_inverse=True)[1]
    if "text" in frame.columns:
        words = CountVectorizer(min_df=5, max_features=5000, dtype=np.float64)
        return words.fit_transform(frame["text"].to_list()).tocsr(), y, periods
    features = frame.drop(left_out & set(frame.columns))
    wide = [
        column.name for column in features
        if not column.dtype.is_numeric() and column.n_unique() > _MOST_VALUES
    ]  # fmt: skip
    features = features.drop(wide)
    texts = [column.name for column in features if not column.dtype.is_numeric()]
    features = features.with_columns(pl.col(texts).cast(pl.String).fill_null("missing"))
    X = features.to_dummies(texts).cast(pl.Float64).fill_nan(None)
    X = X.with_columns(pl.all().fill_null(pl.all().mean())).fill_null(0.0)
    return X.to_numpy(), y, periods


class LabelledStream:
    """A reference, and chunks that are drawn from the rest of a pool."""

    def __init__(self, pool: LabelledPool, seed: int, **settings: Any) -> None:
        self.rng, self.pool = np.random.default_rng([seed, 7]), pool
        early = self.rng.permutation(np.flatnonzero(~pool.is_late))
        n = min(N_REFERENCE, len(early) // 2)
        reference, self.rest = early[:n], early[n:]
        K = pool.posteriors.shape[1]
        self.spec = MonitorSpec(
            "scores", tuple(range(K)), "label", by="day", compare_reference=True, **settings
        )
        self.reference = MonitorReference(
            pool.posteriors[reference], np.full(n, -1), pool.labels[reference]
        )
        self.summaries = ChunkSummaries(self.spec, self.reference)

    def draw(self, n_chunks: int, n: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Rows of chunks."""
        rows = self.rest if rows is None else rows
        return rows[self.rng.integers(len(rows), size=(n_chunks, n))]

    def alerts(
        self, chunks: np.ndarray, labels: np.ndarray, n_labels: int | None = None
    ) -> tuple[Alert, ...]:
        """Alerts of chunks of rows whose labels arrive, all or some of each chunk."""
        (T, n), P = chunks.shape, self.pool.posteriors
        samples = Samples(chunks.ravel(), n * np.arange(T + 1), n_pool=len(P))
        values, units = self.summaries.observed(P, np.full(len(P), -1), samples, range(T))
        summaries = {}
        for t in range(T):
            known = np.full(n, -1)
            known[:n_labels] = labels[t, :n_labels]
            rows = Rows(
                np.arange(n, dtype=np.uint64), P[chunks[t]], np.full(n, -1), known,
                np.zeros(n, bool),
            )  # fmt: skip
            nothing = [0.0] * P.shape[1]
            estimates = ChunkEstimates(
                nothing, nothing, nothing, nothing, 0.0, 0.0, 0.0, None, []
            )  # fmt: skip
            summary = self.summaries._realised(rows, 0)
            summaries[Chunk(f"{t:06d}", "all")] = replace(
                summary,
                estimates=estimates,
                values=values[t].tolist(),
                unit_variances=units[t].tolist(),
            )
        series, start = self.summaries.series, self.summaries.start
        return MonitorHistory.of(self.spec, series, start, (), summaries, []).alerts


def is_open(alerts: tuple[Alert, ...], n_chunks: int) -> np.ndarray:
    """True for each chunk after which an alert is open."""
    times = np.zeros(n_chunks, bool)
    for alert in alerts:
        times[int(alert.chunk) : int(alert.ended) if alert.ended else n_chunks] = True
    return times


@dataclass(frozen=True)
class Labels:
    """Labels that arrive in each chunk of a stream, and the floor below the accuracy."""

    per_chunk: int | None = None
    floor_below: float | None = None

    def settings(self, accuracy: float) -> dict[str, Any]:
        settings: dict[str, Any] = {"labels": "random" if self.per_chunk else "complete"}
        if self.floor_below is not None:
            settings["accuracy_floor"] = accuracy - self.floor_below
        return settings

    def cells(self) -> list[str]:
        floor = "none" if self.floor_below is None else f"accuracy - {self.floor_below:.2f}"
        names = {None: "all", 0: "none"}
        return [names.get(self.per_chunk, f"{self.per_chunk} at random"), floor]


Course = tuple[str, tuple[Alert, ...]]
"""Dataset of a stream, and its alerts."""


def split_evenly(names: Sequence[str], n_streams: int) -> Iterator[tuple[str, list[int]]]:
    """Datasets, and the seeds of the streams of each."""
    for number, name in enumerate(names):
        yield name, list(range(number, n_streams, len(names)))


def concept_drift(
    names: Sequence[str], n_streams: int, loss: float, n: int, labels: Labels
) -> Iterator[Course]:
    """Alerts of streams whose labels change in a half-space of the features."""
    for name, seeds in split_evenly(names, n_streams):
        pool = labelled_pool(name)
        drifted = pool.drifted(loss)
        for seed in seeds:
            stream = LabelledStream(pool, seed, **labels.settings(pool.accuracy))
            chunks = stream.draw(BEFORE + AFTER, n)
            truth = np.vstack([pool.labels[chunks[:BEFORE]], drifted[chunks[BEFORE:]]])
            yield name, stream.alerts(chunks, truth, labels.per_chunk)


def later_periods(n_streams: int, n: int, labels: Labels) -> Iterator[list[str]]:
    """Rows of later periods after those of earlier ones, as they were in reality."""
    for name, seeds in split_evenly(PERIODS, n_streams):
        pool = labelled_pool(name, by_time=True)
        late, right = pool.is_late, pool.posteriors.argmax(axis=1) == pool.labels
        courses = []
        for seed in seeds:
            stream = LabelledStream(pool, seed, **labels.settings(right[~late].mean()))
            later = stream.draw(AFTER, n, np.flatnonzero(late))
            chunks = np.vstack([stream.draw(BEFORE, n), later])
            courses.append((name, stream.alerts(chunks, pool.labels[chunks], labels.per_chunk)))
        fall = f"{right[~late].mean():.3f} -> {right[late].mean():.3f}"
        yield [name, fall, f"{n:,}", *labels.cells(), *delay_cells(courses)]


def share_change(names: Sequence[str], n_streams: int, size: float, n: int) -> Iterator[Course]:
    """Alerts of streams without labels, in which a share changes by some standard errors."""
    for name, seeds in split_evenly(names, n_streams):
        pool = labelled_pool(name)
        for seed in seeds:
            stream = LabelledStream(pool, seed)
            (_, unit, _) = next(iter(stream.summaries.start.values()))
            label = stream.summaries._described[0]
            mine = pool.labels[stream.rest] == label
            share = mine.mean() + size * np.sqrt(unit / n) * (1 if mine.mean() < 0.5 else -1)
            share = np.clip(share, 0.02, 0.98)
            weights = np.where(mine, share / mine.sum(), (1 - share) / (~mine).sum())
            later = stream.rng.choice(stream.rest, (LASTING, n), p=weights / weights.sum())
            chunks = np.vstack([stream.draw(BEFORE, n), later])
            yield name, stream.alerts(chunks, pool.labels[chunks], 0)


def no_change(names: Sequence[str], n_streams: int, n: int, labels: Labels) -> Iterator[Course]:
    """Alerts of streams in which nothing changes."""
    for name, seeds in split_evenly(names, n_streams):
        pool = labelled_pool(name)
        for seed in seeds:
            stream = LabelledStream(pool, seed, **labels.settings(pool.accuracy))
            chunks = stream.draw(QUIET, n)
            yield name, stream.alerts(chunks, pool.labels[chunks], labels.per_chunk)


def delay_cells(courses: Iterable[Course], after: int = AFTER) -> list[str]:
    """Delays of the first alert after a change, and chunks behind it with an open alert."""
    delays, held, n_chunks, early = [], 0, 0, 0
    for _, alerts in courses:
        raised = [int(alert.chunk) for alert in alerts]
        early += sum(chunk < BEFORE for chunk in raised)
        later = [chunk - BEFORE for chunk in raised if chunk >= BEFORE]
        delays.append(min(later) + 1 if later else after + 1)
        if later:
            states = is_open(alerts, BEFORE + after)[BEFORE + min(later) :]
            held, n_chunks = held + int(states.sum()), n_chunks + len(states)
    counts = np.array(delays)
    return [
        str(len(counts)), f"{np.median(counts):.0f}", *(
            f"{(counts <= most).mean():.0%}" for most in (3, 10, after)
        ), f"{held / max(n_chunks, 1):.1%}", str(early),
    ]  # fmt: skip


def length_cells(courses: Iterable[Course]) -> list[str]:
    """Chunks per alert, and mean number of chunks until the first."""
    n_alerts, first = [], []
    for _, alerts in courses:
        n_alerts.append(len(alerts))
        first.append(int(alerts[0].chunk) + 1 if alerts else QUIET)
    n_first = sum(n > 0 for n in n_alerts)
    return [
        str(len(first)), f"{QUIET * len(first):,}", str(sum(n_alerts)),
        f"{QUIET * len(first) / max(sum(n_alerts), 1):.0f}",
        f"{sum(first) / max(n_first, 1):.0f}",
    ]  # fmt: skip


def drift_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    accurate = [name for name in names if labelled_pool(name).accuracy >= LEAST_ACCURACY]
    for chosen, loss, n, labels in product(
        (accurate, names), (0.1, 0.15), (200, 500), (Labels(None, 0.05), Labels(None))
    ):
        which = "accurate" if chosen is accurate else "all"
        cells = delay_cells(concept_drift(chosen, n_streams, loss, n, labels))
        yield [which, f"{loss:.2f}", f"{n:,}", *labels.cells(), *cells]
    for chosen, loss, labels in product(
        (accurate, names), (0.1, 0.15, 0.2), (Labels(50, 0.05), Labels(50))
    ):
        which = "accurate" if chosen is accurate else "all"
        cells = delay_cells(concept_drift(chosen, n_streams, loss, 500, labels))
        yield [which, f"{loss:.2f}", "500", *labels.cells(), *cells]


def enough_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    accurate = [name for name in names if labelled_pool(name).accuracy >= LEAST_ACCURACY]
    cases = ((0.1, 310, Labels(None, 0.05)), (0.1, 500, Labels(92, 0.05)),
             (0.15, 140, Labels(None, 0.05)), (0.15, 500, Labels(42, 0.05)))  # fmt: skip
    for loss, n, labels in cases:
        cells = delay_cells(concept_drift(accurate, n_streams, loss, n, labels))
        yield ["accurate", f"{loss:.2f}", f"{n:,}", *labels.cells(), *cells]


def period_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    for labels in (Labels(None, 0.02), Labels(50, 0.02)):
        yield from later_periods(n_streams, 500, labels)


def lasting_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    for size, n in product((1, 2, 3), (200, 1000)):
        courses = share_change(names, n_streams, size, n)
        yield [str(size), f"{n:,}", *delay_cells(courses, LASTING)]


def false_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    cases = ((200, Labels(0)), (1000, Labels(0)), (300, Labels(None, 0.02)),
             (300, Labels(None)), (500, Labels(50, 0.02)), (500, Labels(50)))  # fmt: skip
    for n, labels in cases:
        yield [f"{n:,}", *labels.cells(), *length_cells(no_change(names, n_streams, n, labels))]


def limit_rows(names: Sequence[str], n_streams: int) -> Iterator[list[str]]:
    """Falls that the best test of one known fall sees, with one false alert in 365 chunks.

    That is a CUSUM of the likelihood ratio of the labels, on the scale where their accuracy has
    the same variance everywhere.
    """
    for (per_chunk, within), fall, before in product(
        ((200, 3), (50, 10)), (0.1, 0.15), (0.7, 0.8, 0.9)
    ):
        angles = np.arcsin(np.sqrt([before, before - fall]))
        size = 2 * float(-np.diff(angles)[0]) * np.sqrt(per_chunk)
        low, high = 0.0, 9.0
        for _ in range(12):
            level = (low + high) / 2
            low, high = (low, level) if _mean_run(size, level) >= 365 else (level, high)
        seen = (_first_passage(size, high, size, within, 200_000) <= within).mean()
        yield [f"{fall:.2f}", f"{before:.1f}", str(per_chunk), str(within), f"{seen:.1%}"]


def _mean_run(size: float, level: float) -> float:
    return float(_first_passage(size, level, 0.0, 6000, 4000).mean())


def _first_passage(
    size: float, level: float, mean: float, n_chunks: int, n_streams: int
) -> np.ndarray:
    """Chunk at which a CUSUM passes a level, or one more than there are."""
    rng, sums = np.random.default_rng(0), np.zeros(n_streams)
    first = np.full(n_streams, n_chunks + 1)
    for t in range(n_chunks):
        z = rng.standard_normal(n_streams) + mean
        sums = np.maximum(sums, 0) + size * z - size**2 / 2
        first = np.where((sums >= level) & (first > n_chunks), t + 1, first)
        if (first <= n_chunks).all():
            break
    return first


DELAYS = ["streams", "median", "within 3", "within 10", "within {after}", "open after it",
          "alerts before"]  # fmt: skip
FALL = ["fall of accuracy", "n", "labels", "floor"]
PARTS = {
    "concept": (
        drift_rows,
        "Concept drift with labels",
        "Labels change in a random half-space of the features, so that accuracy falls.",
        ["classifiers", *FALL, *DELAYS],
        AFTER,
    ),
    "enough": (
        enough_rows,
        "As many labels as are enough",
        "",
        ["classifiers", *FALL, *DELAYS],
        AFTER,
    ),
    "limit": (
        limit_rows,
        "What the labels allow",
        "Falls that the best test of one known fall sees, if it raises one false alert in 365 "
        "chunks and there is no other detector.",
        ["fall of accuracy", "before", "labels per chunk", "within", "seen"],
        0,
    ),
    "periods": (
        period_rows,
        "Later periods of dated data",
        "The classifier and the reference are of the earlier half of the periods.",
        ["data", *FALL, *DELAYS],
        AFTER,
    ),
    "lasting": (
        lasting_rows,
        "A share changes by some standard errors, without labels",
        "",
        ["change (SE)", "n", *DELAYS],
        LASTING,
    ),
    "false": (
        false_rows,
        "No change: alerts of all detectors",
        f"Streams of {QUIET} chunks. Chunks until the first alert: all up to it, or all of a "
        "stream without one, by the number of first alerts.",
        ["n", "labels", "floor", "streams", "chunks", "alerts", "chunks per alert",
         "until the first"],
        0,
    ),
}  # fmt: skip


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--final", action="store_true", help="datasets that were set aside")
    given = parser.parse_args()
    names, title = (
        (FINAL, "monitor_labels_final") if given.final else (DEVELOPMENT, "monitor_labels")
    )
    folder = given.output or RESULTS
    file = folder / f"{title}.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for part in given.parts:
        rows = []
        for row in PARTS[part][0](names, given.streams):
            print(row, flush=True)
            rows.append(row)
        results[part] = rows
        write_json(file, results)
    text = [
        "# Monitor: labels, lasting changes and false alerts\n", bullets(describe_machine()),
        f"\nData: {', '.join(names)}. References of {N_REFERENCE:,} rows, {BEFORE} chunks "
        "before a change. Delays are in chunks; `open after it` is the part of the chunks "
        "behind the first alert in which one is open. Accurate classifiers are right in at "
        f"least {LEAST_ACCURACY:.0%} of the rows.",
    ]  # fmt: skip
    for part, (_, heading, note, header, after) in PARTS.items():
        if part in results:
            header = [name.format(after=after) for name in header]
            text += [f"\n## {heading}\n", f"{note}\n" if note else ""]
            text.append(markdown_table(header, results[part]))
    (folder / f"{title}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
