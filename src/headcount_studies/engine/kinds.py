"""Kinds of study, and the experiments that run them."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from headcount.errors import HeadcountError
from headcount_studies.engine.checks import check_known
from headcount_studies.engine.imports import import_object
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Experiment

__all__ = ["datasets_there", "find_experiment", "study_kinds"]

# Entry points of experiments, by the names of their kinds.
_GROUP = "headcount.studies"
_PARTS = ("check", "plan", "run", "sections")


def study_kinds() -> dict[str, str]:
    """Import paths of the experiments that are installed, by kind of study."""
    return {point.name: point.value for point in sorted(entry_points(group=_GROUP))}


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
    if ":" not in kind:
        kinds = study_kinds()
        path = kinds[check_known("kind of study", kind, kinds)]
    else:
        path = kind
    experiment = import_object("kind of study", path)
    lacking = [part for part in _PARTS if not callable(getattr(experiment, part, None))]
    if lacking:
        raise HeadcountError(
            f"The kind of study {kind!r} has no {lacking[0]}(): an experiment has "
            f"{', '.join(_PARTS)}."
        )
    return cast(Experiment, experiment)


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
