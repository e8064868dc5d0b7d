"""Decision trees and forests whose splits balance false positives and false negatives."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._kernels.forest import count_votes, find_leaves
from headcount._parameters import check_count
from headcount._threads import each_range
from headcount.learn._checks import check_items, refuse_sparse, seeds_of
from headcount.learn._tree_growth import Tree, bin_features, check_options, grow

__all__ = ["QuantificationForestClassifier", "QuantificationTreeClassifier"]

_ROWS_A_THREAD = 1000


class QuantificationTreeClassifier(ClassifierMixin, BaseEstimator):
    r"""Decision tree whose splits balance the false positives and negatives of each class.

    Where both are equally frequent for each class, the count of predictions is correct in
    spite of the errors. With FP_c and FN_c the false positives and negatives of class c on
    the training items of a node, the split of the node minimises

    .. math:: \sqrt{\textstyle\sum_c |FP_c - FN_c|^2}

    On a tie the split with the fewest errors is used. A node is split if that lowers the
    norm, or lowers the errors at an equal norm. Nodes are processed level by level. A leaf
    predicts its most frequent class, on a tie the first one.

    Parameters
    ----------
    criterion : {"balance", "balance_errors"}, default="balance"
        Terms of the norm: |FP_c - FN_c|, or |FP_c - FN_c| (FP_c + FN_c), which also favours
        few errors.
    scope : {"node", "tree"}, default="node"
        Part of the tree in which errors are balanced: the node alone, or the whole tree. See
        the notes.
    max_features : "log2", int or None, default=None
        Number of random features that a node tries: floor(log2 d) + 1, a number, or all. If
        none of them has an acceptable split, the others are tried too.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf. By default unlimited.
    min_samples_leaf : int, default=1
        Smallest number of training items in a leaf.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for the features that are tried and their order.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Classes, sorted.
    n_leaves_ : int
        Number of leaves.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of ``X``, if it had any.

    Notes
    -----
    A feature with more than 255 values is divided into 255 bins of about equal counts, and
    split between bins.

    By default every node is split like a tree of its own, and trees grow to the usual depth.
    With ``scope="tree"`` the errors of the whole tree are counted. Once they are balanced,
    hardly any further split is accepted: for two classes none at all, as a split that changes
    a prediction destroys the balance. Such trees are small, often with two leaves, and a
    useless feature that divides the items in the right proportion is as good as any other.

    Forests of both kinds reproduce the published errors of QF and QF-AC about equally well.
    On simulated data of two classes, "node" had a third of the error of "tree" where both
    classes were equally frequent in training, and the same error elsewhere. This is why it is
    the default.

    References
    ----------
    Milli, Monreale, Rossetti, Giannotti, Pedreschi and Sebastiani (2013), Quantification
    trees. ICDM.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount.learn import QuantificationTreeClassifier
    >>> X, y = make_classification(2000, weights=[0.8], random_state=0)
    >>> tree = QuantificationTreeClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> int(tree.predict(X[:1000]).sum()), int(y[:1000].sum())
    (215, 218)
    """

    def __init__(
        self,
        criterion: str = "balance",
        *,
        scope: str = "node",
        max_features: int | str | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.scope = scope
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.
        y : array-like of shape (n,)
            Labels of any type.

        Returns
        -------
        QuantificationTreeClassifier
            The fitted classifier.
        """
        seed = int(seeds_of(self.random_state, 1)[0])
        X, self.classes_, codes = check_items(self, X, y, accept_sparse=False)
        options = check_options(
            self.criterion,
            self.scope,
            self.max_features,
            self.max_depth,
            self.min_samples_leaf,
            X.shape[1],
        )
        ones = np.ones(len(codes), dtype=np.int64)
        self._tree = grow(bin_features(X), codes, len(self.classes_), ones, options, seed)
        self.n_leaves_ = int((self._tree.features < 0).sum())
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the classes among the training items of each item's leaf.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n, K)
            Shares that sum to 1, with columns in the order of ``classes_``.
        """
        counts = self._counts(X)
        shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most frequent class of each item's leaf, on a tie the first.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        codes = self._counts(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _counts(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self)
        refuse_sparse(self, X)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        tree, leaves = self._tree, np.empty(len(X), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            nodes = (tree.features, tree.thresholds, tree.children)
            find_leaves(X, *nodes, start, stop, leaves)

        each_range(work, len(X), grain=_ROWS_A_THREAD)
        return tree.counts[leaves]


class QuantificationForestClassifier(ClassifierMixin, BaseEstimator):
    """Forest of trees that balance the false positives and negatives of each class.

    Each tree is a :class:`QuantificationTreeClassifier` grown on a bootstrap sample and has
    one vote. The count of the forest's predictions is the method QF, its adjusted count
    QF-AC.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"balance", "balance_errors"}, default="balance"
        Terms of the norm that splits minimise: |FP_c - FN_c|, or
        |FP_c - FN_c| (FP_c + FN_c).
    scope : {"node", "tree"}, default="node"
        Part of the tree in which errors are balanced: each node alone, with deep trees, or
        the whole tree, with small trees; see :class:`QuantificationTreeClassifier`.
    max_features : "log2", int or None, default="log2"
        Number of random features that a node tries: floor(log2 d) + 1, a number, or all. If
        none of them has an acceptable split, the others are tried too.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf. By default unlimited.
    min_samples_leaf : int, default=1
        Smallest number of items of the bootstrap sample in a leaf.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for the bootstrap samples and the features. The forest does not depend on
        the number of threads (``HEADCOUNT_NUM_THREADS``, by default every core).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Classes, sorted.
    oob_decision_function_ : ndarray of shape (n, K)
        Shares of the votes on each training item of the trees that were not grown on it. NaN
        for an item that all trees were grown on, which happens with few trees.
    oob_prediction_ : ndarray of shape (n,)
        Predicted classes by these votes, or the most frequent class in training where there
        are none. The error rates of the forest follow without cross-validation.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of ``X``, if it had any.

    Notes
    -----
    Shares of votes are not calibrated posteriors. A feature with more than 255 values is
    divided into 255 bins of about equal counts over all training items, and split between
    bins.

    References
    ----------
    Milli, Monreale, Rossetti, Giannotti, Pedreschi and Sebastiani (2013), Quantification
    trees. ICDM.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount.learn import QuantificationForestClassifier
    >>> X, y = make_classification(2000, weights=[0.8], random_state=0)
    >>> forest = QuantificationForestClassifier(random_state=0).fit(X[:1000], y[:1000])
    >>> forest.predict_proba(X[1000:]).shape, forest.oob_prediction_.shape
    ((1000, 2), (1000,))
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "balance",
        scope: str = "node",
        max_features: int | str | None = "log2",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.scope = scope
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.
        y : array-like of shape (n,)
            Labels of any type.

        Returns
        -------
        QuantificationForestClassifier
            The fitted classifier.
        """
        n_trees = check_count("n_estimators", self.n_estimators)
        seeds = seeds_of(self.random_state, n_trees)
        X, self.classes_, codes = check_items(self, X, y, accept_sparse=False)
        options = check_options(
            self.criterion,
            self.scope,
            self.max_features,
            self.max_depth,
            self.min_samples_leaf,
            X.shape[1],
        )
        n, K, binned = len(codes), len(self.classes_), bin_features(X)
        seen = np.zeros((n_trees, n), dtype=np.bool_)
        trees: dict[int, Tree] = {}

        def work(start: int, stop: int) -> None:
            for t in range(start, stop):
                rng = np.random.default_rng(seeds[t])
                times = np.bincount(rng.integers(n, size=n), minlength=n)
                seen[t] = times > 0
                trees[t] = grow(binned, codes, K, times, options, int(rng.integers(2**63)))

        each_range(work, n_trees)
        self._forest = _Forest([trees[t] for t in range(n_trees)])
        self._keep_out_of_bag(self._forest.votes(X, K, seen), codes)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each class in the votes of the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n, K)
            Shares that sum to 1, with columns in the order of ``classes_``.
        """
        votes = self._votes(X)
        shares: NDArray[np.float64] = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, on a tie the first.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        codes = self._votes(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _votes(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self)
        refuse_sparse(self, X)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        nothing = np.zeros((0, 0), dtype=np.bool_)
        return self._forest.votes(X, len(self.classes_), nothing)

    def _keep_out_of_bag(self, votes: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        totals = votes.sum(axis=1, keepdims=True)
        shares = np.full(votes.shape, np.nan)
        np.divide(votes, totals, out=shares, where=totals > 0)
        self.oob_decision_function_ = shares
        said = votes.argmax(axis=1)
        said[totals[:, 0] == 0] = np.bincount(codes).argmax()
        self.oob_prediction_ = self.classes_[said]


class _Forest:
    """Concatenated nodes of all trees."""

    def __init__(self, trees: list[Tree]) -> None:
        sizes = [len(tree.features) for tree in trees]
        self.roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.features = np.concatenate([tree.features for tree in trees])
        self.thresholds = np.concatenate([tree.thresholds for tree in trees])
        self.children = np.concatenate(
            [tree.children + root for tree, root in zip(trees, self.roots, strict=True)]
        )
        self.labels = np.concatenate([tree.counts.argmax(axis=1) for tree in trees])

    def votes(
        self, X: NDArray[np.float64], n_classes: int, seen: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Count votes on items. Tree t does not vote on item i where ``seen[t, i]``."""
        out = np.zeros((len(X), n_classes), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            nodes = (self.roots, self.features, self.thresholds, self.children, self.labels)
            count_votes(X, *nodes, seen, start, stop, out)

        each_range(work, len(X), grain=_ROWS_A_THREAD)
        return out
