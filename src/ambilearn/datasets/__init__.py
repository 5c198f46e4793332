"""Data sets by name, from one's own files, and made for controlled experiments."""

from typing import TYPE_CHECKING

from ambilearn.lazy_exports import lazy_exports

if TYPE_CHECKING:
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

# Public names and where they live; imported when first used, so that the command line starts fast.
_HOMES = {
    "CandidateStatistics": "controlled",
    "ChecksumError": "errors",
    "DataNotFoundError": "errors",
    "Dataset": "record",
    "DatasetError": "errors",
    "DatasetSummary": "load",
    "DiskFullError": "errors",
    "FolderNotWritableError": "errors",
    "InvalidFileError": "errors",
    "NetworkError": "errors",
    "UnknownDatasetError": "errors",
    "list_datasets": "load",
    "load_dataset": "load",
    "make_candidates": "controlled",
    "read_mat": "matfile",
    "read_table": "table",
    "votes_to_candidates": "votes",
}

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

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
