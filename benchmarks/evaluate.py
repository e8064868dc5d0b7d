"""Time of evaluating twenty methods that share a classifier, compared with the slowest alone.

python benchmarks/evaluate.py [--quick] [--output FOLDER] [--no-venv]

A timed run draws the samples, classifies the pool, estimates every sample and measures the
errors. All methods are fitted on one scorer beforehand.
"""

from __future__ import annotations

import os

from environment import command_line, core_count, describe_machine, start

GOAL = 3.0
METHODS = (
    *("CC", "PCC", "ACC", "PACC", "T50", "TMAX", "TX", "MS", "MS2", "CDE"),
    *("FM", "DM", "HDy", "DyS", "SMM", "EDy", "CvMy", "SLD", "KDEyML", "KDEyHD"),
)


def measure(work) -> dict:
    """Seconds of each method alone and of all together, warm."""
    import headcount as hc
    from classifier import FOLDS, new_classifier
    from ours import protocol
    from timing import best_of_three

    scorer = hc.Scorer(new_classifier(), cv=FOLDS).fit(work.X, work.y)
    methods = {name: getattr(hc, name)().fit_scorer(scorer) for name in METHODS}

    def run(chosen):
        return hc.evaluate(chosen, work.X_pool, work.y_pool, protocol(work))

    evaluation = run(methods)  # compiles
    alone = {name: best_of_three(lambda q=q: run(q))[0] for name, q in methods.items()}
    together, _ = best_of_three(lambda: run(methods))
    slowest = max(alone, key=alone.__getitem__)
    return {
        "methods": len(methods),
        "samples": len(evaluation),
        "seconds_together": together,
        "slowest": slowest,
        "seconds_slowest": alone[slowest],
        "ratio": together / alone[slowest],
        "goal": GOAL,
        "seconds_one_by_one": sum(alone.values()),
        "seconds_alone": alone,
        "mean_ae": dict(
            zip(evaluation.methods, evaluation.metrics["ae"].mean(axis=1).tolist(), strict=True)
        ),
    }


def main() -> None:
    options = start(command_line(__doc__, quick=True))

    from tables import write_json
    from workloads import make

    work = make("binary", quick=options.quick)
    head = describe_machine()
    print(work.describe(), flush=True)
    rows = []
    for threads in sorted({1, core_count()}):
        os.environ["HEADCOUNT_NUM_THREADS"] = str(threads)
        row = {"threads": threads, **measure(work)}
        rows.append(row)
        verdict = "pass" if row["ratio"] < GOAL else "FAIL"
        print(
            "{threads} thread(s): {methods} methods together {seconds_together:.2f} s, the "
            "slowest alone ({slowest}) {seconds_slowest:.2f} s, {ratio:.2f}x (goal below "
            "{goal:.0f}x: ".format(**row)
            + "{0}); one by one {seconds_one_by_one:.2f} s".format(verdict, **row),
            flush=True,
        )
        print(*(f"{name} {seconds:.3f}" for name, seconds in row["seconds_alone"].items()))
    document = {"head": head, "workload": work.describe(), "rows": rows}
    write_json(options.output / "evaluate.json", document)


if __name__ == "__main__":
    main()
