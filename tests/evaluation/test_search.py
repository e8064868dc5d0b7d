from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.evaluation.search import LabelledPool, make_splits
from headcount.samples import Protocol, Samples
from headcount.scores.scorer import Scorer

X, y = make_classification(400, n_informative=4, class_sep=0.7, random_state=0)
PROTOCOL = hc.APP(n_prevalences=5, repeats=4, size=50, random_state=0)
WEAK = {"classifier__var_smoothing": [1e-9, 100.0]}


class Counted(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


class Fragile(GaussianNB):
    def __init__(self, broken=False, var_smoothing=1e-9):
        super().__init__(var_smoothing=var_smoothing)
        self.broken = broken

    def fit(self, X, y, sample_weight=None):
        if self.broken:
            raise RuntimeError("out of order")
        return super().fit(X, y, sample_weight)


def search(quantifier, grid, **more):
    return hc.GridSearch(quantifier, grid, **({"protocol": PROTOCOL, "random_state": 0} | more))


def items():
    return LabelledPool(X, np.array([0, 1]), y.astype(np.int64), None)


def test_errors_are_those_of_fitting_each_setting_apart():
    found = search(hc.PACC(GaussianNB(), random_state=0), WEAK).fit(X, y)
    (split,) = make_splits(items(), PROTOCOL, 0.4, None, 0)
    assert not set(split.train) & set(split.test)
    assert len(split.test) == 160
    for setting, errors in zip(found.results_.settings, found.results_.errors, strict=True):
        alone = hc.PACC(GaussianNB(), random_state=0).set_params(**setting)
        alone.fit(X[split.train], y[split.train])
        estimated = alone.predict_many(X[split.test], split.samples)
        expected = hc.metrics.ae(split.samples.prevalence, estimated)
        np.testing.assert_allclose(errors, expected, atol=1e-12)
    means = [errors.mean() for errors in found.results_.errors]
    assert found.best_score_ == min(means)
    assert found.best_params_ == found.results_.settings[int(np.argmin(means))]


def test_the_best_setting_is_refitted_on_everything_and_answers():
    found = search(hc.PACC(GaussianNB(), random_state=0), WEAK).fit(X, y)
    again = hc.PACC(GaussianNB(), random_state=0).set_params(**found.best_params_).fit(X, y)
    samples = PROTOCOL.draw(y)
    np.testing.assert_array_equal(found.predict(X), again.predict(X))
    np.testing.assert_array_equal(
        found.predict_many(X, samples), again.predict_many(X, samples)
    )
    assert found.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(found.prior_, again.prior_)
    scored = found.fitted_.scorer.score(X)
    np.testing.assert_array_equal(found.predict(scored), again.predict(scored))


def test_a_classifier_is_trained_once_for_all_settings_that_agree_on_it():
    grid = {"bandwidth": list(np.linspace(0.05, 0.5, 20)), **WEAK}
    Counted.fits = 0
    search(hc.KDEyML(Counted(), cv=3, random_state=0), grid, refit=False).fit(X, y)
    assert Counted.fits == 2 * (3 + 1)  # not 20 times that
    Counted.fits = 0
    search(hc.KDEyML(Counted(), cv=3, random_state=0), grid, folds=2).fit(X, y)
    assert Counted.fits == 2 * 2 * (3 + 1) + (3 + 1)


def test_settings_that_need_no_folds_train_no_folds():
    Counted.fits = 0
    plain = hc.SLD(Counted(), calibration=None)
    search(plain, {"stop": ["converged", "classic"]}, refit=False).fit(X, y)
    assert Counted.fits == 1
    Counted.fits = 0
    grid = {"calibration": [None, "ts", "platt"]}
    search(hc.SLD(Counted(), cv=3), grid, refit=False).fit(X, y)
    assert Counted.fits == 4


def test_folds_of_the_quantifier_can_be_searched_too():
    Counted.fits = 0
    search(hc.PACC(Counted(), random_state=0), {"cv": [2, 4]}, refit=False).fit(X, y)
    assert Counted.fits == (2 + 1) + (4 + 1)


def test_results_do_not_depend_on_how_many_work_at_it():
    one = search(hc.PACC(GaussianNB(), random_state=0), WEAK).fit(X, y)
    two = search(hc.PACC(GaussianNB(), random_state=0), WEAK, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.results_.means, two.results_.means)


def test_a_setting_that_fails_is_recorded_and_the_search_goes_on():
    grid = {"classifier__broken": [True, False]}
    found = search(hc.PACC(Fragile(), random_state=0), grid).fit(X, y)
    assert found.best_params_ == {"classifier__broken": False}
    assert found.results_.problems == ("RuntimeError: out of order", "")
    assert np.isnan(found.results_.means[0])
    assert "failed" in repr(found.results_)
    frame = found.results_.to_frame()
    assert frame["problem"].to_list() == [None, "RuntimeError: out of order"]


def test_bad_values_fail_as_settings_do():
    found = search(hc.DyS(GaussianNB(), random_state=0), {"bins": [0, 10]}).fit(X, y)
    assert found.best_params_ == {"bins": 10}
    assert "bins" in found.results_.problems[0]


def test_all_settings_failing_is_an_error_that_says_why():
    grid = {"classifier__broken": [True], "cv": [2, 3]}
    with pytest.raises(hc.HeadcountError, match=r"All 2 settings failed.*out of order"):
        search(hc.PACC(Fragile()), grid).fit(X, y)


def test_halving_tries_all_on_few_items_and_the_best_on_all():
    grid = {"classifier__var_smoothing": [1e-9, 1e-3, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]}
    halved = search(hc.PACC(GaussianNB(), random_state=0), grid, halving=3).fit(X, y)
    whole = search(hc.PACC(GaussianNB(), random_state=0), grid).fit(X, y)
    assert sorted(halved.results_.rounds.tolist()) == [0] * 6 + [1] * 2 + [2]
    best = halved.results_.best
    assert halved.results_.rounds[best] == 2
    assert halved.results_.means[best] == whole.results_.means[best]


def test_scores_made_elsewhere_can_be_searched():
    scorer = Scorer(GaussianNB(), random_state=0).fit(X, y)
    found = search(hc.KDEyML(), {"bandwidth": [0.1, 5.0]}).fit(hc.Scored(scorer.posteriors_), y)
    assert found.best_params_ == {"bandwidth": 0.1}
    assert found.predict(hc.Scored(scorer.posteriors_)).shape == (2,)
    with pytest.raises(hc.HeadcountError, match="fitted on scores"):
        found.predict(X)


def test_a_quantifier_inside_another_can_be_tuned():
    many, labels = make_classification(300, n_classes=3, n_informative=5, random_state=0)
    quantifier = hc.OneVsRest(hc.DyS(GaussianNB(), random_state=0))
    found = search(quantifier, {"quantifier__bins": [4, 20]}, protocol=None).fit(many, labels)
    assert set(found.best_params_) == {"quantifier__bins"}
    assert found.predict(many).shape == (3,)


def test_a_search_is_a_quantifier_that_can_be_cloned_and_found_in_others():
    quantifier = search(hc.PACC(GaussianNB(), random_state=0), WEAK)
    assert clone(quantifier).param_grid == WEAK
    assert quantifier.get_params()["quantifier__random_state"] == 0


def test_metrics_may_be_functions():
    def worst(p, p_hat):
        return np.abs(p - p_hat).max(axis=1)

    found = search(hc.PACC(GaussianNB(), random_state=0), WEAK, metric=worst).fit(X, y)
    assert "mean worst" in repr(found.results_)
    assert f"mean_{worst.__name__}" in found.results_.to_frame().columns


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"param_grid": {"nonsense": [1]}}, "nonsense"),
        ({"quantifier": hc.PACC(), "param_grid": {"classifier__C": [1]}}, "pass one, as in"),
        ({"param_grid": {}}, None),
        ({"param_grid": 3}, "param_grid"),
        ({"param_grid": {"cv": []}}, "param_grid"),
        ({"quantifier": LogisticRegression()}, "quantifier is"),
        ({"metric": "accuracy"}, "no metric named 'accuracy'"),
        ({"metric": "bias"}, "one number per sample"),
        ({"metric": 3}, "metric is 3"),
        ({"holdout": 0}, "holdout is 0"),
        ({"holdout": 1.0}, "holdout is 1.0"),
        ({"folds": 1}, "folds is 1"),
        ({"folds": 1000}, "folds is 1000"),
        ({"halving": 1}, "halving is 1"),
        ({"protocol": "APP"}, "protocol is 'APP'"),
    ],
)
def test_bad_parameters_are_named(more, message):
    given = {"quantifier": hc.PACC(GaussianNB()), "param_grid": WEAK} | more
    quantifier, grid = given.pop("quantifier"), given.pop("param_grid")
    if message is None:  # an empty grid is the quantifier as it is
        assert search(quantifier, grid, **given).fit(X, y).best_params_ == {}
        return
    with pytest.raises(hc.HeadcountError, match=message):
        search(quantifier, grid, **given).fit(X, y)


