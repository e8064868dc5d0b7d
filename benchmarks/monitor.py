"""Monitor: false alarms, delays, and the same streams with nannyml.

    python monitor.py [--quick] [--nannyml PYTHON] [--output FOLDER]

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
from dataclasses import dataclass
from pathlib import Path

from environment import RESULTS, command_line, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
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
from real_datasets import load  # noqa: E402
from tables import bullets, markdown_table  # noqa: E402

FALSE_ALARMS = 365
LONGEST = 1500
N_TRAINED = 3000
DATASETS = {2: "adult", 5: "nurse"}
# Chunks before a change, as many as a quarter of a year of days.
BEFORE = 90
# Chunks whose sampling variance is computed; their mean is used for all of a stream.
N_VARIANCES = 20


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

    def series(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the series in chunks, and their variances for one item."""
        n_chunks, n = chunks.shape
        P = self.data.posteriors
        samples = Samples(chunks.ravel(), n * np.arange(n_chunks + 1), n_pool=len(P))
        values = self.summaries.values(P, np.full(len(P), -1), samples)
        unit = np.mean(
            [
                self.summaries.observed(
                    Rows(
                        np.arange(n, dtype=np.uint64), P[rows], np.full(n, -1),
                        np.full(n, -1), np.zeros(n, bool),
                    ),
                    seed,
                )[1]
                for seed, rows in enumerate(chunks[:N_VARIANCES])
            ],
            axis=0,
        )  # fmt: skip
        return values, unit


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


def run_lengths(
    data: Scored, method: str, n_reference: int, n: int, streams: int, repeats: int
):
    found = []
    for seed in range(repeats):
        parts, weights = [], np.empty(0)
        for stream in range(streams):
            world = World(data, n_reference, method, 1000 * seed + stream)
            weights = np.array([weight for _, weight in world.summaries.series])
            parts.append(world.series(world.draw(LONGEST, n)))
        alarms = detect(joined(parts, weights, n), FALSE_ALARMS).alarms
        found.append(alarms[0].at + 1 if alarms else LONGEST)
    return np.array(found, float)


