"""Torture of monitors and files: kills, crash points, full disks, concurrency, damage.

    python torture.py [PART ...] [--kills 200] [--damages 400] [--output FOLDER]

Parts: kills, crashes, disk, concurrent, notices, damage. Each update runs in a process of its
own. After each disturbance the same update is run again, and in the end the folder must be the
same, byte by byte, as that of a monitor that was never disturbed. Damaged files must be read as
before, or be refused by one sentence. Files of rows are packed as soon as there are a few. The
counts are written to results/torture.md, and with --docs into docs/engineer.md.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from environment import PROJECT, RESULTS, command_line, describe_machine
from headcount._support import files
from headcount.monitor import folder as monitor_folder
from headcount.tables.model_files import load_model
from headcount.tables.readers import open_table
from tables import bullets, markdown_table, replace_between

MOST_PER_UPDATE, MOST_SECONDS = 10, 300
N_DAYS, N_ROWS, N_PACKED = 8, 2000, 5
DISTURBED = 9  # exit code of a process that was disturbed
# Children of a server that has imported everything, and has done nothing else.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["headcount", "headcount.monitor"])

Row = list[str]


def scored(rng: np.random.Generator, n: int, share: float) -> pl.DataFrame:
    fraud = rng.random(n) < share
    score = rng.beta(1 + 3 * fraud, 1 + 3 * ~fraud)
    return pl.DataFrame({"fraud": score, "label": np.where(fraud, "fraud", "ok")})


def make_files(folder: Path, n_days: int) -> None:
    """Two monitors without rows, and the files of each update: late rows, later labels."""
    rng = np.random.default_rng(0)
    options = {"target": "label", "by": "day", "key": "id", "compare_reference": False}
    hc.Monitor.create(folder / "disturbed", scored(rng, 2000, 0.2), **options)
    shutil.copytree(folder / "disturbed", folder / "quiet")
    days: list[pl.DataFrame] = []
    for day in range(n_days):
        rows = scored(rng, N_ROWS, 0.2 if day < n_days // 2 else 0.35).with_columns(
            day=pl.lit(str(date(2025, 1, 1) + timedelta(days=day))),
            id=pl.int_range(N_ROWS) + day * N_ROWS,
        )
        days.append(rows)
        late = [] if day == 0 else [days[day - 1][N_ROWS // 2 :]]
        table = pl.concat([rows[: N_ROWS // 2], *late]).drop("label")
        table.write_csv(folder / f"{day}.csv")
        if day >= 2:
            days[day - 2].select("id", "label").write_csv(folder / f"{day}-labels.csv")


def prepared(n_days: int) -> Path:
    folder = Path(tempfile.mkdtemp())
    ran(make_files, folder, n_days)
    return folder


def update(folder: Path, name: str, day: int, begun: Any = None, wait: float = 0) -> None:
    monitor_folder._PACKED = N_PACKED
    monitor = hc.Monitor.open(folder / name, wait=wait)
    if begun is not None:
        begun.set()
    labels = folder / f"{day}-labels.csv"
    monitor.update(folder / f"{day}.csv", labels if labels.exists() else None)


def ran(target: Callable[..., None], *arguments: Any) -> int | None:
    """Exit code of a function in a process of its own."""
    child = CONTEXT.Process(target=target, args=arguments)
    child.start()
    child.join()
    return child.exitcode


def content(folder: Path) -> dict[str, bytes]:
    paths = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(f.relative_to(folder)): f.read_bytes() for f in paths if f.name != "lock"}


def same_folders(folder: Path) -> str:
    """Compare both monitors, then remove everything."""
    quiet = content(folder / "quiet")
    same = content(folder / "disturbed") == quiet
    n_packs = sum(name.endswith(".zip") for name in quiet)
    shutil.rmtree(folder)
    if not same or not n_packs:
        return "DIFFERENT FILES"
    return f"all {len(quiet)} files byte-identical, {n_packs} of them packs"


def kills(n: int) -> Iterator[Row]:
    """Updates that are killed at random moments, until one finishes or ten were killed.

    A moment is drawn from the time that the undisturbed update took. A disturbed one may be
    faster, so the updates are at most as many as the kills asked for.
    """
    rng, n_days = np.random.default_rng(1), max(n, N_DAYS)
    folder = prepared(n_days)
    killed = finished = day = 0
    while day < n_days and (killed < n or day < N_DAYS):
        lasting = seconds_taken(folder, "quiet", day)
        for _ in range(min(MOST_PER_UPDATE, n - killed)):
            if seconds_taken(folder, "disturbed", day, rng.uniform(0, lasting)) is not None:
                finished += 1
                break
            killed += 1
        ran(update, folder, "disturbed", day)
        day += 1
    cases = f"{killed} kills in {day} updates; {finished} finished before the kill"
    yield ["killed at a random moment (SIGKILL)", cases, same_folders(folder)]


def seconds_taken(folder: Path, name: str, day: int, kill_after: Any = None) -> Any:
    """Seconds that an update took; None if it was killed before it finished."""
    begun = CONTEXT.Event()
    child = CONTEXT.Process(target=update, args=(folder, name, day, begun))
    child.start()
    assert begun.wait(MOST_SECONDS), f"the update of day {day} has not begun"
    start = time.perf_counter()
    child.join(kill_after)
    taken = None if child.exitcode is None else time.perf_counter() - start
    child.kill()
    child.join()
    return taken


def disturbed_update(folder: Path, day: int, when: str) -> None:
    """Update in which the process ends at the first file, or the disk is full.

    Packed files that are removed count as well; partial files of a killed process do not.
    """

    def act(real: Callable[..., Any], *arguments: Any) -> None:
        if when == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if when == "after":
            real(*arguments)
        os._exit(DISTURBED)

    if when == "full":
        real_sync = os.fsync
        files.os.fsync = lambda number: act(real_sync, number)
    else:
        real_replace, real_unlink = Path.replace, Path.unlink

        def unlink(path: Path, missing_ok: bool = False) -> None:
            if path.suffix == ".parquet":
                act(real_unlink, path)
            real_unlink(path, missing_ok)

        Path.replace = lambda path, target: act(real_replace, path, target)
        Path.unlink = unlink
    try:
        update(folder, "disturbed", day)
    except hc.HeadcountError as error:
        if when != "full" or "No space left" not in str(error):
            raise
        os._exit(DISTURBED)


def at_each_file(when: str, title: str) -> Iterator[Row]:
    """Disturb the update at its first file; a crash after it gets further."""
    folder, points = prepared(N_DAYS), 0
    for day in range(N_DAYS):
        ran(update, folder, "quiet", day)
        while (code := ran(disturbed_update, folder, day, when)) != 0:
            assert code == DISTURBED, code
            ran(disturbed_update, folder, day, "after")
            points += 2 if when == "before" else 1
    yield [title, f"{points} points", same_folders(folder)]


def crashes(n: int) -> Iterator[Row]:
    """A process that ends before and after each file that it writes or removes."""
    title = "ended before or after each file was put in its place or removed"
    yield from at_each_file("before", title)


def disk(n: int) -> Iterator[Row]:
    """A disk that is full at each file."""
    yield from at_each_file("full", "no space left on the disk (injected)")


def concurrent(n: int) -> Iterator[Row]:
    """All updates at once: those that wait, and those that are refused and repeated."""
    folder = prepared(N_DAYS)
    for day in range(N_DAYS):
        ran(update, folder, "quiet", day)
    # Labels follow their rows, so rows come first in whatever order.
    children = []
    for day in np.random.default_rng(0).permutation(N_DAYS).tolist():
        child = CONTEXT.Process(target=add_rows, args=(folder, day, 600.0))
        child.start()
        children.append(child)
    for child in children:
        child.join()
    codes = Counter(child.exitcode for child in children)
    for day in range(N_DAYS):
        ran(update, folder, "disturbed", day)
    shares = ran(same_answers, folder)
    outcome = "the same shares and alerts" if shares == 0 else "DIFFERENT ANSWERS"
    shutil.rmtree(folder)
    yield ["at once, waiting for the lock", f"{codes[0]} of {N_DAYS} finished", outcome]
    folder = prepared(N_DAYS)
    for day in range(N_DAYS):
        ran(update, folder, "quiet", day)
    refused = rounds = 0
    waiting = list(range(N_DAYS))
    while waiting:
        rounds += 1
        children = [
            CONTEXT.Process(target=add_rows, args=(folder, day, 0.0)) for day in waiting
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert {child.exitcode for child in children} <= {0, 5}
        waiting = [
            day for day, child in zip(waiting, children, strict=True) if child.exitcode == 5
        ]
        refused += len(waiting)
    for day in range(N_DAYS):
        ran(update, folder, "disturbed", day)
    outcome = "the same shares and alerts" if not ran(same_answers, folder) else "DIFFERENT"
    shutil.rmtree(folder)
    cases = f"{refused} refused by one sentence in {rounds} rounds"
    yield ["at once, refused and repeated", cases, outcome]


def add_rows(folder: Path, day: int, wait: float) -> None:
    monitor_folder._PACKED = N_PACKED
    try:
        hc.Monitor.open(folder / "disturbed", wait=wait).update(folder / f"{day}.csv")
    except hc.HeadcountError as error:
        os._exit(5 if "being written by another run" in str(error) else 6)


def same_answers(folder: Path) -> None:
    quiet, disturbed = (hc.Monitor.open(folder / name) for name in ("quiet", "disturbed"))
    same = (
        quiet.to_frame().equals(disturbed.to_frame()) and quiet.alerts() == disturbed.alerts()
    )
    os._exit(0 if same else 1)


def notices(n: int) -> Iterator[Row]:
    """Commands of --on-alert, with a process that ends before or after each file."""
    seen, twice, points = 0, 0, 0
    for when in ("before", "after"):
        for number in range(1, 60):
            folder = prepared(N_DAYS)
            for day in range(N_DAYS - 1):
                ran(update, folder, "disturbed", day)
            code = ran(notified_update, folder, number, when)
            ran(notified_update, folder, 0, when)
            ran(notified_update, folder, 0, when)
            notes = folder / "notes"
            lines = notes.read_text().splitlines() if notes.exists() else []
            names = Counter(json.loads(line)["alert"] for line in lines)
            opened = hc.Monitor.open(folder / "disturbed").status().open
            shutil.rmtree(folder)
            points, seen = points + 1, seen + all(alert.name in names for alert in opened)
            twice += any(count > 1 for count in names.values())
            if code != DISTURBED:
                break
    cases = f"{points} points"
    yield ["--on-alert, ended at each file", cases,
           f"the command had run for all open alerts in {seen}, twice in {twice}"]  # fmt: skip


def notified_update(folder: Path, number: int, when: str) -> None:
    from headcount.cli.execute import execute

    count, real_replace = 0, Path.replace

    def act(path: Path, target: Path) -> Any:
        nonlocal count
        count += 1
        if count == number and when == "before":
            os._exit(DISTURBED)
        done = real_replace(path, target)
        if count == number:
            os._exit(DISTURBED)
        return done

    Path.replace = act
    sys.stdout = StringIO()
    table = str(folder / f"{N_DAYS - 1}.csv")
    hook = f"cat >> {folder / 'notes'}"
    execute(["monitor", "update", str(folder / "disturbed"), table, "--on-alert", hook])
    os._exit(0)


def damage(n: int) -> Iterator[Row]:
    """Files of which some bytes are others, or the end is missing."""
    folder = prepared(N_DAYS)
    for day in range(N_DAYS):
        ran(update, folder, "quiet", day)
    shutil.rmtree(folder / "disturbed")
    yield ["file of a monitor", *damaged_monitor(folder, n)]
    tables = damaged_tables(folder)
    for title, (file, read) in tables.items():
        yield [title, *damaged_file(file, read, n)]
    shutil.rmtree(folder)


def damages(original: bytes, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    for number in range(n):
        changed = bytearray(original)
        if number % 4 == 0:
            changed = changed[: rng.integers(len(original))]
        else:
            for _ in range(int(rng.integers(1, 8))):
                changed[rng.integers(len(original))] = int(rng.integers(256))
        yield bytes(changed)


def outcome_of(read: Callable[[], Any]) -> str:
    try:
        read()
    except hc.HeadcountError as error:
        return "one sentence" if "\n" not in str(error) else "SEVERAL LINES"
    except BaseException as error:
        return f"FAILED with {type(error).__name__}"
    return "read"


def summed_up(outcomes: Counter[str], n: int) -> list[str]:
    return [f"{n} damages", ", ".join(f"{count} {name}" for name, count in outcomes.items())]


def damaged_monitor(folder: Path, n: int) -> list[str]:
    rng, outcomes = np.random.default_rng(2), Counter[str]()
    monitor = folder / "quiet"
    hc.Monitor.open(monitor).rebase("2025-01-02")
    paths = [
        file for file in sorted(monitor.rglob("*")) if file.is_file() and file.name != "lock"
    ]
    before = str(hc.Monitor.open(monitor).status())
    for number in range(n):
        file = paths[number % len(paths)]
        original = file.read_bytes()
        file.write_bytes(next(damages(original, 1 + number % 2, rng)) if number % 3 else b"")

        def read() -> None:
            opened = hc.Monitor.open(monitor)
            opened.status()
            opened.update(folder / f"{N_DAYS - 1}.csv")
            opened.to_frame()

        outcomes[outcome_of(read)] += 1
        file.write_bytes(original)
        for extra in set(monitor.rglob("*.json")) - set(paths):
            extra.unlink()
    assert str(hc.Monitor.open(monitor).status()) == before
    return summed_up(outcomes, n)


def damaged_tables(folder: Path) -> dict[str, tuple[Path, Callable[[], Any]]]:
    rng = np.random.default_rng(3)
    table = scored(rng, 300, 0.3).with_columns(region=pl.lit("north"))
    for ending in ("csv", "parquet", "arrow", "ndjson", "xlsx"):
        path = folder / f"table.{ending}"
        writers = {"csv": table.write_csv, "parquet": table.write_parquet,
                   "arrow": table.write_ipc, "ndjson": table.write_ndjson,
                   "xlsx": table.write_excel}  # fmt: skip
        writers[ending](path)
    scores = np.column_stack([1 - table["fraud"], table["fraud"]])
    quantifier = hc.PACC().fit(hc.Scored(scores), table["label"].to_numpy())
    statistics = hc.Statistics(quantifier)
    statistics.update(hc.Scored(scores))
    statistics.save(folder / "part.stats")
    rows = pl.DataFrame({"x": rng.normal(size=200), "label": ["a", "b"] * 100})
    rows.write_csv(folder / "labelled.csv")
    analysis = hc.analyse(rows.drop("label"), train=rows, target="label")
    analysis.save(folder / "model.skops")
    tables: dict[str, tuple[Path, Callable[[], Any]]] = {}
    for ending in ("csv", "parquet", "arrow", "ndjson", "xlsx"):
        path = folder / f"table.{ending}"
        tables[f"table.{ending}"] = (path, lambda path=path: open_table(path).read())
    stats = folder / "part.stats"
    tables["statistics"] = (
        stats,
        lambda: quantifier.estimate_statistics(hc.Statistics.load(stats)),
    )
    tables["model.skops"] = (folder / "model.skops", lambda: load_model(folder / "model.skops"))
    return tables


def damaged_file(file: Path, read: Callable[[], Any], n: int) -> list[str]:
    rng, outcomes, original = np.random.default_rng(4), Counter[str](), file.read_bytes()
    for changed in damages(original, n, rng):
        file.write_bytes(changed)
        outcomes[outcome_of(read)] += 1
    file.write_bytes(original)
    return summed_up(outcomes, n)


PARTS = {
    "kills": kills, "crashes": crashes, "disk": disk, "concurrent": concurrent,
    "notices": notices, "damage": damage,
}  # fmt: skip


def summed_rows(results: dict[str, list[Row]]) -> list[Row]:
    """Rows of all parts, those of damaged files together."""
    rows = [row for part in PARTS if part != "damage" for row in results.get(part, [])]
    counts = Counter[str]()
    for _, _, outcomes in results.get("damage", []):
        for outcome in outcomes.split(", "):
            count, _, name = outcome.partition(" ")
            counts[name] += int(count)
    cases = f"{counts.total():,} damages of {len(results.get('damage', []))} kinds of files"
    outcome = f"{counts['read']:,} read as before, the others refused by one sentence"
    return [*rows, ["some bytes are others, or the end is missing", cases, outcome]]


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--damages", type=int, default=400)
    parser.add_argument("--docs", action="store_true", help="put the counts into the docs")
    given = parser.parse_args()
    folder = given.output or RESULTS
    file = folder / "torture.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for part in given.parts:
        n = given.damages if part == "damage" else given.kills
        results[part] = []
        for row in PARTS[part](n):
            print(row, flush=True)
            results[part].append(row)
        file.write_text(json.dumps(results, indent=1) + "\n")
    rows = [row for part in PARTS for row in results.get(part, [])]
    text = ["# Torture\n", bullets(describe_machine()), "",
            markdown_table(["disturbance", "cases", "in the end"], rows)]  # fmt: skip
    (folder / "torture.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    if given.docs:
        table = markdown_table(["disturbance", "cases", "in the end"], summed_rows(results))
        replace_between(PROJECT / "docs" / "engineer.md", "torture", table)
    sys.exit(any(word in str(rows) for word in ("DIFFERENT", "FAILED", "SEVERAL")))


if __name__ == "__main__":
    main()
