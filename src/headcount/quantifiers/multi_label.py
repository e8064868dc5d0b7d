"""Shares of tags, of which an item may have none, one or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from headcount import plots
from headcount._support.arrays import Array, Floats
from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimate, Intervals
from headcount.estimates.estimates import Estimates
from headcount.items.arrays import Scored, check_lengths
from headcount.quantifiers.base import Quantifier, ScoringPlan, ShareEstimator
from headcount.quantifiers.likelihood import SLD
from headcount.scores.scorer import ScoredPool, Scorer
from headcount.scores.tags import TagScorer, check_tags

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MultiLabel(BaseEstimator):
    """Shares of several tags, by one quantifier for each tag on shared scores.

    An item may have none, one or several tags, so the shares need not sum to 1. All tags have
    the same folds, in which each tag is about as frequent as in all items. The first steps of a
    pipeline that need no labels, such as tf-idf, are fitted and applied once per fold, not
    once per tag.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier of each tag; `SLD` by default.

    Attributes
    ----------
    tags_ : ndarray of shape (T,)
        The tags: names of the columns of a frame, or numbers of columns.
    quantifiers_ : list of Quantifier
        Fitted quantifiers, one per tag, with the classes 0 and 1. Each can be used alone.
    prior_ : ndarray of shape (T,)
        Shares of the tags in the training set.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1500, 3))
    >>> y = (X + rng.normal(size=(1500, 3)) / 3 > [0.5, 0.0, 1.0]).astype(int)
    >>> tags = pl.DataFrame(y, schema=["delivery", "price", "staff"])
    >>> quantifier = hc.MultiLabel(hc.PACC(random_state=0)).fit(X[:1000], tags[:1000])
    >>> quantifier.predict(X[1000:]).round(2), y[1000:].mean(axis=0).round(2)
    (array([0.38, 0.48, 0.19]), array([0.35, 0.48, 0.2 ]))
    """

    def __init__(self, quantifier: Quantifier | None = None) -> None:
        self.quantifier = quantifier

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from items with tags.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            Items, as the classifier takes them, or a list of `Scored`, one per tag.
        y : array-like, sparse matrix or frame of shape (n, T)
            1 or True for items with the tag, 0 or False for others. The names of the columns
            of a frame are the tags.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.
        groups : array-like of shape (n,), default=None
            Groups of the items, for cross-fitting: handed to the splitter of the quantifier.
        """
        base: Any = SLD() if self.quantifier is None else self.quantifier
        if not isinstance(base, Quantifier):
            raise HeadcountError(
                f"quantifier is {base!r}; it must be a quantifier of one tag: pass for "
                "instance SLD()."
            )
        tags, indicators = check_tags(y)
        unfitted, columns = [clone(base) for _ in tags], list(indicators.T)
        scorer = ScoringPlan(base).scorer()
        shared: TagScorer | None = None
        if _is_scored(X):
            items_by_tag = _one_per_tag(X, len(tags))
            fitted = [
                quantifier.fit(tag_items, column, sample_weight)
                for quantifier, tag_items, column in zip(
                    unfitted, items_by_tag, columns, strict=True
                )
            ]
        elif isinstance(scorer, Scorer):
            check_lengths("X", len(ScoredPool(X)), indicators[:, 0])
            shared = TagScorer(scorer).fit(
                X,
                indicators,
                tags.tolist(),
                sample_weight,
                groups=groups,
                out_of_fold=ScoringPlan(base).learns or scorer.cv is not None,
            )
            fitted = [
                quantifier.fit_scorer(tag_items)
                for quantifier, tag_items in zip(unfitted, shared.each_, strict=True)
            ]
        else:
            # Works on features, or has several classifiers.
            fitted = [
                quantifier.fit(X, column, sample_weight, groups)
                for quantifier, column in zip(unfitted, columns, strict=True)
            ]
        self.tags_, self.quantifiers_, self.scorer_ = tags, fitted, shared
        self.prior_ = np.array([quantifier.prior_[1] for quantifier in fitted])
        return self

    def predict(self, X: Any) -> Floats:
        """Shares of the tags among the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            One sample, or a list of `Scored`, one per tag.

        Returns
        -------
        ndarray of shape (T,)
            Shares in the order of ``tags_``.
        """
        return self.predict_many(X, None)[0]

    @documented(ShareEstimator.predict_many)
    def predict_many(self, X: Any, samples: Any) -> Floats:
        """Shares of the tags in many samples of a pool, scored once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            The pool, or a list of `Scored`, one per tag.

        Returns
        -------
        ndarray of shape (S, T)
            Shares, one row per sample, in the order of ``tags_``.
        """
        pairs = zip(self.quantifiers_, self.score(X), strict=True)
        return np.column_stack(
            [quantifier.predict_many(items, samples)[:, 1] for quantifier, items in pairs]
        )

    def score(self, X: Any) -> list[Any]:
        """Score items for all tags, so that several calls share the scores.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            The items.

        Returns
        -------
        list
            Items as the quantifier of each tag takes them: `Scored`, or the items themselves
            where the method works on features. Accepted wherever items are.
        """
        check_is_fitted(self, "quantifiers_")
        if _is_scored(X):
            return _one_per_tag(X, len(self.tags_))
        if self.scorer_ is None or not self.scorer_.scores_items:
            pool = X if isinstance(X, ScoredPool) else ScoredPool(X)
            return [pool] * len(self.tags_)
        counts_predictions = self.quantifiers_[0].fitted_.takes == "labels"
        return list(self.scorer_.score(X, predictions=counts_predictions))

    @documented(predict)
    def estimate(self, X: Any, **options: Any) -> TagEstimate:
        """Estimate the shares of the tags among the items, with intervals.

        Parameters
        ----------
        **options : Any
            Arguments of ``estimate`` of a quantifier: ``weights``, ``clusters``,
            ``estimand``, ``prior``, ``replicates`` and ``random_state``. A prior is that of
            the shares of items without and with a tag.

        Returns
        -------
        TagEstimate
            Prints as a table.
        """
        return self.estimate_many(X, None, **options)[0]

    @documented(predict_many, estimate)
    def estimate_many(self, X: Any, samples: Any, **options: Any) -> list[TagEstimate]:
        """Estimate the shares of the tags in many samples of a pool, such as months.

        Returns
        -------
        list of TagEstimate
            One per sample.
        """
        for name in ("labelled", "design", "guarantee"):
            if name in options:
                raise HeadcountError(
                    f"{name} is for one tag at a time: pass it to estimate of one of "
                    "quantifiers_."
                )
        by_tag = [
            quantifier.estimate_many(items, samples, **options)
            for quantifier, items in zip(self.quantifiers_, self.score(X), strict=True)
        ]
        return [TagEstimate(self.tags_, estimates) for estimates in zip(*by_tag, strict=True)]


