"""From tables of verdicts and gold labels to corrected rates: behind ``headcount judge``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from headcount._support.arrays import Floats, Ints
from headcount._support.execution import versions
from headcount._support.parameters import check_fraction, check_positive
from headcount._support.text import escaped, first_of
from headcount.errors import HeadcountError
from headcount.estimates.labels.judge_rates import correct_verdicts
from headcount.estimates.labels.judge_result import JudgeResult
from headcount.metrics.agreement import Bias, judge_bias
from headcount.report.page import Page, Reported, now
from headcount.tables.columns import plain_number
from headcount.tables.eval_logs import read_eval_log
from headcount.tables.judge_page import judge_page
from headcount.tables.readers import TableFile, frame_table
from headcount.tables.roles import MISSING, Options, stripped

# Disagreements and next labels that a result lists.
_MOST_LISTED, _NEXT = 200, 100


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAnalysis(JudgeResult, Reported):
    """Rates of groups in a table, corrected for the errors of a judge.

    Made by `headcount.judge`. Prints as tables.
    """

    heading: str = field(kw_only=True)
    created: str = field(kw_only=True)
    level: float = field(kw_only=True)
    data_facts: Mapping[str, str] = field(kw_only=True)
    disagreements: pl.DataFrame = field(kw_only=True)
    next_labels: tuple[NextLabels, ...] = field(kw_only=True)
    variances: tuple[float, float] | None = field(kw_only=True)
    cost: CostPlan | None = field(default=None, kw_only=True)

    @property
    def is_reliable(self) -> bool:
        """False if a warning says that a rate should not be relied on."""
        return not self.warnings

    def half_widths(self) -> dict[Any, float]:
        """Half of the length of each group's interval; the longest of the classes shown."""
        ends = {group.group: group.interval(self.level) for group in self.groups}
        return {
            name: max(float(end.high[k] - end.low[k]) for k in self.shown_classes)
            * self.width
            / 2
            for name, end in ends.items()
        }

    def plan(self, half_width: float, *, judge_price: float, human_price: float) -> CostPlan:
        """Cheapest numbers of verdicts and gold labels for an interval.

        Parameters
        ----------
        half_width : float
            Half of the length of the interval of a group: 0.02 is two points, or for means
            0.02 of a unit.
        judge_price, human_price : float
            Price of one verdict, and of one gold label.

        Returns
        -------
        CostPlan
            With ``n_items``, ``n_gold``, ``cost`` and ``sentence()``.
        """
        if self.variances is None:
            raise HeadcountError(
                "plan needs gold labels of these items, so that the errors of the judge on "
                "them are known: label some."
            )
        prices = {"judge_price": judge_price, "human_price": human_price}
        return cost_plan(*self.variances, half_width, level=self.level, **prices)

    def notes(self) -> list[str]:
        """Sentences that `print` shows below the tables."""
        return super().notes() + ([] if self.cost is None else [self.cost.sentence()])

    def page(self) -> Page:
        """Page that `report` writes."""
        return judge_page(self)

    def to_frame(self, level: float | None = None) -> pl.DataFrame:
        """Table with one row per group and class, with intervals of the level of the result."""
        return super().to_frame(self.level if level is None else level)

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        content = super().to_dict(self.level if level is None else level)
        return content | {
            "disagreements": self.disagreements.to_dicts(),
            "next_labels": [line._asdict() for line in self.next_labels],
            "plan": None if self.cost is None else vars(self.cost),
        }

    def to_text(self, level: float | None = None) -> str:
        """Text that `print` shows."""
        return super().to_text(self.level if level is None else level)


