"""Saved models: equal estimates, and no file whose arrays were changed does harm."""

from __future__ import annotations

import io
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest
import skops.io
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import headcount as hc
from headcount.tables.model_files import load_model, save_model
from headcount.tables.models import ScoreModel, fit_score_model, fit_table_model
from headcount.tables.readers import frame_table
from headcount.tables.roles import read_labelled

WORDS = np.array(["late", "broken", "refund", "fast", "lovely", "thanks"])
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "margins": LinearSVC(),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(2, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(2, max_depth=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=2, max_depth=2, random_state=0),
}
ON_FEATURES = ("HDx", "ED", "PWK", "QF", "ReadMe", "SVMQ", "Median")
ON_SCORES = ("auto", "CC", "SLD", "KDEyML", "EDy", "DyS", "MS2", "ContinuousSweep", "Ensemble")


def table(n, seed, n_classes=2):
    """Numbers, flags, dates, categories (some rare) and texts."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
    city = rng.choice(
        ["Rome", "Oslo", "Bern", "Ulm", "Bonn"], n, p=[0.5, 0.44, 0.02, 0.02, 0.02]
    )
    frame = pl.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.02, np.nan, rng.normal(40 + 12 * y, 10)),
            "city": np.where(rng.random(n) < 0.2 * y, "Oslo", city),
            "member": rng.random(n) < 0.4 + 0.2 * (y == 0),
            "day": days.astype(str),
            "class": [f"class {code}" for code in y],
        }
    ).with_columns(pl.col("age").fill_nan(None))
    said = [" ".join(WORDS[rng.integers(6, size=5)]) for _ in range(n)]
    return frame.with_columns(pl.Series("said", said))


def labelled(frame):
    return read_labelled(frame_table(frame, "train"), "class")


def fitted(method, classifier="logistic", n_classes=2):
    frame = table(80, 1, n_classes)
    if classifier in ("bayes", "boosting"):  # they take no sparse features
        frame = frame.drop("city", "said")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.HeadcountWarning)
        return fit_table_model(
            labelled(frame),
            "class",
            method=method,
            classifier=CLASSIFIERS[classifier],
        )


def fitted_on_scores(method):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    evidence = np.exp(rng.normal(size=(60, 3)) + 2 * np.eye(3)[y])
    posteriors = evidence / evidence.sum(axis=1, keepdims=True)
    frame = pl.DataFrame(posteriors, schema=["0", "1", "2"]).with_columns(pl.Series("class", y))
    return fit_score_model(labelled(frame), "class", method=method)


def shares_of(model):
    """Shares of the classes in a new table."""
    if isinstance(model, ScoreModel):
        new = pl.DataFrame({"0": [0.5, 0.2, 0.1], "1": [0.5, 0.1, 0.3], "2": [0.0, 0.7, 0.6]})
    else:
        new = table(40, 2)
    items, _ = model.items(frame_table(new, "new"))
    return model.quantifier.predict(items)


def packed(model, folder):
    save_model(model, folder / "m.skops")
    return (folder / "m.skops").read_bytes()


def loaded(content, folder):
    (folder / "m.skops").write_bytes(content)
    return load_model(folder / "m.skops")


MODELS = (
    [(method, "logistic", 2) for method in (*ON_SCORES, *ON_FEATURES)]
    + [("SLD", classifier, 2) for classifier in CLASSIFIERS if classifier != "logistic"]
    + [("DyS", "logistic", 3), ("KDEyML", "forest", 3), ("SLD", "margins", 3)]
)
each_model = pytest.mark.parametrize(("method", "classifier", "n_classes"), MODELS)


@each_model
def test_a_saved_model_gives_the_same_shares(tmp_path, method, classifier, n_classes):
    model = fitted(method, classifier, n_classes)
    again = loaded(packed(model, tmp_path), tmp_path)
    assert np.array_equal(shares_of(again), shares_of(model))


@pytest.mark.parametrize("method", ["auto", "CC", "EDy", "OrdinalPACC"])
def test_a_saved_model_of_scores_gives_the_same_shares(tmp_path, method):
    model = fitted_on_scores(method)
    again = loaded(packed(model, tmp_path), tmp_path)
    assert np.array_equal(shares_of(again), shares_of(model))


@pytest.mark.parametrize("classifier", [KNeighborsClassifier(), SVC()])
def test_a_classifier_whose_state_is_not_checked_is_not_saved(tmp_path, classifier):
    model = fit_table_model(labelled(table(80, 1)), "class", method="CC", classifier=classifier)
    with pytest.raises(hc.HeadcountError, match="cannot be saved safely"):
        save_model(model, tmp_path / "m.skops")
    assert not (tmp_path / "m.skops").exists()


def mutations(array):
    """Arrays of another shape, type or content."""
    yield array[None]
    yield array.ravel()
    if array.ndim:
        yield from (array[:0], array[: len(array) // 2], np.concatenate([array, array]))
    if array.ndim == 2:
        yield from (np.ascontiguousarray(array[:, :1]), np.ascontiguousarray(array.T))
    if array.dtype.names:
        yield np.zeros(array.shape)
        for name in array.dtype.names:
            for value in _values(array.dtype[name]):
                changed = array.copy()
                changed[name] = value
                yield changed
        return
    for value in _values(array.dtype):
        yield np.full_like(array, value)
        if array.size > 1:
            changed = array.copy()
            changed.flat[-1] = value
            yield changed
    for dtype in ("f4", "i4", "i8", "u1", "U3", "c16", "?"):
        with np.errstate(all="ignore"):
            if dtype == "U3" or array.dtype.kind in "fiub":
                yield array.astype(dtype)


def _values(dtype):
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return [limits.max, limits.min, min(limits.max, 10**6), limits.max - 1, 3]
    return [dtype.type()]


def forged(content, seed, most):
    """Archives in which one array is another, up to a number; checksums are right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    changes = [
        (name, changed)
        for name, part in parts.items()
        if name.endswith(".npy")
        for changed in mutations(np.load(io.BytesIO(part)))
    ]
    for number in np.random.default_rng(seed).permutation(len(changes))[:most]:
        name, changed = changes[number]
        buffer, made = io.BytesIO(), io.BytesIO()
        np.save(buffer, changed)
        with zipfile.ZipFile(made, "w") as archive:
            for each, part in parts.items():
                archive.writestr(each, buffer.getvalue() if each == name else part)
        yield made.getvalue()


