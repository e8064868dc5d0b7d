"""Generated LeQua tasks in memory: labelled items, development and test bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Task", "errors_of", "generated"]

_N_TRAINING_BAGS = 100  # of T3


@dataclass(frozen=True)
class Task:
    """Labelled items, and development and test bags of other items."""

    name: str
    X: Any
    y: Any
    X_dev: Any
    dev: Any
    X_test: Any
    test: Any

    @property
    def measure(self) -> str:
        """Error that ranks the task."""
        return "NMD" if self.name == "T3" else "RAE"


def generated(name: str, n_dev: int, n_test: int, seed: int = 0) -> Task:
    """Data of a task, as `headcount lequa generate` draws them."""
    import numpy as np

    from headcount.samples import Samples
    from headcount_studies.data.lequa import find_task
    from headcount_studies.data.lequa_generator import make_sampler

    task, rng = find_task(name), np.random.default_rng(seed)
    sampler = make_sampler(task, seed)

    def bags(n: int) -> tuple[Any, Any, Any]:
        parts = [sampler.sample(rng, task.size) for _ in range(n)]
        X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
        ends = np.arange(0, len(y) + 1, task.size)
        plain = Samples(np.arange(len(y)), ends, n_pool=len(y))
        shares = plain.prevalence_of(y, task.n_classes)
        known = Samples(
            plain.indices,
            ends,
            n_pool=len(y),
            prevalence=shares,
            classes=np.arange(task.n_classes),
        )
        return X, y, known

    if task.in_bags:
        X, y, _ = bags(_N_TRAINING_BAGS)
    else:
        X, y = sampler.training(rng, task.n_train)
    X_dev, _, dev = bags(n_dev)
    X_test, _, test = bags(n_test)
    return Task(name, X, y, X_dev, dev, X_test, test)


def errors_of(quantifier: Any, X: Any, samples: Any) -> dict[str, float]:
    """Mean errors over samples whose shares are known."""
    from headcount import metrics

    true, found = samples.prevalence, quantifier.predict_many(X, samples)
    size = int(samples.sizes[0])
    return {
        "AE": float(metrics.ae(true, found).mean()),
        "RAE": float(metrics.rae(true, found, eps=0.5 / size).mean()),
        "NMD": float(metrics.nmd(true, found).mean()),
    }
