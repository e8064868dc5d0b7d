"""Samples of a pool, and the protocols that draw them."""

from __future__ import annotations

from headcount.sampling.protocols import APP, NPP, UPP, Dirichlet, Prevalences
from headcount.sampling.samples import Samples, as_samples

__all__ = ["APP", "NPP", "UPP", "Dirichlet", "Prevalences", "Samples", "as_samples"]
