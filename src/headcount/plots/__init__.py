"""Plots of evaluations, comparisons and estimates.

Every function takes a frame (Polars, pandas or any other, or a mapping of names to columns)
or plain arrays, draws on the ``ax`` it is given or in a new figure ``width`` inches wide, and
returns the axes: ``plots.diagonal(frame).figure.savefig("diagonal.pdf")``. The numbers that a
plot shows come from its namesake in ``plots.data``. Nothing is registered with pyplot, nothing
is shown, no setting is changed.

A legend stands above the axes. On axes of your own, make room for it by a figure with
``layout="constrained"``.

Examples
--------
>>> from headcount import plots
>>> frame = {"method": ["SLD"] * 3, "class": ["a"] * 3, "true": [0.1, 0.5, 0.9],
...          "estimated": [0.12, 0.5, 0.88]}
>>> ax = plots.diagonal(frame)
>>> plots.data.diagonal(frame)["estimated"].to_list()
[0.12, 0.5, 0.88]
"""

from __future__ import annotations

from headcount.plots import data
from headcount.plots.errors import error_boxes, error_by_shift, learning_curves, letter_values
from headcount.plots.groups import by_group
from headcount.plots.ranks import critical_difference, means
from headcount.plots.shares import bars, bias_boxes, diagonal, diagonal_panels
from headcount.plots.triangle import simplex

__all__ = [
    "bars",
    "bias_boxes",
    "by_group",
    "critical_difference",
    "data",
    "diagonal",
    "diagonal_panels",
    "error_boxes",
    "error_by_shift",
    "learning_curves",
    "letter_values",
    "means",
    "simplex",
]
