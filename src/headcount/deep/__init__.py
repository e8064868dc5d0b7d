"""Networks that learn from whole samples; they need PyTorch (``pip install headcount[deep]``).

The classes are methods like those of `headcount.quantify`. PyTorch is imported when a network
is fitted or predicts.
"""

from __future__ import annotations

import headcount.quantify  # noqa: F401  (it finds the methods of this package)
from headcount.deep.quantifiers import DeepSets, GMNet, HistNet, QuaNet, SetTransformer

__all__ = ["DeepSets", "GMNet", "HistNet", "QuaNet", "SetTransformer"]
