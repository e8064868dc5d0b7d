from __future__ import annotations

import gzip
import subprocess

import polars as pl
import pyarrow as pa
import pytest

from headcount.data.readers import open_table
from headcount.errors import HeadcountError

FRAME = pl.DataFrame({"a": [1, 2, None], "b": ["x", "y, z", 'q"']})


def written(path, name):
    target = path / name
    match name.removesuffix(".gz").removesuffix(".zst").rsplit(".", 1)[1]:
        case "csv":
            text = FRAME.write_csv()
        case "tsv":
            text = FRAME.write_csv(separator="\t")
        case "jsonl":
            text = FRAME.write_ndjson()
        case "parquet":
            FRAME.write_parquet(target)
            return target
        case _:
            FRAME.write_ipc(target)
            return target
    if name.endswith(".gz"):
        target.write_bytes(gzip.compress(text.encode()))
    else:
        target.write_text(text)
    return target


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.feather", "t.arrow", "t.csv.gz", "t.tsv.gz",
     "t.jsonl.gz", "T.CSV"],
)  # fmt: skip
def test_every_format_gives_the_same_table(tmp_path, name):
    path = written(tmp_path, name.lower()).rename(tmp_path / name)
    table = open_table(path)
    assert table.columns == ("a", "b")
    assert table.count_rows() == 3
    assert table.read().cast({"a": pl.Int64}).equals(FRAME)


def test_zstandard(tmp_path):
    path = tmp_path / "t.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(FRAME.write_csv().encode())
    assert open_table(path).read()["b"].to_list() == FRAME["b"].to_list()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_batches_are_all_rows_in_order(tmp_path, ending):
    frame = pl.DataFrame({"n": range(1000), "other": range(1000)})
    path = tmp_path / f"t.{ending}"
    getattr(
        frame, {"csv": "write_csv", "parquet": "write_parquet"}.get(ending, "write_ndjson")
    )(path)
    batches = list(open_table(path).batches(["n"], rows=100))
    assert len(batches) > 1
    joined = pl.concat(batches)
    assert joined.columns == ["n"]
    assert joined["n"].cast(pl.Int64).to_list() == list(range(1000))


def test_byte_order_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert open_table(path).columns == ("a", "b")


def test_chosen_separator(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n")
    assert open_table(path, separator=";").read()["b"].to_list() == ["2"]


def test_signs_of_patterns_in_names_are_part_of_the_name(tmp_path):
    path = tmp_path / "t[1]*.csv"
    path.write_text("a,b\n1,2\n")
    (tmp_path / "t1.csv").write_text("c,d\n1,2\n")
    assert open_table(path).columns == ("a", "b")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a;b\n1;2\n", "`separator` ';'"),
        ("t.tsv", b"a,b\n1,2\n", "`separator` ','"),
        ("t.csv", b"a,b\n1,2\n3,4,5\n", "more cells than the first"),
        ("t.csv", b"a,b\n1,\xff\xfe\n", "UTF-8"),
        ("t.csv", b"a,a\n1,2\n", "'a' twice"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.parquet", b"hello", "cannot be read"),
        ("t.parquet", b"PAR1" + b"0" * 90 + b"PAR1", "cannot be read"),
        ("t.feather", b"hello", "cannot be read"),
        ("t.jsonl", b"{]", "cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:15], "cannot be read"),
        ("t.xlsx", b"hello", "extension"),
        ("t", b"hello", "extension"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HeadcountError, match=said) as caught:
        open_table(tmp_path / name).read()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(HeadcountError, match="no file"):
        open_table(tmp_path / "t.csv")
    with pytest.raises(HeadcountError, match="folder"):
        open_table(tmp_path)
    with pytest.raises(HeadcountError, match="cannot be read"):
        open_table("a\0b.csv")


@pytest.mark.parametrize("separator", ["", "ab", "\n", "é"])
def test_bad_separators(tmp_path, separator):
    path = written(tmp_path, "t.csv")
    if not separator:
        assert open_table(path, separator=None).columns == ("a", "b")
        return
    with pytest.raises(HeadcountError, match="single character"):
        open_table(path, separator=separator)


def test_missing_columns_are_named(tmp_path):
    table = open_table(written(tmp_path, "t.csv"))
    with pytest.raises(HeadcountError, match="columns 'c', 'd', which nobody wrote"):
        table.require(["a", "c", "d"], "which nobody wrote")


def test_reading_from_a_pipe_that_is_no_table_fails(tmp_path):
    path = tmp_path / "t.csv"
    subprocess.run(["ln", "-s", "/nowhere", path], check=True)
    with pytest.raises(HeadcountError, match="no file"):
        open_table(path)
