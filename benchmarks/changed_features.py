"""Which feature changed: `hc.what_changed` on real data, beside nannyml's univariate drift.

Labelled and new items are disjoint draws of a table; the classes of the new items are resampled
to random shares (Dirichlet). In half of the cases nothing else changes. In the others one
feature, drawn at random, changes as well: numbers are shifted by .3, .5 or 1 standard deviation
or 30% of them replaced by values from the upper half, 40% of a value of a category replaced by
another or by a new value, 10% of the values removed, or a word added to 15% of the texts.
Changes of fewer than 5% of the items are drawn again.

    python benchmarks/changed_features.py [--final] [--nannyml PYTHON] [--repeats 10]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.tables.preparation import prepare
from real_datasets import data_folder

# Settings were chosen on these. Look at them as often as you like.
DEVELOPMENT = (
    "adult", "bike", "wine", "wine by quality", "vgame", "mush", "nurse", "contra", "drugs",
    "ener", "occup", "spam", "elec2", "bank marketing", "compas", "trump vote", "kershaw",
    "amazon blitzer", "clothing reviews", "airline tweets", "newsgroups",
)  # fmt: skip

# Looked at once, at the end. No setting may be chosen by their results.
FINAL = (
    "ccard", "phish", "magic", "turk", "diam", "acs employment", "gusto", "crash", "rodents",
    "election tweets", "amazon musical",
)  # fmt: skip

_quality = pl.col("quality")
# File, labels, columns that are left out.
TABLES = {
    "adult": ("adult", "Income", ["Census_Weight", "split"]),
    "bike": (
        "bike", pl.col("cnt") > 100, ["instant", "casual", "registered", "dteday", "cnt"]
    ),
    "wine": ("wine", _quality > 5, ["good", "quality"]),
    "wine by quality": ("wine", _quality.clip(4, 7), ["good", "quality"]),
    "vgame": (
        "vgame",
        pl.col("Critic_Score") > 72,
        ["Name", "Publisher", "Developer", "Critic_Score", "Global_Sales"],
    ),
    "mush": ("mush", "result", []),
    "nurse": ("nurse", "Class", []),
    "contra": ("contra", "Contraceptive_method", []),
    "drugs": ("drugs", pl.col("mushrooms") != "CL0", ["id", "mushrooms"]),
    "ener": ("ener", pl.col("Appliances") > 60, ["date", "rv1", "rv2", "Appliances"]),
    "occup": ("occup", "Occupancy", ["date", "split"]),
    "spam": ("spam", "spam", []),
    "elec2": ("elec2", "target", ["date"]),
    "bank marketing": (
        "dated/bank_marketing", "y", ["row_order", "year_month_inferred", "month"]
    ),
    "compas": ("dated/compas", "two_year_recid", ["compas_screening_date", "year_month"]),
    "trump vote": ("dated/trump_vote_2016", "votetrump", []),
    "kershaw": ("dated/kershaw_pitches", "PitchType", ["Time", "date"]),
    "amazon blitzer": ("amazon_blitzer", "label", ["rating", "date"]),
    "clothing reviews": (
        "womens_clothing_reviews", "Recommended IND", ["Rating", "Clothing ID"]
    ),
    "airline tweets": (
        "dated/text_airline_tweets",
        "airline_sentiment",
        ["tweet_created", "day", "airline_sentiment_confidence"],
    ),
    "newsgroups": ("newsgroups20", "Category", ["split"]),
    "ccard": ("ccard", "DEFAULT_PAYMENT", ["ID"]),
    "phish": ("phish", "Result", []),
    "magic": ("magic", "class", []),
    "turk": ("turk", "instr", ["class", "nb.repeat"]),
    "diam": ("diam", "cut", []),
    "acs employment": (
        "acs_employment_ma", "employed", ["id", "year", "prediction", "predicted_probability"]
    ),
    "gusto": ("dated/gusto_regions", "day30", ["grpl", "grps"]),
    "crash": ("dated/crash_nass", "dead", ["weight"]),
    "rodents": ("dated/portal_rodents", "species_id", ["year", "day"]),
    "election tweets": (
        "election_tweets_2016",
        "Author",
        ["Time", "Longitude", "Latitude", "Source URL", "Original author", "Place"],
    ),
    "amazon musical": (
        "amazon_musical",
        "overall",
        ["reviewerID", "asin", "reviewerName", "unixReviewTime", "reviewTime", "helpful"],
    ),
}  # fmt: skip
assert set(TABLES) == {*DEVELOPMENT, *FINAL}

# Numbers of labelled and new items, in turn.
SIZES = ((2000, 1500), (500, 500))
NEW_WORD = "zyzzyva"

EXPLANATION = """\
By `benchmarks/changed_features.py`, which explains the cases. *Blamed anything*: only the mix
changed, and any column was blamed (goal: at most 5%). *Ranked first*: the changed column comes
first (goal: at least 80%). *Others blamed*: mean number of columns that were blamed but did not
change. *Word first*: the added word comes first. nannyml's columns: Jensen-Shannon distance in
chunks of an eighth of the labelled items, ranked by alerts, ties by mean distance; *anything*:
a column has alerts in at least half of the chunks. It does not rank texts, which are left out
of its figures, and measures missing numbers elsewhere (see the row *missing*)."""


def read(name):
    """Table with its labels in the column "label"; classes of less than 1% are dropped."""
    file, target, drop = TABLES[name]
    path = data_folder() / f"{file}.parquet"
    if path.exists():
        frame = pl.read_parquet(path)
    else:
        frame = pl.read_csv(data_folder() / f"{file}.csv.gz", infer_schema_length=None)
    labels = pl.col(target) if isinstance(target, str) else target
    frame = frame.with_columns(labels.cast(pl.String).alias("label")).drop_nulls("label")
    used = [target] if isinstance(target, str) and target != "label" else []
    frame = frame.drop([*drop, *used])
    counts = frame["label"].value_counts()
    common = counts.filter(pl.col("count") >= max(60, 0.01 * len(frame)))["label"]
    return frame.filter(pl.col("label").is_in(common.implode()))


def draw(frame, size, rng):
    """Labelled items, and new ones with other shares of the classes."""
    n_labelled, n_new = min(size[0], len(frame) // 2), size[1]
    order = rng.permutation(len(frame))
    labelled, pool = frame[order[:n_labelled]], frame[order[n_labelled:]]
    labels = pool["label"].to_numpy()
    classes = np.unique(labelled["label"].to_numpy())
    shares = rng.dirichlet(np.ones(len(classes)))
    available = np.array([(labels == label).sum() for label in classes])
    n = max(300, int(min(n_new, (available / np.maximum(shares, 1e-9)).min())))
    counts = np.minimum(rng.multinomial(n, shares), available)
    rows = [
        rng.choice(np.flatnonzero(labels == label), count, replace=False)
        for label, count in zip(classes, counts, strict=True)
    ]
    return labelled, pool[rng.permutation(np.concatenate(rows))]


def changed_numbers(column, rng):
    what = str(rng.choice(["shift .3", "shift .5", "shift 1", "upper values", "missing"]))
    values = column.to_numpy().astype(float).copy()
    after, present = values.copy(), ~np.isnan(values)
    if what.startswith("shift"):
        after += float(what.split()[1]) * np.nanstd(values)
        if (values[present] == np.round(values[present])).all():
            after = np.round(after)
    elif what == "missing":
        after[rng.random(len(after)) < 0.1] = np.nan
    else:
        rows = rng.random(len(after)) < 0.3
        after[rows] = rng.choice(values[present & (values >= np.nanmedian(values))], rows.sum())
    return what, pl.Series(column.name, after).fill_nan(None), ""


def changed_values(column, rng):
    what = str(rng.choice(["another value", "new value", "missing"]))
    values = column.cast(pl.String).to_list()
    counts = column.cast(pl.String).drop_nulls().value_counts(name="count")
    names = counts.sort(column.name)[column.name].to_list()
    large = counts.filter(pl.col("count") > 0.1 * len(values)).sort(column.name)[column.name]
    value = str(rng.choice(large.to_list() or names))
    others = [name for name in names if name != value]
    if what == "another value" and not others:
        what = "new value"
    to = {"another value": others and str(rng.choice(others)), "new value": "never seen"}
    if what == "missing":
        rows = rng.random(len(values)) < 0.1
    else:
        rows = (rng.random(len(values)) < 0.4) & (np.array(values, object) == value)
    after = [to.get(what) if row else old for old, row in zip(values, rows, strict=True)]
    return what, pl.Series(column.name, after, pl.String), ""


def changed_texts(column, rng):
    what = str(rng.choice(["word", "new word"]))
    texts = column.fill_null("").to_list()
    words = [word for word in " ".join(texts[:200]).lower().split() if word.isalpha()]
    word = NEW_WORD if what == "new word" else str(rng.choice([w for w in words if len(w) > 3]))
    rows = rng.random(len(texts)) < 0.15
    after = [
        f"{text} {word}" if row and word not in text.lower().split() else text
        for text, row in zip(texts, rows, strict=True)
    ]
    return what, pl.Series(column.name, after), word


def change(new, kinds, rng):
    """Kind of the change, the new items with it, the column and the word."""
    makers = {"number": changed_numbers, "text": changed_texts}
    while True:
        name = str(rng.choice(list(kinds)))
        what, after, word = makers.get(kinds[name], changed_values)(new[name], rng)
        before = new[name].cast(after.dtype)
        moved = ~before.eq_missing(after)
        if moved.mean() >= 0.05:
            return what, new.with_columns(after), name, word


def cases(names, repeats):
    """Cases with nothing but another mix, and with one changed feature."""
    for name in names:
        frame = read(name)
        for repeat in range(repeats):
            size = SIZES[repeat % len(SIZES)]
            rng = np.random.default_rng(crc32(f"{name} {repeat}".encode()))
            labelled, new = draw(frame, size, rng)
            preparation = prepare(labelled.drop("label"))
            kinds = {
                column.name: column.kind
                for column in preparation.columns
                if column.kind in ("number", "category", "flag", "text")
            }
            labels = labelled["label"]
            # Booleans as texts, so that they can have new values.
            texts = pl.col(pl.Boolean).cast(pl.String)
            labelled, new = (
                preparation.conform(side).select(list(kinds)).with_columns(texts)
                for side in (labelled, new)
            )
            facts = {"table": name, "repeat": repeat, "items": f"{size[0]:,} and {size[1]:,}"}
            labelled = labelled.with_columns(labels)
            yield facts | {"change": "none"}, kinds, labelled, new
            what, after, column, word = change(new, kinds, rng)
            yield (
                facts | {"change": what, "column": column, "word": word},
                kinds,
                labelled,
                after,
            )


def measured(facts, labelled, new):
    """What `what_changed` says of a case."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes = hc.what_changed(new, train=labelled, target="label")
    row = facts | {
        "seconds": time.process_time() - start,
        "columns": len(changes.columns),
        "blamed": len(changes.changed),
    }
    if facts["change"] != "none":
        first = changes.columns[0]
        row["first"] = first.column == facts["column"]
        row["found"] = facts["column"] in changes.changed
        row["others"] = len(changes.changed) - row["found"]
        if facts["word"]:
            row["word first"] = bool(first.words) and first.words[0].value == facts["word"]
    return row


