"""Protocols that create dataset shift between training sets and test samples."""

from __future__ import annotations

from headcount.shift.experiments import ShiftedSamples, ShiftExperiment
from headcount.shift.shift_protocols import (
    ConceptShift,
    DomainMixer,
    GlobalCovariateShift,
    KnockOut,
    LocalCovariateShift,
    PriorShift,
    TweakOne,
)
from headcount.shift.synthetic import SyntheticShift, make_shift

__all__ = [
    "ConceptShift",
    "DomainMixer",
    "GlobalCovariateShift",
    "KnockOut",
    "LocalCovariateShift",
    "PriorShift",
    "ShiftExperiment",
    "ShiftedSamples",
    "SyntheticShift",
    "TweakOne",
    "make_shift",
]
