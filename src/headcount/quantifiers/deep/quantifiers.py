"""Base of quantifiers that are networks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats
from headcount._support.documentation import parametrised, with_example
from headcount._support.execution import base_seeds
from headcount._support.parameters import (
    check_choice,
    check_count,
    check_counts,
    check_not_negative,
    check_positive,
    check_share,
)
from headcount.errors import HeadcountError
from headcount.items.arrays import check_features, check_labels, check_lengths, count_rows
from headcount.parts.fitted import Fitted, ItemSource, MethodInfo
from headcount.parts.training import Training
from headcount.quantifiers.base import Quantifier, labelled_items
from headcount.quantifiers.deep.model import (
    LOSSES,
    Architecture,
    Attention,
    BagTraining,
    FittedNetwork,
    InvariantLayer,
    LearntDensities,
    NetworkTraining,
    Pooling,
    Recurrent,
    TrainingSettings,
    Votes,
    check_budget,
    check_device,
)
from headcount.quantifiers.registry import method
from headcount.samples.samples import Samples, as_samples
from headcount.scores.folds import check_classifier
from headcount.scores.scorer import Scorer

# Highest learning rate of networks that are given estimates, unless it is a parameter.
CAREFUL_RATE = 1e-3
_LEAST_BAGS = 4


@parametrised
class NetworkQuantifier(Quantifier):
    """Base of networks that are trained on bags with known shares.

    A fifth of the labelled items, or a quarter of the known bags, is held out: the weights
    with the smallest loss on it are kept, and estimates with intervals simulate samples from
    it.

    Subclasses define ``_layer``, the item network and the invariant layer.

    Parameters
    ----------
    loss : {"ae", "rae", "ae-rae", "mse", "nmd"}, default="ae"
        Error that training minimises, see `headcount.metrics`: "nmd" is for ordered classes,
        "ae-rae" changes from "ae" to "rae" on the way.
    estimates : sequence of str, default=()
        Methods on the scores of a classifier, such as "SLD", "PACC" or "KDEyML", whose
        estimates the head is given. The network corrects the first of them; `QuaNet` does not.
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
        0.001 with ``estimates``, and the ``plain_rate`` of the class without.
    head : sequence of int, default=(256,)
        Sizes of the hidden layers of the head.
    dropout : float, default=0.0
        Share of hidden units that are dropped in training.
    n_components : int, default=512
        Largest number of features that are used as they are. More of them are replaced by so
        many principal directions.
    device : str, default="cpu"
        Device of PyTorch, such as "cuda".
    random_state : int, RandomState, Generator or None, default=None
        Random seed of weights, bags and folds.
    """

    loss: Any = "ae"
    estimates: Any = ()
    classifier: Any = None
    size: Any = 250
    epochs: Any = 20
    budget: Any = None
    patience: Any = None
    learning_rate: Any = None
    head: Any = (256,)
    dropout: Any = 0.0
    n_components: Any = 512
    device: Any = "cpu"
    random_state: Any = None

    corrects_estimates: ClassVar[bool] = True
    plain_rate: ClassVar[float] = CAREFUL_RATE

    @abstractmethod
    def _layer(self) -> InvariantLayer:
        """Item network and invariant layer, with checked parameters."""

    def _aggregation(self) -> NetworkTraining:
        patience = self.patience
        network_seed, scorer_seed = base_seeds(self.random_state, 2)
        settings = TrainingSettings(
            name=type(self).__name__,
            losses=LOSSES[check_choice("loss", self.loss, tuple(LOSSES))],
            size=check_count("size", self.size, 2),
            epochs=check_count("epochs", self.epochs),
            budget=check_budget(self.budget),
            patience=None if patience is None else check_count("patience", patience),
            learning_rate=check_positive("learning_rate", self._rate()),
            device=check_device(self.device, type(self).__name__),
            alignment=self._alignment(),
        )
        dropout = check_share("dropout", self.dropout)
        if dropout == 1:
            raise HeadcountError("dropout is 1.0, which drops everything: it must be below 1.")
        architecture = Architecture(
            self._layer(), check_counts("head", self.head), dropout, self.corrects_estimates
        )
        methods = self._methods()
        scorer = Scorer(check_classifier(self.classifier), random_state=scorer_seed % 2**32)
        return NetworkTraining(
            architecture,
            settings,
            check_count("n_components", self.n_components),
            scorer if methods else None,
            methods,
            network_seed,
        )

    def _rate(self) -> Any:
        """Highest learning rate; by default a low one if estimates are to be corrected."""
        if self.learning_rate is not None:
            return self.learning_rate
        return CAREFUL_RATE if self.estimates else self.plain_rate

    def _alignment(self) -> float:
        """Weight in the loss of the alignment between branches, of networks that have any."""
        return 0.0

    def _methods(self) -> list[Quantifier]:
        """Unfitted methods whose estimates the head is given."""
        if not isinstance(self.estimates, list | tuple):
            raise HeadcountError(
                f"estimates is {self.estimates!r}; it must be a list of methods by name, such "
                "as ['SLD', 'PACC'], or empty."
            )
        try:
            classes = [method(name) for name in self.estimates]
        except HeadcountError as error:
            raise HeadcountError(f"estimates has{str(error).removeprefix('name is')}") from None
        for cls in classes:
            if cls.info.input not in ("posteriors", "labels"):
                raise HeadcountError(
                    f"estimates has {cls.__name__!r}, which does not work on the scores of "
                    "one classifier: name methods such as 'SLD', 'PACC' or 'KDEyML'."
                )
        return [cls() for cls in classes]

    def _learnt(self, training: Training, source: ItemSource) -> Fitted:
        model = self._aggregation().fit(training)
        return self._of_network(model, source.classes, training.prior)

    def trained_arrays(self) -> dict[str, Array]:
        """Weights of the network, and its validation losses."""
        return self._network.arrays()

    @property
    def _network(self) -> FittedNetwork:
        check_is_fitted(self, "fitted_")
        assert isinstance(self.fitted_.model, FittedNetwork)
        return self.fitted_.model

    def fit_trained(self, X: Any, y: ArrayLike, arrays: dict[str, Array]) -> Self:
        """Repeat `fit` without training the network, given its `trained_arrays`."""
        training, classes = labelled_items(X, y, None)
        model = self._aggregation().restore(training, arrays)
        return self._keep(self._of_network(model, classes, training.prior))

    def _of_network(self, training: NetworkTraining, classes: Array, prior: Floats) -> Fitted:
        network = training.fitted
        assert network is not None
        reason = (
            f"{type(self).__name__} was fitted on bags without labels, but samples for "
            "estimates are simulated from labelled items: pass y or labelled to "
            "fit_samples."
        )
        return self._made(
            self._source(classes),
            network,
            prior,
            network.held_out,
            no_simulation="" if network.held_out is not None else reason,
        )

    @property
    def validation_losses_(self) -> tuple[float, ...]:
        """Losses on the validation bags, one per validation."""
        return self._network.losses

    def fit_samples(
        self,
        X_pool: Any,
        samples: Any,
        prevalence: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        labelled: tuple[Any, ArrayLike] | None = None,
    ) -> Self:
        """Learn from bags with known shares.

        A quarter of the bags is held out for validation. Training bags are the others and
        mixtures of two of them. Where the layer computes means over items and there are no
        ``estimates``, vectors of bags are mixed, whose shares are exact; else a bag is drawn
        from the items of two. With ``labelled``, half of the training bags are drawn from
        labelled items.

        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(2000, random_state=0)
        >>> bags = hc.UPP(n_samples=40, size=50, random_state=0).draw(y)
        >>> net = hc.HistNet(epochs=2, random_state=0).fit_samples(X, bags, bags.prevalence)
        >>> net.predict(X).round(1)
        array([0.5, 0.5])
        """
        aggregation = self._aggregation()
        pool = check_features(X_pool, name="X_pool")
        bags = as_samples(samples, count_rows(pool))
        if len(bags) < _LEAST_BAGS:
            raise HeadcountError(
                f"samples has {len(bags)} bags; pass at least {_LEAST_BAGS}, some of which "
                "are used for validation."
            )
        if classes is None and labelled is not None:
            classes = check_labels(labelled[1])[0]
        known_bags, names = _known_bags(pool, bags, prevalence, y, classes)
        items = None
        if labelled is not None:
            items = labelled_items(*labelled, None)[0]
            codes = check_labels(labelled[1], classes=names)[1]
            items = Training(items.items, codes, len(names))
        prior = known_bags.shares.mean(axis=0) if items is None else items.prior
        return self._keep(
            self._of_network(aggregation.fit_bags(items, known_bags), names, prior)
        )


def _known_bags(
    pool: Any, samples: Samples, prevalence: Any, y: ArrayLike | None, classes: Any
) -> tuple[BagTraining, Array]:
    """Bags with their shares, and the classes."""
    if y is not None:
        names, codes = check_labels(y, classes=classes)
        check_lengths("X_pool", count_rows(pool), codes)
        shares = samples.prevalence_of(codes, len(names))
        return BagTraining(pool, samples, shares, codes), names
    if prevalence is None:
        prevalence, sample_classes = samples.prevalence, samples.classes
        classes = sample_classes if classes is None else classes
    if prevalence is None:
        raise HeadcountError(
            "prevalence is missing, and samples do not have it: pass the shares of the classes "
            "in each bag, or y, the labels of the items."
        )
    if classes is None:
        classes = np.arange(np.shape(prevalence)[-1])
    facts = {"n_pool": samples.n_pool, "prevalence": prevalence, "classes": classes}
    checked = Samples(samples.indices, samples.offsets, **facts)
    assert checked.prevalence is not None
    assert checked.classes is not None
    return BagTraining(pool, checked, checked.prevalence, None), checked.classes


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


_Class = TypeVar("_Class", bound=type[NetworkQuantifier])
_EXAMPLE = """\
>>> from sklearn.datasets import make_classification
>>> from {home} import {name}
>>> X, y = make_classification(400, random_state=0)
>>> net = {name}(epochs=1, size=50, random_state=0).fit(X[:200], y[:200])
>>> net.predict(X[200:]).shape
(2,)"""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def _network_class(cls: _Class) -> _Class:
    """Make a network of a class: see `parametrised`; its docstring gets an example too."""
    return with_example(parametrised(cls), _EXAMPLE)


@_network_class
class HistNet(NetworkQuantifier):
    """Network on histograms of learnt features.

    A network turns each item into features between 0 and 1; their histograms over the sample
    are the input of the head.

    Parameters
    ----------
    hidden : sequence of int, default=(128,)
        Sizes of the hidden layers of the item network.
    features : int, default=32
        Number of learnt features.
    bins : int, default=16
        Number of bins per feature.
    votes : {"linear", "hard"}, default="linear"
        "linear": an item's vote is shared by the two nearest bins. "hard": bins with learnt
        centres and widths, as published.
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


