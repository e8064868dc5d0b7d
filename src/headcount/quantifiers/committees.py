"""Several fitted methods whose answers are combined: means and medians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from headcount import metrics
from headcount._support.arrays import Array, Floats, divided_by_sums
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_choice, check_number
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts, as_numbers, count_rows
from headcount.parts.aggregation import Aggregation, Model
from headcount.parts.fitted import Fitted, ItemSource, MemberItems, MethodInfo
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.quantifiers.adjusted import GPAC
from headcount.quantifiers.base import Quantifier, is_simple, labelled_items, seeded
from headcount.quantifiers.kernels import KDEyML
from headcount.quantifiers.likelihood import SLD
from headcount.quantifiers.matching import DyS, EDy
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.samples.protocols import UPP, draw_samples
from headcount.samples.samples import Samples

MemberInput = Literal["shared", "posteriors", "own", "folds"]
"""Items of members: shared by all; made of shared posteriors; scored by each member's own
classifier; scored by the classifiers of each member's folds."""

_RULES = ("ae", "rae")
_TRIAL_SAMPLES = 200
_TRIAL_ITEMS = 500
_SMALLEST_ERROR = 1e-9
# Weights are sums of rounded numbers: cumulative weights this close to a half count as a half.
_HALF_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Committee(Model):
    """Fitted quantifiers and a rule that combines their estimates."""

    members: Sequence[Fitted]
    input: MemberInput
    combine: str
    weights: Floats

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return self._combined(
            lambda i: member_items(self.members[i], items, self.input), samples
        )

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares in samples of the training items, of which there is one form per member."""
        scores: Any = training.items
        return self._combined(lambda i: scores[i], samples)

    def cross_fitted(self, training: Training) -> Committee:
        """Members that score new items as the training items were scored."""
        return replace(self, input="folds") if self.input == "own" else self

    def _combined(self, items_of: Callable[[int], Any], samples: Samples) -> Solution:
        places = np.flatnonzero(self.weights > 0)
        solutions = []
        for i in places.tolist():
            items = items_of(i)
            copies = samples.over(count_rows(items))
            solutions.append(self.members[i].model.solve(items, copies))
        weights = np.repeat(self.weights[places][:, None], len(samples), axis=1)
        return combined(solutions, weights, self.combine)


def member_items(member: Fitted, items: Any, form: MemberInput) -> Any:
    """Items in the form that a member takes."""
    if form == "posteriors":
        return items_of_posteriors(member.source, items)
    if form == "own":
        return member.source.items(items, by_folds=member.by_folds)
    if form == "folds":
        return member.source.items(items, by_folds=member.scorer.n_folds_ > 0)
    return items


def items_of_posteriors(source: ItemSource, posteriors: Floats) -> Any:
    """Posteriors, or the classes with the largest, as a method takes them."""
    takes_labels = source.takes == "labels"
    return source.arranged(posteriors.argmax(axis=1) if takes_labels else posteriors)


def combined(solutions: Sequence[Solution], weights: Floats, rule: str) -> Solution:
    """Combine the estimates of M members for each of S samples, by "mean" or "median"."""
    shares = [solution.prevalence for solution in solutions]
    combine = _mean if rule == "mean" else _median
    return Solution.combined(combine(shares, weights), solutions)


def _mean(shares: Sequence[Floats], weights: Floats) -> Floats:
    # Member by member: the last bit of numpy's own sums depends on the number of samples.
    sums = np.zeros_like(shares[0])
    total = np.zeros(len(sums))
    for prevalence, weight in zip(shares, weights, strict=True):
        sums += weight[:, None] * prevalence
        total += weight
    return np.asarray(sums / total[:, None], dtype=np.float64)


def _median(shares: Sequence[Floats], weights: Floats) -> Floats:
    """Weighted medians of each class, divided by their sum; the mean if all are zero."""
    values = np.stack(shares)
    order = np.argsort(values, axis=0, kind="stable")
    values = np.take_along_axis(values, order, axis=0)
    mass = np.take_along_axis(np.broadcast_to(weights[:, :, None], order.shape), order, axis=0)
    below = np.cumsum(mass, axis=0)
    below /= below[-1]
    # Where the weight up to a value is exactly a half, the median lies between it and the next.
    lower = np.argmax(below >= 0.5 - _HALF_TOLERANCE, axis=0)
    upper = np.argmax(below > 0.5 + _HALF_TOLERANCE, axis=0)
    middle = sum(np.take_along_axis(values, at[None], axis=0)[0] for at in (lower, upper)) / 2
    return divided_by_sums(middle, _mean(shares, weights))


@dataclass(frozen=True, eq=False)
class Weighting:
    """Rule for the weights of members."""

    given: Floats
    metric: str
    keep: float
    protocol: Any

    @classmethod
    def checked(cls, weights: Any, keep: Any, protocol: Any, n_members: int) -> Weighting:
        """Check the parameters of a quantifier with members."""
        metric = check_choice("weights", weights, _RULES) if isinstance(weights, str) else ""
        keep = check_keep(keep)
        if keep < 1 and not metric:
            raise HeadcountError(
                f"keep is {keep!r}, but without errors no member is best: set weights to 'ae' "
                "or 'rae', or keep to 1."
            )
        draws = hasattr(protocol, "draw") and not isinstance(protocol, type)
        if protocol is not None and not draws:
            raise HeadcountError(
                f"protocol is {protocol!r}; it must be one that draws samples: pass for "
                "instance UPP(n_samples=200, size=500)."
            )
        checked_weights = np.ones(n_members) if metric else _checked_weights(weights, n_members)
        return cls(checked_weights, metric, keep, protocol)

    def weights(
        self, members: Sequence[Fitted], items: Sequence[Any], training: Training, seed: int
    ) -> Floats:
        """Weights of fitted members with a sum of 1, from training items as each takes them."""
        weights = self.given
        if self.metric:
            trials = self._trials(training, seed)
            errors = [
                mean_error(member, scores, trials, self.metric)
                for member, scores in zip(members, items, strict=True)
            ]
            weights = 1 / np.maximum(errors, _SMALLEST_ERROR)
            ranked = np.argsort(errors, kind="stable")
            weights[ranked[number_kept(self.keep, len(ranked)) :]] = 0
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def _trials(self, training: Training, seed: int) -> Samples:
        """Samples of the training items that errors are measured on."""
        protocol = self.protocol
        if protocol is None:
            size = min(_TRIAL_ITEMS, len(training.codes))
            protocol = UPP(n_samples=_TRIAL_SAMPLES, size=size, random_state=seed)
        return draw_samples(protocol, training.codes, np.arange(training.n_classes))


def _checked_weights(weights: Any, n_members: int) -> Floats:
    if weights is None:
        return np.ones(n_members)
    numbers = as_numbers(weights, "weights")
    fine = numbers.shape == (n_members,) and np.isfinite(numbers).all() and (numbers >= 0).all()
    if not fine or not numbers.sum() > 0:
        raise HeadcountError(
            f"weights is {weights!r}; it must be None, 'ae', 'rae', or one number of at least "
            f"0 for each of the {n_members} members, not all 0."
        )
    return numbers


def mean_error(member: Fitted, items: Any, samples: Samples, metric: str) -> float:
    """Mean error of a fitted member on samples whose shares are known."""
    measure = metrics.by_name(metric)
    smoothing = {"size": samples.sizes} if metric in metrics.SMOOTHED else {}
    estimated = member.model.solve(items, samples).prevalence
    assert samples.prevalence is not None
    return float(np.mean(measure(samples.prevalence, estimated, **smoothing)))


def check_keep(keep: Any) -> float:
    """A share of the members, above 0."""
    allowed = "a share of the members above 0 and up to 1, such as 0.5"
    return check_number("keep", keep, lambda x: 0 < x <= 1, allowed)


def number_kept(keep: float, n_members: int) -> int:
    """Number of members that a share of them is; at least one."""
    return max(1, round(keep * n_members))


def check_jobs(n_jobs: Any) -> int | None:
    """Number of processes to train in, as joblib takes it."""
    is_integer = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not is_integer or n_jobs == 0):
        raise HeadcountError(
            f"n_jobs is {n_jobs!r}; it must be None, or a whole number other than 0: -1 trains "
            "on all cores."
        )
    return None if n_jobs is None else int(n_jobs)


@dataclass(eq=False, repr=False)
class Median(Quantifier):
    """Median of the shares over several classifiers, each with a quantifier (MC-SQ).

    Every classifier is trained and cross-fitted separately, and a quantifier is fitted on its
    scores. The (weighted) median is taken for each class and divided by the sum over the
    classes. If all medians are zero, the mean is returned.

    Parameters
    ----------
    quantifier : Quantifier or sequence of Quantifier, default=None
        Quantifier to fit on the scores: one for all classifiers, or one for each, such as
        `DyS` with different bins. Their own classifiers are replaced. `DyS` by default,
        inside `OneVsRest` if there are more than two classes.
    classifiers : sequence of scikit-learn classifiers, default=None
        By default logistic regression and a linear support vector machine (both on
        standardised features), linear discriminant analysis, gradient boosting and a
        random forest: for dense features, and without sample weights, which discriminant
        analysis does not take.
    weights : {"ae", "rae"}, sequence of float or None, default=None
        Weights of the classifiers: equal, as given, or the inverse of their mean error on
        samples of the training items, scored out-of-fold.
    keep : float, default=1.0
        With ``weights`` "ae" or "rae", the share of the classifiers to keep: those with the
        smallest errors.
    protocol : protocol or None, default=None
        Draws the samples that errors are measured on; by default `UPP`, 200 samples of 500
        items, or of as many as there are.
    n_jobs : int or None, default=None
        Number of processes to train in; None is one, -1 as many as there are cores.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the samples, and of quantifiers and classifiers that have none.

    Attributes
    ----------
    members_ : list of Quantifier
        The fitted quantifiers, one per classifier.
    weights_ : ndarray of shape (M,)
        Their weights, with a sum of 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from headcount import DyS, Median
    >>> X, y = make_classification(400, random_state=0)
    >>> several = Median(DyS(bins=8), [LogisticRegression(), GaussianNB()], random_state=0)
    >>> several.fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="median over classifiers",
        family="ensemble",
        input="any",
        reference="Donyavi, Serapio & Batista, SDM 2023",
        inconsistency="trains classifiers, which score training and new items differently",
        no_scores="trains several classifiers, so the scores of one are not enough",
        aliases=("MC-SQ",),
    )

    quantifier: Quantifier | Sequence[Quantifier] | None = None
    classifiers: Sequence[Any] | None = None
    _: KW_ONLY
    weights: str | Sequence[float] | None = None
    keep: float = 1.0
    protocol: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def _scorer(self) -> None:
        return None

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        if isinstance(X, Scored | Verdicts):
            self._source(np.empty(0)).check_classified(X)
        # Missing numbers are left to the classifiers: some take them.
        training, classes = labelled_items(X, y, sample_weight, allow_nan=True, any_shape=True)
        member_seed, trial_seed = base_seeds(self.random_state, 2)
        # The same seed for all: they are cross-fitted on the same folds.
        unfitted = [seeded(member, member_seed) for member in self._pairs(len(classes))]
        n_jobs = check_jobs(self.n_jobs)
        weighting = Weighting.checked(self.weights, self.keep, self.protocol, len(unfitted))
        members = Parallel(n_jobs=n_jobs)(
            delayed(_trained)(member, training, classes, groups) for member in unfitted
        )
        fitted = [member.fitted_ for member in members]
        scores: Any = [member.training.items for member in fitted]
        weights = weighting.weights(fitted, scores, training, trial_seed)
        noisy = [member.noisy for member in fitted]
        source = MemberItems(
            method=type(self).__name__,
            takes=self._takes(),
            classes=classes,
            refusal=self._why_no_scores(),
            members=fitted,
        )
        self.members_, self.weights_ = members, weights
        return self._made(
            source,
            Committee(fitted, "own", "median", weights),
            training.prior,
            replace(training, items=scores),
            noisy=noisy if any(noisy) else False,
            tested=None,
        )

    def _pairs(self, n_classes: int) -> list[Quantifier]:
        """A quantifier for each classifier."""
        classifiers = _checked_classifiers(self.classifiers)
        quantifiers: Any = self.quantifier
        if quantifiers is None:
            quantifiers = DyS() if n_classes == 2 else OneVsRest(DyS())
        if not isinstance(quantifiers, list | tuple):
            quantifiers = [quantifiers] * len(classifiers)
        if len(quantifiers) != len(classifiers):
            raise HeadcountError(
                f"quantifier has {len(quantifiers)} entries, but there are {len(classifiers)} "
                "classifiers: pass one for each of them, or one for all."
            )
        return [_paired(*pair) for pair in zip(quantifiers, classifiers, strict=True)]


