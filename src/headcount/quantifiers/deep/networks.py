"""Layers from the items of bags to one vector per bag, in PyTorch.

Bags are tensors of shape (bags, items, features).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import singledispatch
from itertools import pairwise
from math import cos, inf, log, pi, sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headcount._support.arrays import Floats
from headcount._support.execution import track
from headcount.quantifiers.deep.model import (
    Architecture,
    Attention,
    Bags,
    BagSource,
    LearntDensities,
    Pool,
    Pooling,
    Recurrent,
    TrainingSettings,
    Votes,
)
from headcount.samples.samples import Samples


class _LinearVotesFunction(torch.autograd.Function):
    """Histograms in which the two nearest bins share a vote, and their gradient."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, bins: int) -> Tensor:
        n_bags, n_items, n_features = features.shape
        place = features * (bins - 1)
        lower = place.floor().clamp_(0, bins - 2)
        upper_part = (place - lower).flatten()
        first = torch.arange(n_bags * n_features, device=features.device) * bins
        cells = (lower.to(torch.int64) + first.view(n_bags, 1, n_features)).flatten()
        ctx.save_for_backward(cells)
        ctx.bins, ctx.shape = bins, features.shape
        votes = features.new_zeros(n_bags * n_features * bins)
        votes.index_add_(0, cells, 1 - upper_part)
        votes.index_add_(0, cells + 1, upper_part)
        return votes.view(n_bags, n_features * bins) / n_items

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (cells,) = ctx.saved_tensors
        slope = gradients[0].flatten()
        # Moving up takes from the lower bin what it gives to the upper one.
        step = torch.zeros_like(slope)
        step[:-1] = slope[1:] - slope[:-1]
        factor = (ctx.bins - 1) / ctx.shape[1]
        return (step[cells] * factor).view(ctx.shape), None


def linear_votes(features: Tensor, bins: int) -> Tensor:
    """Histograms of features between 0 and 1; the two nearest bins share each vote."""
    return _LinearVotesFunction.apply(features, bins)


class LinearVotes(nn.Module):
    """Histograms by `linear_votes`, as relative differences from equal bins."""

    def __init__(self, bins: int) -> None:
        super().__init__()
        self.bins = bins

    def forward(self, items: Tensor) -> Tensor:
        """Histograms of all features of each bag."""
        return linear_votes(items, self.bins) * self.bins - 1


# Logarithm of the base of a hard vote.
_RATE = log(1.01)


class _HardVotesFunction(torch.autograd.Function):
    """Votes 1.01^(width - distance) of items that are nearer than the width, and gradients.

    Values of a feature are sorted, so that the votes for a bin are differences of cumulative
    sums at its ends and its centre: below the centre a vote is 1.01^(width - centre + value),
    above it 1.01^(width + centre - value). The powers of values less 1 are summed, which are
    small, and the items are counted. The gradient of the values is a cumulative sum as well.
    """

    @staticmethod
    def forward(ctx: Any, items: Tensor, centres: Tensor, widths: Tensor) -> Tensor:
        n_bags, n_items, _ = items.shape
        values, order = items.transpose(1, 2).contiguous().sort(dim=2)
        rising = torch.expm1(values * _RATE)
        falling = -rising / (1 + rising)
        middle, first, last = (
            torch.searchsorted(values, end.expand(n_bags, -1, -1).contiguous(), right=right)
            for end, right in (
                (centres, False),
                (centres - widths, True),
                (centres + widths, False),
            )
        )
        # Bins of a width below 0 have no votes.
        first, last = torch.minimum(first, middle), torch.maximum(last, middle)
        below = torch.exp((widths - centres) * _RATE) / n_items
        above = torch.exp((widths + centres) * _RATE) / n_items
        left = below * _sums_between(rising, first, middle)
        right = above * _sums_between(falling, middle, last)
        ctx.save_for_backward(
            rising, falling, order, first, middle, last, below, above, left, right
        )
        return (left + right).flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rising, falling, order, first, middle, last, below, above, left, right = (
            ctx.saved_tensors
        )
        slope = gradients[0].view_as(left) * _RATE
        of_widths = (slope * (left + right)).sum(0)
        of_centres = (slope * (right - left)).sum(0)
        n_bags, n_features, n_items = order.shape
        steps = slope.new_zeros(2, n_bags, n_features, n_items + 1)
        below, above = slope * below, slope * above
        steps[0].scatter_add_(2, first, below).scatter_add_(2, middle, -below)
        steps[1].scatter_add_(2, middle, above).scatter_add_(2, last, -above)
        rise, fall = steps.cumsum(3)[..., :-1]
        ordered = rise * (1 + rising) - fall * (1 + falling)
        of_items = torch.empty_like(ordered).scatter_(2, order, ordered)
        return of_items.transpose(1, 2), of_centres, of_widths


