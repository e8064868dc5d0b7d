from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headcount.errors import HeadcountError
from headcount_studies.data.folder import data_folder
from headcount_studies.data.tables import (
    RECIPES,
    SIZES,
    Cut,
    Labels,
    dataset_file,
    dataset_names,
    load_dataset,
)


def write(folder: Path, name: str, table: dict[str, list]) -> None:
    import gzip

    with gzip.open(folder / f"{name}.csv.gz", "wb") as file:
        file.write(pl.DataFrame(table).write_csv().encode())


def real_folder() -> Path | None:
    named = os.environ.get("HEADCOUNT_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    return folder if (folder / "wine.csv.gz").is_file() else None


# Rows, and items of the classes of two, as the sources of the data state them. (The paper's
# table of datasets counts rows before some are dropped for vgame, and the target among the
# features for about half of the datasets; adult, cappl and dota have 89, 44 and 116 there.)
STATED = {
    "adult": (45222, [34014, 11208]),
    "alco": (1044, [453, 591]),
    "avila": (20867, [8572, 12295]),
    "bc-cat": (569, [357, 212]),
    "bc-cont": (683, [444, 239]),
    "bike": (17379, [7035, 10344]),
    "cappl": (653, [357, 296]),
    "cars": (1728, [1210, 518]),
    "ccard": (30000, [23364, 6636]),
    "conc": (1030, [523, 507]),
    "contra": (1473, [629, 844]),
    "diam": (53940, [32389, 21551]),
    "drugs": (1885, [982, 903]),
    "ener": (19735, [10744, 8991]),
    "fifa": (14751, [7941, 6810]),
    "flare": (1066, [884, 182]),
    "magic": (19020, [6688, 12332]),
    "mush": (8124, [3916, 4208]),
    "music": (1059, [585, 474]),
    "musk": (6598, [5581, 1017]),
    "nurse": (12960, [4320, 8640]),
    "occup": (20560, [15810, 4750]),
    "phish": (11055, [4898, 6157]),
    "spam": (4601, [2788, 1813]),
    "study": (1000, [507, 493]),
    "turk": (5820, [2219, 3601]),
    "vgame": (6825, [3439, 3386]),
    "wine": (6497, [2384, 4113]),
    "yeast": (1484, [1021, 463]),
}


@pytest.mark.skipif(real_folder() is None, reason="the datasets are not here")
@pytest.mark.parametrize("name", STATED)
def test_prepared_datasets_have_the_stated_sizes(name):
    dataset = load_dataset(name, folder=real_folder())
    rows, counts = STATED[name]
    assert len(dataset) == rows
    assert dataset.counts.tolist() == counts
    assert dataset.X.shape == SIZES[name]
    assert np.isfinite(dataset.X).all()
    assert np.abs(dataset.X).max() <= 1


@pytest.mark.skipif(real_folder() is None, reason="the datasets are not here")
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("conc", [197, 326, 507]),
        ("contra", [629, 333, 511]),
        ("drugs", [982, 469, 434]),
        ("nurse", [4320, 4596, 4044]),
        ("turk", [775, 1444, 3601]),
        ("wine", [246, 2138, 2836, 1277]),
        ("yeast", [463, 429, 244, 163]),
        ("yeast-5", [463, 429, 244, 163, 185]),
        ("diam", [18598, 13791, 21551]),
    ],
)
def test_classes_of_more_than_two(name, counts):
    assert load_dataset(name, "multiclass", real_folder()).counts.tolist() == counts


def test_texts_become_a_column_a_value_and_numbers_are_scaled(tmp_path):
    write(
        tmp_path,
        "study",
        {
            "gender": ["f", "m", "m", "f"],
            "math score": [0, 66, 67, 100],
            "reading score": [10, -40, 20, 30],
        },
    )
    dataset = load_dataset("study", folder=tmp_path)
    assert dataset.feature_names == ("gender=f", "gender=m", "reading score")
    assert dataset.y.tolist() == [0, 0, 1, 1]
    assert dataset.X.tolist() == [[1, 0, 0.25], [0, 1, -1], [0, 1, 0.5], [1, 0, 0.75]]
    assert dataset.categorical.tolist() == [True, True, False]


def test_binned_features_are_cut_at_quartiles_and_categories_kept(tmp_path):
    numbers = [1, 2, 3, 4, 5, 6, 7, 8]
    write(
        tmp_path,
        "study",
        {"gender": list("fmfmfmfm"), "math score": numbers, "reading score": numbers[::-1]},
    )
    binned = load_dataset("study", folder=tmp_path).binned()
    assert binned[:, 2].tolist() == [3, 3, 2, 2, 1, 1, 0, 0]
    assert binned[:, 0].tolist() == [1, 0] * 4


def test_a_feature_that_is_mostly_zero_keeps_two_bins(tmp_path):
    write(
        tmp_path,
        "study",
        {"math score": [1, 99] * 4, "reading score": [0, 0, 0, 0, 0, 0, 0, 9], "a": range(8)},
    )
    dataset = load_dataset("study", folder=tmp_path)
    assert dataset.binned()[:, 0].tolist() == [0] * 7 + [1]


