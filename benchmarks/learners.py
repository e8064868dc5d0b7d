"""Training times of the learners made for quantification, and the precision of their optima.

python benchmarks/learners.py [--no-venv]
"""

from __future__ import annotations

from typing import Any

from environment import command_line, describe_machine, start
from tables import write_json
from timing import best_of_three, timed

_SVM_GOALS = {"kld": 2.0, "nkld": 2.0, "ae": 2.0, "rae": 2.0, "q": 10.0}
_FOREST_GOAL = 30.0


def items(n: int, d: int, seed: int) -> tuple[Any, Any]:
    from sklearn.datasets import make_classification

    return make_classification(
        n, d, n_informative=d // 2, weights=[0.7], flip_y=0.05, class_sep=0.8, random_state=seed
    )


def record(what: str, seconds: float, goal: float, **facts: Any) -> dict[str, Any]:
    verdict = "pass" if seconds < goal else "FAIL"
    print(f"{what}\t{seconds:.2f} s\t(goal {goal:g} s)\t{verdict}\t{facts}", flush=True)
    return {"what": what, "seconds": seconds, "goal": goal, "verdict": verdict, **facts}


def vector_machines() -> list[dict[str, Any]]:
    """Each loss on 10,000 items of 20 features, C=1, to the default tolerance."""
    from headcount.learn.multivariate_svc import MultivariateSVC

    X, y = items(10_000, 20, 0)
    found = []
    for loss, goal in _SVM_GOALS.items():
        MultivariateSVC(loss).fit(X[:200], y[:200])  # compiles
        seconds, svm = best_of_three(lambda loss=loss: MultivariateSVC(loss).fit(X, y))
        facts = {
            "rounds": int(svm.n_iter_[0]),
            "objective": float(svm.objective_[0]),
            "gap": float(svm.gap_[0]),
            "gap_of_objective": float(svm.gap_[0] / svm.objective_[0]),
        }
        found.append(record(f"MultivariateSVC {loss}, 10,000 x 20", seconds, goal, **facts))
    return found


def error_rate() -> dict[str, Any]:
    """The error-rate loss against scikit-learn's linear SVM: the same problem."""
    import numpy as np
    from sklearn.svm import LinearSVC

    from headcount.learn.multivariate_svc import MultivariateSVC

    X, y = items(2_000, 20, 0)
    signs, C = np.where(y == 1, 1, -1), 100 / len(y)

    def objective(w: Any, b: float) -> float:
        hinge = np.maximum(0, 1 - signs * (X @ w + b)).sum()
        return float(0.5 * (w @ w + b * b) + C * hinge)

    ours = MultivariateSVC("error", tol=1e-3).fit(X, y)
    theirs = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=10_000_000, random_state=0)
    theirs.fit(X, y)
    facts = {
        "our_objective": objective(ours.coef_[0], float(ours.intercept_[0])),
        "linear_svc_objective": objective(theirs.coef_[0], float(theirs.intercept_[0])),
        "labels_agree": float((ours.predict(X) == theirs.predict(X)).mean()),
        "largest_difference_of_coefficients": float(np.abs(ours.coef_ - theirs.coef_).max()),
    }
    print("error rate against LinearSVC, 2,000 x 20", facts, flush=True)
    return {"what": "error rate against LinearSVC, 2,000 x 20", **facts}


def forests() -> list[dict[str, Any]]:
    """100 trees on 10,000 items of 50 features, then 2,100 samples of a pool of 20,000."""
    import headcount as hc

    X, y = items(30_000, 50, 1)
    X, y, X_pool, y_pool = X[:10_000], y[:10_000], X[10_000:], y[10_000:]
    samples = hc.APP(n_prevalences=21, repeats=100, size=500, random_state=0).draw(y_pool)
    found = []
    for scope in ("node", "tree"):
        for method in (hc.QF, hc.QFAC):
            method(2, scope=scope).fit(X[:200], y[:200])  # compiles
            call = method(scope=scope, random_state=0)
            seconds, forest = timed(lambda call=call: call.fit(X, y))
            predicting, shares = timed(lambda f=forest: f.predict_many(X_pool, samples))
            trees = forest.fitted_.model.learner._forest
            facts = {
                "predict_many_2100_samples_seconds": predicting,
                "leaves_per_tree": float((trees.features < 0).sum() / 100),
                "mean_ae": float(hc.metrics.ae(samples.prevalence, shares).mean()),
            }
            what = f"{method.__name__} scope={scope}, 100 trees, 10,000 x 50"
            found.append(record(what, seconds, _FOREST_GOAL, **facts))
    return found


def main() -> None:
    options = start(command_line(__doc__))
    results = [*vector_machines(), error_rate(), *forests()]
    content = {"head": describe_machine(), "results": results}
    write_json(options.output / "learners.json", content)


if __name__ == "__main__":
    main()
