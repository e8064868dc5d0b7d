"""Estimates by name."""

from __future__ import annotations

import numpy as np
import pytest

import headcount as hc
from headcount.estimates import Estimates


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=400)
    scores = 1 / (1 + np.exp(-rng.normal(3 * codes - 1.5)))
    q = hc.PACC().fit(hc.Scored(scores[:200]), codes[:200])
    pool = hc.Scored(scores[200:])
    options = {"replicates": 200, "random_state": 0}
    return q.estimate_many(pool, [np.arange(100), np.arange(100, 200)], **options)


def test_a_plain_mapping_has_one_table(halves):
    estimates = Estimates({"first": halves[0], "second": halves[1]})
    assert list(estimates) == ["first", "second"] == list(estimates.names)
    assert estimates["second"] is halves[1]
    assert estimates.to_list() == halves
    assert estimates.sizes.tolist() == [100, 100]
    np.testing.assert_array_equal(estimates.raw, [halves[0].raw, halves[1].raw])
    assert estimates.raw_error is None
    frame = estimates.to_frame(level=0.9)
    assert frame["group"].to_list() == ["first", "first", "second", "second"]
    np.testing.assert_array_equal(frame["low"][2:], halves[1].interval(0.9).low)
    assert str(estimates).startswith("PACC: shares in 2 groups, with 95% intervals\ngroup")
    assert "<table" in estimates._repr_html_()
    with pytest.raises(KeyError):
        estimates["third"]


def test_groups_are_drawn(halves):
    estimates = Estimates({None: halves[0], "second": halves[1]})
    ax = estimates.plot(positive=0, level=0.9)
    assert ax.get_ylabel() == "share of 0"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["all", "second"]


def test_no_estimates_print_too():
    assert str(Estimates({})) == "Estimates of no groups"
    assert "no groups" in Estimates({})._repr_html_()
