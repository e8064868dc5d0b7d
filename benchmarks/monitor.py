"""Monitor: false alarms, delays, and the same streams with nannyml.

    python monitor.py [PART ...] [--quick] [--nannyml PYTHON] [--output FOLDER]

Parts: lengths, further, delays, nannyml, story; all by default. Results of a part are kept in
results/monitor.json, and the tables of all of them are in results/monitor.md.

Streams are drawn from real scored items (logistic regression, fitted on other items), with
shares that do not change, or change once. Each stream has a reference of its own. Run
lengths are cut at LONGEST chunks, so that means are lower bounds. nannyml runs in another
process, by the Python that --nannyml names, with its reports of use switched off. Data is
looked for in the folder that HEADCOUNT_DATA names.
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

from headcount.monitor.detector import Series, detect  # noqa: E402
from headcount.monitor.history import ERROR_WEIGHT  # noqa: E402
from headcount.monitor.reference import Reference  # noqa: E402
from headcount.monitor.rows import Rows  # noqa: E402
from headcount.monitor.spec import MonitorSpec  # noqa: E402
from headcount.monitor.summaries import ChunkSummaries  # noqa: E402
from headcount.sampling import Samples  # noqa: E402
from monitor_story import STORY_HEADER, flights_by_week  # noqa: E402
from real_datasets import load  # noqa: E402
from tables import bullets, markdown_table, write_json  # noqa: E402

FALSE_ALARMS = 365
LONGEST = 1500
N_TRAINED = 3000
# Chunks that are drawn at a time.
BLOCK = 375
# Two classes, and five.
CELLS = ("adult", "womens_clothing_reviews")
FURTHER = (
    "elec2", "nycflights13", "dota", "occup", "imdb50k_binary", "nurse", "bike", "fifa", "blog",
    "mnist", "avila",
)  # fmt: skip
# Chunks before a change, as many as a quarter of a year of days.
BEFORE = 90
# Chunks whose sampling variance is computed; their mean is used for all of a stream.
N_VARIANCES = 4


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


def scored(name: str) -> Scored:
    items = load(name)
    order = np.random.default_rng(0).permutation(len(items.y))
    trained, rest = order[:N_TRAINED], order[N_TRAINED:]
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500))
    model.fit(items.X[trained], items.y[trained])
    return Scored(model.predict_proba(items.X[rest]), items.y[rest])


class World:
    """A reference, and a pool that chunks are drawn from."""

    def __init__(self, data: Scored, n_reference: int, method: str, seed: int) -> None:
        self.rng = np.random.default_rng([seed, n_reference])
        order = self.rng.permutation(len(data.labels))
        self.reference, self.pool = order[:n_reference], order[n_reference:]
        self.data = data
        spec = MonitorSpec("scores", tuple(range(data.n_classes)), "label", method=method)
        known = Reference(
            data.posteriors[self.reference],
            np.full(n_reference, -1),
            data.labels[self.reference],
        )
        self.summaries = ChunkSummaries(spec, known)

    def draw(self, n_chunks: int, n: int, shares: np.ndarray | None = None) -> np.ndarray:
        """Rows of chunks, with the shares of the pool or with others."""
        labels = self.data.labels[self.pool]
        if shares is None:
            return self.rng.choice(self.pool, (n_chunks, n))
        weights = shares[labels] / np.bincount(labels)[labels]
        return self.rng.choice(self.pool, (n_chunks, n), p=weights / weights.sum())

    def values(self, chunks: np.ndarray) -> np.ndarray:
        """Values of the series in chunks."""
        n_chunks, n = chunks.shape
        P = self.data.posteriors
        samples = Samples(chunks.ravel(), n * np.arange(n_chunks + 1), n_pool=len(P))
        return self.summaries.values(P, np.full(len(P), -1), samples)

    def rows(self, chunks: np.ndarray) -> list[Rows]:
        n, unknown = chunks.shape[1], np.full(chunks.shape[1], -1)
        keys, both = np.arange(n, dtype=np.uint64), np.zeros(n, bool)
        return [Rows(keys, self.data.posteriors[own], unknown, unknown, both) for own in chunks]

    def series(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the series in chunks, and their variances for one item."""
        some = self.rows(chunks[:N_VARIANCES])
        unit = [self.summaries.observed(rows, seed)[1] for seed, rows in enumerate(some)]
        return self.values(chunks), np.mean(unit, axis=0)

    def bands(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals for the accuracy of chunks."""
        found = self.summaries.summarise(self.rows(chunks), list(range(len(chunks))))
        low, high = ([each[f"accuracy_{end}"] for each in found] for end in ("low", "high"))
        return np.array(low), np.array(high)


def joined(parts: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, n: int) -> Series:
    """Series of several streams together."""
    values = np.hstack([values for values, _ in parts])
    unit = np.hstack([np.tile(unit, (len(values), 1)) for values, unit in parts])
    C = len(weights)
    streams = np.repeat(np.arange(len(parts)), C)
    weights = weights * (1 - ERROR_WEIGHT)  # the rest waits for labels
    return Series(
        values, unit, np.full(values.shape, float(n)), streams, np.zeros(len(streams), int),
        np.tile(weights, len(parts)), np.full(values.shape[1], np.nan),
    )  # fmt: skip


def run_length(worlds: list[World], n: int) -> int:
    """Chunks until the first alert of several streams together, at most LONGEST."""
    weights = np.array([weight for _, weight in worlds[0].summaries.series])
    parts = [world.series(world.draw(BLOCK, n)) for world in worlds]
    while True:
        alarms = detect(joined(parts, weights, n), FALSE_ALARMS).alarms
        length = len(parts[0][0])
        if alarms or length >= LONGEST:
            return alarms[0].at + 1 if alarms else LONGEST
        more = [world.values(world.draw(BLOCK, n)) for world in worlds]
        parts = [
            (np.concatenate([values, new]), unit)
            for (values, unit), new in zip(parts, more, strict=True)
        ]


def length_row(
    name: str, data: Scored, method: str, n_reference: int, n: int, streams: int, repeats: int
) -> list[str]:
    """Run lengths without a change; each stream has a reference of its own."""
    lengths = []
    for repeat in range(repeats):
        seeds = [1000 * repeat + stream for stream in range(streams)]
        lengths.append(run_length([World(data, n_reference, method, s) for s in seeds], n))
    found = np.array(lengths, float)
    error = found.std(ddof=1) / np.sqrt(repeats)
    row = [name, data.n_classes, method, f"{n_reference:,}", f"{n:,}", streams, repeats,
           f"{found.mean():.0f} ± {error:.0f}", f"{np.median(found):.0f}",
           f"{(found == LONGEST).mean():.0%}"]  # fmt: skip
    return [str(cell) for cell in row]


def no_change(options: Options) -> Iterator[list[str]]:
    """Every cell of classes, reference, size and number of streams."""
    known = {name: scored(name) for name in CELLS}
    for streams in (10, 1):
        for cell in product(known.items(), ("PACC", "SLD"), (1000, 5000), (200, 1000)):
            (name, data), *settings = cell
            repeats = options.repeats if streams == 1 else options.repeats // 2
            yield length_row(name, data, *settings, streams, repeats)


def further_data(options: Options) -> Iterator[list[str]]:
    """The smaller reference on other datasets."""
    for name in FURTHER:
        data = scored(name)
        for n, streams in product((200, 1000), (1, 10)):
            repeats = options.repeats if streams == 1 else options.repeats // 6
            yield length_row(name, data, "PACC", 1000, n, streams, repeats)


def delays(options: Options) -> Iterator[list[str]]:
    """Chunks from a change of the share by some standard errors to the alert."""
    data, repeats = scored(CELLS[0]), options.repeats
    for n in (200, 1000):
        for change in (1, 2, 3):
            found, early = [], 0
            for seed in range(repeats):
                world = World(data, 5000, "PACC", seed)
                shares = np.bincount(data.labels) / len(data.labels)
                before = world.draw(BEFORE, n, shares)
                _, unit = world.series(before[:N_VARIANCES])
                moved = shares + change * np.sqrt(unit[0] / n) * np.array([-1, 1])
                after = world.draw(60, n, moved)
                values, unit = world.series(np.concatenate([before, after]))
                weights = np.array([weight for _, weight in world.summaries.series])
                alarms = detect(joined([(values, unit)], weights, n), FALSE_ALARMS).alarms
                early += bool(alarms and alarms[0].at < BEFORE)
                late = [each.at - BEFORE + 1 for each in alarms if each.at >= BEFORE]
                found.append(late[0] if late else 60)
            middle, most = np.quantile(found, [0.5, 0.9])
            row = [f"{n:,}", change, repeats, f"{np.mean(found):.1f}", f"{middle:.0f}",
                   f"{most:.0f}", early]  # fmt: skip
            yield [str(cell) for cell in row]


def beside_nannyml(options: Options) -> Iterator[list[str]]:
    """Accuracy that falls by five points by prior shift: alerts of both, on the same chunks."""
    n, n_reference, n_chunks = 1000, 5000, 365
    data, repeats = scored(CELLS[0]), max(4, options.repeats // 4)
    rates = [(data.posteriors[data.labels == j].argmax(axis=1) == j).mean() for j in range(2)]
    shares = np.bincount(data.labels) / len(data.labels)
    accuracy = shares @ rates
    worse = 1 if rates[1] < rates[0] else 0
    step = 0.05 / (max(rates) - min(rates))
    moved = shares + step * np.where(np.arange(2) == worse, 1, -1)
    right = data.posteriors.argmax(axis=1) == data.labels
    quiet: dict[str, list[tuple[float, float]]] = {"headcount": [], "nannyml": []}
    changed: dict[str, list[tuple[np.ndarray, float]]] = {"headcount": [], "nannyml": []}
    for seed in range(repeats):
        world = World(data, n_reference, "PACC", seed)
        streams = {
            "quiet": world.draw(n_chunks, n, shares),
            "changed": np.concatenate(
                [world.draw(BEFORE, n, shares), world.draw(30, n, moved)]
            ),
        }
        for kind, chunks in streams.items():
            weights = np.array([weight for _, weight in world.summaries.series])
            given = joined([world.series(chunks)], weights, n)
            alerts = np.zeros(len(chunks), bool)
            alerts[[alarm.at for alarm in detect(given, FALSE_ALARMS).alarms]] = True
            low, high = world.bands(chunks)
            said = _nannyml(options.nannyml, data, world.reference, chunks)
            truth = right[chunks].mean(axis=1)
            for name, alert, ends in (
                ("headcount", alerts, (low, high)),
                ("nannyml", said["alert"], (said["low"], said["high"])),
            ):
                held = (ends[0] <= truth) & (truth <= ends[1])
                if kind == "quiet":
                    quiet[name].append((alert.sum(), held.mean(), (ends[1] - ends[0]).mean()))
                else:
                    changed[name].append((alert[BEFORE:], held[BEFORE:].mean()))
    head = f"accuracy {accuracy:.3f} -> {moved @ rates:.3f}, {repeats} streams"
    yield [head, *[""] * 6]
    for name in quiet:
        false, held, width = np.mean(quiet[name], axis=0)
        found = [alert for alert, _ in changed[name]]
        within = np.mean([alert[:3].any() for alert in found])
        first = np.mean([a.argmax() + 1 if a.any() else len(a) for a in found])
        after = np.mean([held for _, held in changed[name]])
        yield [name, f"{false:.1f}", f"{within:.0%}", f"{first:.1f}", f"{held:.0%}",
               f"{after:.0%}", f"{width:.3f}"]  # fmt: skip


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


LENGTHS = ["data", "classes", "method", "reference", "n", "streams", "repeats", "mean",
           "median", "none"]  # fmt: skip
PARTS = {
    "lengths": (
        no_change,
        f"No change: chunks until the first alert, false_alarms = {FALSE_ALARMS}",
        f"Cut at {LONGEST:,}, so that means are lower bounds; ± is one standard error.",
        LENGTHS,
    ),
    "further": (further_data, "The same on other data", "", LENGTHS),
    "delays": (
        delays,
        f"Delay after a change of the share, behind {BEFORE} chunks",
        f"Streams of {CELLS[0]}, reference of 5,000.",
        ["n", "change (SE)", "repeats", "mean", "median", "90%", "false alarms before"],
    ),
    "nannyml": (
        beside_nannyml,
        "Accuracy falls by prior shift: compared with nannyml's CBPE",
        f"Streams of {CELLS[0]}, chunks of 1,000, reference of 5,000.",
        ["", "alerts in 365 chunks without change", "alert within 3 chunks", "mean delay",
         "bands with the truth, no change", "after the change", "mean width"],
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
    options = Options(4 if given.quick else 60, given.nannyml)
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
