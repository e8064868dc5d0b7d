"""Comparisons, one per row, with equal settings on both sides."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ROWS", "Row", "rows_for"]

BOTH = ("binary", "multiclass")
BINARY = ("binary",)
MULTICLASS = ("multiclass",)


@dataclass(frozen=True)
class Row:
    """One of our methods compared with one of a peer.

    ``goals`` has the ratio of times to reach, by workload; ``why`` the known differences of the
    estimates.
    """

    name: str
    ours: str
    theirs: str
    our_settings: dict = field(default_factory=dict)
    their_settings: dict = field(default_factory=dict)
    peer: str = "quapy"
    workloads: tuple[str, ...] = BOTH
    goals: dict[str, float] = field(default_factory=dict)
    why: str = ""

    def call(self, side: str) -> str:
        """Constructor call of a side, for the table of settings."""
        name, settings = (
            (f"hc.{self.ours}", self.our_settings)
            if side == "ours"
            else (self.theirs, self.their_settings)
        )
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in settings.items())})"


def _both(goal: float) -> dict[str, float]:
    return dict.fromkeys(BOTH, goal)


SHORT = "the peer's general-purpose solver stops a little short of the optimum"
EARLY = "the peer stops at a mean change below 1e-4; ours goes on to the optimum"
CLIPPED = "the peer solves without constraints, then clips; ours solves on the simplex"

ROWS = (
    Row("CC", "CC", "CC", goals=_both(5)),
    Row("PCC", "PCC", "PCC", goals=_both(5)),
    Row("ACC", "ACC", "ACC", workloads=BINARY, goals={"binary": 100}, why=SHORT),
    Row("ACC", "GAC", "ACC", workloads=MULTICLASS, goals={"multiclass": 50}, why=SHORT),
    Row("PACC", "PACC", "PACC", workloads=BINARY, goals={"binary": 100}, why=SHORT),
    Row("PACC", "GPAC", "PACC", workloads=MULTICLASS, goals={"multiclass": 50}, why=SHORT),
    Row("SLD classic", "SLD", "EMQ", {"calibration": None, "stop": "classic"}, goals=_both(10)),
    Row(
        "SLD converged",
        "SLD",
        "EMQ",
        {"calibration": None, "stop": "converged"},
        goals=_both(1),
        why=EARLY,
    ),
    Row(
        "DyS",
        "DyS",
        "DyS",
        {"bins": 10, "balanced": False, "divergence": "topsoe"},
        {"n_bins": 10, "divergence": "topsoe"},
        workloads=BINARY,
        goals={"binary": 30},
        why="the peer's ternary search stops at 1e-5",
    ),
    Row(
        "HDy",
        "HDy",
        "HDy",
        {"bins": tuple(range(10, 111, 10)), "balanced": False},
        workloads=BINARY,
        goals={"binary": 100},
        why="the peer searches prevalences in steps of 0.01; ours solves",
    ),
    Row("MS", "MS", "MS", {"decimals": None}, workloads=BINARY, goals={"binary": 40}),
    Row(
        "MS2",
        "MS2",
        "MS2",
        {"thresholds": "scores", "decimals": None},
        workloads=BINARY,
        goals={"binary": 40},
    ),
    Row(
        "T50",
        "T50",
        "T50",
        {"decimals": None},
        workloads=BINARY,
        why="two thresholds tie: ours keeps the lower, the peer lets rounding choose",
    ),
    Row("TMAX", "TMAX", "MAX", {"midpoints": False}, workloads=BINARY),
    Row("TX", "TX", "X", workloads=BINARY),
    Row("SMM", "SMM", "SMM", workloads=BINARY),
    Row(
        "DM",
        "DM",
        "DMy",
        {"bins": 8, "divergence": "hellinger"},
        {"nbins": 8, "divergence": "HD"},
        goals=_both(20),
        why="ours adds up squared distances of the classes, the peer the distances themselves",
    ),
    Row(
        "KDEyML",
        "KDEyML",
        "KDEyML",
        {"bandwidth": 0.1, "stop": "converged"},
        {"bandwidth": 0.1},
        goals=_both(200),
        why=SHORT,
    ),
    Row(
        "KDEyHD",
        "KDEyHD",
        "KDEyHD",
        {"bandwidth": 0.1, "n_points": 10_000, "random_state": 0},
        {"bandwidth": 0.1, "montecarlo_trials": 10_000, "random_state": 0},
        goals={"binary": 100},
        why="integrals: the peer's from 10,000 random draws; ours exact for two classes, from "
        "10,000 draws for more",
    ),
    Row(
        "KDEyCS",
        "KDEyCS",
        "KDEyCS",
        {"bandwidth": 0.1},
        {"bandwidth": 0.1},
        goals=_both(50),
        why=SHORT,
    ),
    Row("EDy", "EDy", "EDy", goals=_both(100)),
    Row(
        "CvMy",
        "CvMy",
        "multiclass.energy.CvMy",
        peer="quantificationlib",
        why="ranks: ours among the training items, the peer's among these and the sample's",
    ),
    # A second peer, often the faster of the two.
    Row(
        "ACC*",
        "ACC",
        "baselines.ac.AC",
        their_settings={"distance": "L2"},
        peer="quantificationlib",
        workloads=BINARY,
    ),
    Row(
        "ACC*",
        "GAC",
        "baselines.ac.AC",
        their_settings={"distance": "L2"},
        peer="quantificationlib",
        workloads=MULTICLASS,
        why=CLIPPED,
    ),
    Row("PACC*", "PACC", "baselines.ac.PAC", peer="quantificationlib", workloads=BINARY),
    Row(
        "PACC*",
        "GPAC",
        "baselines.ac.PAC",
        peer="quantificationlib",
        workloads=MULTICLASS,
        why=CLIPPED,
    ),
    Row(
        "DM*",
        "DM",
        "multiclass.df.HDy",
        {"bins": 8, "divergence": "hellinger"},
        {"n_bins": 8},
        peer="quantificationlib",
        why=SHORT,
    ),
    Row("EDy*", "EDy", "multiclass.energy.EDy", peer="quantificationlib"),
)


def rows_for(workload: str, chosen: list[str] | None = None) -> list[Row]:
    """Rows of a workload: all, or those that are named."""
    rows = [row for row in ROWS if workload in row.workloads]
    if chosen is None:
        return rows
    known = {row.name for row in ROWS}
    unknown = set(chosen) - known
    if unknown:
        raise SystemExit(f"unknown methods {sorted(unknown)}: choose from {sorted(known)}.")
    return [row for row in rows if row.name in chosen]