def _sums_between(excess: Tensor, start: Tensor, stop: Tensor) -> Tensor:
    """Sums of 1 + ``excess`` from start to stop, along the last axis."""
    sums = functional.pad(excess.cumsum(2), (1, 0))
    return sums.gather(2, stop) - sums.gather(2, start) + (stop - start)


class HardVotes(nn.Module):
    """Histograms with learnt bins: an item votes for each bin whose centre is near enough."""

    def __init__(self, features: int, bins: int) -> None:
        super().__init__()
        centres = (torch.arange(bins) + 0.5) / bins
        self.centres = nn.Parameter(centres.repeat(features, 1))
        self.widths = nn.Parameter(torch.full((features, bins), 0.5 / bins))

    def forward(self, items: Tensor) -> Tensor:
        """Mean votes of each bag."""
        return _HardVotesFunction.apply(items, self.centres, self.widths)


class MomentNorm(nn.Module):
    """Batch normalisation of items, applied to the means of bags.

    Normalisation and mean can be swapped, as the former is affine: it needs the mean and the
    mean square over all items of the batch.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, width: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, means: Tensor, squares: Tensor) -> Tensor:
        """Normalised means of bags; ``squares`` are the mean squares of all items."""
        if self.training:
            mean = means.mean(0)
            variance = (squares - mean**2).clamp_min(0)
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(variance, self.momentum)
        else:
            mean, variance = self.mean, self.variance
        return (means - mean) * torch.rsqrt(variance + self.eps) * self.scale + self.shift


class _DensityMoments(torch.autograd.Function):
    """Mean densities of bags and mean squares of all items, with a gradient in three passes."""

    @staticmethod
    def forward(ctx: Any, logs: Tensor) -> tuple[Tensor, Tensor]:
        densities = logs.exp()
        ctx.save_for_backward(densities)
        n_bags, n_items = densities.shape[1:3]
        squares = torch.linalg.vector_norm(densities, dim=(1, 2)).square()
        return densities.mean(2), squares / (n_bags * n_items)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (densities,) = ctx.saved_tensors
        n_bags, n_items = densities.shape[1:3]
        of_means, of_squares = gradients
        slope = densities * (of_squares * (2 / (n_bags * n_items)))[:, None, None]
        slope += (of_means / n_items).unsqueeze(2)
        return slope.mul_(densities)


class GaussianDensities(nn.Module):
    """Mean densities of a bag under Gaussians with full covariance, normalised.

    A logarithm of a density is linear in the products of pairs of coordinates, the
    coordinates and 1, so that all densities of a space are one matrix product. The precision
    matrix is the product of a triangular factor with itself.
    """

    def __init__(self, branches: int, gaussians: int, dimensions: int) -> None:
        super().__init__()
        self.branches, self.dimensions = branches, dimensions
        centres = torch.rand(branches, gaussians, dimensions)
        distances = torch.cdist(centres, centres)
        distances.diagonal(dim1=1, dim2=2).fill_(torch.inf)
        width = distances.amin(2).mean(1) / 2 if gaussians > 1 else torch.full((branches,), 0.5)
        self.centres = nn.Parameter(centres)
        logs = -width.log()[:, None, None].expand(branches, gaussians, dimensions)
        self.log_diagonals = nn.Parameter(logs.clone())
        self.factors = nn.Parameter(torch.zeros(branches, gaussians, dimensions, dimensions))
        self.norm = MomentNorm(branches * gaussians)

    def log_densities(self, items: Tensor) -> Tensor:
        """Log-densities, of shape (branches, items, gaussians)."""
        factors = self.factors.tril(-1) + torch.diag_embed(self.log_diagonals.exp())
        precisions = factors @ factors.mT
        linear = (precisions @ self.centres.unsqueeze(-1)).squeeze(-1)
        constant = self.log_diagonals.sum(-1) - 0.5 * (linear * self.centres).sum(-1)
        constant = constant - 0.5 * self.dimensions * log(2 * pi)
        coefficients = torch.cat([-0.5 * precisions.flatten(2), linear], 2).mT
        points = items.view(-1, self.branches, self.dimensions).transpose(0, 1)
        products = (points.unsqueeze(-1) * points.unsqueeze(-2)).flatten(2)
        terms = torch.cat([products, points], 2)
        return torch.baddbmm(constant.unsqueeze(1), terms, coefficients)

    def forward(self, items: Tensor) -> Tensor:
        """Normalised mean densities of each bag."""
        logs = self.log_densities(items.flatten(0, 1))
        by_bag = logs.unflatten(1, items.shape[:2])
        means, squares = _DensityMoments.apply(by_bag)
        return self.norm(means.transpose(0, 1).flatten(1), squares.flatten())


class PoolingLayer(nn.Module):
    """Mean, median or maximum of each feature."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, items: Tensor) -> Tensor:
        """Pooled features of each bag."""
        if self.kind == "mean":
            return items.mean(1)
        return items.median(1).values if self.kind == "median" else items.amax(1)


