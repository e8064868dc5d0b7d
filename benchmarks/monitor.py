"""Monitor: false alarms, delays, bands, and the same streams with nannyml.

    python monitor.py [PART ...] [--quick] [--nannyml PYTHON] [--output FOLDER]

Parts: lengths, further, delays, accuracy, nannyml, bands, story; all by default. Results of a
part are kept in results/monitor.json, and the tables of all of them are in results/monitor.md.

Streams are drawn from real scored items (logistic regression, fitted on other items), with
shares that do not change, or change once. Each repeat has a reference of its own, which its
streams share, as the groups of one monitor do. The detector is folded over all streams at once,
without a limit; the first time its evidence reaches the limit is that of the first alert.
nannyml runs in another process, by the Python that --nannyml names, with its reports of use
switched off. Data is looked for in the folder that HEADCOUNT_DATA names.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from environment import RESULTS, command_line, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MaxAbsScaler  # noqa: E402

from headcount.monitor.deliveries import MonitorSpec  # noqa: E402
from headcount.monitor.folder import Rows  # noqa: E402
from headcount.monitor.history import LABEL_WEIGHT  # noqa: E402
from headcount.monitor.reference import MonitorReference  # noqa: E402
from headcount.monitor.series import (  # noqa: E402
    ChunkSummaries,
    Detection,
    WatchedSeries,
    detect,
)
from headcount.samples.samples import Samples  # noqa: E402
from monitor_story import STORY_HEADER, flights_by_week  # noqa: E402
from real_datasets import load  # noqa: E402
from tables import bullets, markdown_table, write_json  # noqa: E402

FALSE_ALARMS = 365
LONGEST = 1500
STREAMS = 10
N_TRAINED = 3000
# Two classes, and five.
CELLS = ("adult", "womens_clothing_reviews")
FURTHER = (
    "elec2", "nycflights13", "dota", "occup", "imdb50k_binary", "nurse", "bike", "fifa", "blog",
    "mnist", "avila",
)  # fmt: skip
BANDS = ("adult", "elec2", "occup", "imdb50k_binary", "nurse", "fifa", "blog", CELLS[1])
# Chunks before a change, as many as a quarter of a year of days; chunks after it.
BEFORE, AFTER = 90, 60
# Chunks of a stream whose bands are compared with the truth.
N_BANDS = 30
# Rows of a large chunk.
LARGE = 100_000


@dataclass(frozen=True)
class Options:
    """Number of repeats, and the Python that has nannyml."""

    repeats: int
    nannyml: str


@dataclass(frozen=True, eq=False)
class Scored:
    """Items that a classifier was not trained on, with its posteriors."""

    posteriors: np.ndarray
    labels: np.ndarray

    @property
    def n_classes(self) -> int:
        return self.posteriors.shape[1]

    @property
    def shares(self) -> np.ndarray:
        return np.bincount(self.labels) / len(self.labels)

    @property
    def right(self) -> np.ndarray:
        return self.posteriors.argmax(axis=1) == self.labels


def scored(name: str) -> Scored:
    items = load(name)
    order = np.random.default_rng(0).permutation(len(items.y))
    trained, rest = order[:N_TRAINED], order[N_TRAINED:]
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500))
    model.fit(items.X[trained], items.y[trained])
    return Scored(model.predict_proba(items.X[rest]), items.y[rest])


class World:
    """A reference, and a pool that chunks are drawn from."""

    def __init__(self, data: Scored, n_reference: int, seed: int, method: str = "PACC") -> None:
        self.rng = np.random.default_rng([seed, n_reference])
        order = self.rng.permutation(len(data.labels))
        self.reference, self.pool = order[:n_reference], order[n_reference:]
        self.data = data
        spec = MonitorSpec("scores", tuple(range(data.n_classes)), "label", method=method)
        known = MonitorReference(
            data.posteriors[self.reference],
            np.full(n_reference, -1),
            data.labels[self.reference],
        )
        self.summaries = ChunkSummaries(spec, known)

    def draw(self, n_chunks: int, n: int, shares: np.ndarray | None = None) -> np.ndarray:
        """Rows of chunks, with the shares of the pool or with others."""
        if shares is None:
            return self.pool[self.rng.integers(len(self.pool), size=(n_chunks, n))]
        labels = self.data.labels[self.pool]
        weights = shares[labels] / np.bincount(labels)[labels]
        return self.rng.choice(self.pool, (n_chunks, n), p=weights / weights.sum())

    def series(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the series in chunks, and their variances for one item."""
        (n_chunks, n), P = chunks.shape, self.data.posteriors
        samples = Samples(chunks.ravel(), n * np.arange(n_chunks + 1), n_pool=len(P))
        return self.summaries.observed(P, np.full(len(P), -1), samples, range(n_chunks))

    def detect(self, streams: list[np.ndarray], limit: float) -> Detection:
        """Changes in streams of chunks."""
        found = [self.series(chunks) for chunks in streams]
        values, unit = (np.hstack(parts) for parts in zip(*found, strict=True))
        weights = np.array([weight for _, weight in self.summaries.series])
        weights = weights * (1 - LABEL_WEIGHT["complete"])  # the rest waits for labels
        numbers = np.repeat(np.arange(len(streams)), len(weights))
        given = WatchedSeries(
            values, unit, np.full(values.shape, float(streams[0].shape[1])), numbers,
            np.zeros(len(numbers), int), np.tile(weights, len(streams)),
            np.full(values.shape[1], np.nan),
        )  # fmt: skip
        return detect(given, limit)

    def evidence(self, streams: list[np.ndarray]) -> np.ndarray:
        """Evidence of each stream alone, without alarms, one column per stream."""
        return self.detect(streams, np.inf).by_stream * len(streams)

    def summarise(self, chunks: np.ndarray) -> list[Any]:
        """Summaries of chunks, with intervals."""
        n, unknown = chunks.shape[1], np.full(chunks.shape[1], -1)
        keys, both = np.arange(n, dtype=np.uint64), np.zeros(n, bool)
        P = self.data.posteriors
        rows = [Rows(keys, P[own], unknown, unknown, both) for own in chunks]
        summaries = self.summaries.summarise(rows, list(range(len(chunks))))
        return [summary.estimates for summary in summaries]


