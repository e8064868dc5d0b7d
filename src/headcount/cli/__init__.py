"""The command line: options in, text out. The work is done by the packages below."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``headcount`` and end the program with its exit code."""
    # Most objects are those of imported packages: a search for garbage among them takes a
    # tenth of a second, and finds none.
    gc.set_threshold(50_000, 20, 50)
    # Matrices are small here: threads of BLAS would only wait for one another, which takes a
    # quarter of the CPU time. The variable is read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from headcount.cli.execute import execute

    code = execute(arguments)
    gc.freeze()
    raise SystemExit(code)
