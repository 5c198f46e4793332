"""Tasks of a worker in an iteration of PL-CL: pure functions of a partition and its state.

A partition and its state are ordinary Dask results, so Dask can move them, write them to disk, and
recompute them if a worker is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ambilearn._utils.types import Array, Estimator, Matrix
from ambilearn.backend import HOST, HostSupport
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.distributed.blocks import Parts, attribute_bytes
from ambilearn.distributed.partitions import PartitionRows
from ambilearn.graph.adaptive import AdaptiveGraph, LocalGeometry, Neighborhoods
from ambilearn.graph.neighbors import usable_neighbors
from ambilearn.kernel.landmarks import LandmarkFeatures
from ambilearn.kernel.primal import Moments
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.methods.plcl import PLCLState, PLCLSteps, PLCLWeights
from ambilearn.solvers import SupportGraph

_BRANCHES = 8  # terms per task in a tree sum


@dataclass(frozen=True)
class Partition:
    """Data of a partition that do not change during a fit."""

    numbers: NDArray[np.intp]
    candidates: HostSupport
    features: Matrix
    neighborhoods: Neighborhoods | None


@dataclass(frozen=True)
class State:
    """Data of a partition that change: confidences, graph weights, terms of the last iteration."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    q_off_support: float | Array
    graph_weights: NDArray[np.float64] | None
    objective: float
    squared_change: float


def build(
    rows: PartitionRows,
    classes: Array,
    features: LandmarkFeatures | None,
    n_neighbors: int | None,
    neighbors: str | Estimator,
) -> Partition:
    """Features and graph of a partition; no graph with ``n_neighbors=None``."""
    sets = as_candidates(rows.mask, classes=classes)
    candidates = HOST.support(replace(sets, row_weights=rows.weights))
    neighborhoods = None
    if n_neighbors is not None:
        k = usable_neighbors(n_neighbors, candidates.n_rows)
        geometry = LocalGeometry(rows.X, k, neighbors=neighbors)
        neighborhoods = Neighborhoods(geometry, candidates)
    phi = rows.X if features is None else features.transform(rows.X)
    return Partition(rows.numbers, candidates, phi, neighborhoods)


def moments(partition: Partition) -> Moments:
    """Sums of the features, for the normal equations."""
    return Moments.of(partition.features, partition.candidates.row_weights)


def start(partition: Partition, weights: PLCLWeights) -> State:
    """Initial state."""
    p, graph = partition.candidates.uniform(), None
    if partition.neighborhoods is not None:
        graph = partition.neighborhoods.fit_graph(feature_weight=1.0)
        p = graph.smooth(p, target=None, weight=1.0)
    return _to_state(PLCLSteps(partition.candidates, weights).start(p, graph), 0.0, 0.0)


def contribute(partition: Partition, state: State, complementary: bool) -> Parts:
    """Terms of a partition in the global sums.

    These are the objective, the squared change of P, and the sums for the regression on P; with a
    complementary classifier also those for the regression on Q.
    """
    candidates, features = partition.candidates, partition.features
    sums: Parts = candidates.target_sums(features, state.p, 0.0)
    if complementary:
        sums += candidates.target_sums(features, state.q, state.q_off_support)
    return state.objective, state.squared_change, *sums


def advance(
    partition: Partition, state: State, classifiers: list[RidgeFit], weights: PLCLWeights
) -> State:
    """Update Q, the graph and P for a new ordinary and, optionally, complementary classifier."""
    steps = PLCLSteps(partition.candidates, weights)
    graph = None
    if partition.neighborhoods is not None and state.graph_weights is not None:
        graph = AdaptiveGraph(partition.neighborhoods, state.graph_weights)
    before = PLCLState(state.p, state.q, state.q_off_support, graph)
    f, *others = (_on_support(partition, fit) for fit in classifiers)
    f_hat = others[0] if others else None
    after = steps.advance(before, f, f_hat)
    squared_change = float(np.sum((after.p - before.p) ** 2))
    return _to_state(after, steps.objective(after, f, f_hat), squared_change)


def _to_state(state: PLCLState, objective: float, squared_change: float) -> State:
    """State with only the weights of the graph; the rest of the graph is in the partition."""
    graph_weights = None if state.graph is None else state.graph.weights
    return State(*state[:3], graph_weights, objective, squared_change)


def _on_support(partition: Partition, fit: RidgeFit) -> RidgeFit:
    """Outputs of a classifier on a partition; the calling process adds the global sums."""
    candidates = partition.candidates
    outputs = candidates.pair_outputs(partition.features, fit.coef, fit.intercept)
    return RidgeFit(
        *(fit.coef, fit.intercept, 0.0, 0.0, 0.0, 0.0),
        outputs=outputs,
        pair_weights=candidates.pair_weights,
    )


def outcome(partition: Partition, state: State) -> Parts:
    """Row numbers, and P and Q of the candidates as CSR matrices."""
    to_csr = partition.candidates.to_csr
    return partition.numbers, to_csr(state.p), to_csr(state.q)


def tree_sum(parts: list[Delayed], add: Callable[..., Any] | None = None) -> Delayed:
    """Sum of tuples of numbers and arrays, entry by entry, or by ``add``, in a fixed order."""
    add = add or _add
    while len(parts) > 1:
        groups = (parts[i : i + _BRANCHES] for i in range(0, len(parts), _BRANCHES))
        parts = [delayed(add)(*group) for group in groups]
    return parts[0]


def add_moments(*parts: Moments) -> Moments:
    """Moments of all rows."""
    return reduce(Moments.plus, parts)


def _add(*parts: Parts) -> Parts:
    return tuple(sum(entries) for entries in zip(*parts, strict=True))


sizeof.register(
    (Partition, State, Neighborhoods, LocalGeometry, SupportGraph, CandidateSets, HostSupport),
    attribute_bytes,
)
