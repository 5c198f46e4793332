"""Private names of scikit-learn that this library uses.

scikit-learn has no public equivalent and can move them in any release. All other modules import
them from here, so that a fallback for a release has one place. Versions 1.8 and 1.9 need none.
"""

from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metaestimators import _BaseComposition, _safe_split
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
)

__all__ = [
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "StrOptions",
    "_BaseComposition",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_num_samples",
    "_safe_indexing",
    "_safe_split",
    "validate_parameter_constraints",
]
