from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from headcount.errors import HeadcountError
from headcount_studies.data.texts import REVIEWS, TWEETS, count_words, load_reviews, load_tweets

TEXTS = [
    "a fine book, a fine read",
    "poor book",
    "fine film; poor end",
    "no words",
    "fine fine",
]


def real_data() -> Path:
    nearby = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("HEADCOUNT_DATA", nearby))
    if not folder.is_dir():
        pytest.skip("there is no folder of datasets: set HEADCOUNT_DATA")
    return folder


def test_words_weigh_as_if_the_training_texts_were_alone() -> None:
    words = count_words(TEXTS)
    train, other = words.tf_idf(np.array([0, 1, 2]), np.array([3, 4]), least=2, count="texts")
    alone = TfidfVectorizer(min_df=2)
    np.testing.assert_allclose(train.toarray(), alone.fit_transform(TEXTS[:3]).toarray())
    np.testing.assert_allclose(other.toarray(), alone.transform(TEXTS[3:]).toarray())


def test_words_are_counted_by_writing_or_by_text() -> None:
    words = count_words(TEXTS)
    rows = np.array([0, 1])
    assert words.tf_idf(rows, least=2, count="words")[0].shape == (2, 2)  # fine, book
    assert words.tf_idf(rows, least=2, count="texts")[0].shape == (2, 1)  # book


def test_training_texts_without_a_frequent_word_are_refused() -> None:
    with pytest.raises(HeadcountError, match="least is 9, but no word"):
        count_words(TEXTS).tf_idf(np.arange(3), least=9)


def blitzer(folder: Path) -> None:
    pl.DataFrame(
        {
            "domain": ["books", "dvd", "electronics", "books", "kitchen"],
            "rating": [1.0, 5.0, 4.0, 1.0, 2.0],
            "text": ["bad", "good", "fair", "bad", " "],
        }
    ).write_parquet(folder / "amazon_blitzer.parquet")


def test_reviews_have_two_groups_and_no_text_twice(tmp_path: Path) -> None:
    blitzer(tmp_path)
    reviews = load_reviews("amazon_blitzer", tmp_path)
    assert reviews.texts.tolist() == ["bad", "good", "fair"]
    assert reviews.stars.tolist() == [1, 5, 4]
    assert reviews.groups is not None
    assert reviews.groups.tolist() == ["media", "media", "goods"]
    assert reviews.pair == ("media", "goods")


def test_ratings_to_ten_become_stars(tmp_path: Path) -> None:
    ratings = [1, 2, 3, 4, 7, 8, 9, 10]
    pl.DataFrame({"rating": ratings, "text": [f"t{r}" for r in ratings]}).write_parquet(
        tmp_path / "imdb50k.parquet"
    )
    reviews = load_reviews("imdb50k", tmp_path)
    assert reviews.stars.tolist() == [1, 1, 2, 2, 4, 4, 5, 5]
    assert reviews.groups is None


def test_unknown_and_missing_datasets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadcountError, match="no dataset of reviews 'imdb': did you mean"):
        load_reviews("imdb", tmp_path)
    with pytest.raises(HeadcountError, match=r"no file 'imdb50k\.parquet'"):
        load_reviews("imdb50k", tmp_path)


def write_tweets(folder: Path) -> None:
    rows = [
        ("semeval2013", "train", "positive", "a"),
        ("semeval2013", "train", "neutral", "b"),
        ("semeval2013", "dev", "negative", "c"),
        ("semeval2013", "test", "negative", "d"),
        ("semeval2014", "test", "positive", "e"),
        ("semeval2014", "test", "negative", "a"),
        ("semeval2014", "sarcasm", "negative", "f"),
        ("hcr", "train", "unsure", "g"),
        *[
            ("omd", "all", label, f"{label} {i}")
            for label in ("tie", "positive")
            for i in range(10)
        ],
        ("omd", "all", "other", "h"),
    ]
    pl.DataFrame(rows, ["dataset", "split", "label", "text"], orient="row").write_parquet(
        folder / "tweets_text8.parquet"
    )


def test_later_semeval_tests_meet_the_training_of_2013(tmp_path: Path) -> None:
    write_tweets(tmp_path)
    tweets = load_tweets("semeval2014", tmp_path)
    found = {part: sorted(tweets.texts[tweets.rows(part)]) for part in np.unique(tweets.splits)}
    # "a" is in the test, too, and stays there alone.
    assert found == {"train": ["b"], "validation": ["c"], "test": ["a", "e"]}


def test_collections_without_parts_are_divided_label_by_label(tmp_path: Path) -> None:
    write_tweets(tmp_path)
    tweets = load_tweets("omd", tmp_path)
    assert set(tweets.labels) == {"neutral", "positive"}
    for part, n in (("train", 6), ("validation", 1), ("test", 3)):
        labels, counts = np.unique(tweets.labels[tweets.rows(part)], return_counts=True)
        assert labels.tolist() == ["neutral", "positive"]
        assert counts.tolist() == [n, n]


def test_real_reviews_are_as_many_as_the_spec_counts_on() -> None:
    folder = real_data()
    for name in REVIEWS:
        # One is large, one is not part of the shared data.
        if name not in ("imdb50k", "amazon_books_electronics"):
            reviews = load_reviews(name, folder)
            assert len(reviews) >= 5000
            assert set(reviews.stars) <= {1, 2, 3, 4, 5}


def test_real_tweets_have_all_labels_in_all_parts() -> None:
    folder = real_data()
    for name in TWEETS:
        tweets = load_tweets(name, folder)
        for part in ("train", "validation", "test"):
            labels, counts = np.unique(tweets.labels[tweets.rows(part)], return_counts=True)
            assert labels.tolist() == ["negative", "neutral", "positive"]
            assert part != "test" or counts.min() >= 100
