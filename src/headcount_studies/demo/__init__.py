"""The command `headcount demo`: rodents on fenced plots, compared with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import JSON, SEED


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the tables and the page.")
    ] = Path("headcount-demo"),
    json: JSON = False,
    seed: SEED = 0,
) -> str:
    """Count rodents on fenced plots, and compare with the truth."""
    from headcount_studies.demo.run import run_demo

    return run_demo(folder, seed=seed).text(as_json=json)
