from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.errors import HeadcountError
from headcount_studies import datasets
from headcount_studies.data.lequa import TASKS, cached_vectors, find_files, find_task
from headcount_studies.data.lequa_generator import generate, make_sampler
from tests.studies.lequa_folders import make_task, make_texts, make_zips


@pytest.fixture
def folder(tmp_path):
    make_task(tmp_path)
    return tmp_path


def slow_vectors(path):
    """Numbers of a file, read line by line."""
    lines = path.read_text().splitlines()[1:]
    return np.array([[float(field) for field in line.split(",")] for line in lines])


def test_items_and_samples_are_those_of_the_files(folder):
    data = datasets.lequa(folder, "T1")
    public = folder / "T1" / "public"
    raw = slow_vectors(public / "training_data.txt")
    np.testing.assert_array_equal(data.X, raw[:, 1:])
    np.testing.assert_array_equal(data.y, raw[:, 0])
    assert data.X.dtype == np.float64
    assert data.class_names == ["negative", "positive"]
    for name, part in (("dev", data.dev), ("test", data.test)):
        wanted = [
            slow_vectors(public / f"{name}_samples" / f"{i}.txt") for i in range(len(part))
        ]
        for rows, want in zip(part.samples, wanted, strict=True):
            np.testing.assert_array_equal(part.X[rows], want.astype(np.float32))
        shares = slow_vectors(public / f"{name}_prevalences.txt")[:, 1:]
        np.testing.assert_array_equal(part.samples.prevalence, shares)


@pytest.mark.parametrize("below", ["", "T1", "T1/public"])
def test_any_of_the_folders_can_be_named(folder, tmp_path, below):
    data = datasets.lequa(folder / below, "t1", cache=tmp_path / "cache")
    assert len(data.dev) == 6
    assert sorted(each.suffix for each in (tmp_path / "cache").iterdir()) == [".f32", ".json"]


def test_zips_are_read_like_folders(folder, tmp_path):
    make_zips(folder, folder / "T1" / "public", tmp_path / "zips")
    unpacked = datasets.lequa(folder, "T1")
    zipped = datasets.lequa(tmp_path / "zips", "T1")
    np.testing.assert_array_equal(zipped.X, unpacked.X)
    np.testing.assert_array_equal(zipped.test.X, unpacked.test.X)
    np.testing.assert_array_equal(
        zipped.dev.samples.prevalence, unpacked.dev.samples.prevalence
    )
    files = pickle.loads(pickle.dumps(find_files(tmp_path / "zips", "T1")))
    assert files.has("training_data.txt")


def test_training_samples_of_ordered_classes(tmp_path):
    make_task(tmp_path, "T3", n_train=200)
    data = datasets.lequa(tmp_path, "T3")
    assert len(data.train_samples) == 5
    assert data.class_names[0] == "1-Star"
    np.testing.assert_allclose(
        data.train_samples.prevalence, data.train_samples.prevalence_of(data.y, 5)
    )


def test_texts(tmp_path):
    make_texts(tmp_path)
    data = datasets.lequa(tmp_path, "T2A")
    assert len(data.X) == 200
    assert data.X[0].endswith('said "so"\nyes')
    assert data.dev.samples.sizes.tolist() == [20] * 6
    texts = [text for items, _ in data.test.blocks(30) for text in items]
    assert texts == data.test.X
    assert len(texts) == 100


def test_blocks_cover_the_samples_in_order(folder):
    part = datasets.lequa(folder, "T1").test
    blocks = list(part.blocks(100))
    assert [len(samples) for _, samples in blocks] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate([X for X, _ in blocks]), part.X)
    shares = np.concatenate([samples.prevalence for _, samples in blocks])
    np.testing.assert_array_equal(shares, part.samples.prevalence)
    assert [len(samples) for _, samples in part.blocks(100, first=3)] == [2, 1]


def test_quantifiers_take_the_samples(folder):
    data = datasets.lequa(folder, "T1")
    quantifier = hc.SLD(random_state=0).fit(data.X, data.y)
    whole = quantifier.predict_many(data.dev.X, data.dev.samples)
    parts = [quantifier.predict_many(X, samples) for X, samples in data.dev.blocks(50)]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-12)


