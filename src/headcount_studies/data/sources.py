"""Files that the built-in studies read: their layout, where they come from, and a check."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from headcount.errors import HeadcountError
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import dataset_files, relative_name


@dataclass(frozen=True)
class FileLayout:
    """Content of a file, and its publisher."""

    what: str
    source: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class NeededFile:
    """A file of a study: "there", "missing", or what is wrong with it."""

    file: str
    datasets: str
    status: str
    what: str
    source: str


_UCI = "UCI Machine Learning Repository, https://archive.ics.uci.edu, CC BY 4.0"
_PARQUET = "Parquet, one row per text, with the columns"
_LAYOUTS = {
    "imdb50k.parquet": FileLayout(
        f"{_PARQUET} split (train, test), label (pos, neg), rating (1 to 10), text.",
        "Large Movie Review Dataset, https://ai.stanford.edu/~amaas/data/sentiment",
        ("split", "label", "rating", "text"),
    ),
    "reuters21578.parquet": FileLayout(
        f"{_PARQUET} lewissplit (TRAIN, TEST), topics (separated by |), title, body.",
        "Reuters-21578, https://archive.ics.uci.edu/dataset/137",
        ("lewissplit", "topics", "title", "body"),
    ),
    "newsgroups20.parquet": FileLayout(
        f"{_PARQUET} split (train, test), Category, Text; divided by date.",
        "20 Newsgroups, http://qwone.com/~jason/20Newsgroups",
        ("split", "Category", "Text"),
    ),
    "_py3.pkl": FileLayout(
        "RCV1 as scikit-learn keeps it: fetch_rcv1(data_home=FOLDER) downloads it.",
        "Reuters Corpus Volume I, version 2, by scikit-learn from https://figshare.com",
    ),
    ".npz": FileLayout(
        "NumPy archive with logits (items x classes) and labels of images, of one network.",
        "https://github.com/kwekuka/wasscal, or any network in this layout",
    ),
    "tweets_text8.parquet": FileLayout(
        f"{_PARQUET} dataset, split (train, dev, test, devtest), label, text.",
        "texts of the collections, as far as their publishers share them; the paper's vectors, "
        "without texts: https://zenodo.org/records/4255764",
        ("dataset", "split", "label", "text"),
    ),
    ".feature.txt": FileLayout(
        "Vectors of tweets in the svmlight format: class, then index:value. Unzip the "
        "publisher's file here.",
        "https://zenodo.org/records/4255764, or headcount_studies.datasets.fetch('tweets')",
    ),
    "amazon_books_electronics": FileLayout(
        f"{_PARQUET} text, stars (1 to 5), category (books, electronics). A CSV with these "
        "columns, .csv or .csv.gz, is read as well.",
        "the paper's reviews, https://zenodo.org/records/8421611, in one table",
        ("text", "stars", "category"),
    ),
    "amazon_5cat_small.parquet": FileLayout(
        f"{_PARQUET} reviewText, overall (1 to 5).",
        "reviews of Amazon; the paper's own: https://zenodo.org/records/8421611",
        ("reviewText", "overall"),
    ),
    "amazon_blitzer.parquet": FileLayout(
        f"{_PARQUET} text, rating (1 to 5), domain (books, dvd, electronics, kitchen).",
        "Multi-Domain Sentiment Dataset, https://www.cs.jhu.edu/~mdredze/datasets/sentiment",
        ("text", "rating", "domain"),
    ),
    "womens_clothing_reviews.parquet": FileLayout(
        f"{_PARQUET} Review Text, Rating (1 to 5), Department Name.",
        "Women's E-Commerce Clothing Reviews, Kaggle, CC0",
        ("Review Text", "Rating", "Department Name"),
    ),
    "label_map.txt": FileLayout(
        "A task of LeQua, T1/public/... to T4/public/..., or the organisers' zips as they are.",
        "https://zenodo.org/records/11661820, or headcount_studies.datasets.fetch",
    ),
    ".csv.gz": FileLayout(
        "CSV, compressed, with the columns as they are published and a header.",
        f"{_UCI}, and the repositories that the paper names",
    ),
    ".parquet": FileLayout(
        "Parquet: numeric features and a column label; classes with at least 100 items.",
        _UCI,
        ("label",),
    ),
}


def needed_files(spec: Spec, data: Path | None) -> list[NeededFile]:
    """Files of a study, each with its status in a folder of datasets.

    >>> from headcount_studies import read_spec
    >>> [file.status for file in needed_files(read_spec("tweets"), Path("/nowhere"))]
    ['missing']
    """
    folder = Path() if data is None else data
    files = dataset_files(spec, folder)
    if files is None:
        raise HeadcountError(
            f"The kind of study {spec.kind!r} does not say which files it reads."
        )
    users: dict[Path, list[str]] = {}
    for name, paths in files.items():
        for path in paths:
            users.setdefault(path, []).append(name)
    needed = []
    for path, names in users.items():
        layout = _layout(path)
        shown, status = relative_name(path, folder), _status(path, layout)
        needed.append(NeededFile(shown, ", ".join(names), status, layout.what, layout.source))
    return needed


def _layout(path: Path) -> FileLayout:
    for ending, layout in _LAYOUTS.items():
        if path.name.endswith((ending, f"{ending}.gz")) or path.name.startswith(f"{ending}."):
            return layout
    return FileLayout("A table of your own, as the spec describes it.", "you")


_VECTOR = re.compile(rb"[+-]?\d+(\.\d*)?( +\d+:\S+)* *\r?\n?")


def _status(path: Path, layout: FileLayout) -> str:
    """State of a file: of a Parquet file its columns are read, of others nothing."""
    if not path.is_file():
        return "missing"
    if not path.stat().st_size:
        return "damaged: it is empty"
    if path.name.endswith(".feature.txt"):
        with open(path, "rb") as file:
            fits = _VECTOR.fullmatch(file.readline())
        return "there" if fits else "damaged: line 1 is not in svmlight's format"
    if path.suffix != ".parquet" and not layout.columns:
        return "there"
    try:
        if path.suffix == ".parquet":
            columns: Iterable[str] = pl.read_parquet_schema(path)
        else:
            columns = pl.read_csv(path, n_rows=1).columns
    except (OSError, pl.exceptions.PolarsError):
        kind = "a Parquet file" if path.suffix == ".parquet" else "a table in CSV"
        return f"damaged: it is not {kind}"
    lacking = [name for name in layout.columns if name not in columns]
    return f"damaged: it has no column {lacking[0]!r}" if lacking else "there"
