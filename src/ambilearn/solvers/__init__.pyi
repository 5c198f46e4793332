# The solvers, and where they live.

from .blocked_cholesky import ShiftedFactor as ShiftedFactor
from .blocked_cholesky import factorize_by_blocks as factorize_by_blocks
from .cholesky import factorize_by_lapack as factorize_by_lapack
from .confidence import solve_confidences as solve_confidences
from .neighbor_weights import solve_neighbor_weights as solve_neighbor_weights
from .result import Solution as Solution
from .simplex import CandidateSimplex as CandidateSimplex
from .support_graph import SupportGraph as SupportGraph
