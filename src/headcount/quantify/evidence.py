"""Evidence on the assumption of estimates: posteriors of training items and of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training
from headcount.sampling import Samples

if TYPE_CHECKING:
    from headcount.diagnose import Diagnosis
    from headcount.labels import LabelPlan
    from headcount.uncertainty import Estimate

__all__ = ["Evidence", "doubted", "examined"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Posteriors of training items and of a pool, made in the same way.

    Attributes
    ----------
    training : Training
        Training items by their posteriors.
    posteriors : ndarray of shape (n, K)
        Posteriors of the pool.
    """

    training: Training
    posteriors: NDArray[np.float64]

    def diagnoses(
        self, samples: Samples, shares: NDArray[np.float64], classes: Sequence[Any]
    ) -> list[Diagnosis]:
        """Test of the assumption of prior shift in samples of the pool, and warnings.

        Parameters
        ----------
        samples : Samples
            The samples.
        shares : ndarray of shape (S, K)
            Estimated shares of each.
        classes : sequence of length K
            The classes, for warnings.

        Returns
        -------
        list of Diagnosis
        """
        from headcount.diagnose import Diagnostics

        diagnostics = Diagnostics.learn(self.training, classes)
        return diagnostics.examine(self.posteriors, samples, shares, shift="prior")


def examined(
    estimates: list[Estimate], evidence: Evidence | None, samples: Samples
) -> list[Estimate]:
    """The estimates with the test of their assumption, and warnings."""
    from headcount.diagnose import Diagnosis, assumption_warnings

    classes = estimates[0].classes.tolist()
    if evidence is None:
        found = [
            Diagnosis(None, assumption_warnings(e.shares, classes, n=e.n_items, shift="prior"))
            for e in estimates
        ]
    else:
        found = evidence.diagnoses(samples, np.stack([e.shares for e in estimates]), classes)
    return [
        replace(e, fit_test=each.fit_test, warnings=(*e.warnings, *each.warnings))
        for e, each in zip(estimates, found, strict=True)
    ]


def doubted(
    plan: LabelPlan, evidence: Evidence | None, samples: Samples, shares: NDArray[np.float64]
) -> LabelPlan:
    """The plan, with a warning if the assumption behind its precision is broken."""
    from headcount.diagnose.diagnostics import BROKEN_LEVEL
    from headcount.diagnose.fit_test import format_p_value

    if evidence is None:
        return plan
    found = evidence.diagnoses(samples, shares, range(shares.shape[1]))
    tests = [each.fit_test for each in found if each.fit_test is not None]
    broken = [test for test in tests if test.p_value < BROKEN_LEVEL]
    if not broken:
        return plan
    worst = min(broken, key=lambda test: test.p_value)
    return plan.doubted(len(broken), format_p_value(worst))
