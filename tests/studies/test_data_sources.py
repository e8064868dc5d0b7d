from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from headcount_studies.data.sources import needed_files
from headcount_studies.engine.spec import built_in_specs, read_spec


@pytest.mark.parametrize("name", built_in_specs())
def test_every_file_of_every_study_is_described(name: str, tmp_path: Path) -> None:
    files = needed_files(read_spec(name), tmp_path)
    assert files
    assert {file.status for file in files} == {"missing"}
    assert "you" not in {file.source for file in files}


def test_files_are_checked(tmp_path: Path) -> None:
    spec = read_spec("tweets")
    path = tmp_path / "tweets_text8.parquet"
    path.write_bytes(b"no table")
    (file,) = needed_files(spec, tmp_path)
    assert file.status == "damaged: it is not a Parquet file"
    pl.DataFrame({"dataset": ["sst"], "split": ["train"], "text": ["a"]}).write_parquet(path)
    (file,) = needed_files(spec, tmp_path)
    assert file.status == "damaged: it has no column 'label'"
    table = {"dataset": ["sst"], "split": ["train"], "label": ["neutral"], "text": ["a"]}
    pl.DataFrame(table).write_parquet(path)
    (file,) = needed_files(spec, tmp_path)
    assert (file.status, file.datasets.count(",")) == ("there", 7)
