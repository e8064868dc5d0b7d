"""LeQua on generated folders: reading, selection and estimates; memory; compared with QuaPy.

python benchmarks/lequa.py [--folder /tmp/lequa] [--steps T1 T2 T3 T4 quapy] [--t2 1000 5000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

from environment import command_line, describe_machine, start

_STEPS = ("T1", "T2", "T3", "T4", "quapy")
_GRIDS = "CC,PCC,ACC,PACC,SLD,DM"
# Methods, development samples (0 for all), and "few" for two values of C. Logistic regression
# with 28 classes, and kernel densities, take long.
_RUNS = {
    "T1": ((_GRIDS, "0", ""), ("MC-SQ", "0", ""), ("KDEy", "0", "")),
    "T2": ((_GRIDS, "100", "few"),),
    "T3": ((_GRIDS, "0", "few"), ("Lamarr", "0", "")),
    "T4": ((_GRIDS, "0", ""), ("Lamarr", "0", "")),
}
_COMPARED = ("CC", "PCC", "SLD", "ACC", "PACC", "DM", "KDEyML")


def timed(work: Callable[[], Any]) -> dict[str, Any]:
    """Wall time, processor time and peak memory of this process; result of the work."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return {
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "result": result,
    }


def read(folder: str, task: str) -> dict[str, Any]:
    """Parse all samples of a task into an empty cache."""
    from headcount_studies.datasets import lequa

    cache = Path(folder) / ".headcount-cache"
    for old in cache.glob(f"{task}-*"):
        old.unlink()

    def work() -> list[int]:
        data = lequa(folder, task, progress=False)
        return [len(data.y), len(data.dev), len(data.test)]

    return timed(work)


def run(folder: str, task: str, methods: str, n_dev: str, few: str) -> dict[str, Any]:
    """Select settings on development samples, estimate the test samples and score them."""
    from dataclasses import replace

    from headcount_studies.datasets import lequa
    from headcount_studies.engine.spec import read_spec
    from headcount_studies.lequa2024.official import score
    from headcount_studies.lequa2024.selection import (
        candidates_of,
        named_method,
        predict,
        select,
    )
    from headcount_studies.lequa2024.study import protocol_of

    spec = read_spec("lequa2024")
    grid = spec.selection | {"n_dev": int(n_dev)} | ({"C": [0.1, 1.0]} if few else {})
    spec = replace(spec, selection=grid)

    def work() -> dict[str, Any]:
        data = lequa(folder, task, progress=False)
        groups = {
            name: candidates_of(spec, named_method(spec, name), data.task, 0)
            for name in methods.split(",")
        }
        selected = select(data, groups, protocol_of(spec, 0), progress=False)
        shares = predict(data, data.test, selected, progress=False)
        true = data.test.samples.prevalence
        size = int(data.test.samples.sizes[0])
        found = {}
        for name, each in selected.items():
            figures = score(data.task, true, shares[name], size=size).figures
            found[name] = {
                "setting": each.setting,
                "dev": each.error,
                **{figure.measure: [figure.mean, figure.deviation] for figure in figures},
            }
        return found

    return timed(work)


def _split(y: Any) -> tuple[Any, Any]:
    import numpy as np
    from sklearn.model_selection import train_test_split

    return train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=0)


