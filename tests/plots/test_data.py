from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plots import frames

from headcount import plots
from headcount.errors import HeadcountError
from headcount.plots.data import round_edges
from headcount.plots.share_plots import hull

data = plots.data


def of(frame, method):
    return frame.filter(frame["method"] == method)


def test_every_plot_has_its_numbers():
    drawn = {name for name in plots.__all__ if name not in ("data", "diagonal_panels")}
    assert drawn <= set(data.__all__)


def test_diagonal_groups_by_true_share():
    frame = frames.shares(2)
    groups = data.diagonal(frame, spread=0.8)
    assert groups["method"].unique(maintain_order=True).to_list() == ["CC", "PCC"]
    one = of(groups, "PCC")
    assert one["true"].to_list() == pytest.approx(np.linspace(0, 1, 21).tolist())
    yes = of(frame, "PCC").filter(pl.col("class") == "yes")
    at = yes.filter((pl.col("true") - 0.25).abs() < 1e-9)["estimated"].to_numpy()
    row = one.row(5, named=True)
    assert row["n"] == len(at) == 10
    assert row["estimated"] == pytest.approx(np.median(at))
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(at, [0.1, 0.9])))


def test_the_class_shown_is_the_last_of_two_or_the_one_named_or_all():
    two, three = frames.shares(1), frames.shares(1, classes=("a", "b", "c"))
    yes, no = data.diagonal(two), data.diagonal(two, positive="no")
    assert yes.equals(data.diagonal(two, positive="yes"))
    assert yes["estimated"].to_numpy() == pytest.approx(1 - no["estimated"].to_numpy()[::-1])
    assert data.diagonal(three)["n"].sum() == 630
    assert data.diagonal(three, positive="b")["n"].sum() == 210
    numbers = two.with_columns(pl.col("class").replace_strict({"no": 0, "yes": 1}))
    assert data.diagonal(numbers, positive=1).equals(yes)
    with pytest.raises(HeadcountError, match="positive is 'maybe'; it must be one of the cl"):
        data.diagonal(two, positive="maybe")


def test_many_different_values_are_binned():
    frame = frames.shares(1, classes=("a", "b", "c"))
    groups = data.diagonal(frame, positive="a", bins=5)
    assert groups["left"].to_list() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert (groups["right"] - groups["left"]).to_list() == pytest.approx([0.2] * 5)
    assert groups["true"].is_between(groups["left"], groups["right"]).all()
    assert groups["n"].sum() == 210


@given(st.floats(-5, 5), st.floats(1e-3, 10), st.integers(2, 40))
@settings(max_examples=80)
def test_edges_are_round_and_enough(low, width, bins):
    edges = round_edges(low, low + width, bins)
    step = edges[1] - edges[0]
    assert np.diff(edges) == pytest.approx(step, rel=1e-6)
    assert edges[0] <= low + 1e-6 * width
    assert edges[-1] >= low + width * (1 - 1e-6)
    assert bins / 2.6 <= len(edges) - 1 <= bins + 2
    assert float(f"{step:.2g}") == pytest.approx(step, rel=1e-6)


def test_errors_by_shift():
    frame = frames.errors(2)
    groups = data.error_by_shift(frame, bins=4)
    one = of(groups, "CC")
    raw = of(frame, "CC")
    inside = raw.filter(pl.col("shift").round(9) < one["right"][0])["error"].to_numpy()
    assert one["mean"][0] == pytest.approx(inside.mean())
    assert one["sd"][0] == pytest.approx(inside.std(ddof=1))
    assert one["n"].sum() == 210
    alone = data.error_by_shift({"method": ["A"], "shift": [0.1], "error": [0.2]})
    assert alone.row(0) == ("A", 0.1, 0.1, 0.1, 0.2, 0.0, 1)


def test_boxes_hold_the_quantiles():
    frame = frames.errors(2)
    boxes = data.error_boxes(frame, bins=1)
    own = of(frame, "PCC")["error"].to_numpy()
    names = ("low", "q1", "median", "q3", "high", "mean")
    row = of(boxes, "PCC").row(0, named=True)
    expected = [*np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95]), own.mean()]
    assert [row[name] for name in names] == pytest.approx(expected)


