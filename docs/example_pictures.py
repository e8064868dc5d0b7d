"""Pictures of the examples, for sphinx-gallery, which looks for figures of pyplot otherwise."""

from __future__ import annotations

import re
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def save_axes(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Show the axes that a block assigns to `ax`."""
    if not re.search(r"^ax = ", block[1], re.MULTILINE):
        return ""
    path = next(variables["image_path_iterator"])
    figure = variables["example_globals"]["ax"].figure
    figure.savefig(path, dpi=100, bbox_inches="tight", metadata={"Software": None})
    return str(figure_rst([path], settings["src_dir"]))
