"""Layers against slow versions, and gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.oracle import networks as oracle  # noqa: E402

from headcount import metrics  # noqa: E402
from headcount.quantifiers.deep import networks as layers  # noqa: E402
from headcount.quantifiers.deep.model import (  # noqa: E402
    Architecture,
    Attention,
    LearntDensities,
    Pooling,
    Recurrent,
    Votes,
)
from headcount.quantifiers.deep.networks import (  # noqa: E402
    LOSSES,
    build,
    mixtures,
)

KINDS = {
    "linear": Votes((5,), 3, 4, "linear"),
    "hard": Votes((5,), 3, 4, "hard"),
    "densities": LearntDensities(2, 3, 2, 4),
    "mean": Pooling((5, 4), "mean"),
    "median": Pooling((5, 4), "median"),
    "max": Pooling((5, 4), "max"),
    "attention": Attention(4, 2, 2, 1),
    "recurrent": Recurrent(3),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def bags(n_bags=3, n_items=7, width=4):
    return torch.rand(n_bags, n_items, width, dtype=torch.float64)


def make(kind, n_estimates=0, residual=True):
    network = build(Architecture(KINDS[kind], (6,), 0.0, residual), 4, 3, n_estimates)
    for parameter in network.parameters():
        # Also where weights start at zero.
        torch.nn.init.normal_(parameter, std=0.4) if parameter.ndim > 1 else None
    return network.double()


def estimates(n_bags=3, number=0):
    return torch.rand(n_bags, number, 3, dtype=torch.float64).softmax(-1)


@pytest.mark.parametrize("bins", [2, 3, 8])
def test_linear_votes(bins):
    items = bags()
    items[0, 0] = torch.tensor([0.0, 1.0, 0.5, 1 / 7])
    found = layers.linear_votes(items, bins).view(3, 4, bins)
    for bag, votes in zip(items, found, strict=True):
        np.testing.assert_allclose(votes, oracle.linear_votes(bag.numpy(), bins), atol=1e-12)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "hard"])
def test_histograms_use_all_bins_from_the_start(kind):
    # Inputs on scales that sigmoids of plain layers would map to one bin, or to the ends.
    inputs = bags(4, 200) * torch.tensor([0.01, 1.0, 10.0, 100.0], dtype=torch.float64)
    network = build(Architecture(KINDS[kind], (6,), 0.0), 4, 3, 0).double()
    features = network.item(inputs.flatten(0, 1)).detach()
    assert (features.std(0) > 0.2).all()
    votes = layers.linear_votes(features.unflatten(0, (4, 200)), 4)
    assert (votes.view(4, -1, 4).mean(0) > 0.05).all()


def test_linear_votes_are_centred():
    items = torch.linspace(0, 1, 701, dtype=torch.float64).view(1, -1, 1)
    found = layers.LinearVotes(8)(items)
    np.testing.assert_allclose(found[0, 1:-1], 8 / 7 - 1, atol=0.01)
    np.testing.assert_allclose(found.sum(), 0, atol=1e-9)


def test_hard_votes():
    layer = layers.HardVotes(4, 5).double()
    torch.nn.init.uniform_(layer.centres)
    # Bins overlap or leave gaps, and those of negative width are empty.
    torch.nn.init.uniform_(layer.widths, -0.1, 0.4)
    items = bags()
    items[0, :2] = 0.25  # twice the same
    arrays = [part.detach().numpy() for part in (layer.centres, layer.widths)]
    expected = [oracle.hard_votes(bag.numpy(), *arrays).ravel() for bag in items]
    np.testing.assert_allclose(layer(items).detach(), expected, atol=1e-12)


def test_gradients_of_hard_votes():
    layer = layers.HardVotes(4, 5).double()
    torch.nn.init.uniform_(layer.widths, -0.1, 0.4)
    items = bags().requires_grad_(True)

    def votes(inputs, centres, widths):
        given = {"centres": centres, "widths": widths}
        return torch.func.functional_call(layer, given, (inputs,))

    assert torch.autograd.gradcheck(votes, (items, layer.centres, layer.widths))


def test_densities():
    layer = layers.GaussianDensities(2, 3, 2).double()
    torch.nn.init.normal_(layer.factors)
    torch.nn.init.normal_(layer.log_diagonals, 1.0)
    items = torch.rand(6, 4, dtype=torch.float64)
    found = layer.log_densities(items).detach()
    for branch in range(2):
        for number in range(3):
            factor = np.tril(layer.factors[branch, number].detach().numpy(), -1)
            factor += np.diag(np.exp(layer.log_diagonals[branch, number].detach().numpy()))
            covariance = np.linalg.inv(factor @ factor.T)
            centre = layer.centres[branch, number].detach().numpy()
            points = items[:, 2 * branch : 2 * branch + 2].numpy()
            expected = [oracle.log_density(point, centre, covariance) for point in points]
            np.testing.assert_allclose(found[branch, :, number], expected, atol=1e-9)


def test_widths_of_gaussians_are_half_the_distance_to_the_next_one():
    layer = layers.GaussianDensities(1, 3, 2)
    centres = layer.centres[0].detach().numpy()
    apart = np.linalg.norm(centres[:, None] - centres, axis=-1) + np.diag([np.inf] * 3)
    np.testing.assert_allclose(
        np.exp(-layer.log_diagonals.detach().numpy()), apart.min(axis=1).mean() / 2, rtol=1e-5
    )


def test_normalisation_may_come_after_the_mean():
    items = bags()
    norm = layers.MomentNorm(4).double()
    torch.nn.init.normal_(norm.scale)
    torch.nn.init.normal_(norm.shift)
    scale, shift = norm.scale.detach().numpy(), norm.shift.detach().numpy()
    found = norm(items.mean(1), items.square().mean((0, 1)))
    expected = oracle.normalised_then_averaged(items.numpy(), scale, shift, norm.eps)
    np.testing.assert_allclose(found.detach(), expected, atol=1e-10)
    # In evaluation the running mean and variance are used, as by PyTorch's own layer.
    theirs = torch.nn.BatchNorm1d(4).double()
    theirs(items.flatten(0, 1))
    np.testing.assert_allclose(norm.mean, theirs.running_mean, atol=1e-12)
    n_items = 21
    variance = (theirs.running_var - 0.9) * (n_items - 1) / n_items + 0.9
    np.testing.assert_allclose(norm.variance, variance, atol=1e-12)
    norm.eval()
    away = (items.mean(1) - norm.mean) / (norm.variance + norm.eps).sqrt()
    last = norm(items.mean(1), items.square().mean((0, 1))).detach()
    np.testing.assert_allclose(last, away.numpy() * scale + shift, atol=1e-12)


def test_attention():
    layer = layers._Attend(4, 1).double()
    queries, keys = bags(1, 2), bags(1, 5)
    with torch.no_grad():
        parts = layer.query(queries)[0], layer.key(keys)[0], layer.value(keys)[0]
        seen = torch.from_numpy(oracle.attention(*(part.numpy() for part in parts)))
        mixed = layer.norms[0](queries[0] + seen)
        expected = layer.norms[1](mixed + torch.relu(layer.mix(mixed)))
        np.testing.assert_allclose(layer(queries, keys)[0], expected, atol=1e-12)


@each_kind
@pytest.mark.parametrize("number", [0, 2])
def test_gradients(kind, number):
    if kind == "recurrent":
        number = 2
    network, items = make(kind, number), bags()
    parameters = tuple(network.parameters())
    names = [name for name, _ in network.named_parameters()]

    fixed = estimates(3, number)

    def answer(inputs, *weights):
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(network, given, (inputs, fixed))

    items.requires_grad_(True)
    # With running means and variances, which a call in training would change.
    network.eval()
    assert torch.autograd.gradcheck(answer, (items, *parameters), atol=1e-6)


def test_gradients_of_normalisation_in_training():
    norm = layers.MomentNorm(4).double()
    means, squares = bags(3, 5).mean(1), 1 + bags(3, 5).mean((0, 1))
    inputs = tuple(part.requires_grad_(True) for part in (means, squares))
    assert torch.autograd.gradcheck(norm, inputs)


def test_gradients_of_densities_in_training():
    layer = layers.GaussianDensities(2, 3, 2).double()
    assert torch.autograd.gradcheck(layer, (bags(2, 4).requires_grad_(True),))


@each_kind
def test_the_order_of_items_makes_no_difference(kind):
    network, items = make(kind).eval(), bags(2, 9)
    shuffled = items[:, torch.randperm(9)]
    with torch.no_grad():
        first, second = (network(each, estimates(2)) for each in (items, shuffled))
    np.testing.assert_allclose(first, second, atol=1e-12)


def test_the_order_of_items_with_equal_scores_makes_no_difference():
    layer = layers.SortedLSTM(4, 3, 2).double()
    items = bags(2, 9)
    items[..., 2] = 0.5
    with torch.no_grad():
        shuffled = layer(items[:, torch.randperm(9)])
        np.testing.assert_allclose(shuffled, layer(items), atol=1e-12)


@each_kind
def test_vectors_of_joined_bags_are_means_where_layers_declare_it(kind):
    network, items = make(kind).eval(), bags(2, 9)
    with torch.no_grad():
        joined = network.vectors(items.view(1, 18, 4))
        apart = (joined - network.vectors(items).mean(0)).abs().max()
    assert (apart < 1e-12) == KINDS[kind].is_mean


def test_mixtures_lie_between_two_bags():
    shares = torch.eye(3, dtype=torch.float64)
    vectors = shares @ torch.rand(3, 5, dtype=torch.float64)
    mixed, known = mixtures(vectors, shares, 200)
    np.testing.assert_allclose(mixed, known @ vectors, atol=1e-12)
    np.testing.assert_allclose(known.sum(1), 1)
    # Of two bags at most, all pairs, and with all weights.
    assert ((known > 0).sum(1) <= 2).all()
    assert {tuple(row) for row in (known > 0).tolist()} == {
        (True, False, False), (False, True, False), (False, False, True),
        (True, True, False), (True, False, True), (False, True, True),
    }  # fmt: skip
    first = known[(known > 0).sum(1) == 2].max(1).values
    assert first.min() < 0.55
    assert first.max() > 0.95


@each_kind
def test_answers_are_shares(kind):
    with torch.no_grad():
        shares = make(kind)(bags(), estimates())
    assert shares.shape == (3, 3)
    assert (shares > 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-12)


def test_a_network_starts_at_the_first_estimate():
    given = estimates(3, 2)
    network = build(Architecture(KINDS["linear"], (6,), 0.0), 4, 3, 2).double()
    with torch.no_grad():
        np.testing.assert_allclose(network(bags(), given), given[:, 0], atol=1e-12)
        given[0, 0] = torch.tensor([1.0, 0.0, 0.0])
        assert network(bags(), given)[0, 0] > 0.99


def test_losses_are_the_metrics():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), (2, 6))
    both = torch.tensor(p), torch.tensor(q)
    found = {name: float(loss(*both, 50)) for name, loss in LOSSES.items()}
    expected = {
        "ae": metrics.ae(p, q).mean(),
        "rae": metrics.rae(p, q, eps=0.01).mean(),
        "mse": metrics.se(p, q).mean(),
        "nmd": metrics.nmd(p, q).mean(),
    }
    assert found == pytest.approx(expected)
