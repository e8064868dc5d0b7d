from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.plots import frames
from tests.plots.looking import check_layout, draw, legends, look, overlap

from headcount import plots
from headcount.errors import HeadcountError
from headcount.plots._style import method_styles


def families(n):
    return {
        name: ("counting", "matching", "likelihood")[i % 3]
        for i, name in enumerate(frames.NAMES[:n])
    }


def means(n):
    mean = np.linspace(0.02, 0.2, n)
    marks = ["", "‡", *["†"] * n][:n]
    return {
        "method": frames.NAMES[:n],
        "mean": mean,
        "low": mean - 0.01,
        "high": mean + 0.01,
        "mark": marks,
    }


def triangles(n):
    rng = np.random.default_rng(0)
    return {
        name: rng.dirichlet([20 + i, 10, 5 + i], 50) for i, name in enumerate(frames.NAMES[:n])
    }


def sampled_errors(n):
    """Errors of all methods on the same samples."""
    rng = np.random.default_rng(0)
    shift = rng.uniform(0, 0.5, 60)
    return frames.pl.concat(
        frames.pl.DataFrame(
            {
                "method": [name] * 60,
                "sample": np.arange(60),
                "shift": shift,
                "error": rng.uniform(0.01, 0.1, 60),
            }
        )
        for name in frames.NAMES[:n]
    )


def scores(n):
    rng = np.random.default_rng(0)
    given = rng.random(300)
    return frames.pl.concat(
        frames.pl.DataFrame(
            {"method": [name] * 300, "score": given, "positive": rng.random(300) < given}
        )
        for name in frames.NAMES[:n]
    )


def grouped(n):
    months = [f"2024-{month:02d}" for month in range(1, 13)]
    parts = [
        frames.classes(max(n, 3)).with_columns(group=frames.pl.lit(month)) for month in months
    ]
    return frames.pl.concat(parts)


PLOTS = {
    "diagonal": lambda n, **o: plots.diagonal(frames.shares(n), **o),
    "error_by_shift": lambda n, **o: plots.error_by_shift(frames.errors(n), **o),
    "supremacy": lambda n, **o: plots.supremacy(sampled_errors(n), **o),
    "calibration": lambda n, **o: plots.calibration(scores(n), **o),
    "bias_boxes": lambda n, **o: plots.bias_boxes(frames.shares(n), **o),
    "bias_boxes_by_share": lambda n, **o: plots.bias_boxes(frames.shares(n), bins=5, **o),
    "error_boxes": lambda n, **o: plots.error_boxes(frames.errors(n), **o),
    "letter_values": lambda n, **o: plots.letter_values(
        frames.errors(n), families=families(n), linear_below=0.05, **o
    ),
    "learning_curves": lambda n, **o: plots.learning_curves(frames.curves(n), **o),
    "critical_difference": lambda n, **o: plots.critical_difference(
        frames.ranks(n), n / 4, **o
    ),
    "means": lambda n, **o: plots.means(means(n), **o),
    "bars": lambda n, **o: plots.bars(frames.classes(n), **o),
    "by_group": lambda n, **o: plots.by_group(grouped(n), **o),
    "by_group_apart": lambda n, **o: plots.by_group(grouped(n), line=False, **o),
    "simplex": lambda n, **o: plots.simplex(
        triangles(n), classes=["negative", "neutral", "positive"], truth=[0.5, 0.3, 0.2], **o
    ),
}  # fmt: skip
_MATPLOTLIB = tuple(map(int, mpl.__version__.split(".")[:2]))
by_name = pytest.mark.parametrize("name", PLOTS)


@by_name
@pytest.mark.parametrize(("n", "width"), [(2, 3.3), (6, 3.3), (24, 3.3), (24, 7.0)])
def test_nothing_is_cut_off_covered_or_empty(name, n, width):
    if (name, n, width) == ("simplex", 24, 3.3) and _MATPLOTLIB < (3, 11):
        pytest.skip("matplotlib before 3.11 lays out a narrow triangle of 24 methods badly")
    ax = PLOTS[name](n, width=width)
    assert isinstance(ax, Axes)
    assert isinstance(ax.figure, Figure)
    assert ax.figure.get_figwidth() == width
    check_layout(ax.figure)


