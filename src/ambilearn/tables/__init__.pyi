# The public names, and where they live.

from .audit import AuditedTable as AuditedTable
from .audit import audit_table as audit_table
from .audit import compare_tables as compare_tables
from .candidate_table import CandidateTable as CandidateTable
from .candidate_table import Judgment as Judgment
from .clean import CleanedTable as CleanedTable
from .clean import clean_table as clean_table
from .description import Corrections as Corrections
from .description import TableDescription as TableDescription
from .fit import fit_table as fit_table
from .given_labels import CorrectedTable as CorrectedTable
from .given_labels import correct_table as correct_table
from .judging import JudgedTable as JudgedTable
from .judging import judge_table as judge_table
from .model import TableModel as TableModel
from .model_file import load_model as load_model
from .model_file import save_model as save_model
from .read import read_candidate_table as read_candidate_table
from .skops_format import InvalidModelError as InvalidModelError
from .skops_format import UnsupportedSkopsError as UnsupportedSkopsError
from .writing import write_table as write_table
