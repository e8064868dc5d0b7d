"""Tables in files of many kinds, and options that choose the model."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from headcount.tables import roles as label_columns
from tests.cli.conftest import LEARN, customers


def shares(call, *arguments):
    code, out, err = call("estimate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)["overall"]["shares"]


def test_several_files_a_pattern_and_standard_input_give_the_same(files, call, monkeypatch):
    whole = shares(call, *LEARN, "new.csv")
    frame = pl.read_csv("new.csv")
    for i in range(2):
        frame[250 * i : 250 * (i + 1)].write_csv(f"part-{i}.csv")
    assert shares(call, *LEARN, "part-0.csv", "part-1.csv") == pytest.approx(whole)
    assert shares(call, *LEARN, "part-*.csv") == pytest.approx(whole)
    content = (files / "new.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert shares(call, *LEARN, "-") == pytest.approx(whole)


def test_a_file_in_latin_1_with_semicolons(files, call):
    frame = pl.read_csv("new.csv").with_columns(city=pl.lit("Malmö"))
    (files / "new.csv").write_bytes(frame.write_csv(separator=";").encode("latin-1"))
    code, out, _ = call("estimate", *LEARN, "new.csv")
    assert code == 0
    assert "note: new.csv is not UTF-8 and was read as Windows-1252 (Latin-1)." in out


@pytest.mark.parametrize("source", ["https://example.org/new.csv", "s3://bucket/new.csv"])
def test_an_address(files, refused, source):
    assert "is an address: download the file" in refused("estimate", *LEARN, source)


def test_a_mistyped_file_needs_no_heavy_imports(files):
    script = (
        "import sys\nfrom headcount.cli.execute import execute\n"
        f"code = execute(['estimate', 'nwe.csv', *{list(LEARN)!r}])\n"
        "print(code, [m for m in ('numpy', 'polars', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "2 []\n"
    assert "did you mean 'new.csv'?" in done.stderr


def test_names_that_were_meant(files, refused):
    learn = ("--train", "labelled.csv", "--target", "Churn", "new.csv")
    assert "did you mean 'churn'?" in refused("estimate", *learn)
    assert "did you mean 'city'?" in refused("estimate", *LEARN, "new.csv", "--by", "citty")


@pytest.mark.parametrize("name", ["SLD(bcts)", "sld-bcts", "SLD-BCTS"])
def test_names_of_methods_as_they_are_printed(files, call, name):
    code, out, err = call("estimate", *LEARN[:-1], name, "new.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["method"]["settings"]["calibration"] == "'bcts'"


def test_methods_that_explain_names_are_accepted(files, call):
    code, out, _ = call("estimate", *LEARN[:-1], "auto", "new.csv")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("method: "))
    assert line.startswith("method: SLD, GPAC and KDEyML combined. Mean")


def test_boosting_and_the_choice_of_a_classifier(files, call):
    rng = np.random.default_rng(0)

    def rings(n, share):
        y = rng.random(n) < share
        radius = np.where(y, 1.0, 2.0) + rng.normal(0, 0.3, n)
        angle = rng.uniform(0, 2 * np.pi, n)
        return pl.DataFrame(
            {
                "x": (radius * np.cos(angle)).round(4),
                "y": (radius * np.sin(angle)).round(4),
                "kind": np.where(y, "in", "out"),
            }
        )

    rings(600, 0.3).write_csv("labelled.csv")
    rings(400, 0.7).write_csv("new.csv")
    given = ("--train", "labelled.csv", "--target", "kind", "--method", "PACC", "new.csv")
    code, out, err = call(
        "estimate", *given, "--classifier", "auto", "--save", "m.skops", "--json"
    )
    assert code == 0, err
    said = json.loads(out)
    assert any(note.startswith("classifier: boosting, by log loss") for note in said["notes"])
    assert abs(said["overall"]["shares"][0] - said["overall"]["truth"][0]) < 0.05
    assert shares(call, *given, "--classifier", "boosting") == said["overall"]["shares"]
    assert shares(call, "--model", "m.skops", "new.csv") == said["overall"]["shares"]


def test_boosting_and_texts(files, refused, call):
    for name in ("labelled.csv", "new.csv"):
        frame = pl.read_csv(name)
        words = [f"they said {i} words on the {i % 7} th" for i in range(len(frame))]
        frame.with_columns(review=pl.Series(words)).write_csv(name)
    sentence = refused("estimate", *LEARN, "new.csv", "--classifier", "boosting")
    assert "takes no columns of texts" in sentence
    out = call("estimate", *LEARN, "new.csv", "--classifier", "auto")[1]
    assert "classifier: logistic, as there are texts." in out


def test_a_title(files, call):
    code, _, _ = call("estimate", *LEARN, "new.csv", "--title", "Leavers", "--report", "p.html")
    assert code == 0
    assert "Leavers" in (files / "p.html").read_text()


def test_the_class_of_a_single_column_of_scores(files, call):
    rng = np.random.default_rng(0)
    late = rng.random(400) < 0.4
    frame = pl.DataFrame(
        {
            "score": rng.beta(1 + 2 * late, 1 + 2 * ~late).round(5),
            "late": np.where(late, "b", "a"),
        }
    )
    frame.write_csv("scores.csv")
    frame.drop("late").write_csv("new.csv")
    given = ("--scores", "scores.csv", "--target", "late", "--method", "PACC", "new.csv")
    code, out, _ = call("estimate", *given)
    assert code == 0
    assert "Column score was taken for the score of class 'b'" in out


def test_numbers_as_classes_are_ordered(files, call):
    rng = np.random.default_rng(0)
    for name, n, move in (("labelled.csv", 500, 0.0), ("new.csv", 300, 0.5)):
        quality = rng.normal(move, 1, n)
        pl.DataFrame(
            {
                "a": (quality + rng.normal(size=n)).round(3),
                "stars": 1 + np.digitize(quality, [-1, 0, 1]),
            }
        ).write_csv(name)
    given = ("--train", "labelled.csv", "--target", "stars", "new.csv")
    out = call("estimate", *given)[1]
    assert "SLD, GPAC, KDEyML and OrdinalPACC combined for ordered" in out


def test_very_many_labelled_rows_are_sampled(files, call, monkeypatch):
    monkeypatch.setattr(label_columns, "_MOST_ROWS", 200)
    customers(500, 0.6, 2).write_csv("new.csv")
    code, out, _ = call("estimate", *LEARN, "new.csv", "--json")
    assert code == 0
    said = json.loads(out)
    assert said["training"]["items"] == 200
    assert any("Of 600 labelled rows, 200 drawn at random" in note for note in said["notes"])
    again = json.loads(call("estimate", *LEARN, "new.csv", "--json")[1])
    assert again["overall"] == said["overall"]