class _Attend(nn.Module):
    """Multi-head attention of queries to keys, and a layer on each result."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.mix = (nn.Linear(width, width) for _ in range(4))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """One vector per query."""
        projections = (self.query(queries), self.key(keys), self.value(keys))
        split = (
            projection.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for projection in projections
        )
        attended = functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
        mixed = self.norms[0](queries + attended)
        return self.norms[1](mixed + functional.relu(self.mix(mixed)))


class AttentionPool(nn.Module):
    """Set Transformer without its head."""

    def __init__(self, width: int, heads: int, inducing: int, blocks: int, seeds: int) -> None:
        super().__init__()
        scale = width**-0.5
        self.points = nn.Parameter(torch.randn(blocks, 1, inducing, width) * scale)
        self.seeds = nn.Parameter(torch.randn(1, seeds, width) * scale)
        self.to_points = nn.ModuleList(_Attend(width, heads) for _ in range(blocks))
        self.to_items = nn.ModuleList(_Attend(width, heads) for _ in range(blocks))
        self.to_seeds = _Attend(width, heads)
        self.last = nn.ModuleList(_Attend(width, heads) for _ in range(blocks))

    def forward(self, items: Tensor) -> Tensor:
        """One vector per seed, concatenated."""
        n_bags = len(items)
        blocks = zip(self.points, self.to_points, self.to_items, strict=True)
        for points, to_points, to_items in blocks:
            items = to_items(items, to_points(points.expand(n_bags, -1, -1), items))
        summary = self.to_seeds(self.seeds.expand(n_bags, -1, -1), items)
        for attend in self.last:
            summary = attend(summary, summary)
        return summary.flatten(1)


class SortedLSTM(nn.Module):
    """Last states of a bidirectional LSTM over the items of a bag, sorted.

    Items are sorted by the first of the last ``n_scores`` features. The first feature decides
    between equal ones, so that the order of the items in a bag does not matter.
    """

    def __init__(self, width: int, units: int, n_scores: int) -> None:
        super().__init__()
        self.key = width - n_scores
        self.lstm = nn.LSTM(width, units, batch_first=True, bidirectional=True)

    def forward(self, items: Tensor) -> Tensor:
        """Last states of both directions."""
        order = items[..., 0].argsort(dim=1, stable=True)
        by_score = items[..., self.key].gather(1, order).argsort(dim=1, stable=True)
        order = order.gather(1, by_score)
        ordered = items.gather(1, order.unsqueeze(-1).expand_as(items))
        _, (states, _) = self.lstm(ordered)
        return states.transpose(0, 1).flatten(1)


# Share below which an estimate counts as this much where its logarithm is taken.
_LEAST_SHARE = 1e-3
# Standard deviation of the logistic distribution, whose sigmoid is uniform.
_LOGISTIC_SCALE = pi / sqrt(3)


class Network(nn.Module):
    """Item network, invariant layer and head."""

    def __init__(
        self, architecture: Architecture, n_inputs: int, n_classes: int, n_estimates: int
    ) -> None:
        super().__init__()
        self.item, self.pool, width = _parts(
            architecture.layer, n_inputs, n_classes, architecture.dropout
        )
        sizes = [width + n_estimates * n_classes, *architecture.head]
        self.head = nn.Sequential(*_hidden(sizes, architecture.dropout))
        self.last = nn.Linear(sizes[-1], n_classes)
        self.residual = architecture.residual and n_estimates > 0
        if self.residual:
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)

    def forward(self, inputs: Tensor, estimates: Tensor) -> Tensor:
        """Shares of bags of items (bags, items, inputs), given estimates (bags, E, K)."""
        return self.shares(self.vectors(inputs), estimates)

    def vectors(self, inputs: Tensor) -> Tensor:
        """One vector per bag of items."""
        items = self.item(inputs.flatten(0, 1))
        return self.pool(items.unflatten(0, inputs.shape[:2]))

    def shares(self, vectors: Tensor, estimates: Tensor) -> Tensor:
        """Shares of bags, given their vectors and estimates."""
        logs = estimates.clamp_min(_LEAST_SHARE).log()
        hidden = self.head(torch.cat([vectors, estimates.flatten(1)], 1))
        scores = self.last(hidden)
        return torch.softmax(scores + logs[:, 0] if self.residual else scores, 1)


def _hidden(sizes: Sequence[int], dropout: float) -> list[nn.Module]:
    """Layers of the given sizes, the first of which is the input."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LeakyReLU(), nn.Dropout(dropout)]
    return layers


