"""Layers from the items of bags to one vector per bag, in PyTorch.

Bags are tensors of shape (bags, items, features).
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "AttentionPool",
    "GaussianDensities",
    "HardVotes",
    "LinearVotes",
    "MomentNorm",
    "Pool",
    "SortedLSTM",
    "linear_votes",
]


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
    """Histograms of features between 0 and 1; the two nearest bins share each vote.

    Parameters
    ----------
    features : Tensor of shape (bags, items, features)
        Values from 0 to 1.
    bins : int
        Number of bins; their centres run from 0 to 1.

    Returns
    -------
    Tensor of shape (bags, features x bins)
        Shares of the votes.
    """
    votes: Tensor = _LinearVotesFunction.apply(features, bins)
    return votes


class LinearVotes(nn.Module):
    """Histograms by `linear_votes`, as relative differences from equal bins.

    Centred, as the head learns slowly from inputs that hardly vary around a large mean.
    """

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
    """Histograms with learnt bins: an item votes for each bin whose centre is near enough.

    The vote is 1.01^(width - distance) if that is above 1, and 0 otherwise.
    """

    def __init__(self, features: int, bins: int) -> None:
        super().__init__()
        centres = (torch.arange(bins) + 0.5) / bins
        self.centres = nn.Parameter(centres.repeat(features, 1))
        self.widths = nn.Parameter(torch.full((features, bins), 0.5 / bins))

    def forward(self, items: Tensor) -> Tensor:
        """Mean votes of each bag."""
        votes: Tensor = _HardVotesFunction.apply(items, self.centres, self.widths)
        return votes


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
    """Mean densities of bags and mean squares of all items, from log-densities.

    The gradient is computed in three passes, where PyTorch's own needs twice as many.
    """

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


class Pool(nn.Module):
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
        parts = (self.query(queries), self.key(keys), self.value(keys))
        split = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
        mixed = self.norms[0](queries + seen)
        found: Tensor = self.norms[1](mixed + functional.relu(self.mix(mixed)))
        return found


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
        found = self.to_seeds(self.seeds.expand(n_bags, -1, -1), items)
        for attend in self.last:
            found = attend(found, found)
        return found.flatten(1)


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
