"""Methods of other packages as quantifiers, with stand-ins that keep to their interfaces."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.interop import ForeignQuantifier, QuaPyQuantifier, from_quapy, from_qunfold
from headcount.testing.cases import labelled, pool, samples


class Nearest:
    """Share of the items nearest to the mean of each class, with the interface of qunfold.

    `fit(X, y, n_classes=None)` takes positions of classes, `predict(X)` one sample.
    """

    def __init__(self, shift=0.0, fails=False):
        self.shift = shift
        self.fails = fails

    def get_params(self, deep=True):
        return {"shift": self.shift, "fails": self.fails}

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, X, y, n_classes=None):
        if self.fails:
            raise RuntimeError("no\nsolution")
        self.means = np.array([X[y == j].mean(axis=0) + self.shift for j in np.unique(y)])
        self.jitter = np.random.random()  # noqa: NPY002
        return self

    def predict(self, X):
        nearest = ((X[:, None] - self.means) ** 2).sum(axis=2).argmin(axis=1)
        return np.bincount(nearest, minlength=len(self.means)) / len(X)


NAMES = np.array(["x", "y", "z"])


def test_results_are_those_of_the_method():
    X, y = labelled(3)
    quantifier = from_qunfold(Nearest()).fit(X, NAMES[y])
    direct = Nearest().fit(X, y)
    np.testing.assert_array_equal(quantifier.classes_, NAMES)
    np.testing.assert_allclose(quantifier.prior_, np.bincount(y) / len(y))
    expected = [direct.predict(pool(3)[index]) for index in samples()]
    np.testing.assert_array_equal(quantifier.predict_many(pool(3), samples()), expected)
    np.testing.assert_array_equal(quantifier.predict(pool(3)), direct.predict(pool(3)))


def test_the_method_is_copied():
    method = Nearest()
    from_qunfold(method).fit(*labelled(2))
    assert not hasattr(method, "means")


def test_it_works_in_evaluate_search_and_one_vs_rest():
    X, y = labelled(3)
    quantifier = from_qunfold(Nearest())
    result = hc.evaluate(
        {"nearest": clone_of(quantifier).fit(X, y), "CC": hc.CC().fit(X, y)},
        *(pool(3), y[:120]),
        hc.UPP(n_samples=10, size=20, random_state=0),
        progress=False,
    )
    assert set(result.methods) == {"nearest", "CC"}
    search = hc.GridSearch(
        quantifier, {"method__shift": [0.0, 9.0]}, random_state=0, progress=False
    )
    assert search.fit(X, y).best_params_ == {"method__shift": 0.0}
    assert quantifier.method.shift == 0.0
    assert hc.OneVsRest(quantifier).fit(X, y).predict(pool(3)).shape == (3,)


def clone_of(quantifier):
    from sklearn.base import clone

    return clone(quantifier)


def test_random_state_sets_and_restores_the_global_one():
    X, y = labelled(2)
    np.random.seed(7)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    first, second = (
        from_qunfold(Nearest(), random_state=3).fit(X, y).fitted_.model.method.jitter
        for _ in range(2)
    )
    assert first == second == np.random.RandomState(3).random_sample()
    assert np.random.random() == expected  # noqa: NPY002
    other = from_qunfold(Nearest(), random_state=np.random.default_rng(1)).fit(X, y)
    assert other.fitted_.model.method.jitter != first


def test_errors_name_the_method():
    X, y = labelled(2)
    quantifier = from_qunfold(Nearest(fails=True))
    message = r"^Nearest of .* cannot be fitted \(RuntimeError: no solution\)\.$"
    with pytest.raises(HeadcountError, match=message):
        quantifier.fit(X, y)
    with pytest.raises(
        HeadcountError, match=r"^sample_weight was given, but Nearest takes none"
    ):
        from_qunfold(Nearest()).fit(X, y, np.ones(len(y)))
    fitted = from_qunfold(Nearest()).fit(X, y)
    with pytest.raises(HeadcountError, match=r"^Nearest of .* cannot be used \(ValueError"):
        fitted.predict(pool(2)[:, :2])
    with pytest.raises(HeadcountError, match=r"^Nearest .* has no estimates with intervals"):
        fitted.estimate(pool(2))
    with pytest.raises(HeadcountError, match="pass the items themselves"):
        from_qunfold(Nearest()).fit(hc.Scored(np.full((180, 2), 0.5)), y)


class Odd(Nearest):
    def predict(self, X):
        return [np.nan, 1.0]


def test_results_that_are_no_shares():
    with pytest.raises(HeadcountError, match=r"^Odd returned \[nan, 1.0\] for 2 classes"):
        from_qunfold(Odd()).fit(*labelled(2)).predict(pool(2))
    with pytest.raises(HeadcountError, match="for 3 classes: it must return one finite share"):
        from_qunfold(Odd()).fit(*labelled(3)).predict(pool(3))


@pytest.mark.parametrize("bad", [3, None, Nearest])
def test_no_method(bad):
    with pytest.raises(HeadcountError, match=r"^method is .*must be a quantifier with fit\(\)"):
        ForeignQuantifier(bad).fit(*labelled(2))


def test_without_quapy(monkeypatch):
    monkeypatch.setitem(sys.modules, "quapy", None)
    for module in ("quapy.data", "quapy.protocol", "quapy.method.base"):
        monkeypatch.setitem(sys.modules, module, None)
    message = re.escape("install it with pip install quapy.")
    for call in (
        lambda: from_quapy(Nearest()),
        lambda: hc.interop.to_quapy(hc.SLD()),
        lambda: hc.interop.to_labelled_collection([[0.0]], [0]),
        lambda: hc.interop.from_labelled_collection(3),
        lambda: hc.interop.samples_from_quapy(3),
    ):
        with pytest.raises(HeadcountError, match=message):
            call()
    assert not hc.interop.is_quapy(Nearest()) if "quapy" not in sys.modules else True


def test_only_quantifiers_of_quapy():
    with pytest.raises(HeadcountError, match=r"^method is .*must be a quantifier of QuaPy"):
        QuaPyQuantifier(Nearest()).fit(*labelled(2))


def test_importing_the_bridge_imports_no_other_package():
    import subprocess

    script = "import sys, headcount.interop; print({'quapy', 'qunfold'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