def no_change(datasets: dict[int, Scored], repeats: int) -> list[list[str]]:
    rows = []
    for method in ("PACC", "SLD"):
        for K, data in datasets.items():
            for n_reference in (1000, 5000):
                for n in (200, 1000):
                    for streams in (1, 10):
                        some = max(4, repeats // streams * 2) if streams > 1 else repeats
                        found = run_lengths(data, method, n_reference, n, streams, some)
                        error = found.std(ddof=1) / np.sqrt(len(found))
                        row = [method, K, f"{n_reference:,}", f"{n:,}", streams, len(found),
                               f"{found.mean():.0f} ± {error:.0f}",
                               f"{(found == LONGEST).mean():.0%}"]  # fmt: skip
                        rows.append([str(cell) for cell in row])
                        print(rows[-1], flush=True)
    return rows


def delays(data: Scored, repeats: int) -> list[list[str]]:
    """Chunks from a change of the share by some standard errors to the alert."""
    rows = []
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
            rows.append([str(cell) for cell in row])
            print(rows[-1], flush=True)
    return rows


def beside_nannyml(data: Scored, python: str, repeats: int) -> list[list[str]]:
    """Accuracy that falls by five points by prior shift: alerts of both, on the same chunks."""
    n, n_reference, n_chunks = 1000, 5000, 365
    rates = [(data.posteriors[data.labels == j].argmax(axis=1) == j).mean() for j in range(2)]
    shares = np.bincount(data.labels) / len(data.labels)
    accuracy = shares @ rates
    worse = 1 if rates[1] < rates[0] else 0
    step = 0.05 / (max(rates) - min(rates))
    moved = shares + step * np.where(np.arange(2) == worse, 1, -1)
    facts = {"ours": [], "nannyml": []}
    for seed in range(repeats):
        world = World(data, n_reference, "PACC", seed)
        quiet = world.draw(n_chunks, n, shares)
        changed = np.concatenate([world.draw(BEFORE, n, shares), world.draw(30, n, moved)])
        for kind, chunks in (("quiet", quiet), ("changed", changed)):
            weights = np.array([weight for _, weight in world.summaries.series])
            values = world.series(chunks)
            alarms = detect(joined([values], weights, n), FALSE_ALARMS).alarms
            alerts = np.zeros(len(chunks), bool)
            alerts[[alarm.at for alarm in alarms]] = True
            facts["ours"].append((kind, alerts, np.nan))
            truth = (data.posteriors.argmax(axis=1) == data.labels)[chunks].mean(axis=1)
            said = _nannyml(python, data, world.reference, chunks)
            held = (said["low"] <= truth) & (truth <= said["high"])
            facts["nannyml"].append((kind, said["alert"], held.mean()))
    rows = []
    for name, each in facts.items():
        false = np.mean([a.sum() for kind, a, _ in each if kind == "quiet"])
        found = [a[BEFORE:] for kind, a, _ in each if kind == "changed"]
        within = np.mean([a[:3].any() for a in found])
        first = np.mean([a.argmax() + 1 if a.any() else len(a) for a in found])
        held = {k: np.nanmean([h for kind, _, h in each if kind == k] or [np.nan])
                for k in ("quiet", "changed")} if name == "nannyml" else {}  # fmt: skip
        bands = ", ".join(f"{value:.0%}" for value in held.values()) or "see accuracy.md"
        rows.append([name, f"{false:.1f}", f"{within:.0%}", f"{first:.1f}", bands])
    head = f"accuracy {accuracy:.3f} -> {moved @ rates:.3f}, {repeats} streams"
    return [[head, "", "", "", ""], *rows]


def _nannyml(python: str, data: Scored, reference: np.ndarray, chunks: np.ndarray):
    with tempfile.TemporaryDirectory() as folder:
        given, answers = Path(folder) / "given.npz", Path(folder) / "answers.json"
        np.savez(
            given,
            reference=data.posteriors[reference],
            labels=data.labels[reference],
            chunks=data.posteriors[chunks.ravel()],
            size=chunks.shape[1],
        )
        script = Path(__file__).with_name("accuracy_nannyml.py")
        subprocess.run([python, str(script), str(given), str(answers)], check=True)
        said = json.loads(answers.read_text())
    return {key: np.array(said[key]) for key in ("low", "high", "alert")}


def main() -> None:
    parser = command_line(__doc__ or "", quick=True)
    parser.add_argument("--nannyml", default=sys.executable, help="Python with nannyml")
    given = parser.parse_args()
    repeats = 6 if given.quick else 60
    start = time.perf_counter()
    datasets = {K: scored(name) for K, name in DATASETS.items()}
    changed = delays(datasets[2], repeats)
    compared = beside_nannyml(datasets[2], given.nannyml, max(4, repeats // 4))
    quiet = no_change(datasets, repeats)
    parts = [
        "# Monitor\n",
        bullets(describe_machine()),
        f"\nStreams of {DATASETS[2]} (2 classes) and {DATASETS[5]} (5). false_alarms = "
        f"{FALSE_ALARMS}. {time.perf_counter() - start:.0f} s.\n",
        "## No change: chunks until the first alert\n",
        f"Cut at {LONGEST:,}, so that means are lower bounds; ± is one standard error.\n",
        markdown_table(
            ["method", "classes", "reference", "n", "streams", "repeats", "mean", "none"], quiet
        ),
        f"\n## Delay after a change of the share, behind {BEFORE} chunks\n",
        markdown_table(
            ["n", "change (SE)", "repeats", "mean", "median", "90%", "false alarms before"],
            changed,
        ),
        "\n## Accuracy falls by prior shift: beside nannyml's CBPE\n",
        f"Chunks of 1,000, reference of 5,000. {compared[0][0]}.\n",
        markdown_table(
            [
                "",
                "alerts in 365 chunks without change",
                "alert within 3 chunks",
                "mean delay",
                "bands with the truth (no change, all)",
            ],
            compared[1:],
        ),
    ]
    folder = given.output or RESULTS
    (folder / "monitor.md").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