def test_rows_with_missing_values_or_outside_the_classes_are_left_out(tmp_path):
    write(tmp_path, "conc", {"comp1": [1.0, None, 3.0, 4.0], "strength": [10, 20, 0, 40]})
    dataset = load_dataset("conc", folder=tmp_path)
    assert dataset.y.tolist() == [0, 1]
    assert dataset.X.tolist() == [[0.25], [1.0]]


def test_rows_of_vgame_miss_nothing_even_in_columns_that_are_dropped(tmp_path):
    table = {
        "Name": ["a", None, "c"], "Publisher": ["x"] * 3, "Global_Sales": [1.0] * 3,
        "Developer": ["y"] * 3, "Critic_Score": [50, 60, 90], "NA_Sales": [1.0, 2.0, 4.0],
    }  # fmt: skip
    write(tmp_path, "vgame", table)
    assert load_dataset("vgame", folder=tmp_path).X.tolist() == [[0.25], [1.0]]


def test_numbers_out_of_the_texts_of_fifa(tmp_path):
    dropped = {
        name: ["-"] * 2
        for name in (
            "Unnamed: 0", "ID", "Name", "Photo", "Flag", "Loaned From", "Club", "Club Logo",
            "Real Face", "Nationality", "Release Clause", "Value", "Jersey Number",
        )
    }  # fmt: skip
    write(
        tmp_path,
        "fifa",
        dropped
        | {
            "Wage": ["€1K", "€565K"],
            "Joined": ["Jul 1, 2004", "Jul 10, 2016"],
            "Contract Valid Until": ["2021", "Jun 30, 2019"],
            "Height": ["5'10", "6'2"],
            "Weight": ["150lbs", "200lbs"],
            "LS": ["88+2", "40+5"],
            "Position": ["GK", "RF"],
        },
    )
    dataset = load_dataset("fifa", folder=tmp_path)
    columns = dict(zip(dataset.feature_names, dataset.X.T.round(4).tolist(), strict=True))
    assert dataset.y.tolist() == [0, 1]
    assert columns == {
        "Joined": [1, 0.1429],
        "Contract Valid Until": [1, 0.3333],
        "Height": [0.9459, 1],
        "Weight": [0.75, 1],
        "LS": [1, 0.5],
        "Position=GK": [1, 0],
        "Position=RF": [0, 1],
    }


def test_peculiar_columns_of_flare_and_mush(tmp_path):
    flare = {f"att{i}": ["A", "B"] for i in (1, 2, 3)}
    flare |= {f"att{i}": [1, 2] for i in (4, 5, 6, 7, 8, 9)} | {"att10": [1, 1]}
    write(tmp_path, "flare", flare | {"C": [0, 3], "M": [0, 0], "X": [0, 0]})
    dataset = load_dataset("flare", folder=tmp_path)
    assert dataset.y.tolist() == [0, 1]
    assert dataset.X[:, dataset.feature_names.index("att7")].tolist() == [1, 0]
    mush = {"result": ["e", "p"], "ring-number": ["o", "t"], "stalk-root": ["?", "b"]}
    write(tmp_path, "mush", mush)
    assert load_dataset("mush", folder=tmp_path).X.tolist() == [[0.5], [1.0]]


def test_what_cannot_be_loaded_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(HeadcountError, match=r"no file 'wine\.csv\.gz'"):
        load_dataset("wine", folder=tmp_path)
    with pytest.raises(HeadcountError, match="no dataset 'whine'"):
        load_dataset("whine", folder=tmp_path)
    with pytest.raises(HeadcountError, match="no dataset 'whine'"):
        dataset_file("whine", tmp_path)
    with pytest.raises(HeadcountError, match="two classes only"):
        load_dataset("spam", "multiclass", tmp_path)
    with pytest.raises(HeadcountError, match="does not exist"):
        data_folder(tmp_path / "nowhere")
    assert not dataset_file("wine", tmp_path).is_file()


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADCOUNT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("HEADCOUNT_DATA")
    with pytest.raises(HeadcountError, match="HEADCOUNT_DATA"):
        data_folder()


def test_recipes_have_as_many_classes_as_the_task():
    assert all(RECIPES[name].binary.n_classes == 2 for name in dataset_names())
    multiclass = [RECIPES[name].multiclass for name in dataset_names("multiclass")]
    assert all(rule is not None and rule.n_classes > 2 for rule in multiclass)


def test_rules_of_classes():
    assert Cut((0, 1, 3)).codes(pl.Series([1.0, 1.5, 3.0, 3.1, 0.0])).tolist() == [
        0,
        1,
        1,
        -1,
        -1,
    ]
    assert Labels({"a": 0, "b": 1}).codes(pl.Series(["b", "c", "a"])).tolist() == [1, -1, 0]
    assert Labels({"a": 0}, otherwise=1).n_classes == 2
