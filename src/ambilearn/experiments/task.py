"""A task: the smallest unit of work that is executed, stored and resumed."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

from ambilearn.registry import find_method

# Plain content, as in JSON and TOML.
Content: TypeAlias = dict[str, Any]

SELECTIONS = ("fixed", "label-free", "oracle")

# Selection of the tasks of each line, in the order of the lines; an oracle gives two lines.
READINGS = {
    "fixed": "fixed",
    "label-free": "label-free",
    "oracle": "oracle",
    "oracle per run": "oracle",
}

CHOSEN_BY = "accuracy"  # of an oracle, on the test rows

# Scores of every result, and of every point of an oracle; see ambilearn.experiments.splits.
SCORES = [
    name + tolerance
    for name in (
        "accuracy",
        *(f"transductive.{of}" for of in ("confidences", "outputs_in_set", "outputs")),
    )
    for tolerance in ("", "@3", "@5")
]

# Parameters that do not change results and are not part of the definition of a task.
_SILENT = {"verbose"}


@dataclass(frozen=True, eq=False)
class Task:
    """One method, fitted and tested on one split of one data set.

    Parameters
    ----------
    data : str
        Name of a data set.
    method : str
        Class name of an estimator, such as ``"PLCL"``.
    run : int
        Number of the random split.
    params : mapping
        Parameters of the method that differ from its defaults.
    candidates : mapping or None
        Arguments of :func:`~ambilearn.datasets.make_candidates`, if the data set has no candidate
        sets.
    scaling : {"all", "train", "none"}
        Rows over which features are z-scored: all rows before the split, as in the code of the
        paper's methods, only the training rows, or none.
    test_share : float
        Fraction of the rows that are test rows.
    rows : int or None
        Use at most this many rows of the data set.
    select : {"fixed", "label-free", "oracle"}
        How hyper-parameters are chosen.
    search : mapping
        Search of the grid, unless ``select`` is ``"fixed"``: ``kind``, ``points``, ``scoring``,
        the ``grid`` and the ``seed`` of the points.
    """

    data: str
    method: str
    run: int
    params: Content = field(default_factory=dict)
    candidates: Content | None = None
    scaling: str = "all"
    test_share: float = 0.5
    rows: int | None = None
    select: str = "fixed"
    search: Content = field(default_factory=dict)

    @cached_property
    def definition(self) -> Content:
        """Everything that determines the result, with *all* parameters of the method.

        Defaults are included, so that old results are not reused when a default changes.
        """
        check_params(self.method, self.params)
        return asdict(self) | {"params": default_params(self.method) | dict(self.params)}

    @cached_property
    def key(self) -> str:
        """Name of the task in a store: a hash of its definition."""
        return digest(self.definition).hex()

    def to(self, **changes: Any) -> "Task":
        """Copy of the task with some fields changed."""
        return replace(self, **changes)

    def estimator(self) -> Any:
        """The unfitted method with the parameters of the task."""
        return find_method(self.method).make(**self.params)


def check_params(method: str, names: Iterable[str]) -> None:
    """Raise if a name is not a parameter of the method."""
    defaults = default_params(method)
    unknown = set(names) - set(defaults)
    if unknown:
        raise ValueError(
            f"{method} has no parameter {sorted(unknown)[0]!r}. It has: "
            f"{', '.join(sorted(defaults))}."
        )


@cache
def default_params(name: str) -> Content:
    """Default parameters of a method as plain content."""
    params = find_method(name).load()().get_params(deep=False)
    return {key: _plain(value) for key, value in params.items() if key not in _SILENT}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


@dataclass(frozen=True)
class Result:
    """Result of a task.

    Attributes
    ----------
    key, task : str, dict
        Name and definition of the task.
    status : {"done", "failed"}
        A failed task has an ``error`` and no scores.
    scores : dict
        Every metric by name.
    details : dict
        ``n_iter``, ``objective`` after each iteration, the ``chosen`` parameters of a search and
        its summary, all points ``tried`` by an oracle, and the ``warnings`` of the method.
    error : str
        Traceback of a failure.
    seconds : float
        Duration.
    """

    key: str
    task: Content
    status: str
    scores: dict[str, float] = field(default_factory=dict)
    details: Content = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0


def derive_seed(*names: Any) -> int:
    """32-bit seed that depends only on the names.

    The names are the purpose of the random choice, the data set, the run: texts, numbers, None, or
    lists and dicts of them.

    >>> derive_seed("split", "lost", 0)
    4144004302
    >>> derive_seed("split", "lost", 1) == derive_seed("split", "lost", 0)
    False
    """
    return int.from_bytes(digest(list(names))[:4], "big")


def digest(content: Any) -> bytes:
    """SHA-256 of the canonical JSON of plain content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()
