"""Representations of items by vectors whose mean describes a sample.

A representation has ``fit(training)``, which returns a fitted representation, and
``embed(items)``, which returns an `Embedding` that computes the means of samples.
"""

from headcount.representation.binning import FeatureHistograms
from headcount.representation.classifier_outputs import (
    AbovePrior,
    ExpectedClass,
    Histograms,
    Posterior,
    PredictedClass,
)
from headcount.representation.distances import MeanDistance
from headcount.representation.embedding import Binned, Dense, Embedding
from headcount.representation.euclidean_distances import EuclideanDistance, distances_to_sets
from headcount.representation.fourier_features import FourierFeatures
from headcount.representation.kernel_density import ClassDensities, KernelMeans, MixturePoints
from headcount.representation.log_ratios import InLogRatios, largest_log_ratio, log_ratios
from headcount.representation.patterns import FeaturePatterns, PatternTable, joint_codes
from headcount.representation.reduction import (
    CellsOf,
    Embedder,
    MeanOf,
    Reduced,
    Reduction,
    WeightedRows,
    reduce_in_batches,
)
from headcount.representation.thresholds import AtThreshold, Rates, rates_by_threshold
from headcount.representation.training import Training

__all__ = [
    "AbovePrior",
    "AtThreshold",
    "Binned",
    "CellsOf",
    "ClassDensities",
    "Dense",
    "Embedder",
    "Embedding",
    "EuclideanDistance",
    "ExpectedClass",
    "FeatureHistograms",
    "FeaturePatterns",
    "FourierFeatures",
    "Histograms",
    "InLogRatios",
    "KernelMeans",
    "MeanDistance",
    "MeanOf",
    "MixturePoints",
    "PatternTable",
    "Posterior",
    "PredictedClass",
    "Rates",
    "Reduced",
    "Reduction",
    "Training",
    "WeightedRows",
    "distances_to_sets",
    "joint_codes",
    "largest_log_ratio",
    "log_ratios",
    "rates_by_threshold",
    "reduce_in_batches",
]
