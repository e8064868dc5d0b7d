"""The methods, as a table or as JSON."""

from __future__ import annotations

import json

from headcount.cli.writing import lay_out

__all__ = ["list_methods"]

_SHOWN = ("method", "title", "multiclass", "shift")


def list_methods(*, as_json: bool = False) -> str:
    """All methods, as a text.

    Parameters
    ----------
    as_json : bool, default=False
        For machines, with references and other names.

    Returns
    -------
    str
    """
    import headcount as hc

    frame = hc.methods().to_frame()
    if as_json:
        return json.dumps(frame.to_dicts(), ensure_ascii=False, indent=2)
    rows = [
        [
            "auto",
            "best of a few strong methods, tried on the labelled table",
            "native",
            "prior",
        ],
        *([str(row[name]) for name in _SHOWN] for row in frame.to_dicts()),
    ]
    return lay_out(["method", "title", "more than two classes", "assumed shift"], rows, 4)
