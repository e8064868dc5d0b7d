"""Datasets by name, read from a local folder and prepared by code."""

from __future__ import annotations

from headcount.data.datasets.folder import data_file, data_folder
from headcount.data.datasets.tabular import Dataset, dataset_file, dataset_names, load_dataset

__all__ = [
    "Dataset",
    "data_file",
    "data_folder",
    "dataset_file",
    "dataset_names",
    "load_dataset",
]
