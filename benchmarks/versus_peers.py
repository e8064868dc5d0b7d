"""headcount compared with its peers: same data, scores and samples; seconds and errors.

    python benchmarks/versus_peers.py [--workload binary|multiclass|all] [--methods SLD DyS]
        [--quick] [--output benchmarks/results] [--no-venv] [--peers-only] [--no-cold]

Runs in a virtual environment of its own (.venv-bench), made on first use.
"""

from __future__ import annotations

import argparse

from environment import command_line, describe_machine, start


def arguments() -> argparse.Namespace:
    parser = command_line(__doc__, quick=True)
    parser.add_argument("--workload", choices=["binary", "multiclass", "all"], default="all")
    parser.add_argument("--methods", nargs="+", help="rows to run, by name (default: all)")
    parser.add_argument("--budget", type=float, help="seconds per row of a peer (60)")
    parser.add_argument("--no-cold", action="store_true", help="leave out first-call times")
    parser.add_argument("--peers-only", action="store_true", help="time only the peers")
    options = start(parser)
    if options.budget is None:
        options.budget = 1.0 if options.quick else 60.0
    return options


def run_row(row, workload, scores, options):
    """Measure both sides of one row."""
    from comparison import Result, compare_estimates, judge_speed, spread
    from ours import evaluate, first_calls, protocol
    from peers import peer_for

    peer = peer_for(row, workload, scores)
    peer_fit = peer.fit()
    timing = peer.evaluate(options.budget)
    result = Result(
        workload=workload.name,
        method=row.name,
        peer=peer.label,
        n_samples=workload.n_samples,
        peer_samples_timed=timing.n_timed,
        peer_fit_seconds=peer_fit,
        peer_seconds=timing.seconds,
        peer_own_mae=timing.own_mae,
        goal=row.goals.get(workload.name),
        why=row.why,
    )
    if options.peers_only:
        return result
    ours = evaluate(row, workload)
    result.our_fit_seconds = ours.fit_seconds
    result.our_seconds_one_thread = ours.seconds_one_thread
    result.our_seconds_all_threads = ours.seconds_all_threads
    result.ratio_one_thread = timing.seconds / ours.seconds_one_thread
    result.ratio_all_threads = timing.seconds / ours.seconds_all_threads
    result.speed = judge_speed(result.goal, result.ratio_one_thread, result.ratio_all_threads)

    samples = protocol(workload).draw(workload.y_pool)
    result.our_mae_on_all = float(abs(ours.estimates - samples.prevalence).mean())
    affordable = peer.affordable(options.budget / 2, workload.n_samples)
    chosen = spread(len(samples), affordable)
    theirs = peer.estimates([samples[int(i)] for i in chosen])
    compared = compare_estimates(samples.prevalence[chosen], ours.estimates[chosen], theirs)
    for name, value in compared.items():
        setattr(result, name, value)
    if not options.no_cold:
        first, second = first_calls(row, workload, scores)
        result.cold_seconds, result.second_process_seconds = first["total"], second["total"]
    return result


def main() -> None:
    options = arguments()
    from classifier import RememberedLogistic, shared_scores
    from methods import rows_for
    from versus_peers_report import write_results
    from workloads import make

    names = ["binary", "multiclass"] if options.workload == "all" else [options.workload]
    head, descriptions, results = describe_machine(), {}, []
    for name in names:
        workload = make(name, quick=options.quick)
        fitted_before = RememberedLogistic.fits()
        scores = shared_scores(workload)
        right = (scores[1].argmax(axis=1) == workload.y_pool).mean()
        print(workload.describe(), flush=True)
        for row in rows_for(name, options.methods):
            try:
                result = run_row(row, workload, scores, options)
            except Exception as error:
                print(f"  {row.name:<14} failed: {type(error).__name__}: {error}", flush=True)
                continue
            results.append(result)
            print("  " + line(result), flush=True)
        fits = RememberedLogistic.fits() - fitted_before
        descriptions[name] = (
            f"{workload.describe()}; logistic regression right on {right:.1%} of the pool; "
            f"{fits} row sets fitted by both sides together (five folds and the whole)."
        )
        write_results(options.output, head, descriptions, results)
    print(f"written: {options.output / 'versus_peers.md'} (and .csv, .json)")


def line(result) -> str:
    """Row of a result as one line, to follow the run."""
    text = f"{result.method:<14} {result.peer:<24} {result.peer_seconds:9.3f} s"
    if result.peer_samples_timed < result.n_samples:
        text += f" (timed on {result.peer_samples_timed})"
    if result.our_seconds_one_thread is None:
        return text + (f"  MAE {result.peer_own_mae:.4f}" if result.peer_own_mae else "")
    return (
        f"{text}  ours {result.our_seconds_one_thread:.4f} s 1 thread, "
        f"{result.our_seconds_all_threads:.4f} s all: {result.ratio_one_thread:,.1f}x, "
        f"{result.ratio_all_threads:,.1f}x [{result.speed}]  MAE {result.our_mae:.5f} "
        f"against {result.peer_mae:.5f} [{result.accuracy}], "
        f"differ by at most {result.largest_difference:.1e}"
    )


if __name__ == "__main__":
    main()