class TagEstimate(Estimates[Estimate]):
    """Shares of tags in a sample, with intervals at any level. Prints as a table.

    >>> import numpy as np
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1500, 3))
    >>> y = (X + rng.normal(size=(1500, 3)) / 3 > [0.5, 0.0, 1.0]).astype(int)
    >>> quantifier = hc.MultiLabel(hc.PACC(random_state=0)).fit(X[:1000], y[:1000])
    >>> estimate = quantifier.estimate(X[1000:])
    >>> estimate
    PACC: shares of 3 tags among these 500 items, with 95% intervals
    tag  share   from     to  items
    0    37.3%  33.8%  40.9%    186
    1    48.4%  44.9%  52.2%    242
    2    18.7%  16.2%  21.8%     94
    >>> low, high = estimate.interval(level=0.9)[1]
    >>> low < estimate.prevalence[1] < high
    True
    """

    def __init__(self, tags: Array, estimates: Iterable[Estimate]) -> None:
        super().__init__(dict(zip(tags.tolist(), estimates, strict=True)))
        self.tags = tags

    @property
    def n_items(self) -> int:
        """Number of items in the sample."""
        return int(self.sizes[0])

    @property
    def shares(self) -> Floats:
        """Estimated shares of the tags."""
        return np.array([estimate.shares[1] for estimate in self.values()])

    @property
    def prevalence(self) -> dict[Any, float]:
        """Shares by tag."""
        return dict(zip(self.names, self.shares.tolist(), strict=True))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, one sentence each, with the name of the tag."""
        return tuple(
            f"{tag}: {text}" for tag, estimate in self.items() for text in estimate.warnings
        )

    def interval(self, level: float = 0.95) -> Intervals:
        """Interval for the share of each tag."""
        ends = [estimate.interval(level) for estimate in self.values()]
        low, high = np.array([(end.low[1], end.high[1]) for end in ends]).T
        return Intervals(self.tags, low, high, level=ends[0].level)

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with a row per tag: share, raw, interval, counts and p-value."""
        rows = pl.concat([estimate.to_frame(level)[1:] for estimate in self.values()])
        tests = [estimate.fit_test for estimate in self.values()]
        p_values = [None if test is None else float(test.p_value) for test in tests]
        return (
            rows.drop("class")
            .insert_column(0, pl.Series("tag", self.names))
            .with_columns(pl.Series("p_value", p_values, dtype=pl.Float64))
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all results except the draws, as plain values for JSON."""
        contents = {tag: estimate.to_dict(level) for tag, estimate in self.items()}
        tags = []
        for tag, content in contents.items():
            row = {"tag": tag, **content["classes"][1]}
            del row["class"]
            tags.append(row | {name: content[name] for name in ("fit_test", "warnings")})
        facts = {name: content[name] for name in ("method", "n_items", "estimand", "level")}
        return {**facts, "tags": tags}

    def plot(  # type: ignore[override]  # one class, and no order
        self, *, level: float = 0.95, ax: Axes | None = None
    ) -> Axes:
        """Draw the shares as bars with intervals."""
        return plots.bars(self.to_frame(level).rename({"tag": "class"}), ax=ax)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        of_tags = f"shares of {len(self):,} tag{'' if len(self) == 1 else 's'}"
        return str(self._first.title(level)).replace("shares", of_tags, 1)

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows, one row per tag."""
        rows = [[tag, *estimate.to_table(level).rows[1][1:]] for tag, estimate in self.items()]
        return Table.of(["tag", "share", "from", "to", "items"], rows)

    def to_text(self, level: float = 0.95) -> str:
        """Text that `print` shows, at any level."""
        table = self.to_table(level).to_text(ruled=False)
        return "\n".join([self.title(level), table, *(f"note: {t}" for t in self.warnings)])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_result(self.title(), [self.to_table()], self.warnings)


def _is_scored(X: Any) -> bool:
    """True for a list of items, scored for each tag or not."""
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], Scored | ScoredPool)


def _one_per_tag(X: Sequence[Any], n_tags: int) -> list[Any]:
    if len(X) != n_tags:
        raise HeadcountError(
            f"X has {len(X)} scored sets of items, but there are {n_tags} tags: pass one "
            "hc.Scored per tag."
        )
    return list(X)
