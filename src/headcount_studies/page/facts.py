"""Facts about the run of a study, in words and small tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headcount._text import Table
from headcount_studies.engine.sections import Section
from headcount_studies.page.tables import study_table

if TYPE_CHECKING:
    import polars as pl

    from headcount_studies.engine.spec import Spec
    from headcount_studies.engine.status import Status

__all__ = [
    "dataset_table",
    "duration",
    "failure_table",
    "file_table",
    "is_complete",
    "method_table",
    "study_facts",
    "summary",
]

_MOST_NAMES = 5


def is_complete(status: Status) -> bool:
    """True if all tasks of the plan have results."""
    return status.done == status.tasks


def summary(spec: Spec, status: Status, results: pl.DataFrame) -> list[str]:
    """Sentences on the runs, their speed, and failures.

    Parameters
    ----------
    spec : Spec
        Definition of the study.
    status : Status
        Progress of the study.
    results : polars.DataFrame
        One row per method and sample.

    Returns
    -------
    list of str
    """
    ran = [each for each in status.datasets if each.runs]
    samples = results.lazy().group_by("dataset", "method").len().collect()["len"]
    most = "up to " if samples.n_unique() > 1 else ""
    sentences = [
        f"{_counted(len(spec.methods), 'method')} on {_counted(len(ran), 'dataset')}, "
        f"{most}{_counted(_largest(samples), 'sample')} each: {_counted(status.runs, 'run')}."
    ]
    if status.runs_per_second is not None:
        sentences.append(
            f"They took {duration(status.seconds)}, {_rate(status.runs_per_second)} runs per "
            "second."
        )
    if not is_complete(status):
        failed = f", {status.failed:,} of which failed" if status.failed else ""
        sentences.append(
            f"Not done: {status.tasks - status.done:,} of {_counted(status.tasks, 'task')}"
            f"{failed}."
        )
    lost = sum(each.runs for each in status.failures if each.method is not None)
    sentences.append(
        f"{_counted(lost, 'run')} failed ({100 * lost / max(status.runs, 1):.2g}%)."
        if lost
        else "No run failed."
    )
    return sentences


def _largest(counts: pl.Series) -> int:
    return int(counts.to_numpy().max(initial=0))


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def duration(seconds: float) -> str:
    """Time as text.

    Examples
    --------
    >>> duration(12), duration(750), duration(11_000)
    ('12 s', '12 min 30 s', '3 h 3 min')
    """
    if seconds < 9.5:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def _moment(known: Mapping[str, Any]) -> str:
    at = str(known.get("at", "unknown"))
    return at.replace("T", " ").replace("+00:00", " UTC")


def failure_table(status: Status) -> Table | None:
    """Failures by method and reason, with runs and datasets; None without failures."""
    import polars as pl

    lost: dict[tuple[str, str], dict[str, int]] = {}
    for each in status.failures:
        about = lost.setdefault((each.method or "whole tasks", each.reason), {})
        about[each.dataset] = about.get(each.dataset, 0) + each.runs
    if not lost:
        return None
    rows = [
        (method, sum(runs.values()), _listed(list(runs)), reason)
        for (method, reason), runs in lost.items()
    ]
    table = pl.DataFrame(rows, ["method", "runs", "datasets", "reason"], orient="row")
    return study_table(Section("Failures", table=table))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def dataset_table(status: Status) -> Table:
    """Tasks, runs and time of each dataset."""
    import polars as pl

    table = pl.DataFrame(
        {
            "dataset": [each.dataset for each in status.datasets],
            "tasks": [each.tasks for each in status.datasets],
            "done": [each.done for each in status.datasets],
            "failed": [each.failed for each in status.datasets],
            "runs": [each.runs for each in status.datasets],
            "seconds of work": [round(each.seconds) for each in status.datasets],
        }
    )
    return study_table(Section("Datasets", table=table))


def method_table(seconds: Mapping[str, Mapping[str, float]]) -> Table | None:
    """Time of each method over all datasets; None if it was not measured."""
    import polars as pl

    sums: dict[str, float] = {}
    for own in seconds.values():
        for name, spent in own.items():
            sums[name] = sums.get(name, 0.0) + spent
    if not sums:
        return None
    table = pl.DataFrame({"method": list(sums), "seconds of work": list(sums.values())})
    return study_table(Section("Methods", table=table))


def file_table(data: Mapping[str, Mapping[str, str]]) -> Table | None:
    """Files of the datasets with their checksums; None if there are none."""
    import polars as pl

    rows = [(name, file, sha) for name, files in data.items() for file, sha in files.items()]
    if not rows:
        return None
    table = pl.DataFrame(rows, ["dataset", "file", "SHA-256"], orient="row")
    return study_table(Section("Files", table=table))


def study_facts(
    spec: Spec, status: Status, runs: Sequence[tuple[dict[str, Any], Any]]
) -> dict[str, str]:
    """Facts about a study by name.

    Parameters
    ----------
    spec : Spec
        Definition of the study.
    status : Status
        Progress of the study.
    runs : sequence of pairs
        Entries of the journal, one per start.

    Returns
    -------
    dict of str to str
    """
    facts = {"paper": spec.paper} if spec.paper else {}
    facts |= {
        "methods": ", ".join(method.name for method in spec.methods),
        "metrics": ", ".join(spec.metrics),
        "seed": str(spec.seed),
        "tasks": f"{status.done:,} of {status.tasks:,} done",
        "runs": f"{status.runs:,}",
        "time": duration(status.seconds),
    }
    if status.runs_per_second is not None:
        facts["runs per second"] = _rate(status.runs_per_second)
    started = [known for known, _ in runs]
    if started:
        facts["started"] = f"{_counted(len(started), 'time')}, first {_moment(started[0])}"
        used = {
            ", ".join(f"{name} {number}" for name, number in known.get("versions", {}).items())
            for known in started
        }
        facts["versions of the runs"] = "; ".join(sorted(used - {""}))
        workers = dict.fromkeys(
            str(known["workers"]) for known in started if "workers" in known
        )
        if workers:
            facts["worker processes"] = ", ".join(workers)
    return {name: value for name, value in facts.items() if value}
