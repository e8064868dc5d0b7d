"""Options of an analysis that do not concern the model."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.analysis.groups import Groups, read_groups
from headcount.data.readers import TableFile

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """Options of an analysis that do not concern the model.

    Attributes
    ----------
    by, column : str or None
        Groups as the caller names them, and the column that they are made of.
    date_order : {"day-first", "month-first"} or None
        Order of day and month in dates.
    weight, cluster : str or None
        Columns of survey weights and clusters.
    level : float
        Probability that an interval contains the share.
    random_state : int
        Random seed.
    title : str or None
        Heading of the report.
    """

    by: str | None
    column: str | None
    date_order: str | None
    weight: str | None
    cluster: str | None
    level: float
    random_state: int
    title: str | None

    def check_columns(self, table: TableFile) -> None:
        """Raise an error if a table lacks a column that is named for its weights or clusters.

        Parameters
        ----------
        table : TableFile
            The new items.
        """
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                table.require([name], f"which `{option}` names")

    def not_features(self) -> dict[str, str]:
        """Columns that must not become features, and why.

        Returns
        -------
        dict of str to str
        """
        reasons = {}
        if self.column is not None:
            reasons[self.column] = (
                "the groups are made of it, so the model must not learn from it"
            )
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                reasons[name] = f"it holds the {option}s of the items"
        return reasons

    def groups(self, table: TableFile) -> Groups | None:
        """Groups of a table; None if there are none.

        Parameters
        ----------
        table : TableFile
            The new items.

        Returns
        -------
        Groups or None
        """
        if self.by is None or self.column is None:
            return None
        return read_groups(table, self.by, self.column, self.date_order)
