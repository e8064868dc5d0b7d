"""How a fitted quantifier tells how sure its estimates are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.representation import Training
from headcount.sampling import Samples, as_samples
from headcount.scores import ScoredPool, check_scores

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import Estimate

__all__ = ["Evidence", "estimate_samples", "evidence_of_items", "evidence_of_scores"]

Evidence = tuple[Training, NDArray[np.float64]]
"""Training items by their posteriors, and the posteriors of a pool made in the same way."""

_OPTIONS = ("target", "replicates", "training_replicates")


def evidence_of_items(quantifier: Quantifier, X: Any) -> Evidence | None:
    """What the assumption is tested on; None if the quantifier keeps no out-of-fold scores."""
    scorer = quantifier.scorer_
    if not hasattr(scorer, "posteriors_by_folds") or not hasattr(scorer, "posteriors_"):
        return None
    K = len(scorer.classes_)
    training = Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)
    return training, scorer.posteriors_by_folds(X.X if isinstance(X, ScoredPool) else X)


def evidence_of_scores(quantifier: Quantifier, scores: Any) -> Evidence | None:
    """The same for a pool that was scored elsewhere, as the training items were."""
    training = quantifier._answering()._training
    K = len(quantifier.classes_)
    if quantifier.scorer_ is not None or training is None or training.items is None:
        return None
    if training.items.shape[1:] != (K,) or training.items.dtype.kind != "f":
        return None  # predicted classes alone cannot tell
    return training, check_scores(scores, K)


def estimate_samples(
    quantifier: Quantifier,
    items: Any,
    samples: Any,
    evidence: Evidence | None,
    random_state: Any,
    options: dict[str, Any],
) -> list[Estimate]:
    """Estimates for samples of items that the quantifier has scored; None for all of them.

    ``options`` are those of `headcount.uncertainty.make_estimates` that users have.
    """
    # Imported here, as predictions do not need it.
    from headcount.uncertainty import Problem, make_estimates

    _check_options(options)
    n_items = count_rows(items)
    drawn = Samples.whole(n_items) if samples is None else as_samples(samples, n_items)
    answering = quantifier._answering()
    if random_state is None:
        own = getattr(answering, "random_state", None)
        random_state = own if isinstance(own, int) else None
    problem = Problem(
        answering.model_,
        None if _trains_itself(answering) else answering._training,
        answering.info.shift,
        items,
        drawn,
        quantifier._solve(items, drawn).prevalence,
    )
    estimates = make_estimates(
        problem,
        method=type(answering).__name__,
        classes=quantifier.classes_,
        random_state=random_state,
        **options,
    )
    return _examined(estimates, evidence, drawn, answering.info.shift)


def _examined(
    estimates: list[Estimate], evidence: Evidence | None, samples: Samples, shift: str
) -> list[Estimate]:
    """The estimates with the test of their assumption, and what else should be said."""
    from headcount.diagnose import Diagnosis, Diagnostics, assumption_warnings

    classes = estimates[0].classes.tolist()
    if evidence is None:
        found = [
            Diagnosis(None, assumption_warnings(e.shares, classes, n=e.n_items, shift=shift))
            for e in estimates
        ]
    else:
        training, posteriors = evidence
        shares = np.stack([e.shares for e in estimates])
        diagnostics = Diagnostics.learn(training, classes)
        found = diagnostics.examine(posteriors, samples, shares, shift=shift)
    return [
        replace(e, fit_test=each.fit_test, warnings=(*e.warnings, *each.warnings))
        for e, each in zip(estimates, found, strict=True)
    ]


def _trains_itself(quantifier: Any) -> bool:
    """Whether the model trains a learner, which has seen the training items then.

    Samples must not be drawn from these, and to train it hundreds of times takes too long.
    """
    inside = getattr(quantifier, "quantifier", None)
    if hasattr(inside, "info"):
        return _trains_itself(inside)
    return bool(quantifier.info.family == "learner")


def _check_options(options: dict[str, Any]) -> None:
    for name in options:
        if name not in _OPTIONS:
            raise HeadcountError(
                f"estimate has no option {name!r}: there are random_state, "
                f"{', '.join(_OPTIONS)}."
            )
