"""The methods, one family a module: each names a representation and a solver."""

from headcount.quantify.adjusted import ACC, FM, GAC, GPAC, PACC, SMM
from headcount.quantify.base import Quantifier
from headcount.quantify.counting import CC, MLPE, PCC
from headcount.quantify.distances import CvMy, EDy
from headcount.quantify.info import MethodInfo
from headcount.quantify.iterative import CDE
from headcount.quantify.kernels import KMM, KDEyCS, KDEyHD, KDEyML
from headcount.quantify.likelihood import SLD
from headcount.quantify.matching import DM, FMM, DyS, HDy
from headcount.quantify.one_vs_rest import OneVsRest
from headcount.quantify.registry import MethodTable, methods, quantifiers
from headcount.quantify.thresholds import MS, MS2, T50, TMAX, TX

__all__ = [
    "ACC",
    "CC",
    "CDE",
    "DM",
    "FM",
    "FMM",
    "GAC",
    "GPAC",
    "KMM",
    "MLPE",
    "MS",
    "MS2",
    "PACC",
    "PCC",
    "SLD",
    "SMM",
    "T50",
    "TMAX",
    "TX",
    "CvMy",
    "DyS",
    "EDy",
    "HDy",
    "KDEyCS",
    "KDEyHD",
    "KDEyML",
    "MethodInfo",
    "MethodTable",
    "OneVsRest",
    "Quantifier",
    "methods",
    "quantifiers",
]