class _SpreadNorm(nn.Module):
    """Normalisation of items to a scale at which sigmoids spread over all bins."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = MomentNorm(features)
        nn.init.constant_(self.norm.scale, _LOGISTIC_SCALE)

    def forward(self, items: Tensor) -> Tensor:
        """Normalised features of items."""
        return self.norm(items, items.square().mean(0))


class _Branches(nn.Module):
    """Item networks of several branches with one hidden layer each, side by side."""

    def __init__(self, n_inputs: int, layer: LearntDensities, dropout: float) -> None:
        super().__init__()
        n, hidden, width = layer.branches, layer.hidden, layer.dimensions
        self.first = nn.Sequential(*_hidden([n_inputs, n * hidden], dropout))
        bound = hidden**-0.5
        self.weights = nn.Parameter(torch.empty(n, hidden, width).uniform_(-bound, bound))
        self.biases = nn.Parameter(torch.empty(n, 1, width).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        """Points of all branches, each coordinate between 0 and 1."""
        hidden = self.first(inputs).unflatten(1, (len(self.weights), -1)).transpose(0, 1)
        points = torch.baddbmm(self.biases, hidden, self.weights)
        return torch.sigmoid(points.transpose(0, 1).flatten(1))


@singledispatch
def _parts(layer: Any, n_inputs: int, n_classes: int, dropout: float) -> Any:
    """Item network, invariant layer, and length of the vector of a bag."""
    raise TypeError(f"no network has the layer {layer!r}")


@_parts.register
def _(layer: Votes, n_inputs: int, n_classes: int, dropout: float) -> Any:
    sizes = [n_inputs, *layer.hidden]
    last = nn.Linear(sizes[-1], layer.features), _SpreadNorm(layer.features), nn.Sigmoid()
    item = nn.Sequential(*_hidden(sizes, dropout), *last)
    linear = layer.kind == "linear"
    pool = LinearVotes(layer.bins) if linear else HardVotes(layer.features, layer.bins)
    return item, pool, layer.features * layer.bins


@_parts.register
def _(layer: LearntDensities, n_inputs: int, n_classes: int, dropout: float) -> Any:
    pool = GaussianDensities(layer.branches, layer.gaussians, layer.dimensions)
    return _Branches(n_inputs, layer, dropout), pool, layer.branches * layer.gaussians


@_parts.register
def _(layer: Pooling, n_inputs: int, n_classes: int, dropout: float) -> Any:
    item = nn.Sequential(*_hidden([n_inputs, *layer.hidden], dropout))
    return item, PoolingLayer(layer.kind), layer.hidden[-1]


@_parts.register
def _(layer: Attention, n_inputs: int, n_classes: int, dropout: float) -> Any:
    pool = AttentionPool(layer.width, layer.heads, layer.inducing, layer.blocks, n_classes)
    return nn.Linear(n_inputs, layer.width), pool, n_classes * layer.width


@_parts.register
def _(layer: Recurrent, n_inputs: int, n_classes: int, dropout: float) -> Any:
    return nn.Identity(), SortedLSTM(n_inputs, layer.units, n_classes), 2 * layer.units


def build(
    architecture: Architecture, n_inputs: int, n_classes: int, n_estimates: int
) -> Network:
    """Network with random weights."""
    return Network(architecture, n_inputs, n_classes, n_estimates)


def weights_of(network: Network) -> dict[str, NDArray[np.float32]]:
    """Weights of a network as arrays."""
    return {name: value.cpu().numpy().copy() for name, value in network.state_dict().items()}


def rebuild(
    architecture: Architecture,
    n_inputs: int,
    n_classes: int,
    n_estimates: int,
    weights: dict[str, NDArray[np.float32]],
) -> Network:
    """Network with given weights, in double precision, for predictions."""
    # Without memory for random weights, and without random numbers.
    with torch.device("meta"):
        network = build(architecture, n_inputs, n_classes, n_estimates)
    state = {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
    network.load_state_dict(state, assign=True)
    return network.double().eval()


_BAGS_PER_EPOCH, _BAGS_PER_BATCH = 500, 20
_STEPS_PER_EPOCH = _BAGS_PER_EPOCH // _BAGS_PER_BATCH
_WEIGHT_DECAY = 0.1
# Mixtures of bag vectors per batch.
_MIXTURES = 100
_WARM_UP_STEPS = 50
# Progress at which the loss changes from the first to the last one.
_SWITCH = 0.4
_LARGEST_GRADIENT = 1.0
# Rounds between validations if training is limited by time.
_ROUNDS = 12
# Rows of a pool that go through an item network at a time.
_BLOCK_ROWS = 8192
# Bags that are answered together, and the items that they have together at most. All chunks
# of bags of one size are equally long, so that the rounding of an answer does not depend on
# the other bags.
_CHUNK_BAGS, _CHUNK_ITEMS = 16, 1 << 16

Loss = Callable[[Tensor, Tensor, int], Tensor]


def _absolute(p: Tensor, q: Tensor, size: int) -> Tensor:
    return (p - q).abs().mean()


def _relative(p: Tensor, q: Tensor, size: int) -> Tensor:
    return ((p - q).abs() / (p + 0.5 / size)).mean()


def _squared(p: Tensor, q: Tensor, size: int) -> Tensor:
    return (p - q).square().mean()


def _match_distance(p: Tensor, q: Tensor, size: int) -> Tensor:
    return (q - p).cumsum(1)[:, :-1].abs().mean()


# Losses of shares q given true shares p of bags with `size` items.
LOSSES: dict[str, Loss] = {
    "ae": _absolute,
    "rae": _relative,
    "mse": _squared,
    "nmd": _match_distance,
}


@contextmanager
def computing(seed: int | None = None) -> Iterator[None]:
    """Run PyTorch on one thread, for equal sums; restore its threads and random numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(enabled=seed is not None):
            if seed is not None:
                torch.manual_seed(seed % 2**63)
            yield
    finally:
        torch.set_num_threads(before)