def judge(
    items: Any,
    *,
    verdict: str | Sequence[str] | None = None,
    gold: str | None = None,
    by: str | None = None,
    calibration: Any = None,
    cluster: str | None = None,
    weight: str | None = None,
    positive: Any = None,
    mean: bool | None = None,
    scale: tuple[float, float] | None = None,
    covariate: str | Sequence[str] = (),
    sequential: str | None = None,
    gold_table: Any = None,
    id: str | Sequence[str] = "id",
    estimand: str | None = None,
    level: float = 0.95,
    separator: str | None = None,
    title: str | None = None,
) -> JudgeAnalysis:
    """Correct the rates that a judge measures, by gold labels of some items.

    A judge is an LLM, a rule or a person whose verdicts are cheap and not always right. If a
    random part of the items has gold labels, each group's rate is estimated from its own
    labels, by verdict: this holds whatever errors the judge makes. If the gold labels are those
    of other items, a calibration set, rates are corrected by the judge's errors on them
    (Rogan and Gladen): this holds if the judge errs on both alike. This is what the command
    ``headcount judge`` does.

    Parameters
    ----------
    items : frame or path
        Table of the judged items, or a file of Inspect AI, promptfoo, DeepEval, the LM
        Evaluation Harness or OpenAI Evals.
    verdict : str or list of str, default=None
        Column of the verdicts: texts, numbers or scores. Several columns are several judges:
        one estimate is made from all. Found by its name if there is one candidate.
    gold : str, default=None
        Column of the true classes or numbers, empty where they are not known. The items with
        gold must be a random part of each group, or of the items with each (first) verdict.
    by : str, default=None
        Column of the groups to compare, such as the model that was judged.
    calibration : frame or path, default=None
        Table of other items, all with verdict and gold.
    cluster : str, default=None
        Column of the clusters, such as conversations. Items of one cluster may be alike.
    weight : str, default=None
        Column of survey weights.
    positive : Any, default=None
        Class whose rate is shown; by default the second of two classes, or all of more.
    mean : bool, default=None
        True for the mean of numeric gold labels; the default if they have more than ten values.
    scale : pair of float, default=None
        Lowest and highest value that gold labels can have, for means; those seen by default.
    covariate : str or list of str, default=()
        Columns on which verdicts should not depend among items of the same class, such as
        lengths: tested, with Holm's correction.
    sequential : str, default=None
        Column with the places of gold labels in the order in which they were taken, at random.
        Intervals are then valid however often one looks, so one may label until they are
        short enough.
    gold_table : frame or path, default=None
        Table with the gold labels, which are joined by the column ``id``.
    id : str or list of str, default="id"
        Column that names the items in both tables, or several that do so together, such as
        the question and the system.
    estimand : {"expected", "realised"}, default=None
        Rates in the population that the items are a random sample of, which is the default, or
        among these items, which is the default for sequential intervals.
    level : float, default=0.95
        Probability that an interval contains the rate.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    JudgeAnalysis
        With ``groups``, ``differences()``, ``to_frame()``, ``rates`` (how often the judge
        gives each verdict by true class) and ``report(path)``. Prints as tables.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> truth = np.where(rng.random(2000) < 0.2, "fail", "pass")
    >>> wrong = rng.random(2000) < np.where(truth == "fail", 0.3, 0.05)
    >>> verdicts = np.where(wrong, np.where(truth == "fail", "pass", "fail"), truth)
    >>> labelled = rng.random(2000) < 0.1
    >>> items = pl.DataFrame({
    ...     "judge": verdicts, "human": np.where(labelled, truth, None).tolist()})
    >>> result = hc.judge(items, verdict="judge", gold="human", positive="fail")
    >>> low, high = result.groups[0].interval()["fail"]
    >>> low < 0.2 < high
    True
    """
    options = Options(separator=separator, level=level, weight=weight, cluster=cluster)
    table, tool = _judged_table(items, options)
    if gold_table is not None:
        table = _joined(table, options.table(gold_table, "gold_table"), gold, id)
    verdicts, gold = _chosen_columns(table, verdict, gold)
    covariates = [covariate] if isinstance(covariate, str) else list(covariate)
    columns = {"by": by, "cluster": cluster, "weight": weight, "sequential": sequential}
    named = [("verdict", name) for name in verdicts]
    named += [(option, name) for option, name in columns.items() if name is not None]
    named += [("covariate", name) for name in covariates]
    frame = _judged_items(table, named, gold, needs_gold=calibration is None)
    data_facts = {"Items": f"{table.name}, {len(frame):,} rows", "Written by": tool}
    learnt = None
    if calibration is not None:
        source = options.table(calibration, "calibration")
        learnt, data_facts["Calibration set"] = _calibration(source, verdicts[0], gold, cluster)
    data_facts["Columns"] = ", ".join(" ".join(pair) for pair in [*named, ("gold", gold)])
    labels: Any = [None] * len(frame) if gold not in frame.columns else _values(frame[gold])
    judged = {name: _full(frame[name], table.name, "verdict") for name in verdicts}
    first, groups = judged[verdicts[0]], None if by is None else _texts(frame[by])
    result = correct_verdicts(
        judged,
        labels,
        by=groups,
        calibration=learnt,
        clusters=None if cluster is None else _texts(frame[cluster]),
        weights=None if weight is None else _full(frame[weight], table.name, "weight"),
        estimand=estimand or ("expected" if sequential is None else "realised"),
        positive=_of_classes(positive, labels, learnt),
        mean=mean,
        scale=scale,
        order=None if sequential is None else _values(frame[sequential]),
    )
    listed = [*verdicts, gold, *([by] if by else [])]
    return JudgeAnalysis(
        **(vars(result) | {"biases": _biases(frame, result, first, labels, covariates)}),
        heading=title or f"Rates of {gold} in {table.name}, judged by {' and '.join(verdicts)}",
        created=now(),
        level=float(level),
        data_facts={name: fact for name, fact in data_facts.items() if fact} | versions(),
        disagreements=_disagreements(frame, result, first, labels, listed),
        next_labels=() if sequential else _next_labels(result, first, labels, groups),
        variances=_variances(result, labels),
    )


