"""Slow reference for the detector of changes: one series, one value at a time."""

from __future__ import annotations

import math

STEPS = {0.25: 0.1, 0.5: 0.2, 1.0: 0.4, 2.0: 0.2, 3.0: 0.1}


def evidence(values, unit_variance, size, steps=STEPS):
    """Evidence of a change after each value of one series, without any alarm."""
    tilts = [*steps, *(-step for step in steps)]
    parts = [part / 2 for part in steps.values()] * 2
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
        found.append(sum(part * m for part, m in zip(parts, grown, strict=True)))
        earlier.append(x)
    return found
