"""Settings of the training of a network, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from headcount._parameters import check_positive
from headcount.errors import HeadcountError, MissingPackageError

__all__ = ["LOSSES", "TrainingSettings", "check_budget", "check_device"]

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
# First and last loss in training.
LOSSES = {
    "ae": ("ae", "ae"),
    "rae": ("rae", "rae"),
    "ae-rae": ("ae", "rae"),
    "mse": ("mse", "mse"),
    "nmd": ("nmd", "nmd"),
}


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training.

    Attributes
    ----------
    name : str
        Name of the method, for the progress bar.
    losses : tuple of two str
        First and last loss.
    size : int
        Number of items in a training bag.
    epochs : int
        Number of epochs, unless there is a budget.
    budget : float or None
        Processor time in seconds.
    patience : int or None
        Validations without an improvement after which training ends.
    learning_rate : float
        Highest learning rate.
    device : str
        Device of PyTorch.
    mixes : bool
        True if training uses mixtures of bag vectors, too.
    """

    name: str
    losses: tuple[str, str]
    size: int
    epochs: int
    budget: float | None
    patience: int | None
    learning_rate: float
    device: str
    mixes: bool = False


def check_budget(budget: Any) -> float | None:
    """Budget in seconds.

    Parameters
    ----------
    budget : str, float or None
        Number of seconds, or a text such as "90s", "10min" or "1.5h".

    Returns
    -------
    float or None

    Examples
    --------
    >>> check_budget("10min")
    600.0
    """
    if budget is None:
        return None
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", budget)
        if found is None or found[2] not in _UNITS or float(found[1]) == 0:
            raise HeadcountError(
                f"budget is {budget!r}; it must be a time such as '90s', '10min' or '1h', or a "
                "number of seconds."
            )
        return float(found[1]) * _UNITS[found[2]]
    return check_positive("budget", budget)


def check_device(device: Any, name: str) -> str:
    """Device that is there; PyTorch must be installed.

    Parameters
    ----------
    device : str
        Device of PyTorch.
    name : str
        Name of the method that needs it.

    Returns
    -------
    str
    """
    if find_spec("torch") is None:
        raise MissingPackageError(
            f"{name} needs PyTorch, which is not installed: install it by "
            "pip install 'headcount[deep]'."
        )
    import torch

    try:
        torch.zeros(1, device=device if isinstance(device, str) else "none")
    except (RuntimeError, AssertionError, NotImplementedError):
        raise HeadcountError(
            f"device is {device!r}, which PyTorch cannot use here: pass 'cpu', or 'cuda' where "
            "PyTorch finds a graphics card."
        ) from None
    return str(device)
