"""From a fitted quantifier and new items to an analysis."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_fraction
from headcount.data import encode_labels
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantify import Quantifier
from headcount.report.analysis import Analysis, Part
from headcount.report.evidence import Evidence, evidence_of_items, evidence_of_scores
from headcount.report.facts import method_facts, plain, versions
from headcount.report.grouping import Grouping, group_items
from headcount.report.histograms import score_histograms
from headcount.sampling import Samples
from headcount.scores import ScoredPool, check_scores
from headcount.uncertainty import Estimate

__all__ = ["analyse", "analyse_scores"]


@dataclass(frozen=True)
class _Wishes:
    """What the caller asked for, beside the quantifier and the items."""

    groups: ArrayLike | None
    order: Sequence[Any] | None
    truth: ArrayLike | None
    data_facts: Mapping[str, str] | None
    title: str | None
    level: float


def analyse(
    quantifier: Quantifier,
    X: Any,
    *,
    groups: ArrayLike | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    data_facts: Mapping[str, str] | None = None,
    title: str | None = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Estimate the shares of the classes among items, and in groups of them.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted one.
    X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
        The items; they are classified once.
    groups : array-like of shape (n,), default=None
        The group of each item, such as its month or shop; None for no groups.
    order : sequence, default=None
        The groups in the order to show them, which makes them follow one another; sorted by
        default, and following one another if they are numbers or dates.
    truth : array-like of shape (n,), default=None
        Labels of the items, where they are known, to show the true shares beside.
    data_facts : dict of str to str, default=None
        What to say of the data: names and texts.
    title : str, default=None
        Heading of the page.
    level : float, default=0.95
        How often intervals should hold the shares.
    random_state : int, RandomState, Generator or None, default=0
        Draws the replicates behind the intervals.

    Returns
    -------
    Analysis
        With ``to_frame``, ``to_dict`` and ``write_page(path)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> from headcount.report import analyse
    >>> X, y = make_classification(1200, class_sep=2, random_state=0)
    >>> quantifier = hc.PACC(random_state=0).fit(X[:600], y[:600])
    >>> months = ["2024-01"] * 300 + ["2024-02"] * 300
    >>> analysis = analyse(quantifier, X[600:], groups=months)
    >>> analysis.to_frame().shape
    (6, 11)
    >>> print(analysis.verdict)
    Of 600 items, about ...
    """
    _check_quantifier(quantifier)
    pool = ScoredPool(X)
    grouping = group_items(groups, order, len(pool))
    estimates, said = _estimates(
        quantifier.estimate_many, pool, grouping.samples, level, random_state
    )
    evidence = evidence_of_items(quantifier, pool)
    wishes = _Wishes(groups, order, truth, data_facts, title, level)
    return _assemble(quantifier, evidence, grouping, estimates, said, wishes)


def analyse_scores(
    quantifier: Quantifier,
    scores: Any,
    *,
    groups: ArrayLike | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    data_facts: Mapping[str, str] | None = None,
    title: str | None = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Like `analyse`, for items that were scored elsewhere.

    Parameters
    ----------
    quantifier : Quantifier
        One that was fitted on scores.
    scores : array-like or frame of shape (n, K)
        Posteriors of the items, columns in the order of ``quantifier.classes_``.
    groups, order, truth, data_facts, title, level, random_state
        As for `analyse`.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> from headcount.report import analyse_scores
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["ham", "spam"], 200)
    >>> scores = rng.beta(1 + 3 * (y == "spam"), 1 + 3 * (y == "ham"))
    >>> quantifier = hc.PACC().fit_scores(scores, y)
    >>> analyse_scores(quantifier, scores[100:]).overall.estimate.n_items
    300
    """
    _check_quantifier(quantifier)
    posteriors = check_scores(scores, len(quantifier.classes_))
    grouping = group_items(groups, order, len(posteriors))
    estimates, said = _estimates(
        quantifier.estimate_many_scores, posteriors, grouping.samples, level, random_state
    )
    evidence = evidence_of_scores(quantifier, posteriors)
    wishes = _Wishes(groups, order, truth, data_facts, title, level)
    return _assemble(quantifier, evidence, grouping, estimates, said, wishes)


def _check_quantifier(quantifier: Any) -> None:
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a fitted quantifier: pass for instance "
            "PACC().fit(X, y)."
        )
    check_is_fitted(quantifier, "model_")


def _estimates(
    estimate_many: Any, items: Any, samples: Samples, level: float, random_state: Any
) -> tuple[list[Estimate], tuple[str, ...]]:
    """The estimates, and what was warned of on the way."""
    check_fraction("level", level)
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
    grouping: Grouping,
    estimates: list[Estimate],
    said: tuple[str, ...],
    wishes: _Wishes,
) -> Analysis:
    classes, facts = quantifier.classes_, method_facts(quantifier)
    counted = _realised(evidence.labels, grouping.samples, len(classes))
    truth = _truth(wishes.truth, grouping.samples, classes)
    parts = [
        _part(name, estimate, wishes.level, _row(counted, i), _row(truth, i))
        for i, (name, estimate) in enumerate(zip(grouping.names, estimates, strict=True))
    ]
    histograms: tuple[Any, ...] = ()
    if evidence.training is not None and evidence.posteriors is not None:
        shares = parts[0].estimate.shares
        histograms = score_histograms(evidence.training, evidence.posteriors, classes, shares)
    return Analysis(
        title=wishes.title or "How many of each?",
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        classes=tuple(classes.tolist()),
        level=float(wishes.level),
        overall=parts[0],
        groups=tuple(parts[1:]),
        ordered=grouping.ordered,
        training=quantifier.prior_,
        n_training=evidence.n_training,
        method=facts,
        histograms=histograms,
        warnings=said,
        versions=versions(),
        data_facts={str(key): str(text) for key, text in (wishes.data_facts or {}).items()},
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


def _realised(
    codes: NDArray[np.int64] | None, samples: Samples, K: int
) -> NDArray[np.float64] | None:
    return None if codes is None else samples.prevalence_of(codes, K)


def _truth(
    truth: ArrayLike | None, samples: Samples, classes: NDArray[Any]
) -> NDArray[np.float64] | None:
    if truth is None:
        return None
    codes = encode_labels(truth, name="truth", classes=classes)[1]
    return _realised(codes, samples, len(classes))


def _row(table: NDArray[np.float64] | None, number: int) -> NDArray[np.float64] | None:
    return None if table is None else table[number]
