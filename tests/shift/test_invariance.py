"""What each shift keeps and what it changes, on items of known distributions.

Within a class x has a deviation of about 2. The means of the two parts that a pool of
16,000 such items is split into differ with a standard error of 0.03, and drawing (at the
least 10 training sets with 600 of them) adds as much: 0.04 together. What counts as kept is
within 0.15, and what counts as changed is off by more than 0.3.
"""

from __future__ import annotations

import numpy as np
import pytest

from headcount.shift.shift_protocols import (
    ConceptShift,
    GlobalCovariateShift,
    KnockOut,
    LocalCovariateShift,
    PriorShift,
    TweakOne,
)

KEPT, CHANGED = 0.15, 0.3
FEW = {
    "train_size": 3000,
    "test_size": 500,
    "repeats": 10,
    "test_repeats": 20,
    "random_state": 0,
}


class Sides:
    """The items of training sets, and of the tests of one degree of shift."""

    def __init__(self, reviews, protocol, degree, kind=lambda settings: True, y=None):
        self.reviews = reviews
        train, test = [], []
        for experiment in protocol.draw(y, reviews.groups, reviews.stars):
            if not kind(experiment.settings):
                continue
            chosen = np.flatnonzero(np.isclose(experiment.degree, degree))
            labels = np.split(experiment.test_labels, experiment.test.offsets[1:-1])
            train.append((experiment.train[0], experiment.train_labels))
            test += [(experiment.test[i], labels[i]) for i in chosen]
        assert train
        assert test
        self.sides = [
            [np.concatenate(part) for part in zip(*side, strict=True)] for side in (train, test)
        ]

    def change(self, statistic):
        """Statistic of items and labels in tests, less that in training."""
        before, after = (statistic(items, labels) for items, labels in self.sides)
        return abs(after - before)

    def of_label(self, label):
        """Change in the mean of x given the label."""
        return self.change(lambda items, labels: self.reviews.x[items[labels == label]].mean())

    def of_x(self):
        return self.change(lambda items, labels: self.reviews.x[items].mean())

    def of_labels(self, positive=1):
        return self.change(lambda items, labels: (labels == positive).mean())

    def of_posterior(self, group, positive=1):
        """Largest change in the share of positives given the group and a range of x."""
        low = 3.0 if group == "books" else 0.0

        def posterior(items, labels, k):
            x = self.reviews.x[items]
            within = (self.reviews.groups[items] == group) & (np.floor(x - low) == k)
            assert within.sum() > 200
            return (labels[within] == positive).mean()

        return max(
            self.change(lambda items, labels, k=k: posterior(items, labels, k))
            for k in (0, 1, 2)
        )


@pytest.mark.parametrize("degree", [-0.6, 0.4])
def test_prior_shift_keeps_the_items_within_a_class(reviews, degree):
    protocol = PriorShift([0.2, 0.8], np.arange(11) / 10, **FEW)
    start = 0.8 if degree < 0 else 0.2
    kind = {"kind": lambda settings: settings["train_prevalence"] == start}
    sides = Sides(reviews, protocol, degree, **kind)
    assert sides.of_label(0) < KEPT
    assert sides.of_label(1) < KEPT
    assert sides.of_labels() > CHANGED
    assert sides.of_x() > CHANGED
    assert max(sides.of_posterior("books"), sides.of_posterior("toys")) > CHANGED


@pytest.mark.parametrize("degree", [-0.6, 0.4])
def test_pure_global_shift_keeps_what_the_items_mean(reviews, degree):
    protocol = GlobalCovariateShift([0.2, 0.4, 0.8], [0.5], pure=True, **FEW)
    start = 0.2 if degree < 0 else 0.8
    kind = {"kind": lambda settings: settings["train_alpha"] == start}
    sides = Sides(reviews, protocol, degree, **kind)
    assert sides.of_labels() == 0
    assert sides.of_posterior("books") < KEPT
    assert sides.of_posterior("toys") < KEPT
    assert sides.of_x() > CHANGED
    assert min(sides.of_label(0), sides.of_label(1)) > CHANGED


def test_mixed_global_shift_changes_the_priors_too(reviews):
    protocol = GlobalCovariateShift([0.2, 0.8], [0.25, 0.75], pure=False, **FEW)
    kind = {"kind": lambda settings: settings["train_prevalence"] == 0.25}
    sides = Sides(reviews, protocol, -0.6, **kind)
    assert sides.of_labels() == 0.5
    assert sides.of_x() > CHANGED
    assert min(sides.of_label(0), sides.of_label(1)) > CHANGED
    # Within a group and a class all stays as it is.
    for group in ("books", "toys"):
        for label in (0, 1):
            assert (
                sides.change(
                    lambda items, labels, group=group, label=label: reviews.x[
                        items[(labels == label) & (reviews.groups[items] == group)]
                    ].mean()
                )
                < KEPT
            )


@pytest.mark.parametrize("degree", [-0.25, 0.25])
def test_local_shift_keeps_the_negatives_only(reviews, degree):
    sides = Sides(reviews, LocalCovariateShift([0.25, 0.75], **FEW), degree)
    assert sides.of_label(0) < KEPT
    assert sides.of_label(1) > CHANGED
    assert sides.of_labels() > 0.24
    control = Sides(reviews, LocalCovariateShift([0.25, 0.75], control=True, **FEW), degree)
    assert control.of_label(0) < KEPT
    assert control.of_label(1) < KEPT
    assert control.of_labels() > 0.24


@pytest.mark.parametrize("degree", [-2, 2])
def test_concept_shift_keeps_the_items_and_changes_what_they_are_called(reviews, degree):
    kind = {
        "kind": lambda settings: settings["train_cut_point"] == (1.5 if degree < 0 else 3.5)
    }
    sides = Sides(reviews, ConceptShift(**FEW), degree, **kind)
    assert sides.of_x() < KEPT
    assert sides.of_labels() > CHANGED
    assert min(sides.of_label(0), sides.of_label(1)) > CHANGED
    assert min(sides.of_posterior("books"), sides.of_posterior("toys")) > CHANGED
    same = Sides(reviews, ConceptShift(**FEW), 0, **kind)
    assert max(same.of_posterior("books"), same.of_posterior("toys"), same.of_x()) < KEPT


def test_a_tweaked_class_keeps_its_items(reviews):
    protocol = TweakOne(5, [0.7], **FEW)
    sides = Sides(reviews, protocol, 0.5, y=reviews.stars)
    assert max(sides.of_label(star) for star in range(1, 6)) < KEPT
    assert sides.of_labels(5) == pytest.approx(0.5)
    assert sides.of_x() > CHANGED


def test_a_class_knocked_out_keeps_its_items_and_a_group_does_not(reviews):
    sides = Sides(reviews, KnockOut(1, [0.9], **FEW), 0.9, y=reviews.stars)
    assert max(sides.of_label(star) for star in range(1, 6)) < KEPT
    assert sides.of_labels(1) > 0.15
    by_group = KnockOut("books", [0.9], by="group", **FEW)
    sides = Sides(reviews, by_group, 0.9, y=reviews.stars)
    assert min(sides.of_label(star) for star in range(1, 6)) > CHANGED
    # Stars are as frequent in either group, up to rounding.
    assert sides.of_labels(1) < 0.01
