"""Kinds of study, and the experiments that run them."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from headcount.errors import HeadcountError
from headcount.study.checks import check_known
from headcount.study.imports import import_object
from headcount.study.spec import Spec, studies_folder
from headcount.study.task import Experiment

__all__ = ["KINDS", "datasets_there", "find_experiment"]

KINDS = {
    folder.name.replace("_", "-"): f"headcount.studies.{folder.name}:experiment"
    for folder in sorted(studies_folder().iterdir())
    if (folder / "__init__.py").is_file()
}
"""Published studies: one kind per folder of ``headcount.studies``."""

_PARTS = ("check", "plan", "run", "sections")


def find_experiment(kind: str) -> Experiment:
    """Import the experiment of a kind of study.

    Parameters
    ----------
    kind : str
        A published study, or ``"module:object"`` of your own; the module must be importable
        wherever the study runs.

    Returns
    -------
    Experiment
    """
    home = kind if ":" in kind else KINDS[check_known("kind of study", kind, KINDS)]
    found = import_object("kind of study", home)
    lacking = [part for part in _PARTS if not callable(getattr(found, part, None))]
    if lacking:
        raise HeadcountError(
            f"The kind of study {kind!r} has no {lacking[0]}(): an experiment has "
            f"{', '.join(_PARTS)}."
        )
    return cast(Experiment, found)


def datasets_there(spec: Spec, data: Path) -> list[str] | None:
    """List the datasets of a study that the folder has, without reading them.

    Parameters
    ----------
    spec : Spec
        The study.
    data : Path
        Folder of the datasets.

    Returns
    -------
    list of str or None
        In the order of the spec; None if the kind of study has no method ``files``.
    """
    files = getattr(find_experiment(spec.kind), "files", None)
    if files is None:
        return None
    return [
        name
        for name in spec.datasets
        if all(path.is_file() for path in files(spec, name, data))
    ]
