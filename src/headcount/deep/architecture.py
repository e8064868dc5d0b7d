"""Descriptions of networks: plain values, from which PyTorch modules are built.

A network has three parts: an item network, applied to each item; a layer that does not depend
on the order of the items, from the items of a bag to one vector; and a head, from that vector
to shares. Layers declare by ``is_mean`` whether that vector is a mean over the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

__all__ = [
    "Architecture",
    "Attention",
    "Densities",
    "InvariantLayer",
    "Pooling",
    "Recurrent",
    "Votes",
]


@dataclass(frozen=True)
class Votes:
    """Histograms of learnt features.

    Attributes
    ----------
    hidden : tuple of int
        Sizes of the hidden layers of the item network.
    features : int
        Number of learnt features, each between 0 and 1.
    bins : int
        Number of bins per feature.
    kind : {"linear", "hard"}
        "linear": the two nearest bins share the vote of an item. "hard": bins with learnt
        centres and widths.
    """

    hidden: tuple[int, ...]
    features: int
    bins: int
    kind: str

    is_mean: ClassVar[bool] = True


@dataclass(frozen=True)
class Densities:
    """Mean densities under Gaussians in several learnt spaces.

    Attributes
    ----------
    branches : int
        Number of spaces, each with an item network of its own.
    gaussians : int
        Number of Gaussians per space.
    dimensions : int
        Dimensions of a space.
    hidden : int
        Size of the hidden layer of an item network.
    """

    branches: int
    gaussians: int
    dimensions: int
    hidden: int

    is_mean: ClassVar[bool] = True


@dataclass(frozen=True)
class Pooling:
    """Mean, median or maximum of learnt features.

    Attributes
    ----------
    hidden : tuple of int
        Sizes of the layers of the item network.
    kind : {"mean", "median", "max"}
    """

    hidden: tuple[int, ...]
    kind: str

    @property
    def is_mean(self) -> bool:
        """True if the vector of a bag is a mean over its items."""
        return self.kind == "mean"


@dataclass(frozen=True)
class Attention:
    """Set Transformer: attention to inducing points, then to one seed per class.

    Attributes
    ----------
    width : int
        Length of the vectors.
    heads : int
        Number of attention heads; they divide the width.
    inducing : int
        Number of inducing points.
    blocks : int
        Number of attention blocks before and after the seeds.
    """

    width: int
    heads: int
    inducing: int
    blocks: int

    is_mean: ClassVar[bool] = False


@dataclass(frozen=True)
class Recurrent:
    """Last states of a bidirectional LSTM over the items, sorted by a posterior.

    Attributes
    ----------
    units : int
        Length of a state.
    """

    units: int

    is_mean: ClassVar[bool] = False


InvariantLayer: TypeAlias = Votes | Densities | Pooling | Attention | Recurrent


@dataclass(frozen=True)
class Architecture:
    """A network.

    Attributes
    ----------
    layer : InvariantLayer
        Item network and invariant layer.
    head : tuple of int
        Sizes of the hidden layers of the head.
    dropout : float
        Share of units that are dropped in training.
    residual : bool
        True if the head corrects the first estimate that it is given, instead of computing
        shares from scratch.
    """

    layer: InvariantLayer
    head: tuple[int, ...]
    dropout: float
    residual: bool = True
