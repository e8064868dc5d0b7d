"""Cross-fitting of logistic regression compared with separate fits by scikit-learn.

    python cross_fitting.py [--rounds 5] [--quick]

A whole ``Scorer.fit`` (the classifier of all items, those of five folds, and the scores of the
training items) is timed in turn with five and with six separate fits, on one thread. Solutions
of the classifier of all items and of the first fold are compared with those of scikit-learn at
``tol=1e-10`` (newton-cg, as lbfgs stops earlier). Texts are in the folder HEADCOUNT_DATA, or in
../shared/data.
"""

from __future__ import annotations

import sys
from time import process_time

from environment import command_line, describe_machine, start

_TEXTS = (
    "imdb50k_binary", "amazon_blitzer", "womens_clothing_reviews", "imdb50k", "newsgroups20",
)  # fmt: skip
_N, _WORDS, _GOAL = 5_000, 20_000, 2.0
_HEADER = [
    "items", "features", "classes", "five fits, s", "six fits, s", "Scorer.fit, s",
    "five fits / Scorer", "six fits / Scorer", "coefficients", "posteriors", ">= 2", "< 1e-6",
]  # fmt: skip


def dense(n_classes):
    from sklearn.datasets import make_classification

    X, y = make_classification(_N, 50, n_informative=15, n_classes=n_classes, random_state=0)
    return "make_classification", X, y


def text(name):
    """Tf-idf of the words that most documents have."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfTransformer

    from real_datasets import load

    items = load(name)
    rows = np.random.default_rng(0).permutation(len(items.y))[:_N]
    counts = items.X[rows]
    words = np.argsort(-np.bincount(counts.indices, minlength=counts.shape[1]), kind="stable")
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, np.sort(words[:_WORDS])])
    return name, X, items.y[rows]


def measure(name, X, y, rounds):
    """Times in turn, and differences from a converged fit."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    from headcount.scores.scorer import Scorer

    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))

    def five():
        for train, _ in folds:
            LogisticRegression(max_iter=1000).fit(X[train], y[train])

    def one():
        LogisticRegression(max_iter=1000).fit(X, y)

    scorer = Scorer(random_state=0)
    best = dict.fromkeys(("five", "one", "scorer"), np.inf)
    for _ in range(rounds):
        for key, call in (("scorer", lambda: scorer.fit(X, y)), ("five", five), ("one", one)):
            began = process_time()
            call()
            best[key] = min(best[key], process_time() - began)
    exact = LogisticRegression(solver="newton-cg", tol=1e-10, max_iter=10_000)
    coefficients = posteriors = 0.0
    for model, rows in (
        (scorer.classifier_, np.arange(len(y))),
        (scorer.fold_judge_[0][0], folds[0][0]),
    ):
        exact.fit(X[rows], y[rows])
        for ours, theirs in ((model.coef_, exact.coef_), (model.intercept_, exact.intercept_)):
            coefficients = max(coefficients, float(np.abs(ours - theirs).max()))
        gap = np.abs(model.predict_proba(X) - exact.predict_proba(X)).max()
        posteriors = max(posteriors, float(gap))
    six = best["five"] + best["one"]
    ratio = best["five"] / best["scorer"]
    return [
        f"{name}, {len(y):,}",
        f"{X.shape[1]:,}" + (f" ({X.nnz / len(y):.0f} per item)" if hasattr(X, "nnz") else ""),
        str(len(np.unique(y))),
        *(f"{seconds:.3f}" for seconds in (best["five"], six, best["scorer"])),
        f"{ratio:.1f}",
        f"{six / best['scorer']:.1f}",
        f"{coefficients:.0e}",
        f"{posteriors:.0e}",
        "pass" if ratio >= _GOAL else "FAIL",
        "pass" if max(coefficients, posteriors) < 1e-6 else "FAIL",
    ]


def main() -> None:
    parser = command_line(__doc__, quick=True)
    parser.add_argument("--rounds", type=int, default=5, help="times each call is timed")
    options = start(parser)

    from tables import bullets, markdown_table

    workloads = [(dense, 2), (dense, 5), *((text, name) for name in _TEXTS)]
    rows = []
    for make, argument in workloads[: 2 if options.quick else None]:
        rows.append(measure(*make(argument), options.rounds))
        print(*rows[-1], sep="  ", flush=True)
    facts = describe_machine() | {"threads": "one for BLAS, OpenMP and headcount"}
    (options.output / "cross_fitting.md").write_text(
        "# Cross-fitting of logistic regression\n\n"
        f"{bullets(facts)}\n"
        f"- times: CPU seconds, best of {options.rounds} rounds of `Scorer.fit`, five fits "
        "and one fit by scikit-learn, in turn\n"
        "- differences: largest of the coefficients and of the posteriors from a converged "
        "fit, for all items and for the first fold\n\n"
        f"{markdown_table(_HEADER, rows)}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
