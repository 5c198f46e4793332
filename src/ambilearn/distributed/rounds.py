"""What a worker does in a round of PL-CL: pure functions of a partition and its state.

Nothing here remembers anything. A partition and its state are ordinary Dask results, so Dask may
move them, write them to disk, and make them again when the worker that held them is gone.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse

from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.distributed.partitions import Rows
from ambilearn.distributed.sizes import bytes_behind
from ambilearn.graph.adaptive import AdaptiveGraph
from ambilearn.graph.geometry import LocalGeometry
from ambilearn.kernel.landmarks import LandmarkFeatures
from ambilearn.kernel.regression import SupportFit, pair_outputs, target_sums
from ambilearn.methods._plcl_confidences import PLCLConfidences, PLCLWeights
from ambilearn.solvers import Moments, PrimalFit, SupportGraph

_BRANCHES = 8  # sums that one task of a tree adds


@dataclass(frozen=True)
class Partition:
    """What does not change during a fit."""

    numbers: NDArray[np.intp]
    candidates: CandidateSets
    features: Any
    graph: AdaptiveGraph | None


@dataclass(frozen=True)
class State:
    """What does: confidences, weights of the graph, and what the last round contributed."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    elsewhere: Any
    graph_weights: NDArray[np.float64] | None
    objective: float
    squared_change: float


def build(
    rows: Rows,
    classes: NDArray[Any],
    features: LandmarkFeatures | None,
    n_neighbors: int | None,
    neighbors: Any,
) -> Partition:
    """Features and graph of a partition; no graph with ``n_neighbors=None``."""
    candidates = as_candidates(rows.mask, classes=classes)
    graph = None
    if n_neighbors is not None:
        graph = AdaptiveGraph(rows.X, candidates, n_neighbors, neighbors=neighbors)
    phi = rows.X if features is None else features.transform(rows.X)
    return Partition(rows.numbers, candidates, phi, graph)


def moments(partition: Partition) -> Moments:
    """Sums of the features, for the normal equations."""
    return Moments.of(partition.features)


def start(partition: Partition, weights: PLCLWeights) -> State:
    """The confidences before the first round."""
    candidates, graph = partition.candidates, copy(partition.graph)
    p = candidates.uniform()
    if graph is not None:
        graph.update(feature_weight=1.0)
        p = graph.smooth(p, target=None, weight=1.0)
    first = PLCLConfidences(candidates, weights, graph, p)
    return State(first.p, first.q, first.elsewhere, getattr(graph, "weights", None), 0.0, 0.0)


def contribute(partition: Partition, state: State, complementary: bool) -> tuple[Any, ...]:
    """What a partition adds to the global sums.

    The objective, the squared change of P, and the sums that a regression on P needs; with a
    complementary classifier also those for Q.
    """
    candidates, features = partition.candidates, partition.features
    sums = state.objective, state.squared_change, *target_sums(features, candidates, state.p, 0.0)
    if complementary:
        sums += target_sums(features, candidates, state.q, state.elsewhere)
    return sums


def advance(
    partition: Partition, state: State, classifiers: list[PrimalFit], weights: PLCLWeights
) -> State:
    """Update Q, the graph and P for new classifiers: the ordinary, perhaps a complementary one."""
    candidates = partition.candidates
    graph = copy(partition.graph)  # an update changes the copy only
    if graph is not None:
        graph.weights = state.graph_weights
    now = PLCLConfidences(candidates, weights, graph, state.p)
    f, f_hat = ([_on_support(partition, fit) for fit in classifiers] + [None])[:2]
    now.update(f, f_hat)
    return State(
        now.p,
        now.q,
        now.elsewhere,
        getattr(graph, "weights", None),
        now.objective(f, f_hat),
        float(np.sum((now.p - state.p) ** 2)),
    )


def _on_support(partition: Partition, fit: PrimalFit) -> SupportFit:
    """A classifier's outputs for a partition; norm and sums over all rows are the driver's part."""
    outputs = pair_outputs(partition.features, partition.candidates, fit.coef, fit.intercept)
    return SupportFit(fit.coef, fit.intercept, outputs, 0.0, 0.0, 0.0, 0)


def outcome(partition: Partition, state: State) -> tuple[Any, ...]:
    """Row numbers, and P and Q on the candidates as CSR matrices."""
    sets = partition.candidates
    shape = sets.n_rows, sets.n_labels
    matrices = (sparse.csr_array((v, sets.labels, sets.indptr), shape) for v in (state.p, state.q))
    return partition.numbers, *matrices


def tree_sum(parts: list[Delayed]) -> Delayed:
    """Sum of tuples of numbers and arrays, entry by entry, in a fixed order."""
    while len(parts) > 1:
        groups = (parts[i : i + _BRANCHES] for i in range(0, len(parts), _BRANCHES))
        parts = [delayed(_add)(*group) for group in groups]
    return parts[0]


def _add(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sum(entries) for entries in zip(*parts, strict=True))


sizeof.register(
    (Partition, State, AdaptiveGraph, LocalGeometry, SupportGraph, CandidateSets), bytes_behind
)
