from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from headcount._support.files import write_bytes
from headcount.errors import HeadcountError
from tests.cli.conftest import LEARN

COMMAND = (sys.executable, "-m", "headcount")
TRICKS = ["=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(A1)", "../../etc/passwd", "\x1b[31mred"]


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "o.csv"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HeadcountError, match="No space left"):
        write_bytes(path, b"after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("option", ["--output", "--report", "--save"])
def test_output_to_a_full_device(files, refused, option):
    sentence = refused("estimate", *LEARN, "new.csv", option, "/dev/full")
    assert "No space left" in sentence
    assert Path("/dev/full").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_standard_output_that_is_full(files):
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            [*COMMAND, "methods"], stdout=nowhere, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_who_has_had_enough(files):
    with subprocess.Popen(
        [*COMMAND, "methods"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def test_links_are_followed_and_not_replaced(tmp_path):
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_bytes(tmp_path / "link.csv", b"after")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "after"


SLOW_DISK = """
import time, headcount._support.files as files
from headcount.cli import main

def wait(file):
    print("writing", flush=True)
    time.sleep(60)

files.os.fsync = wait
main({arguments!r})
"""


def test_an_interrupt_leaves_nothing_half_written(files):
    outputs = ("--output", "o.csv", "--report", "o.html", "--save", "o.skops")
    for name in outputs[1::2]:
        (files / name).write_text("before")
    before = sorted(files.iterdir())
    script = SLOW_DISK.format(arguments=["estimate", *LEARN, "new.csv", *outputs])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout.readline() == "writing\n"
        assert len(sorted(files.iterdir())) == len(before) + 1
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130
    assert err.splitlines()[-1].startswith("headcount: Interrupted")
    assert "Traceback" not in err
    assert sorted(files.iterdir()) == before
    assert all((files / name).read_text() == "before" for name in outputs[1::2])


SLOW_TABLE = """
import os, time, headcount.tables.readers as readers
from headcount.cli import main

plain = readers.TableFile.batches

def slow(self, columns, rows=None):
    for batch in plain(self, columns, 60):
        yield batch
        if "churn" not in self.columns and len(columns) > 3:
            os.write(1, b"reading\\n")
            time.sleep(60)

readers.TableFile.batches = slow
main({arguments!r})
"""


def test_an_interrupt_leaves_a_clean_terminal(files):
    ours, theirs = os.openpty()
    script = SLOW_TABLE.format(arguments=["estimate", *LEARN, "new.csv"])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    ) as running:
        assert running.stdout.readline() == b"reading\n"
        running.send_signal(signal.SIGINT)
        running.wait(60)
    os.close(theirs)
    said = os.read(ours, 1 << 16)
    os.close(ours)
    assert running.returncode == 130
    assert b"Traceback" not in said
    # The cursor that the progress bar hid is back before the last line.
    assert said.rfind(b"\x1b[?25l") <= said.rfind(b"\x1b[?25h")
    assert said.rstrip().endswith(b"nothing was left half-written.")


def test_tricks_in_names_are_harmless(files, call):
    new = pl.read_csv("new.csv").with_columns(
        shop=pl.Series([TRICKS[i % len(TRICKS)] for i in range(500)])
    )
    new.write_csv("new.csv")
    labelled = pl.read_csv("labelled.csv")
    labelled.with_columns(churn="=" + pl.col("churn") + "<script>").write_csv("labelled.csv")
    before = set(files.iterdir())
    code, out, err = call(
        "estimate", *LEARN, "new.csv", "--by", "shop", "--output", "o.csv", "--report", "o.html"
    )
    assert code == 0, err
    assert "\x1b" not in out
    assert set(files.iterdir()) - before == {files / "o.csv", files / "o.html"}
    written = (files / "o.csv").read_text()
    assert "\n=" not in written
    assert ",=" not in written
    assert "yes<script>" not in (files / "o.html").read_text()
