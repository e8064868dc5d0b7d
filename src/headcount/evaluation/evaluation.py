"""Results of evaluations: true and estimated shares of many samples, and their errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from headcount import plots
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import versions
from headcount._support.frames import pl
from headcount._support.parameters import check_choice
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError
from headcount.evaluation.measures import Metrics, check_measures, errors_of_methods
from headcount.evaluation.significance import Comparison, compare
from headcount.evaluation.summary import (
    DIGITS,
    MARKS_EXPLAINED,
    SampleGroups,
    Summary,
    error_table,
    group,
    lowest,
    marks_of,
    summarise,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Bins: TypeAlias = int | Sequence[float] | None

_GROUPINGS = ("shift", "prevalence", "size")
_METHODS_SHOWN = 30


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Methods, samples, true and estimated shares, errors; prints as a table of mean errors.

    Made by `evaluate`. M methods, S samples, K classes.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods.
    classes : ndarray of shape (K,)
        The classes, in the order of the shares.
    true : ndarray of shape (S, K)
        True shares of the samples.
    estimated : ndarray of shape (M, S, K)
        Estimated shares.
    sizes : ndarray of shape (S,)
        Items in each sample.
    priors : ndarray of shape (M, K) or (M, S, K)
        Shares that each method was trained on, if these differ by sample for each sample;
        NaN where a method does not say.
    metrics : dict of str to ndarray of shape (M, S)
        The errors by metric; lower is better.
    seconds : ndarray of shape (M,)
        Time that each method took for all samples, with scoring; NaN if it was not measured.
    parameters : dict of str to str
        Quantifier of each method with its parameters, as text.
    failures : dict of str to str
        Methods that were left out, with the reasons.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(2000, weights=[0.7], flip_y=0.1, random_state=0)
    >>> quantifiers = [q.fit(X[:800], y[:800]) for q in (hc.CC(), hc.SLD())]
    >>> protocol = hc.APP(n_prevalences=5, repeats=20, size=100, random_state=0)
    >>> evaluation = hc.evaluate(quantifiers, X[800:], y[800:], protocol)
    >>> evaluation
    Evaluation: 2 methods, 100 samples of 100 items, 2 classes
    method       ae      rae
    ------  -------  -------
    SLD     0.0205*  0.5153*
    CC      0.0655   3.1687
    >>> evaluation.to_frame().columns[:4]
    ['method', 'sample', 'size', 'shift']
    >>> evaluation.summary(by="shift", bins=[0.2]).to_frame()["samples"].to_list()
    [40, 60, 40, 60]
    """

    methods: tuple[str, ...]
    classes: Array
    true: Floats
    estimated: Floats
    sizes: Ints
    priors: Floats
    metrics: Mapping[str, Floats]
    seconds: Floats = field(default_factory=lambda: np.empty(0))
    parameters: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.seconds) != len(self.methods):
            object.__setattr__(self, "seconds", np.full(len(self.methods), np.nan))
        fields = (
            self.classes, self.true, self.estimated, self.sizes, self.priors, self.seconds
        )  # fmt: skip
        for array in (*fields, *self.metrics.values()):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.true)

    @property
    def shift(self) -> Floats:
        """Absolute error between the shares of each sample and the training shares.

        An array of shape (M, S).
        """
        return np.abs(self.true - self._priors).mean(axis=-1)

    @property
    def signed_shift(self) -> Floats:
        """By how much the second of two classes is more common than in training, (M, S)."""
        if len(self.classes) != 2:
            raise HeadcountError(
                f"signed_shift is for two classes, but there are {len(self.classes)}: use "
                "shift."
            )
        return self.true[:, 1] - self._priors[..., 1]

    @property
    def _priors(self) -> Floats:
        """Training shares in the form that goes with (M, S, K)."""
        return self.priors if self.priors.ndim == 3 else self.priors[:, None]

    def only(self, *methods: str) -> Evaluation:
        """Evaluation of some of the methods, in the order given."""
        rows = [self._method(name) for name in methods]
        if not rows:
            raise HeadcountError("only() was given no method: name at least one.")
        return replace(
            self,
            methods=methods,
            estimated=self.estimated[rows],
            priors=self.priors[rows],
            metrics={name: values[rows] for name, values in self.metrics.items()},
            seconds=self.seconds[rows],
            parameters={
                name: self.parameters[name] for name in methods & self.parameters.keys()
            },
        )

    def join(self, other: Evaluation) -> Evaluation:
        """Add the methods of an evaluation on the same samples.

        Parameters
        ----------
        other : Evaluation
            Evaluation of other methods on the same samples, such as one from a file.

        Returns
        -------
        Evaluation
            All methods, with the metrics that both have.
        """
        same = (
            self.classes.tolist() == other.classes.tolist()
            and np.array_equal(self.sizes, other.sizes)
            and self.true.shape == other.true.shape
            and np.allclose(self.true, other.true, rtol=0, atol=1e-9)
        )
        if not same:
            raise HeadcountError(
                "other has other samples: join evaluations of the same samples, in the same "
                "order, with the same classes."
            )
        twice = set(self.methods) & set(other.methods)
        if twice:
            raise HeadcountError(
                f"both evaluations have the methods {', '.join(sorted(twice))}: leave them out "
                "of one by only(...)."
            )
        common = [name for name in self.metrics if name in other.metrics]
        if not common:
            raise HeadcountError(
                f"the evaluations have no metric in common ({', '.join(self.metrics)} and "
                f"{', '.join(other.metrics)}): add one by measure(...)."
            )
        return replace(
            self,
            methods=(*self.methods, *other.methods),
            estimated=np.concatenate([self.estimated, other.estimated]),
            priors=_stacked(self, other),
            metrics={n: np.concatenate([self.metrics[n], other.metrics[n]]) for n in common},
            seconds=np.concatenate([self.seconds, other.seconds]),
            parameters={**self.parameters, **other.parameters},
            failures={**self.failures, **other.failures},
        )

    def measure(self, metrics: Metrics) -> Evaluation:
        """Add metrics, computed from the true and estimated shares.

        Parameters
        ----------
        metrics : str, callable, sequence of these, or mapping of str to these
            Names from `headcount.metrics` ("mae" and the like too), or functions ``(p, p_hat)``
            that return one number per sample. They replace those of the same name.
        """
        added = {
            measure.name: errors_of_methods(
                self.methods, measure, self.true, self.estimated, self.sizes
            )
            for measure in check_measures(metrics)
        }
        return replace(self, metrics={**self.metrics, **added})

    def to_frame(self, *, long: bool = False) -> pl.DataFrame:
        """Everything as a Polars frame.

        Parameters
        ----------
        long : bool, default=False
            False gives one row per method and sample: method, sample, size, shift (and
            signed_shift with two classes), true and estimated share of each class, and the
            errors. True gives one row per method, sample and class: method, sample, size,
            class, true, estimated and shift.
        """
        return pl.DataFrame(self._long() if long else self._wide(), nan_to_null=True)

    def _keys(self, n_rows: int = 1) -> dict[str, Any]:
        n_methods, n_samples = len(self.methods), len(self)
        return {
            "method": np.repeat(self.methods, n_samples * n_rows),
            "sample": np.tile(np.repeat(np.arange(n_samples), n_rows), n_methods),
            "size": np.tile(np.repeat(self.sizes, n_rows), n_methods),
        }

    def _wide(self) -> dict[str, Any]:
        columns = self._keys() | {"shift": self.shift.ravel()}
        if len(self.classes) == 2:
            columns["signed_shift"] = self.signed_shift.ravel()
        for j, label in enumerate(self.classes.tolist()):
            columns[f"true_{label}"] = np.tile(self.true[:, j], len(self.methods))
        for j, label in enumerate(self.classes.tolist()):
            columns[f"estimated_{label}"] = self.estimated[..., j].ravel()
        return columns | {name: values.ravel() for name, values in self.metrics.items()}

    def _long(self) -> dict[str, Any]:
        n_methods, K = len(self.methods), len(self.classes)
        return self._keys(n_rows=K) | {
            "class": np.tile(self.classes, n_methods * len(self)),
            "true": np.tile(self.true.ravel(), n_methods),
            "estimated": self.estimated.ravel(),
            "shift": np.repeat(self.shift.ravel(), K),
        }

    def errors(self, metric: str | None = None) -> pl.DataFrame:
        """Errors as a Polars frame, one row per sample and one column per method.

        Parameters
        ----------
        metric : str, default=None
            One of the metrics; the first one by default.
        """
        values = self.metrics[self._metric(metric)]
        return pl.DataFrame(dict(zip(self.methods, values, strict=True)))

    def summary(
        self,
        by: str | None = None,
        *,
        bins: Bins = None,
        of: Any = None,
        test: str | None = None,
    ) -> Summary:
        """Mean, standard deviation and median of the errors by method, the best first.

        Parameters
        ----------
        by : {"shift", "prevalence", "size"}, default=None
            Sum up groups of samples apart: by the shift from training, by the true share
            of a class, or by the number of items. All together by default.
        bins : int or sequence of numbers, default=None
            So many groups of equal width, or the limits between groups. By default shifts
            and shares are grouped by tenths, and sizes by value.
        of : class label, default=None
            The class whose share is meant by "prevalence"; the last one by default.
        test : {"wilcoxon", "ttest", "nemenyi"}, default=None
            Mark the methods that do not clearly differ from the best of their column: a
            double dagger for p >= 0.05, a dagger for 0.001 < p < 0.05. See `compare`.

        Returns
        -------
        Summary
            Prints as a table; has ``to_frame``, ``to_markdown`` and ``to_latex``.
        """
        groups = self._groups(by, bins, of)
        marks = None if test is None else marks_of(self.methods, self.metrics, groups, test)
        return summarise(self.methods, self.metrics, groups, marks)

    def _groups(self, by: str | None, bins: Bins, of: Any) -> SampleGroups | None:
        if by is None:
            return None
        check_choice("by", by, _GROUPINGS)
        values: Array = self.shift
        if by == "prevalence":
            values = np.tile(self.true[:, self._class(of)], (len(self.methods), 1))
        elif by == "size":
            values = np.tile(self.sizes, (len(self.methods), 1))
        elif np.isnan(values).any():
            name = self.methods[int(np.isnan(values).any(axis=1).argmax())]
            raise HeadcountError(
                f"method {name!r} has no prior_, so the shift is unknown: leave it out "
                "by only(...), or choose another by."
            )
        return group(values, by, bins)

    @documented(errors, compare)
    def compare(self, test: str = "wilcoxon", *, metric: str | None = None) -> Comparison:
        """Test which methods differ."""
        return compare(self.errors(metric), test=test)

    def plot_diagonal(self, **options: Any) -> Axes:
        """True against estimated shares; ``options`` as in `headcount.plots.diagonal`."""
        return plots.diagonal(self.to_frame(long=True), **options)

    def plot_bias(self, **options: Any) -> Axes:
        """Signed errors as boxes; ``options`` as in `headcount.plots.bias_boxes`."""
        return plots.bias_boxes(self.to_frame(long=True), **options)

    def plot_error_by_shift(self, metric: str | None = None, **options: Any) -> Axes:
        """Mean error by shift; ``options`` as in `headcount.plots.error_by_shift`."""
        name = self._metric(metric)
        return plots.error_by_shift(self._shifts_and_errors(name), error=name, **options)

    def plot_error_boxes(self, metric: str | None = None, **options: Any) -> Axes:
        """Errors by degree of shift; ``options`` as in `headcount.plots.error_boxes`."""
        name = self._metric(metric)
        return plots.error_boxes(self._shifts_and_errors(name), error=name, **options)

    def plot_supremacy(self, metric: str | None = None, **options: Any) -> Axes:
        """Samples on which each method is the best; ``options`` as in `plots.supremacy`."""
        return plots.supremacy(self._shifts_and_errors(self._metric(metric)), **options)

    def plot_letter_values(self, metric: str | None = None, **options: Any) -> Axes:
        """Spread of the errors; ``options`` as in `headcount.plots.letter_values`."""
        name = self._metric(metric)
        return plots.letter_values(self._shifts_and_errors(name), error=name, **options)

    def plot_simplex(self, **options: Any) -> Axes:
        """Estimated shares of three classes; ``options`` as in `headcount.plots.simplex`.

        Clear if all samples have the same true shares, which are then marked.
        """
        alike = bool((self.true == self.true[0]).all())
        marked = {"truth": self.true[0]} if alike else {"level": None}
        shares = dict(zip(self.methods, self.estimated, strict=True))
        return plots.simplex(shares, classes=self.classes.tolist(), **marked | options)

    def _shifts_and_errors(self, metric: str) -> pl.DataFrame:
        return self.to_frame().select("method", "sample", "shift", error=metric)

    def to_markdown(self, *, test: str | None = None, **options: Any) -> str:
        """The mean errors as a Markdown table: `summary`, with ``digits`` and ``sd``."""
        return self.summary(test=test).to_markdown(**options)

    def to_latex(self, *, test: str | None = None, **options: Any) -> str:
        r"""The same as a LaTeX table, which needs ``\usepackage{booktabs}``."""
        return self.summary(test=test).to_latex(**options)

    def to_parquet(self, path: str | Path) -> None:
        """Write everything to a Parquet file: ``to_frame()``, and what `from_parquet` needs.

        The metadata also have the parameters of the methods, their time, and the versions of
        the packages.

        Parameters
        ----------
        path : str or Path
            The file; one that is there is overwritten.
        """
        write_parquet(self, path)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Evaluation:
        """Read what `to_parquet` wrote.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        return cls(**read_parquet(path))

    @property
    def _title(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return (
            f"Evaluation: {_count(len(self.methods), 'method')}, "
            f"{_count(len(self), 'sample')} of {size} items, {len(self.classes)} classes"
        )

    def _repr_html_(self) -> str:
        return html_result(self._title, self.summary().tables(), ())

    def __repr__(self) -> str:
        lines = self.summary().tables()[0].to_text().splitlines()
        head = lines[: _METHODS_SHOWN + 2]
        more = [f"... and {len(lines) - len(head)} more"] if len(lines) > len(head) else []
        return "\n".join([self._title, *head, *more])

    def _method(self, name: str) -> int:
        if name not in self.methods:
            raise HeadcountError(
                f"there is no method {name!r}: choose from {', '.join(self.methods)}."
            )
        return self.methods.index(name)

    def _metric(self, name: str | None) -> str:
        if name is None:
            return next(iter(self.metrics))
        return check_choice("metric", name, tuple(self.metrics))

    def _class(self, label: Any) -> int:
        labels = self.classes.tolist()
        if label is None:
            return len(labels) - 1
        if label not in labels:
            raise HeadcountError(
                f"of is {label!r}; it must be one of {', '.join(map(repr, labels))}."
            )
        return labels.index(label)


def parameters_of(quantifier: Any) -> str:
    """A quantifier with its parameters, as text in one line."""
    return " ".join(repr(quantifier).split())


def _stacked(first: Evaluation, second: Evaluation) -> Floats:
    """Training shares of the methods of two evaluations."""
    if first.priors.ndim == second.priors.ndim:
        return np.concatenate([first.priors, second.priors])
    shapes = [
        (len(evaluation.methods), *evaluation.true.shape) for evaluation in (first, second)
    ]
    pairs = zip((first._priors, second._priors), shapes, strict=True)
    return np.concatenate([np.broadcast_to(*pair) for pair in pairs])


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


_KEY = "headcount"


def write_parquet(evaluation: Evaluation, path: str | Path) -> None:
    """Write an evaluation to a file."""
    labels, priors = evaluation.classes.tolist(), evaluation.priors
    by_sample = priors.ndim == 3
    head = {
        "methods": evaluation.methods,
        "classes": labels,
        "dtype": evaluation.classes.dtype.str,
        "priors": None if by_sample else priors.tolist(),
        "metrics": list(evaluation.metrics),
        "seconds": evaluation.seconds.tolist(),
        "parameters": dict(evaluation.parameters),
        "failures": dict(evaluation.failures),
        "versions": versions(),
    }
    frame = evaluation.to_frame()
    if by_sample:
        columns = zip(labels, np.moveaxis(priors, -1, 0), strict=True)
        frame = frame.with_columns(
            pl.Series(f"prior_{label}", column.ravel()) for label, column in columns
        )
    frame.write_parquet(path, metadata={_KEY: json.dumps(head)})


def read_parquet(path: str | Path) -> dict[str, Any]:
    """Read the fields of an evaluation from a file."""
    written = pl.read_parquet_metadata(path).get(_KEY)
    if written is None:
        raise HeadcountError(
            f"{path} is a table, but not one written by Evaluation.to_parquet: read it "
            "with polars.read_parquet."
        )
    head, frame = json.loads(written), pl.read_parquet(path)
    labels, shape = head["classes"], (len(head["methods"]), -1)
    first = frame[: len(frame) // shape[0]]
    by_sample = head["priors"] is None
    return {
        "methods": tuple(head["methods"]),
        "classes": np.array(labels, dtype=head["dtype"]),
        "true": _columns(first, "true", labels),
        "estimated": _columns(frame, "estimated", labels).reshape(*shape, len(labels)),
        "sizes": first["size"].to_numpy(),
        "priors": _columns(frame, "prior", labels).reshape(*shape, len(labels))
        if by_sample
        else np.array(head["priors"]),
        "metrics": {name: frame[name].to_numpy().reshape(shape) for name in head["metrics"]},
        "seconds": np.array(head["seconds"]),
        "parameters": head["parameters"],
        "failures": head["failures"],
    }


def _columns(frame: pl.DataFrame, what: str, labels: list[Any]) -> Floats:
    return np.column_stack([frame[f"{what}_{label}"].to_numpy() for label in labels])


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
    >>> from headcount.evaluation import Evaluations
    >>> def evaluate(X, y):
    ...     X = X[:, :4]
    ...     quantifiers = [q.fit(X[::2], y[::2]) for q in (hc.CC(), hc.PCC())]
    ...     protocol = hc.UPP(n_samples=50, size=50, random_state=0)
    ...     return hc.evaluate(quantifiers, X[1::2], y[1::2], protocol)
    >>> iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    >>> Evaluations({"iris": evaluate(*iris), "wine": evaluate(*wine)})
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
        (first_name, first), *remaining = self.each.items()
        for name, evaluation in remaining:
            for what in ("methods", "metrics"):
                ours, theirs = set(getattr(first, what)), set(getattr(evaluation, what))
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
        frames = [
            one.to_frame().select(pl.lit(name).alias("dataset"), pl.all())
            for name, one in self.each.items()
        ]
        return pl.concat(frames, how="diagonal")

    @documented(Evaluation.errors)
    def errors(self, metric: str | None = None) -> pl.DataFrame:
        """Mean errors, one row per dataset and one column per method."""
        columns: dict[str, Any] = {"dataset": list(self.each)}
        return pl.DataFrame(
            columns | dict(zip(self.methods, self._means(metric).T, strict=True))
        )

    def _means(self, metric: str | None) -> Floats:
        name = self._first._metric(metric)
        return np.stack(
            [one.only(*self.methods).metrics[name].mean(axis=1) for one in self.each.values()]
        )

    @documented(errors, compare)
    def compare(self, test: str = "nemenyi", *, metric: str | None = None) -> Comparison:
        """Test which methods differ over the datasets, by their mean errors."""
        return compare(self.errors(metric).drop("dataset"), test=test)

    @documented(errors)
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
        evaluations = [one.only(*self.methods) for one in self.each.values()]
        means = self._means(metric)
        rows = error_table(
            name,
            tuple(self.each),
            self.methods,
            means,
            lowest(means, axis=1),
            spread=np.stack([_sd(one.metrics[name]) for one in evaluations]) if sd else None,
            marks=None if test is None else [_marks(one, name, test) for one in evaluations],
            title="" if test is None else f"Mean {name}. {MARKS_EXPLAINED}",
            digits=digits,
        )
        ranks = rankdata(means, axis=1).mean(axis=0)[None]
        foot = [self._foot("mean", means.mean(axis=0)[None], digits)]
        if len(self) > 1:
            foot += [self._foot("rank", ranks, _RANK_DIGITS)]
        return replace(rows, foot=[row for block in foot for row in block.rows])

    def _foot(self, name: str, values: Floats, digits: int) -> Table:
        return error_table(
            "", [name], self.methods, values, lowest(values, axis=1), digits=digits
        )

    def to_markdown(self, metric: str | None = None, **options: Any) -> str:
        """The mean errors by dataset as a Markdown table; arguments as in `table`."""
        return self.table(metric, **options).to_markdown()

    def to_latex(self, metric: str | None = None, **options: Any) -> str:
        r"""The same as a LaTeX table, which needs ``\usepackage{booktabs}``."""
        return self.table(metric, **options).to_latex()

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
