"""Share of a class of which alone there are labelled items: PAT and TCPU.

Each of up to three classes of a dataset is the labelled one in turn, and all others are
"other". Samples of 300 items have 0% to 100% of the class. TCPU also gets unlabelled items,
half of them of the class: once with this share, and once without. PACC has labels of both.
Constants of PAT were chosen on some of the datasets, and are checked on others. Digits are
those of scikit-learn; the other data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from real_datasets import load
from tables import bullets, markdown_table

CHOSEN_ON = ("digits", "adult", "avila", "bike", "musk", "occup", "wine")
OTHERS = ("drugs", "elec2", "fifa", "mush", "nurse", "nycflights13", "spam")
SECTIONS = {
    "Datasets on which the constants of PAT were chosen": CHOSEN_ON,
    "Other datasets": OTHERS,
}
MOST_LABELLED, MOST_ITEMS, SIZE = 500, 6000, 300
HEAD = ("dataset", "method", "error of predict", "error of estimate", "coverage", "width")


def problems(names: list[str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name in names:
        if name == "digits":
            yield name, *load_digits(return_X_y=True)
            continue
        found = load(name)
        rows = np.random.default_rng(0).permutation(len(found.y))[:MOST_ITEMS]
        yield name, found.X[rows], found.y[rows]


def measured(X: np.ndarray, y: np.ndarray, label: int) -> dict[str, list[float]]:
    """Errors, coverage and width of each method, with one class as the labelled one."""
    rng = np.random.default_rng(label)
    own, others = (rng.permutation(np.flatnonzero(part)) for part in (y == label, y != label))
    n = min(len(own) // 3, len(others) // 2, MOST_LABELLED)
    labelled, mixed = X[own[:n]], X[np.r_[own[n : 2 * n], others[:n]]]
    pool = X[np.r_[own[2 * n :], others[n:]]]
    n_own, n_others = len(own) - 2 * n, len(others) - n
    truth = np.round(np.linspace(0, 1, 11) * SIZE) / SIZE
    samples = [
        np.r_[
            rng.choice(n_own, round(share * SIZE)),
            n_own + rng.choice(n_others, SIZE - round(share * SIZE)),
        ]
        for share in truth
    ]
    both = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    names = np.repeat(["positive", "rest"], n)
    fitted: dict[str, Any] = {
        "PAT": hc.PAT(random_state=0).fit(labelled),
        "TCPU": hc.TCPU(random_state=0).fit(labelled, unlabelled=mixed),
        "TCPU, share given": hc.TCPU(0.5, random_state=0).fit(labelled, unlabelled=mixed),
        "PACC, all labels": hc.PACC(both, random_state=0).fit(
            np.concatenate([labelled, mixed[n:]]), names
        ),
    }
    table = {}
    for name, quantifier in fitted.items():
        found = quantifier.estimate_many(pool, samples, random_state=0)
        raw, shares = (np.array([getattr(e, part)[0] for e in found])
                       for part in ("raw", "shares"))  # fmt: skip
        low, high = np.array([e.interval()["positive"] for e in found]).T
        inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
        errors = [np.abs(each - truth).mean() for each in (raw, shares)]
        table[name] = [*errors, inside.mean(), (high - low).mean()]
    return table


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore")
    sections: dict[str, list[list[str]]] = {}
    for title, names in SECTIONS.items():
        cells, sums = [], defaultdict(list)
        for dataset, X, y in problems([name for name in names if not only or name in only]):
            found = [measured(X, y, label) for label in np.unique(y)[:3]]
            for name in found[0]:
                row = 100 * np.mean([each[name] for each in found], axis=0)
                sums[name].append(row)
                cells.append([dataset, name, *_cells(row)])
                sys.stderr.write(f"{cells[-1]}\n")
            means = [
                ["mean", key, *_cells(np.mean(rows, axis=0))] for key, rows in sums.items()
            ]
            sections[title] = cells + means
            write(sections)


def _cells(row: np.ndarray) -> list[str]:
    return [f"{row[0]:.1f}", f"{row[1]:.1f}", f"{row[2]:.0f}%", f"{row[3]:.1f}"]


def write(sections: dict[str, list[list[str]]]) -> None:
    tables = "\n\n".join(
        f"## {title}\n\n{markdown_table(list(HEAD), cells)}"
        for title, cells in sections.items()
    )
    text = (
        "# Labels of one class\n\n"
        "Written by `benchmarks/frontier_one_class.py`. Mean absolute error of the share of "
        "the labelled class in percentage points, coverage and width of 95% intervals, in "
        f"samples of {SIZE} items with 0% to 100% of the class; up to {MOST_LABELLED} labelled "
        "items, means over up to three classes. `TCPU` also has twice as many unlabelled "
        "items, half of them of the class; with `share given` that share is passed. `PACC` has "
        "labels of both sides.\n\n" + tables + "\n\n" + bullets(describe_machine()) + "\n"
    )
    (RESULTS / "frontier_one_class.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