def test_a_class_with_one_item_cannot_be_split():
    with pytest.raises(hc.HeadcountError, match="single item of class 2"):
        search(hc.GPAC(GaussianNB()), WEAK).fit(X, np.append(y[:-1], 2))


def test_every_class_is_on_both_sides_of_a_split():
    labels = np.repeat([0, 1, 2], [300, 97, 3]).astype(np.int64)
    rare = LabelledPool(X, np.arange(3), labels, None)
    for holdout in (0.01, 0.4, 0.99):
        (split,) = make_splits(rare, None, holdout, None, 0)
        for rows in (split.train, split.test):
            assert np.unique(labels[rows]).tolist() == [0, 1, 2]
        assert len(split.train) + len(split.test) == 400


def test_without_refit_there_is_nothing_to_predict_with():
    found = search(hc.PACC(GaussianNB()), WEAK, refit=False).fit(X, y)
    with pytest.raises(Exception, match="not fitted"):
        found.predict(X)


class Consecutive(Protocol):
    def __init__(self, size=20, labels=None):
        self.size, self.seen = size, labels

    def draw(self, y_pool, classes=None):
        self.seen = y_pool
        return [range(i, i + self.size) for i in range(0, len(y_pool), self.size)]


class Returning(Protocol):
    def __init__(self, drawn):
        self.drawn = drawn

    def draw(self, y_pool, classes=None):
        return self.drawn