@_network_class
class GMNet(NetworkQuantifier):
    """Network on densities of the sample under Gaussians in several learnt spaces.

    Each branch turns items into points, whose densities under Gaussians with learnt centres
    and covariances are averaged over the sample. These means are the input of the head.

    Parameters
    ----------
    branches : int, default=5
        Number of branches.
    gaussians : int, default=48
        Number of Gaussians per branch.
    dimensions : int, default=4
        Number of coordinates of a point.
    hidden : int, default=32
        Size of the hidden layer of a branch.
    alignment : float, default=0.0
        Weight in the loss of the mean centred kernel alignment of two branches, between 0 and
        1. With a positive weight branches learn to describe samples differently.
    """

    branches: Any = 5
    gaussians: Any = 48
    dimensions: Any = 4
    hidden: Any = 32
    alignment: Any = 0.0

    plain_rate: ClassVar[float] = 1e-2
    info: ClassVar = _info(
        "network on densities under Gaussians in learnt spaces",
        "Pérez-Mon & González, LQ workshop at ECML-PKDD 2024",
    )

    def _layer(self) -> LearntDensities:
        return LearntDensities(
            check_count("branches", self.branches),
            check_count("gaussians", self.gaussians),
            check_count("dimensions", self.dimensions),
            check_count("hidden", self.hidden),
        )

    def _alignment(self) -> float:
        return check_not_negative("alignment", self.alignment)


@_network_class
class DeepSets(NetworkQuantifier):
    """Network on the mean, median or maximum of learnt features.

    Parameters
    ----------
    hidden : sequence of int, default=(128, 128)
        Sizes of the layers of the item network.
    pooling : {"mean", "median", "max"}, default="mean"
        Summary of each feature over the sample.
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


@_network_class
class SetTransformer(NetworkQuantifier):
    """Network of attention between items, through inducing points.

    Parameters
    ----------
    width : int, default=64
        Length of the vectors.
    heads : int, default=4
        Number of attention heads; they must divide the width.
    inducing : int, default=16
        Number of inducing points.
    blocks : int, default=2
        Number of attention blocks before and after the items are summarised.
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


@_network_class
class QuaNet(NetworkQuantifier):
    """Recurrent network over the items, sorted by their posterior, and simple estimates.

    The last states of a bidirectional LSTM over features and posteriors of the items, and the
    estimates of simple methods, are the input of the head. Posteriors of training items are
    out-of-fold, where the authors trained classifier and network on separate items. Items are
    sorted by the posterior of the first class, with more than two classes, too.

    Parameters
    ----------
    units : int, default=64
        Length of a state of the LSTM.
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
