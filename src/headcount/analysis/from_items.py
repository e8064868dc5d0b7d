"""From a fitted quantifier and new items to an analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_fraction
from headcount.analysis.analysis import Analysis, Part
from headcount.analysis.evidence import Evidence, evidence_of_items, evidence_of_scores
from headcount.analysis.facts import method_facts, plain, versions
from headcount.analysis.groups import Groups
from headcount.analysis.histograms import score_histograms
from headcount.data import encode_labels
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantify import Quantifier
from headcount.sampling import Samples
from headcount.scores import ScoredPool, check_scores
from headcount.uncertainty import Estimate

__all__ = ["analyse_items", "analyse_scores"]


def analyse_items(
    quantifier: Quantifier,
    X: Any,
    *,
    groups: ArrayLike | Groups | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    data_facts: Mapping[str, str] | None = None,
    title: str = "How many of each?",
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Estimate the shares of the classes among items, and in groups of them.

    `headcount.analyse` does the same for tables that are not prepared yet.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted quantifier.
    X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
        The items; they are classified once.
    groups : array-like of shape (n,), default=None
        Group of each item, such as its month or shop; None for no groups.
    order : sequence, default=None
        The groups in the order to show them, as a sequence; sorted by default, and taken for
        a sequence if they are numbers or dates.
    truth : array-like of shape (n,), default=None
        Labels of the items if they are known, to compare the shares with.
    data_facts : mapping of str to str, default=None
        Facts about the data: names and texts.
    title : str, default="How many of each?"
        Heading of the report.
    level : float, default=0.95
        Probability that an interval contains the share.
    random_state : int, RandomState, Generator or None, default=0
        Random seed of the intervals.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> from headcount.analysis import analyse_items
    >>> X, y = make_classification(1200, class_sep=2, random_state=0)
    >>> quantifier = hc.PACC(random_state=0).fit(X[:600], y[:600])
    >>> months = ["2024-01"] * 300 + ["2024-02"] * 300
    >>> analysis = analyse_items(quantifier, X[600:], groups=months)
    >>> analysis.to_frame().shape
    (6, 11)
    >>> print(analysis.verdict)
    Of 600 items, about ...
    """
    _check_quantifier(quantifier)
    check_fraction("level", level)
    pool = ScoredPool(X)
    grouped = _grouped(groups, order, len(pool))
    estimates, caught = _estimates(
        quantifier.estimate_many, pool, grouped.samples, random_state
    )
    evidence = evidence_of_items(quantifier, pool)
    return _assemble(
        quantifier, evidence, grouped, estimates, caught, truth, data_facts, title, level
    )


def analyse_scores(
    quantifier: Quantifier,
    scores: Any,
    *,
    groups: ArrayLike | Groups | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    data_facts: Mapping[str, str] | None = None,
    title: str = "How many of each?",
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Like `analyse_items`, for items that were scored elsewhere."""
    _check_quantifier(quantifier)
    check_fraction("level", level)
    posteriors = check_scores(scores, len(quantifier.classes_))
    grouped = _grouped(groups, order, len(posteriors))
    estimates, caught = _estimates(
        quantifier.estimate_many_scores, posteriors, grouped.samples, random_state
    )
    evidence = evidence_of_scores(quantifier, posteriors)
    return _assemble(
        quantifier, evidence, grouped, estimates, caught, truth, data_facts, title, level
    )


def _check_quantifier(quantifier: Any) -> None:
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a fitted quantifier: pass for instance "
            "PACC().fit(X, y)."
        )
    check_is_fitted(quantifier, "model_")


def _grouped(
    groups: ArrayLike | Groups | None, order: Sequence[Any] | None, n_items: int
) -> Groups:
    return groups if isinstance(groups, Groups) else Groups.of(groups, n_items, order)


def _estimates(
    estimate_many: Any, items: Any, samples: Samples, random_state: Any
) -> tuple[list[Estimate], tuple[str, ...]]:
    """Estimates of the samples, and the warnings that were raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HeadcountWarning)
        estimates = estimate_many(items, samples, random_state=random_state)
    ours = [each for each in caught if issubclass(each.category, HeadcountWarning)]
    for each in caught:
        if each not in ours:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return estimates, tuple(dict.fromkeys(str(each.message) for each in ours))


def _assemble(
    quantifier: Quantifier,
    evidence: Evidence,
    groups: Groups,
    estimates: list[Estimate],
    caught: tuple[str, ...],
    truth: ArrayLike | None,
    data_facts: Mapping[str, str] | None,
    title: str,
    level: float,
) -> Analysis:
    classes = quantifier.classes_
    true_codes = None
    if truth is not None:
        true_codes = encode_labels(truth, name="truth", classes=classes)[1]
    counted = _shares(evidence.labels, groups.samples, len(classes))
    true = _shares(true_codes, groups.samples, len(classes))
    parts = [
        _part(name, estimate, level, own, known)
        for name, estimate, own, known in zip(
            groups.names, estimates, counted, true, strict=True
        )
    ]
    histograms: tuple[Any, ...] = ()
    if evidence.training is not None and evidence.posteriors is not None:
        shares = parts[0].estimate.shares
        histograms = score_histograms(evidence.training, evidence.posteriors, classes, shares)
    return Analysis(
        title=title,
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        classes=tuple(classes.tolist()),
        level=float(level),
        overall=parts[0],
        groups=tuple(parts[1:]),
        ordered=groups.ordered,
        training=quantifier.prior_,
        n_training=evidence.n_training,
        method=method_facts(quantifier),
        histograms=histograms,
        warnings=caught,
        versions=versions(),
        data_facts={str(key): str(text) for key, text in (data_facts or {}).items()},
    )


def _part(
    name: Any,
    estimate: Estimate,
    level: float,
    counted: NDArray[np.float64] | None,
    truth: NDArray[np.float64] | None,
) -> Part:
    ends = estimate.interval(level)
    return Part(
        plain(name), estimate, ends.low, ends.high, estimate.counts(level).count, counted, truth
    )


def _shares(
    codes: NDArray[np.int64] | None, samples: Samples, K: int
) -> Sequence[NDArray[np.float64] | None]:
    """Shares of the classes in each sample; None for each if the codes are not known."""
    return [None] * len(samples) if codes is None else list(samples.prevalence_of(codes, K))
