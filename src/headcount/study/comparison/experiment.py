"""The comparison of quantification methods (Schumacher, Strohmaier and Lemmerich).

A task is a dataset, a group of methods that share work, and for most groups a share of
training items and a training distribution; all draws are inside. See `draws` for how
training sets and samples are drawn.

Result rows have, beside what all studies have: ``split`` (share of training items),
``train``, ``test`` (positions of the distributions in the protocol), ``draw``, ``shift`` (sum
of absolute differences between the two distributions as the protocol names them), ``n_train``
and ``n_test`` (items).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headcount._parameters import check_log_base
from headcount.data.datasets import dataset_names, has_dataset, load_dataset
from headcount.data.datasets.recipes import SIZES, rule_of
from headcount.errors import HeadcountError
from headcount.metrics import METRICS, SMOOTHED
from headcount.quantify.features import ED
from headcount.quantify.learners import PWK, QF, QFAC
from headcount.study.checking import check_keys, check_known
from headcount.study.comparison.draws import Drawer, Trial
from headcount.study.comparison.energy import by_energy
from headcount.study.comparison.estimates import quietly
from headcount.study.comparison.finite import FINITE, by_finite
from headcount.study.comparison.groups import Answers, Bench, Group, quantifier_of
from headcount.study.comparison.learning import by_features, by_forest
from headcount.study.comparison.neighbours import by_neighbours
from headcount.study.comparison.scoring import by_scores
from headcount.study.spec import MethodSpec, Spec
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

    from headcount.study.sections import Section

__all__ = ["Comparison"]

_GROUPS: Mapping[str, Group] = {
    "scores": by_scores,
    "finite": by_finite,
    "learners": by_features,
    "forest": by_forest,
    "energy": by_energy,
    "neighbours": by_neighbours,
}
# These measure all distances in a dataset: once is enough.
_WHOLE = ("energy", "neighbours")
# Where features are binned, and where they are not.
_OF_BINNED = dict.fromkeys(FINITE, "finite") | {PWK: "neighbours", QF: "forest", QFAC: "forest"}
_OF_NUMBERS = {ED: "energy", QF: "forest", QFAC: "forest"}
_TASKS = ("binary", "multiclass")
_PROTOCOL = ("task", "splits", "draws", "train", "test", "smoothing", "log_base")
_DIVERGENCES = ("kld", "nkld")
_OPTIONS = ("draws", "binned", "decimals", "one_vs_rest", "predictions", "decisions")


class Comparison:
    """The kind of study; see the module."""

    def check(self, spec: Spec) -> None:
        """Refuse a spec that cannot be run."""
        check_keys("[protocol]", spec.protocol, _PROTOCOL)
        for key in ("task", "splits", "draws", "train", "test"):
            if key not in spec.protocol:
                raise HeadcountError(f"[protocol] has no {key!r}: add it.")
        known = dataset_names(check_known("task", spec.protocol["task"], _TASKS))  # type: ignore[arg-type]
        for dataset in spec.datasets:
            check_known("dataset", dataset, known)
        for metric in spec.metrics:
            check_known("metric", metric, METRICS)
        if "log_base" in spec.protocol:
            check_log_base("log_base of [protocol]", spec.protocol["log_base"])
        for method in spec.methods:
            check_keys(f"options of method {method.name!r}", method.options, _OPTIONS)
            _check_parameters(method)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """One task a dataset, group of methods and, for most, training distribution."""
        self.check(spec)
        return [task for dataset in self.present(spec, data) for task in _tasks(spec, dataset)]

    def present(self, spec: Spec, data: Path) -> list[str]:
        """The datasets that are there."""
        return [dataset for dataset in spec.datasets if has_dataset(dataset, data)]

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Do one task."""
        bench = _bench(spec.protocol["task"], task.dataset, str(data), _Frozen(spec))
        methods = [m for m in spec.methods if _group(m) == task.settings["group"]]
        trials = _trials(spec, task, methods)
        # Sums of a matrix product depend on how many threads it is cut up for.
        with quietly(), threadpool_limits(1):
            answers = list(_GROUPS[task.settings["group"]](bench, trials, methods))
        return _frame(spec, bench, answers)

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """What the report shows."""
        from headcount.study.comparison.sections import sections

        return sections(spec, results, published)


def _check_parameters(method: MethodSpec) -> None:
    known = quantifier_of(method.quantifier)().get_params(deep=False)
    check_keys(f"parameters of method {method.name!r}", method.parameters, known)


def _group(method: MethodSpec) -> str:
    kind = quantifier_of(method.quantifier)
    if method.options.get("predictions") or kind.info.input != "features":
        return "scores"
    return (_OF_BINNED if method.options.get("binned") else _OF_NUMBERS).get(kind, "learners")


def _distributions(spec: Spec, which: str, n_classes: int) -> list[list[float]]:
    named = spec.protocol[which].get(str(n_classes))
    if named is None:
        raise HeadcountError(
            f"[protocol] names no {which} distributions of {n_classes} classes: add them to "
            f"[protocol.{which}]."
        )
    return [(np.asarray(each) / np.sum(each)).tolist() for each in named]


