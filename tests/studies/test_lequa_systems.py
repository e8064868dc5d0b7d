from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

import headcount as hc
from headcount.items.arrays import Scored
from headcount.samples.samples import Samples
from headcount_studies.lequa2024.quantifiers import EMQIni


def items(n: int = 600, K: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n,
        10,
        n_informative=6,
        n_classes=K,
        n_clusters_per_class=1,
        class_sep=0.7,
        random_state=0,
    )


def scored_items(n: int, seed: int = 0) -> tuple[Scored, np.ndarray]:
    """Posteriors of four classes, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    scores = rng.dirichlet(np.ones(4), n) * 0.6
    scores[np.arange(n), y] += 0.4
    return Scored(scores, np.arange(4)), y


def test_emq_ini_starts_at_gpac_and_moves_as_em_does() -> None:
    """Run long enough it is SLD's maximum; by few steps it is between GPAC and the maximum."""
    train, y = scored_items(300)
    posteriors, labels = scored_items(300, seed=1)
    sample = posteriors.posteriors[labels < 2]  # far from the training shares
    test = Scored(sample, np.arange(4))
    start = hc.GPAC().fit(train, y).predict(test)
    with pytest.warns(hc.HeadcountWarning, match="did not converge"):
        one = EMQIni(calibration=None, max_iter=1).fit(train, y).predict(test)
    prior = np.bincount(y) / len(y)
    floor = np.maximum(start, 1e-3 / 4)
    weighted = sample / prior * (floor / floor.sum())
    step = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(one, step, atol=1e-9)
    with pytest.warns(hc.HeadcountWarning, match="did not converge"):
        from_training = (
            hc.SLD(calibration=None, stop="classic", max_iter=1).fit(train, y).predict(test)
        )
    assert np.abs(one - from_training).max() > 0.02
    # Of several samples each has a start of its own.
    started = EMQIni().fit(train, y)
    half = len(sample) // 2
    samples = Samples.by_code(np.repeat([0, 1], [half, len(sample) - half]), 2)
    np.testing.assert_allclose(
        started.predict_many(test, samples),
        [
            started.predict(Scored(part, np.arange(4)))
            for part in (sample[:half], sample[half:])
        ],
        atol=1e-12,
    )


def test_energy_distance_of_ordered_classes_uses_earth_movers_distances() -> None:
    rng = np.random.default_rng(0)
    scored, y = scored_items(200)
    scores = scored.posteriors
    sample = scores[rng.choice(200, 60)]
    shares = hc.EDy(ordered=True).fit(scored, y).predict(Scored(sample, np.arange(4)))

    def moved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(np.cumsum(a[:, None] - b[None], axis=2)[..., :-1]).sum(axis=2)

    between = moved(scores, scores)
    A = np.array([[between[np.ix_(y == i, y == j)].mean() for j in range(4)] for i in range(4)])
    s = np.array([moved(sample, scores[y == j]).mean() for j in range(4)])

    def energy(p: np.ndarray) -> float:
        return float(2 * s @ p - p @ A @ p)

    others = rng.dirichlet(np.ones(4), 5000)
    nearby = np.abs(shares + rng.normal(scale=0.02, size=(5000, 4)))
    nearby /= nearby.sum(axis=1, keepdims=True)
    least = min(map(energy, [*others, *nearby]))
    assert energy(shares) <= least + 1e-9
    manhattan = hc.EDy().fit(scored, y).predict(Scored(sample, np.arange(4)))
    assert np.abs(manhattan - shares).max() > 1e-3


def test_alignment_of_branches_is_linear_cka() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from headcount.quantifiers.deep.networks import alignment

    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))

    def value(*branches: np.ndarray) -> float:
        return float(alignment(torch.tensor(np.stack(branches))))

    def cka(x: np.ndarray, y: np.ndarray) -> float:
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        cross = np.linalg.norm(x.T @ y) ** 2
        return float(cross / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)))

    assert value(first, second) == pytest.approx(cka(first, second))
    assert value(first, 7 * first @ rotation + 1) == pytest.approx(1)
    third = rng.normal(size=(12, 3))
    pairs = [cka(first, second), cka(first, third), cka(second, third)]
    assert value(first, second, third) == pytest.approx(np.mean(pairs))


def test_a_network_is_trained_with_less_aligned_branches() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from headcount.quantifiers.deep import networks

    X, y = items(400, 2)
    values: dict[float, list[float]] = {0.0: [], 5.0: []}
    original = networks.alignment
    for weight, seen in values.items():

        def watched(branches: object, seen: list[float] = seen) -> object:
            value = original(branches)
            seen.append(float(value.detach()))
            return value

        networks.alignment = watched
        try:
            hc.GMNet(
                branches=3, gaussians=4, dimensions=2, epochs=2, size=40, random_state=0,
                alignment=weight,
            ).fit(X, y)  # fmt: skip
        finally:
            networks.alignment = original
    assert not values[0.0]  # not computed without a weight
    assert np.mean(values[5.0][-10:]) < values[5.0][0]
    with pytest.raises(hc.HeadcountError, match="alignment is -1"):
        hc.GMNet(alignment=-1).fit(X, y)
    assert torch is not None
