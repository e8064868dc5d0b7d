"""Ensembles compared with quapy's: same data, classifier, samples, members and policies.

    python benchmarks/ensemble.py [--policies all ptr ds] [--fits 3] [--budget 60]
        [--quick] [--output FOLDER] [--no-venv]

Both sides train every classifier themselves, in one process and on one thread: 50 members of
PACC on samples of 1,000. headcount is also timed with `scoring="left-out"`, which trains a
sixth as many classifiers. A run is a fit, and the prediction of every sample.
"""

from __future__ import annotations

import argparse

from environment import command_line, describe_machine, start

GOAL = 20.0
THEIR_POLICIES = {"all": "ave", "ptr": "ptr", "ds": "ds"}


def arguments() -> argparse.Namespace:
    parser = command_line(__doc__, quick=True)
    parser.add_argument(
        "--policies", nargs="+", choices=THEIR_POLICIES, default=list(THEIR_POLICIES)
    )
    parser.add_argument(
        "--fits", type=int, default=3, help="number of ensembles that each side fits"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for the peer")
    return start(parser)


class Peer:
    """Ensemble of quapy, which draws its members with numpy's global generator."""

    def __init__(self, policy: str, size: int, sample_size: int, work):
        self.policy, self.size, self.sample_size, self.work = policy, size, sample_size, work

    def fit(self, seed: int):
        import numpy as np
        from quapy.method.aggregative import PACC
        from quapy.method.meta import Ensemble
        from sklearn.linear_model import LogisticRegression

        np.random.seed(seed)  # noqa: NPY002  (it has no other seed)
        self.model = Ensemble(
            PACC(LogisticRegression(max_iter=1000)),
            size=self.size,
            red_size=self.size // 2,
            policy=THEIR_POLICIES[self.policy],
            max_sample_size=self.sample_size,
            n_jobs=1,
        )
        return self.model.fit(self.work.X, self.work.y)

    def estimates(self, samples):
        import numpy as np

        return np.array([self.model.predict(self.work.X_pool[rows]) for rows in samples])


class Ours:
    """Ensemble of headcount."""

    def __init__(self, policy: str, scoring: str, size: int, sample_size: int, work):
        self.settings = {"policy": policy, "scoring": scoring}
        self.settings |= {"n_members": size, "size": sample_size}
        self.work = work

    def fit(self, seed: int):
        from sklearn.linear_model import LogisticRegression

        import headcount as hc

        base = hc.PACC(LogisticRegression(max_iter=1000))
        self.model = hc.Ensemble(base, **self.settings, n_jobs=1, random_state=seed)
        return self.model.fit(self.work.X, self.work.y)

    def estimates(self, samples):
        return self.model.predict_many(self.work.X_pool, samples)


def time_ours(side: Ours, draw) -> dict[str, float]:
    """Best seconds to fit, and to draw and predict every sample, compiled beforehand."""
    from ours import threads
    from timing import best_of_three

    with threads(1):
        side.fit(0)
        side.estimates(draw())
        fit_seconds, _ = best_of_three(lambda: side.fit(0))
        seconds, _ = best_of_three(lambda: side.estimates(draw()))
    return {"fit_seconds": fit_seconds, "predict_seconds": seconds}


def time_peer(side: Peer, samples, budget: float) -> dict[str, float]:
    """Best seconds to fit; to predict every sample, in proportion if they take too long."""
    from comparison import spread
    from timing import best_of_three, timed

    fit_seconds, _ = best_of_three(lambda: side.fit(0))
    one, _ = timed(lambda: side.estimates([samples[0], samples[1]]))
    n_timed = max(2, min(len(samples), int(budget / (one / 2))))
    chosen = spread(len(samples), n_timed)
    seconds, _ = timed(lambda: side.estimates([samples[int(i)] for i in chosen]))
    seconds *= len(samples) / len(chosen)
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds": seconds,
        "samples_timed": len(chosen),
    }


