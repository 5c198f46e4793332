r"""Parameter and attribute descriptions shared by several methods.

A class docstring contains placeholders such as ``{kernel}``, each on a line of its own. The
decorator :func:`insert_shared_docs` replaces them with the descriptions below. ``{default}`` in a
description is the default value in the signature of the class.
"""

import inspect
import re
from textwrap import indent
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

# Each entry starts with the name that is also its placeholder.
_ENTRIES = r"""
rho : float, default={default}
    Weight :math:`\rho \ge 0` of the candidate weights in the objective, if y has weights. The
    paper has no such term.

kernel : {"rbf", "linear", "precomputed"} or callable, default={default}
    Kernel of the classifier. "linear" fits a linear model. A callable takes two matrices of rows
    and returns their kernel matrix. With "precomputed", X is the kernel matrix of the training
    rows (for prediction: of new rows and training rows), and the neighbor graph, if the method
    has one, is built in the feature space of the kernel.

sigma : "mean" or float, default={default}
    Bandwidth of the Gaussian kernel :math:`\exp(-\|x - z\|^2 / 2\sigma^2)`: a number, or "mean"
    for the mean pairwise distance of the training rows. Other kernels ignore it.

n_neighbors : int, default={default}
    Number *k* of nearest neighbors. If there are not that many other rows, all of them are used
    and a warning is issued.

neighbors : {"auto", "exact", "approximate"} or transformer, default={default}
    Neighbor search. "auto" is exact up to 50 000 rows; above that it is approximate if the extra
    ``ann`` is installed. Scikit-learn neighbors transformers, such as
    :class:`sklearn.neighbors.KNeighborsTransformer`, are also accepted; see
    :class:`~ambilearn.graph.neighbors.NeighborSearch`.

n_landmarks : int, optional
    Number of landmarks of a low-rank kernel [2]_. Time and memory then grow linearly with the
    number of rows, instead of with n³ and n². None, the default, uses the exact kernel. A linear
    kernel needs no landmarks.

landmarks : {"kmeans", "uniform"}, default={default}
    Choice of the landmarks: cluster centers of k-means, or rows drawn at random.

max_iter : int, default={default}
    Maximum number of outer iterations.

tol : float, default={default}
    Tolerance of the stopping criterion: iteration stops when the confidences P change by at most
    ``tol``, :math:`\|P_t - P_{t-1}\|_F / \sqrt n`. With 0, exactly ``max_iter`` iterations run
    and no warning is issued.

random_state : int, RandomState instance or None, default={default}
    Seed for the choice of the landmarks.

verbose : int, default={default}
    If positive, print a line per outer iteration.

classes_ : ndarray of shape (l,)
    The labels, in column order.

label_distributions_ : ndarray or csr_array of shape (n, l)
    Confidences P of the training rows: zero for labels that are not candidates; each row sums to
    one. This attribute and the other ones of shape (n, l) are sparse if y is a sparse mask, and
    then store the candidates only.

transduction_ : ndarray of shape (n,)
    Disambiguated label of each training row: the candidate with the largest confidence.

train_output_ : ndarray or csr_array of shape (n, l)
    Outputs of the classifier on the training rows.

objective_ : ndarray of shape (n_iter_,)
    The objective after each outer iteration.

n_iter_ : int
    Number of outer iterations.

sigma_ : float or None
    Bandwidth of the Gaussian kernel; None for other kernels.

coef_ : ndarray of shape (l, d)
    Weights of the classifier. Only with the linear kernel.

dual_coef_ : ndarray of shape (n, l) or (n_landmarks, l)
    Coefficients of the classifier on the training rows or landmarks. Only with a kernel that is
    not linear.

intercept_ : ndarray of shape (l,)
    Bias of the classifier.

X_fit_ : array or sparse matrix of shape (n, d) or (n_landmarks, d)
    Training rows or landmarks, stored for the kernel; None with a precomputed kernel.

n_features_in_ : int
    Number of features.

feature_names_in_ : ndarray of shape (d,)
    Names of the features, if X is a data frame with string column names.
"""
_DESCRIPTIONS = {entry.split(" : ")[0]: entry for entry in _ENTRIES.strip().split("\n\n")}


def insert_shared_docs(cls: _Class) -> _Class:
    """Replace the placeholders in a class docstring with the shared descriptions.

    Each placeholder is on a line of its own. The class itself is returned.
    """
    parameters = inspect.signature(cls).parameters

    def describe(placeholder: re.Match[str]) -> str:
        margin, name = placeholder.groups()
        text = _DESCRIPTIONS[name]
        if name in parameters:
            default = repr(parameters[name].default).replace("'", '"')
            text = text.replace("{default}", default)
        return indent(text, margin)

    if cls.__doc__ is not None:  # python -OO removes docstrings
        cls.__doc__ = re.sub(r"^( *)\{(\w+)\}$", describe, cls.__doc__, flags=re.MULTILINE)
    return cls
