"""Small versions of the four protocols on real reviews, where they can be had."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from headcount.errors import HeadcountError
from headcount.shift.shift_protocols import (
    ConceptShift,
    GlobalCovariateShift,
    LocalCovariateShift,
    PriorShift,
)

FEW = {"repeats": 2, "test_repeats": 2, "random_state": 0}
# File, column of stars, column of groups, two groups, cut points, sizes that it has items for.
FILES = [
    (
        "womens_clothing_reviews",
        ("Rating", "Department Name", ("Dresses", "Tops")),
        (1.5, 2.5, 3.5, 4.5),
        (400, 100),
    ),
    (
        "amazon_5cat_small",
        ("overall", "category", ("Books", "Electronics")),
        (1.5, 2.5, 3.5, 4.5),
        (50, 20),
    ),
    (
        "amazon_blitzer",
        ("rating", "domain", ("books", "electronics")),
        (1.5, 3, 4.5),
        (400, 100),
    ),
]


@pytest.fixture(params=FILES, ids=lambda file: file[0])
def data(request, data_folder):
    name, (stars, groups, pair), points, (train_size, test_size) = request.param
    path = data_folder / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"no {path.name} among the data")
    frame = pl.read_parquet(path, columns=[stars, groups]).drop_nulls()
    sizes = {"train_size": train_size, "test_size": test_size}
    return frame[stars], frame[groups], pair, points, sizes


def test_prior_shift(data):
    stars, _, _, _, sizes = data
    for experiment in PriorShift(**sizes, **FEW).draw(ratings=stars):
        assert_labels(experiment, stars.to_numpy(), 3)
        asked = experiment.settings["test_prevalence"]
        np.testing.assert_allclose(experiment.test.prevalence[:, 1], asked, atol=1e-12)


def test_global_covariate_shift(data):
    stars, groups, pair, _, sizes = data
    protocol = GlobalCovariateShift([0.2, 0.5, 0.8], categories=pair, **sizes, **FEW)
    for experiment in protocol.draw(groups=groups, ratings=stars):
        assert_labels(experiment, stars.to_numpy(), 3)
        first = [(groups.to_numpy()[s] == pair[0]).mean() for s in experiment.test]
        np.testing.assert_allclose(first, experiment.settings["test_alpha"], atol=1e-12)


def test_local_covariate_shift(data):
    stars, groups, pair, _, sizes = data
    protocol = LocalCovariateShift(categories=pair, **sizes, **FEW)
    for experiment in protocol.draw(groups=groups, ratings=stars):
        assert_labels(experiment, stars.to_numpy(), 3)
        negative = [(stars.to_numpy()[s] < 3).sum() for s in experiment.test]
        assert set(negative) == {sizes["test_size"] // 2}


def test_concept_shift(data):
    stars, _, _, points, sizes = data
    values = stars.to_numpy()
    drawn = ConceptShift(points, **sizes, **FEW).draw(ratings=stars)
    for experiment in drawn:
        assert_labels(experiment, values, experiment.settings["train_cut_point"])
        cuts = np.repeat(experiment.settings["test_cut_point"], experiment.test.sizes)
        found = values[experiment.test.indices]
        np.testing.assert_array_equal(experiment.test_labels, found > cuts)


def test_the_paper_s_sizes_are_too_large_for_these(data):
    stars, groups, pair, _, _ = data
    with pytest.raises(HeadcountError, match=r"a training set needs .* lower train_size"):
        LocalCovariateShift(categories=pair).draw(groups=groups, ratings=stars)


def assert_labels(experiment, stars, cut_point):
    found = stars[experiment.train[0]]
    assert (found != cut_point).all()
    np.testing.assert_array_equal(experiment.train_labels, found > cut_point)
    assert not set(experiment.train.indices) & set(experiment.test.indices)