def _judged_items(
    table: TableFile, named: list[tuple[str, str]], gold: str, *, needs_gold: bool
) -> pl.DataFrame:
    """Columns that options name, which must be there, and that of the gold labels."""
    for option, column in named:
        table.require([column], f"which `{option}` names")
    if needs_gold:
        table.require([gold], "which `gold` names")
    names = dict.fromkeys([*(column for _, column in named), gold])
    return table.read([name for name in names if name in table.columns])


def _judged_table(items: Any, options: Options) -> tuple[TableFile, str]:
    """Table of judged items, and the evaluation tool that wrote it, if one did."""
    if isinstance(items, str | os.PathLike):
        log = read_eval_log(Path(items))
        if log is not None:
            tool, frame = log
            return frame_table(frame, Path(items).name), tool
    return options.table(items, "items"), ""


def _joined(
    table: TableFile, labels: TableFile, gold: str | None, id: str | Sequence[str]
) -> TableFile:
    """Table of items with the gold labels of another table, joined by the names of items."""
    ids = [id] if isinstance(id, str) else list(id)
    for source in (table, labels):
        source.require(ids, "which `id` names")
    candidates = [name for name in labels.columns if name not in ids]
    name = gold or (candidates[0] if len(candidates) == 1 else None)
    if name is None:
        raise HeadcountError(
            f"{labels.name!r} has several columns besides {' and '.join(ids)}: name the one "
            "with the gold labels by `gold`."
        )
    labels.require([name], "which `gold` names")
    texts = pl.col(ids).cast(pl.String).str.strip_chars()
    items = table.read().drop(name, strict=False).with_columns(texts)
    keys = labels.read([*ids, name]).with_columns(texts)
    for source, frame in ((table, items), (labels, keys)):
        twice = frame.select(pl.struct(ids).is_duplicated()).to_series()
        if twice.any():
            item = ", ".join(escaped(str(value)) for value in frame.filter(twice).row(0)[:1])
            raise HeadcountError(
                f"{source.name!r} has two rows for item {item}: name the columns by `id` that "
                "tell rows apart, such as item and system."
            )
    n_lost = len(keys.join(items, on=ids, how="anti"))
    if n_lost:
        raise HeadcountError(
            f"{n_lost:,} of {len(keys):,} items of {labels.name!r} are not in {table.name!r}: "
            f"both must name items alike in {' and '.join(ids)}."
        )
    return frame_table(items.join(keys, on=ids, how="left", maintain_order="left"), table.name)


