"""Datasets that can be downloaded: addresses, terms, and where they are described."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "Source"]


@dataclass(frozen=True)
class Source:
    """Files of a dataset at its publisher.

    Attributes
    ----------
    title : str
        Description.
    page : str
        Page that describes the data and their terms.
    terms : str
        Licence, or what is known of the terms.
    open : bool
        True if the licence allows everybody to use and share the data.
    urls : tuple of str
        Addresses of the files.
    sha256 : dict of str to str
        Checksums by name of the file, as far as they are known.
    """

    title: str
    page: str
    terms: str
    open: bool
    urls: tuple[str, ...]
    sha256: tuple[tuple[str, str], ...] = ()


_UCI = "https://archive.ics.uci.edu"
# Number and name of datasets in the archive of UCI.
_UCI_FILES = {
    "adult": (2, "adult"),
    "cars": (19, "car+evaluation"),
    "contra": (30, "contraceptive+method+choice"),
    "mush": (73, "mushroom"),
    "nurse": (76, "nursery"),
    "spam": (94, "spambase"),
    "yeast": (110, "yeast"),
    "magic": (159, "magic+gamma+telescope"),
    "wine": (186, "wine+quality"),
    "occup": (357, "occupancy+detection"),
}
_ZENODO = "https://zenodo.org/records"
_LEQUA = {"lequa2022": ("6546188", "T1A T1B T2A T2B"), "lequa2024": ("11661820", "T1 T2 T3 T4")}
_LEQUA_KINDS = ("train_dev", "test", "test_prevalences")
_REVIEWS = {"hp": "Harry Potter books", "imdb": "films", "kindle": "Kindle readers"}


def _uci() -> dict[str, Source]:
    return {
        f"uci-{name}": Source(
            f"{title.replace('+', ' ')}, raw files",
            f"{_UCI}/dataset/{number}",
            "CC BY 4.0",
            True,
            (f"{_UCI}/static/public/{number}/{title}.zip",),
        )
        for name, (number, title) in _UCI_FILES.items()
    }


def _lequa() -> dict[str, Source]:
    return {
        f"{year}-{task}": Source(
            f"task {task} of {year.replace('lequa', 'LeQua ')}",
            f"{_ZENODO}/{record}",
            "stated on the page of the record; product reviews of Amazon, as vectors or texts",
            False,
            tuple(f"{_ZENODO}/{record}/files/{task}.{kind}.zip" for kind in _LEQUA_KINDS),
        )
        for year, (record, tasks) in _LEQUA.items()
        for task in tasks.split()
    }


def _texts() -> dict[str, Source]:
    reviews = {
        f"reviews-{name}": Source(
            f"reviews of {what}, positive or negative",
            f"{_ZENODO}/4117827",
            "texts of reviewers; use in research, see the page of the record",
            False,
            tuple(f"{_ZENODO}/4117827/files/{name}_{part}.txt" for part in ("train", "test")),
        )
        for name, what in _REVIEWS.items()
    }
    tweets = Source(
        "sentiment of tweets in eleven collections, as vectors without texts",
        f"{_ZENODO}/4255764",
        "made from tweets, whose texts may not be shared; see the page of the record",
        False,
        (f"{_ZENODO}/4255764/files/tweet_sentiment_quantification_snam.zip",),
    )
    return reviews | {"tweets": tweets}


CATALOGUE = _lequa() | _uci() | _texts()
"""Datasets by name. No checksum is known in advance: that of the first download is recorded."""
