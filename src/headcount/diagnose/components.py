"""Test of the shift assumption on features as well as scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._parameters import check_count
from headcount.data import check_features, count_rows
from headcount.diagnose.fit_test import FitTests, fit_test
from headcount.errors import HeadcountError
from headcount.scores import Scored, Scorer

Floats = NDArray[np.float64]


def components(
    training_items: Any, items: Any, n_components: int = 8, *, random_state: Any = 0
) -> tuple[Floats, Floats]:
    """Principal directions of the features, as covariates for `fit_test`.

    They are fitted on training items and new items together. Directions fitted on the
    training items alone would show a difference even where there is none.

    Parameters
    ----------
    training_items : array-like or sparse matrix of shape (n, d)
        Numeric features of the training items.
    items : array-like or sparse matrix of shape (m, d)
        Features of the pool.
    n_components : int, default=8
        Number of directions. If there are no more features, the features themselves are
        returned.
    random_state : int, RandomState or None, default=0
        Random seed.

    Returns
    -------
    tuple of ndarray of shape (n, c) and ndarray of shape (m, c)
        Coordinates of training items and of new items: ``training_covariates`` and
        ``covariates`` of `fit_test`. Columns of arrays are standardised first, those of
        sparse matrices are not.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> own, new = components(rng.normal(size=(100, 20)), rng.normal(size=(50, 20)), 3)
    >>> own.shape, new.shape
    ((100, 3), (50, 3))
    """
    # Imported here, as estimates do not need it.
    from sklearn.decomposition import TruncatedSVD

    most = check_count("n_components", n_components)
    own, new = _numbers("training_items", training_items), _numbers("items", items)
    if own.shape[1] != new.shape[1]:
        raise HeadcountError(
            f"items has {new.shape[1]:,} columns, but training_items has {own.shape[1]:,}: "
            "pass the same columns in the same order."
        )
    n = own.shape[0]
    if sparse.issparse(own) or sparse.issparse(new):
        together: Any = sparse.vstack([own, new], format="csr")
    else:
        together = _scaled(np.concatenate([own, new]))
    if together.shape[1] > most:
        search = TruncatedSVD(most, random_state=random_state)
        together = search.fit_transform(together)
    elif sparse.issparse(together):
        together = together.toarray()
    scores = np.asarray(together, np.float64)
    return scores[:n], scores[n:]


def fit_test_items(
    scorer: Scorer,
    training_items: Any,
    items: Any,
    samples: Any = None,
    *,
    n_components: int = 8,
    random_state: Any = 0,
) -> FitTests:
    """Test if samples are mixtures of the training classes, by scores and by features.

    The test of estimates uses scores alone and misses changes that do not affect them. This
    test also uses the principal directions of the features. It detects more shifts,
    including harmless ones.

    Parameters
    ----------
    scorer : Scorer
        Scorer fitted on the training items, such as ``fitted_.scorer`` of a quantifier.
    training_items : array-like or sparse matrix of shape (n, d)
        Features of the training items, in the order in which the scorer was fitted.
    items : array-like or sparse matrix of shape (m, d)
        Features of the pool.
    samples : Samples or iterable of index arrays, default=None
        Samples of the pool. By default one sample, the whole pool.
    n_components : int, default=8
        Number of directions, as for `components`.
    random_state : int, RandomState or None, default=0
        Random seed.

    Returns
    -------
    FitTests
        One test per sample.

    Examples
    --------
    >>> import headcount as hc
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(3000, n_informative=4, random_state=0)
    >>> quantifier = hc.PACC(random_state=0).fit(X[:2000], y[:2000])
    >>> new = X[2000:].copy()
    >>> print(fit_test_items(quantifier.fitted_.scorer, X[:2000], new)[0])
    The sample looks like a mixture of the training classes (p = ...).
    >>> new[:, 3] += 0.5
    >>> print(fit_test_items(quantifier.fitted_.scorer, X[:2000], new)[0])
    The sample does not look like a mixture of the training classes (p < 0.0001).
    """
    if not scorer.has_posteriors_:
        raise HeadcountError(
            "scorer has no out-of-fold posteriors of the training items: pass a Scorer that "
            "was fitted on them, such as fitted_.scorer of a fitted PACC."
        )
    if count_rows(training_items) != len(scorer.codes_):
        raise HeadcountError(
            f"training_items has {count_rows(training_items):,} rows, but scorer was fitted on "
            f"{len(scorer.codes_):,} items: pass the same items in the same order."
        )
    own, new = components(training_items, items, n_components, random_state=random_state)
    return fit_test(
        Scored(scorer.posteriors_, scorer.classes_),
        scorer.classes_[scorer.codes_],
        scorer.score(items),
        samples,
        scorer.weights_,
        training_covariates=own,
        covariates=new,
    )


def _numbers(name: str, items: Any) -> Any:
    checked = check_features(items, name=name)
    if sparse.issparse(checked):
        return checked
    try:
        numbers = np.asarray(checked, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 2:
        raise HeadcountError(
            f"{name} must be numbers, one row per item: convert texts and categories to "
            "columns of numbers first."
        )
    return numbers


def _scaled(columns: Floats) -> Floats:
    """Standardise columns, and leave out constant ones."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    varying = spread > 1e-12 * np.maximum(np.abs(columns).max(axis=0), 1e-300)
    return np.asarray(centred[:, varying] / spread[varying])