@pytest.mark.parametrize(("n", "width"), [(2, 3.3), (6, 3.3), (6, 7.0), (24, 7.0)])
def test_panels_are_laid_out(n, width):
    figure = plots.diagonal_panels(frames.shares(n), width=width)
    assert [ax.get_title() for ax in figure.axes] == list(frames.NAMES[:n])
    check_layout(figure)


@by_name
def test_a_users_axes_are_used_and_their_sizes_kept(name):
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    right.plot([0, 1], [0, 1])
    assert PLOTS[name](4, ax=left) is left
    draw(figure)
    for legend in legends(figure):
        assert not overlap(legend.get_window_extent(), left.get_window_extent())
        assert not overlap(legend.get_window_extent(), right.get_window_extent())
        assert legend.get_texts()[0].get_fontsize() == mpl.rcParams["font.size"]
    assert left.xaxis.label.get_fontsize() == mpl.rcParams["font.size"]
    assert tuple(figure.get_size_inches()) == (8, 4.5)


@by_name
def test_settings_of_matplotlib_are_left_alone(name):
    before = dict(mpl.rcParams)
    draw(PLOTS[name](3).figure)
    assert dict(mpl.rcParams) == before


def test_pyplot_is_not_needed_nor_matplotlib_to_import():
    script = (
        "import io, sys; from headcount import plots; assert 'matplotlib' not in sys.modules;"
        "plots.bars({'class': ['a'], 'share': [1.0], 'low': [0.9], 'high': [1.0]})"
        ".figure.savefig(io.BytesIO()); assert 'matplotlib.pyplot' not in sys.modules"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_no_two_of_24_methods_look_alike():
    styles = method_styles(frames.NAMES).values()
    assert len({(style.colour, style.marker) for style in styles}) == 24
    assert len({(style.colour, str(style.line)) for style in styles}) == 24
    assert len({(style.colour, style.hatch) for style in styles}) == 24


def test_the_second_eight_methods_are_hollow():
    lines = plots.error_by_shift(frames.errors(20)).lines
    faces = [line.get_markerfacecolor() == "white" for line in lines]
    assert faces == [False] * 8 + [True] * 8 + [False] * 4


def test_groups_with_few_samples_are_faded():
    frame = frames.shares(2, 400, classes=tuple("abcdefgh"))
    groups = plots.data.diagonal(frame)
    few = (groups["n"] < 10).to_numpy()
    assert 0 < few.sum() < len(few)
    faded, solid = plots.diagonal(frame).lines[:2]
    assert faded.get_alpha() < 0.5
    assert solid.get_alpha() is None
    own = groups.filter(groups["method"] == "CC")
    assert faded.get_ydata() == pytest.approx(own["estimated"].to_numpy())
    assert np.isnan(solid.get_ydata()).tolist() == (own["n"] < 10).to_list()
    assert len(plots.diagonal(frame, fewest=1).lines) == 2 + 1
    assert len(plots.diagonal(frames.shares(2, 42), fewest=10).lines) == 2 + 1  # all are few
    boxes = plots.bias_boxes(frame, bins=6)
    alphas = {patch.get_alpha() for patch in boxes.patches}
    assert len(alphas) == 2
    errors = frames.errors(2, 100)
    assert len(plots.error_by_shift(errors, fewest=8).lines) > 2
    with pytest.raises(HeadcountError, match="fewest is 0"):
        plots.diagonal(frame, fewest=0)


LABELS = {"CC": "counting", "class 0": "first", "true share of yes": "wahrer Anteil"}


@by_name
def test_labels_can_be_set(name):
    drawn = PLOTS[name](6, labels=LABELS | {"negative": "counting"})
    check_layout(drawn.figure)
    texts = {words for words, _, _ in look(drawn.figure)[1]}
    assert texts & {"counting", "first"} or name == "letter_values"
    assert not texts & set(LABELS)


def test_labels_of_axes_and_panels_can_be_set():
    frame = frames.shares(3)
    assert plots.diagonal(frame, labels=LABELS).get_xlabel() == "wahrer Anteil"
    figure = plots.diagonal_panels(frame, labels=LABELS)
    assert figure.axes[0].get_title() == "counting"
    assert figure.get_supxlabel() == "wahrer Anteil"
    with pytest.raises(HeadcountError, match="labels is"):
        plots.diagonal(frame, labels=["counting"])


def test_diagonal_draws_its_numbers():
    frame = frames.shares(3)
    groups = plots.data.diagonal(frame)
    ax = plots.diagonal(frame)
    *lines, diagonal = ax.lines
    assert len(lines) == 3
    for name, line in zip(frames.NAMES, lines, strict=False):
        own = groups.filter(groups["method"] == name)
        assert line.get_xdata() == pytest.approx(own["true"].to_numpy())
        assert line.get_ydata() == pytest.approx(own["estimated"].to_numpy())
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    assert len(ax.collections) == 3  # bands
    assert len(plots.diagonal(frames.shares(8)).collections) == 0
    assert len(plots.diagonal(frames.shares(3), bands=False).collections) == 0
    assert len(plots.error_by_shift(frames.errors(2), bands=False).collections) < len(
        plots.error_by_shift(frames.errors(2)).collections
    )
    point = plots.diagonal(frames.shares(3), training=0.3).lines[-1]
    assert point.get_xydata().tolist() == [[0.3, 0.3]]
    for panel in plots.diagonal_panels(frames.shares(3), training=0.3, bands=False).axes:
        assert panel.lines[-1].get_xydata().tolist() == [[0.3, 0.3]]
        assert not panel.collections
    with pytest.raises(HeadcountError, match=r"^training is 30"):
        plots.diagonal(frames.shares(3), training=30)
    assert ax.get_xlabel() == "true share of yes"
    assert plots.diagonal(frame, positive="no").get_xlabel() == "true share of no"
    all_classes = plots.diagonal(frames.shares(2, classes=("a", "b", "c")))
    assert all_classes.get_xlabel() == "true share"


def test_errors_by_shift_stand_before_the_samples():
    frame = frames.errors(3)
    groups = plots.data.error_by_shift(frame)
    ax = plots.error_by_shift(frame, error="absolute error")
    assert ax.get_ylabel() == "mean absolute error"
    for name, line in zip(frames.NAMES, ax.lines, strict=False):
        own = groups.filter(groups["method"] == name)
        assert line.get_ydata() == pytest.approx(own["mean"].to_numpy())
    (behind,) = [other for other in ax.figure.axes if other is not ax]
    assert sum(bar.get_height() for bar in behind.patches) == 210
    assert behind.get_zorder() < ax.get_zorder()
    assert not ax.patch.get_visible()
    assert ax.get_ylim()[0] == 0


def test_boxes_draw_their_numbers():
    frame = frames.shares(3)
    ax = plots.bias_boxes(frame)
    boxes = plots.data.bias_boxes(frame)
    assert [bar.get_x() for bar in ax.patches] == pytest.approx(boxes["q1"].to_list())
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends == pytest.approx(boxes["q3"].to_list())
    grouped = plots.error_boxes(frames.errors(3), bins=5)
    boxes = plots.data.error_boxes(frames.errors(3), bins=5)
    assert len(grouped.patches) == len(boxes)
    assert sorted(bar.get_y() for bar in grouped.patches) == pytest.approx(sorted(boxes["q1"]))
    labels = [label.get_text() for label in grouped.get_xticklabels()]
    edges = sorted({*boxes["left"], *boxes["right"]})
    assert labels == [f"{edge:g}" for edge in edges]


def test_groups_of_one_value_are_named_by_it():
    frame = {"method": ["A", "B"] * 2, "shift": [0.1, 0.1, 0.3, 0.3], "error": [1, 2, 3, 4.0]}
    ax = plots.error_boxes(frame)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "0.3"]
    assert ax.get_xticks().tolist() == [0, 1]


