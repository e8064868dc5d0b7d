"""Elements of SVG, escaped, that stretch with the page and keep their text as it is.

Places along the width are in percent, so that a drawing is as wide as the page lets it be.
Curves, which know no percent, are in an inner drawing that is stretched to the width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

__all__ = ["WIDTH", "Axis", "drawing", "number", "path", "stretched", "tag", "text_at"]

# Width of what is stretched, in its own units.
WIDTH = 1000


def tag(name: str, *children: str, **attributes: str | float) -> Markup:
    """Element; text in it is escaped, elements are not.

    Examples
    --------
    >>> print(tag("text", "<b>", class_="label", x="50%"))
    <text class="label" x="50%">&lt;b&gt;</text>
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{said}>{inside}</{name}>" if inside else f"<{name}{said}/>")


def number(value: float) -> str:
    """Number as short text; it must be finite, as browsers draw no others.

    Examples
    --------
    >>> number(12.04), number(3.0)
    ('12', '3')
    """
    assert math.isfinite(value)
    return f"{value:.1f}".removesuffix(".0")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)


def drawing(label: str, height: float, children: Iterable[str], class_: str) -> Markup:
    """Drawing as wide as its container, with a label for screen readers."""
    return tag(
        "svg", tag("title", label), *children,
        class_=f"chart {class_}", role="img", width="100%", height=height,
    )  # fmt: skip


def stretched(height: float, *children: str) -> Markup:
    """Inner drawing, `WIDTH` wide, stretched to the width of the outer one."""
    return tag(
        "svg", *children,
        viewBox=f"0 0 {WIDTH} {number(height)}", preserveAspectRatio="none",
        width="100%", height=height,
    )  # fmt: skip


def path(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """Lines from point to point."""
    line = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=f"M{line}{'Z' if closed else ''}", class_=class_)


def text_at(x: float, y: float, text: str, anchor: str = "middle", class_: str = "") -> Markup:
    """Text at a percentage of the width."""
    more = {"class_": class_} if class_ else {}
    return tag("text", text, x=f"{number(x)}%", y=y, text_anchor=anchor, **more)


@dataclass(frozen=True)
class Axis:
    """Axis of four equal steps.

    Attributes
    ----------
    low, top : float
        Its ends.
    in_percent : bool
        True for shares.
    """

    low: float
    top: float
    in_percent: bool = False

    @classmethod
    def of_shares(cls, largest: float) -> Axis:
        """Axis from 0 for shares up to some size; its end is easy to quarter.

        Examples
        --------
        >>> Axis.of_shares(0.13).top, Axis.of_shares(0.7).top
        (0.2, 0.8)
        """
        tops = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
        return cls(0.0, next((top for top in tops if top >= largest), 1.0), in_percent=True)

    @classmethod
    def around(cls, values: Sequence[float], most: float = np.inf) -> Axis:
        """Axis that contains all values and ends at `most` or below, if that contains them.

        Examples
        --------
        >>> Axis.around([0.83, 0.91])
        Axis(low=0.825, top=0.925, in_percent=False)
        >>> Axis.around([0.2, 0.95], most=1.0)
        Axis(low=0.2, top=1.0, in_percent=False)
        """
        smallest, largest = min(values), max(values)
        power = 10.0 ** math.floor(math.log10(max(largest - smallest, 0.01) / 4))
        for step in (power * factor for factor in (1, 2, 2.5, 5, 10, 20)):
            low = math.floor(smallest / step + 1e-9) * step
            if low + 4 * step > most:
                low = min(low, most - 4 * step)
            if low + 4 * step >= largest - 1e-9:
                break
        return cls(round(low, 12), round(low + 4 * step, 12))

    def part(self, value: float) -> float:
        """Position of a value: 0 at the lower end, 1 at the upper."""
        return (value - self.low) / (self.top - self.low)

    @property
    def ticks(self) -> dict[float, str]:
        """The five ends of steps, with their texts."""
        ends = np.linspace(self.low, self.top, 5).tolist()
        return {
            end: f"{number(100 * end)}%" if self.in_percent else f"{end:.6g}" for end in ends
        }
