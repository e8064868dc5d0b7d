"""Statistics of items give the answers that the items give, or are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount.estimates.statistics.statistics import Statistics
from headcount.items.arrays import Scored
from tests.conformance.cases import each_scored_case, scored_pool

# Methods that need all items of a sample at once.
NOT_REDUCED = {"CDE", "ELSA", "LEIP", "MS", "MS2", "QUANTy", "SORD"}
COMPOSED = {"Ensemble", "FrankHall", "Mean", "Median", "OneVsOne", "OneVsRest", "QuaDapt"}


@each_scored_case
def test_answers_are_those_to_the_items(case):
    quantifier, scores = case.fitted_on_scores, Scored(scored_pool(case.n_classes))
    groups = np.arange(len(scores)) % 3
    rows = [np.flatnonzero(groups == group) for group in range(3)]
    expected = quantifier.predict_many(scores, rows)
    if case.wrapped or case.name in NOT_REDUCED | COMPOSED:
        name = quantifier.fitted_.method
        with pytest.raises(HeadcountError, match=f"{name} .* cannot be reduced to statistics"):
            Statistics(quantifier).update(scores, groups)
        return
    statistics = Statistics(quantifier).update(scores, groups)
    found = quantifier.estimate_statistics(statistics, replicates=100, random_state=0)
    error = 1e-7 if found.raw_error is None else found.raw_error + 1e-8
    stops_early = quantifier.get_params().get("stop") == "noise"
    step = 0.07 * (1 / 30 + 1 / 100) if stops_early else 0.0
    assert (np.abs(found.raw - expected) <= error + step).all()
    part = Statistics(quantifier).update(scores.take(rows[1]), groups[rows[1]])
    rest = np.concatenate([rows[2], rows[0]])
    part.merge(Statistics(quantifier).update(scores.take(rest), groups[rest]))
    assert part.to_bytes() == statistics.to_bytes()


def test_missing_training_scores_are_reported():
    import headcount as hc

    q = hc.SLD(calibration=None, cv=None).fit(np.arange(20.0).reshape(-1, 1), [0, 1] * 10)
    with pytest.raises(HeadcountError, match="set cv=5"):
        Statistics(q).update(np.zeros((3, 1)))
