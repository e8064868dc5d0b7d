"""Networks on generated LeQua tasks, and the speed of their training compared with QuaPy.

python benchmarks/networks.py [--steps speed T1 T3] [--budget 60s]

Needs an environment with headcount[deep] and quapy. Times are processor times on one thread,
so that other work on the machine does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment import command_line, describe_machine, start

_STEPS = ("speed", "T1", "T3")
# Network, how votes are counted, name in the table.
_SPEEDS = (
    ("HistNet", "hard", "HistNet, hard votes"),
    ("HistNet", "linear", "HistNet, linear votes"),
    ("GMNet", "", "GMNet"),
)
_LOSSES = {"T1": "ae-rae", "T3": "nmd"}
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


def generated(name: str, n_dev: int, n_test: int) -> Task:
    """Data of a task, as `headcount lequa generate` draws them."""
    import numpy as np

    from headcount import Samples
    from headcount.data.lequa import find_task
    from headcount.data.lequa.synthetic import make_sampler

    task, rng = find_task(name), np.random.default_rng(0)
    sampler = make_sampler(task, 0)

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


def errors_of(quantifier: Any, task: Task, part: str) -> dict[str, float]:
    """Mean errors on the development or the test bags."""
    from headcount import metrics

    X, samples = (task.X_dev, task.dev) if part == "dev" else (task.X_test, task.test)
    true, found = samples.prevalence, quantifier.predict_many(X, samples)
    size = int(samples.sizes[0])
    return {
        "AE": float(metrics.ae(true, found).mean()),
        "RAE": float(metrics.rae(true, found, eps=0.5 / size).mean()),
        "NMD": float(metrics.nmd(true, found).mean()),
    }


def baselines(task: Task) -> dict[str, tuple[Any, Any, str, float]]:
    """Methods on the logistic regression that is best for them on the development bags.

    By method: quantifier, classifier, setting and processor time.
    """
    from sklearn.linear_model import LogisticRegression

    import headcount as hc

    measure = "NMD" if task.name == "T3" else "RAE"
    started = time.process_time()
    best: dict[str, tuple[float, tuple[Any, Any, str]]] = {}
    for C in (0.01, 0.1, 1.0):
        for weight in (None, "balanced"):
            logistic = LogisticRegression(C=C, class_weight=weight, max_iter=3000)
            scorer = hc.Scorer(logistic, random_state=0).fit(task.X, task.y)
            for name in ("CC", "SLD"):
                quantifier = hc.method(name)(logistic).fit_scorer(scorer)
                error = errors_of(quantifier, task, "dev")[measure]
                if name not in best or error < best[name][0]:
                    setting = f"C={C}, class_weight={weight}"
                    best[name] = error, (quantifier, logistic, setting)
    spent = time.process_time() - started
    return {name: (*found, spent) for name, (_, found) in best.items()}


def runs(task: Task, budget: str, wanted: list[str]) -> Any:
    """Rows of the table of a task, one at a time."""
    import headcount as hc

    shared = {"loss": _LOSSES[task.name], "budget": budget, "random_state": 0}
    found = baselines(task)
    for name, (quantifier, _, setting, spent) in found.items():
        yield f"LR + {name}", "items", quantifier, spent, setting
    logistic = found["SLD"][1]
    given = {"estimates": ["SLD"], "classifier": logistic}
    plan: list[tuple[str, str, dict[str, Any]]] = [
        ("HistNet", "bags", {}),
        ("GMNet", "bags", {}),
        ("DeepSets", "bags", {}),
        ("SetTransformer", "bags", {}),
        ("QuaNet", "items and bags", {"classifier": logistic}),
    ]
    if task.name == "T1":
        # In T3 classes differ between bags, so that SLD is far off.
        plan += [
            ("HistNet", "items", given),
            ("HistNet", "items and bags", given),
            ("GMNet", "items and bags", given),
        ]
    for name, how, more in plan:
        if wanted and name not in wanted:
            continue
        network = hc.method(name)(**shared | more)
        started = time.process_time()
        if how == "items":
            network.fit(task.X, task.y)
        else:
            labelled = (task.X, task.y) if how == "items and bags" else None
            network.fit_samples(task.X_dev, task.dev, labelled=labelled)
        title = f"{name} given SLD" if "estimates" in more else name
        yield title, how, network, time.process_time() - started, ""


def speed(who: str, network: str, votes: str) -> dict[str, Any]:
    """Processor time of an epoch, in a process of its own."""
    script = Path(__file__).with_name("networks_speed.py")
    command = [sys.executable, str(script), who, network, *filter(None, [votes])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def report(results: dict[str, Any]) -> str:
    from tables import bullets, markdown_table

    lines = ["# Networks on generated LeQua tasks", "", bullets(results["head"]), ""]
    for name in ("T1", "T3"):
        if name not in results:
            continue
        found = results[name]
        rows = [
            [
                row["method"],
                row["learns from"],
                *(f"{row[measure]:.4f}" for measure in ("AE", "RAE", "NMD")),
                row["budget"],
                f"{row['seconds']:.0f}",
                row["setting"],
            ]
            for row in found["rows"]
        ]
        header = ["method", "learns from", "AE", "RAE", "NMD", "budget", "CPU seconds"]
        header.append("setting")
        lines += [
            f"## {name}",
            "",
            f"{found['dev']} development bags, {found['test']} test bags, one seed. Settings "
            "of logistic regression (LR) are selected on the development bags, from which "
            "networks learn. The budget is processor time of training; all seconds include the "
            "preparation of the items, and for LR the search.",
            "",
            markdown_table(header, rows),
            "",
        ]
    if "speed" in results:
        rows = []
        for row in results["speed"]:
            ours, theirs = row["headcount"]["items/s"], row["QuaPy"]["items/s"]
            rows.append([row["name"], f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}"])
        header = ["network", "headcount, items/s", "QuaPy, items/s", "ratio"]
        lines += [
            "## Speed of training",
            "",
            "`networks_speed.py`: 5,000 x 256 items, bags of 250, 20 bags per step, layers of "
            "equal size, one thread, processor time. Items of training bags per second. "
            "HistNet of QuaPy has hard votes only.",
            "",
            markdown_table(header, rows),
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.set_defaults(no_venv=True)
    parser.add_argument("--steps", nargs="+", choices=_STEPS, default=list(_STEPS))
    parser.add_argument("--networks", nargs="+", default=[], help="all by default")
    parser.add_argument("--budget", default="60s", help="processor time of each network")
    parser.add_argument("--dev", type=int, default=1000, help="number of development bags")
    parser.add_argument("--test", type=int, default=1000, help="number of test bags")
    options = start(parser)
    path = options.output / "networks.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["head"] = describe_machine()

    def keep() -> None:
        path.write_text(json.dumps(results, indent=1) + "\n")
        path.with_suffix(".md").write_text(report(results))

    if "speed" in options.steps:
        rows = []
        for network, votes, name in _SPEEDS:
            theirs = speed("quapy", network, "") if votes != "linear" else rows[-1]["QuaPy"]
            ours = speed("ours", network, votes)
            rows.append({"name": name, "headcount": ours, "QuaPy": theirs})
            print(rows[-1], flush=True)
        results["speed"] = rows
        keep()
    for name in (step for step in _LOSSES if step in options.steps):
        task = generated(name, options.dev, options.test)
        sizes = {"dev": options.dev, "test": options.test}
        found = results.get(name, {})
        if any(found.get(key) != size for key, size in sizes.items()):
            found = results[name] = sizes | {"rows": []}
        for title, how, quantifier, seconds, setting in runs(
            task, options.budget, options.networks
        ):
            row = {"method": title, "learns from": how}
            row |= {"budget": "" if setting else options.budget}
            # A row of an earlier run is replaced.
            others = [each for each in found["rows"] if not row.items() <= each.items()]
            row |= errors_of(quantifier, task, "test")
            found["rows"] = [*others, row | {"seconds": seconds, "setting": setting}]
            print(name, found["rows"][-1], flush=True)
            keep()


if __name__ == "__main__":
    main()
