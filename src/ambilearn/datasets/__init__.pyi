# The public names, and where they live.

from .controlled import CandidateStatistics as CandidateStatistics
from .controlled import make_candidates as make_candidates
from .errors import ChecksumError as ChecksumError
from .errors import DataNotFoundError as DataNotFoundError
from .errors import DatasetError as DatasetError
from .errors import InvalidFileError as InvalidFileError
from .errors import NetworkError as NetworkError
from .errors import UnknownDatasetError as UnknownDatasetError
from .false_labels import add_noise as add_noise
from .load import DatasetSummary as DatasetSummary
from .load import list_datasets as list_datasets
from .load import load_dataset as load_dataset
from .matfile import read_mat as read_mat
from .registry import Dataset as Dataset
