"""The methods, one family a module: each names a representation and a solver."""

from headcount.quantify.adapted import AdaptedClassifier
from headcount.quantify.adjusted import ACC, FM, GAC, GPAC, PACC, SMM
from headcount.quantify.auto import AutoQuantifier
from headcount.quantify.base import Quantifier
from headcount.quantify.conditioned import Conditioned
from headcount.quantify.counting import CC, MLPE, PCC
from headcount.quantify.ensembles.averages import Mean, Median
from headcount.quantify.ensembles.ensemble import Ensemble
from headcount.quantify.features import ED, HDx, ReadMe
from headcount.quantify.importance_weights import BBSE, RLLS
from headcount.quantify.info import MethodInfo
from headcount.quantify.iterative import CDE, LEIP
from headcount.quantify.kernels import KMM, KDEyCS, KDEyHD, KDEyML
from headcount.quantify.learners import PWK, QF, QFAC
from headcount.quantify.likelihood import SLD, RegularizedLikelihood
from headcount.quantify.matching import DM, FMM, CvMy, DyS, EDy, HDy
from headcount.quantify.one_vs_rest import OneVsRest
from headcount.quantify.ordinal import OrdinalACC, OrdinalPACC, OrdinalSLD
from headcount.quantify.registry import MethodTable, method, methods, quantifiers
from headcount.quantify.sweeps import ContinuousSweep
from headcount.quantify.thresholds import MS, MS2, T50, TMAX, TX
from headcount.quantify.vector_machines import SVMAE, SVMK, SVMN, SVMQ, SVMRAE

__all__ = [
    "ACC",
    "BBSE",
    "CC",
    "CDE",
    "DM",
    "ED",
    "FM",
    "FMM",
    "GAC",
    "GPAC",
    "KMM",
    "LEIP",
    "MLPE",
    "MS",
    "MS2",
    "PACC",
    "PCC",
    "PWK",
    "QF",
    "QFAC",
    "RLLS",
    "SLD",
    "SMM",
    "SVMAE",
    "SVMK",
    "SVMN",
    "SVMQ",
    "SVMRAE",
    "T50",
    "TMAX",
    "TX",
    "AdaptedClassifier",
    "AutoQuantifier",
    "Conditioned",
    "ContinuousSweep",
    "CvMy",
    "DyS",
    "EDy",
    "Ensemble",
    "HDx",
    "HDy",
    "KDEyCS",
    "KDEyHD",
    "KDEyML",
    "Mean",
    "Median",
    "MethodInfo",
    "MethodTable",
    "OneVsRest",
    "OrdinalACC",
    "OrdinalPACC",
    "OrdinalSLD",
    "Quantifier",
    "ReadMe",
    "RegularizedLikelihood",
    "method",
    "methods",
    "quantifiers",
]