def check_harmless(content, folder):
    """One error, or shares on the simplex; warnings of numpy are errors in tests."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.HeadcountWarning)
            shares = shares_of(loaded(content, folder))
    except hc.HeadcountError:
        return
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)


def found_types_once(content, monkeypatch):
    """Take the types in an archive for those of others that differ in arrays only."""
    types = skops.io.get_untrusted_types(data=content)
    monkeypatch.setattr(skops.io, "get_untrusted_types", lambda data: types)


@each_model
def test_changed_arrays_do_no_harm(tmp_path, monkeypatch, method, classifier, n_classes):
    content = packed(fitted(method, classifier, n_classes), tmp_path)
    found_types_once(content, monkeypatch)
    for each in forged(content, 0, 20 if classifier != "logistic" else 5):
        check_harmless(each, tmp_path)


@pytest.mark.parametrize("method", ["auto", "CC", "EDy"])
def test_changed_arrays_of_scores_do_no_harm(tmp_path, monkeypatch, method):
    content = packed(fitted_on_scores(method), tmp_path)
    found_types_once(content, monkeypatch)
    for each in forged(content, 0, 10):
        check_harmless(each, tmp_path)


def test_damaged_files_are_refused_or_read_as_they_were(tmp_path):
    model = fitted("SLD")
    content = packed(model, tmp_path)
    rng = np.random.default_rng(0)
    for position in rng.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.integers(8)
        try:
            again = loaded(bytes(damaged), tmp_path)
        except hc.HeadcountError:
            continue
        assert np.array_equal(shares_of(again), shares_of(model))
    for length in rng.integers(len(content), size=20):
        with pytest.raises(hc.HeadcountError):
            loaded(content[:length], tmp_path)