class _Clock:
    """Progress of training, from 0 to 1: by time or by steps."""

    def __init__(self, settings: TrainingSettings) -> None:
        self.budget = settings.budget
        self.n_steps = settings.epochs * _STEPS_PER_EPOCH
        self.rounds = settings.epochs if self.budget is None else _ROUNDS
        self.start, self.step = time.process_time(), 0

    def progress(self) -> float:
        if self.budget is None:
            return self.step / self.n_steps
        return min(1.0, (time.process_time() - self.start) / self.budget)

    def rate(self) -> float:
        """Factor of the learning rate: a linear rise, then a cosine to zero."""
        rise = min(1.0, (self.step + 1) / _WARM_UP_STEPS)
        return rise * 0.5 * (1 + cos(pi * self.progress()))


def train(
    network: Network,
    pool: Pool,
    source: BagSource,
    validation: Bags,
    settings: TrainingSettings,
    seed: int,
) -> list[float]:
    """Train a network and leave it with the weights that were best on the validation bags."""
    network.to(settings.device)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=_WEIGHT_DECAY
    )
    clock = _Clock(settings)
    batches = _batches(pool, source, settings, seed)
    estimates = pool.estimates(validation.samples)
    losses: list[float] = []
    best = {name: value.clone() for name, value in network.state_dict().items()}
    lowest, stale = inf, 0
    for done in track(range(1, clock.rounds + 1), clock.rounds, f"Training {settings.name}"):
        network.train()
        while clock.progress() < done / clock.rounds:
            late = clock.progress() >= _SWITCH
            error = _error(network, LOSSES[settings.losses[late]], settings, *next(batches))
            _step(network, optimiser, clock, error)
        losses.append(_loss(network, pool, validation, estimates, settings))
        if losses[-1] < lowest:
            lowest, stale = losses[-1], 0
            best = {name: value.clone() for name, value in network.state_dict().items()}
        else:
            stale += 1
        if settings.patience is not None and stale >= settings.patience:
            break
    network.load_state_dict(best)
    return losses


