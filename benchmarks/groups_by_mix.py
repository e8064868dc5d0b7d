"""Groups whose mix alone differs: coverage of the intervals, with few labelled items too.

Groups of 20 to 200 items are drawn from held-out rows with mixes that are uniform on the
simplex, so nothing but the mix changes. In half of the cases the rarest class has 8 to 19
labelled items. Only development datasets are used.

    HEADCOUNT_DATA=folder python benchmarks/groups_by_mix.py [--repeats 8]
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict

from environment import RESULTS, command_line, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402

import headcount as hc  # noqa: E402
from headcount.tables import analyse_items  # noqa: E402
from real_datasets import load  # noqa: E402
from tables import bullets, markdown_table  # noqa: E402

DATASETS = (
    "adult", "bike", "contra", "drugs", "occup", "spam", "vgame", "wine", "cars", "ener",
    "nurse", "mush",
)  # fmt: skip
N_LABELLED, N_GROUPS, MOST_CLASSES = 500, 8, 4


def cases(name: str, repeat: int):
    """Labelled rows and groups of other rows, with many and with few items of a class."""
    items = load(name)
    counts = np.bincount(items.y)
    classes = np.sort(np.argsort(-counts)[:MOST_CLASSES])
    rows = np.flatnonzero(np.isin(items.y, classes))
    y = np.searchsorted(classes, items.y)
    rare = int(np.argmin(counts[classes]))
    for few in (False, True):
        rng = np.random.default_rng([repeat, few, len(name), int(counts.sum())])
        order = rng.permutation(rows)
        pool, labelled = order[len(order) // 2 :], order[: len(order) // 2][:N_LABELLED]
        if few:
            members = labelled[y[labelled] == rare][: rng.integers(8, 20)]
            labelled = np.concatenate([labelled[y[labelled] != rare], members])
        of_class = [pool[y[pool] == j] for j in range(len(classes))]
        groups = []
        for _ in range(N_GROUPS):
            shares = rng.dirichlet(np.ones(len(classes)))
            sizes = rng.multinomial(int(rng.integers(20, 201)), shares)
            groups.append(
                np.concatenate([rng.choice(m, n) for m, n in zip(of_class, sizes, strict=True)])
            )
        yield few, items.X, y, labelled, groups


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=8)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    held = defaultdict(list)
    for name in DATASETS:
        for repeat in range(given.repeats):
            for few, X, y, labelled, groups in cases(name, repeat):
                q = hc.AutoQuantifier(random_state=0).fit(X[labelled], y[labelled])
                names = np.repeat(
                    [f"group {i}" for i in range(len(groups))], list(map(len, groups))
                )
                together = np.concatenate(groups)
                found = analyse_items(q, X[together], groups=names, truth=y[together])
                for item in found.groups:
                    inside = (item.low - 1e-9 <= item.truth) & (item.truth <= item.high + 1e-9)
                    # Of two classes, one is enough.
                    inside = inside[1:] if len(inside) == 2 else inside
                    held[name, few].append(inside.mean())
        print(name, *(f"{np.mean(held[name, few]):.3f}" for few in (False, True)), flush=True)
    rows = [
        [name, *(f"{np.mean(held[name, few]):.3f}" for few in (False, True))]
        for name in DATASETS
    ]
    every = [
        np.mean(np.concatenate([held[name, few] for name in DATASETS])) for few in (False, True)
    ]
    rows.append(["all", *(f"{value:.3f}" for value in every)])
    n = given.repeats * N_GROUPS
    text = [
        f"# {(__doc__ or '').splitlines()[0]}\n", bullets(describe_machine()),
        f"\n{n} groups of 20 to 200 items for each entry; {N_LABELLED} labelled items, at most "
        f"{MOST_CLASSES} classes. Coverage of 95% intervals by `AutoQuantifier`. CPU time "
        f"{time.process_time() - start:,.0f} s.\n",
        markdown_table(["data", "coverage", "8 to 19 labelled items of a class"], rows),
    ]  # fmt: skip
    folder = given.output or RESULTS
    (folder / "groups_by_mix.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
