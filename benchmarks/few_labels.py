"""Estimates from a few labels of the target: coverage, widths, plans, judges, clusters.

    python benchmarks/few_labels.py [coverage] [optimum] [real] [plans] [clusters] [judge]
        [misses] [agreement] [speed] [--replications 1000] [--quick]

Without parts named, all. Cells are kept in results/few_labels.json as they are finished, and
are not measured again (delete the file to start anew). Real data is looked for in the folder
that HEADCOUNT_DATA names. Peers (ppi-python, glide-py) are compared on the same draws if they
can be imported. `few_labels_report.py` writes results/few_labels.md.
"""

from __future__ import annotations

import json
import os
import time
from functools import cache
from itertools import product
from pathlib import Path

os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

from environment import command_line, describe_machine, start

PARTS = (
    "coverage",
    "optimum",
    "real",
    "plans",
    "clusters",
    "judge",
    "misses",
    "agreement",
    "speed",
)
SHARES = (0.02, 0.1, 0.5)
LABELS = (20, 50, 100, 300)
SHIFTS = ("prior", "moved", "concept")
TARGETS = ("realised", "expected")
DESIGNS = ("uniform", "planned")
# Plan for the share of the last class alone, where there are more than two.
FOR_ONE = "planned for it"
# Distance of the classes in standard deviations: a classifier is right on 84% and 98%.
DISTANCES = (2.0, 4.0)
POOL, TRAINING, SETS = 5000, 1000, 10
# Label draws from each pool: as many pools as replications would take five times as long.
DRAWS = 10
# Replications with peers, which take most of the time.
WITH_PEERS = 100
LEVEL = 0.95


class Clouds:
    """Normal classes around corners; training sets, and pools with three kinds of shift."""

    def __init__(self, n_classes: int, distance: float, training_set: int) -> None:
        import numpy as np
        from sklearn.linear_model import LogisticRegression

        import headcount as hc

        self.n_classes = n_classes
        if n_classes == 2:
            self.centres = np.array([[-distance / 2, 0.0], [distance / 2, 0.0]])
        else:
            self.centres = distance / np.sqrt(2) * np.eye(n_classes)
        rng = np.random.default_rng([1, n_classes, int(10 * distance), training_set])
        y = rng.integers(n_classes, size=TRAINING)
        self.quantifier = hc.SLD(LogisticRegression(), random_state=0)
        self.quantifier.fit(self._around(self.centres[y], rng), y)

    def _around(self, centres, rng):
        return centres + rng.standard_normal(centres.shape)

    def pool(self, size, shares, shift, exact, rng):
        """Items and classes. Half of the last class moves to the first, or all classes turn."""
        import numpy as np

        K = self.n_classes
        if exact:
            ends = np.round(np.cumsum([0, *shares]) * size).astype(int)
            y = np.repeat(np.arange(K), np.diff(ends))
        else:
            y = rng.choice(K, size, p=shares)
        centres = self.centres[y]
        if shift == "moved":
            moved = (y == K - 1) & (rng.random(size) < 0.5)
            centres[moved] = self.centres[0]
        elif shift == "concept":
            centres = self._turned()[y]
        order = rng.permutation(size)
        return self._around(centres, rng)[order], y[order]

    def _turned(self):
        """Centres turned by 60 degrees, out of the direction that was learnt."""
        import numpy as np

        cosine, sine = 0.5, np.sqrt(0.75)
        if self.n_classes == 2:
            return self.centres @ np.array([[cosine, sine], [-sine, cosine]])
        return cosine * self.centres + sine * np.roll(self.centres, 1, axis=0)


@cache
def clouds(n_classes, distance, training_set):
    return Clouds(n_classes, distance, training_set)


def shares_of(n_classes, share):
    """Shares with a given one of the last class, the others equal."""
    return [(1 - share) / (n_classes - 1)] * (n_classes - 1) + [share]


def posteriors_of(quantifier, X):
    from headcount.estimates.labels.pool import PoolPosteriors

    evidence = quantifier.fitted_.evidence(X)
    return PoolPosteriors.of(evidence.posteriors, evidence.training, quantifier.predict(X))


class Cuts:
    """Strata of a pool for any number of labels, each made once."""

    def __init__(self, pool) -> None:
        self.pool = pool
        self.made: dict = {}

    def draw(self, n, design, rng):
        """Labelled rows as a sample, and the stratum of every item."""
        from headcount.estimates.labels.plan import Strata, suitable_strata
        from headcount.estimates.labels.sample import LabelSample

        size, K = self.pool.values.shape
        wanted = 1 if design == "uniform" else suitable_strata(5, n, size)
        positive = K - 1 if design == FOR_ONE else None
        if (wanted, positive) not in self.made:
            self.made[wanted, positive] = Strata.of(self.pool, wanted, positive)
        strata = self.made[wanted, positive]
        rows = strata.draw(strata.allocate(n, LEVEL), rng)
        return LabelSample.stratified(rows, strata.codes[rows], strata.sizes), strata.codes