# Parts of names that columns of verdicts, and of gold labels, often have.
_VERDICT_WORDS = ("judge", "verdict", "llm", "gpt", "grader", "score", "correct", "acc")
_GOLD_WORDS = ("gold", "human", "annotat", "truth", "manual", "expert")


def _chosen_columns(
    table: TableFile, verdict: str | Sequence[str] | None, gold: str | None
) -> tuple[list[str], str]:
    """Columns of verdicts and gold labels; those not named are found by their names."""
    verdicts = [verdict] if isinstance(verdict, str) else list(verdict or ())
    if len(set(verdicts)) < len(verdicts):
        raise HeadcountError("verdict names a column twice: name each judge once.")
    if gold is None:
        gold = _candidate(table, "gold", _GOLD_WORDS, excluded=verdicts)
    if not verdicts:
        verdicts = [_candidate(table, "verdict", _VERDICT_WORDS, excluded=[gold])]
    if gold in verdicts:
        raise HeadcountError(
            f"verdict and gold both name {gold!r}: the judge's verdicts and the true classes "
            "are two columns."
        )
    return verdicts, gold


def _candidate(table: TableFile, option: str, words: Sequence[str], excluded: list[str]) -> str:
    names = [
        name
        for name in table.columns
        if name not in excluded and any(word in name.lower() for word in words)
    ]
    if len(names) == 1:
        return names[0]
    columns = first_of(map(escaped, names or table.columns), 12)
    why = "several columns may be it" if names else "no column has such a name"
    what = (
        "the judge's verdicts"
        if option == "verdict"
        else "the true classes, as people see them"
    )
    raise HeadcountError(
        f"`{option}` is needed: the column of {what}. In {table.name!r} {why}: {columns}."
    )


def _disagreements(
    frame: pl.DataFrame,
    result: JudgeResult,
    verdicts: list[Any],
    gold: list[Any],
    columns: list[str],
) -> pl.DataFrame:
    """First items, with their row numbers, whose verdict is not the gold label."""
    rows = [row for row in _labelled(gold) if str(verdicts[row]) != str(gold[row])]
    rows = rows[:_MOST_LISTED] if result.agreements else []
    disagreements = frame.select(name for name in columns if name in frame.columns)[rows]
    return disagreements.insert_column(0, pl.Series("row", rows, pl.Int64) + 1)


def _biases(
    frame: pl.DataFrame,
    result: JudgeResult,
    verdicts: list[Any],
    gold: list[Any],
    covariates: list[str],
) -> tuple[Bias, ...]:
    """Tests of whether verdicts depend on covariates, among items with gold labels."""
    if not covariates:
        return ()
    rows = _labelled(gold)
    if len(rows) < 2:
        raise HeadcountError("`covariate` needs gold labels of these items: label some.")
    judged = [verdicts[row] for row in rows]
    main_class = str(result.classes.tolist()[result.main_class])
    if result.scale is None and main_class in map(str, judged):
        scores = np.array([str(verdict) == main_class for verdict in judged], float)
    elif all(isinstance(verdict, int | float) for verdict in judged):
        scores = np.array(judged, float)
    else:
        raise HeadcountError(
            "`covariate` needs verdicts that are named as the gold labels, or numbers."
        )
    columns = {}
    for name in covariates:
        values = _values(frame[name])
        is_number = all(isinstance(value, int | float | None) for value in values)
        columns[name] = np.array(values, np.float64 if is_number else object)[rows]
    return tuple(judge_bias([str(gold[row]) for row in rows], scores, columns))


def _labelled(gold: list[Any]) -> list[int]:
    return [row for row, label in enumerate(gold) if label not in (None, "")]


