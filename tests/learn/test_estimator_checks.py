from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from headcount.learn.multivariate_svc import MultivariateSVC
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.learn.trees import QuantificationForestClassifier, QuantificationTreeClassifier


@parametrize_with_checks(
    [
        *(MultivariateSVC(loss) for loss in ("q", "ae", "error")),
        MultivariateSVC(kernel="rbf", n_components=20, random_state=0),
        ProportionWeightedKNN(),
        QuantificationTreeClassifier(random_state=0),
        QuantificationForestClassifier(10, random_state=0),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
