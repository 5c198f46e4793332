"""Learn from ambiguous labels: scikit-learn estimators for partial-label learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "IPAL": "ambilearn.methods.ipal",
    "LALO": "ambilearn.methods.lalo",
    "PLAGGD": "ambilearn.methods.plaggd",
    "PLCL": "ambilearn.methods.plcl",
    "PLDA": "ambilearn.methods.plda",
    "PLDATransformer": "ambilearn.methods.plda",
    "PLKNN": "ambilearn.methods.plknn",
    "SURE": "ambilearn.methods.sure",
    "CandidateSets": "ambilearn.candidates",
    "as_candidates": "ambilearn.candidates",
    "candidates_from_conformal": "ambilearn.bridges",
    "candidates_from_prediction_sets": "ambilearn.bridges",
    "candidates_from_top_k": "ambilearn.bridges",
    "soft_labels": "ambilearn.bridges",
    "to_sample_weights": "ambilearn.bridges",
    "votes_to_candidates": "ambilearn.bridges",
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
