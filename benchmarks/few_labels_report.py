"""Write results/few_labels.md from results/few_labels.json.

python benchmarks/few_labels_report.py [--output folder]
"""

from __future__ import annotations

import json
import math
from itertools import product

from environment import RESULTS, command_line
from few_labels import (
    DESIGNS,
    FOR_ONE,
    LABELS,
    POOL,
    SHARES,
    SHIFTS,
    TARGETS,
    WITH_PEERS,
)
from tables import bullets, markdown_table

NAMES = {"prior": "prior shift", "moved": "half a class moved", "concept": "concept shift"}
PEERS = ("ppi-python", "glide", "glide, strata")
# Labels from which the strata are expected to gain.
ENOUGH = 100


def part(kept, name):
    """Cells of a part by the words of their names."""
    found = {}
    for key, value in kept.items():
        start, *words = key.split("|")
        if start == name:
            found[tuple(words)] = value["cells"]
    return found


def percent(value):
    return f"{100 * value:.1f}"


def whole_percent(value):
    return "" if value is None else f"{100 * value:.0f}%"


def coverage(cells, optima, distance):
    """Tables of coverage and width for one distance of the classes."""
    own = {key: value for key, value in cells.items() if key[1] == distance}
    if not own:
        return []
    rows, worst, narrow, strata, by_share = [], [], [], [], {}
    measured = {key[0::2][:2] for key in own}
    pairs = [(K, share) for K, share in product("25", SHARES) if (K, str(share)) in measured]
    for (K, share), n, shift in product(pairs, LABELS, SHIFTS):
        both = [own[(K, distance, str(share), shift, target)] for target in TARGETS]
        covered = []
        for design, cell in product((*DESIGNS, FOR_ONE), both):
            found = cell.get(f"{design} {n}")
            if found is not None:
                worst.append(min(found["coverage"], found["all classes"]))
            covered.append("" if found is None else percent(worst[-1]))
        realised = both[0]
        peers = [percent(realised[f"{peer} {n}"]["coverage"]) if f"{peer} {n}" in realised
                 else "" for peer in PEERS]  # fmt: skip
        names = (*DESIGNS, FOR_ONE, "Clopper-Pearson")
        widths = [f"{realised[f'{name} {n}']['width']:.3f}" if f"{name} {n}" in realised else ""
                  for name in names]  # fmt: skip
        rows.append([f"{K} classes, {share}, {n} labels, {NAMES[shift]}", *covered, *peers,
                     *widths])  # fmt: skip
        if shift == "prior":
            uniform, alone = (realised[f"{name} {n}"]["width"] for name in (names[0], names[3]))
            if n >= 100:
                narrow.append(uniform / alone)
            if share <= 0.1:
                found = gains(realised, optima[(K, distance, str(share))]["gain"], share, n)
                strata.append([f"{K} classes, {share}, {n} labels", *map(whole_percent, found)])
                if n >= ENOUGH:
                    by_share.setdefault(K, []).append(max(found[:2], key=lambda g: g or 0))
    least = min(cell["least width"] for each in own.values() for name, cell in each.items()
                if name.split()[0] in DESIGNS)  # fmt: skip
    targets = [f"{design}, {target}" for design in (*DESIGNS, FOR_ONE) for target in TARGETS]
    head = ["cell", *targets, *(peer for peer in PEERS if distance == "2.0"),
            *(f"width {name}" for name in (*DESIGNS, FOR_ONE, "Clopper-Pearson"))]  # fmt: skip
    if distance != "2.0":
        rows = [[*row[:7], *row[10:]] for row in rows]
    reached = sum(max(int(text[:-1]) for text in row[1:3] if text) >= 15 for row in strata)
    means = "; ".join(f"{K} classes {100 * sum(each) / len(each):.1f}%"
                      for K, each in by_share.items())  # fmt: skip
    return [
        f"## Coverage, classes {distance} standard deviations apart",
        f"Least coverage of {len(worst)} cells: {percent(min(worst))}% (goal 93%). Least width "
        f"of an interval: {least:.4f}. From 100 labels under prior shift the mean width "
        f"(realised) is at most {max(narrow):.2f} of Clopper-Pearson's (goal 1).",
        markdown_table(head, rows),
        "Coverage is that of the class covered least. Planned for it: `positive` is the last "
        "class. Peers estimate the share of the last class, and theirs is the coverage of it, "
        f"for the realised share ({WITH_PEERS} of the replications, on the draws of an earlier "
        "version of the plans).",
        "### Gain of the strata under prior shift",
        "How much narrower than with a uniform sample and the same classifier: the interval of "
        "the last class, its real error (root of the mean square), the error if each item had "
        "the chance of being drawn that is best for this class (and its posterior were right), "
        "and the shortest interval that could hold. One that holds whatever has changed must "
        "reach as far as 1.96 standard errors, and upwards as far as errors that n labels do "
        "not show with a probability of 5% (the rule of three): 3 / n, as some part of the "
        "pool has no more than its share of the labels. The goal, 15%, is reached in "
        f"{reached} of {len(strata)} cells; the mean gain from {ENOUGH} labels is: {means}.",
        markdown_table(
            ["cell", "interval, planned", f"interval, {FOR_ONE}", "error, planned",
             f"error, {FOR_ONE}", "error, best possible", "interval, best possible"], strata
        ),
    ]  # fmt: skip


def gains(cell, optimum, share, n):
    """Fall of widths and errors compared with those of a uniform sample."""
    uniform = cell[f"uniform {n}"]
    error = 1.96 * (1 - optimum) * uniform["error"]
    unseen = (1 - n / POOL) * -math.log(0.05) / n
    pairs = []
    for measure in ("width", "error"):
        found = (cell.get(f"{design} {n}") for design in ("planned", FOR_ONE))
        pairs += [None if each is None else each[measure] / uniform[measure] for each in found]
    pairs += [1 - optimum, (min(error, share) + max(error, unseen)) / uniform["width"]]
    return [None if ratio is None else 1 - ratio for ratio in pairs]


