"""Exact solvers of the methods' sub-problems: arrays in, arrays out, no estimator in sight.

Every solver returns a :class:`~ambilearn.solvers.result.Solution`: the value, whether it is
optimal, how many steps that took, and how far from optimal it is. None loops over rows in Python;
all but the sparse and LAPACK calls go through the array namespace of their input.
"""

from ambilearn.solvers.confidence import solve_confidences
from ambilearn.solvers.neighbor_weights import solve_neighbor_weights
from ambilearn.solvers.result import Solution, Status
from ambilearn.solvers.ridge import KernelRidge, Moments, PrimalFit, PrimalRidge, RidgeFit
from ambilearn.solvers.simplex import CandidateSimplex, project_rows
from ambilearn.solvers.support_graph import SupportGraph

__all__ = [
    "CandidateSimplex",
    "KernelRidge",
    "Moments",
    "PrimalFit",
    "PrimalRidge",
    "RidgeFit",
    "Solution",
    "Status",
    "SupportGraph",
    "project_rows",
    "solve_confidences",
    "solve_neighbor_weights",
]