def ours_fixed(folder: str, task: str, output: str) -> dict[str, Any]:
    """Estimates of the development samples with one setting, from the text files on."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    import headcount as hc
    from headcount_studies.datasets import lequa
    from headcount_studies.lequa2024.selection import Candidate, Protocol, predict, select

    def work() -> None:
        # With a cache of its own: the files are parsed.
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            data = lequa(folder, task, cache=cache, progress=False)
            logistic = LogisticRegression(max_iter=3000)
            quantifiers = {
                "CC": hc.CC(), "PCC": hc.PCC(), "SLD": hc.SLD(calibration=None, stop="classic"),
                "ACC": hc.ACC(), "PACC": hc.PACC(), "DM": hc.DM(), "KDEyML": hc.KDEyML(),
            }  # fmt: skip
            held_out = ("ACC", "PACC", "DM", "KDEyML")
            candidates = {
                name: [[Candidate(logistic, name in held_out, each)]]
                for name, each in quantifiers.items()
            }
            selected = select(data, candidates, Protocol(), progress=False)
            np.savez(output, **predict(data, data.dev, selected, progress=False))

    return timed(work)


def quapy_fixed(folder: str, task: str, output: str) -> dict[str, Any]:
    """The same estimates by QuaPy, through its protocol that reads a sample at a time."""
    import numpy as np
    import quapy as qp
    from quapy.data._lequa import SamplesFromDir, load_vector_documents_2024
    from quapy.method.aggregative import ACC, CC, EMQ, PACC, PCC, DMy, KDEyML
    from sklearn.linear_model import LogisticRegression

    public = Path(folder) / task / "public"

    def work() -> None:
        X, y = load_vector_documents_2024(str(public / "training_data.txt"))
        dev = SamplesFromDir(
            str(public / "dev_samples"),
            str(public / "dev_prevalences.txt"),
            load_vector_documents_2024,
        )
        qp.environ["SAMPLE_SIZE"] = 250
        fit, held = _split(y)
        held_out = {"val_split": (X[held], y[held])}

        def logistic() -> LogisticRegression:
            return LogisticRegression(max_iter=3000)

        models = {
            "CC": CC(logistic()).fit(X, y),
            "PCC": PCC(logistic()).fit(X, y),
            "SLD": EMQ(logistic()).fit(X, y),
            "ACC": ACC(logistic(), **held_out).fit(X[fit], y[fit]),
            "PACC": PACC(logistic(), **held_out).fit(X[fit], y[fit]),
            "DM": DMy(logistic(), **held_out).fit(X[fit], y[fit]),
            "KDEyML": KDEyML(logistic(), **held_out).fit(X[fit], y[fit]),
        }
        shares: dict[str, list[Any]] = {name: [] for name in models}
        for sample, _ in dev():
            for name, model in models.items():
                shares[name].append(model.predict(sample))
        np.savez(output, **{name: np.array(rows) for name, rows in shares.items()})

    return timed(work)


def ours_grid(folder: str, task: str) -> dict[str, Any]:
    """Selection of the classifier of SLD, 4 settings, on all development samples."""
    from sklearn.linear_model import LogisticRegression

    import headcount as hc
    from headcount_studies.datasets import lequa
    from headcount_studies.lequa2024.selection import Candidate, Protocol, select

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            data = lequa(folder, task, cache=cache, progress=False)
            group = [
                Candidate(
                    LogisticRegression(C=C, class_weight=weight, max_iter=3000),
                    False,
                    hc.SLD(calibration=None, stop="classic"),
                    {"C": C, "class_weight": str(weight)},
                )
                for C in (0.1, 1.0)
                for weight in (None, "balanced")
            ]
            best = select(data, {"SLD": [group]}, Protocol(), progress=False)["SLD"]
            return {"error": best.error, **best.members[0].setting}

    return timed(work)


def quapy_grid(folder: str, task: str) -> dict[str, Any]:
    """Selection of the classifier of SLD, 4 settings, on all development samples by QuaPy."""
    import quapy as qp
    from quapy.data._lequa import SamplesFromDir, load_vector_documents_2024
    from quapy.method.aggregative import EMQ
    from quapy.model_selection import GridSearchQ
    from sklearn.linear_model import LogisticRegression

    public = Path(folder) / task / "public"

    def work() -> dict[str, Any]:
        qp.environ["SAMPLE_SIZE"] = 250
        X, y = load_vector_documents_2024(str(public / "training_data.txt"))
        dev = SamplesFromDir(
            str(public / "dev_samples"),
            str(public / "dev_prevalences.txt"),
            load_vector_documents_2024,
        )
        grid = {
            "classifier__C": [0.1, 1.0],
            "classifier__class_weight": [None, "balanced"],
        }
        search = GridSearchQ(
            EMQ(LogisticRegression(max_iter=3000)), grid, protocol=dev, error="mrae",
            refit=False, n_jobs=1,
        ).fit(X, y)  # fmt: skip
        best = {name.split("__")[1]: str(value) for name, value in search.best_params_.items()}
        return {"error": float(search.best_score_), **best}

    return timed(work)


_WORK = {
    each.__name__: each for each in (read, run, ours_fixed, ours_grid, quapy_fixed, quapy_grid)
}


def fresh(what: Callable[..., Any], *arguments: str) -> dict[str, Any]:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, "--no-venv", "--one", what.__name__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(what.__name__, *arguments, {k: found[k] for k in ("seconds", "cpu", "peak")})
    print(json.dumps(found["result"], indent=1), flush=True)
    return found


def generated(folder: Path, task: str, **sizes: int) -> Path:
    """Folder of a task, generated if it is not there."""
    from headcount_studies.data.lequa_generator import generate

    if not (folder / task / "public").exists():
        generate(folder, task, **sizes)
    return folder


def compare(folder: str, task: str) -> dict[str, Any]:
    """Times, and differences of the estimates, of both libraries."""
    import numpy as np

    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs = f"{scratch}/ours.npz", f"{scratch}/theirs.npz"
        found = {
            "headcount": fresh(ours_fixed, folder, task, ours),
            "QuaPy": fresh(quapy_fixed, folder, task, theirs),
            "headcount, grid of SLD": fresh(ours_grid, folder, task),
            "QuaPy, grid of SLD": fresh(quapy_grid, folder, task),
        }
        a, b = np.load(ours), np.load(theirs)
        apart = {
            name: [
                float(np.abs(a[name] - b[name]).mean()),
                float(np.abs(a[name] - b[name]).max()),
            ]
            for name in _COMPARED
        }
    return found | {"differences": apart}


def report(results: dict[str, Any]) -> str:
    """Tables of all steps that have been measured."""
    from tables import bullets, markdown_table

    lines = ["# LeQua on generated folders", "", bullets(results["head"])]
    parts = {step: results[step] for step in _STEPS if step in results and step != "quapy"}
    rows = [
        [step, name, *_measured(each)]
        for step, steps in parts.items()
        for name, each in steps.items()
    ]
    header = ["task", "step", "seconds", "CPU seconds", "peak memory, GB"]
    lines += [
        "",
        "## Times and memory",
        "",
        "Folders of full size: 1,000 development and 5,000 test samples. Grids are the "
        "official ones, but T2 and T3 have two values of C (0.1 and 1), and T2 is selected on "
        "100 samples.",
        "",
        markdown_table(header, rows),
    ]
    rows = []
    for step, steps in parts.items():
        for name, each in steps.items():
            for method, found in each["result"].items() if name != "read" else ():
                means = [found[key][0] for key in found if key not in ("setting", "dev")]
                # A method with one setting has nothing to select.
                dev = "" if isnan(found["dev"]) else f"{found['dev']:.5f}"
                shown = [dev, *(f"{mean:.5f}" for mean in means)]
                rows.append([step, method, *shown, found["setting"]])
    header = ["task", "method", "on dev", "RAE (T3: NMD)", "AE (T3: Macro-NMD)", "setting"]
    lines += [
        "",
        "## Errors on the test samples",
        "",
        "Of one seed, and of folders that were made by the present generator. Errors of all "
        "tasks over several seeds, compared with the published ones, are in "
        "`lequa_difficulty.md`.",
        "",
        markdown_table(header, rows),
    ]
    if "quapy" in results:
        lines += ["", "## Compared with QuaPy", "", *_compared(results["quapy"])]
    return "\n".join([*lines, ""])


def _measured(each: dict[str, Any]) -> list[str]:
    return [f"{each['seconds']:.0f}", f"{each['cpu']:.1f}", f"{each['peak'] / 1e9:.2f}"]


def _compared(found: dict[str, Any]) -> list[str]:
    from tables import markdown_table

    rows = [[name, *_measured(found[name])] for name in found if name != "differences"]
    header = ["", "seconds", "CPU seconds", "peak memory, GB"]
    apart = [
        [name, f"{mean:.1e}", f"{most:.1e}"]
        for name, (mean, most) in found["differences"].items()
    ]
    return [
        "1,000 development samples of T1, read from the text files, estimated by seven methods "
        "with one setting; then the selection of the classifier of SLD among four. Compare CPU "
        "seconds, as the machine may be busy.",
        "",
        markdown_table(header, rows),
        "",
        "Absolute differences of the estimates, over samples and classes:",
        "",
        markdown_table(["method", "mean", "largest"], apart),
    ]


def main() -> None:
    parser = command_line(__doc__, quick=True)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "lequa")
    parser.add_argument("--steps", nargs="+", choices=_STEPS, default=list(_STEPS))
    parser.add_argument("--t2", type=int, nargs=2, help="dev and test samples of T2")
    parser.add_argument("--report", action="store_true", help="only write the tables again")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = start(parser)
    if options.one:
        name, *arguments = options.one
        print(json.dumps(_WORK[name](*arguments)))
        return
    sizes = {"n_dev": 20, "n_test": 40} if options.quick else {}
    if options.t2 and not options.quick:
        t2 = dict(zip(("n_dev", "n_test"), options.t2, strict=True))
    else:
        t2 = sizes
    file = options.output / "lequa.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    if options.report:
        file.with_suffix(".md").write_text(report(results))
        return

    def keep(step: str, name: str, measured: Any) -> None:
        results["head"] = describe_machine()
        results.setdefault(step, {})[name] = measured
        file.write_text(json.dumps(results, indent=1) + "\n")
        file.with_suffix(".md").write_text(report(results))

    for step in options.steps:
        task = "T1" if step == "quapy" else step
        folder = str(generated(options.folder, task, **(t2 if task == "T2" else sizes)))
        if step == "quapy":
            for name, measured in compare(folder, task).items():
                keep(step, name, measured)
            continue
        keep(step, "read", fresh(read, folder, task))
        for methods, n_dev, few in _RUNS[step]:
            keep(step, methods, fresh(run, folder, task, methods, n_dev, few))


if __name__ == "__main__":
    main()