def simple(cells, title, text, columns):
    """Table with one row per cell, and coverage and width of each name."""
    if not cells:
        return []
    rows = [
        [", ".join(key), *(
            f"{percent(cell[name]['coverage'])} ({cell[name]['width']:.3f})" if name in cell
            else "" for name in columns)]
        for key, cell in cells.items()
    ]  # fmt: skip
    return [f"## {title}", text, markdown_table(["cell", *columns], rows)]


def agreement(cells):
    if not cells:
        return []
    rows = [
        [f"{K} classes, {NAMES[shift]}, {n} labels", percent(cell["rejected"]), str(cell["n"])]
        for (K, shift, n), cell in cells.items()
    ]
    return [
        "## Test of agreement",
        "Part of the draws, in percent, in which the labels and the estimate under prior shift "
        "are found to disagree at the level 5%: at most 5% is right under prior shift, and "
        "much is good under the others.",
        markdown_table(["cell", "rejected", "draws"], rows),
    ]


def plans(cells):
    if not cells:
        return []
    rows = [
        [", ".join(key), str(cell["planned"]), str(cell["needed"]), f"{cell['ratio']:.2f}"]
        for key, cell in cells.items()
    ]
    ratios = [cell["ratio"] for cell in cells.values()]
    close = sum(0.85 <= ratio <= 1.15 for ratio in ratios)
    return [
        "## Planned and needed labels",
        f"Number of labels that a plan for a precision has, and the number at which the mean "
        "half-width of the widest interval reaches it, under prior shift. Within 15% in "
        f"{close} of {len(ratios)} cells; ratios from {min(ratios):.2f} to {max(ratios):.2f}.",
        markdown_table(
            ["classes, distance, share, precision, design", "planned", "needed", "ratio"], rows
        ),
    ]


def speed(cells):
    if not cells:
        return []
    rows = [[f"{key[0]} classes", f"{cell['seconds']:.2f}", f"{cell['CPU seconds']:.2f}",
             f"{cell['labels']:,}"] for key, cell in cells.items()]  # fmt: skip
    return [
        "## Time of a plan for 1,000,000 items that are scored (goal: 2 s)",
        markdown_table(["cell", "seconds", "CPU seconds", "labels"], rows),
    ]


def main() -> None:
    options = command_line(__doc__).parse_args()
    folder = options.output or RESULTS
    kept = json.loads((folder / "few_labels.json").read_text())
    head = kept.pop("head")
    counts: dict[str, set[str]] = {}
    for name, value in kept.items():
        counts.setdefault(name.split("|")[0], set()).add(f"{value['replications']:,}")
    listed = "; ".join(f"{name} {' or '.join(sorted(each))}" for name, each in counts.items())
    pieces = [
        "# A few labels from the target",
        f"`python benchmarks/few_labels.py`. Replications per cell: {listed} (plans: a tenth "
        "for each number of labels, agreement: a fifth). Pools of 5,000 items "
        "(ten draws of labels from each), ten training sets of 1,000 items, SLD with logistic "
        "regression, 95% intervals. Normal classes; the share is that of the last class, and "
        "the others are equal. Half a class moved: half of the last class looks like the "
        "first. Concept shift: the classes turn by 60 degrees.",
    ]
    cells = part(kept, "coverage")
    for distance in ("2.0", "4.0"):
        pieces += coverage(cells, part(kept, "optimum"), distance)
    pieces += simple(
        part(kept, "clusters"), "Clusters of ten items, intra-class correlation 0.3",
        "Share, labelled clusters and target; coverage in percent and mean width. Ignored: the "
        "same labels as if all items were independent.",
        ["clusters", "ignored", "clusters, no scores", "ignored, no scores"],
    )  # fmt: skip
    pieces += simple(
        part(kept, "judge clusters"), "Judges: gold labels of whole conversations of ten",
        "Share and labelled conversations, intra-class correlation 0.3; coverage in percent "
        "and mean width.", ["clusters", "ignored"],
    )  # fmt: skip
    pieces += simple(
        part(kept, "judge"), "Judges: gold labels of the target, or a calibration set",
        "Kind of judge, shift between calibration set and target (none; equal shares of the "
        "classes in the calibration set; the judge errs more on the target), share. Coverage "
        "in percent and mean width for the share of the population, and for the difference of "
        "two groups. The goal is 93% to 97%.",
        ["calibration 300", "gold 50", "gold 200", "difference of two groups",
         "difference, calibration"],
    )  # fmt: skip
    pieces += simple(
        part(kept, "misses"), "Judges: errors that labels may not show",
        "Judges that miss half, or most, of a rare class; share; coverage in percent and mean "
        "width with 50 gold labels of the target.", ["gold 50"],
    )  # fmt: skip
    pieces += simple(
        part(kept, "real"), "Real data",
        "Pools of real items (by time, as they are, with 80% of the last class left out, or "
        "with features of the first class for half of the last), 20 training sets or periods; "
        "coverage of the last class in percent and mean width.",
        [f"{name} {n}" for n in LABELS for name in (*DESIGNS, "Clopper-Pearson")],
    )  # fmt: skip
    pieces += agreement(part(kept, "agreement"))
    pieces += plans(part(kept, "plans"))
    pieces += speed(part(kept, "speed"))
    pieces += ["## Machine", bullets(head)]
    (folder / "few_labels.md").write_text("\n\n".join(pieces) + "\n")


if __name__ == "__main__":
    main()
