from __future__ import annotations

import numpy as np
import pytest

from headcount.samples.samples import Samples


def scores_of(codes, n_classes, rng, strength=1.5):
    evidence = strength * np.eye(n_classes)[codes] + rng.normal(size=(len(codes), n_classes))
    scores = np.exp(strength * evidence)
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture(params=[2, 3])
def n_classes(request):
    return request.param


@pytest.fixture
def training(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.integers(n_classes, size=300)
    return scores_of(codes, n_classes, rng), codes


@pytest.fixture
def pool(n_classes):
    rng = np.random.default_rng(10 + n_classes)
    shares = np.array([0.2, 0.8]) if n_classes == 2 else np.array([0.2, 0.5, 0.3])
    return scores_of(rng.choice(n_classes, 400, p=shares), n_classes, rng)


@pytest.fixture
def samples():
    return Samples.from_arrays([np.arange(150), np.arange(150, 400)], n_pool=400)
