"""Page of the scores of a submission to LeQua."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from headcount._files import write_bytes
from headcount._text import Table
from headcount.report.assets import packed_csv, rendered
from headcount_studies.lequa2024.official import Score
from headcount_studies.lequa2024.report import score_sections
from headcount_studies.page.parts import study_parts

__all__ = ["write_score"]


def write_score(
    score: Score,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    published: str | os.PathLike[str] | None = None,
) -> None:
    """Write the scores of a submission as one HTML page, atomically.

    Parameters
    ----------
    score : Score
        Scores of the submission.
    path : str or path
        The page; replaced if it exists.
    name : str, default=""
        Name of the submission.
    published : str or path, default=None
        Folder with the published results to compare with.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from headcount_studies.lequa import find_task
    >>> from headcount_studies.page.lequa import write_score
    >>> from headcount_studies.lequa2024.official import score
    >>> true = np.array([[0.5, 0.5], [0.2, 0.8]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_score(score(find_task("T1"), true, true), f"{folder}/page.html")
    """
    folder = None if published is None else Path(published)
    html = rendered(
        "lequa.html",
        {
            "title": f"Scores of {name or 'a submission'}",
            "task": score.task,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "figures": score.to_text().splitlines(),
            "parts": study_parts(score_sections(score.task, score, folder)),
        },
        data={
            "csv_gzip": packed_csv(score.samples.columns, score.samples.rows()),
            "analysis": score.to_dict(),
        },
        filters={"in_html": _in_html},
        styles=("page.css", "study.css"),
        images=True,
    )
    write_bytes(Path(path), html.encode("utf-8", "replace"))


def _in_html(table: Table, label: str) -> Markup:
    return table.to_html(css_class="data sortable", label=label)
