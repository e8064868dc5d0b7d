"""Plots of evaluations, comparisons and estimates.

Every function takes a frame (Polars, pandas or any other, or a mapping of names to columns)
or plain arrays, draws on ``ax`` or in a new figure ``width`` inches wide, and returns the
axes: ``plots.diagonal(frame).figure.savefig("diagonal.pdf")``. The function of the same name
in ``plots.data`` returns the numbers that a plot shows. Figures are not registered with
pyplot, nothing is displayed, and no matplotlib setting is changed.

The legend is above the axes. If you pass ``ax``, create its figure with
``layout="constrained"`` to make room for the legend.

Examples
--------
>>> from headcount import plots
>>> frame = {"method": ["SLD"] * 3, "class": ["a"] * 3, "true": [0.1, 0.5, 0.9],
...          "estimated": [0.12, 0.5, 0.88]}
>>> ax = plots.diagonal(frame)
>>> plots.data.diagonal(frame)["estimated"].to_list()
[0.12, 0.5, 0.88]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
