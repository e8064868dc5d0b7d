"""The papers' own data, as small files of the same format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import dump_svmlight_file

from headcount.errors import HeadcountError
from headcount_studies.data.sources import needed_files
from headcount_studies.data.texts import (
    VECTOR_TWEETS,
    load_reviews,
    load_tweet_vectors,
    vector_files,
)
from headcount_studies.dataset_shift import experiment as shift
from headcount_studies.engine.run import run_study
from headcount_studies.engine.spec import read_spec
from headcount_studies.tweets import experiment as tweets

COUNTS = {"train": 90, "validation": 60, "test": 150}


def write_vectors(folder: Path, name: str, labels: tuple[int, ...] = (-1, 0, 1)) -> None:
    """Vectors of 12 features: one tells the class, others are noise, the last one is rare."""
    rng = np.random.default_rng(len(name))
    for part, file in vector_files(name).items():
        y = np.repeat(labels, COUNTS[part] // len(labels))
        X = rng.random((len(y), 12)) * (rng.random((len(y), 12)) < 0.5)
        X[:, -1] = 0
        X[0, -1] = 1.0 if part == "train" else 0.0
        for place, label in enumerate(labels):
            X[y == label, place] += 0.8
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        dump_svmlight_file(X, y, str(path), zero_based=False)


def write_reviews(path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 1500
    stars, books = rng.integers(1, 6, n), rng.random(n) < 0.5
    texts = [
        " ".join(
            [f"star{np.clip(star + rng.integers(-1, 2), 1, 5)}" for _ in range(3)]
            + [f"{'book' if book else 'plug'}{rng.integers(5)}", f"unique{i}"]
        )
        for i, (star, book) in enumerate(zip(stars, books, strict=True))
    ]
    table = pl.DataFrame(
        {"text": texts, "stars": stars, "category": np.where(books, "Books", "Electronics")}
    )
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path)


def test_vectors_of_tweets_are_read_by_part(tmp_path: Path) -> None:
    write_vectors(tmp_path, "semeval2014")
    collection, vectors = load_tweet_vectors("semeval2014", tmp_path)
    assert {part: len(collection.rows(part)) for part in COUNTS} == COUNTS
    assert collection.labels[collection.rows("train")][[0, 40, 89]].tolist() == [
        "negative", "neutral", "positive",
    ]  # fmt: skip
    train, test = vectors.tf_idf(collection.rows("train"), collection.rows("test"), least=5)
    assert train.shape == (90, 11)  # without the rare feature
    assert test.shape == (150, 11)


@pytest.mark.parametrize(
    ("name", "part", "file"),
    [
        ("semeval2013", "train", "train/semeval.train.feature.txt"),
        ("semeval2015", "test", "test/semeval15.test.feature.txt"),
        ("semeval2016", "test", "test/semeval16.dev-test.feature.txt"),
        ("semeval2016", "train", "train/semeval16.train.feature.txt"),
        ("gasp", "validation", "test/gasp.dev.feature.txt"),
    ],
)
def test_names_of_files_of_vectors(name: str, part: str, file: str) -> None:
    assert vector_files(name)[part] == f"tweet_sentiment_quantification_snam/{file}"


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    write_vectors(tmp_path, "wa", (0, 1))
    with pytest.raises(HeadcountError, match="have 2 labels"):
        load_tweet_vectors("wa", tmp_path)
    path = tmp_path / vector_files("wa")["test"]
    path.write_text("positive 1:0.5\n")
    with pytest.raises(HeadcountError, match=r"cannot be read.*download"):
        load_tweet_vectors("wa", tmp_path)
    spec = read_spec("tweets-vectors").restricted(datasets=["wa"])
    statuses = {file.file: file.status for file in needed_files(spec, tmp_path)}
    assert statuses[vector_files("wa")["test"]].startswith("damaged: line 1")
    assert statuses[vector_files("wa")["train"]] == "there"


def test_the_study_of_tweets_runs_on_vectors(tmp_path: Path) -> None:
    for name in ("gasp", "wb"):
        write_vectors(tmp_path, name)
    spec = read_spec("tweets-vectors")
    assert spec.datasets == VECTOR_TWEETS
    small = replace(
        spec.restricted(datasets=["gasp", "wb"], methods=["CC", "SLD"]),
        protocol=spec.protocol | {"step": 0.5, "repeats": 3, "size": 30},
        selection=spec.selection | {"C": [0.1, 10.0], "repeats": 2, "size": 30},
    )
    store = run_study(small, tmp_path / "store", data=tmp_path, workers=1).store
    results = store.results()
    assert results["failure"].null_count() == results.height
    means = dict(results.group_by("method").agg(pl.col("ae").mean()).iter_rows())
    assert means["SLD"] < means["CC"] < 0.3
    assert [rows[0]["test"] for rows in store.descriptions.values()] == [150, 150]
    titles = [section.title for section in tweets.sections(small, results, None)]
    assert "Estimated and true shares" in titles


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_papers_reviews_are_read(tmp_path: Path, ending: str) -> None:
    load_reviews.cache_clear()
    write_reviews(tmp_path / f"amazon_books_electronics.{ending}")
    spec = read_spec("dataset-shift-amazon")
    (file,) = needed_files(spec, tmp_path)
    assert (file.file, file.status) == (f"amazon_books_electronics.{ending}", "there")
    reviews = load_reviews("amazon_books_electronics", tmp_path)
    assert reviews.pair == ("books", "electronics")
    assert set(reviews.groups) == {"books", "electronics"}
    shares = shift.describe(spec, "amazon_books_electronics", tmp_path)
    assert [row["reviews"] for row in shares] == ["all", "books", "electronics"]
    load_reviews.cache_clear()


def test_the_study_of_shift_runs_on_the_papers_reviews(tmp_path: Path) -> None:
    load_reviews.cache_clear()
    write_reviews(tmp_path / "amazon_books_electronics.csv")
    spec = read_spec("dataset-shift-amazon").quickened()
    sizes = {"amazon_books_electronics": [60, 30]}
    protocol = {
        key: value | {"sizes": sizes} if isinstance(value, dict) else value
        for key, value in spec.protocol.items()
    }
    small = replace(
        spec.restricted(methods=["CC", "PACC"]),
        protocol=protocol,
        selection=spec.selection | {"C": [1.0], "class_weight": ["none"]},
    )
    store = run_study(small, tmp_path / "store", data=tmp_path, workers=1).store
    results = store.results()
    assert set(results["protocol"]) == {
        "prior", "prior-exchanged", "global", "local", "local-control", "concept", "forced",
    }  # fmt: skip
    assert results["failure"].null_count() == results.height
    load_reviews.cache_clear()


def test_reviews_without_a_column_are_refused(tmp_path: Path) -> None:
    load_reviews.cache_clear()
    path = tmp_path / "amazon_books_electronics.csv"
    path.write_text("text,stars\ngood,5\n")
    (file,) = needed_files(read_spec("dataset-shift-amazon"), tmp_path)
    assert file.status == "damaged: it has no column 'category'"
    with pytest.raises(HeadcountError, match="must have the columns text, stars, category"):
        load_reviews("amazon_books_electronics", tmp_path)
    load_reviews.cache_clear()


@pytest.mark.parametrize("name", ["tweets-vectors", "dataset-shift-amazon", "lequa2024"])
def test_an_empty_folder_ends_in_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(HeadcountError, match=f"headcount study data {name}") as raised:
        run_study(name, tmp_path / "store", data=tmp_path, workers=1)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "store").exists()