def _next_labels(
    result: JudgeResult, verdicts: list[Any], gold: list[Any], by: list[str] | None
) -> tuple[NextLabels, ...]:
    """Where the next labels shorten the intervals most; empty for scores and for means."""
    kinds = {str(verdict): v for v, verdict in enumerate(result.verdicts)}
    if result.scale is not None or not {str(verdict) for verdict in verdicts} <= set(kinds):
        return ()
    names = [group.group for group in result.groups]
    places = {str(name): g for g, name in enumerate(names)}
    classes = {str(label): k for k, label in enumerate(result.classes.tolist())}
    items = np.zeros((len(names), len(kinds)), np.int64)
    outcomes = np.zeros((*items.shape, len(classes)))
    groups = [str(names[0])] * len(verdicts) if by is None else by
    for group, verdict, label in zip(groups, verdicts, gold, strict=True):
        cell = places[group], kinds[str(verdict)]
        items[cell] += 1
        if str(label) in classes:
            outcomes[cell][classes[str(label)]] += 1
    labelled = outcomes.sum(axis=-1).astype(np.int64)
    added, unlabelled = next_labels(items, labelled, outcomes, _NEXT), items - labelled
    return tuple(
        NextLabels(names[g], result.verdicts[v], int(unlabelled[g, v]), int(added[g, v]))
        for g, v in sorted(zip(*np.nonzero(added), strict=True), key=lambda cell: -added[cell])
    )


def _variances(result: JudgeResult, gold: list[Any]) -> tuple[float, float] | None:
    """Variance of gold labels in a group, and the part of it that verdicts do not explain."""
    k = result.main_class
    corrected = [(group, group.by_labels) for group in result.groups if group.by_labels]
    if not corrected:
        return None
    sizes = np.array([group.n_items for group, _ in corrected], float)
    shares = np.array([group.shares[k] for group, _ in corrected])
    unexplained = np.array(
        [
            group.n_gold * difference.covariance[k, k] / (1 - group.n_gold / group.n_items)
            for group, difference in corrected
            if group.n_gold < group.n_items
        ]
    )
    weights = sizes / sizes.sum()
    variance = float(weights @ (shares * (1 - shares)))
    if result.scale is not None:
        variance = float(np.var([float(gold[row]) for row in _labelled(gold)]))
    return variance, min(float(weights @ unexplained) * result.width**2, variance)


def _calibration(
    table: TableFile, verdict: str, gold: str, cluster: str | None
) -> tuple[tuple[Any, ...], str]:
    """Verdicts, gold labels and clusters of a calibration set, and what it is."""
    for option, column in (("verdict", verdict), ("gold", gold)):
        table.require([column], f"which `{option}` names")
    clustered = cluster is not None and cluster in table.columns
    frame = table.read([verdict, gold, *([cluster] if clustered and cluster else [])])
    arrays = [_full(frame[verdict], table.name, "verdict"), _values(frame[gold])]
    if clustered and cluster:
        arrays.append(_texts(frame[cluster]))
    return tuple(arrays), f"{table.name}, {len(frame):,} rows"


def _values(column: pl.Series) -> list[Any]:
    """Values of a column; texts that are all numbers become numbers."""
    raw = stripped(column)
    if raw.dtype.is_float():
        raw = raw.fill_nan(None)
        integers = raw.cast(pl.Int64, strict=False)
        return (integers if (integers == raw).all() else raw).to_list()
    if raw.dtype == pl.String and raw.null_count() < len(raw):
        numbers = plain_number(raw)
        raw = raw if numbers is None else numbers
    return raw.to_list()


def _full(column: pl.Series, table: str, option: str) -> list[Any]:
    """Values of a column, none of them missing."""
    values = _values(column)
    missing = [row for row, value in enumerate(values, 1) if value is None]
    if missing:
        raise HeadcountError(
            f"Column {column.name!r} of {table!r}, which `{option}` names, lacks "
            f"{len(missing):,} of {len(values):,} values, the first in row {missing[0]:,}: "
            "leave these items out."
        )
    return values


def _texts(column: pl.Series) -> list[str]:
    """Names of groups or clusters; missing ones are a group of their own."""
    return stripped(column).cast(pl.String).fill_null(MISSING).to_list()


