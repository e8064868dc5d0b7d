"""QuAcc: the cells of the table as classes, their shares by a quantifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from headcount._parameters import check_choice
from headcount.accuracy.base import Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Reference
from headcount.accuracy.quacc_cells import VARIANTS, parts_of
from headcount.accuracy.quacc_model import CellModel, Eyes
from headcount.accuracy.shares import Counter
from headcount.accuracy.tables import METRICS, TableMetric
from headcount.errors import HeadcountError, warn
from headcount.quantify import SLD, Quantifier

__all__ = ["QuAcc", "why_merged_will_not_do"]

_TOLD_APART = "choose variant='1xn2' or variant='nxn'."


class QuAcc(Predictor):
    """Count the cells of the table themselves, as if they were classes.

    What is true and what is predicted make a cell; a quantifier learns the cells of the
    labelled items from their features beside the model's posteriors, and estimates the
    shares of the cells in a sample. Under prior shift the items of a cell stay as they were.

    Cells that no labelled item is in are estimated as 0. A model that is a pipeline hands on
    the features its last step gets, so that texts and categories will do; after `fit_scores`
    the quantifier has the posteriors alone.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the cells; `SLD` with recalibration by default. If it names no
        classifier it gets logistic regression: on scaled features, if they are dense, and
        with balanced classes, unless it goes by calibrated posteriors.
    variant : {"1xn2", "nxn", "1xn+1"}, default="1xn2"
        One quantifier for all cells; one for each predicted class, which keeps to the shares
        predicted; or one for the cells on the diagonal and all errors together, which gives
        accuracy, and F1 if there are two classes.
    covariates : bool, default=True
        Whether the quantifier also sees the model's maximum confidence, negative entropy and
        maximum inverse softmax.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(
    ...     6000, n_features=100, n_informative=20, class_sep=1.5,
    ...     weights=[0.8], flip_y=0.02, random_state=0)
    >>> model = LogisticRegression(max_iter=1000).fit(X[:500], y[:500])
    >>> quacc = hc.accuracy.QuAcc(model, variant="nxn").fit(X[500:4000], y[500:4000])
    >>> new, truth = X[4000:], y[4000:]
    >>> shifted = truth == 1
    >>> round(quacc.predict(new), 1), round(quacc.predict(new[shifted]), 1)
    (0.8, 0.6)
    >>> round(model.score(new, truth), 1), round(model.score(new[shifted], truth[shifted]), 1)
    (0.8, 0.6)
    """

    info: ClassVar = AccuracyInfo(
        title="cells of the table as classes",
        shift="prior",
        gives="table",
        needs="scores",
        reference="Volpi, Moreo & Sebastiani, Intelligenza Artificiale (2025)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        quantifier: Any = None,
        variant: str = "1xn2",
        covariates: bool = True,
    ) -> None:
        self.classifier = classifier
        self.quantifier = quantifier
        self.variant = variant
        self.covariates = covariates

    def _learn(self, reference: Reference) -> CellModel:
        variant = check_choice("variant", self.variant, VARIANTS)
        eyes = Eyes(self.classifier, check_covariates(self.covariates))
        warn_of_absent(reference)
        parts = parts_of(variant, reference.codes, reference.judged.labels, reference.n_classes)
        Z = eyes.see(reference.judged)
        quantifier = chosen_quantifier(self.quantifier, Z)
        fitted = [part.fit(quantifier, Z) for part in parts]
        counters = [None if each is None else Counter(each) for each in fitted]
        return CellModel(parts, counters, reference.n_classes, eyes)

    def _why_no_table(self) -> str:
        if self.variant != "1xn+1":
            return ""
        return f"the variant '1xn+1' does not tell errors apart; {_TOLD_APART}"

    def _why_not(self, metric: TableMetric) -> str:
        if self.variant != "1xn+1":
            return ""
        return why_merged_will_not_do(metric, len(self.classes_))


def why_merged_will_not_do(metric: TableMetric, K: int) -> str:
    """What is said of a measure that needs errors told apart; empty of one that does not."""
    allowed = ("accuracy", "error", "f1", "macro_f1") if K == 2 else ("accuracy", "error")
    if any(metric is METRICS[name] for name in allowed):
        return ""
    return f"the variant '1xn+1' does not tell errors apart, which it needs: {_TOLD_APART}"


def check_covariates(covariates: Any) -> bool:
    """Whether to show how sure the model is."""
    if not isinstance(covariates, bool | np.bool_):
        raise HeadcountError(
            f"covariates is {covariates!r}; it must be True (the quantifier sees how sure the "
            "model is) or False."
        )
    return bool(covariates)


def chosen_quantifier(quantifier: Any, Z: Any) -> Quantifier:
    """The quantifier, or the default one, with a classifier that suits items seen as Z.

    Some cells have few items. Balanced classes help to tell them, but spoil posteriors for
    quantifiers that trust these.
    """
    chosen = SLD(calibration="bcts", random_state=0) if quantifier is None else quantifier
    if not isinstance(chosen, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a quantifier of this library, such as "
            "SLD() or KDEyML()."
        )
    parameters = chosen.get_params(deep=False)
    if parameters.get("classifier", chosen) is not None:
        return chosen
    weight = None if "calibration" in parameters else "balanced"
    logistic = LogisticRegression(class_weight=weight, max_iter=1000)
    if not sparse.issparse(Z):
        logistic = make_pipeline(MaxAbsScaler(), logistic)
    suited: Quantifier = clone(chosen).set_params(classifier=logistic)
    return suited


def warn_of_absent(reference: Reference) -> None:
    """Say so if there are no labelled items of a class."""
    missing = np.setdiff1d(np.arange(reference.n_classes), reference.present)
    if len(missing):
        name = reference.classes.tolist()[missing[0]]
        warn(
            f"The labelled items have none of class {name!r}: "
            "its share is taken to be 0 in every sample; add items of it."
        )
