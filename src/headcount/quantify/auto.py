"""The quantifier for users who do not want to choose one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_flag
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantify.adjusted import GPAC
from headcount.quantify.base import Quantifier
from headcount.quantify.conditioned import Conditioned
from headcount.quantify.info import Input, MethodInfo
from headcount.quantify.likelihood import SLD
from headcount.quantify.ordinal import OrdinalPACC
from headcount.representation import Training
from headcount.sampling._streams import base_seeds
from headcount.uncertainty import Prior, simulate

__all__ = ["AutoQuantifier"]

# Simulated samples that errors are reported for, and their items at most.
_TRIALS, _LARGEST_TRIAL = 200, 20_000


class AutoQuantifier(Conditioned):
    """Strong methods over one or several classifiers, combined by conditioning.

    Maximum likelihood with and without calibration and adjusted probabilistic counts answer
    to samples simulated from the training set, and the shares are conditioned on all of
    their answers together: see `Conditioned`. Each classifier is cross-fitted once.

    Parameters
    ----------
    classifier : scikit-learn classifier, or sequence of them, default=None
        Logistic regression by default. Of several classifiers, all answers count.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    prior : None, float, array-like of shape (K,) or (M, K), default=None
        Prior distribution of the shares, as for `estimate`.
    replicates : int, default=4000
        Number of simulated samples for each sample size.
    ordered : bool, default=False
        True if the classes are ordered, such as grades. Then the count of `OrdinalPACC` is
        combined with the others, and half of the simulated samples have shares like those of
        training, moved up or down along the classes or concentrated, much or little.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds and the simulations.

    Attributes
    ----------
    members_ : list of Quantifier
        The fitted methods.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(600, random_state=0)
    >>> q = hc.AutoQuantifier(random_state=0).fit(X[:400], y[:400])
    >>> q.predict(X[400:]).round(1)
    array([0.5, 0.5])
    >>> print(q.explain())
    SLD(bcts), SLD and GPAC combined. Mean absolute error in simulated samples of 500 items: ...
    """

    info: ClassVar = MethodInfo(
        title="strong methods combined by conditioning",
        family="meta",
        reference="headcount",
        inconsistency="means over simulated samples",
        depends_on_size=True,
        resamples=True,
        aliases=("auto",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        cv: Any = 5,
        prior: Any = None,
        replicates: int = 4000,
        ordered: bool = False,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.prior = prior
        self.replicates = replicates
        self.ordered = ordered
        self.random_state = random_state

    def _given(self) -> Sequence[Quantifier]:
        several = isinstance(self.classifier, list | tuple)
        classifiers: Any = self.classifier if several else [self.classifier]
        if not classifiers:
            raise HeadcountError(
                "classifier is an empty list; it must be a scikit-learn classifier, or a list "
                "with at least one."
            )
        ordered = check_flag("ordered", self.ordered)
        return [
            method
            for classifier in classifiers
            for method in (
                SLD(classifier, calibration="bcts", cv=self.cv),
                SLD(classifier, cv=self.cv),
                GPAC(classifier, cv=self.cv),
                *((OrdinalPACC(classifier, cv=self.cv),) if ordered else ()),
            )
        ]

    def _share_prior(self, prior: NDArray[np.float64]) -> Any:
        if self.prior is not None or not self.ordered:
            return self.prior
        return ordered_shares(prior)

    def _unfitted(self) -> list[Quantifier]:
        # Nothing but the folds is seeded: classifiers are used as they are.
        folds = self.random_state
        if folds is None:
            folds = base_seeds(None, 1)[0] % 2**32
        return [clone(method.set_params(random_state=folds)) for method in self._given()]

    def _takes(self) -> Input:
        return "posteriors"

    @contextmanager
    def _while_fitting(self) -> Iterator[None]:
        # Users cannot follow advice on a calibration that they did not choose.
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "the scores separate some classes", HeadcountWarning
            )
            yield

    def explain(self, size: int = 500) -> str:
        """Methods that are combined, and their errors in simulated samples.

        Parameters
        ----------
        size : int, default=500
            Number of items of a simulated sample.

        Returns
        -------
        str
        """
        check_is_fitted(self, "fitted_")
        training: Any = self.fitted_.simulation_items()
        model: Any = self.fitted_.model
        strata = Training(None, training.codes, training.n_classes, training.weights)
        size = min(size, _LARGEST_TRIAL)
        trials = simulate(strata, size, _TRIALS, model.shares.prior, seed=0)
        answers = model.answers.solve_training(training, trials.samples).prevalence
        sizes = np.full(len(answers), size)
        combined = model.shares.means(answers, sizes)
        counted = trials.samples.prevalence_of(
            training.items[0].argmax(axis=1), len(self.classes_)
        )
        names = [_name(member) for member in self.members_]
        alone = np.split(answers, len(names), axis=1)
        errors = ", ".join(
            f"{name} {_error(shares, trials.shares)}"
            for name, shares in zip(names, alone, strict=True)
        )
        listed = " and ".join([", ".join(names[:-1]), names[-1]])
        ordered = " for ordered classes" if self.ordered else ""
        return (
            f"{listed} combined{ordered}. Mean absolute error in simulated samples of "
            f"{size:,} items: {_error(combined, trials.shares)} combined; alone {errors}; "
            f"classify and count {_error(counted, trials.shares)}."
        )


def ordered_shares(training: NDArray[np.float64], n: int = 4000) -> NDArray[np.float64]:
    """Shares of ordered classes that are thought possible, as a prior.

    Half are the default of `estimate`. For the others, the classes are intervals of a normal
    variable with the training shares, whose mean and standard deviation change: by as much as
    between the lowest and the highest grades, or hardly at all.

    Examples
    --------
    >>> import numpy as np
    >>> ordered_shares(np.array([0.2, 0.5, 0.3])).shape
    (4000, 3)
    """
    rng = np.random.default_rng(0)
    cuts = norm.ppf(np.clip(np.cumsum(training)[:-1], 1e-6, 1 - 1e-6))
    half = n // 2
    # From hardly any change to a great one.
    degree = rng.uniform(0.05, 1.2, (half, 1))
    moved = degree * rng.normal(size=(half, 1))
    scale = np.exp(0.35 * degree * rng.normal(size=(half, 1)))
    below = norm.cdf((cuts - moved) / scale)
    ends = [np.zeros((half, 1)), below, np.ones((half, 1))]
    smooth = np.diff(np.concatenate(ends, axis=1), axis=1)
    # Single classes differ by a little.
    noisy = rng.standard_gamma(200 * smooth + 0.05)
    noisy /= noisy.sum(axis=1, keepdims=True)
    return np.concatenate([Prior().draw(n - half, training, rng), noisy])


def _name(member: Any) -> str:
    calibration = member.get_params().get("calibration")
    return type(member).__name__ + (f"({calibration})" if calibration else "")


def _error(shares: Any, true: Any) -> str:
    return f"{np.abs(shares - true).mean():.4f}"