def errors(side, samples, chosen, n_fits: int):
    """Estimates of the same samples by ensembles of several seeds, concatenated."""
    import numpy as np

    found = []
    for seed in range(n_fits):
        side.fit(seed)
        part = samples[chosen] if isinstance(side, Ours) else [samples[int(i)] for i in chosen]
        found.append(side.estimates(part))
    return np.concatenate(found)


def compare(policy: str, work, size: int, sample_size: int, options) -> list[dict]:
    """Compare both sides of a policy: one record per way of scoring."""
    import numpy as np

    from comparison import compare_estimates, judge_speed, spread
    from ours import protocol

    def draw():
        return protocol(work).draw(work.y_pool)

    samples = draw()
    peer = Peer(policy, size, sample_size, work)
    theirs = time_peer(peer, samples, options.budget)
    affordable = int(options.budget * len(samples) / theirs["predict_seconds"] / options.fits)
    chosen = spread(len(samples), max(20, affordable))
    their_estimates = errors(peer, samples, chosen, options.fits)
    true = np.tile(samples.prevalence[chosen], (options.fits, 1))
    records = []
    for scoring in ("folds", "left-out"):
        side = Ours(policy, scoring, size, sample_size, work)
        ours = time_ours(side, draw)
        totals = [each["fit_seconds"] + each["predict_seconds"] for each in (theirs, ours)]
        ratio = totals[0] / totals[1]
        estimates = errors(side, samples, chosen, options.fits)
        maes = [
            np.abs(each - true).mean(axis=1).reshape(options.fits, -1).mean(axis=1).tolist()
            for each in (their_estimates, estimates)
        ]
        records.append(
            {
                "policy": policy,
                "scoring": scoring,
                "n_samples": len(samples),
                "peer": theirs | {"total_seconds": totals[0], "mae_by_fit": maes[0]},
                "ours": ours | {"total_seconds": totals[1], "mae_by_fit": maes[1]},
                "times_faster": {
                    "fit": theirs["fit_seconds"] / ours["fit_seconds"],
                    "predict": theirs["predict_seconds"] / ours["predict_seconds"],
                    "total": ratio,
                },
                "goal": GOAL,
                "speed": judge_speed(GOAL, ratio, ratio),
                **compare_estimates(true, estimates, their_estimates),
            }
        )
        print(line(records[-1]), flush=True)
    return records


def line(record: dict) -> str:
    """Row of a record as one line, to follow the run."""
    peer, ours, faster = record["peer"], record["ours"], record["times_faster"]
    return (
        f"{record['policy']:<4} {record['scoring']:<9} fit {peer['fit_seconds']:.2f} s against "
        f"{ours['fit_seconds']:.2f} s, predict {peer['predict_seconds']:.0f} s (timed on "
        f"{peer['samples_timed']}) against {ours['predict_seconds']:.3f} s: "
        f"{faster['fit']:.1f}x, {faster['predict']:,.0f}x, in total {faster['total']:,.0f}x "
        f"[{record['speed']}]  MAE {record['our_mae']:.5f} against {record['peer_mae']:.5f} "
        f"[{record['accuracy']}]"
    )


def main() -> None:
    options = arguments()
    from tables import write_json
    from workloads import make

    work = make("binary", quick=options.quick)
    size, sample_size = (6, 300) if options.quick else (50, 1000)
    if options.quick:
        options.budget = min(options.budget, 2.0)
    head = describe_machine() | {
        "threads": "BLAS, OpenMP and headcount pinned to 1; one process on both sides"
    }
    settings = f"{size} members of PACC on samples of {sample_size:,}, logistic regression"
    print(f"{work.describe()}; {settings}", flush=True)
    records = []
    for policy in options.policies:
        records += compare(policy, work, size, sample_size, options)
    document = {
        "head": head,
        "workload": work.describe(),
        "settings": f"{settings}; errors over {options.fits} fits on each side, same samples",
        "results": records,
    }
    write_json(options.output / "ensemble.json", document)


if __name__ == "__main__":
    main()
