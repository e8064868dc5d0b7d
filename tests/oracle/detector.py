"""Slow reference for the detector of changes: one series, one value at a time."""

from __future__ import annotations

import math


def evidence(values, unit_variance, size, steps=(0.25, 0.5, 1.0, 2.0, 3.0)):
    """Evidence of a change after each value of one series, without any alarm."""
    tilts = [*steps, *(-step for step in steps)]
    grown = [0.0] * len(tilts)
    found, earlier = [], []
    for x in values:
        if earlier:
            mean = sum(earlier) / len(earlier)
            error = math.sqrt(unit_variance / size * (1 + 1 / len(earlier)))
            z = (x - mean) / error
            grown = [
                math.exp(tilt * z - tilt**2 / 2) * (m + 1)
                for tilt, m in zip(tilts, grown, strict=True)
            ]
        found.append(sum(grown) / len(grown))
        earlier.append(x)
    return found