def test_bias_is_signed_and_of_one_class():
    frame = {
        "method": ["A"] * 4, "class": ["no", "yes"] * 2, "true": [0.5, 0.5, 0.1, 0.9],
        "estimated": [0.4, 0.6, 0.3, 0.7],
    }  # fmt: skip
    assert data.bias_boxes(frame, bins=2)["median"].to_list() == pytest.approx([0.1, -0.2])
    assert data.bias_boxes(frame)["mean"].to_list() == pytest.approx([-0.05])


@pytest.mark.parametrize(("n", "depth"), [(1, 1), (7, 1), (16, 2), (64, 4), (1000, 7)])
def test_letter_values_go_as_deep_as_there_are_errors(n, depth):
    errors = np.random.default_rng(n).random(n)
    letters = data.letter_values({"method": ["A"] * n, "error": errors})
    assert len(letters) == depth
    assert letters["inside"].to_list() == [1 - 2 * 0.5 ** (i + 1) for i in range(depth)]
    assert letters["low"][0] == letters["high"][0] == pytest.approx(np.median(errors))
    for inside, low, high in letters.select("inside", "low", "high").rows()[1:]:
        held = ((errors >= low) & (errors <= high)).mean()
        assert held == pytest.approx(inside, abs=2 / n)
    if depth > 1:
        assert (errors > letters["high"][-1]).sum() >= 3


def test_learning_curves_sort_sizes_and_keep_methods():
    frame = frames.curves(3).sample(fraction=1, shuffle=True, seed=0)
    order = frame["method"].unique(maintain_order=True).to_list()
    found = data.learning_curves(frame)
    assert found["method"].unique(maintain_order=True).to_list() == order
    one = of(found, "PCC")
    assert one["size"].to_list() == [100, 200, 500, 1000, 2000]
    raw = of(frame, "PCC").filter(pl.col("size") == 500)["error"].to_numpy()
    assert one["mean"][2] == pytest.approx(raw.mean())
    assert one["se"][2] == pytest.approx(raw.std(ddof=1) / math.sqrt(5))


def test_ranks_come_sorted_with_their_groups():
    found = data.critical_difference({"C": 3.5, "A": 1.0, "B": 1.5, "D": 3.0}, 1.8)
    assert found["method"].to_list() == ["A", "B", "D", "C"]
    assert found["groups"].to_list() == [[0], [0, 1], [1, 2], [2]]
    apart = data.critical_difference({"A": 1.0, "B": 2.0}, 0.5)
    assert apart["groups"].to_list() == [[], []]


def test_corners_and_middle_of_the_triangle():
    shares = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3] * 3]
    found = data.simplex(shares)
    points = found.select("x", "y").to_numpy()
    assert points[0] == pytest.approx([0, 0])
    assert points[1] == pytest.approx([1, 0])
    assert points[2] == pytest.approx([0.5, math.sqrt(3) / 2])
    assert points[3] == pytest.approx([0.5, math.sqrt(3) / 6])


@pytest.mark.parametrize("alpha", [[20, 10, 5], [20, 10, 1e-300]])
def test_the_region_holds_its_share_of_points(alpha):
    shares = np.random.default_rng(0).dirichlet(alpha, 200)  # the second lies on a side
    found = data.simplex({"A": shares, "B": shares[::-1]}, level=0.9)
    assert found.group_by("method").agg(pl.col("inside").sum())["inside"].to_list() == [180] * 2
    points = found.select("x", "y").to_numpy()
    away = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert found["inside"].to_numpy()[away.argmin()]
    assert not found["inside"].to_numpy()[away.argmax()]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20))
@settings(max_examples=80)
def test_hulls_are_convex_and_hold_all(points):
    corners = hull(np.array(points, dtype=float))
    assert {tuple(corner) for corner in corners} <= {(float(x), float(y)) for x, y in points}
    before, after = np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0)
    if len(corners) > 2:
        one, two = corners - before, after - corners
        assert (one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0] > 0).all()
        for x, y in points:
            side = after - corners
            left = side[:, 0] * (y - corners[:, 1]) - side[:, 1] * (x - corners[:, 0])
            assert (left >= -1e-9).all()


def test_frames_of_any_library_do():
    frame = frames.errors(2)
    expected = data.error_boxes(frame)
    assert data.error_boxes(frame.to_pandas()).equals(expected)
    assert data.error_boxes(frame.to_dict(as_series=False)).equals(expected)
    assert data.error_boxes(frame.with_columns(pl.col("method").cast(pl.Categorical))).equals(
        expected
    )
    assert data.error_boxes(pd.DataFrame(frame.to_dict(as_series=False))).equals(expected)


