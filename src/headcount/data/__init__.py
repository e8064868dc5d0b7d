"""Features and labels of any kind in one checked form, readers of files, and datasets."""

from __future__ import annotations

from headcount.data.features import check_features, column_names, count_rows, take_rows
from headcount.data.labels import encode_labels

__all__ = ["check_features", "column_names", "count_rows", "encode_labels", "take_rows"]
