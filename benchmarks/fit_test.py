"""Rejections of the fit test: under prior shift (its level) and other shifts (its power).

python benchmarks/fit_test.py [level] [simulated] [real] [draw] [--cases 0 1 ...] [--quick]

All parts by default. A part of results/fit_test.json is kept until it is measured again. Real
data is in the folder HEADCOUNT_DATA, or in ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

from environment import PROJECT, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from headcount.estimates.assumption import MixtureTest, fit_test_items  # noqa: E402
from headcount.parts.training import Training  # noqa: E402
from headcount.samples.samples import Samples  # noqa: E402
from headcount.scores.folds import one_fold_each  # noqa: E402
from headcount.scores.scorer import Scorer  # noqa: E402

RESULTS = PROJECT / "benchmarks" / "results" / "fit_test.json"
PARTS = ("level", "simulated", "real", "draw")
SIZES = (50, 100, 500, 2000)
LEVEL = 0.05


def fitted(X, y):
    return Scorer(LogisticRegression(max_iter=1000), random_state=0).fit(X, y)


def scores_by_folds(scorer, X):
    """Scores made as those of the training items: each by the classifier of one fold."""
    return one_fold_each(scorer.fold_posteriors(X))


def p_values(scorer, X, samples, *, by_folds=True):
    training = Training(scorer.posteriors_, scorer.codes_, len(scorer.classes_))
    scores = scores_by_folds(scorer, X) if by_folds else scorer.posteriors(X)
    return MixtureTest.of_posteriors(training).test(scores, samples).p_value


def p_values_with_groups(scorer, X, groups, trained, samples):
    """The same with a column that has the group of each item."""
    training = Training(scorer.posteriors_, scorer.codes_, len(scorer.classes_))
    test = MixtureTest.of_posteriors(training, (trained == "A")[:, None])
    scores = scores_by_folds(scorer, X)
    return test.test(scores, samples, (groups == "A")[:, None]).p_value


class Normals:
    """Classes with normal features: class j has 2 added to feature j."""

    def __init__(self, n_classes: int, n_features: int, rng) -> None:
        self.n_classes, self.n_features, self.rng = n_classes, n_features, rng

    def draw(self, codes, moved=None):
        X = self.rng.standard_normal((len(codes), self.n_features), dtype=np.float32)
        X[np.arange(len(codes)), codes] += 2.0
        if moved is not None:  # towards the first class, from the second
            X[:, 0] += moved / np.sqrt(2)
            X[:, 1] -= moved / np.sqrt(2)
        return X


def stack(parts):
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return np.concatenate(parts), Samples(np.arange(offsets[-1]), offsets, n_pool=offsets[-1])


def counts_of(shares, n, exact, rng):
    if not exact:
        return rng.multinomial(n, shares)
    ends = np.round(np.cumsum([0, *shares]) * n).astype(int)
    return np.diff(ends)


BINARY = [(1 - p, p) for p in (0.05, 0.25, 0.5, 0.75, 0.95)]
THREE = [(0.9, 0.05, 0.05), (1 / 3,) * 3, (0.05, 0.5, 0.45)]
FIVE = [(0.8,) + (0.05,) * 4, (0.2,) * 5, (0.0, 0.5, 0.5, 0.0, 0.0)]


# Training items, their shares, shares of the samples, features.
CASES = [
    (500, (0.5, 0.5), BINARY, 10), (500, (0.9, 0.1), BINARY, 10),
    (500, (0.5, 0.5), BINARY, 100), (5000, (0.5, 0.5), BINARY, 10),
    (500, (1 / 3,) * 3, THREE, 10), (5000, (1 / 3,) * 3, THREE, 10),
    (500, (0.2,) * 5, FIVE, 10), (5000, (0.2,) * 5, FIVE, 10),
]  # fmt: skip


def level(quick, cases, kept):
    """Rejections under prior shift, by training set, shares and size of the sample.

    Only of the given cases; rows of the others are kept.
    """
    chosen = [CASES[number] for number in cases]
    measured = {(n_train, prior, n_features) for n_train, prior, _, n_features in chosen}
    rows = [
        row
        for row in kept
        if (row["training"], tuple(row["prior"]), row["features"]) not in measured
    ]
    for n_train, prior, shares, n_features in chosen:
        sets, repeats = (10, 5) if quick else (400, 5) if n_train == 500 else (100, 20)
        rng = np.random.default_rng(n_train + n_features + len(prior))
        found: dict = {}
        for _ in range(sets):
            normals = Normals(len(prior), n_features, rng)
            y = np.repeat(np.arange(len(prior)), counts_of(prior, n_train, True, rng))
            scorer = fitted(normals.draw(y), y)
            keys, parts = [], []
            for way, exact in (("iid", False), ("exact", True)):
                for number, share in enumerate(shares):
                    for n in SIZES:
                        for _ in range(repeats):
                            counts = counts_of(share, n, exact, rng)
                            codes = np.repeat(np.arange(len(prior)), counts)
                            parts.append(normals.draw(codes))
                            keys.append((way, number, n))
            X, samples = stack(parts)
            for key, p in zip(keys, p_values(scorer, X, samples), strict=True):
                found.setdefault(key, []).append(p)
            first = samples[: len(samples) // 2]  # those drawn at random
            final = p_values(scorer, X, first, by_folds=False)
            for (_, number, n), p in zip(keys[: len(first)], final, strict=True):
                found.setdefault(("other classifier", number, n), []).append(p)
        for (way, number, n), p in found.items():
            rows.append({
                "training": n_train, "prior": prior, "features": n_features, "way": way,
                "shares": shares[number], "n": n, "samples": len(p), "sets": sets,
                "rejected": float(np.mean(np.array(p) < LEVEL)),
                "rejected_1": float(np.mean(np.array(p) < 0.01)),
            })  # fmt: skip
        print("level", n_train, np.round(prior, 2), n_features, flush=True)
    return rows


def simulated(quick):
    """Rejections when half of the positive class moves, towards the other class or away."""
    rows, rng = [], np.random.default_rng(0)
    for n_train in (500, 5000):
        normals = Normals(2, 10, rng)
        found: dict = {}
        for _ in range(4 if quick else 40):
            y = np.repeat([0, 1], n_train // 2)
            scorer = fitted(normals.draw(y), y)
            keys, parts = [], []
            for distance in np.arange(-4, 9) / 2:
                for n in (100, 500, 2000):
                    for _ in range(5):
                        codes = np.repeat([0, 1], counts_of((0.5, 0.5), n, False, rng))
                        moved = distance * (codes == 1) * (rng.random(n) < 0.5)
                        parts.append(normals.draw(codes, moved))
                        keys.append((float(distance), n))
            X, samples = stack(parts)
            for key, p in zip(keys, p_values(scorer, X, samples), strict=True):
                found.setdefault(key, []).append(p)
        for (distance, n), p in found.items():
            rejected = float(np.mean(np.array(p) < LEVEL))
            rows.append({"training": n_train, "moved": distance, "n": n, "rejected": rejected,
                         "samples": len(p)})  # fmt: skip
    return rows


def data_folder() -> Path:
    return Path(os.environ.get("HEADCOUNT_DATA", PROJECT.parent / "shared" / "data"))


# File, columns of text, stars and groups, the groups of group A, cut point, training items.
REVIEWS = {
    "blitzer": ("amazon_blitzer", ("title", "text"), "rating", "domain",
                ("electronics", "kitchen_&_housewares"), 3, 3500),
    "clothing": ("womens_clothing_reviews", ("Title", "Review Text"), "Rating",
                 "Department Name", ("Tops", "Jackets", "Intimate"), 4.5, 5000),
    "amazon": ("amazon_5cat_small", ("summary", "reviewText"), "overall", "category",
               ("Books", "Patio"), 4.5, 1000),
}  # fmt: skip


def reviews(name):
    """Texts as tf-idf, stars, and two groups."""
    import polars as pl
    from sklearn.feature_extraction.text import TfidfVectorizer

    file, texts, stars, groups, first, *_ = REVIEWS[name]
    frame = pl.read_parquet(data_folder() / f"{file}.parquet").drop_nulls([stars, groups])
    text = frame.select(pl.concat_str([pl.col(t).fill_null("") for t in texts], separator=" "))
    X = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(text.to_series().to_list())
    member = np.where(np.isin(frame[groups].to_numpy(), first), "A", "B")
    return X, frame[stars].to_numpy().astype(float), member


def protocols(name, seed, quick):
    from headcount.shift.shift_protocols import (
        ConceptShift,
        GlobalCovariateShift,
        LocalCovariateShift,
        PriorShift,
    )

    *_, cut, size = REVIEWS[name]
    common = {"train_size": size, "test_size": 500, "repeats": 1, "random_state": seed,
              "test_repeats": 2 if quick else 5,
              "split": 0.4 if name == "amazon" else 0.6}  # fmt: skip
    tenths = [0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75]
    yield "prior", PriorShift([0.5], [0.05, 0.25, 0.5, 0.75, 0.95], cut_point=cut, **common)
    for pair in ("AB", "BA"):
        for control in (False, True):
            kind = f"local {pair}{' control' * control}"
            yield kind, LocalCovariateShift(tenths, categories=tuple(pair), cut_point=cut,
                control=control, **common)  # fmt: skip
    size = {"blitzer": 2000, "clothing": 3000, "amazon": 600}[name]  # of one group alone
    yield "global", GlobalCovariateShift([0, 0.25, 0.5, 0.75, 1], [0.5], pure=True,
        cut_point=cut, **{**common, "train_size": size})  # fmt: skip
    if name == "clothing":
        for share in (None, 0.2, 0.5, 0.8):
            yield f"concept {share}", ConceptShift([2.5, 3.5, 4.5], balanced=False,
                test_prevalence=share, **common)  # fmt: skip


def real(quick):
    """Rejections on reviews under the protocols of headcount.shift."""
    rows = []
    for name in REVIEWS:
        X, stars, groups = reviews(name)
        found: dict = {}
        for seed in range(2 if quick else 20):
            for kind, protocol in protocols(name, seed, quick):
                for one in protocol.draw(groups=groups, ratings=stars):
                    train, test, degree = one
                    scorer = fitted(X[train[0]], one.train_labels)
                    items, places = np.unique(test.indices, return_inverse=True)
                    samples = Samples(places, test.offsets, n_pool=len(items))
                    about = test.prevalence[:, 1] if kind == "prior" else degree
                    ways = {
                        "folds": p_values(scorer, X[items], samples),
                        "final": p_values(scorer, X[items], samples, by_folds=False),
                        "folds and group": p_values_with_groups(
                            scorer, X[items], groups[items], groups[train[0]], samples
                        ),
                        "folds and words": fit_test_items(
                            scorer, X[train[0]], X[items], samples
                        ).p_value,
                    }
                    for way, p in ways.items():
                        for at, value in zip(about, p, strict=True):
                            found.setdefault((way, kind, round(float(at), 3)), []).append(value)
        for (way, kind, at), p in sorted(found.items()):
            rows.append({"data": name, "scored by": way, "shift": kind, "degree": at,
                         "rejected": float(np.mean(np.array(p) < LEVEL)),
                         "samples": len(p)})  # fmt: skip
        print("real", name, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--cases", type=int, nargs="+", default=range(len(CASES)),
                        help="of the part 'level', by their place in CASES")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few samples: checks the harness")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    output = options.output
    kept = json.loads(output.read_text()) if output.exists() else {}
    for part in options.parts or PARTS:
        if part == "level":
            kept[part] = level(options.quick, options.cases, kept.get(part, []))
        elif part != "draw":
            kept[part] = {"simulated": simulated, "real": real}[part](options.quick)
        if part != "draw":
            kept["head"] = describe_machine()
    if options.quick:
        print({part: rows[:3] for part, rows in kept.items() if part != "head"})
        return
    output.write_text(json.dumps(kept, indent=1) + "\n")
    from fit_test_report import draw, tables

    output.with_suffix(".md").write_text(tables(kept))
    draw(kept, PROJECT / "docs" / "images")


if __name__ == "__main__":
    main()
