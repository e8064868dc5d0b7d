"""Datasets by name, read from a local folder and prepared by code."""

from __future__ import annotations

from headcount_studies.data.folder import data_file, data_folder
from headcount_studies.data.tables import Dataset, dataset_file, dataset_names, load_dataset

__all__ = [
    "Dataset",
    "data_file",
    "data_folder",
    "dataset_file",
    "dataset_names",
    "load_dataset",
]
