"""Origin of the results of a study: checksums of the data, versions of the code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from headcount._versions import versions
from headcount_studies.engine.imports import module_of
from headcount_studies.engine.spec import Spec

__all__ = ["checksums", "code_versions"]


def checksums(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """SHA-256 of files, by their names in the folder of the datasets.

    Parameters
    ----------
    files : iterable of Path
        The files.
    folder : Path
        Folder of the datasets. Files elsewhere are named by their whole paths.

    Returns
    -------
    dict of str to str
    """
    found = {}
    for path in files:
        inside = path.is_relative_to(folder)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[(path.relative_to(folder) if inside else path).as_posix()] = digest
    return found


def code_versions(spec: Spec) -> dict[str, str]:
    """Versions of Python and of all packages that a study names.

    Parameters
    ----------
    spec : Spec
        The study.

    Returns
    -------
    dict of str to str
        Modules that belong to no package have the checksum of their file.
    """
    return versions(*sorted(_modules(spec)))


def _modules(spec: Spec) -> set[str]:
    named = [spec.kind, *(method.quantifier for method in spec.methods)]
    paths = [path for path in named if ":" in path]
    tables = [spec.classifier, *(each.options.get("classifier", {}) for each in spec.methods)]
    paths += [table["class"] for table in tables if "class" in table]
    return {module_of(path) for path in paths}