def test_letter_values_draw_boxes_and_what_is_beyond():
    frame = frames.errors(2)
    letters = plots.data.letter_values(frame)
    ax = plots.letter_values(frame)
    assert len(ax.patches) == (letters["inside"] > 0).sum()
    beyond = sum(len(line.get_xdata()) for line in ax.lines)
    expected = 0
    for name in frames.NAMES[:2]:
        own = frame.filter(frame["method"] == name)["error"]
        last = letters.filter(letters["method"] == name).row(-1, named=True)
        expected += (own > last["high"]).sum() + (own < last["low"]).sum()
    assert beyond == expected > 0
    assert ax.get_xscale() == "linear"
    assert legends(ax.figure) == []


def test_learning_curves_draw_their_numbers():
    frame = frames.curves(2)
    curves = plots.data.learning_curves(frame)
    ax = plots.learning_curves(frame)
    assert np.concatenate([line.get_ydata() for line in ax.lines]) == pytest.approx(
        curves["mean"].to_numpy()
    )
    assert ax.get_xscale() == "log"
    near = frame.with_columns(frame["size"] + 1000)
    assert plots.learning_curves(near).get_xscale() == "linear"


def test_critical_difference_draws_ranks_groups_and_scale():
    ranks = {"A": 1.2, "B": 1.9, "C": 4.0, "D": 2.9}
    ax = plots.critical_difference(ranks, 1.5)
    stems = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert sorted(line.get_xdata()[0] for line in stems) == sorted(ranks.values())
    thick = [line for line in ax.lines if line.get_linewidth() > 2]
    spans = sorted((line.get_xdata()[0], line.get_xdata()[1]) for line in thick)
    expected = np.array([(1.2, 1.9), (1.9, 2.9), (2.9, 4.0)])
    assert np.array(spans) == pytest.approx(expected, abs=0.05)
    heights = {line.get_ydata()[0] for line in thick}
    assert len(heights) == 2  # the first and the third have room beside each other
    words = [text.get_text() for text in ax.texts]
    assert "CD = 1.50" in words
    assert set(ranks) <= set(words)
    scale = next(line for line in ax.lines if line.get_marker() == "|")
    assert np.ptp(scale.get_xdata()) == pytest.approx(1.5)