def _of_classes(positive: Any, gold: list[Any], learnt: tuple[Any, ...] | None) -> Any:
    """Class that a text from the command line stands for."""
    if not isinstance(positive, str):
        return positive
    classes = {
        str(label): label for labels in (gold, learnt[1] if learnt else ()) for label in labels
    }
    return classes.get(positive, positive)


# Items to label next, and how many verdicts and labels an evaluation needs.


class NextLabels(NamedTuple):
    """Labels to take next among the items of one group with one verdict."""

    group: object
    verdict: object
    unlabelled: int
    labels: int


def next_labels(items: Ints, labelled: Ints, outcomes: Floats, n: int) -> Ints:
    """Numbers of labels, of n, that shorten the intervals of groups most, by group and verdict.

    ``items`` and ``labelled`` (G, V) are numbers of items, ``outcomes`` (G, V, K) sums of the
    labels. One label after the other goes where it lowers the sum of variances most.
    """
    K = outcomes.shape[-1]
    overall = outcomes.sum(axis=(0, 1)) + 1.0
    means = (outcomes + 2 * overall / overall.sum()) / (labelled[..., None] + 2)
    variances = (means * (1 - means)).sum(axis=-1) / 2 + 0.25 / (labelled + K)
    weights = (items / np.maximum(items.sum(axis=1, keepdims=True), 1)) ** 2 * variances
    added = np.zeros_like(labelled)
    for _ in range(n):
        sizes = labelled + added
        gain = np.where(sizes < items, weights / np.maximum(sizes * (sizes + 1), 0.5), -1.0)
        best = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[best] < 0:
            break
        added[best] += 1
    return added


@dataclass(frozen=True)
class CostPlan:
    """Cheapest numbers of verdicts and labels for an interval of some half-width.

    Attributes
    ----------
    n_items, n_gold : int
        Items to judge, and how many of them to label.
    cost : float
        What this costs.
    n_alone, cost_alone : int, float
        Labels that are needed without a judge, and what they cost.
    half_width : float
        Half-width of the interval, in units of the rate or mean.
    """

    n_items: int
    n_gold: int
    cost: float
    n_alone: int
    cost_alone: float
    half_width: float

    def sentence(self) -> str:
        """The plan in words."""
        if self.n_gold >= self.n_alone or self.cost >= self.cost_alone:
            return (
                f"For an interval of ±{self.half_width:.3g}, labels alone are cheapest: "
                f"{self.n_alone:,} of them, for {self.cost_alone:,.2f}."
            )
        return (
            f"For an interval of ±{self.half_width:.3g}, judge {self.n_items:,} items and "
            f"label {self.n_gold:,} of them, for {self.cost:,.2f}. Labels alone: "
            f"{self.n_alone:,}, for {self.cost_alone:,.2f}."
        )


def cost_plan(
    variance: float,
    left: float,
    half_width: float,
    *,
    judge_price: float,
    human_price: float,
    level: float = 0.95,
) -> CostPlan:
    """Cheapest plan for a half-width, by two-phase sampling.

    ``variance`` is that of the gold labels, ``left`` the part of it that verdicts do not
    explain. The variance of the estimate is ``left / n_gold + (variance - left) / n_items``.
    """
    level = check_fraction("level", level)
    for name, value in (
        ("half_width", half_width),
        ("judge_price", judge_price),
        ("human_price", human_price),
    ):
        check_positive(name, value)
    target = (half_width / float(special.ndtri((1 + level) / 2))) ** 2
    explained = max(variance - left, 0.0)
    n_alone = max(int(np.ceil(variance / target)), 2)
    alone = n_alone * human_price
    prices = np.sqrt(judge_price), np.sqrt(human_price)
    total = np.sqrt(left) * prices[1] + np.sqrt(explained) * prices[0]
    n_gold = max(int(np.ceil(np.sqrt(left) / prices[1] * total / target)), 2)
    n_items = max(int(np.ceil(np.sqrt(explained) / prices[0] * total / target)), n_gold)
    cost = n_gold * human_price + n_items * judge_price
    return CostPlan(n_items, n_gold, cost, n_alone, alone, half_width)
