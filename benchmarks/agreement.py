"""Do we say what the peers say, where they are right? Largest differences, and why.

python benchmarks/agreement.py [--workload binary|multiclass|all] [--samples 210] [--no-venv]

Every method is fitted by both sides on the same out-of-fold scores and asked about the same
samples, evenly spread over the workload's.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from environment import PROJECT, describe_machine, enter_venv, pin_blas_threads

_HEADER = ["workload", "method", "peer", "samples", "largest", "mean", "ours - peer MAE", "why"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=["binary", "multiclass", "all"], default="all")
    parser.add_argument("--methods", nargs="+", help="rows to run, by name (default: all)")
    parser.add_argument("--samples", type=int, default=210, help="samples to compare at most")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds a peer may take")
    parser.add_argument("--quick", action="store_true", help="small data: checks the harness")
    parser.add_argument("--output", type=Path, default=PROJECT / "benchmarks" / "results")
    parser.add_argument("--no-venv", action="store_true", help="use this interpreter as it is")
    return parser.parse_args()


def compare_row(row, workload, scores, options) -> dict:
    """Both sides' estimates of the same samples, from the same scores."""
    from comparison import compare_estimates, spread
    from ours import protocol, quantifier
    from peers import peer_for

    samples = protocol(workload).draw(workload.y_pool)
    peer = peer_for(row, workload, scores)
    peer.fit()
    chosen = spread(len(samples), peer.affordable(options.budget, options.samples))
    model = quantifier(row).fit_scores(scores[0], workload.y)
    ours = model.predict_many_scores(scores[1], samples[chosen])
    theirs = peer.estimates([samples[int(i)] for i in chosen])
    compared = compare_estimates(samples.prevalence[chosen], ours, theirs)
    return {"workload": workload.name, "method": row.name, "peer": peer.label, **compared} | {
        "why": row.why
    }


def shown(record: dict) -> list[str]:
    """A record as a row of the table."""
    return [
        record["workload"],
        record["method"],
        record["peer"],
        str(record["samples_compared"]),
        f"{record['largest_difference']:.1e}",
        f"{record['mean_difference']:.1e}",
        f"{record['mae_excess']:+.1e} ± {record['mae_excess_error']:.0e}",
        record["why"],
    ]


def main() -> None:
    options = arguments()
    if not options.no_venv:
        enter_venv()
    pin_blas_threads()
    warnings.simplefilter("ignore")

    from classifier import shared_scores
    from methods import rows_for
    from workloads import make
    from writing import markdown_table

    records = []
    names = ["binary", "multiclass"] if options.workload == "all" else [options.workload]
    for name in names:
        workload = make(name, quick=options.quick)
        scores = shared_scores(workload)
        for row in rows_for(name, options.methods):
            try:
                records.append(compare_row(row, workload, scores, options))
            except Exception as error:
                print(f"{row.name} failed: {type(error).__name__}: {error}", flush=True)
                continue
            print(*shown(records[-1]), sep="  ", flush=True)
    head = describe_machine()
    text = "\n".join(f"- {key}: {value}" for key, value in head.items())
    table = markdown_table(_HEADER, [shown(record) for record in records])
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "agreement.md").write_text(
        f"# Agreement with the peers\n\n{text}\n\n{table}\n"
    )
    (options.output / "agreement.json").write_text(
        json.dumps({"head": head, "results": records}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
