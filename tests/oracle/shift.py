"""The protocols of dataset shift as the paper prints them: nested loops and fractions.

Each gives one row a test sample, in order: number of the training set, what it was asked
to be, repetition of the test, what the test was asked to be, degree of shift.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

TENTHS = [Fraction(k, 10) for k in range(11)]
TWENTIETHS = [Fraction(k, 20) for k in range(5, 16)]
QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
HALVES = [Fraction(3, 2), Fraction(5, 2), Fraction(7, 2), Fraction(9, 2)]
TRAINABLE = [Fraction(2, 100), *TENTHS[1:-1], Fraction(98, 100)]


def prior_rows() -> Iterator[tuple[float, ...]]:
    training_set = 0
    for _ in range(10):
        for p_train in TRAINABLE:
            for repeat in range(50):
                for p_test in TENTHS:
                    degree = Fraction(round((p_test - p_train) * 10), 10)
                    yield training_set, float(p_train), repeat, float(p_test), float(degree)
            training_set += 1


def global_rows() -> Iterator[tuple[float, ...]]:
    """With the prevalence before the share of group A on either side."""
    training_set = 0
    for _ in range(10):
        for p_train in QUARTERS:
            for a_train in TENTHS:
                for repeat in range(50):
                    for p_test in QUARTERS:
                        for a_test in TENTHS:
                            yield (
                                training_set,
                                float(p_train),
                                float(a_train),
                                repeat,
                                float(p_test),
                                float(a_test),
                                float(a_train - a_test),
                            )
                training_set += 1


def local_rows() -> Iterator[tuple[float, ...]]:
    for training_set in range(10):
        for repeat in range(50):
            for p_test in TWENTIETHS:
                yield training_set, repeat, float(p_test), float(p_test - Fraction(1, 2))


def concept_rows() -> Iterator[tuple[float, ...]]:
    training_set = 0
    for _ in range(10):
        for c_train in HALVES:
            for repeat in range(50):
                for c_test in HALVES:
                    yield (
                        training_set,
                        float(c_train),
                        repeat,
                        float(c_test),
                        float(c_train - c_test),
                    )
            training_set += 1


def group_sizes(alpha: Fraction, size: int) -> tuple[int, int]:
    """Items of group A and of group B under global covariate shift."""
    return ceil(alpha * size), floor((1 - alpha) * size)


def local_positives(p_test: Fraction) -> Fraction:
    """Positives of group A that solve the paper's equation, which need not be whole."""
    positives, others = Fraction(250, 3), Fraction(250, 3) + 250
    return (p_test * others - positives) / (1 - p_test)
