"""The command `headcount demo`: estimates from real items, compared with the truth."""

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
    """Estimate from real items and compare with the truth; write tables, pages, a picture."""
    from headcount_studies.demo.run import run_demo

    return run_demo(folder, seed=seed).text(as_json=json)