def first_alerts(evidence: np.ndarray) -> np.ndarray:
    """Times until the evidence of each column reaches the limit; 0 where it never does."""
    reached = evidence >= FALSE_ALARMS
    return np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, 0)


def length_rows(name: str, data: Scored, n_reference: int, n: int, repeats: int) -> Any:
    """Run lengths without a change: of each stream alone, and of all streams together."""
    alone, together = [], []
    for seed in range(repeats):
        world = World(data, n_reference, seed)
        found = world.evidence([world.draw(LONGEST, n) for _ in range(STREAMS)])
        alone.append(first_alerts(found))
        together.append(first_alerts(found.mean(axis=1, keepdims=True)))
    for streams, alerts in ((1, np.array(alone)), (STREAMS, np.array(together))):
        lengths = np.where(alerts > 0, alerts, LONGEST)
        error = lengths.mean(axis=1).std(ddof=1) / np.sqrt(repeats)
        rate = lengths.sum() / max(1, (alerts > 0).sum())
        row = [name, data.n_classes, f"{n_reference:,}", f"{n:,}", streams, alerts.size,
               f"{lengths.mean():.0f} ± {error:.0f}", f"{rate:.0f}",
               f"{(alerts == 0).mean():.0%}"]  # fmt: skip
        yield [str(cell) for cell in row]


def no_change(options: Options) -> Iterator[list[str]]:
    """Every cell of classes, reference, size and number of streams."""
    known = {name: scored(name) for name in CELLS}
    for cell in product(known.items(), (1000, 5000), (200, 1000)):
        (name, data), n_reference, n = cell
        yield from length_rows(name, data, n_reference, n, options.repeats)


