"""Random degenerate problems over every method: finite shares and intervals, or one error.

    python benchmarks/fuzz.py [--problems 320] [--seed 1] [--first 0]

The conformance checks run a small part of this (headcount.testing.random_problems).
`--first` goes on with a run that was stopped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import islice

from environment import PROJECT

sys.path.insert(0, str(PROJECT))

from tests.conformance.cases import PROTOTYPES

from headcount.quantifiers.base import ScoringPlan
from headcount.testing.random_problems import (
    fit_problem,
    random_problems,
    verify_interval,
    verify_shares,
)


def main() -> None:
    """Check every method on every problem and print what fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("error")
    named = {name: made for name, made in PROTOTYPES.items() if ScoringPlan(made).takes_scores}
    failures = refused = n_checks = 0
    for problem in islice(random_problems(given.problems, given.seed), given.first, None):
        for name, prototype in named.items():
            n_checks += 1
            try:
                refused += fit_problem(prototype, problem) is None
                verify_shares(prototype, problem)
                verify_interval(prototype, problem)
            except Exception as error:
                failures += 1
                print(f"{name}, problem {problem.name}: {type(error).__name__}: {error}")
        if not sys.stdout.isatty():
            print(f"problem {problem.name}: done", file=sys.stderr)
    print(
        f"{failures} of {n_checks:,} fits failed; {refused:,} were refused in one sentence, "
        "the others gave finite shares and intervals"
    )
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
