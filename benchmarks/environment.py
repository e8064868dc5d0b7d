"""Start of every benchmark: command line, environment, threads, facts of the machine."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import venv
import warnings
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = [
    "PROJECT",
    "RESULTS",
    "command_line",
    "core_count",
    "describe_machine",
    "enter_venv",
    "pin_blas_threads",
    "start",
]

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "benchmarks" / "results"
_VENV = PROJECT / ".venv-bench"
_BLAS_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_PACKAGES = (
    "headcount",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "quapy",
    "quantificationlib",
    "mlquantify",
    "pandas",
)


def command_line(description: str, *, quick: bool = False) -> argparse.ArgumentParser:
    """Parser with the options that benchmarks share."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--output", type=Path, help="folder of the results")
    parser.add_argument("--no-venv", action="store_true", help="use this interpreter as it is")
    if quick:
        parser.add_argument(
            "--quick", action="store_true", help="small data, to try the script"
        )
    return parser


def start(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line, enter the virtual environment and use one BLAS thread.

    Results of ``--quick`` go to the temporary folder of the system.
    """
    options = parser.parse_args()
    if not options.no_venv:
        enter_venv()
    pin_blas_threads()
    # The peers warn a lot; warnings of headcount are seen by the tests.
    warnings.simplefilter("ignore")
    if options.output is None:
        scratch = Path(tempfile.gettempdir()) / "headcount-benchmarks"
        options.output = scratch if getattr(options, "quick", False) else RESULTS
    options.output.mkdir(parents=True, exist_ok=True)
    return options


def pin_blas_threads() -> None:
    """Use one BLAS and OpenMP thread; call it before numpy is imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("pin_blas_threads came after numpy was imported: call it first.")
    for variable in _BLAS_VARIABLES:
        os.environ[variable] = "1"


def enter_venv() -> None:
    """Run the same command in the virtual environment of the benchmarks, made if missing."""
    if Path(sys.prefix).resolve() == _VENV.resolve():
        return
    python = _VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready = _VENV / "installed"
    if not ready.exists():
        print(f"making {_VENV.name} with headcount and its peers", flush=True)
        venv.create(_VENV, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-e", f"{PROJECT}[bench]"]
        subprocess.run(install, check=True)
        ready.touch()
    sys.exit(subprocess.run([str(python), *sys.argv], check=False).returncode)


def core_count() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_machine() -> dict[str, str]:
    """Facts at the head of every result: date, machine, versions, BLAS, load, threads."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{_processor()}, {core_count()} cores, {_memory()}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "BLAS": _blas(),
        "load": _load(),
        "threads": (
            "BLAS and OpenMP pinned to 1 on both sides; headcount timed with "
            f"HEADCOUNT_NUM_THREADS=1 and ={core_count()}; the peers run in one process"
        ),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    if not hasattr(os, "sysconf"):
        return "memory unknown"
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.0f} GB memory"


def _load() -> str:
    """Load of the machine before the run: times on a busy machine mean less."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} processes running on average over the minute before"


def _blas() -> str:
    import numpy as np  # noqa: F401  (loads the BLAS that is then described)
    from threadpoolctl import threadpool_info

    pools = {
        f"{pool['internal_api']} {pool['version']} ({pool['num_threads']} thread)"
        for pool in threadpool_info()
    }
    return ", ".join(sorted(pools))