def _error(
    network: Network,
    loss: Loss,
    settings: TrainingSettings,
    inputs: Tensor,
    estimates: Tensor,
    shares: Tensor,
) -> Tensor:
    """Loss of a batch; half of it that of mixtures, if there are any."""
    vectors = network.vectors(inputs)
    error = loss(shares, network.shares(vectors, estimates), settings.size)
    if settings.alignment:
        branches = vectors.unflatten(1, (network.pool.branches, -1)).transpose(0, 1)
        error = error + settings.alignment * alignment(branches)
    if not settings.mixes:
        return error
    mixed, mixed_shares = mixtures(vectors, shares, _MIXTURES)
    none = estimates.new_empty(_MIXTURES, 0, shares.shape[1])
    return 0.5 * (error + loss(mixed_shares, network.shares(mixed, none), settings.size))


def alignment(branches: Tensor) -> Tensor:
    """Mean linear centred kernel alignment of branches, of shape (branches, bags, width)."""
    if len(branches) < 2:
        return branches.new_zeros(())
    centred = branches - branches.mean(1, keepdim=True)
    kernels = (centred @ centred.mT).flatten(1)
    kernels = kernels / kernels.norm(dim=1, keepdim=True).clamp_min(1e-12)
    products = kernels @ kernels.mT
    n = len(branches)
    return (products.sum() - products.trace()) / (n * (n - 1))


