"""Checks that items in another form, or scored elsewhere, give the same results."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from headcount._support.arrays import Array
from headcount._support.frames import pl
from headcount.items.arrays import Scored
from headcount.quantifiers.base import ScoringPlan
from headcount.scores.scorer import Scorer
from headcount.testing.cases import (
    Case,
    close,
    equal,
    expect,
    labelled,
    refuses,
    samples,
    scored_pool,
)

_COLUMNS = ["x", "y", "z"]
# A table and a column as another library has them.
Form = tuple[Callable[[Array], Any], Callable[[Array], Any]]


def forms_of_tables() -> list[Form]:
    """Lists, Polars and, if it is installed, pandas."""
    forms: list[Form] = [
        (lambda table: table.tolist(), lambda column: column.tolist()),
        (lambda table: pl.DataFrame(table, schema=_COLUMNS[: table.shape[1]]), pl.Series),
    ]
    if find_spec("pandas") is not None:
        import pandas as pd

        forms.append(
            (lambda table: pd.DataFrame(table, columns=_COLUMNS[: table.shape[1]]), pd.Series)
        )
    return forms


def check_frames(case: Case) -> None:
    """Items may be lists, and frames of Polars and pandas."""
    X, y = labelled(case.n_classes)
    for table, column in forms_of_tables():
        quantifier = case.make().fit(table(X), column(y))
        close(quantifier.predict_many(table(case.new), samples()), case.expected, 1e-8)


def check_frames_of_scores(case: Case) -> None:
    """Scores may be lists, and frames of Polars and pandas."""
    scores, y = case.require_scores()
    new = scored_pool(case.n_classes)
    expected = case.fitted_on_scores.predict_many(Scored(new), samples())
    for table, column in forms_of_tables():
        quantifier = case.make().fit(Scored(table(scores)), column(y))
        equal(quantifier.predict_many(Scored(table(new)), samples()), expected)


def check_vector_of_scores(case: Case) -> None:
    """Scores of two classes may be a vector, those of more may not."""
    scores, y = case.require_scores()
    if case.n_classes > 2:
        refuses(
            "posteriors has 2 columns, but there are 3 classes",
            lambda: case.make().fit(Scored(scores[:, 1]), y),
        )
        return
    new = scored_pool(case.n_classes)
    shares = case.make().fit(Scored(scores[:, 1]), y).predict(Scored(new[:, 1]))
    # One minus the second column is the first one up to rounding.
    close(shares, case.fitted_on_scores.predict(Scored(new)), 1e-9)


def check_sparse_items(case: Case) -> None:
    """Items may be sparse, unless ``info.sparse`` is False."""
    X, y = labelled(case.n_classes)
    X, new = np.maximum(X, 0), np.maximum(case.new, 0)
    dense = case.make(MultinomialNB()).fit(X, y)
    if not case.info.sparse:
        refuses(r"^X is sparse, but .* dense", lambda: case.make().fit(sparse.csr_array(X), y))
        return
    thin = case.make(MultinomialNB()).fit(sparse.csr_array(X), y)
    if case.brings_learner:
        # Machines are trained to a tolerance: sums in another order end elsewhere within it.
        close(thin.predict(sparse.coo_array(new)), dense.predict(new), 0.1)
        return
    shares = thin.predict_many(sparse.csc_matrix(new), samples())
    close(shares, dense.predict_many(new, samples()), 1e-8)
    close(thin.predict(sparse.coo_array(new)), dense.predict(new), 1e-8)


def check_shared_scorer(case: Case) -> None:
    """`fit_scorer` equals `fit`, and fitting the scorer again changes nothing."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    scorer = Scorer(case.classifier, random_state=0).fit(X, y)
    quantifier = case.make()
    expect(quantifier.fit_scorer(scorer) is quantifier, "fit_scorer returns another object")
    used_scorer: Any = quantifier.fitted_.scorer
    expect(used_scorer.classifier_ is scorer.classifier_, "the classifier is not the given one")
    before = case.shares(quantifier)
    if not case.trains_several:
        equal(before, case.expected)
    scorer.fit(X[:, ::-1], y)
    equal(case.shares(quantifier), before)


def check_frozen_classifier(case: Case) -> None:
    """A frozen classifier is the same as its scores."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    classifier = GaussianNB().fit(X[:90], y[:90])
    frozen = case.make(FrozenEstimator(classifier)).fit(X[90:], y[90:])
    by_scores = case.make().fit(Scored(classifier.predict_proba(X[90:])), y[90:])
    equal(
        case.shares(frozen),
        by_scores.predict_many(Scored(classifier.predict_proba(case.new)), samples()),
    )


def check_scores_after_items(case: Case) -> None:
    """Fitted on items, a quantifier takes scores of its own classifier."""
    case.require_scores()
    quantifier, new = case.fitted, case.new
    if case.trains_several:
        refuses("fitted with several classifiers", lambda: quantifier.predict(case.new_scores))
        return
    scorer: Any = quantifier.fitted_.scorer
    drawn_samples = samples()
    shares = quantifier.predict_many(scorer.score(new, predictions=True), drawn_samples)
    expected = case.shares(quantifier)
    members: Any = vars(quantifier).get("members_", ())
    if case.simulates and len({member.info.scoring for member in members}) > 1:
        # Some of its methods take scores by the classifier, the others those by folds.
        difference = np.abs(shares - expected)[drawn_samples.n_items > 30].max()
        expect(difference < 0.1, f"shares differ by {difference:.3f}")
        return
    # Sums of the scores of several folds are added up in another order.
    close(shares, expected, 1e-9)


def check_repeated_scores(case: Case) -> None:
    """An item that was scored several times is one item."""
    case.require_scores()
    quantifier, scores = case.fitted_on_scores, scored_pool(case.n_classes)
    shares = quantifier.predict_many(Scored(np.tile(scores, (3, 1))), samples().over(360))
    close(shares, quantifier.predict_many(Scored(scores), samples()), 1e-8)


def check_labels_are_enough(case: Case) -> None:
    """A classifier without posteriors is enough for methods that count labels."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    new, quantifier = case.new, case.make(_OnlyLabels())
    if ScoringPlan(quantifier).takes == "labels":
        same = case.make(GaussianNB()).fit(X, y).predict_many(new, samples())
        equal(quantifier.fit(X, y).predict_many(new, samples()), same)
    else:
        refuses(
            "OnlyLabels has neither predict_proba", lambda: quantifier.fit(X, y).predict(new)
        )


class _OnlyLabels(ClassifierMixin, BaseEstimator):
    """Naive Bayes that keeps its posteriors to itself."""

    def fit(self, X: Any, y: Any) -> Self:
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


def check_scorer_without_folds(case: Case) -> None:
    """A scorer without out-of-fold scores is enough for methods that only count."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    scorer = Scorer(case.classifier).fit(X, y, out_of_fold=False)
    quantifier = case.make()
    if ScoringPlan(quantifier).learns:
        refuses("was not made", lambda: quantifier.fit_scorer(scorer))
    else:
        fitted = quantifier.fit_scorer(scorer)
        equal(case.shares(fitted), case.expected)
