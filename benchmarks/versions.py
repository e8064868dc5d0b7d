"""Versions of the package side by side: one process each, and the calls that differ.

Version 0 is this tree. Others are named by their source folders (``OLD/src``).
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environment import PROJECT

__all__ = [
    "SOURCE",
    "check_version",
    "describe_version",
    "environment_of",
    "estimand_name",
    "evaluate_scores",
    "fit_test",
    "is_old",
    "make",
    "quantifiers",
    "run",
    "solver_of",
    "with_decisions",
    "with_scores",
]

SOURCE = PROJECT / "src"
# Names of a parameter in different versions.
_NAMES = {
    ("Ensemble", "n_members"): ("n_members", "size"),
    ("Ensemble", "sample_size"): ("sample_size", "size"),
    ("FMM", "bins"): ("bins", "levels"),
    ("RLLS", "shrinkage"): ("shrinkage", "alpha"),
    ("RegularizedLikelihood", "flatness"): ("flatness", "tau0"),
    ("RegularizedLikelihood", "smoothness"): ("smoothness", "tau1"),
}


def environment_of(source: Path) -> dict[str, str]:
    """Environment variables of a process that imports the package from a source folder.

    One thread everywhere. Compiled kernels are kept apart for every state of the kernels, as
    numba does not notice a change in a kernel that another module calls.
    """
    digest = hashlib.sha256(str(source.resolve()).encode())
    for file in sorted((source / "headcount" / "_kernels").glob("*.py")):
        digest.update(file.read_bytes())
    compiled = Path(tempfile.gettempdir()) / "headcount-benchmarks" / digest.hexdigest()[:16]
    threads = dict.fromkeys(
        ("HEADCOUNT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
        "1",
    )
    own = {"PYTHONPATH": str(source.resolve()), "NUMBA_CACHE_DIR": str(compiled)}
    return os.environ | threads | own


def run(source: Path, *command: str) -> str:
    """Run Python in a process of its own that imports the package from a source folder."""
    call = [sys.executable, "-W", "ignore", *command]
    environment = environment_of(source)
    done = subprocess.run(call, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def check_version() -> None:
    """Stop if this process imports another version than that of the source folder."""
    import headcount

    found, wanted = Path(headcount.__file__), Path(os.environ["PYTHONPATH"])
    if not found.is_relative_to(wanted):
        raise SystemExit(f"{found} was imported instead of the version in {wanted}.")


def describe_version(source: Path) -> str:
    """Commit of a source folder, and whether files differ from it; else the folder's name."""

    def git(*command: str) -> str:
        call = ["git", "-C", str(source), *command]
        return subprocess.run(call, check=False, capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    if not commit:
        return source.resolve().parent.name
    return f"commit {commit}{' with changes' if git('status', '--porcelain', '.') else ''}"


def solver_of(quantifier: Any) -> Any:
    """Object of a fitted quantifier whose ``solve_many`` has the diagnostics of the solver."""
    return getattr(quantifier, "fitted_", quantifier)


def estimand_name() -> str:
    """Name of the parameter of `estimate` for the shares among items or in the population."""
    import headcount as hc

    named = inspect.signature(hc.SLD.estimate_many).parameters
    return "estimand" if "estimand" in named else "target"


def is_old() -> bool:
    """True before scores became an input: calls with scores have names of their own."""
    import headcount as hc

    return hasattr(hc, "evaluate_scores")


def with_scores(owner: Any, call: str, scores: Any, *arguments: Any, **options: Any) -> Any:
    """Call a method with posteriors in place of items."""
    import headcount as hc

    old = getattr(owner, f"{call}_scores", None)
    if old is not None:
        return old(scores, *arguments, **options)
    return getattr(owner, call)(hc.Scored(scores), *arguments, **options)


def with_decisions(
    owner: Any, call: str, decided: Any, classes: Any, *arguments: Any, **options: Any
) -> Any:
    """Call a method with decisions in place of items; in the old version, with 0 and 1."""
    import headcount as hc

    if is_old():
        sure = (decided[:, None] == classes).astype(float)
        return with_scores(owner, call, sure, *arguments, **options)
    return getattr(owner, call)(hc.Verdicts(decided), *arguments, **options)


def evaluate_scores(quantifiers: Any, scores: Any, *arguments: Any, **options: Any) -> Any:
    """Evaluate quantifiers on a pool of posteriors."""
    import headcount as hc

    if is_old():
        return hc.evaluate_scores(quantifiers, scores, *arguments, **options)
    return hc.evaluate(quantifiers, hc.Scored(scores), *arguments, **options)


def quantifiers() -> dict[str, Any]:
    """Methods by name, wherever the version has its registry."""
    for home in ("headcount.quantifiers.registry", "headcount.quantify.registry"):
        try:
            return dict(importlib.import_module(home).quantifiers())
        except ModuleNotFoundError:
            continue
    raise SystemExit("This version has no registry of methods.")


def make(method: Any, shared: dict[str, Any], settings: dict[str, Any] | None = None) -> Any:
    """An instance with those of the shared settings that it has, and settings of its own."""
    known = inspect.signature(method).parameters

    def named(given: dict[str, Any]) -> dict[str, Any]:
        names = {name: _NAMES.get((method.__name__, name), (name,)) for name in given}
        chosen = {name: next((n for n in names[name] if n in known), name) for name in given}
        return {chosen[name]: value for name, value in given.items()}

    own = {name: value for name, value in named(shared).items() if name in known}
    return method(**own | named(settings or {}))


def fit_test(
    scores: Any, y: Any, pool_scores: Any, samples: Any, *, weights: Any = None
) -> Any:
    """Test whether samples of a pool of posteriors are mixtures of the training classes."""
    import numpy as np

    import headcount as hc

    try:
        from headcount.estimates.assumption import fit_test as test
    except ModuleNotFoundError:
        from headcount.diagnose import fit_test as test

    if "codes" in inspect.signature(test).parameters:
        classes, codes = np.unique(y, return_inverse=True)
        return test(scores, codes, len(classes), pool_scores, samples, weights)
    return test(hc.Scored(scores), y, hc.Scored(pool_scores), samples, weights)
