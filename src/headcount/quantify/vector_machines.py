"""Classify and count with support vector machines trained for quantification."""

from __future__ import annotations

from typing import Any, ClassVar

from headcount.learn import MultivariateSVC
from headcount.quantify.aggregation import Aggregation
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.quantify.learners import counted

__all__ = ["SVMAE", "SVMK", "SVMN", "SVMQ", "SVMRAE"]


class _CountedSVM(Quantifier):
    """Base of methods that count the predictions of a support vector machine."""

    _loss: ClassVar[str]

    def __init__(
        self,
        C: float | None = None,
        *,
        kernel: str = "linear",
        gamma: float | str = "auto",
        n_components: int | None = 300,
        tol: float = 0.1,
        max_iter: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        return counted(
            MultivariateSVC(self._loss, **self.get_params(deep=False)), self.random_state
        )


def _info(title: str, reference: str, *aliases: str) -> MethodInfo:
    return MethodInfo(
        title=title,
        family="learner",
        input="features",
        multiclass="one-vs-rest",
        shift="none",
        reference=reference,
        aliases=aliases,
    )


class SVMQ(_CountedSVM):
    """Classify and count with a machine trained for recall and count together (Q).

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    C : float or None, default=None
        Weight of the loss against the margin. None is 1, and 0.1 for more than 10,000
        training items.
    kernel : {"linear", "rbf"}, default="linear"
        Linear, or an approximate Gaussian kernel.
    gamma : {"scale", "auto"} or float, default="auto"
        Coefficient of the Gaussian kernel: 1 / (d X.var()), 1 / d, or a number.
    n_components : int or None, default=300
        Number of training items that the Gaussian kernel is approximated by; None for all.
    tol : float, default=0.1
        Violation tolerated, in percent.
    max_iter : int, default=5000
        Largest number of training rounds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMQ
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMQ().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.4, 0.6])
    """

    info: ClassVar = _info(
        "SVM for the Q measure",
        "Barranquero, Díez & del Coz, Pattern Recognition 48 (2015)",
        "SVM-Q",
        "SVM(Q)",
    )
    _loss: ClassVar = "q"


class SVMK(_CountedSVM):
    """Classify and count with a machine trained for the Kullback-Leibler divergence.

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    C : float or None, default=None
        Weight of the loss against the margin. None is 1, and 0.1 for more than 10,000
        training items.
    kernel : {"linear", "rbf"}, default="linear"
        Linear, or an approximate Gaussian kernel.
    gamma : {"scale", "auto"} or float, default="auto"
        Coefficient of the Gaussian kernel: 1 / (d X.var()), 1 / d, or a number.
    n_components : int or None, default=300
        Number of training items that the Gaussian kernel is approximated by; None for all.
    tol : float, default=0.1
        Violation tolerated, in percent.
    max_iter : int, default=5000
        Largest number of training rounds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMK
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMK().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info(
        "SVM for the Kullback-Leibler divergence",
        "Esuli & Sebastiani, ACM TKDD 9 (2015)",
        "SVM-K",
        "SVM(KLD)",
    )
    _loss: ClassVar = "kld"


class SVMN(_CountedSVM):
    """Classify and count with a machine trained for the normalised divergence.

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    C : float or None, default=None
        Weight of the loss against the margin. None is 1, and 0.1 for more than 10,000
        training items.
    kernel : {"linear", "rbf"}, default="linear"
        Linear, or an approximate Gaussian kernel.
    gamma : {"scale", "auto"} or float, default="auto"
        Coefficient of the Gaussian kernel: 1 / (d X.var()), 1 / d, or a number.
    n_components : int or None, default=300
        Number of training items that the Gaussian kernel is approximated by; None for all.
    tol : float, default=0.1
        Violation tolerated, in percent.
    max_iter : int, default=5000
        Largest number of training rounds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMN
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMN().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info(
        "SVM for the normalised divergence",
        "Esuli & Sebastiani, DART 2014",
        "SVM(NKLD)",
    )
    _loss: ClassVar = "nkld"


class SVMAE(_CountedSVM):
    """Classify and count with a machine trained for the absolute error of the count.

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    C : float or None, default=None
        Weight of the loss against the margin. None is 1, and 0.1 for more than 10,000
        training items.
    kernel : {"linear", "rbf"}, default="linear"
        Linear, or an approximate Gaussian kernel.
    gamma : {"scale", "auto"} or float, default="auto"
        Coefficient of the Gaussian kernel: 1 / (d X.var()), 1 / d, or a number.
    n_components : int or None, default=300
        Number of training items that the Gaussian kernel is approximated by; None for all.
    tol : float, default=0.1
        Violation tolerated, in percent.
    max_iter : int, default=5000
        Largest number of training rounds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMAE
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMAE().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info(
        "SVM for the absolute error",
        "Moreo & Sebastiani, PLoS ONE 17 (2022)",
        "SVM(AE)",
    )
    _loss: ClassVar = "ae"


class SVMRAE(_CountedSVM):
    """Classify and count with a machine trained for the relative error of the count.

    Two classes, or any number inside `OneVsRest`, which trains one machine for each class
    against the others. The predictions are counted. Features should be of similar scale.

    Parameters
    ----------
    C : float or None, default=None
        Weight of the loss against the margin. None is 1, and 0.1 for more than 10,000
        training items.
    kernel : {"linear", "rbf"}, default="linear"
        Linear, or an approximate Gaussian kernel.
    gamma : {"scale", "auto"} or float, default="auto"
        Coefficient of the Gaussian kernel: 1 / (d X.var()), 1 / d, or a number.
    n_components : int or None, default=300
        Number of training items that the Gaussian kernel is approximated by; None for all.
    tol : float, default=0.1
        Violation tolerated, in percent.
    max_iter : int, default=5000
        Largest number of training rounds.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the items for the Gaussian kernel.

    See Also
    --------
    headcount.learn.MultivariateSVC : The learner; once trained it is ``fitted_.model.learner``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SVMRAE
    >>> X, y = make_classification(400, random_state=0)
    >>> SVMRAE().fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = _info(
        "SVM for the relative absolute error",
        "Moreo & Sebastiani, PLoS ONE 17 (2022)",
        "SVM(RAE)",
    )
    _loss: ClassVar = "rae"
