from __future__ import annotations

import gzip
import io
import subprocess
import sys
import zipfile
from time import process_time

import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter

from headcount._support.files import check_other_file
from headcount.errors import HeadcountError
from headcount.tables.readers import open_table, open_tables, write_table

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
        ("t.csv", b"a,b\n1,2\n3,4,5\n", "more cells than the first"),
        ("t.csv", b'a,b\n1,x"y\n2,y\n', "quotation mark in line 2"),
        ("t.csv", b'a,b\n1,2\n3,"x\n2,y\n', "quotation mark in line 3"),
        ("t.json", b"{]", "cannot be read"),
        ("t.csv", b"a,a\n1,2\n", "'a' twice"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.parquet", b"hello", "cannot be read"),
        ("t.parquet", b"PAR1" + b"0" * 90 + b"PAR1", "cannot be read"),
        ("t.feather", b"hello", "cannot be read"),
        ("t.jsonl", b"{]", "cannot be read"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:15], "cannot be read"),
        ("t.xlsx", b"hello", "as a spreadsheet"),
        ("t.docx", b"hello", "extension"),
        ("t", b"hello", "extension"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HeadcountError, match=said) as caught:
        open_table(tmp_path / name).read()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"a;b\n1;x\n"),
        ("t.tsv", b"a,b\n1,x\n"),
        ("t.csv", b"a|b\n1|x\n"),
        ("t.txt", b"a\tb\n1\tx\n"),
        ("t.csv", b"a;b\n1;x, y\n"),
        ("t.csv", "a,b\n1,café\n".encode("latin-1")),
        ("t.csv", "a;b\n1;café\n".encode("utf-16")),
        ("t.csv.gz", gzip.compress(b"a;b\n1;x\n", mtime=0)),
        ("t.json", b'[{"a": "1", "b": "x"}]'),
    ],
)
def test_separators_and_encodings_are_found(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    table = open_table(tmp_path / name)
    assert table.columns == ("a", "b")
    (row,) = table.read().rows()
    assert row[0] == "1"
    assert row[1] in ("x", "x, y", "café")
    assert bool(table.notes) == (row[1] == "café")


def sheet(path, cells, styles=""):
    """A workbook with one sheet; `cells` is its XML."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    document = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "_rels/.rels",
            f'<Relationships><Relationship Id="r1" Type="{document}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {main} xmlns:r="{document}"><sheets>'
            '<sheet name="People" sheetId="1" r:id="r1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships><Relationship Id="r1" Type="{document}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/sharedStrings.xml",
            f"<sst {main}><si><t>name</t></si><si><t>A</t><t>nn</t></si></sst>",
        )
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet {main}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>",
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f"<worksheet {main}><sheetData>{cells}</sheetData></worksheet>",
        )


def test_a_spreadsheet(tmp_path):
    path = tmp_path / "t.xlsx"
    sheet(
        path,
        '<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>day</t></is></c>'
        '<c r="D1" t="inlineStr"><is><t>age</t></is></c>'
        '<c r="C1" t="inlineStr"><is><t>member</t></is></c></row>'
        '<row><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>45443</v></c>'
        '<c r="C2" t="b"><v>1</v></c><c r="D2"><v>31.5</v></c></row>'
        '<row/><row><c r="B4" s="1"><v>45444.5</v></c></row>',
    )
    table = open_table(path)
    assert table.columns == ("name", "day", "member", "age")
    assert table.read().rows() == [
        ("Ann", "2024-05-31", "true", "31.5"),
        (None, "2024-06-01 12:00:00", None, None),
    ]


def test_a_spreadsheet_with_mixed_columns_and_several_sheets(tmp_path):
    """Numbers keep their digits beside texts, texts keep their zeros, blank rows go."""
    frame = pl.DataFrame({"id": ["007", None, "x"], "p": [1 / 3, None, 1.25e-17]})
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as workbook:
        workbook.add_worksheet("nothing")
        sheet = workbook.add_worksheet("scores")
        for j, column in enumerate(frame.iter_columns()):
            sheet.write_string(2, j, column.name)
            for i, value in enumerate(column):
                sheet.write(3 + i, j, value)
        sheet.write(6, 1, "n/a")
    table = open_table(tmp_path / "t.xlsx")
    assert table.notes == (
        "t.xlsx: the sheet 'scores' was read, of 2 sheets. Choose another by its name, as in "
        "'t.xlsx#scores'.",
    )
    with pytest.raises(HeadcountError, match=r"lacks the column 'q'.* the sheet 'scores' was"):
        table.require(["q"], "which we want")
    chosen = open_table(f"{tmp_path / 't.xlsx'}#scores")
    assert (chosen.notes, chosen.columns) == ((), ("id", "p"))
    with pytest.raises(
        HeadcountError, match="has no sheet 'May': its sheets are 'nothing', 's"
    ):
        open_table(f"{tmp_path / 't.xlsx'}#May")
    with pytest.raises(HeadcountError, match="There is no file"):
        open_table(f"{tmp_path / 'u.xlsx'}#May")
    with pytest.raises(HeadcountError, match="which is read as well and would be lost"):
        check_other_file(tmp_path / "t.xlsx", "output", [f"{tmp_path / 't.xlsx'}#scores"])
    rows = table.read().rows()
    assert [row[0] for row in rows] == ["007", "x", None]
    assert [float(row[1]) for row in rows[:2]] == pytest.approx([1 / 3, 1.25e-17], rel=1e-14)
    assert rows[2][1] == "n/a"


def test_spreadsheets_need_their_libraries(tmp_path, monkeypatch):
    write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.xlsx")
    for library in ("fastexcel", "xlsxwriter"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(HeadcountError, match=r"needs fastexcel: pip install"):
        open_table(tmp_path / "t.xlsx")
    with pytest.raises(HeadcountError, match=r"needs xlsxwriter: pip install"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "u.xlsx")


def test_a_file_that_is_named_twice_is_read_once(tmp_path):
    first, second = written(tmp_path, "a.csv"), written(tmp_path, "b.csv")
    (tmp_path / "link.csv").symlink_to(first)
    table = open_tables([first, tmp_path / "*.csv", second])
    assert len(table.read()) == 2 * len(FRAME)
    assert table.notes == ("a.csv, link.csv, b.csv: named more than once, and read once.",)


def test_several_files_patterns_and_folders(tmp_path, monkeypatch):
    for i in range(3):
        (tmp_path / f"2024-{i}.csv").write_text(f"a,b\n{i},x\n")
    (tmp_path / "other.md").write_text("no table")
    pattern = tmp_path / "2024-*.csv"
    for sources in ([pattern], [tmp_path], sorted(tmp_path.glob("*.csv"))):
        table = open_tables(sources)
        assert table.read()["a"].to_list() == ["0", "1", "2"]
        assert [batch["a"].to_list() for batch in table.batches(["a"], 2)]
    (tmp_path / "2024-3.csv").write_text("a,c\n1,2\n")
    with pytest.raises(HeadcountError, match=r"'2024-3.csv' lacks the column 'b'"):
        open_tables([pattern])
    with pytest.raises(HeadcountError, match="No file matches"):
        open_tables([tmp_path / "1999-*.csv"])
    with pytest.raises(HeadcountError, match="is an address"):
        open_tables(["https://example.org/t.csv"])


@pytest.mark.parametrize(
    "content", [b"a;b\n1;x\n", b'[{"a": "1", "b": "x"}]', b'{"a":"1","b":"x"}\n']
)
def test_standard_input(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert open_table("-").read().rows() == [("1", "x")]


def test_names_that_were_meant(tmp_path):
    path = written(tmp_path, "labelled.csv")
    with pytest.raises(HeadcountError, match=r"did you mean 'labelled.csv'\? check the path"):
        open_table(tmp_path / "labeled.csv")
    with pytest.raises(HeadcountError, match=r"did you mean 'b'\? It has 'a', 'b'"):
        open_table(path).require(["B"], "which `target` names")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(HeadcountError, match="no file"):
        open_table(tmp_path / "t.csv")
    with pytest.raises(HeadcountError, match="a folder without tables"):
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


def test_very_many_columns_are_opened_soon(tmp_path):
    names = [f"c{j}" for j in range(50_000)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *[",".join(["1"] * 50_000)] * 2]) + "\n")
    start = process_time()
    table = open_table(path)
    table.require(names, "which we want")
    assert table.count_rows() == 2
    assert process_time() - start < 8
