"""Random degenerate problems over every method: finite shares and intervals, or one error.

    python benchmarks/fuzz.py [--problems 320] [--seed 1] [--first 0]

The tests run a small part of this (tests/conformance/test_random_problems.py). `--first` goes
on with a run that was stopped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import islice

from environment import PROJECT

sys.path.insert(0, str(PROJECT))

from tests.conformance.cases import METHODS, make
from tests.conformance.random_problems import random_problems
from tests.conformance.test_random_problems import check_interval, check_shares, fitted


def main() -> None:
    """Check every method on every problem and print what fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("error")
    names = [name for name, method in METHODS.items() if make(method).takes_scores]
    failures = refused = n_checks = 0
    for problem in islice(random_problems(given.problems, given.seed), given.first, None):
        for name in names:
            n_checks += 1
            try:
                refused += fitted(name, problem) is None
                check_shares(name, problem)
                check_interval(name, problem)
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
