"""Data sets by name, from one's own files, and made for controlled experiments."""

from ambilearn.datasets.controlled import CandidateStatistics, make_candidates
from ambilearn.datasets.errors import (
    ChecksumError,
    DataNotFoundError,
    DatasetError,
    DiskFullError,
    FolderNotWritableError,
    InvalidFileError,
    NetworkError,
    UnknownDatasetError,
)
from ambilearn.datasets.load import DatasetSummary, list_datasets, load_dataset
from ambilearn.datasets.matfile import read_mat
from ambilearn.datasets.record import Dataset
from ambilearn.datasets.table import read_table
from ambilearn.datasets.votes import votes_to_candidates

__all__ = [
    "CandidateStatistics",
    "ChecksumError",
    "DataNotFoundError",
    "Dataset",
    "DatasetError",
    "DatasetSummary",
    "DiskFullError",
    "FolderNotWritableError",
    "InvalidFileError",
    "NetworkError",
    "UnknownDatasetError",
    "list_datasets",
    "load_dataset",
    "make_candidates",
    "read_mat",
    "read_table",
    "votes_to_candidates",
]