def test_a_critical_difference_beyond_all_ranks_is_shown():
    ax = plots.critical_difference({"A": 1.4, "B": 1.6}, 3.0)
    check_layout(ax.figure)
    assert ax.get_xlim()[1] == 4.0


def test_bars_draw_shares_intervals_and_references():
    frame = frames.classes(4)
    ax = plots.bars(frame)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(frame["share"].to_list())
    (line,) = ax.lines
    assert line.get_xdata() == pytest.approx([0.25] * 4)
    (intervals,) = ax.collections
    drawn = [(path[0, 0], path[1, 0]) for path in intervals.get_segments()]
    expected = frame.select("low", "high").rows()
    assert np.array(drawn) == pytest.approx(np.array(expected))
    assert len(plots.bars(frames.classes(4, with_reference=False)).lines) == 0


def test_groups_draw_shares_bands_and_references():
    frame = {
        "group": ["b", "a", "c"] * 2, "class": ["no"] * 3 + ["yes"] * 3,
        "share": [0.7, 0.6, 0.5, 0.3, 0.4, 0.5], "low": [0.2] * 6, "high": [0.8] * 6,
    }  # fmt: skip
    ax = plots.by_group(frame)
    (line,) = ax.lines
    assert line.get_ydata() == pytest.approx([0.3, 0.4, 0.5])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "a", "c"]
    assert ax.get_ylabel() == "share of yes"
    marked = plots.by_group(frame | {"reference": [0.5] * 6}, positive="no", line=False)
    shares, references = marked.lines
    assert shares.get_ydata() == pytest.approx([0.7, 0.6, 0.5])
    assert references.get_ydata() == pytest.approx([0.5] * 3)
    (intervals,) = marked.collections
    assert len(intervals.get_segments()) == 3


