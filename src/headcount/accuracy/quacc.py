"""QuAcc: cells of the table as classes of a quantifier."""

from __future__ import annotations

from typing import Any, ClassVar

from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from headcount._parameters import check_choice, check_flag
from headcount.accuracy.base import Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import Reference
from headcount.accuracy.quacc_cells import VARIANTS, parts_of
from headcount.accuracy.quacc_inputs import CellInputs
from headcount.accuracy.quacc_model import CellModel
from headcount.accuracy.quantification import FittedQuantifier, check_quantifier
from headcount.accuracy.tables import METRICS, TableMetric
from headcount.quantify import SLD, Quantifier

__all__ = ["QuAcc", "chosen_quantifier", "merged_errors_obstacle"]

_ADVICE = "choose variant='1xn2' or variant='nxn'."


class QuAcc(Predictor):
    """Quantification of the cells of the table, as if they were classes.

    A cell is a pair of a true and a predicted class. A quantifier learns the cells of the
    labelled items from their features and the posteriors of the classifier, and estimates the
    shares of the cells in a sample. Under prior shift the distribution within a cell does not
    change.

    Cells without labelled items are estimated as 0. If the classifier is a pipeline, the
    features are the input of its last step, so that texts and categories are possible. Fitted
    on `Scored`, the quantifier uses the posteriors alone.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the cells; `SLD` with calibration by default. Without a
        classifier of its own it gets logistic regression: on scaled features, if they are
        dense, and with balanced classes, unless the quantifier has a calibration.
    variant : {"1xn2", "nxn", "1xn+1"}, default="1xn2"
        One quantifier for all cells; one for each predicted class, which keeps the shares of
        the predicted classes; or one for the cells on the diagonal and all errors together,
        which gives accuracy, and F1 if there are two classes.
    covariates : bool, default=True
        True to add maximum confidence, negative entropy and maximum inverse softmax to the
        inputs of the quantifier.

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
        input="posteriors",
        gives="table",
        shift="prior",
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
        inputs = CellInputs(self.classifier, check_flag("covariates", self.covariates))
        reference.warn_of_absent_classes()
        predicted = reference.outputs.labels
        parts = parts_of(variant, reference.codes, predicted, reference.n_classes)
        Z = inputs.of(reference.outputs)
        quantifier = chosen_quantifier(self.quantifier, Z)
        fitted = [part.fit(quantifier, Z) for part in parts]
        quantifiers = [None if each is None else FittedQuantifier(each) for each in fitted]
        return CellModel(parts, quantifiers, reference.n_classes, inputs)

    def _table_obstacle(self) -> str:
        if self.variant != "1xn+1":
            return ""
        return f"the variant '1xn+1' merges all errors; {_ADVICE}"

    def _metric_obstacle(self, metric: TableMetric) -> str:
        if self.variant != "1xn+1":
            return ""
        return merged_errors_obstacle(metric, len(self.classes_))


def merged_errors_obstacle(metric: TableMetric, K: int) -> str:
    """Reason why a metric needs the cells of errors; empty if it does not."""
    allowed = ("accuracy", "error", "f1", "macro_f1") if K == 2 else ("accuracy", "error")
    if any(metric is METRICS[name] for name in allowed):
        return ""
    return f"the variant '1xn+1' merges all errors, which it distinguishes: {_ADVICE}"


def chosen_quantifier(quantifier: Any, Z: Any) -> Quantifier:
    """Quantifier, by default `SLD`, with a classifier that suits the inputs Z.

    Some cells have few items. Balanced classes help to recognise them, but distort the
    posteriors for quantifiers that rely on calibrated ones.
    """
    chosen = check_quantifier(quantifier, SLD(calibration="bcts", random_state=0))
    parameters = chosen.get_params(deep=False)
    if parameters.get("classifier", chosen) is not None:
        return chosen
    weight = None if "calibration" in parameters else "balanced"
    logistic = LogisticRegression(class_weight=weight, max_iter=1000)
    if not sparse.issparse(Z):
        logistic = make_pipeline(MaxAbsScaler(), logistic)
    suited: Quantifier = clone(chosen).set_params(classifier=logistic)
    return suited