def estimate_of(pool, sample, codes, target):
    from headcount.estimates.labels.from_labels import of_population, share_difference

    found = share_difference(pool, sample, codes)
    return found if target == "realised" else of_population(found, pool, sample, codes)


def ends_of(pool, sample, codes, target):
    from headcount.estimates.labels.difference import share_ends

    return share_ends(estimate_of(pool, sample, codes, target), len(pool.values), LEVEL)


def coverage_cell(n_classes, distance, share, shift, target, replications):
    """Coverage and width of all labels and designs, with peers on the same draws."""
    import numpy as np

    from few_labels_peers import peer_ends
    from headcount.estimates.labels.difference import clopper_pearson, share_ends

    truth = np.array(shares_of(n_classes, share))
    designs = (*DESIGNS, FOR_ONE) if n_classes > 2 and share <= 0.1 else DESIGNS
    with_peers = target == "realised" and distance == DISTANCES[0]
    found: dict = {}
    for number in range(-(-replications // DRAWS)):
        seed = [2, n_classes, int(10 * distance), int(1000 * share), SHIFTS.index(shift),
                TARGETS.index(target), number]  # fmt: skip
        rng = np.random.default_rng(seed)
        made = clouds(n_classes, distance, number % SETS)
        X, y = made.pool(POOL, truth, shift, target == "realised", rng)
        wanted = truth if target == "expected" else np.bincount(y, minlength=n_classes) / POOL
        pool = posteriors_of(made.quantifier, X)
        cuts = Cuts(pool)
        for n, design in list(product(LABELS, designs)) * DRAWS:
            sample, strata = cuts.draw(n, design, rng)
            codes = y[sample.rows]
            estimate = estimate_of(pool, sample, codes, target)
            low, high = share_ends(estimate, POOL, LEVEL)
            note(found, f"{design} {n}", low, high, wanted, estimate.centre)
            if design == "uniform":
                counts = np.bincount(codes, minlength=n_classes)
                ends = clopper_pearson(counts, n, LEVEL)
                note(found, f"Clopper-Pearson {n}", *ends, wanted)
            if with_peers and design in DESIGNS and number * DRAWS < WITH_PEERS:
                for peer, ends in peer_ends(pool, sample, codes, strata, LEVEL).items():
                    note(found, f"{peer} {n}", *ends, wanted)
    return {name: summary(rows) for name, rows in found.items()}


def note(found, name, low, high, truth, centre=None):
    """Coverage, width and error of the last class, and coverage of the class covered least."""
    inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
    error = float("nan") if centre is None else float(centre[-1] - truth[-1])
    found.setdefault(name, []).append(
        (inside, float(high[-1] - low[-1]), float((high - low).min()), error)
    )


def summary(rows):
    import numpy as np

    inside, widths, least, errors = zip(*rows, strict=True)
    inside = np.array(inside)
    return {
        "error": float(np.sqrt(np.mean(np.square(errors)))),
        "coverage": float(inside[:, -1].mean()),
        "all classes": float(inside.mean(axis=0).min()),
        "together": float(inside.all(axis=1).mean()),
        "width": float(np.mean(widths)),
        "least width": float(min(least)),
        "n": len(inside),
    }


def coverage(store, replications):
    for distance in DISTANCES:
        for n_classes in (2, 5):
            for share in SHARES:
                for shift in SHIFTS:
                    for target in TARGETS:
                        name = f"coverage|{n_classes}|{distance}|{share}|{shift}|{target}"
                        store.measure(name, coverage_cell, n_classes, distance, share, shift,
                                      target, replications)  # fmt: skip


class Store:
    """Results by name, written after each."""

    def __init__(self, file: Path, replications: int) -> None:
        self.file, self.replications = file, replications
        self.kept = json.loads(file.read_text()) if file.exists() else {}

    def measure(self, name, function, *arguments):
        known = self.kept.get(name)
        if known is not None and known["replications"] >= self.replications:
            return
        begun = time.perf_counter()
        cells = function(*arguments)
        taken = time.perf_counter() - begun
        self.kept[name] = {
            "replications": self.replications, "seconds": round(taken, 1), "cells": cells,
        }  # fmt: skip
        self.kept["head"] = describe_machine()
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self.kept, indent=1) + "\n")
        part.replace(self.file)
        print(name, f"{taken:.0f} s", flush=True)


def main() -> None:
    parser = command_line(__doc__, quick=True)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--replications", type=int, default=1000)
    options = start(parser)
    replications = 20 if options.quick else options.replications
    store = Store(options.output / "few_labels.json", replications)
    for part in options.parts or PARTS:
        if part == "coverage":
            coverage(store, replications)
        else:
            import few_labels_parts

            getattr(few_labels_parts, part)(store, replications)


if __name__ == "__main__":
    main()
