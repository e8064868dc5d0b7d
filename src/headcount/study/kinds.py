"""Which code runs a kind of study."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headcount.errors import HeadcountError
from headcount.study.checking import check_known
from headcount.study.task import Experiment

if TYPE_CHECKING:
    from headcount.study.spec import Spec

__all__ = ["KINDS", "datasets_there", "find_experiment"]

KINDS = {
    "comparison": "headcount.study.comparison:experiment",
    "dataset-shift": "headcount.study.dataset_shift:experiment",
    "tweets": "headcount.study.tweets:experiment",
    "quacc": "headcount.study.quacc:experiment",
}
_PARTS = ("check", "plan", "run", "sections")


def find_experiment(kind: str) -> Experiment:
    """The experiment of a kind.

    Parameters
    ----------
    kind : str
        One of headcount's own, or ``"module:object"`` for one of yours; the module must be
        importable wherever the study runs.

    Returns
    -------
    Experiment
    """
    home = kind if ":" in kind else KINDS[check_known("kind of study", kind, KINDS)]
    module, _, name = home.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a module of the user's does when it is imported
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise HeadcountError(
            f"The kind of study {kind!r} cannot be imported ({said}): check the names of the "
            "module and of the object in it, and that PYTHONPATH leads to it."
        ) from error
    lacking = [part for part in _PARTS if not callable(getattr(found, part, None))]
    if lacking:
        raise HeadcountError(
            f"The kind of study {kind!r} has no {lacking[0]}(): an experiment has "
            f"{', '.join(_PARTS)}."
        )
    return cast(Experiment, found)


def datasets_there(spec: Spec, data: Path) -> list[str] | None:
    """Those datasets of a study that the folder has, without reading them.

    Parameters
    ----------
    spec : Spec
        The study.
    data : Path
        Folder of the datasets.

    Returns
    -------
    list of str or None
        In the order of the spec; None if the kind of study cannot tell, as it has no method
        ``present(spec, data)`` that returns them.
    """
    look = getattr(find_experiment(spec.kind), "present", None)
    if look is None:
        return None
    there = set(look(spec, data))
    return [name for name in spec.datasets if name in there]