def nannyml_rows(python, folder):
    """Ranking of columns by nannyml for the cases in a folder, by number of the case."""
    script = Path(__file__).with_name("changed_features_nannyml.py")
    subprocess.run([python, str(script), str(folder)], check=True)
    return json.loads((folder / "answers.json").read_text())


def summary(rows, by):
    """Top-1 accuracy and blame."""
    same = pl.col("change") == "none"
    measures = [
        same.sum().alias("only the mix"),
        (100 * (pl.col("blamed") > 0).filter(same).mean()).round(1).alias("blamed anything %"),
        (~same).sum().alias("one change"),
        (100 * pl.col("first").mean()).round(1).alias("ranked first %"),
        (100 * pl.col("found").mean()).round(1).alias("blamed %"),
        pl.col("others").mean().round(2).alias("others blamed"),
        (100 * pl.col("word first").mean()).round(0).alias("word first %"),
        (100 * pl.col("nannyml first").mean()).round(1).alias("nannyml: first %"),
        (100 * pl.col("nannyml any").filter(same).mean()).round(1).alias("nannyml: anything %"),
        pl.col("seconds").mean().round(2).alias("seconds"),
    ]
    return rows.group_by(by, maintain_order=True).agg(measures)


def markdown(frame):
    lines = [frame.columns, ["---"] * frame.width]
    lines += [["" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(rows, head):
    every = pl.lit("all").alias("cases")
    parts = [head]
    for title, by in (
        ("All cases", every), ("By numbers of labelled and new items", "items"),
        ("By kind of change", "change"), ("By table", "table"),
    ):  # fmt: skip
        parts.append(f"## {title}\n\n{markdown(summary(rows, by))}")
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--final", action="store_true", help="the datasets set aside")
    parser.add_argument("--nannyml", help="a Python that has nannyml")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    names = chosen.only or (FINAL if chosen.final else DEVELOPMENT)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (facts, kinds, labelled, new) in enumerate(cases(names, chosen.repeats)):
            rows.append(measured(facts, labelled, new))
            print(rows[-1], flush=True)
            plain = [name for name, kind in kinds.items() if kind != "text"]
            if chosen.nannyml and plain:
                labelled.select(plain).write_parquet(Path(folder) / f"{i}-old.parquet")
                new.select(plain).write_parquet(Path(folder) / f"{i}-new.parquet")
        answers = nannyml_rows(chosen.nannyml, Path(folder)) if chosen.nannyml else {}
    for i, row in enumerate(rows):
        answer = answers.get(str(i))
        row["nannyml any"] = None if answer is None else bool(answer["alerted"])
        row["nannyml first"] = None
        if answer is not None and row["change"] != "none" and not row["word"]:
            row["nannyml first"] = answer["ranking"][0] == row["column"]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    for name in ("first", "found", "others", "word first"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.Boolean).alias(name))
    which = "final" if chosen.final else "development"
    facts = "\n".join(f"- {key}: {value}" for key, value in describe_machine().items())
    head = f"# Which feature changed: {which} datasets\n\n{EXPLANATION}\n\n{facts}"
    text = report(frame, head)
    name = f"changed_features{'_final' if chosen.final else ''}.md"
    ((chosen.output or RESULTS) / name).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
