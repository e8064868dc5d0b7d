"""From a fitted quantifier and new items to an analysis."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_fraction
from headcount._versions import versions
from headcount.analysis.analysis import Analysis, Part
from headcount.analysis.facts import method_facts, plain
from headcount.analysis.groups import Groups
from headcount.analysis.histograms import ScoreHistogram, score_histograms
from headcount.data import encode_labels
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.labels import LabelPlan, check_enough, check_labelled_rows
from headcount.quantify import Quantifier
from headcount.sampling import Samples
from headcount.scores import ItemScorer, Scored, ScoredPool, Verdicts
from headcount.uncertainty import Estimate

__all__ = ["analyse_items", "analysis_of_parts", "caught_warnings", "make_part"]

Found = TypeVar("Found")


def analyse_items(
    quantifier: Quantifier,
    X: Any,
    *,
    groups: ArrayLike | Groups | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    labelled: Any = None,
    design: LabelPlan | None = None,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
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
    X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
        The items; they are classified once.
    groups : array-like of shape (n,), default=None
        Group of each item, such as its month or shop; None for no groups.
    order : sequence, default=None
        The groups in the order to show them, as a sequence; sorted by default, and taken for
        a sequence if they are numbers or dates.
    truth : array-like of shape (n,), default=None
        Labels of the items if they are known, to compare the shares with.
    labelled : pair of array-like, default=None
        Rows of some items, drawn at random, and their labels, which the shares then rest on.
    design : LabelPlan, default=None
        Plan that the labelled rows were drawn by, with these groups if there are any. None
        for a simple random sample.
    weights, clusters : array-like of shape (n,), default=None
        Survey weights and clusters of the items, as for ``estimate`` of a quantifier.
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
    (6, 12)
    >>> print(analysis.verdict)
    Of 600 items, about ...
    """
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a fitted quantifier: pass for instance "
            "PACC().fit(X, y)."
        )
    check_is_fitted(quantifier, "fitted_")
    check_fraction("level", level)
    pool = X if isinstance(X, Scored | Verdicts) else ScoredPool(X)
    if not isinstance(groups, Groups):
        groups = Groups.of(groups, len(pool), order)
    classes = quantifier.classes_
    if labelled is not None:
        _check_labels_of_groups(labelled, groups, len(classes))
    estimates, caught = _estimates(
        quantifier,
        pool,
        groups.samples,
        labelled=labelled,
        design=design,
        weights=weights,
        clusters=clusters,
        random_state=random_state,
    )
    posteriors, predicted = _classified(quantifier, pool)
    true_codes = None
    if truth is not None:
        true_codes = encode_labels(truth, name="truth", classes=classes)[1]
    counted = _shares(predicted, groups.samples, len(classes))
    true = _shares(true_codes, groups.samples, len(classes))
    parts = [
        make_part(name, estimate, level, own, known)
        for name, estimate, own, known in zip(
            groups.names, estimates, counted, true, strict=True
        )
    ]
    histograms: tuple[ScoreHistogram, ...] = ()
    evidence = quantifier.fitted_.evidence(pool)
    if evidence is not None and posteriors is not None:
        shares = parts[0].estimate.shares
        histograms = score_histograms(evidence.training, posteriors, classes, shares)
    return analysis_of_parts(
        quantifier, parts, groups.ordered, histograms, caught, data_facts, title, level
    )


def analysis_of_parts(
    quantifier: Quantifier,
    parts: Sequence[Part],
    ordered: bool,
    histograms: tuple[ScoreHistogram, ...],
    caught: tuple[str, ...],
    data_facts: Mapping[str, str] | None,
    title: str,
    level: float,
) -> Analysis:
    """Analysis of all items, the first part, and of groups, the others."""
    training = quantifier.fitted_.training
    return Analysis(
        title=title,
        created=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        classes=tuple(quantifier.classes_.tolist()),
        level=float(level),
        overall=parts[0],
        groups=tuple(parts[1:]),
        ordered=ordered,
        training=quantifier.prior_,
        n_training=None if training is None else len(training.codes),
        method=method_facts(quantifier, parts[0].estimate.n_items),
        histograms=histograms,
        warnings=caught,
        versions=versions(),
        data_facts={str(key): str(text) for key, text in (data_facts or {}).items()},
    )


def _check_labels_of_groups(labelled: Any, groups: Groups, n_classes: int) -> None:
    rows = check_labelled_rows(labelled, groups.samples.n_pool)
    for name, items in zip(groups.names[1:], list(groups.samples)[1:], strict=True):
        check_enough(int(np.isin(rows, items).sum()), n_classes, f"group {plain(name)!r}")


def _estimates(
    quantifier: Quantifier, pool: Any, samples: Samples, **options: Any
) -> tuple[list[Estimate], tuple[str, ...]]:
    """Estimates of the samples, and the warnings that were raised."""
    return caught_warnings(lambda: quantifier.estimate_many(pool, samples, **options))


def caught_warnings(compute: Callable[[], Found]) -> tuple[Found, tuple[str, ...]]:
    """Result of a call, and the warnings of the library that were raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HeadcountWarning)
        found = compute()
    ours = [each for each in caught if issubclass(each.category, HeadcountWarning)]
    for each in caught:
        if each not in ours:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return found, tuple(dict.fromkeys(str(each.message) for each in ours))


def _classified(
    quantifier: Quantifier, pool: ScoredPool | Scored | Verdicts
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Posteriors and predicted classes of the items, None if they are not known."""
    classes, scorer = quantifier.classes_, quantifier.fitted_.scorer
    if isinstance(pool, Verdicts):
        return None, pool.codes_of(classes)
    if isinstance(pool, Scored):
        return pool.posteriors_of(classes), pool.codes_of(classes)
    if not isinstance(scorer, ItemScorer):
        return None, None  # works on features, or has several classifiers
    posteriors = None
    if scorer.has_posteriors_ or quantifier.fitted_.takes == "posteriors":
        posteriors = pool.posteriors(scorer)
    if posteriors is not None and quantifier.fitted_.takes != "labels":
        return posteriors, posteriors.argmax(axis=1)
    labels = pool.labels(scorer)
    # Classifiers of each class against the rest do not predict the class of an item.
    return posteriors, labels if labels.ndim == 1 else None


def make_part(
    name: Any,
    estimate: Estimate,
    level: float,
    counted: NDArray[np.float64] | None,
    truth: NDArray[np.float64] | None,
) -> Part:
    """Part of an analysis, of all items or a group, from its estimate."""
    ends = estimate.interval(level)
    return Part(plain(name), estimate, ends.low, ends.high, estimate.count, counted, truth)


def _shares(
    codes: NDArray[np.int64] | None, samples: Samples, K: int
) -> Sequence[NDArray[np.float64] | None]:
    """Shares of the classes in each sample; None for each if the codes are not known."""
    return [None] * len(samples) if codes is None else list(samples.prevalence_of(codes, K))
