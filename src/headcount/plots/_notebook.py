"""Figures and axes that notebooks show as pictures, without pyplot and its global state."""

from __future__ import annotations

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """Figure that a notebook shows."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=144)
        return picture.getvalue()


class ShownAxes(Axes):
    """Axes whose figure a notebook shows."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure(root=True)
        return figure._repr_png_() if isinstance(figure, ShownFigure) else None
