"""Hostile and broken surroundings: one sentence each, and nothing executed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from io import BytesIO

import polars as pl
import pytest

from headcount import HeadcountError
from headcount.cli.execute import _print
from headcount.tables.model_files import load_model
from headcount.tables.readers import open_table
from headcount_studies import MethodSpec, Spec
from headcount_studies.engine.spec import check_imports


class _Stream(BytesIO):
    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding

    def write(self, text):
        return super().write(text.encode(self.encoding))


def test_control_characters_are_printed_as_escapes():
    stream = _Stream("utf-8")
    _print("a\x1b[2J\x9b1m\rb", stream)
    assert stream.getvalue() == b"a\\u001b[2J\\u009b1m\\u000db\n"


def test_characters_that_an_encoding_lacks_are_escapes():
    stream = _Stream("ascii")
    _print('{"é": 1}', stream)
    assert stream.getvalue() == b'{"\\u00e9": 1}\n'


def test_a_closed_output_is_no_defect():
    code = "from headcount.cli.execute import execute; raise SystemExit(execute(['methods']))"
    shell = f'"{sys.executable}" -c "{code}" >&-'
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "path", ["os:system", "headcount.monitor.monitor:rmtree", "subprocess.Popen"]
)
def test_a_spec_cannot_import_anything(path):
    spec = Spec(
        "mine", "own-data", ("a",), (MethodSpec("CC"),), ("ae",), classifier={"class": path}
    )
    with pytest.raises(HeadcountError, match="add --allow-imports"):
        check_imports(spec)


def test_a_spec_may_import_scikit_learn_and_headcount():
    table = {"class": "sklearn.svm:SVC"}
    method = MethodSpec("mine", "headcount.quantifiers:ACC")
    check_imports(Spec("mine", "own-data", ("a",), (method,), ("ae",), classifier=table))


def test_a_model_file_that_unpacks_to_far_more_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.npy", "w", force_zip64=True) as part,
    ):
        for _ in range(300):
            part.write(bytes(1 << 20))
    with pytest.raises(HeadcountError, match="not a model"):
        load_model(path)


def _sheet(path, last):
    pytest.importorskip("fastexcel")
    pl.DataFrame({"a": [1], "b": [2]}).write_excel(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b'r="B2"', b'r="%s"' % last)
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def test_a_cell_far_away_is_refused(tmp_path):
    _sheet(tmp_path / "far.xlsx", b"XFD1048576")
    with pytest.raises(HeadcountError, match="has a cell in row 1,048,576"):
        open_table(tmp_path / "far.xlsx")


def test_damaged_spreadsheets_get_one_sentence(tmp_path):
    path = tmp_path / "sheet.xlsx"
    _sheet(path, b"B2")
    content = path.read_bytes()
    sentences = []
    for place in range(40, len(content), len(content) // 40):
        other = bytes([content[place] ^ 0xFF])
        path.write_bytes(content[:place] + other + content[place + 1 :])
        try:
            open_table(path).read()
        except HeadcountError as error:
            sentences.append(str(error))
    assert sentences
    assert not any("\n" in sentence for sentence in sentences)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_and_links_in_a_circle(tmp_path):
    from headcount._support.files import write_bytes

    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(HeadcountError, match="is a pipe"):
        open_table(tmp_path / "pipe.csv")
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(HeadcountError, match="cannot be read"):
        open_table(tmp_path / "a.csv")
    with pytest.raises(HeadcountError, match="cannot be written"):
        write_bytes(tmp_path / "a.csv", b"")


def test_compiled_loops_have_a_cache_without_a_writable_home(tmp_path, monkeypatch):
    import headcount._kernels as kernels

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernels, "_can_write", lambda folder: False)
    monkeypatch.setattr(kernels.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(kernels.sys, "modules", {})
    kernels._set_cache()
    folder = tmp_path / f"headcount-numba-{os.getuid()}"
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # as if another user had made it
    assert kernels._private_folder() != str(folder)


def test_compiled_loops_have_a_cache_for_a_user_without_a_home(tmp_path, monkeypatch):
    import headcount._kernels as kernels

    def no_home(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with monkeypatch.context() as patched:
        patched.setattr(kernels.Path, "home", no_home)
        patched.setattr(kernels.Path, "exists", no_home)  # as in a folder of another user
        patched.setattr(kernels.tempfile, "gettempdir", lambda: str(tmp_path))
        patched.setattr(kernels.os, "access", lambda *_: False)
        patched.setattr(kernels.sys, "modules", {})
        kernels._set_cache()
    assert os.environ["NUMBA_CACHE_DIR"].startswith(str(tmp_path))


_FORKED = """
import multiprocessing
import polars as pl
import headcount as hc
from headcount.tables.readers import as_table

def rows(_):
    try:
        return as_table(pl.DataFrame({"a": [1]}), "new").count_rows()
    except hc.HeadcountError as error:
        return str(error)

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(rows, [0])[0])
    pl.DataFrame({"a": range(200_000)}).group_by(pl.col("a") % 7).len()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map(rows, [0])[0])
    print(rows(0))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are not listed")
def test_a_fork_after_polars_is_one_sentence(tmp_path):
    script = tmp_path / "forked.py"
    script.write_text(_FORKED)
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    first, second, third = done.stdout.splitlines()
    assert (first, third) == ("1", "1")
    assert second.startswith("This process was forked from one that had used Polars")
