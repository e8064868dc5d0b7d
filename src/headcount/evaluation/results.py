"""Results of a search, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._text import Cell, Table, html_result
from headcount.errors import HeadcountError
from headcount.evaluation.candidates import Outcome

if TYPE_CHECKING:
    import polars as pl

# Settings that are printed.
_MOST_ROWS = 20


@dataclass(frozen=True, eq=False)
class SearchResults:
    """Settings and their errors on the samples; prints as a table, the best first."""

    settings: tuple[dict[str, Any], ...]  # settings that were tried
    errors: tuple[NDArray[np.float64] | None, ...]
    problems: tuple[str, ...]  # why a setting failed; empty if it did not
    rounds: NDArray[np.int64]  # the last round of successive halving that each setting reached
    metric: str  # name of the error

    @classmethod
    def of(
        cls,
        settings: Sequence[dict[str, Any]],
        outcomes: Sequence[Outcome],
        rounds: NDArray[np.int64],
        metric: str,
    ) -> SearchResults:
        """Put together; refused if every setting failed."""
        if all(outcome.errors is None for outcome in outcomes):
            n = "The only setting" if len(outcomes) == 1 else f"All {len(outcomes)} settings"
            raise HeadcountError(f"{n} failed; the first because: {outcomes[0].problem}")
        return cls(
            tuple(settings),
            tuple(outcome.errors for outcome in outcomes),
            tuple(outcome.problem for outcome in outcomes),
            rounds,
            metric,
        )

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean error of each setting; NaN if it failed."""
        return np.array([np.nan if e is None else e.mean() for e in self.errors])

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the settings, the best first, those that failed last."""
        means = self.means
        return np.lexsort((np.nan_to_num(means, nan=np.inf), -self.rounds, np.isnan(means)))

    @property
    def best(self) -> int:
        """Position of the best setting."""
        return int(self.order[0])

    def to_frame(self) -> pl.DataFrame:
        """The table as a Polars frame: parameters, mean, standard deviation, problem."""
        import polars as pl

        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        columns: dict[str, list[Any]] = {
            name: [_plain(setting.get(name)) for setting in self.settings] for name in names
        }
        columns[f"mean_{self.metric}"] = [None if np.isnan(m) else m for m in self.means]
        columns[f"sd_{self.metric}"] = [
            None if e is None else float(e.std()) for e in self.errors
        ]
        columns["samples"] = [0 if e is None else len(e) for e in self.errors]
        columns["round"] = self.rounds.tolist()
        columns["problem"] = [problem or None for problem in self.problems]
        return pl.DataFrame(columns, strict=False)[self.order.tolist()]

    def __repr__(self) -> str:
        lines = [f"{mean:8}  {setting}" for mean, setting in self._shown()]
        return "\n".join([self._title, *lines, *self._left_out()])

    def _repr_html_(self) -> str:
        rows = [list(map(Cell, row)) for row in self._shown()]
        table = Table([f"mean {self.metric}", "setting"], rows, [True, False])
        return html_result(self._title, [table], self._left_out())

    @property
    def _title(self) -> str:
        return f"mean {self.metric} by setting, the best first"

    def _shown(self) -> list[tuple[str, str]]:
        rows = []
        for i in self.order[:_MOST_ROWS]:
            setting = ", ".join(f"{name}={value!r}" for name, value in self.settings[i].items())
            mean = "failed" if self.problems[i] else f"{self.means[i]:.6f}"
            rows.append((mean, f"{setting}{self.problems[i] and ': ' + self.problems[i]}"))
        return rows

    def _left_out(self) -> list[str]:
        more = len(self) - _MOST_ROWS
        return [f"... and {more:,} more: see to_frame()."] if more > 0 else []


def _plain(value: Any) -> Any:
    """A value that fits a column: estimators and the like by their name."""
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
