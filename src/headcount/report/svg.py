"""Elements of SVG, escaped, that stretch with the page and keep their text as it is.

Places along the width are in percent, so that a drawing is as wide as the page lets it be.
Curves, which know no percent, are in an inner drawing that is stretched to the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup, escape

__all__ = ["drawing", "nice_top", "number", "path", "stretched", "tag", "text_at"]

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
    """Number as short text.

    Examples
    --------
    >>> number(12.04), number(3.0)
    ('12', '3')
    """
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


def nice_top(largest: float) -> float:
    """End of an axis for shares up to some size: a number that is easy to quarter.

    Examples
    --------
    >>> nice_top(0.13), nice_top(0.7)
    (0.2, 0.8)
    """
    steps = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
    return float(steps[min(int(np.searchsorted(steps, largest)), len(steps) - 1)])
