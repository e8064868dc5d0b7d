"""Quantifiers that are networks, trained on bags with known shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from headcount._parameters import check_choice, check_count, check_counts
from headcount.deep.architecture import Attention, Densities, Pooling, Recurrent, Votes
from headcount.deep.base import CAREFUL_RATE, NetworkQuantifier
from headcount.errors import HeadcountError
from headcount.quantify.info import MethodInfo

__all__ = ["DeepSets", "GMNet", "HistNet", "QuaNet", "SetTransformer"]

_Method = TypeVar("_Method", bound=type[NetworkQuantifier])

_SHARED = """\
    loss : {{"ae", "rae", "ae-rae", "mse", "nmd"}}, default="{loss}"
        Error that training minimises, see `headcount.metrics`: "nmd" is for ordered classes,
        "ae-rae" changes from "ae" to "rae" on the way.
    estimates : sequence of str, default={estimates}
        Methods on the scores of a classifier, such as "SLD", "PACC" or "KDEyML", whose
        estimates the head is given. {first}
    classifier : scikit-learn classifier, default=None
        Classifier for these methods, whose posteriors are inputs of the network, too; not
        used without ``estimates``. Logistic regression by default.
    size : int, default=250
        Number of items in a training bag; best that of the samples to come. Known bags have
        a size of their own.
    epochs : int, default=20
        Number of epochs of 500 bags, after each of which the network is validated.
    budget : str, float or None, default=None
        Time to train instead of ``epochs``, such as "10min" (numbers are seconds). It is
        processor time, and the result depends on the speed of the machine.
    patience : int or None, default=None
        Number of validations without an improvement after which training ends early.
    learning_rate : float or None, default=None
        Highest learning rate. It rises during 50 steps and falls along a cosine. By default
        {rate}
    head : sequence of int, default={head}
        Sizes of the hidden layers of the head.
    dropout : float, default={dropout}
        Share of hidden units that are dropped in training.
    n_components : int, default={n_components}
        Largest number of features that are used as they are. More of them are replaced by so
        many principal directions.
    device : str, default="cpu"
        Device of PyTorch, such as "cuda".
    random_state : int, RandomState, Generator or None, default=None
        Random seed of weights, bags and folds."""
_CORRECTS = "The network corrects the first of them."


def _documented(method: _Method) -> _Method:
    """Insert the description of the parameters that all networks have."""
    made: Any = method()
    first = _CORRECTS if made.corrects_estimates else ""
    plain, careful = method.plain_rate, CAREFUL_RATE
    rate = f"{plain}, with ``estimates`` {careful}." if plain != careful else f"{plain}."
    shared = _SHARED.format(first=first, rate=rate, **made.get_params())
    shared = shared.replace(". \n", ".\n")
    method.__doc__ = (method.__doc__ or "").replace("    [shared]", shared)
    return method


def _info(title: str, reference: str, **more: Any) -> MethodInfo:
    return MethodInfo(
        title=title,
        family="network",
        input="features",
        reference=reference,
        inconsistency="answers are learnt from samples and approximate",
        resamples=True,
        **more,
    )


@_documented
@dataclass(eq=False, repr=False, kw_only=True)
class HistNet(NetworkQuantifier):
    """Network on histograms of learnt features.

    A network turns each item into features between 0 and 1; their histograms over the sample
    are the input of the head.

    Parameters
    ----------
    [shared]
    hidden : sequence of int, default=(128,)
        Sizes of the hidden layers of the item network.
    features : int, default=32
        Number of learnt features.
    bins : int, default=16
        Number of bins per feature.
    votes : {"linear", "hard"}, default="linear"
        "linear": an item's vote is shared by the two nearest bins. "hard": bins with learnt
        centres and widths, as published.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import HistNet
    >>> X, y = make_classification(400, random_state=0)
    >>> net = HistNet(epochs=2, size=100, random_state=0).fit(X[:200], y[:200])
    >>> net.predict(X[200:]).shape
    (2,)
    """

    head: Any = (64,)
    hidden: Any = (128,)
    features: Any = 32
    bins: Any = 16
    votes: Any = "linear"

    plain_rate: ClassVar[float] = 3e-3
    info: ClassVar = _info(
        "network on histograms of learnt features",
        "Pérez-Mon, Moreo, del Coz & González, Neural Computing and Applications 37 (2025)",
    )

    def _layer(self) -> Votes:
        return Votes(
            check_counts("hidden", self.hidden),
            check_count("features", self.features),
            check_count("bins", self.bins, 2),
            check_choice("votes", self.votes, ("linear", "hard")),
        )


@_documented
@dataclass(eq=False, repr=False, kw_only=True)
class GMNet(NetworkQuantifier):
    """Network on densities of the sample under Gaussians in several learnt spaces.

    Each branch turns items into points, whose densities under Gaussians with learnt centres
    and covariances are averaged over the sample. These means are the input of the head.

    Parameters
    ----------
    [shared]
    branches : int, default=5
        Number of branches.
    gaussians : int, default=48
        Number of Gaussians per branch.
    dimensions : int, default=4
        Number of coordinates of a point.
    hidden : int, default=32
        Size of the hidden layer of a branch.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import GMNet
    >>> X, y = make_classification(400, random_state=0)
    >>> net = GMNet(epochs=2, size=100, random_state=0).fit(X[:200], y[:200])
    >>> net.predict(X[200:]).shape
    (2,)
    """

    branches: Any = 5
    gaussians: Any = 48
    dimensions: Any = 4
    hidden: Any = 32

    plain_rate: ClassVar[float] = 1e-2
    info: ClassVar = _info(
        "network on densities under Gaussians in learnt spaces",
        "Pérez-Mon & González, LQ workshop at ECML-PKDD 2024",
    )

    def _layer(self) -> Densities:
        return Densities(
            check_count("branches", self.branches),
            check_count("gaussians", self.gaussians),
            check_count("dimensions", self.dimensions),
            check_count("hidden", self.hidden),
        )


@_documented
@dataclass(eq=False, repr=False, kw_only=True)
class DeepSets(NetworkQuantifier):
    """Network on the mean, median or maximum of learnt features.

    Parameters
    ----------
    [shared]
    hidden : sequence of int, default=(128, 128)
        Sizes of the layers of the item network.
    pooling : {"mean", "median", "max"}, default="mean"
        Summary of each feature over the sample.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import DeepSets
    >>> X, y = make_classification(400, random_state=0)
    >>> net = DeepSets(epochs=2, size=100, random_state=0).fit(X[:200], y[:200])
    >>> net.predict(X[200:]).shape
    (2,)
    """

    hidden: Any = (128, 128)
    pooling: Any = "mean"

    plain_rate: ClassVar[float] = 3e-3
    info: ClassVar = _info(
        "network on means of learnt features",
        "Zaheer et al., NeurIPS 2017; Qi et al., IJCNN 2021",
    )

    def _layer(self) -> Pooling:
        return Pooling(
            check_counts("hidden", self.hidden),
            check_choice("pooling", self.pooling, ("mean", "median", "max")),
        )


@_documented
@dataclass(eq=False, repr=False, kw_only=True)
class SetTransformer(NetworkQuantifier):
    """Network of attention between items, through inducing points.

    Parameters
    ----------
    [shared]
    width : int, default=64
        Length of the vectors.
    heads : int, default=4
        Number of attention heads; they must divide the width.
    inducing : int, default=16
        Number of inducing points.
    blocks : int, default=2
        Number of attention blocks before and after the items are summarised.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SetTransformer
    >>> X, y = make_classification(400, random_state=0)
    >>> net = SetTransformer(epochs=1, size=50, random_state=0).fit(X[:200], y[:200])
    >>> net.predict(X[200:]).shape
    (2,)
    """

    width: Any = 64
    heads: Any = 4
    inducing: Any = 16
    blocks: Any = 2

    info: ClassVar = _info("network of attention between items", "Lee et al., ICML 2019")

    def _layer(self) -> Attention:
        width, heads = check_count("width", self.width), check_count("heads", self.heads)
        if width % heads:
            raise HeadcountError(
                f"heads is {heads}, which does not divide width, {width}: change one of them."
            )
        inducing = check_count("inducing", self.inducing)
        return Attention(width, heads, inducing, check_count("blocks", self.blocks))


@_documented
@dataclass(eq=False, repr=False, kw_only=True)
class QuaNet(NetworkQuantifier):
    """Recurrent network over the items, sorted by their posterior, and simple estimates.

    The last states of a bidirectional LSTM over features and posteriors of the items, and the
    estimates of simple methods, are the input of the head. Posteriors of training items are
    out-of-fold, where the authors trained classifier and network on separate items. Items are
    sorted by the posterior of the first class, with more than two classes, too.

    Parameters
    ----------
    [shared]
    units : int, default=64
        Length of a state of the LSTM.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import QuaNet
    >>> X, y = make_classification(400, random_state=0)
    >>> net = QuaNet(epochs=2, size=50, random_state=0).fit(X[:200], y[:200])
    >>> net.predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    loss: Any = "mse"
    estimates: Any = ("CC", "ACC", "PCC", "PACC", "SLD")
    head: Any = (1024, 512)
    dropout: Any = 0.5
    n_components: Any = 100
    units: Any = 64

    info: ClassVar = _info(
        "recurrent network on items and simple estimates",
        "Esuli, Moreo & Sebastiani, CIKM 2018",
        depends_on_size=True,
    )
    corrects_estimates: ClassVar[bool] = False

    def _layer(self) -> Recurrent:
        if not self.estimates:
            raise HeadcountError(
                "estimates is empty, but QuaNet sorts items by the posteriors of a classifier: "
                "name at least one method, such as 'PACC'."
            )
        return Recurrent(check_count("units", self.units))
