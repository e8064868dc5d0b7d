"""Bridges to other packages for quantification: their methods here, ours there.

No other package is imported before one of its objects is used.
"""

from headcount.interop.foreign import ForeignQuantifier, from_qunfold
from headcount.interop.quapy import (
    LabelledSamples,
    QuaPyQuantifier,
    from_labelled_collection,
    from_quapy,
    is_quapy,
    samples_from_quapy,
    to_labelled_collection,
    to_quapy,
)

__all__ = [
    "ForeignQuantifier",
    "LabelledSamples",
    "QuaPyQuantifier",
    "from_labelled_collection",
    "from_quapy",
    "from_qunfold",
    "is_quapy",
    "samples_from_quapy",
    "to_labelled_collection",
    "to_quapy",
]