def test_cache_is_used_until_a_file_changes(folder, monkeypatch):
    cache = folder / "cache"
    files = find_files(folder, "T1")
    first = cached_vectors(files, "dev", cache)
    with monkeypatch.context() as patched:
        patched.setattr("headcount_studies.data.lequa.parse_vectors", None)
        assert cached_vectors(files, "dev", cache).path == first.path
    path = folder / "T1" / "public" / "dev_samples" / "3.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], ",".join(["7"] * 256)]))
    os.utime(path, ns=(1, 1))
    second = cached_vectors(files, "dev", cache)
    assert second.path != first.path
    assert not first.path.exists()
    assert second.mapped()[4 * 40 - 1].tolist() == [7.0] * 256


def test_cache_that_is_cut_off_is_made_again(folder):
    files = find_files(folder, "T1")
    made = cached_vectors(files, "dev", folder / "cache")
    content = made.path.read_bytes()
    made.path.write_bytes(content[:-4])
    assert cached_vectors(files, "dev", folder / "cache").path.read_bytes() == content


def test_failed_parsing_leaves_no_cache(folder):
    (folder / "T1" / "public" / "dev_samples" / "5.txt").write_text("0,1\n2,3\n")
    with pytest.raises(HeadcountError, match="2 columns"):
        _ = datasets.lequa(folder, "T1").dev
    assert list((folder / ".headcount-cache").iterdir()) == []


def replace_line(path, number, line):
    lines = path.read_text().splitlines()
    lines[number - 1] = line
    path.write_text("\n".join(lines) + "\n")


