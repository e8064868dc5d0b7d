"""Looks at a drawn figure as a reader would: what is cut off, covered or missing?"""

from __future__ import annotations

from unittest import mock

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def draw(figure):
    """Pixels of the figure as grey values, from top to bottom, after laying it out."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=-1)


def look(figure):
    """Pixels, and the texts that are really drawn with the boxes they take and their sizes."""
    seen = {}
    draw_text = Text.draw

    def note(text, renderer):
        draw_text(text, renderer)
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent(renderer)
            seen[id(text)] = (text.get_text(), box, text.get_fontsize())

    with mock.patch.object(Text, "draw", note):
        pixels = draw(figure)
    return pixels, list(seen.values())


def overlap(one, other, slack=0.5):
    """Whether two boxes share more than an edge."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across > slack and up > slack


def legends(figure):
    return [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]


def check_layout(figure, smallest=7.0):
    """All that must hold for any figure of ours."""
    pixels, seen = look(figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    for words, box, size in seen:
        assert size >= smallest, f"{words!r} is {size} points small"
        inside = (
            box.x0 >= -1
            and box.y0 >= -1
            and box.x1 <= figure.bbox.width + 1
            and box.y1 <= figure.bbox.height + 1
        )
        assert inside, f"{words!r} is cut off"
    for legend in legends(figure):
        area = legend.get_window_extent(renderer)
        for ax in figure.axes:
            assert not overlap(area, ax.get_window_extent()), "a legend covers data"
        assert area.x1 <= figure.bbox.width + 1, "a legend is cut off"
    for ax in figure.axes:
        box = ax.get_window_extent()
        height = pixels.shape[0]
        part = pixels[
            round(height - box.y1) + 2 : round(height - box.y0) - 2,
            round(box.x0) + 2 : round(box.x1) - 2,
        ]
        assert part.size > 900, "axes are squeezed to nothing"
        assert (part < 250).sum() >= 5, "axes are empty"
    for i, (text, box, _) in enumerate(seen):
        for other, beside, _ in seen[i + 1 :]:
            assert not overlap(box, beside, slack=1.5), f"{text!r} covers {other!r}"
