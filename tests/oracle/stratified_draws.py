"""The drawing of samples, slow and obvious: Python integers, lists and fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def words(seed: int) -> Iterator[int]:
    while True:
        seed = (seed + _GOLDEN) & _MASK
        yield mix(seed)


def stream_seed(base: int, number: int) -> int:
    stream = words(base)
    for _ in range(number):
        next(stream)
    return next(stream)


def uniforms(base: int, number: int, n: int) -> list[float]:
    stream = words(stream_seed(base, number))
    return [float(Fraction(2 * (next(stream) >> 12) + 1, 2**53)) for _ in range(n)]


def below(stream: Iterator[int], bound: int) -> int:
    # Of the 2**32 words, those that would make some results likelier are thrown away.
    surplus = 2**32 % bound
    while True:
        product_ = (next(stream) >> 32) * bound
        if product_ % 2**32 >= surplus:
            return product_ // 2**32


def draw(seed: int, counts: Sequence[int], strata: Sequence[Sequence[int]]) -> list[int]:
    stream = words(seed)
    drawn: list[int] = []
    for count, items in zip(counts, strata, strict=True):
        if count > len(items):
            drawn += [items[below(stream, len(items))] for _ in range(count)]
            continue
        cards = list(items)
        for k in range(count):
            chosen = k + below(stream, len(cards) - k)
            cards[k], cards[chosen] = cards[chosen], cards[k]
        drawn += cards[:count]
    return drawn


def grid(n_steps: int, n_classes: int) -> list[tuple[Fraction, ...]]:
    points = product(range(n_steps + 1), repeat=n_classes)
    found = [point for point in points if sum(point) == n_steps]
    return [tuple(Fraction(k, n_steps) for k in point) for point in reversed(found)]


def nearest_counts(shares: Sequence[Fraction], size: int, row: int) -> list[int]:
    quotas = [share * size for share in shares]
    counts = [int(quota) for quota in quotas]
    hashes = uniforms(0, row, len(shares))
    ranking = sorted(range(len(shares)), key=lambda j: (counts[j] - quotas[j], hashes[j]))
    for j in ranking[: size - sum(counts)]:
        counts[j] += 1
    return counts