BAD = {
    "missing training": ("training_data.txt", None, "no file 'training_data.txt'"),
    "missing label map": ("label_map.txt", None, "no file 'label_map.txt'"),
    "label map of another task": (
        "label_map.txt",
        (2, "positive 1\nneutral 2"),
        "has 3 classes, but task T1 has 2",
    ),
    "label map without codes": ("label_map.txt", (2, "positive"), "line 2: 'positive'"),
    "label": ("training_data.txt", (3, ",".join(["2"] * 257)), "line 3: the label is 2"),
    "text for a number": (
        "training_data.txt",
        (4, ",".join(["0", "x", *["1"] * 255])),
        "line 4, column 2: 'x' is not a finite number",
    ),
    "NaN": (
        "training_data.txt",
        (5, ",".join(["0", *["nan"] * 256])),
        "line 5, column 2: 'nan' is not",
    ),
    "too few values": ("training_data.txt", (6, "0,1"), "line 6: 2 values instead of 257"),
    "too many values": (
        "training_data.txt",
        (6, ",".join(["0"] * 258)),
        "line 6: 258 values instead of 257",
    ),
    "header": (
        "training_data.txt",
        (1, ",".join(["class", *map(str, range(256))])),
        "line 1: the header starts with 'class'",
    ),
    "missing sample": ("dev_samples/2.txt", None, "2.txt' is missing"),
    "empty sample": ("dev_samples/2.txt", "", "no items"),
    "labelled sample": (
        "dev_samples/2.txt",
        (1, ",".join(["label", *map(str, range(256))])),
        "the header has 257 columns",
    ),
    "missing prevalences": ("dev_prevalences.txt", None, "no file 'dev_prevalences.txt'"),
    "prevalences with a gap": ("dev_prevalences.txt", (3, "9,0.5,0.5"), "line 3: the id 9"),
    "prevalences of another task": ("dev_prevalences.txt", (1, "id,0,1,2"), "3 classes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_with_their_line(folder, case):
    name, change, message = BAD[case]
    path = folder / "T1" / "public" / name
    if change is None:
        path.unlink()
    elif change == "":
        path.write_text(path.read_text().splitlines()[0] + "\n")
    else:
        replace_line(path, *change)
    with pytest.raises(HeadcountError) as caught:
        _ = datasets.lequa(folder, "T1").dev
    assert message in str(caught.value)
    assert name.split("/")[-1] in str(caught.value)
    assert len(str(caught.value)) <= 300 + 2 * len(str(folder))


def test_samples_without_ids(folder):
    (folder / "T1" / "public" / "test_samples" / "readme.txt").write_text("hello")
    with pytest.raises(HeadcountError, match="is not named by the id of a sample"):
        _ = datasets.lequa(folder, "T1").test


def test_test_samples_may_be_missing(folder):
    public = folder / "T1" / "public"
    (public / "test_prevalences.txt").unlink()
    assert datasets.lequa(folder, "T1").test.samples.prevalence is None
    for path in (public / "test_samples").iterdir():
        path.unlink()
    with pytest.raises(HeadcountError, match=r"no file 'test_samples/0\.txt'"):
        _ = datasets.lequa(folder, "T1").test


def test_wrong_task(folder):
    with pytest.raises(HeadcountError, match="has only T1, not T2"):
        datasets.lequa(folder, "T2")
    with pytest.raises(HeadcountError, match="not T4"):
        datasets.lequa(folder / "T1", "T4")
    with pytest.raises(HeadcountError, match="'T9'; it must be one of T1, T2"):
        datasets.lequa(folder, "T9")
    with pytest.raises(HeadcountError, match="there is no folder"):
        datasets.lequa(folder / "none", "T1")
    (folder / "T1").rename(folder / "T2")
    with pytest.raises(HeadcountError, match="has 2 classes, but task T2 has 28"):
        datasets.lequa(folder, "T2")


def test_broken_zip(tmp_path):
    (tmp_path / "T1.train_dev.zip").write_bytes(b"no zip")
    with pytest.raises(HeadcountError, match="cannot be read as a zip"):
        datasets.lequa(tmp_path, "T1")


def test_tasks():
    assert [task.n_classes for task in TASKS.values()] == [2, 28, 5, 2, 2, 28, 2, 28]
    assert find_task("T3").metric == "nmd"


@pytest.mark.parametrize("task", ["T1", "T2", "T3", "T4", "T1A"])
def test_generated_folders_are_seeded_and_samples_do_not_depend_on_their_number(tmp_path, task):
    given = {"n_train": 60, "size": 30, "n_test": 1}
    one, two, other = (
        generate(tmp_path / name, task, n_dev=n_dev, seed=seed, **given)
        for name, n_dev, seed in (("a", 2, 0), ("b", 3, 0), ("c", 2, 1))
    )
    sample = "dev_samples/1.txt"
    assert (one / sample).read_bytes() == (two / sample).read_bytes()
    assert (one / sample).read_bytes() != (other / sample).read_bytes()
    lines = (one / "dev_prevalences.txt").read_text().splitlines()
    assert lines[0] == ",".join(["id", *map(str, range(TASKS[task].n_classes))])


def test_generate_refuses(tmp_path):
    make_task(tmp_path)
    with pytest.raises(HeadcountError, match="exists"):
        make_task(tmp_path)
    with pytest.raises(HeadcountError, match="has texts, which are not generated"):
        generate(tmp_path, "T2A")
    with pytest.raises(HeadcountError, match="n_dev is 0"):
        generate(tmp_path / "b", "T1", n_dev=0)


def baseline_errors(name, n_labelled, n_samples, measure):
    """Mean errors of baselines on logistic regression, on generated samples."""
    task, rng = TASKS[name], np.random.default_rng(0)
    sampler = make_sampler(task, 0)
    drawn = [
        sampler.sample(rng, task.size) if task.in_bags else sampler.training(rng, n_labelled)
        for _ in range(n_labelled // task.size if task.in_bags else 1)
    ]
    X, y = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    samples = [sampler.sample(rng, task.size) for _ in range(n_samples)]
    pool, truth = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    rows = np.arange(len(pool)).reshape(n_samples, -1)
    true = np.stack([np.bincount(truth[each], minlength=task.n_classes) for each in rows])
    scorer = hc.Scorer(LogisticRegression(C=0.1), random_state=0).fit(X, y)
    return {
        each: measure(
            true / task.size, hc.method(each)().fit_scorer(scorer).predict_many(pool, rows)
        ).mean()
        for each in ("CC", "PCC", "PACC", "SLD")
    }


def test_generated_binary_task_has_the_order_of_the_official_table():
    errors = baseline_errors("T1", 5000, 100, hc.metrics.ae)
    assert 0.015 < errors["SLD"] < 0.03
    assert errors["SLD"] < 1.1 * errors["PACC"]
    assert 2 * errors["PACC"] < errors["CC"] < errors["PCC"]


def test_generated_products_break_prior_shift():
    # Methods that assume prior shift are behind those that count.
    errors = baseline_errors("T3", 6000, 100, hc.metrics.nmd)
    assert errors["PCC"] < errors["CC"] < errors["SLD"]
    assert 0.09 < errors["PACC"] < 0.15
