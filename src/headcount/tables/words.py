"""Words about results: what a method is, what was found, and how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from headcount._support.text import chance, first_of, percent
from headcount.estimates.assumption import BROKEN_LEVEL, WEAK_LEVEL
from headcount.estimates.history import MEANINGS, POSTERIORS, PRIOR_SHIFT, HistoryEstimate
from headcount.quantifiers.base import Quantifier
from headcount.scores.scorer import Scorer
from headcount.tables.preparation import Tally
from headcount.tables.roles import MISSING

if TYPE_CHECKING:
    from headcount.tables.analysis import Analysis, Slice

_LONGEST = 300
# Columns that are named; others are counted.
_MOST_NAMES = 6


@dataclass(frozen=True)
class MethodFacts:
    """A method, its settings, and why it was chosen."""

    name: str
    title: str
    shift: str
    reference: str
    settings: dict[str, str]
    why: str


def method_facts(quantifier: Quantifier, size: int) -> MethodFacts:
    """Facts about a fitted quantifier, or about the one that it selected."""
    fitted = quantifier.fitted_
    settings = {
        name: "" if name == "classifier" else _shortened(value)
        for name, value in fitted.settings.items()
    }
    if "classifier" in settings:
        # The one that was used: a search has its own, and None stands for the default.
        if isinstance(fitted.scorer, Scorer):
            settings["classifier"] = _shortened(fitted.scorer.classifier_)
        else:
            settings["classifier"] = "none: the scores were made elsewhere"
            settings.pop("cv", None)
    info = fitted.info
    return MethodFacts(
        fitted.method, info.title, info.shift, info.reference, settings,
        quantifier.explain(size),
    )  # fmt: skip


def _shortened(value: Any) -> str:
    if isinstance(value, Pipeline):
        *before, last = [step for _, step in value.steps]
        # The preparation is described column by column, and slow to print.
        return ", ".join([*(type(step).__name__ for step in before), _shortened(last)])
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def plain(label: Any) -> str | int | float | bool | None:
    """Class or group as a value for JSON and tables."""
    if label is None or isinstance(label, str | int | float):
        return label
    return str(label).removesuffix(" 00:00:00")


def words(label: Any) -> str:
    """Class or group as text."""
    return "all items" if label is None else str(plain(label))


def add_counts(columns: dict[str, str], tally: Tally, n_rows: int, table: str) -> None:
    """Add numbers of missing and unseen values to the treatments of columns."""
    for counts, what in ((tally.missing, "missing"), (tally.unseen, "never seen in training")):
        for name, count in counts.items():
            if count:
                columns[name] += f"; {count:,} of {n_rows:,} {what} in {table}"


def by_treatment(columns: dict[str, str]) -> dict[str, str]:
    """Treatment of the columns, once for those that were treated alike."""
    alike: dict[str, list[str]] = {}
    for name, treatment in columns.items():
        alike.setdefault(treatment, []).append(name)
    return {
        f"Column{'' if len(names) == 1 else 's'} {_listed_columns(names)}": treatment
        for treatment, names in alike.items()
    }


def _listed_columns(names: list[str]) -> str:
    return first_of(names, _MOST_NAMES - (len(names) > _MOST_NAMES))


MARK = "do not rely on it"
"""Mark of a row whose number is not to be relied on."""
_NAMED = 3
# Items of a group whose value is worth a place in a range.
_FEWEST_ITEMS = 30
# Groups that are printed, and how many of more.
_MOST_PRINTED, _PRINTED = 60, 20


@dataclass(frozen=True)
class Verdict:
    """Summary of an analysis for a reader with ten seconds."""

    status: Literal["fits", "unsure", "broken"]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def verdict_of(analysis: Analysis) -> Verdict:
    """Verdict on an analysis."""
    status, trust = _trust(analysis)
    if status == "broken":
        # The reader must not take the number for an answer.
        two = analysis.overall.under_usual_drift
        reading = f"If only the mix had changed: {_shares(analysis)}"
        if two is not None:
            reading = _two_readings(analysis, two)
        sentences = (trust, reading, _groups(analysis))
    else:
        sentences = (_shares(analysis), _groups(analysis), trust)
    changed = "" if analysis.changes is None else analysis.changes.sentence
    return Verdict(status, tuple(sentence for sentence in (*sentences, changed) if sentence))


def compared_with_truth(analysis: Analysis) -> str:
    """Errors and coverage of the groups in words; empty if the true shares are not known."""
    slices = [item for item in analysis.groups if item.truth is not None]
    if not slices:
        return ""
    truth = np.array([item.truth for item in slices])
    shares = np.array([item.estimate.shares for item in slices])
    low, high = np.array([(item.low, item.high) for item in slices]).transpose(1, 0, 2)
    error = np.abs(shares - truth).mean()
    counted = [item.classify_and_count for item in slices]
    counts = ""
    if all(predicted is not None for predicted in counted):
        counts = f" (classify and count: {100 * np.abs(np.array(counted) - truth).mean():.1f})"
    # An interval that ends at the truth contains it, up to rounding.
    held = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    if len(analysis.classes) == 2:
        held = held[:, 1:]  # of two classes, one is enough
    return (
        f"Compared with the truth: {100 * error:.1f} percentage points off on average{counts}; "
        f"it is within {held.sum():,} of {held.size:,} intervals."
    )


def _main_class(analysis: Analysis) -> int:
    """Class to report: the second of two, or the one with the greatest change."""
    if len(analysis.classes) == 2:
        return 1
    return int(np.argmax(np.abs(analysis.overall.estimate.shares - analysis.training)))


def _shares(analysis: Analysis) -> str:
    overall, shares = analysis.overall, analysis.overall.estimate.shares
    items = f"{overall.estimate.n_items:,} item{'' if overall.estimate.n_items == 1 else 's'}"
    j = _main_class(analysis)
    moved = _moved(analysis, j)
    if len(shares) == 2:
        return (
            f"Of {items}, about {percent(float(shares[j]))} are {_quoted(analysis.classes[j])} "
            f"({100 * analysis.level:.6g}% interval {percent(overall.low[j])} to "
            f"{percent(overall.high[j])}), {moved}."
        )
    order = np.argsort(-shares, kind="stable")
    largest, small = order, order[:0]
    if len(order) > _NAMED + 1:
        largest, small = np.split(order, [_NAMED])
    listed = [f"{percent(shares[i])} are {_quoted(analysis.classes[i])}" for i in largest]
    if len(small):
        listed.append(
            f"{percent(float(shares[small].sum()))} are of {len(small)} other classes"
        )
    return (
        f"Of {items}, about {', '.join(listed[:-1])} and {listed[-1]}; the greatest change is "
        f"in {_quoted(analysis.classes[j])}, {moved}."
    )


def _two_readings(analysis: Analysis, estimate: HistoryEstimate) -> str:
    """Shares if only the mix, or if only the inputs had changed."""
    j = _main_class(analysis)
    readings = {
        MEANINGS[name]: percent(float(estimate.readings[name][j]))
        for name in (PRIOR_SHIFT, POSTERIORS)
        if name in estimate.readings
    }
    listed = ", and ".join(f"{share} if {meaning}" for meaning, share in readings.items())
    return (
        f"The share of {_quoted(analysis.classes[j])} would be {listed}; it may be anywhere "
        f"from {percent(analysis.overall.low[j])} to {percent(analysis.overall.high[j])}. 100 "
        "labels of the new items would tell it to within 10 points."
    )


def _moved(analysis: Analysis, j: int) -> str:
    """Change of a share since training, and whether it may be chance."""
    before, now = float(analysis.training[j]), float(analysis.overall.estimate.shares[j])
    if percent(before) == percent(now):
        return "as in training"
    change = f"{'up' if now > before else 'down'} from {percent(before)} in training"
    may_be_chance = analysis.overall.low[j] <= before <= analysis.overall.high[j]
    return f"{change}, which the interval contains" if may_be_chance else change


def _groups(analysis: Analysis) -> str:
    j = _main_class(analysis)
    # Shares that are not to be relied on say nothing about the range.
    reliable = [item for item in analysis.groups if not item.is_broken]
    return range_of_groups(
        f"the share of {_quoted(analysis.classes[j])}",
        {words(item.name): float(item.estimate.shares[j]) for item in reliable},
        {words(item.name): item.estimate.n_items for item in analysis.groups},
        percent,
    )


def range_of_groups(
    what: str,
    values: Mapping[str, float],
    sizes: Mapping[str, int],
    written: Callable[[float], str],
) -> str:
    """Least and greatest value of groups that are named and not small; empty without two."""
    named = {name: value for name, value in values.items() if name != MISSING}
    values = {name: value for name, value in named.items() if sizes[name] >= _FEWEST_ITEMS}
    if len(values) < 2:
        return ""
    least, most = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    which = " other" if len(named) < len(sizes.keys() - {MISSING}) else ""
    large = f" of {_FEWEST_ITEMS} items or more" if len(values) < len(named) else ""
    groups = f"Over {len(values):,}{which} groups{large} {what}"
    if written(values[least]) == written(values[most]):
        return f"{groups} is {written(values[least])}."
    return (
        f"{groups} goes from {written(values[least])} ({least}) to {written(values[most])} "
        f"({most})."
    )


def printed_groups(sizes: Sequence[int], is_sequence: bool) -> tuple[list[int], str]:
    """Places of the groups to print, and a note if there are too many for all of them."""
    n = len(sizes)
    if n <= _MOST_PRINTED:
        return list(range(n)), ""
    places, which = list(range(n - _PRINTED, n)), "last"
    if not is_sequence:
        by_size = sorted(range(n), key=lambda place: -sizes[place])
        places, which = sorted(by_size[:_PRINTED]), "largest"
    return places, (
        f"Only the {_PRINTED} {which} of {n:,} groups are printed: write a table or a page to "
        "have all."
    )


def _trust(analysis: Analysis) -> tuple[Literal["fits", "unsure", "broken"], str]:
    p, broken = analysis.overall.p_value, analysis.broken_groups
    labelled = analysis.overall.labelled
    if labelled is not None:
        return "fits", (
            f"This rests on {labelled.n_labels:,} labels of the new items, and holds whatever "
            f"has changed if their rows were drawn at random. {labelled.agreement.sentence()}"
        )
    if analysis.overall.estimate.basis == "history":
        return "fits", analysis.history
    if analysis.method.shift != "prior":
        return "unsure", (
            f"{analysis.method.name} does not correct for a change of the mix, so that the "
            "shares are right only if nothing but the inputs has changed."
            if analysis.method.shift == "covariate"
            else f"{analysis.method.name} does not correct for any change since training."
        )
    if p is None:
        return "unsure", "Whether the method's assumption holds could not be tested."
    if p < BROKEN_LEVEL:
        return "broken", (
            "We cannot say what the shares are: the new items do not look like the labelled "
            f"ones, whatever the mix ({chance(p)}). Label a random sample of them, or train on "
            "items that are more like them."
        )
    if analysis.overall.is_broken:
        return "broken", (
            f"We cannot say what the shares are: {analysis.overall.doubt}. Label a random "
            "sample of them, or train on items that are more like them."
        )
    if broken:
        one = len(broken) == 1
        return "unsure", (
            "Together the new items look like the labelled ones, apart from the mix "
            f"({chance(p)}). {len(broken)} of the groups {'does' if one else 'do'} not, or "
            f"cannot be estimated: do not rely on {_named(broken)}."
        )
    return _trust_in_mixture(analysis, p)


def _trust_in_mixture(analysis: Analysis, p: float) -> tuple[Literal["fits", "unsure"], str]:
    """Trust in items that look like the labelled ones, apart from the mix."""
    if p < WEAK_LEVEL:
        return "unsure", (
            "There is weak evidence that more than the mix has changed "
            f"({chance(p)}): read the shares with care."
        )
    two = analysis.overall.under_usual_drift
    if two is not None and not np.array_equal(two.shares, two.under_shift.shares):
        return "unsure", (
            f"The new items look like the labelled ones, apart from the mix ({chance(p)}), but "
            "the scores hardly tell the classes apart, so the shares rely on mean posteriors "
            f"more than on the method. {_two_readings(analysis, two)}"
        )
    if two is not None:
        return "fits", (
            f"The new items look like the labelled ones, apart from the mix ({chance(p)}). No "
            "labelled groups show how much else may change, so the intervals allow for the "
            "drift that is usual in dated data."
        )
    return "fits", (
        f"The new items look like the labelled ones, apart from the mix ({chance(p)}), as the "
        "method assumes."
    )


def _named(slices: list[Slice]) -> str:
    return first_of((_quoted(item.name) for item in slices), _NAMED)


def _quoted(label: Any) -> str:
    return f"“{words(label)}”"