GOOD = {"method": ["A", "A"], "shift": [0.1, 0.2], "error": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"method": ["A"], "shift": [0.1]}, "no column 'error': it needs method, shift, error"),
        ({"method": [], "shift": [], "error": []}, "frame has no rows"),
        (GOOD | {"error": [0.1, math.nan]}, "missing or infinite values in 'error'"),
        (GOOD | {"shift": [0.1, math.inf]}, "missing or infinite values in 'shift'"),
        (GOOD | {"shift": [0.1, None]}, "missing or infinite values in 'shift'"),
        (GOOD | {"method": ["A", None]}, "missing or infinite values in 'method'"),
        (GOOD | {"error": ["x", "y"]}, "values that are not numbers in shift, error"),
        (GOOD | {"error": [0.1]}, "columns of equal length"),
        (pl.DataFrame(GOOD).lazy(), "frame is LazyFrame, .*: collect it first"),
        ([1, 2, 3], "frame is list, .*: pass a frame"),
    ],
)
def test_bad_frames_are_refused_in_a_sentence(frame, message):
    with pytest.raises(HeadcountError, match=message):
        data.error_by_shift(frame)


def test_other_bad_input_is_refused():
    with pytest.raises(HeadcountError, match="bins is 0"):
        data.error_by_shift(GOOD, bins=0)
    with pytest.raises(HeadcountError, match="spread is 1"):
        data.diagonal(frames.shares(1), spread=1)
    with pytest.raises(HeadcountError, match="low above high"):
        data.bars({"class": ["a"], "share": [0.5], "low": [0.6], "high": [0.4]})
    with pytest.raises(HeadcountError, match="at least 2 methods"):
        data.critical_difference({"A": 1.0}, 1.0)
    with pytest.raises(HeadcountError, match="at least 2 methods"):
        data.critical_difference({"A": 1.0, "B": math.nan}, 1.0)
    with pytest.raises(HeadcountError, match="shares has shape"):
        data.simplex([[0.5, 0.5]])
    with pytest.raises(HeadcountError, match="shares is empty"):
        data.simplex({})
    with pytest.raises(HeadcountError, match="shares that sum to"):
        data.simplex([[0.5, 0.5, 0.5]])
    with pytest.raises(HeadcountError, match="classes has 2 names"):
        plots.simplex([[0.5, 0.5, 0.0]], classes=["a", "b"])
    with pytest.raises(HeadcountError, match="families has none for 'PCC'"):
        plots.letter_values(frames.errors(2), families={"CC": "counting"})
    with pytest.raises(HeadcountError, match="linear_below is 0"):
        plots.letter_values(frames.errors(2), linear_below=0)


def test_supremacy_counts_the_best_and_shares_ties():
    frame = {
        "method": ["A", "B"] * 4,
        "sample": [0, 0, 1, 1, 2, 2, 3, 3],
        "shift": [0.1] * 4 + [0.4] * 4,
        "error": [0.1, 0.2, 0.1, 0.1, 0.3, 0.1, 0.3, 0.2],
    }
    found = data.supremacy(frame)
    assert found["method"].to_list() == ["A", "A", "B", "B"]
    assert found["share"].to_list() == [0.75, 0.0, 0.25, 1.0]
    assert found["n"].to_list() == [2, 2, 2, 2]


def test_calibration_by_groups_of_scores():
    frame = {
        "method": ["A"] * 6,
        "score": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
        "positive": [0, 0, 1, 1, 1, 0],
    }
    found = data.calibration(frame, bins=2)
    assert found["score"].to_list() == pytest.approx([0.2, 0.8])
    assert found["share"].to_list() == pytest.approx([1 / 3, 2 / 3])
    assert found["n"].to_list() == [3, 3]
    # Wilson's interval of 1 in 3, from its formula.
    assert found["low"][0] == pytest.approx(0.0615, abs=1e-3)
    assert found["high"][0] == pytest.approx(0.7923, abs=1e-3)
    wrong = {"method": ["A"], "score": [1.5], "positive": [1]}
    with pytest.raises(HeadcountError, match=r"scores outside \[0, 1\]"):
        data.calibration(wrong)
    with pytest.raises(HeadcountError, match=r"positive other than 0 and 1"):
        data.calibration(wrong | {"score": [0.5], "positive": [2]})
