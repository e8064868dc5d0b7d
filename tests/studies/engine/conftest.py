from __future__ import annotations

import pytest

from headcount_studies.engine.run import run_study
from tests.studies.engine.toy import toy_spec


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The store of a whole run in one process, to compare others with."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return run_study(toy_spec(), folder / "store", data=folder, workers=1).store