class _Frozen:
    """The protocol of a spec as a key of a cache."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.text = spec, f"{spec.seed} {spec.protocol}"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.text == other.text


# Tasks come in the order of their cost, not of datasets: all of these stay in memory, some
# 1.5 GB if a process sees them all.
@lru_cache(maxsize=64)
def _bench(task: Any, dataset: str, data: str, key: _Frozen) -> Bench:
    loaded = load_dataset(dataset, task, data)
    trains, tests = (
        _distributions(key.spec, which, loaded.n_classes) for which in ("train", "test")
    )
    return Bench(loaded, Drawer(loaded.y, trains, tests, key.spec.seed, dataset))


def _draws(spec: Spec, method: MethodSpec) -> int:
    return min(method.options.get("draws", spec.protocol["draws"]), spec.protocol["draws"])


def _trials(spec: Spec, task: Task, methods: Sequence[MethodSpec]) -> list[Trial]:
    settings = task.settings
    return [
        Trial(split, train, number)
        for split in settings["splits"]
        for train in settings["trains"]
        for number in range(max(_draws(spec, method) for method in methods))
    ]


def _tasks(spec: Spec, dataset: str) -> list[Task]:
    """The tasks of a dataset, which is not read for it."""
    n_classes = rule_of(dataset, spec.protocol["task"]).n_classes
    trains, tests = (_distributions(spec, which, n_classes) for which in ("train", "test"))
    splits = spec.protocol["splits"]
    cells = [([split], [train]) for split in splits for train in range(len(trains))]
    tasks = []
    for group in _GROUPS:
        methods = [method for method in spec.methods if _group(method) == group]
        if not methods:
            continue
        whole = group in _WHOLE
        for split, train in [(list(splits), list(range(len(trains))))] if whole else cells:
            name = "all" if whole else f"{split[0]:g}-{train[0]}"
            settings = {"group": group, "splits": split, "trains": train}
            draws = [_draws(spec, method) for method in methods]
            tasks.append(
                Task(
                    f"{dataset}.{group}.{name}",
                    dataset,
                    settings,
                    cost=_seconds(group, *SIZES[dataset], np.mean(split), max(draws)),
                    runs=sum(draws) * len(split) * len(train) * len(tests),
                )
            )
    return tasks


def _seconds(group: str, n: int, d: int, split: Any, draws: int) -> float:
    """About how long a task takes; undersampling leaves half of the items for training."""
    n_train = n * float(split) / 2
    if group in _WHOLE:
        return 1 + n**2 * (16e-9 + 0.02e-9 * d)
    each = {
        "scores": 0.15e-6 * n_train * d + 1.5e-6 * n,
        "finite": 15e-9 * n * (d + 50),
        "learners": 0.15e-6 * n_train * d,
        "forest": 30e-6 * n_train + 30e-6 * n,
    }[group]
    return draws * (0.01 + each)


def _frame(spec: Spec, bench: Bench, answers: Sequence[Answers]) -> pl.DataFrame:
    """A row a method and sample of each trial."""
    import polars as pl

    each = [(found, name) for found in answers for name in found.estimates]
    n_tests = len(bench.drawer.tests)
    truth = np.concatenate([found.samples.prevalence for found, _ in each])
    shares = np.concatenate([found.estimates[name].shares for found, name in each])
    failures = [why for found, name in each for why in found.estimates[name].failures]
    trials = [found.trial for found, _ in each]
    shifts = _shifts(bench)
    columns: dict[str, Any] = {
        "dataset": [bench.dataset.name] * len(truth),
        "method": np.repeat([name for _, name in each], n_tests),
        "failure": pl.Series(failures, dtype=pl.String),
        **{metric: _errors(spec, metric, truth, shares) for metric in spec.metrics},
        "split": np.repeat([trial.split for trial in trials], n_tests),
        "train": np.repeat([trial.train for trial in trials], n_tests),
        "test": np.tile(np.arange(n_tests), len(each)),
        "draw": np.repeat([trial.number for trial in trials], n_tests),
        "shift": np.concatenate([shifts[trial.train] for trial in trials]),
        "n_train": np.repeat([found.n_train for found, _ in each], n_tests),
        "n_test": np.concatenate([found.samples.sizes for found, _ in each]),
    }
    return pl.DataFrame(columns)


def _shifts(bench: Bench) -> NDArray[np.float64]:
    """Sum of absolute differences between each training and each test distribution."""
    trains, tests = np.asarray(bench.drawer.trains), np.asarray(bench.drawer.tests)
    return np.abs(trains[:, None] - tests[None]).sum(axis=2).round(9)


def _errors(spec: Spec, metric: str, truth: Any, shares: Any) -> pl.Series:
    """The errors; null where there is no estimate."""
    import polars as pl

    options = {"eps": spec.protocol.get("smoothing", 1e-8)} if metric in SMOOTHED else {}
    if metric in _DIVERGENCES:
        options["base"] = spec.protocol.get("log_base")
    fine = np.isfinite(shares).all(axis=1)
    errors = np.full(len(truth), np.nan)
    if fine.any():
        errors[fine] = METRICS[metric](truth[fine], shares[fine], **options)
    return pl.Series(errors).fill_nan(None)
