"""Networks on generated LeQua tasks, and the speed of their training compared with QuaPy.

python benchmarks/networks.py [--steps speed T1 T2 T3] [--budget 60s]

Needs an environment with headcount[deep] and quapy. Times are processor times on one thread,
so that other work on the machine does not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from environment import command_line, describe_machine, start
from lequa_tasks import Task, errors_of, generated

_STEPS = ("speed", "T1", "T2", "T3")
# Network, how votes are counted, name in the table.
_SPEEDS = (
    ("HistNet", "hard", "HistNet, hard votes"),
    ("HistNet", "linear", "HistNet, linear votes"),
    ("GMNet", "", "GMNet"),
)
_LOSSES = {"T1": "ae-rae", "T2": "ae-rae", "T3": "nmd"}
_GRIDS = {"T1": (0.01, 0.1, 1.0), "T2": (0.1,), "T3": (0.1, 1.0)}


def baselines(task: Task) -> dict[str, tuple[Any, Any, str, float]]:
    """Methods on the logistic regression that is best for them on the development bags.

    By method: quantifier, classifier, setting and processor time.
    """
    from sklearn.linear_model import LogisticRegression

    import headcount as hc

    started = time.process_time()
    best: dict[str, tuple[float, tuple[Any, Any, str]]] = {}
    for C in _GRIDS[task.name]:
        for weight in (None, "balanced"):
            logistic = LogisticRegression(C=C, class_weight=weight, max_iter=3000)
            scorer = hc.Scorer(logistic, random_state=0).fit(task.X, task.y)
            for name in ("CC", "SLD"):
                quantifier = hc.method(name)(logistic).fit_scorer(scorer)
                error = errors_of(quantifier, task.X_dev, task.dev)[task.measure]
                if name not in best or error < best[name][0]:
                    setting = f"C={C}, class_weight={weight}"
                    best[name] = error, (quantifier, logistic, setting)
    spent = time.process_time() - started
    return {name: (*found, spent) for name, (_, found) in best.items()}


def plan(task: Task, logistic: Any, wanted: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Networks with what they learn from, and parameters that are not the default.

    A name with a plus is that of a network that is given estimates of other methods.
    """
    given = {"estimates": ["SLD"], "classifier": logistic}
    plain: list[tuple[str, str, dict[str, Any]]] = [
        (name, "bags", {}) for name in ("HistNet", "GMNet", "DeepSets", "SetTransformer")
    ]
    quanet = ("QuaNet", "items and bags", {"classifier": logistic})
    corrected = [(f"{name}+", "items and bags", given) for name in ("HistNet", "GMNet")]
    every = {
        "T1": [*plain, quanet, *corrected],
        "T2": corrected,
        "T3": [*plain[:2], *corrected],
    }[task.name]
    return [each for each in every if not wanted or each[0] in wanted]