def test_settings_are_tried_on_validation_items():
    fitted_on, validated_on = slice(0, 200), slice(200, 400)
    more = {"validation": (X[validated_on], y[validated_on])}
    found = search(hc.PACC(GaussianNB()), WEAK, **more).fit(X[fitted_on], y[fitted_on])
    samples = PROTOCOL.draw(y[validated_on])
    for setting, errors in zip(found.results_.settings, found.results_.errors, strict=True):
        alone = hc.PACC(GaussianNB()).set_params(**setting).fit(X[fitted_on], y[fitted_on])
        estimated = alone.predict_many(X[validated_on], samples)
        np.testing.assert_allclose(errors, hc.metrics.ae(samples.prevalence, estimated))
    np.testing.assert_array_equal(
        found.prior_, hc.CC(GaussianNB()).fit(X[fitted_on], y[fitted_on]).prior_
    )
    same = search(hc.PACC(GaussianNB()), WEAK, validation=(X[validated_on], samples))
    same = same.set_params(protocol=None).fit(X[fitted_on], y[fitted_on])
    np.testing.assert_array_equal(same.results_.means, found.results_.means)


def test_settings_are_tried_on_samples_of_ones_own():
    samples = PROTOCOL.draw(y)
    bags = [(X[rows], shares) for rows, shares in zip(samples, samples.prevalence, strict=True)]
    named = [(items, dict(enumerate(shares))) for items, shares in bags]
    options = {"protocol": None}
    by_pool = search(hc.PACC(GaussianNB()), WEAK, validation=(X, samples), **options).fit(X, y)
    for validation in (bags, named):
        found = search(hc.PACC(GaussianNB()), WEAK, validation=validation, **options)
        assert found.fit(X, y).best_score_ == pytest.approx(by_pool.best_score_)
    for wrong, message in (
        ([X, y], "each sample must be a pair"),
        ([(X, y)], "not one number for each of the 2 classes"),
    ):
        with pytest.raises(hc.HeadcountError, match=message):
            search(hc.PACC(GaussianNB()), WEAK, validation=wrong, **options).fit(X, y)


