"""Evaluations of the same methods on several datasets, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from headcount._text import Table, html_result
from headcount.errors import HeadcountError
from headcount.evaluation.evaluation import Evaluation
from headcount.evaluation.significance import Comparison, compare
from headcount.evaluation.summary import MARKS_EXPLAINED, marks_of
from headcount.evaluation.tables import DIGITS, error_table, lowest

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Evaluations"]

Floats: TypeAlias = NDArray[np.float64]

_RANK_DIGITS = 2


@dataclass(frozen=True, eq=False, repr=False)
class Evaluations:
    """Evaluations of the same methods by dataset; prints as a table of mean errors.

    Parameters
    ----------
    each : mapping of str to Evaluation
        The evaluations by dataset: of the same methods and metrics, but of any classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> import headcount as hc
    >>> def evaluate(X, y):
    ...     X = X[:, :4]
    ...     quantifiers = [q.fit(X[::2], y[::2]) for q in (hc.CC(), hc.PCC())]
    ...     protocol = hc.UPP(n_samples=50, size=50, random_state=0)
    ...     return hc.evaluate(quantifiers, X[1::2], y[1::2], protocol)
    >>> iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    >>> hc.Evaluations({"iris": evaluate(*iris), "wine": evaluate(*wine)})
    ae         CC     PCC
    ----  -------  ------
    iris  0.0216*  0.0478
    wine  0.0739*  0.0857
    mean  0.0477*  0.0668
    rank    1.00*    2.00
    """

    each: Mapping[str, Evaluation]

    def __post_init__(self) -> None:
        if not self.each:
            raise HeadcountError("each is empty: pass at least one evaluation.")
        (first_name, first), *others = self.each.items()
        for name, other in others:
            for what in ("methods", "metrics"):
                ours, theirs = set(getattr(first, what)), set(getattr(other, what))
                if ours != theirs:
                    raise HeadcountError(
                        f"{name!r} has the {what} {sorted(theirs)}, but {first_name!r} has "
                        f"{sorted(ours)}: evaluate the same {what} on every dataset."
                    )

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return self._first.methods

    @property
    def _first(self) -> Evaluation:
        return next(iter(self.each.values()))

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, dataset: str) -> Evaluation:
        return self.each[dataset]

    def to_frame(self) -> pl.DataFrame:
        """All samples of all datasets: ``Evaluation.to_frame`` after a column `dataset`.

        Shares of classes that a dataset does not have are missing.
        """
        import polars as pl

        frames = [
            one.to_frame().select(pl.lit(name).alias("dataset"), pl.all())
            for name, one in self.each.items()
        ]
        return pl.concat(frames, how="diagonal")

    def errors(self, metric: str | None = None) -> pl.DataFrame:
        """Mean errors, one row per dataset and one column per method.

        Parameters
        ----------
        metric : str, default=None
            One of the metrics; the first one by default.

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        columns: dict[str, Any] = {"dataset": list(self.each)}
        return pl.DataFrame(
            columns | dict(zip(self.methods, self._means(metric).T, strict=True))
        )

    def _means(self, metric: str | None) -> Floats:
        name = self._first._metric(metric)
        return np.stack(
            [one.only(*self.methods).metrics[name].mean(axis=1) for one in self.each.values()]
        )

    def compare(self, test: str = "nemenyi", *, metric: str | None = None) -> Comparison:
        """Test which methods differ over the datasets, by their mean errors.

        Parameters
        ----------
        test : {"nemenyi", "wilcoxon", "ttest"}, default="nemenyi"
            The test; see `headcount.compare`.
        metric : str, default=None
            One of the metrics; the first one by default.

        Returns
        -------
        Comparison
        """
        return compare(self.errors(metric).drop("dataset"), test=test)

    def table(
        self,
        metric: str | None = None,
        *,
        digits: int = DIGITS,
        sd: bool = False,
        test: str | None = None,
    ) -> Table:
        """The mean errors to print, with means and mean ranks below.

        Parameters
        ----------
        metric : str, default=None
            One of the metrics; the first one by default.
        digits : int, default=4
            Decimals of the errors.
        sd : bool, default=False
            Add the standard deviation over the samples of each dataset.
        test : {"wilcoxon", "ttest", "nemenyi"}, default=None
            Mark the methods that do not clearly differ from the best on a dataset, by its
            samples: a double dagger for p >= 0.05, a dagger for 0.001 < p < 0.05.

        Returns
        -------
        Table
            The best of each row is marked. Has ``to_text``, ``to_markdown``, ``to_latex``
            and ``to_html``.
        """
        name = self._first._metric(metric)
        each = [one.only(*self.methods) for one in self.each.values()]
        means = self._means(metric)
        rows = error_table(
            name,
            tuple(self.each),
            self.methods,
            means,
            lowest(means, axis=1),
            spread=np.stack([_sd(one.metrics[name]) for one in each]) if sd else None,
            marks=None if test is None else [_marks(one, name, test) for one in each],
            title="" if test is None else f"Mean {name}. {MARKS_EXPLAINED}",
            digits=digits,
        )
        ranks = rankdata(means, axis=1).mean(axis=0)[None]
        foot = [self._foot("mean", means.mean(axis=0)[None], digits)]
        if len(self) > 1:
            foot += [self._foot("rank", ranks, _RANK_DIGITS)]
        return replace(rows, foot=[row for part in foot for row in part.rows])

    def _foot(self, name: str, values: Floats, digits: int) -> Table:
        return error_table(
            "", [name], self.methods, values, lowest(values, axis=1), digits=digits
        )

    def to_markdown(
        self,
        metric: str | None = None,
        *,
        digits: int = DIGITS,
        sd: bool = False,
        test: str | None = None,
    ) -> str:
        """The mean errors by dataset as a Markdown table; arguments as in `table`."""
        return self.table(metric, digits=digits, sd=sd, test=test).to_markdown()

    def to_latex(
        self,
        metric: str | None = None,
        *,
        digits: int = DIGITS,
        sd: bool = False,
        test: str | None = None,
    ) -> str:
        r"""The mean errors by dataset as a LaTeX table; arguments as in `table`.

        It needs ``\usepackage{booktabs}``.
        """
        return self.table(metric, digits=digits, sd=sd, test=test).to_latex()

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return html_result(f"mean {self._first._metric(None)} by dataset", [self.table()], ())


def _sd(errors: Floats) -> Floats:
    """Standard deviation of the errors of each method; NaN for a single sample."""
    one = errors.shape[1] < 2
    return np.full(len(errors), np.nan) if one else errors.std(axis=1, ddof=1)


def _marks(evaluation: Evaluation, metric: str, test: str) -> list[str]:
    marks = marks_of(evaluation.methods, evaluation.metrics, None, test)
    return [row[0] for row in marks[metric]]
