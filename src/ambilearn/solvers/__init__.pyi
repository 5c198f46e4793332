# The solvers, and where they live.

from .cholesky import factorize_by_blocks as factorize_by_blocks
from .cholesky import factorize_by_lapack as factorize_by_lapack
from .confidence import solve_confidences as solve_confidences
from .neighbor_weights import solve_neighbor_weights as solve_neighbor_weights
from .result import Solution as Solution
from .result import Status as Status
from .simplex import CandidateSimplex as CandidateSimplex
from .simplex import project_rows as project_rows
from .support_graph import SupportGraph as SupportGraph
