"""Chart of the scores of a sample and of the fitted mixture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from headcount.analysis import ScoreHistogram
from headcount.analysis.facts import words
from headcount.report.svg import WIDTH, drawing, number, path, stretched, tag, text_at

__all__ = ["histogram_chart"]

_HEIGHT, _ABOVE, _BELOW = 180, 16, 24
_TICKS = (0.01, 0.05, 0.2, 0.5, 1.0)


def histogram_chart(histogram: ScoreHistogram, n_items: int) -> Markup:
    """Bars for the sample; a line, with the expected noise, for the fitted mixture.

    Heights are square roots, so that bins with few items are seen as well.
    """
    own = histogram.share * histogram.training
    # Rounding can put all of it a little above 1.
    part = np.clip(histogram.mixture, 0, 1)
    noise = 2 * np.sqrt(part * (1 - part) / n_items)
    above, below = histogram.mixture + noise, np.maximum(histogram.mixture - noise, 0)
    top = max(float(histogram.sample.max()), float(above.max()))

    def y(part: float) -> float:
        return float(_HEIGHT - _BELOW - (_HEIGHT - _BELOW - _ABOVE) * np.sqrt(part / top))

    def steps(parts: NDArray[np.float64]) -> list[tuple[float, float]]:
        ends = WIDTH * histogram.edges
        return [
            (float(x), y(float(part)))
            for part, left, right in zip(parts, ends[:-1], ends[1:], strict=True)
            for x in (left, right)
        ]

    floor = y(0.0)
    ground = [(float(WIDTH), floor), (0.0, floor)]
    curves = [
        path([*steps(histogram.sample), *ground], "sample", closed=True),
        path([*steps(own), *ground], "own", closed=True),
        path([*steps(above), *reversed(steps(below))], "band", closed=True),
        path(steps(histogram.mixture), "line"),
    ]
    label = f"Scores of {words(histogram.label)}: the new items and what the labelled ones give"
    # Ticks lie upon the bars, which would hide them.
    return drawing(
        label,
        _HEIGHT,
        [stretched(_HEIGHT, *curves), *_grid(top, y), *_hover(histogram)],
        "hist",
    )


def _grid(top: float, y: Callable[[float], float]) -> list[Markup]:
    lines = []
    for tick in _TICKS:
        if tick <= top:
            at = y(tick)
            lines.append(tag("line", class_="grid", x1="0", x2="100%", y1=at, y2=at))
            lines.append(text_at(100, at - 3, f"{100 * tick:.0f}%", "end", "tick"))
    for place, anchor in ((0.0, "start"), (50.0, "middle"), (100.0, "end")):
        lines.append(text_at(place, _HEIGHT - 6, number(place / 100), anchor, "tick"))
    return lines


def _hover(histogram: ScoreHistogram) -> list[Markup]:
    width = 100 / len(histogram.sample)
    marks = []
    for i, (seen, due) in enumerate(zip(histogram.sample, histogram.mixture, strict=True)):
        said = (
            f"score {histogram.edges[i]:.2f} to {histogram.edges[i + 1]:.2f}\n"
            f"new items: {seen:.1%}\nexpected from the labelled ones: {due:.1%}"
        )
        marks.append(
            tag(
                "rect", tag("title", said), class_="hit mark", x=f"{number(i * width)}%", y="0",
                width=f"{number(width)}%", height=float(_HEIGHT - _BELOW),
            )
        )  # fmt: skip
    return marks
