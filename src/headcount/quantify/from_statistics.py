"""Estimates from statistics of items that were read elsewhere, or are too many for memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from headcount._parameters import check_choice
from headcount.errors import HeadcountError
from headcount.quantify.estimation import conditioning
from headcount.quantify.group_estimates import Answers, Evidence, GroupEstimates
from headcount.quantify.statistics_parts import (
    EvidenceItems,
    Form,
    GroupStatistics,
    NeedsStatistics,
    Part,
    solved,
)
from headcount.representation import Reduced, Training

if TYPE_CHECKING:
    from headcount.diagnose import Diagnostics
    from headcount.quantify.aggregation import Model
    from headcount.quantify.base import Quantifier

__all__ = ["FromStatistics"]

Floats = NDArray[np.float64]


class FromStatistics(NeedsStatistics):
    """Estimates from statistics, for every quantifier whose model can be reduced."""

    def statistics_parts(self: Any, form: Form) -> list[Part]:
        """Statistics that estimates need, for items of a form.

        Parameters
        ----------
        form : {"items", "scored", "verdicts"}
            Form of the items: items or scores by all folds, scores by one classifier, or
            decisions.

        Returns
        -------
        list of Part
        """
        needs = _Needs.of(self, form)
        return [*needs.answers, *needs.raw, *needs.evidence]

    @property
    def is_reducible(self: Any) -> bool:
        """True if the fitted method can be reduced to statistics."""
        answering: Quantifier = self.answering_
        return answering.model_.reduction() is not None

    def evidence_training(self: Any, form: Form) -> Training | None:
        """Posteriors of the training items, made like those of new items of a form.

        Parameters
        ----------
        form : {"items", "scored", "verdicts"}
            Form of the items.

        Returns
        -------
        Training or None
            None if there are none.
        """
        scorer = self.scorer_
        if isinstance(scorer, tuple) or form == "verdicts":
            return None
        if scorer is None:
            training: Training | None = self.answering_._training_posteriors()
            return training
        if not scorer.has_posteriors_ or form != "items":
            return None
        K = len(scorer.classes_)
        return Training(scorer.posteriors_, scorer.codes_, K, scorer.weights_)

    def estimate_statistics(
        self: Any,
        statistics: GroupStatistics,
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> GroupEstimates:
        """Estimate the shares in groups of items from their statistics, with intervals.

        Parameters
        ----------
        statistics : Statistics
            Statistics of the items, made with this quantifier.
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        GroupEstimates
            Estimates by the name of the group, computed when they are read.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(1000, class_sep=2, random_state=0)
        >>> q = hc.SLD(random_state=0).fit(X[:500], y[:500])
        >>> months = ["January"] * 300 + ["February"] * 200
        >>> statistics = hc.Statistics(q).update(X[500:], groups=months)
        >>> estimates = q.estimate_statistics(statistics)
        >>> list(estimates)
        ['February', 'January']
        >>> estimates["January"].n_items
        300
        """
        check_is_fitted(self, "model_")
        check_choice("target", target, ("realised", "expected"))
        answering: Quantifier = self.answering_
        needs = _Needs.of(self, statistics.form)
        shares = conditioning(answering, needs.model, prior, replicates, random_state)
        answers = Answers(*solved(_shares_of(needs.model), statistics, needs.answers))
        own = None
        # The answers of methods that are combined are the means given those of the methods.
        if shares is not answering._known_conditioning():
            own = Answers(*solved(_shares_of(answering.model_), statistics, needs.raw))
        effective = statistics.effective_sizes([*needs.answers, *needs.raw])
        evidence = None
        if needs.diagnostics is not None:
            everything = slice(0, len(effective))
            seen, outside = statistics.reduced(needs.evidence, everything)
            evidence = Evidence(needs.diagnostics, np.asarray(seen), np.asarray(outside))
        return GroupEstimates(
            type(answering).__name__,
            self.classes_,
            tuple(statistics.groups),
            statistics.sizes,
            target,
            shares,
            answers,
            own,
            effective,
            evidence,
        )

    def estimate_cells(self: Any, frame: Any, *, by: str | None = None, **options: Any) -> Any:
        """Estimate the shares of two classes from scores that a database has counted.

        Parameters
        ----------
        frame : frame of pandas, polars or pyarrow
            Result of the query of ``headcount statistics sql``: one row per group and cell, with the
            columns cell, items and total.
        by : str, default=None
            Column of the groups; by default the only other one.
        **options
            Options of `estimate_statistics`.

        Returns
        -------
        GroupEstimates

        Examples
        --------
        >>> import polars as pl
        >>> import headcount as hc
        >>> q = hc.PACC().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
        >>> cells = pl.DataFrame({"cell": [464, 559], "items": [60, 40], "total": [12.0, 32.0]})
        >>> q.estimate_cells(cells).raw.round(2)
        array([[0.63, 0.37]])
        """
        from headcount.quantify.warehouse_cells import CountedScores

        check_is_fitted(self, "model_")
        if len(self.classes_) != 2:
            raise HeadcountError(
                f"Cells hold the scores of two classes, and the quantifier has "
                f"{len(self.classes_)}: use Statistics.update_stream instead."
            )
        return self.estimate_statistics(CountedScores.of(frame, by), **options)


@dataclass(frozen=True, eq=False)
class _Needs:
    """Parts that the estimates of a quantifier need."""

    model: Model
    answers: list[Part]
    raw: list[Part]
    evidence: list[Part]
    diagnostics: Diagnostics | None

    @classmethod
    def of(cls, quantifier: Any, form: Form) -> _Needs:
        check_is_fitted(quantifier, "model_")
        answering: Quantifier = quantifier.answering_
        model = answering.model_.cross_fitted(answering._simulation_items())
        answers = _parts(answering, model, answering.scores_by_folds)
        raw = _parts(answering, answering.model_, answering.predicts_by_folds)
        training = quantifier.evidence_training(form)
        if training is None:
            return cls(model, answers, raw, [], None)
        # Imported here, as predictions do not need it.
        from headcount.diagnose import Diagnostics

        diagnostics = Diagnostics.learn(training, quantifier.classes_.tolist())
        source = EvidenceItems(quantifier, quantifier.scorer_ is not None)
        evidence = [Part(source, each) for each in diagnostics.reduction]
        return cls(model, answers, raw, evidence, diagnostics)


def _parts(quantifier: Quantifier, model: Model, by_folds: bool) -> list[Part]:
    reductions = model.reduction()
    if reductions is None:
        raise HeadcountError(
            f"{type(quantifier).__name__} needs all items of a sample at once, so that it "
            "cannot be reduced to statistics: use another method, such as SLD, PACC or DyS."
        )
    sources = quantifier.statistics_sources(by_folds)
    return [Part(*pair) for pair in zip(sources, reductions, strict=True)]


def _shares_of(model: Model) -> Callable[[Reduced, NDArray[np.int64]], Floats]:
    return lambda reduced, sizes: model.solve_reduced(reduced, sizes).prevalence
