"""Model selection compared with quapy's: same grid, data and number of validation samples.

    python benchmarks/search.py [--quick] [--output FOLDER] [--no-venv]

Both sides run on one core and train every classifier themselves. headcount then measures the
error of both choices on the same test samples of the pool.
"""

from __future__ import annotations

import os

from environment import command_line, describe_machine, start

GRID = {
    "classifier__C": [0.01, 0.1, 1.0, 10.0, 100.0],
    "classifier__class_weight": [None, "balanced"],
}
GOALS = {"PACC": 15.0, "SLD": 8.0}
THEIR_NAMES = {"PACC": "PACC", "SLD": "EMQ"}


def our_search(name, work, protocol):
    from sklearn.linear_model import LogisticRegression

    import headcount as hc

    quantifier = getattr(hc, name)(LogisticRegression(max_iter=1000), random_state=0)
    return hc.GridSearch(
        quantifier, GRID, protocol=protocol, refit=False, n_jobs=1, random_state=0
    ).fit(work.X, work.y)


def their_search(name, work, repeats):
    from quapy.data import LabelledCollection
    from quapy.method import aggregative
    from quapy.model_selection import GridSearchQ
    from quapy.protocol import APP
    from sklearn.linear_model import LogisticRegression

    training, validation = LabelledCollection(work.X, work.y).split_stratified(
        train_prop=0.6, random_state=0
    )
    protocol = APP(
        validation,
        sample_size=work.sample_size,
        n_prevalences=work.n_prevalences,
        repeats=repeats,
        random_state=0,
    )
    quantifier = getattr(aggregative, THEIR_NAMES[name])(LogisticRegression(max_iter=1000))
    search = GridSearchQ(
        quantifier, GRID, protocol, error="mae", refit=False, n_jobs=1, verbose=False
    )
    return search.fit(*training.Xy)


def test_error(name, setting, work, samples) -> float:
    from sklearn.linear_model import LogisticRegression

    import headcount as hc

    quantifier = getattr(hc, name)(LogisticRegression(max_iter=1000), random_state=0)
    chosen = quantifier.set_params(**setting).fit(work.X, work.y)
    estimated = chosen.predict_many(work.X_pool, samples)
    return float(hc.metrics.ae(samples.prevalence, estimated).mean())


def compare(name, work):
    import headcount as hc
    from timing import best_of_three

    def protocol(seed):
        return hc.APP(work.n_prevalences, work.repeats, work.sample_size, random_state=seed)

    our_search(name, work, protocol(0))  # compiles
    our_seconds, ours = best_of_three(lambda: our_search(name, work, protocol(0)))
    their_seconds, theirs = best_of_three(lambda: their_search(name, work, work.repeats))
    samples = protocol(1).draw(work.y_pool)
    return {
        "method": name,
        "settings": len(ours.results_),
        "validation_samples": work.n_samples,
        "our_seconds": our_seconds,
        "peer_seconds": their_seconds,
        "ratio": their_seconds / our_seconds,
        "goal": GOALS[name],
        "our_choice": ours.best_params_,
        "peer_choice": theirs.best_params_,
        "our_test_mae": test_error(name, ours.best_params_, work, samples),
        "peer_test_mae": test_error(name, theirs.best_params_, work, samples),
    }


def main() -> None:
    options = start(command_line(__doc__, quick=True))
    os.environ["HEADCOUNT_NUM_THREADS"] = "1"

    from tables import write_json
    from workloads import make

    work = make("binary", quick=options.quick)
    head = describe_machine()
    print(work.describe(), flush=True)
    rows = []
    for name in GOALS:
        rows.append(compare(name, work))
        print(
            "{method}: {settings} settings x {validation_samples:,} samples, ours "
            "{our_seconds:.2f} s, quapy {peer_seconds:.1f} s, {ratio:.0f}x (goal {goal:.0f}x); "
            "chosen {our_choice} against {peer_choice}, test MAE {our_test_mae:.5f} against "
            "{peer_test_mae:.5f}".format(**rows[-1]),
            flush=True,
        )
    write_json(options.output / "search.json", {"head": head, "rows": rows})


if __name__ == "__main__":
    main()
