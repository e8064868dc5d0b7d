"""A small example from start to end, on data that comes with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from headcount.cli.estimating import Outcome, Wishes, estimate_files
from headcount.cli.writing import frame_bytes, write_bytes
from headcount.errors import HeadcountError

__all__ = ["run_demo"]

_MONTHS = {"2024-01": 0.1, "2024-02": 0.25, "2024-03": 0.45}
_N_LABELLED, _A_MONTH = 600, 180


def run_demo(folder: Path, *, seed: int = 0) -> Outcome:
    """Write two tables of handwritten digits, count the eights in one, and write a page.

    Parameters
    ----------
    folder : Path
        Made if it is not there. Gets labelled.csv, new.csv, shares.csv and report.html.
    seed : int, default=0
        Draws the digits.

    Returns
    -------
    Outcome
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror}): choose another."
        ) from None
    labelled, new = folder / "labelled.csv", folder / "new.csv"
    _write_tables(labelled, new, seed)
    return estimate_files(
        Wishes(
            new=new,
            train=labelled,
            target="digit",
            by="month",
            date="date",
            seed=seed,
            report=folder / "report.html",
            output=folder / "shares.csv",
        )
    )


def _write_tables(labelled: Path, new: Path, seed: int) -> None:
    import polars as pl
    from sklearn.datasets import load_digits

    digits = load_digits()
    # Every other dot: enough to learn from, not enough to be always right.
    pixels = pl.DataFrame(digits.data[:, ::2], [f"dot_{i}" for i in range(32)], orient="row")
    kind = np.where(digits.target == 8, "eight", "other")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(kind))
    learnt, left = rows[:_N_LABELLED], rows[_N_LABELLED:]
    chosen, dates = [], []
    for month, share in _MONTHS.items():
        for label, count in (("eight", share), ("other", 1 - share)):
            of_class = left[kind[left] == label]
            n = round(count * _A_MONTH)
            chosen.append(rng.choice(of_class, n, replace=n > len(of_class)))
            dates += [f"{month}-{day:02d}" for day in rng.integers(1, 29, n)]
    taken = np.concatenate(chosen)
    dated = pixels[taken].with_columns(
        pl.Series("date", dates), pl.Series("digit", kind[taken])
    )
    first = pixels[learnt].with_columns(pl.Series("digit", kind[learnt]))
    for frame, path in ((first, labelled), (dated, new)):
        write_bytes(path, frame_bytes(frame, path))