def runs(task: Task, budget: str, wanted: list[str], seed: int) -> Any:
    """Rows of the table of a task, one at a time."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    import headcount as hc

    found = baselines(task)
    for name, (quantifier, _, setting, spent) in found.items():
        yield f"LR + {name}", "items", quantifier, spent, setting
    if task.name == "T1" and (not wanted or "boosting" in wanted):
        started, boosting = time.process_time(), HistGradientBoostingClassifier(random_state=0)
        auto = hc.AutoQuantifier(boosting, random_state=0).fit(task.X, task.y)
        yield "boosting + Auto", "items", auto, time.process_time() - started, "defaults"
    shared = {"loss": _LOSSES[task.name], "budget": budget, "random_state": seed}
    for name, how, more in plan(task, found["SLD"][1], wanted):
        network = hc.method(name.removesuffix("+"))(**shared | more)
        started = time.process_time()
        labelled = (task.X, task.y) if how == "items and bags" else None
        network.fit_samples(task.X_dev, task.dev, labelled=labelled)
        title = name.replace("+", f" given {' and '.join(more.get('estimates', []))}")
        yield title, how, network, time.process_time() - started, ""


def speed(who: str, network: str, votes: str) -> dict[str, Any]:
    """Processor time of an epoch, in a process of its own."""
    script = Path(__file__).with_name("networks_speed.py")
    command = [sys.executable, str(script), who, network, *filter(None, [votes])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _rows(found: dict[str, Any]) -> list[list[str]]:
    """Means over seeds, one row per method."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found["rows"]:
        key = tuple(row[name] for name in ("method", "learns from", "budget"))
        groups.setdefault(key, []).append(row)
    measure = found["measure"]
    reference = {
        row["seed"]: row[measure] for row in found["rows"] if row["method"] == "LR + SLD"
    }
    shown = []
    # Baselines first, in the order of the measurements otherwise.
    ordered = sorted(groups, key=lambda key: key[1] != "items")
    for method, source, budget in ordered:
        rows = groups[method, source, budget]
        seeds = sorted(rows, key=lambda row: row["seed"])
        means = [fmean(row[name] for row in rows) for name in ("AE", "RAE", "NMD", "seconds")]
        ratios = ", ".join(
            f"{row[measure] / reference[row['seed']]:.2f}"
            for row in seeds
            if row["seed"] in reference
        )
        settings = "; ".join(dict.fromkeys(row["setting"] for row in seeds))
        errors = [f"{mean:.4f}" for mean in means[:3]]
        spent = f"{means[3]:.0f}"
        shown.append([method, source, *errors, str(len(rows)), ratios, budget, spent, settings])
    return shown


def report(results: dict[str, Any]) -> str:
    from tables import bullets, markdown_table

    lines = ["# Networks on generated LeQua tasks", "", bullets(results["head"]), ""]
    for name in (each for each in _LOSSES if each in results):
        found = results[name]
        header = ["method", "learns from", "AE", "RAE", "NMD", "seeds"]
        header += ["of LR + SLD", "budget", "CPU seconds", "setting"]
        lines += [
            f"## {name}",
            "",
            f"{found['dev']} development bags, {found['test']} test bags. Means over seeds, "
            "each with data of its own. Settings of logistic regression (LR) are selected on "
            "the development bags, from which networks learn. `of LR + SLD` is the quotient of "
            f"{found['measure']}, by seed. The budget is processor time of training; all "
            "seconds include the preparation of the items, and for LR the search.",
            "",
            markdown_table(header, _rows(found)),
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
            "equal size, one thread, processor time, median of three. Items of training bags "
            "per second. HistNet of QuaPy has hard votes only.",
            "",
            markdown_table(header, rows),
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.set_defaults(no_venv=True)
    parser.add_argument("--steps", nargs="+", choices=_STEPS, default=list(_STEPS))
    parser.add_argument(
        "--networks", nargs="+", default=[], help="HistNet, GMNet+ and so on; boosting"
    )
    parser.add_argument("--budget", default="60s", help="processor time of each network")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], help="of data, too")
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
        for seed in options.seeds:
            task = generated(name, options.dev, options.test, seed)
            facts = {"dev": options.dev, "test": options.test, "measure": task.measure}
            found = results.get(name, {})
            if any(found.get(key) != value for key, value in facts.items()):
                found = results[name] = facts | {"rows": []}
            for title, how, quantifier, seconds, setting in runs(
                task, options.budget, options.networks, seed
            ):
                row = {"method": title, "learns from": how, "seed": seed}
                row |= {"budget": "" if setting else options.budget}
                # A row of an earlier run is replaced.
                others = [each for each in found["rows"] if not row.items() <= each.items()]
                row |= errors_of(quantifier, task.X_test, task.test)
                found["rows"] = [*others, row | {"seconds": seconds, "setting": setting}]
                print(name, found["rows"][-1], flush=True)
                keep()


if __name__ == "__main__":
    main()
