"""Base of quantifiers that are networks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import (
    check_choice,
    check_count,
    check_counts,
    check_positive,
    check_share,
)
from headcount.data import check_features, count_rows
from headcount.deep.architecture import Architecture, InvariantLayer
from headcount.deep.model import BagTraining, FittedNetwork, NetworkTraining
from headcount.deep.settings import (
    LOSSES,
    TrainingSettings,
    check_budget,
    check_device,
)
from headcount.errors import HeadcountError
from headcount.quantify.base import Quantifier, labelled_items
from headcount.quantify.fitted import Fitted, ItemSource
from headcount.quantify.registry import method
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.sampling._streams import base_seeds
from headcount.scores import Scorer
from headcount.scores.checks import check_labels, check_lengths
from headcount.scores.cross_fitting import check_classifier

__all__ = ["CAREFUL_RATE", "NetworkQuantifier"]

# Highest learning rate of networks that are given estimates, unless it is a parameter.
CAREFUL_RATE = 1e-3
_LEAST_BAGS = 4


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkQuantifier(Quantifier):
    """Base of networks that are trained on bags with known shares.

    A fifth of the labelled items, or a quarter of the known bags, is held out: the weights
    with the smallest loss on it are kept, and estimates with intervals simulate samples from
    it.

    Subclasses define ``_layer``, the item network and the invariant layer.
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

    def trained_arrays(self) -> dict[str, NDArray[Any]]:
        """Weights of the network, and its validation losses."""
        return self._network.arrays()

    @property
    def _network(self) -> FittedNetwork:
        check_is_fitted(self, "fitted_")
        assert isinstance(self.fitted_.model, FittedNetwork)
        return self.fitted_.model

    def fit_trained(self, X: Any, y: ArrayLike, arrays: dict[str, NDArray[Any]]) -> Self:
        """Repeat `fit` without training the network.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(400, random_state=0)
        >>> net = hc.DeepSets(epochs=1, size=50, random_state=0).fit(X, y)
        >>> again = hc.DeepSets(epochs=1, size=50, random_state=0)
        >>> again.fit_trained(X, y, net.trained_arrays()).predict(X) == net.predict(X)
        array([ True,  True])
        """
        training, classes = labelled_items(X, y, None)
        model = self._aggregation().restore(training, arrays)
        return self._keep(self._of_network(model, classes, training.prior))

    def _of_network(
        self, training: NetworkTraining, classes: NDArray[Any], prior: NDArray[np.float64]
    ) -> Fitted:
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

        Examples
        --------
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
) -> tuple[BagTraining, NDArray[Any]]:
    """Bags with their shares, and the classes."""
    if y is not None:
        names, codes = check_labels(y, classes=classes)
        check_lengths("X_pool", count_rows(pool), codes)
        shares = samples.prevalence_of(codes, len(names))
        return BagTraining(pool, samples, shares, codes), names
    if prevalence is None:
        prevalence, given = samples.prevalence, samples.classes
        classes = given if classes is None else classes
    if prevalence is None:
        raise HeadcountError(
            "prevalence is missing, and samples do not have it: pass the shares of the classes "
            "in each bag, or y, the labels of the items."
        )
    if classes is None:
        classes = np.arange(np.shape(prevalence)[-1])
    checked = Samples(
        samples.indices,
        samples.offsets,
        n_pool=samples.n_pool,
        prevalence=prevalence,
        classes=classes,
    )
    assert checked.prevalence is not None
    assert checked.classes is not None
    return BagTraining(pool, checked, checked.prevalence, None), checked.classes
