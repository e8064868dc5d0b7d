"""Protocols that create dataset shift between training sets and test samples."""

from __future__ import annotations

from headcount.shift.concept import ConceptShift
from headcount.shift.covariate import GlobalCovariateShift, LocalCovariateShift
from headcount.shift.domain import DomainMixer
from headcount.shift.experiments import ShiftedSamples, ShiftExperiment
from headcount.shift.multiclass import KnockOut, TweakOne
from headcount.shift.prior import PriorShift
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
