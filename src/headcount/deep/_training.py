"""Training of networks on bags, in PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import cos, inf, pi

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headcount._progress import track
from headcount.deep._networks import Network
from headcount.deep.bags import Bags, BagSource
from headcount.deep.inputs import Pool
from headcount.deep.settings import TrainingSettings
from headcount.sampling import Samples

__all__ = ["LOSSES", "answers", "computing", "mixtures", "train"]

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
    """Run PyTorch on one thread; afterwards restore its threads, and its random numbers.

    Sums do not depend on the machine then, and several processes do not disturb one another.
    """
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
    """Train a network and leave it with the weights that were best on the validation bags.

    Parameters
    ----------
    network : Network
        Network to train.
    pool : Pool
        Items of all bags.
    source : BagSource
        Source of training bags.
    validation : Bags
        Bags for the choice of the weights.
    settings : TrainingSettings
        Settings.
    seed : int
        Random seed of the bags.

    Returns
    -------
    list of float
        Validation losses, one per round.
    """
    network.to(settings.device)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=_WEIGHT_DECAY
    )
    clock = _Clock(settings)
    batches = _batches(pool, source, settings, seed)
    known = pool.estimates(validation.samples)
    losses: list[float] = []
    best = {name: value.clone() for name, value in network.state_dict().items()}
    lowest, stale = inf, 0
    for done in track(range(1, clock.rounds + 1), clock.rounds, f"Training {settings.name}"):
        network.train()
        while clock.progress() < done / clock.rounds:
            late = clock.progress() >= _SWITCH
            error = _error(network, LOSSES[settings.losses[late]], settings, *next(batches))
            _step(network, optimiser, clock, error)
        losses.append(_loss(network, pool, validation, known, settings))
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
    if not settings.mixes:
        return error
    mixed, known = mixtures(vectors, shares, _MIXTURES)
    none = estimates.new_empty(_MIXTURES, 0, shares.shape[1])
    return 0.5 * (error + loss(known, network.shares(mixed, none), settings.size))


def mixtures(vectors: Tensor, shares: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Vectors and shares of mixtures of two bags, with weights at random.

    Both are exact where vectors are means over items: the mixture is a weighted bag.

    Parameters
    ----------
    vectors : Tensor of shape (bags, width)
        Vectors of bags.
    shares : Tensor of shape (bags, K)
        Their shares.
    number : int
        Number of mixtures.

    Returns
    -------
    tuple of Tensor
        Vectors and shares of the mixtures.
    """
    pairs = torch.randint(len(vectors), (2, number)).to(vectors.device)
    weights = torch.rand(number, 1).to(vectors)
    first, second = (
        torch.lerp(each[pairs[0]], each[pairs[1]], weights) for each in (vectors, shares)
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
        both = pool.estimates(bags.samples), bags.shares
        estimates, shares = (
            torch.from_numpy(each.astype(np.float32)).to(settings.device) for each in both
        )
        for first in range(0, _BAGS_PER_EPOCH, _BAGS_PER_BATCH):
            part = slice(first, first + _BAGS_PER_BATCH)
            chosen = rows[part].to(settings.device)
            inputs = items.index_select(0, chosen.flatten()).unflatten(0, chosen.shape)
            yield inputs, estimates[part], shares[part]


def _loss(
    network: Network,
    pool: Pool,
    bags: Bags,
    estimates: NDArray[np.float64],
    settings: TrainingSettings,
) -> float:
    """Validation loss: the last one of training."""
    found = answers(network.eval(), pool.inputs, bags.samples, estimates)
    both = torch.tensor(bags.shares), torch.tensor(found)
    return float(LOSSES[settings.losses[1]](*both, settings.size))


@torch.inference_mode()
def answers(
    network: Network,
    inputs: NDArray[np.float32],
    samples: Samples,
    estimates: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Shares of samples: each item goes through the item network once.

    Parameters
    ----------
    network : Network
        Network in evaluation mode.
    inputs : ndarray of shape (n, d)
        Inputs of the items of the pool.
    samples : Samples
        Samples of the pool.
    estimates : ndarray of shape (S, E, K)
        Estimates by other methods.

    Returns
    -------
    ndarray of shape (S, K)
    """
    weight = network.last.weight
    used, places = np.unique(samples.indices, return_inverse=True)
    blocks = (
        torch.from_numpy(inputs[used[first : first + _BLOCK_ROWS]]).to(weight)
        for first in range(0, len(used), _BLOCK_ROWS)
    )
    items = torch.cat([network.item(block) for block in blocks])
    given = torch.from_numpy(estimates).to(weight)
    shares = np.empty((len(samples), len(weight)))
    for size in np.unique(samples.sizes).tolist():
        numbers = np.flatnonzero(samples.sizes == size)
        rows = places[samples.offsets[numbers][:, None] + np.arange(size)]
        step = min(_CHUNK_BAGS, max(1, _CHUNK_ITEMS // size))
        for first in range(0, len(numbers), step):
            # The last chunk is filled up with its last bag.
            chunk = np.minimum(np.arange(first, first + step), len(numbers) - 1)
            bags = items[torch.from_numpy(rows[chunk]).to(weight.device)]
            found = network.shares(network.pool(bags), given[numbers[chunk]])
            own = chunk[: len(numbers) - first]
            shares[numbers[own]] = found[: len(own)].double().cpu().numpy()
    return shares / shares.sum(axis=1, keepdims=True)
