from __future__ import annotations

import os

import pytest

from headcount._support.files import check_writable, write_bytes
from headcount.errors import HeadcountError


def test_a_file_is_written_atomically(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    write_bytes(target, b"old")
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"

    def fail(self, other):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(HeadcountError, match=r"page.html' cannot be written \(Permission"):
        write_bytes(target, b"newer")
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["page.html"]


def test_places_that_cannot_be_written_are_named(tmp_path):
    check_writable(tmp_path / "o.csv", "path", (".csv",))
    with pytest.raises(HeadcountError, match=r"path is .*; it must end in \.csv or \.tsv"):
        check_writable(tmp_path / "o.txt", "path", (".csv", ".tsv"))
    with pytest.raises(HeadcountError, match="a folder: add the name of a file"):
        check_writable(tmp_path, "path")
    with pytest.raises(HeadcountError, match="there is no folder"):
        check_writable(tmp_path / "none" / "o.csv", "path")


def test_the_mode_of_a_file_stays_when_it_is_replaced(tmp_path):
    from headcount._support.files import write_bytes

    file = tmp_path / "secret.csv"
    file.write_bytes(b"before")
    file.chmod(0o600)
    write_bytes(file, b"after")
    assert file.stat().st_mode & 0o777 == 0o600
