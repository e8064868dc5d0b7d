"""Tables and pictures of the results of fit_test.py."""

from __future__ import annotations

from itertools import product

from tables import markdown_table

__all__ = ["draw", "tables"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7")
_NAMES = {
    "blitzer": "Amazon, four domains",
    "clothing": "women's clothing",
    "amazon": "Amazon, five categories",
}


def _percent(row):
    return f"{100 * row['rejected']:.1f}"


def _shares(values):
    return " ".join(f"{value:.2g}" for value in values)


def _level(rows):
    sizes = sorted({row["n"] for row in rows})
    header = ["training", "its shares", "features", "sample's shares", "drawn"]
    header += [f"n = {n:,}" for n in sizes]
    by_line: dict = {}
    for row in rows:
        key = (row["training"], _shares(row["prior"]), row["features"],
               _shares(row["shares"]), row["way"])  # fmt: skip
        by_line.setdefault(key, {})[row["n"]] = _percent(row)
    return header, [
        [*map(str, key), *(cells[n] for n in sizes)] for key, cells in by_line.items()
    ]


def _real(rows, way):
    shown = [row for row in rows if row["scored by"] == way]
    lines: dict = {}
    for row in shown:
        text = f"{row['degree']:g}: {100 * row['rejected']:.0f}"
        lines.setdefault((row["data"], row["shift"]), []).append(text)
    return [[*key, ", ".join(cells)] for key, cells in lines.items()]


def tables(kept) -> str:
    """All results as one Markdown document."""
    parts = ["# Rejections of the fit test at the 5% level, in percent"]
    if "level" in kept:
        own = [row for row in kept["level"] if "other" not in row["way"]]
        other = [row for row in kept["level"] if "other" in row["way"]]
        parts.append("## Under prior shift, simulated\n")
        parts.append(markdown_table(*_level(own)))
        parts.append(
            "## The same, sample scored by the classifier trained on everything\n\n"
            "Training items are scored out-of-fold: the two are not alike. This is why samples "
            "are scored by the classifiers of the folds."
        )
        parts.append(markdown_table(*_level(other)))
    if "simulated" in kept:
        parts.append("## Half of the positive class moved, simulated")
        rows = [
            [f"{row['training']:,}", f"{row['n']:,}", f"{row['moved']:g}", _percent(row)]
            for row in sorted(kept["simulated"], key=lambda r: (r["training"], r["n"]))
        ]
        parts.append(markdown_table(["training", "n", "moved by", "rejected"], rows))
    if "real" in kept:
        ways = {
            "folds": "scored by folds",
            "folds and words": "scored by folds, with 8 components of the words",
            "folds and group": "scored by folds, with the group of each item known",
            "final": "scored by the classifier trained on everything",
        }
        for way, title in ways.items():
            parts.append(f"## Reviews, samples of about 500, {title}")
            header = ["data", "shift", "degree (prior: share of positives): rejected"]
            parts.append(markdown_table(header, _real(kept["real"], way)))
    return "\n\n".join(parts) + "\n"


def _panel(ax, title, x_label):
    ax.axhline(5, color="#8c939b", linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(-2, 102)
    ax.set_title(title, fontsize=9, loc="left")
    ax.set_xlabel(x_label, fontsize=8)
    ax.tick_params(labelsize=7, length=3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _line(ax, rows, x, label, colour, **style):
    rows = sorted(rows, key=lambda row: row[x])
    ax.plot([row[x] for row in rows], [100 * row["rejected"] for row in rows], marker="o",
            markersize=3, linewidth=1.3, color=colour, label=label, **style)  # fmt: skip


def draw(kept, folder) -> None:
    """Power curves, into PNG files in the folder."""
    from matplotlib.figure import Figure

    if "simulated" in kept:
        figure = Figure(figsize=(6.4, 2.8), layout="constrained")
        for number, training in enumerate((500, 5000)):
            ax = figure.add_subplot(1, 2, number + 1)
            _panel(ax, f"{training:,} training items", "half the positives moved by (sd)")
            for colour, n in zip(_COLOURS, (100, 500, 2000), strict=False):
                rows = [
                    r for r in kept["simulated"] if r["training"] == training and r["n"] == n
                ]
                _line(ax, rows, "moved", f"n = {n:,}", colour)
            if number == 0:
                ax.set_ylabel("rejected, %", fontsize=8)
                handles = ax.get_legend_handles_labels()
        figure.legend(*handles, fontsize=7, frameon=False, ncols=3, loc="outside lower center")
        figure.savefig(folder / "power-simulated.png", dpi=110)
    if "real" in kept:
        _draw_real(kept["real"], folder)
        _draw_concept([r for r in kept["real"] if r["scored by"] == "folds"], folder)


def _draw_real(rows, folder):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.2), layout="constrained")
    panels = (
        ("Local covariate shift", "positives in test less in training",
         ("local AB", "local BA")),
        ("Prior shift alike, for comparison", "positives in test less in training",
         ("local AB control", "local BA control")),
        ("Global covariate shift", "group A in training less in test", ("global",)),
    )  # fmt: skip
    ways = {"folds": "by scores", "folds and words": "by scores and words"}
    for place, (way, (title, label, kinds)) in enumerate(product(ways, panels)):
        ax = figure.add_subplot(2, 3, place + 1)
        _panel(ax, title if place < 3 else "", label if place > 2 else "")
        for colour, (data, name) in zip(_COLOURS, _NAMES.items(), strict=False):
            of_data = [r for r in rows if r["data"] == data and r["scored by"] == way]
            for kind, line in zip(kinds, ("-", (0, (2, 1.5))), strict=False):
                shown = [r for r in of_data if r["shift"] == kind]
                other = ", groups swapped" if line != "-" else ""
                _line(ax, shown, "degree", name + other, colour, linestyle=line)
        if place % 3 == 0:
            ax.set_ylabel(f"rejected {ways[way]}, %", fontsize=8)
            handles = ax.get_legend_handles_labels()
    figure.legend(*handles, fontsize=7, frameon=False, ncols=3, loc="outside lower center")
    figure.savefig(folder / "power-reviews.png", dpi=110)


def _draw_concept(rows, folder):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 2.9), layout="constrained")
    ax = figure.add_subplot()
    _panel(ax, f"Concept shift, {_NAMES['clothing']}", "cut in training less in test (stars)")
    for colour, share in zip(_COLOURS, ("0.2", "0.5", "0.8", "None"), strict=False):
        shown = [row for row in rows if row["shift"] == f"concept {share}"]
        label = "same inputs" if share == "None" else f"{float(share):.0%} positives"
        _line(ax, shown, "degree", label, colour)
    ax.set_ylabel("rejected, %", fontsize=8)
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, fontsize=7, frameon=False, ncols=4, loc="outside lower center")
    figure.savefig(folder / "power-concept.png", dpi=110)