def _default_classifiers() -> Sequence[Any]:
    # Imported here, as few users need them all.
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    return (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), LinearSVC()),
        LinearDiscriminantAnalysis(),
        HistGradientBoostingClassifier(),
        RandomForestClassifier(),
    )


def _checked_classifiers(classifiers: Any) -> Sequence[Any]:
    if classifiers is None:
        return _default_classifiers()
    is_list = isinstance(classifiers, list | tuple) and len(classifiers) > 0
    for classifier in classifiers if is_list else ():
        needed = ("fit", "predict", "get_params")
        is_class = isinstance(classifier, type)
        is_list &= not is_class and all(hasattr(classifier, name) for name in needed)
    if not is_list:
        raise HeadcountError(
            f"classifiers is {classifiers!r}; it must be a list of scikit-learn classifiers, "
            "such as [LogisticRegression(), GaussianNB()]."
        )
    return classifiers


def _paired(quantifier: Any, classifier: Any) -> Quantifier:
    """A copy of the quantifier with this classifier."""
    if is_simple(quantifier) and quantifier._takes() != "features":
        parameters = quantifier.get_params()
        for place in ("classifier", "quantifier__classifier"):
            if place in parameters:
                return clone(quantifier).set_params(**{place: clone(classifier)})
    raise HeadcountError(
        f"quantifier is {quantifier!r}; it must be a quantifier on the scores of a classifier: "
        "pass for instance DyS(), or OneVsRest(DyS()) for more than two classes."
    )


