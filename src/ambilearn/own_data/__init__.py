"""One's own tables: read candidate labels, clean them, fit a model, save it, label new rows.

What the commands ``ambilearn clean``, ``fit`` and ``predict`` do, as functions.
"""

from typing import TYPE_CHECKING

from ambilearn.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ambilearn.own_data.clean import CleanedTable, clean_table
    from ambilearn.own_data.columns import Column, Features
    from ambilearn.own_data.corrections import Corrections
    from ambilearn.own_data.model import TableModel, fit_table
    from ambilearn.own_data.model_file import InvalidModelError, load_model, save_model
    from ambilearn.own_data.ranking import Choices
    from ambilearn.own_data.tables import CandidateTable, read_candidate_table
    from ambilearn.own_data.writing import write_table

# Public names and where they live; imported when first used, so that the command line starts fast.
_HOMES = {
    "CandidateTable": "tables",
    "Choices": "ranking",
    "CleanedTable": "clean",
    "Column": "columns",
    "Corrections": "corrections",
    "Features": "columns",
    "InvalidModelError": "model_file",
    "TableModel": "model",
    "clean_table": "clean",
    "fit_table": "model",
    "load_model": "model_file",
    "read_candidate_table": "tables",
    "save_model": "model_file",
    "write_table": "writing",
}

__all__ = [
    "CandidateTable",
    "Choices",
    "CleanedTable",
    "Column",
    "Corrections",
    "Features",
    "InvalidModelError",
    "TableModel",
    "clean_table",
    "fit_table",
    "load_model",
    "read_candidate_table",
    "save_model",
    "write_table",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