def further_data(options: Options) -> Iterator[list[str]]:
    """The smaller reference and smaller chunks on other datasets."""
    for name in FURTHER:
        yield from length_rows(name, scored(name), 1000, 200, max(2, options.repeats // 3))


def delays_of(world: World, n: int, shares: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Chunks from a change to the alert in each stream; NaN if one came before the change."""
    streams = [
        np.concatenate([world.draw(BEFORE, n, shares), world.draw(AFTER, n, moved)])
        for _ in range(STREAMS)
    ]
    found = first_alerts(world.evidence(streams)).astype(float)
    found[found == 0] = BEFORE + AFTER
    return np.where(found > BEFORE, found - BEFORE, np.nan)


def delay_cells(found: list[np.ndarray]) -> list[str]:
    delays = np.concatenate(found)
    early, delays = np.isnan(delays).sum(), delays[~np.isnan(delays)]
    middle, most = np.quantile(delays, [0.5, 0.9])
    return [str(len(delays)), f"{delays.mean():.1f}", f"{middle:.0f}", f"{most:.0f}",
            f"{(delays <= 3).mean():.0%}", str(early)]  # fmt: skip


def delays(options: Options) -> Iterator[list[str]]:
    """Chunks from a change of the share by some standard errors to the alert."""
    data = scored(CELLS[0])
    for n, change in product((200, 1000), (1, 2, 3)):
        found = []
        for seed in range(options.repeats // 2):
            world = World(data, 5000, seed)
            _, unit = world.series(world.draw(STREAMS, n, data.shares))
            step = change * np.sqrt(unit[:, 0].mean() / n)
            moved = data.shares + step * np.array([-1, 1])
            found.append(delays_of(world, n, data.shares, moved))
        yield [f"{n:,}", str(change), *delay_cells(found)]


def less_accurate(data: Scored, loss: float = 0.05) -> tuple[np.ndarray, str]:
    """Shares of two classes with which the accuracy is lower by some points."""
    rates = np.array([data.right[data.labels == j].mean() for j in range(2)])
    step = loss / np.abs(rates[1] - rates[0])
    moved = data.shares + step * np.where(np.arange(2) == rates.argmin(), 1, -1)
    return moved, f"{data.shares @ rates:.3f} -> {moved @ rates:.3f}"


def accuracy_falls(options: Options) -> Iterator[list[str]]:
    """Accuracy that falls by five points by prior shift."""
    data = scored(CELLS[0])
    moved, head = less_accurate(data)
    for n_reference, n in product((1000, 5000), (200, 1000)):
        found = []
        for seed in range(options.repeats // 2):
            world = World(data, n_reference, seed)
            found.append(delays_of(world, n, data.shares, moved))
        yield [head, f"{n_reference:,}", f"{n:,}", *delay_cells(found)]


def beside_nannyml(options: Options) -> Iterator[list[str]]:
    """The same loss of accuracy: alerts and bands of both, on the same chunks."""
    n, n_reference, n_chunks = 1000, 5000, 365
    data, repeats = scored(CELLS[0]), max(2, options.repeats // 3)
    moved, head = less_accurate(data)
    quiet: dict[str, list[tuple[float, ...]]] = {"headcount": [], "nannyml": []}
    changed: dict[str, list[tuple[np.ndarray, float]]] = {"headcount": [], "nannyml": []}
    for seed in range(repeats):
        world = World(data, n_reference, seed)
        same, after = world.draw(n_chunks, n), world.draw(AFTER, n, moved)
        for kind, chunks in (("quiet", same), ("changed", np.vstack([same[:BEFORE], after]))):
            alarms = world.detect([chunks], FALSE_ALARMS).alarms
            alerts = np.isin(np.arange(len(chunks)), [alarm.at for alarm in alarms])
            shown = chunks[-N_BANDS:]
            ends = np.array(
                [[each.accuracy_low, each.accuracy_high] for each in world.summarise(shown)]
            )
            said = _nannyml(options.nannyml, data, world.reference, chunks)
            other = np.column_stack([said["low"], said["high"]])[-N_BANDS:]
            truth = data.right[shown].mean(axis=1)
            for name, alert, (low, high) in (
                ("headcount", alerts, ends.T), ("nannyml", said["alert"], other.T),
            ):  # fmt: skip
                held = ((low <= truth) & (truth <= high)).mean()
                if kind == "quiet":
                    quiet[name].append((alert.sum(), held, (high - low).mean()))
                else:
                    changed[name].append((alert[BEFORE:], held))
    yield [f"accuracy {head}, {repeats} streams", *[""] * 6]
    for name in quiet:
        false, held, width = np.mean(quiet[name], axis=0)
        found = [alert for alert, _ in changed[name]]
        within = np.mean([alert[:3].any() for alert in found])
        delay = np.mean([a.argmax() + 1 if a.any() else len(a) for a in found])
        after_change = np.mean([held for _, held in changed[name]])
        yield [name, f"{false:.1f}", f"{within:.0%}", f"{delay:.1f}", f"{held:.0%}",
               f"{after_change:.0%}", f"{width:.3f}"]  # fmt: skip


def bands(options: Options) -> Iterator[list[str]]:
    """Intervals that hold the realised shares and accuracy of their chunk."""
    for name in BANDS:
        data, n_reference, repeats = scored(name), 1000, options.repeats
        found = []
        for seed in range(repeats):
            world = World(data, n_reference, seed)
            other = world.rng.dirichlet(np.ones(data.n_classes))
            chunks = np.vstack([world.draw(1, 1000), world.draw(1, 1000, other)])
            for rows, each in zip(chunks, world.summarise(chunks), strict=True):
                counts = np.bincount(data.labels[rows], minlength=data.n_classes)
                ends = np.array([each.low, each.high])
                held = (ends[0] <= counts / 1000) & (counts / 1000 <= ends[1])
                right = data.right[rows].mean()
                found.append(
                    (
                        each.accuracy_low <= right <= each.accuracy_high,
                        each.accuracy_high - each.accuracy_low,
                        held.mean(),
                    )
                )
        rates = np.mean(np.reshape(found, (repeats, 2, 3)).astype(float), axis=0)
        row = [f"{rates[0, 0]:.0%}", f"{rates[1, 0]:.0%}", f"{rates[0, 2]:.0%}",
               f"{rates[1, 2]:.0%}", f"{rates[0, 1]:.3f}", f"{rates[1, 1]:.3f}"]  # fmt: skip
        yield [name, str(data.n_classes), f"{n_reference:,}", str(repeats), *row]


def story(options: Options) -> Iterator[list[str]]:
    """Flights by week: both tools where their assumptions fail."""

    def answers(reference: pl.DataFrame, new: pl.DataFrame) -> dict[str, np.ndarray]:
        given = {"labels": (reference["label"] == "late").to_numpy().astype(int)}
        for name, frame in (("reference", reference), ("chunks", new)):
            late = frame["late"].to_numpy()
            given |= {name: np.column_stack([1 - late, late]),
                      f"{name}_days": frame["date"].to_numpy()}  # fmt: skip
        return _asked(options.nannyml, given)

    yield from flights_by_week(answers)


def large_chunks(options: Options) -> Iterator[list[str]]:
    """Seconds of an update with many scored rows, after one that starts everything up."""
    import polars as pl

    import headcount as hc

    def table(n: int, n_classes: int, day: str, rng: np.random.Generator) -> pl.DataFrame:
        y = rng.integers(n_classes, size=n)
        logits = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y]
        odds = np.exp(logits)
        names = [f"c{k}" for k in range(n_classes)]
        made = pl.DataFrame(odds / odds.sum(axis=1, keepdims=True), schema=names)
        return made.with_columns(day=pl.lit(day), label=pl.Series(names)[y])

    for n_classes in (2, 5):
        for method in ("PACC", "SLD"):
            rng = np.random.default_rng(0)
            reference = table(5000, n_classes, "2026-01-01", rng).drop("day")
            with tempfile.TemporaryDirectory() as folder:
                monitor = hc.Monitor.create(
                    Path(folder) / "monitor", reference, target="label", by="day", method=method
                )
                monitor.update(table(1000, n_classes, "2026-02-01", rng).drop("label"))
                found = []
                for day in range(2, 5):
                    new = table(LARGE, n_classes, f"2026-02-{day:02}", rng).drop("label")
                    start, busy = time.perf_counter(), time.process_time()
                    monitor.update(new)
                    spent = time.perf_counter() - start, time.process_time() - busy
                    found.append([f"{each:.2f}" for each in spent])
            yield [
                method,
                str(n_classes),
                *(", ".join(each) for each in zip(*found, strict=True)),
            ]


def _nannyml(python: str, data: Scored, reference: np.ndarray, chunks: np.ndarray):
    given = {
        "reference": data.posteriors[reference],
        "labels": data.labels[reference],
        "chunks": data.posteriors[chunks.ravel()],
        "size": chunks.shape[1],
    }
    return _asked(python, given)


def _asked(python: str, given: dict[str, Any]) -> dict[str, np.ndarray]:
    """Answers of nannyml, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        workload, answers = Path(folder) / "given.npz", Path(folder) / "answers.json"
        np.savez(workload, **given)
        script = Path(__file__).with_name("accuracy_nannyml.py")
        subprocess.run([python, str(script), str(workload), str(answers)], check=True)
        said = json.loads(answers.read_text())
    return {key: np.array(said[key]) for key in ("accuracy", "low", "high", "alert")}


LENGTHS = ["data", "classes", "reference", "n", "streams", "runs", "mean", "chunks per alert",
           "no alert"]  # fmt: skip
CUT = (
    f"Runs are cut at {LONGEST:,} chunks, so that means are lower bounds; ± is one standard "
    "error between references. Chunks per alert: all chunks by the number of first alerts."
)
DELAYS = ["streams", "mean", "median", "90%", "within 3", "false alarms before"]
PARTS = {
    "lengths": (
        no_change,
        f"No change: chunks until the first alert, false_alarms = {FALSE_ALARMS}",
        CUT,
        LENGTHS,
    ),
    "further": (further_data, "The same on other data", "", LENGTHS),
    "delays": (
        delays,
        f"Delay after a change of the share, behind {BEFORE} chunks",
        f"Streams of {CELLS[0]}, reference of 5,000.",
        ["n", "change (SE)", *DELAYS],
    ),
    "accuracy": (
        accuracy_falls,
        f"Delay after a loss of accuracy by prior shift, behind {BEFORE} chunks",
        f"Streams of {CELLS[0]}.",
        ["accuracy", "reference", "n", *DELAYS],
    ),
    "nannyml": (
        beside_nannyml,
        "Accuracy falls by prior shift: compared with nannyml's CBPE",
        f"Streams of {CELLS[0]}, chunks of 1,000, reference of 5,000; bands of the last "
        f"{N_BANDS} chunks.",
        ["", "alerts in 365 chunks without change", "alert within 3 chunks", "mean delay",
         "bands with the truth, no change", "after the change", "mean width"],
    ),
    "bands": (
        bands,
        "95% intervals that hold the truth of their chunk",
        "Chunks of 1,000, with the shares of the reference, and with shares drawn at random.",
        ["data", "classes", "reference", "repeats", "accuracy", "after a change", "shares",
         "after a change", "width, accuracy", "after a change"],
    ),
    "rows": (
        large_chunks,
        f"Update with {LARGE:,} scored rows",
        "Generated scores, reference of 5,000; three updates each.",
        ["method", "classes", "seconds", "CPU seconds on two threads"],
    ),
    "story": (
        story,
        "Flights from New York in 2013, by week",
        "Model of January, reference of February and March, 40 weeks from April on.",
        STORY_HEADER,
    ),
}  # fmt: skip


def main() -> None:
    parser = command_line(__doc__ or "", quick=True)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--nannyml", default=sys.executable, help="Python with nannyml")
    given = parser.parse_args()
    options = Options(4 if given.quick else 80, given.nannyml)
    folder = given.output or (Path(tempfile.gettempdir()) if given.quick else RESULTS)
    file = folder / "monitor.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for name in given.parts:
        start, rows = time.perf_counter(), []
        for row in PARTS[name][0](options):
            print(row, flush=True)
            rows.append(row)
            kept[name] = {"rows": rows, "seconds": round(time.perf_counter() - start)}
            write_json(file, kept)
    text = ["# Monitor\n", bullets(describe_machine())]
    for name, (_, title, note, header) in PARTS.items():
        if name in kept:
            rows = kept[name]["rows"]
            text += [f"\n## {title}\n", f"{note} {kept[name]['seconds']} s.\n"]
            text.append(markdown_table(header, rows))
    (folder / "monitor.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