def _trained(member: Quantifier, training: Training, classes: Array, groups: Any) -> Quantifier:
    return member.fit(training.items, classes[training.codes], training.weights, groups)


@documented(Quantifier, Median)
@dataclass(eq=False, repr=False)
class Mean(Quantifier):
    """Mean of the shares over several quantifiers on one classifier (SC-MQ).

    The classifier is trained and cross-fitted once, and a pool is scored once, for all of
    them. Methods that count predicted classes take the one with the largest posterior.

    Parameters
    ----------
    quantifiers : sequence of Quantifier, default=None
        Quantifiers to fit on the scores; their own classifiers are not used. By default
        `EDy`, `KDEyML`, `GPAC` and `SLD`. (The authors started the last one at the estimate
        of `GPAC`.)
    weights : {"ae", "rae"}, sequence of float or None, default=None
        Weights of the quantifiers: equal, as given, or the inverse of their mean error on
        samples of the training items, scored out-of-fold.
    keep : float, default=1.0
        With ``weights`` "ae" or "rae", the share of the quantifiers to keep: those with the
        smallest errors.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds, of the samples, and of quantifiers that have none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyML, Mean, SLD
    >>> X, y = load_iris(return_X_y=True)
    >>> mean = Mean([SLD(), KDEyML(bandwidth=0.05)], random_state=0)
    >>> mean.fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="mean over quantifiers",
        family="ensemble",
        reference="Donyavi, Li & Batista, LQ workshop at ECML-PKDD 2024",
        inconsistency="one of its quantifiers, KDEyML, is not consistent",
        depends_on_size=True,
        aliases=("SC-MQ",),
    )

    quantifiers: Sequence[Quantifier] | None = None
    classifier: Any = None
    _: KW_ONLY
    weights: str | Sequence[float] | None = None
    keep: float = 1.0
    protocol: Any = None
    cv: Any = 5
    random_state: Any = None

    def _checked_quantifiers(self) -> Sequence[Quantifier]:
        quantifiers: Any = self.quantifiers
        if quantifiers is None:
            return EDy(), KDEyML(), GPAC(), SLD()
        is_list = isinstance(quantifiers, list | tuple) and len(quantifiers) > 0
        if not is_list or not all(is_simple(quantifier) for quantifier in quantifiers):
            raise HeadcountError(
                f"quantifiers is {quantifiers!r}; it must be a list of quantifiers on the "
                "scores of one classifier, such as [SLD(), GPAC()]."
            )
        for quantifier in quantifiers:
            if quantifier._takes() == "features":
                raise HeadcountError(
                    f"quantifiers holds {type(quantifier).__name__}, which works on features: "
                    "only quantifiers on the scores of a classifier can share one."
                )
        return quantifiers

    def _learns_from_scores(self) -> bool:
        learn = [quantifier._learns_from_scores() for quantifier in self._checked_quantifiers()]
        return any(learn) or isinstance(self.weights, str)

    def _aggregation(self) -> Aggregation:
        quantifiers = self._checked_quantifiers()
        weighting = Weighting.checked(self.weights, self.keep, self.protocol, len(quantifiers))
        member_seed, trial_seed = base_seeds(self.random_state, 2)
        members = [seeded(quantifier, member_seed) for quantifier in quantifiers]
        return _MeanOfMembers(members, weighting, trial_seed)

    @property
    def weights_(self) -> Floats:
        """Weights of the quantifiers, with a sum of 1."""
        check_is_fitted(self, "fitted_")
        model: Any = self.fitted_.model
        return model.committee.weights


@dataclass(frozen=True, eq=False)
class _MeanOfMembers(Aggregation):
    """Mean of quantifiers on the same posteriors."""

    quantifiers: Sequence[Quantifier]
    weighting: Weighting
    seed: int
    committee: Committee | None = None

    def fit(self, training: Training) -> _MeanOfMembers:
        posteriors: Any = training.items
        classes = np.arange(training.n_classes)
        members, items = [], []
        for quantifier in self.quantifiers:
            source = quantifier._source(classes)
            scores = None if posteriors is None else items_of_posteriors(source, posteriors)
            members.append(quantifier._learnt(replace(training, items=scores), source))
            items.append(scores)
        weights = self.weighting.weights(members, items, training, self.seed)
        return replace(self, committee=Committee(members, "posteriors", "mean", weights))

    def solve(self, items: Array, samples: Samples) -> Solution:
        assert self.committee is not None
        return self.committee.solve(items, samples)
