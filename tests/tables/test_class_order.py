from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.tables.models import are_ordered


def grades(n, centres, seed):
    """Posteriors of classes with these centres on a line, and their codes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(centres), n)
    x = np.asarray(centres)[codes] + rng.normal(0, 1, n)
    likelihoods = np.exp(-((x[:, None] - centres) ** 2) / 2)
    return likelihoods / likelihoods.sum(axis=1, keepdims=True), codes


@pytest.mark.parametrize("K", [3, 4, 5, 8])
def test_grades_are_ordered_and_shuffled_codes_are_not(K):
    numbers = np.arange(1, K + 1)
    P, codes = grades(2000, np.arange(K), 0)
    assert are_ordered(numbers, P, codes)
    shuffled = {3: [1, 0, 2], 4: [1, 3, 0, 2], 5: [2, 0, 4, 1, 3], 8: [3, 7, 0, 4, 1, 6, 2, 5]}[
        K
    ]
    P, codes = grades(2000, np.asarray(shuffled), 1)
    assert not are_ordered(numbers, P, codes)


def test_texts_and_two_classes_have_no_order_and_decimals_have_one():
    P, codes = grades(500, np.array([1, 0, 2]), 0)
    assert not are_ordered(np.array(["1", "2", "3"]), P, codes)
    assert not are_ordered(np.array([0, 1]), P[:, :2], np.minimum(codes, 1))
    assert are_ordered(np.array([0.5, 1.0, 1.5]), P, codes)


@pytest.mark.parametrize(("places", "said"), [((0, 1, 2), "ordered"), ((1, 0, 2), "names")])
def test_the_choice_is_noted(places, said):
    rng = np.random.default_rng(0)

    def table(n):
        codes = rng.integers(0, 3, n)
        x = np.asarray(places)[codes] + rng.normal(0, 1, n)
        return pl.DataFrame({"x": x, "grade": codes + 1})

    analysis = hc.analyse(table(300).drop("grade"), train=table(600), target="grade")
    assert f"count as {said}." in " ".join(analysis.notes)
    assert analysis.model.quantifier.ordered is (said == "ordered")
    assert said in analysis.to_text()
