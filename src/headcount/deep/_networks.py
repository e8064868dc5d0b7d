"""PyTorch modules built from descriptions of networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from itertools import pairwise
from math import pi, sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headcount.deep._layers import (
    AttentionPool,
    GaussianDensities,
    HardVotes,
    LinearVotes,
    MomentNorm,
    Pool,
    SortedLSTM,
)
from headcount.deep.architecture import (
    Architecture,
    Attention,
    Densities,
    Pooling,
    Recurrent,
    Votes,
)

__all__ = ["Network", "build", "rebuild", "weights_of"]

# Share below which an estimate counts as this much where its logarithm is taken.
_LEAST_SHARE = 1e-3
# Standard deviation of the logistic distribution, whose sigmoid is uniform.
_LOGISTIC_SCALE = pi / sqrt(3)


class Network(nn.Module):
    """Item network, invariant layer and head.

    Parameters
    ----------
    architecture : Architecture
        Description of the network.
    n_inputs : int
        Number of inputs per item.
    n_classes : int
        Number of classes.
    n_estimates : int
        Number of estimates by other methods that the head is given.
    """

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
        found: Tensor = self.pool(items.unflatten(0, inputs.shape[:2]))
        return found

    def shares(self, vectors: Tensor, estimates: Tensor) -> Tensor:
        """Shares of bags, given their vectors and estimates."""
        logs = estimates.clamp_min(_LEAST_SHARE).log()
        hidden = self.head(torch.cat([vectors, estimates.flatten(1)], 1))
        scores = self.last(hidden)
        return torch.softmax(scores + logs[:, 0] if self.residual else scores, 1)


def _hidden(sizes: Sequence[int], dropout: float) -> list[nn.Module]:
    """Layers of the given sizes, the first of which is the input."""
    made: list[nn.Module] = []
    for before, after in pairwise(sizes):
        made += [nn.Linear(before, after), nn.LeakyReLU(), nn.Dropout(dropout)]
    return made


class _Spread(nn.Module):
    """Normalisation of items to a scale at which sigmoids spread over all bins."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = MomentNorm(features)
        nn.init.constant_(self.norm.scale, _LOGISTIC_SCALE)

    def forward(self, items: Tensor) -> Tensor:
        """Normalised features of items."""
        normalised: Tensor = self.norm(items, items.square().mean(0))
        return normalised


class _Branches(nn.Module):
    """Item networks of several branches with one hidden layer each, side by side."""

    def __init__(self, n_inputs: int, layer: Densities, dropout: float) -> None:
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
    last = nn.Linear(sizes[-1], layer.features), _Spread(layer.features), nn.Sigmoid()
    item = nn.Sequential(*_hidden(sizes, dropout), *last)
    linear = layer.kind == "linear"
    pool = LinearVotes(layer.bins) if linear else HardVotes(layer.features, layer.bins)
    return item, pool, layer.features * layer.bins


@_parts.register
def _(layer: Densities, n_inputs: int, n_classes: int, dropout: float) -> Any:
    pool = GaussianDensities(layer.branches, layer.gaussians, layer.dimensions)
    return _Branches(n_inputs, layer, dropout), pool, layer.branches * layer.gaussians


@_parts.register
def _(layer: Pooling, n_inputs: int, n_classes: int, dropout: float) -> Any:
    item = nn.Sequential(*_hidden([n_inputs, *layer.hidden], dropout))
    return item, Pool(layer.kind), layer.hidden[-1]


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
    """Network with random weights.

    Parameters
    ----------
    architecture, n_inputs, n_classes, n_estimates
        As for `Network`.

    Returns
    -------
    Network
    """
    return Network(architecture, n_inputs, n_classes, n_estimates)


def weights_of(network: Network) -> dict[str, NDArray[np.float32]]:
    """Weights of a network as arrays.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    dict of str to ndarray
    """
    return {name: value.cpu().numpy().copy() for name, value in network.state_dict().items()}


def rebuild(
    architecture: Architecture,
    n_inputs: int,
    n_classes: int,
    n_estimates: int,
    weights: dict[str, NDArray[np.float32]],
) -> Network:
    """Network with given weights, in double precision, for predictions.

    Parameters
    ----------
    architecture, n_inputs, n_classes, n_estimates
        As for `Network`.
    weights : dict of str to ndarray
        As `weights_of` returns them.

    Returns
    -------
    Network
    """
    # Without memory for random weights, and without random numbers.
    with torch.device("meta"):
        network = build(architecture, n_inputs, n_classes, n_estimates)
    state = {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
    network.load_state_dict(state, assign=True)
    return network.double().eval()