def test_a_protocol_whose_draw_takes_other_arguments_is_named():
    class Short(Protocol):
        def draw(self, y_pool):
            return [range(20)]

    quantifier = hc.PACC(GaussianNB()).fit(X, y)
    with pytest.raises(hc.HeadcountError, match="define it as draw"):
        hc.evaluate(quantifier, X, y, Short())


def test_validation_items_may_be_scored_elsewhere_and_in_a_pipeline():
    scorer = Scorer(GaussianNB(), random_state=0).fit(X[:200], y[:200])
    validation = (scorer.score(X[200:]), y[200:])
    grid = {"bandwidth": [0.05, 3.0]}
    found = search(hc.KDEyML(), grid, validation=validation)
    found.fit(hc.Scored(scorer.posteriors_), y[:200])
    direct = search(
        hc.KDEyML(GaussianNB(), random_state=0), grid, validation=(X[200:], y[200:])
    )
    direct.fit(X[:200], y[:200])
    np.testing.assert_allclose(found.results_.means, direct.results_.means, atol=1e-9)
    piped = search(
        make_pipeline(StandardScaler(), hc.KDEyML(GaussianNB())),
        {"kdeyml__bandwidth": [0.05, 3.0]},
        validation=(X[200:], y[200:]),
    ).fit(X[:200], y[:200])
    assert piped.best_params_ == {"kdeyml__bandwidth": direct.best_params_["bandwidth"]}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"validation": X}, "validation is of type ndarray; it must be a pair"),
        ({"validation": (X, y[:-1])}, "X of validation has 400"),
        ({"validation": (X, np.where(y, "a", "b"))}, "validation labels"),
        (
            {"validation": (X, Samples.from_arrays([[0]], n_pool=400)), "protocol": None},
            "no prevalence",
        ),
        ({"validation": (X, PROTOCOL.draw(y))}, "protocol would have no effect"),
        ({"validation": (X, y), "folds": 3}, "exclude each other"),
        ({"protocol": Returning(3)}, "draw of Returning returned an object of type int"),
        (
            {"protocol": Returning([])},
            "draw of Returning returned wrong samples: samples is empty",
        ),
        ({"protocol": Returning([[0, 999]])}, "draw of Returning returned wrong samples"),
        ({"protocol": Returning([[0.5]])}, "draw of Returning returned wrong samples"),
        ({"protocol": Returning}, "protocol is <class"),
    ],
)
def test_bad_validation_and_protocols_are_named(more, message):
    with pytest.raises(hc.HeadcountError, match=message):
        search(hc.PACC(GaussianNB()), WEAK, **more).fit(X, y)


def test_protocols_of_ones_own_are_accepted_everywhere():
    names = np.array(["no", "yes"])[y]
    protocol = Consecutive()
    quantifier = hc.PACC(GaussianNB()).fit(X[:200], names[:200])
    evaluation = hc.evaluate(quantifier, X[200:], names[200:], protocol, metrics="mae")
    expected = (y[200:].reshape(10, 20) == 1).mean(axis=1)
    np.testing.assert_allclose(evaluation.true[:, 1], expected)
    assert list(evaluation.metrics) == ["mae"]
    found = search(hc.PACC(GaussianNB()), WEAK, protocol=protocol).fit(X, names)
    assert set(protocol.seen) == {"no", "yes"}
    assert len(found.results_.errors[0]) == 8  # of 20 items, in 160 that are held out
    hc.Mean([hc.PACC(), hc.SLD()], GaussianNB(), weights="ae", protocol=protocol).fit(X, names)
    with pytest.raises(hc.HeadcountError, match="draw of Returning returned an object"):
        hc.evaluate(quantifier, X, names, Returning(None))
    with pytest.raises(hc.HeadcountError, match="y is None, but a protocol needs"):
        hc.evaluate(quantifier, X, None, protocol)
