"""Decision trees and forests whose splits balance false positives and false negatives."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._kernels.forest import count_votes, find_leaves, grow_tree
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import each_range
from headcount._support.parameters import check_choice, check_count
from headcount.learn.checks import check_items, refuse_sparse, seeds_of

CRITERIA = ("balance", "balance_errors")
SCOPES = ("node", "tree")
_MOST_BINS = 255
_ROWS_A_THREAD = 1000


class _VotingTrees(ClassifierMixin, BaseEstimator):
    """Base of a tree, in whose leaves training items vote, and of a forest, whose trees do."""

    criterion: str
    scope: str
    max_features: int | str | None
    max_depth: int | None
    min_samples_leaf: int

    def _votes(self, X: Any) -> Ints:
        """Votes on each item, one column per class."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of each class in the votes.

        Those of a tree are the training items of each item's leaf, those of a forest its trees.

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
        return votes / votes.sum(axis=1, keepdims=True)

    @documented(predict_proba)
    def predict(self, X: Any) -> Array:
        """Predict the class with the most votes, on a tie the first.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        codes = self._votes(X).argmax(axis=1)
        return self.classes_[codes]

    def _checked(self, X: Any) -> Any:
        """Items to predict."""
        check_is_fitted(self)
        refuse_sparse(self, X)
        return validate_data(self, X, dtype=np.float64, order="C", reset=False)

    def _options(self, n_features: int) -> GrowthOptions:
        """Checked parameters of the growth."""
        return check_options(
            self.criterion,
            self.scope,
            self.max_features,
            self.max_depth,
            self.min_samples_leaf,
            n_features,
        )


@dataclass(eq=False, repr=False)
class QuantificationTreeClassifier(_VotingTrees):
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

    criterion: str = "balance"
    _: KW_ONLY
    scope: str = "node"
    max_features: int | str | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 1
    random_state: Any = None

    @documented(_VotingTrees.predict_proba)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Grow the tree.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of any type.
        """
        seed = int(seeds_of(self.random_state, 1)[0])
        X, self.classes_, codes = check_items(self, X, y, accept_sparse=False)
        options = self._options(X.shape[1])
        ones = np.ones(len(codes), dtype=np.int64)
        self._tree = grow(bin_features(X), codes, len(self.classes_), ones, options, seed)
        self.n_leaves_ = int((self._tree.features < 0).sum())
        return self

    def _votes(self, X: Any) -> Ints:
        X = self._checked(X)
        tree, leaves = self._tree, np.empty(len(X), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            nodes = (tree.features, tree.thresholds, tree.children)
            find_leaves(X, *nodes, start, stop, leaves)

        each_range(work, len(X), grain=_ROWS_A_THREAD)
        return tree.counts[leaves]


@documented(QuantificationTreeClassifier)
@dataclass(eq=False, repr=False)
class QuantificationForestClassifier(_VotingTrees):
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

    n_estimators: int = 100
    _: KW_ONLY
    criterion: str = "balance"
    scope: str = "node"
    max_features: int | str | None = "log2"
    max_depth: int | None = None
    min_samples_leaf: int = 1
    random_state: Any = None

    @documented(QuantificationTreeClassifier.fit)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Grow the trees."""
        n_trees = check_count("n_estimators", self.n_estimators)
        seeds = seeds_of(self.random_state, n_trees)
        X, self.classes_, codes = check_items(self, X, y, accept_sparse=False)
        options = self._options(X.shape[1])
        n, K, binned = len(codes), len(self.classes_), bin_features(X)
        grown_on = np.zeros((n_trees, n), dtype=np.bool_)
        trees: dict[int, Tree] = {}

        def work(start: int, stop: int) -> None:
            for t in range(start, stop):
                rng = np.random.default_rng(seeds[t])
                times = np.bincount(rng.integers(n, size=n), minlength=n)
                grown_on[t] = times > 0
                trees[t] = grow(binned, codes, K, times, options, int(rng.integers(2**63)))

        each_range(work, n_trees)
        self._forest = _Forest([trees[t] for t in range(n_trees)])
        self._keep_out_of_bag(self._forest.votes(X, K, grown_on), codes)
        return self

    def _votes(self, X: Any) -> Ints:
        X, nothing = self._checked(X), np.zeros((0, 0), dtype=np.bool_)
        return self._forest.votes(X, len(self.classes_), nothing)

    def _keep_out_of_bag(self, votes: Ints, codes: Ints) -> None:
        totals = votes.sum(axis=1, keepdims=True)
        shares = np.full(votes.shape, np.nan)
        np.divide(votes, totals, out=shares, where=totals > 0)
        self.oob_decision_function_ = shares
        predicted = votes.argmax(axis=1)
        predicted[totals[:, 0] == 0] = np.bincount(codes).argmax()
        self.oob_prediction_ = self.classes_[predicted]


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

    def votes(self, X: Floats, n_classes: int, grown_on: Bools) -> Ints:
        """Count votes on items. Tree t does not vote on item i where ``grown_on[t, i]``."""
        out = np.zeros((len(X), n_classes), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            nodes = (self.roots, self.features, self.thresholds, self.children, self.labels)
            count_votes(X, *nodes, grown_on, start, stop, out)

        each_range(work, len(X), grain=_ROWS_A_THREAD)
        return out


@dataclass(frozen=True)
class BinnedFeatures:
    """Bin of each feature and item, (d, n), and the upper edges of the bins of each feature."""

    bins: NDArray[np.uint8]
    edges: list[Floats]


@dataclass(frozen=True)
class GrowthOptions:
    """Checked parameters of tree growth."""

    by_errors: bool
    alone: bool
    n_tried: int
    depth: int
    least: int


@dataclass(frozen=True)
class Tree:
    """A grown tree."""

    features: Ints
    thresholds: Floats
    children: Ints
    counts: Ints


def bin_features(X: Floats) -> BinnedFeatures:
    """Bin each feature by its values, or into 255 bins of about equal counts."""
    bins = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    edges = []
    for feature in range(X.shape[1]):
        column = np.ascontiguousarray(X[:, feature])
        ordered = np.sort(column)
        fresh = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
        if len(fresh) >= _MOST_BINS:
            cuts = np.linspace(0, len(ordered), _MOST_BINS + 1)[1:-1]
            fresh = np.unique(fresh[np.searchsorted(fresh, cuts).clip(max=len(fresh) - 1)])
        below, above = ordered[fresh - 1], ordered[fresh]
        # Halved before the addition, which may overflow. An edge stays below the upper value.
        middle = 0.5 * below + 0.5 * above
        edges.append(np.where(middle < above, middle, below))
        bins[feature] = np.searchsorted(edges[-1], column, side="left")
    return BinnedFeatures(bins, edges)


def check_options(
    criterion: Any, scope: Any, max_features: Any, max_depth: Any, min_samples_leaf: Any, d: int
) -> GrowthOptions:
    """Check the parameters that trees and forests share, for items of d features."""
    check_choice("criterion", criterion, CRITERIA)
    check_choice("scope", scope, SCOPES)
    if max_features is None:
        n_tried = d
    elif isinstance(max_features, str):
        check_choice("max_features", max_features, ("log2",))
        n_tried = min(d, int(math.log2(d)) + 1)
    else:
        n_tried = min(d, check_count("max_features", max_features))
    return GrowthOptions(
        by_errors=criterion == "balance_errors",
        alone=scope == "node",
        n_tried=n_tried,
        depth=np.iinfo(np.int64).max
        if max_depth is None
        else check_count("max_depth", max_depth),
        least=check_count("min_samples_leaf", min_samples_leaf),
    )


def grow(
    binned: BinnedFeatures,
    codes: Ints,
    n_classes: int,
    weights: Ints,
    options: GrowthOptions,
    seed: int,
) -> Tree:
    """Grow one tree on the items of weight above 0."""
    items = np.flatnonzero(weights).astype(np.int32)
    room = 2 * len(items) - 1
    features, children = np.full(room, -1), np.zeros(room, dtype=np.int64)
    cuts, counts = np.zeros(room, dtype=np.int64), np.zeros((room, n_classes), dtype=np.int64)
    with np.errstate(over="ignore"):
        n = grow_tree(
            binned.bins, codes, weights, items, np.uint64(seed), options.by_errors,
            options.alone, options.n_tried, options.depth, options.least,
            features, cuts, children, counts,
        )  # fmt: skip
    thresholds = np.zeros(n)
    for v in np.flatnonzero(features[:n] >= 0):
        thresholds[v] = binned.edges[features[v]][cuts[v]]
    return Tree(features[:n].copy(), thresholds, children[:n].copy(), counts[:n].copy())
