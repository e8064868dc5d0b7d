from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.tables import Analysis
from headcount.tables.tags import TagAnalysis

TRAIN = ("--train", "labelled.csv", "--method", "PACC")


def reviews(n, shares, seed):
    rng = np.random.default_rng(seed)
    tags = rng.random((n, 2)) < shares
    words = [["late", "parcel", "courier"], ["costly", "euro", "cheap"]]
    texts = []
    for own in tags:
        chosen = list(rng.choice(["shop", "order", "again", "today"], 5))
        for has, own_words in zip(own, words, strict=True):
            chosen += list(rng.choice(own_words, 2)) if has else []
            chosen += [rng.choice(own_words)] if rng.random() < 0.2 else []
        texts.append(" ".join(chosen))
    return pl.DataFrame(
        {
            "text": texts,
            "month": np.where(np.arange(n) % 2, "2025-01", "2025-02"),
            "tag_late": tags[:, 0].astype(int),
            "tag_dear": np.where(tags[:, 1], "yes", "no"),
            "tag_never": 0,
        }
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reviews(300, [0.3, 0.4], 0).write_csv("labelled.csv")
    reviews(200, [0.6, 0.2], 1).drop("^tag_.*$").write_csv("new.csv")
    return tmp_path


def test_a_pattern_gives_one_share_per_tag(files, call):
    code, out, err = call("estimate", "new.csv", *TRAIN, "--target", "tag_*")
    assert code == 0, err
    truth = reviews(200, [0.6, 0.2], 1)
    for tag, share in (("tag_late", truth["tag_late"].mean()),
                       ("tag_dear", truth["tag_dear"].eq("yes").mean())):  # fmt: skip
        row = next(line for line in out.splitlines() if line.startswith(tag))
        low, high = (float(cell.rstrip("%")) / 100 for cell in row.split()[2:4])
        assert low - 0.02 <= share <= high + 0.02
    assert "tag_never of labelled.csv" in out  # left out, with a note
    assert "60" in out.splitlines()[0] or "tag_late" in out.splitlines()[0]


def test_json_has_one_entry_per_tag_with_groups(files, call):
    arguments = ("new.csv", *TRAIN, "--target", "tag_*", "--by", "month")
    code, out, err = call("estimate", *arguments, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [each["tag"] for each in found["tags"]] == ["tag_late", "tag_dear"]
    assert [each["group"] for each in found["tags"][0]["groups"]] == ["2025-01", "2025-02"]
    assert found["columns"]["month"].startswith("left out") or "groups" in str(found["columns"])
    code, out, err = call("estimate", *arguments, "--output", "shares.csv", "--verbose",
                          "--report", "page.html")  # fmt: skip
    assert code == 0, err
    frame = pl.read_csv("shares.csv")
    assert frame.columns[:3] == ["group", "tag", "share"]
    assert len(frame) == 6
    page = (files / "page.html").read_text()
    assert "tag_late" in page
    assert "Over time" in page


def test_true_tags_of_new_items_are_shown(files):
    found = hc.analyse(
        reviews(200, [0.6, 0.2], 1), train="labelled.csv", target="tag_*", method="PACC"
    )
    assert isinstance(found, TagAnalysis)
    frame = found.to_frame()
    assert frame["truth"].null_count() == 0
    assert "true share" in str(found)
    assert "<table" in found._repr_html_()
    assert found.plot() is not None
    with pytest.raises(HeadcountError, match="cannot be saved"):
        found.save("model.skops")


def test_rows_without_a_tag_are_left_out_with_a_note(files):
    train = reviews(300, [0.3, 0.4], 0)
    gaps = train.with_columns(tag_late=pl.when(pl.int_range(300) > 9).then("tag_late"))
    found = hc.analyse("new.csv", train=gaps, target="tag_*", method="CC")
    assert any("10 of 300 rows of train lack a tag" in note for note in found.notes)


def test_a_column_with_a_strange_name_is_no_pattern(files):
    train = reviews(300, [0.3, 0.4], 0).rename({"tag_late": "late[1]"})
    found = hc.analyse("new.csv", train=train.drop("^tag_.*$"), target="late[1]", method="CC")
    assert isinstance(found, Analysis)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "label_*"), "'label_*'"),
        (("--target", "t*"), "Column 'text' of 'labelled.csv' has values such as"),
        (("--target", "tag_n*"), "fewer than 2 rows with, or without, each of the tags"),
        (("--target", "tag_*", "--classifier", "auto"), "chooses for one target"),
        (("--target", "tag_*", "--method", "HDx"), "has no classifier"),
        (("--target", "tag_*", "--random-labels"), "--random-labels is for one target"),
        (("--target", "tag_*", "--save", "m.skops"), "2 tags cannot be saved"),
    ],
)
def test_bad_calls_are_refused_in_a_sentence(files, refused, arguments, message):
    assert message in refused("estimate", "new.csv", *TRAIN, *arguments)


def monthly(n, months, late, dear, seed):
    """Reviews of some months in which the shares of both tags are those of each month."""
    parts = [
        reviews(n, [late[i], dear[i]], seed + i).with_columns(month=pl.lit(f"2025-{month:02d}"))
        for i, month in enumerate(months)
    ]
    return pl.concat(parts)


def test_tags_follow_what_held_in_labelled_months():
    mix = [0.1, 0.7, 0.3, 0.8, 0.2, 0.6]
    labelled = monthly(100, range(1, 7), mix, mix[::-1], 0)
    new = monthly(100, (7, 8), [0.75, 0.2], [0.3, 0.7], 50)
    found = hc.analyse(new, train=labelled, target="tag_*", method="SLD(bcts)", by="month")
    for tag in ("tag_late", "tag_dear"):
        analysis = found.analyses[tag]
        assert analysis.overall.estimate.basis == "history"
        assert any(note.startswith(f"{tag}: On 3 labelled months") for note in found.notes)
        for item in analysis.groups:
            assert item.low[1] - 0.03 <= item.truth[1] <= item.high[1] + 0.03
            assert item.in_labelled is None
    alone = hc.analyse(new, train=labelled, target="tag_*", by="month", history="no")
    assert alone.first.overall.estimate.basis == "prior shift"


def test_tags_without_labelled_groups_contain_both_readings(files):
    found = hc.analyse("new.csv", train=reviews(300, [0.3, 0.4], 0).drop("month"),
                       target="tag_*", method="PACC")  # fmt: skip
    assert found.first.overall.estimate.basis == "no history: two readings"
    with pytest.raises(HeadcountError, match="has no labelled groups"):
        hc.analyse("new.csv", train="labelled.csv", target="tag_*", history="yes")