def test_simplex_draws_points_region_and_truth():
    shares = np.random.default_rng(0).dirichlet([20, 10, 5], 60)
    ax = plots.simplex(shares, classes=["a", "b", "c"])
    points = plots.data.simplex(shares)
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 60]
    assert len(drawn) == 1
    assert drawn[0].get_xdata() == pytest.approx(points["x"].to_numpy())
    (region,) = ax.patches
    corners = region.get_xy()
    assert {*corners[:, 0]} <= {*points.filter(points["inside"])["x"]}
    assert legends(ax.figure) == []
    assert not plots.simplex(shares, classes="abc", level=None).patches
    bare = plots.simplex(shares, classes="abc", points=False)
    assert not [line for line in bare.lines if len(line.get_xdata()) == 60]
    with_truth = plots.simplex(shares, classes="abc", truth=[0.0, 1.0, 0.0])
    (cross,) = [line for line in with_truth.lines if line.get_marker() == "X"]
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == pytest.approx((1, 0))


ONE = {"method": ["A"], "class": ["yes"], "true": [0.4], "estimated": [0.5]}
ONE_ERROR = {"method": ["A"], "shift": [0.1], "error": [0.2], "size": [100]}


@pytest.mark.parametrize(
    "plot",
    [
        lambda: plots.diagonal(ONE),
        lambda: plots.bias_boxes(ONE),
        lambda: plots.bias_boxes(ONE, bins=3),
        lambda: plots.error_by_shift(ONE_ERROR),
        lambda: plots.error_boxes(ONE_ERROR),
        lambda: plots.letter_values(ONE_ERROR),
        lambda: plots.letter_values(ONE_ERROR, linear_below=0.1),
        lambda: plots.letter_values(ONE_ERROR, linear_below=10),
        lambda: plots.learning_curves(ONE_ERROR),
        lambda: plots.bars({"class": ["a"], "share": [0.4], "low": [0.4], "high": [0.4]}),
        lambda: plots.by_group(
            {"group": ["a"], "class": ["x"], "share": [0.4], "low": [0.3], "high": [0.5]}
        ),
        lambda: plots.means({"method": ["A"], "mean": [0.1], "low": [0.1], "high": [0.1]}),
        lambda: plots.simplex([0.2, 0.3, 0.5], classes=["a", "b", "c"]),
    ],
)
def test_a_single_sample_can_be_drawn(plot):
    check_layout(plot().figure)


ODD = ("_hidden", "a$b$c", "$\\alpha", "naïve “quotes”")


def odd(frame):
    return frame.with_columns(
        frame["method"].replace_strict(dict(zip(frames.NAMES, ODD, strict=False)))
    )


@pytest.mark.parametrize(
    "plot",
    [
        lambda: plots.diagonal(odd(frames.shares(4))),
        lambda: plots.diagonal_panels(odd(frames.shares(4))).axes[0],
        lambda: plots.bias_boxes(odd(frames.shares(4))),
        lambda: plots.error_boxes(odd(frames.errors(4))),
        lambda: plots.critical_difference(dict(zip(ODD, (1, 2, 3, 4), strict=True)), 1.5),
        lambda: plots.bars(frames.classes(4).with_columns(frames.pl.Series("class", ODD))),
    ],
)  # fmt: skip
def test_names_are_written_as_they_are(plot):
    figure = plot().figure
    check_layout(figure)
    assert set(ODD) <= {words for words, _, _ in look(figure)[1]}


def test_errors_of_zero_can_be_drawn():
    frame = {"method": ["A"] * 9, "shift": [0.0] * 9, "error": [0.0] * 9}
    for ax in (
        plots.letter_values(frame), plots.letter_values(frame, linear_below=0.1),
        plots.error_boxes(frame), plots.error_by_shift(frame),
    ):  # fmt: skip
        draw(ax.figure)