def mixtures(vectors: Tensor, shares: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Vectors and shares of mixtures of two bags, exact where vectors are means over items."""
    pairs = torch.randint(len(vectors), (2, number)).to(vectors.device)
    weights = torch.rand(number, 1).to(vectors)
    first, second = (
        torch.lerp(tensor[pairs[0]], tensor[pairs[1]], weights) for tensor in (vectors, shares)
    )
    return first, second


def _step(
    network: Network, optimiser: torch.optim.Optimizer, clock: _Clock, error: Tensor
) -> None:
    for group in optimiser.param_groups:
        group["lr"] = group.setdefault("highest", group["lr"]) * clock.rate()
    optimiser.zero_grad(set_to_none=True)
    error.backward()
    nn.utils.clip_grad_norm_(network.parameters(), _LARGEST_GRADIENT)
    optimiser.step()
    clock.step += 1


def _batches(
    pool: Pool, source: BagSource, settings: TrainingSettings, seed: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Inputs, estimates and true shares of batches of bags, epoch after epoch."""
    items = torch.from_numpy(pool.inputs).to(settings.device)
    rng = np.random.default_rng(seed)
    while True:
        bags = source.draw(_BAGS_PER_EPOCH, settings.size, rng)
        rows = torch.from_numpy(bags.samples.indices.astype(np.int64)).view(_BAGS_PER_EPOCH, -1)
        arrays = pool.estimates(bags.samples), bags.shares
        estimates, shares = (
            torch.from_numpy(array.astype(np.float32)).to(settings.device) for array in arrays
        )
        for first in range(0, _BAGS_PER_EPOCH, _BAGS_PER_BATCH):
            batch = slice(first, first + _BAGS_PER_BATCH)
            item_rows = rows[batch].to(settings.device)
            inputs = items.index_select(0, item_rows.flatten()).unflatten(0, item_rows.shape)
            yield inputs, estimates[batch], shares[batch]


def _loss(
    network: Network, pool: Pool, bags: Bags, estimates: Floats, settings: TrainingSettings
) -> float:
    """Validation loss: the last one of training."""
    predicted = answers(network.eval(), pool.inputs, bags.samples, estimates)
    pair = torch.tensor(bags.shares), torch.tensor(predicted)
    return float(LOSSES[settings.losses[1]](*pair, settings.size))


@torch.inference_mode()
def answers(
    network: Network, inputs: NDArray[np.float32], samples: Samples, estimates: Floats
) -> Floats:
    """Shares of samples: each item goes through the item network once."""
    weight = network.last.weight
    item_numbers, places = np.unique(samples.indices, return_inverse=True)
    blocks = (
        torch.from_numpy(inputs[item_numbers[first : first + _BLOCK_ROWS]]).to(weight)
        for first in range(0, len(item_numbers), _BLOCK_ROWS)
    )
    items = torch.cat([network.item(block) for block in blocks])
    estimate_tensor = torch.from_numpy(estimates).to(weight)
    shares = np.empty((len(samples), len(weight)))
    for size in np.unique(samples.sizes).tolist():
        numbers = np.flatnonzero(samples.sizes == size)
        rows = places[samples.offsets[numbers][:, None] + np.arange(size)]
        step = min(_CHUNK_BAGS, max(1, _CHUNK_ITEMS // size))
        for first in range(0, len(numbers), step):
            # The last chunk is filled up with its last bag.
            chunk = np.minimum(np.arange(first, first + step), len(numbers) - 1)
            bags = items[torch.from_numpy(rows[chunk]).to(weight.device)]
            chunk_shares = network.shares(network.pool(bags), estimate_tensor[numbers[chunk]])
            numbered = chunk[: len(numbers) - first]
            shares[numbers[numbered]] = chunk_shares[: len(numbered)].double().cpu().numpy()
    return shares / shares.sum(axis=1, keepdims=True)
