from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


class Reviews:
    """A made-up pool: two groups, five stars, one feature with a known distribution.

    Given group and stars, x is normal with deviation 1 and a mean that grows with the stars
    and is 3 higher in group "books".
    """

    def __init__(self, n_each: int = 4000) -> None:
        rng = np.random.default_rng(0)
        order = rng.permutation(10 * n_each)
        self.stars = np.tile(np.arange(1, 6), 2 * n_each)[order]
        self.groups = np.repeat(["books", "toys"], 5 * n_each)[order]
        self.y = np.where(self.stars > 3, "good", "poor")
        self.x = rng.normal(0.5 * self.stars + 3 * (self.groups == "books"))


@pytest.fixture(scope="session")
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    named = os.environ.get("HEADCOUNT_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no data: name its folder by HEADCOUNT_DATA")
    return folder
