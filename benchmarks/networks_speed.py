"""Processor time of one epoch of training, here or by QuaPy, as one line of JSON.

python networks_speed.py ours|quapy HistNet|GMNet [linear|hard]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial

import numpy as np
import torch

N_ITEMS, N_FEATURES = 5000, 256
BAGS, VALIDATION_BAGS, SIZE, BATCH = 500, 200, 250, 20
HIST = {"hidden": 128, "features": 64, "bins": 32, "head": 256}
GAUSS = {"branches": 5, "gaussians": 48, "dimensions": 4, "hidden": 32, "head": 256}


def data():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N_ITEMS)
    return (rng.normal(size=(N_ITEMS, N_FEATURES)) + 0.1 * y[:, None]).astype(np.float32), y


def ours(name, **more):
    import headcount as hc

    made = HIST | {"hidden": (HIST["hidden"],)} if name == "HistNet" else dict(GAUSS)
    made |= {"head": (made["head"],), "size": SIZE, "random_state": 0, **more}
    return lambda epochs: hc.method(name)(epochs=epochs, **made).fit(*data())


class Extractor(torch.nn.Module):
    """Item network of HistNet, as QuaPy takes it."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(N_FEATURES, HIST["hidden"]),
            torch.nn.LeakyReLU(),
            torch.nn.Linear(HIST["hidden"], HIST["features"]),
        )
        self.output_size = HIST["features"]

    def forward(self, x):
        return self.layers(x)


def quapy(name):
    from quapy.method._gmnet import GMNet
    from quapy.method._histnet import HistNetQ

    # A fifth of an epoch: its time is proportional to the number of bags.
    shared = {
        "bag_size": SIZE,
        "n_bags_train": BAGS // 5,
        "n_bags_val": VALIDATION_BAGS // 5,
        "batch_size": BATCH,
        "linear_sizes": (HIST["head"],),
        "val_split": 0.2,
        "checkpointdir": tempfile.mkdtemp(),
    }
    if name == "HistNet":
        make = partial(HistNetQ, n_bins=HIST["bins"], **shared)
        return lambda epochs: make(
            feature_extraction_module=Extractor(), train_epochs=epochs
        ).fit(*data())
    make = partial(
        GMNet,
        n_gm_layers=GAUSS["branches"],
        num_gaussians=GAUSS["gaussians"],
        gaussian_dimensions=GAUSS["dimensions"],
        hidden_size_fe=(GAUSS["hidden"],),
        **shared,
    )
    return lambda epochs: make(train_epochs=epochs).fit(*data())


def main():
    torch.set_num_threads(1)
    who, name, *votes = sys.argv[1:]
    fit = (
        quapy(name)
        if who == "quapy"
        else ours(name, **dict(zip(["votes"], votes, strict=False)))
    )
    fit(1)  # Warm-up: imports, compilation.
    epochs = []
    for _ in range(3):
        times = []
        for n in (1, 3):
            start = time.process_time()
            fit(n)
            times.append(time.process_time() - start)
        epochs.append((times[1] - times[0]) / 2)
    # The median, as other work on the machine slows down this one by shared caches.
    seconds = sorted(epochs)[1] * (5 if who == "quapy" else 1)
    # An item of a training bag counts once, one of a validation bag not at all.
    speed = BAGS * SIZE / seconds
    print(json.dumps({"seconds": seconds, "items/s": speed}))


if __name__ == "__main__":
    main()
