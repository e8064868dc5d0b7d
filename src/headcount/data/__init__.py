"""Data as the library takes it: features of any kind, labels of any kind, and pools of both."""

from __future__ import annotations

from headcount.data.features import check_features, count_rows, take_rows
from headcount.data.labels import encode_labels
from headcount.data.pool import Pool

__all__ = ["Pool", "check_features", "count_rows", "encode_labels", "take_rows"]
