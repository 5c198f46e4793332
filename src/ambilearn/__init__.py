"""Learn from ambiguous labels: scikit-learn estimators for partial-label learning."""

from typing import TYPE_CHECKING

from ambilearn.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ambilearn.bridges import (
        candidates_from_conformal,
        candidates_from_prediction_sets,
        candidates_from_top_k,
        soft_labels,
        to_sample_weights,
        votes_to_candidates,
    )
    from ambilearn.candidates import CandidateSets, as_candidates
    from ambilearn.methods.ipal import IPAL
    from ambilearn.methods.lalo import LALO
    from ambilearn.methods.plaggd import PLAGGD
    from ambilearn.methods.plcl import PLCL
    from ambilearn.methods.plda import PLDA, PLDATransformer
    from ambilearn.methods.plknn import PLKNN
    from ambilearn.methods.sure import SURE

# Public names and where they live. Each is imported when first used: `import ambilearn` stays
# instant, where scikit-learn alone takes a second and brings pandas along when it is installed.
_HOMES = {
    "IPAL": "methods.ipal",
    "LALO": "methods.lalo",
    "PLAGGD": "methods.plaggd",
    "PLCL": "methods.plcl",
    "PLDA": "methods.plda",
    "PLDATransformer": "methods.plda",
    "PLKNN": "methods.plknn",
    "SURE": "methods.sure",
    "CandidateSets": "candidates",
    "as_candidates": "candidates",
    "candidates_from_conformal": "bridges",
    "candidates_from_prediction_sets": "bridges",
    "candidates_from_top_k": "bridges",
    "soft_labels": "bridges",
    "to_sample_weights": "bridges",
    "votes_to_candidates": "bridges",
}

__all__ = [
    "IPAL",
    "LALO",
    "PLAGGD",
    "PLCL",
    "PLDA",
    "PLKNN",
    "SURE",
    "CandidateSets",
    "PLDATransformer",
    "as_candidates",
    "candidates_from_conformal",
    "candidates_from_prediction_sets",
    "candidates_from_top_k",
    "soft_labels",
    "to_sample_weights",
    "votes_to_candidates",
]
__version__ = "0.1.0.dev0"

__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
