"""The default method for a table, and a method by its name with parameters."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Estimator, Params
from ambilearn.kernel import DEFAULT_N_LANDMARKS, MAX_DENSE_LABELS, MAX_EXACT_ROWS
from ambilearn.registry import find_method

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable

_LARGEST_INTEGER = 2**63 - 1  # which every array can hold
# Above, a fit of the stack takes minutes; PL-CL takes a third of the time.
MAX_STACKED_ROWS = 10_000

_STACK, _PLAIN, _DEEP = "plstacking", "plcl", "deepplcl"


class DefaultMethod(NamedTuple):
    """A method that was chosen because none was named.

    Attributes
    ----------
    name : str
        Its name on the command line.
    reason : str
        When it is the default, such as "up to 10 000 rows".
    """

    name: str
    reason: str


def choose_default(
    table: "CandidateTable",
    params: Params | None = None,
    *,
    tune: bool = False,
) -> DefaultMethod:
    r"""The method for a table: a stack up to 10 000 rows, PL-CL above, DeepPLCL for images.

    The stack disambiguates more rows correctly. A fit takes two to three times as long as one of
    PL-CL, cleaning as a whole 1.5 to 6 times. PL-CL is used at any size for tables on which the
    stack is not better (free text), and for what the stack does not support: more than 1000 labels,
    parameters of PL-CL, parameters chosen by the answers of annotators. The choice does not depend
    on the device.

    >>> from io import StringIO
    >>> from ambilearn.tables import read_candidate_table
    >>> file = StringIO("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    >>> table = read_candidate_table(file, candidates="names", format="csv")
    >>> choose_default(table)
    DefaultMethod(name='plstacking', reason='up to 10 000 rows')
    >>> choose_default(table, {"reg": 0.1})
    DefaultMethod(name='plcl', reason='where its parameter reg is given')
    """
    if any(column.kind == "image" for column in table.features.columns):
        return DefaultMethod(_DEEP, "for images")
    stack, plain = (find_method(name).load()() for name in (_STACK, _PLAIN))
    foreign = [
        key for key in params or {} if has_parameter(plain, key) and not has_parameter(stack, key)
    ]
    limit = f"{MAX_STACKED_ROWS:,}".replace(",", " ")
    if foreign:
        return DefaultMethod(_PLAIN, f"where its parameter {foreign[0]} is given")
    if len(table.frame) > MAX_STACKED_ROWS:
        return DefaultMethod(_PLAIN, f"above {limit} rows")
    if any(column.kind == "text" for column in table.features.columns):
        return DefaultMethod(_PLAIN, "for sentences")
    if len(table.candidates.classes) > MAX_DENSE_LABELS:
        return DefaultMethod(_PLAIN, f"above {MAX_DENSE_LABELS} labels")
    if tune and table.votes is not None:
        return DefaultMethod(_PLAIN, "where answers of annotators choose its parameters")
    return DefaultMethod(_STACK, f"up to {limit} rows")


def make_method(
    name: str,
    params: Params | None = None,
    *,
    n_rows: int = 0,
    random_state: int = 0,
) -> Any:
    """A method by its name in :data:`ambilearn.registry.METHODS`, such as ``"plcl"``; unfitted.

    From 20 000 rows on, a kernel method uses 2 000 landmarks, unless ``params`` set another number:
    exact kernel matrices would fill gigabytes. Raises ValueError if there is no such method or
    parameter, or a value is out of range; raises ImportError if the method needs an extra that is
    not installed.

    >>> make_method("plknn", {"n_neighbors": 5})
    PLKNN(n_neighbors=5)
    """
    found = find_method(name)
    found.check_installed()
    method = found.make()
    known = method.get_params(deep=False)
    chosen = dict(params or {})
    for key in chosen:
        if not has_parameter(method, key):
            close = get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{name} has no parameter {key!r}.{hint} It has: {', '.join(known)}.")
    if "random_state" in known:
        chosen.setdefault("random_state", random_state)
    if "n_landmarks" in known and n_rows >= MAX_EXACT_ROWS:
        chosen.setdefault("n_landmarks", DEFAULT_N_LANDMARKS)
    method.set_params(**chosen)
    method._validate_params()
    return method


def has_parameter(method: Estimator, key: str) -> bool:
    """Whether a method has a parameter; an ensemble also has its members and their parameters.

    >>> from ambilearn import PLStacking
    >>> [has_parameter(PLStacking(), key) for key in ("cv", "plcl__reg", "sure", "reg")]
    [True, True, True, False]
    """
    return key in method._settable_params()


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from texts like ``n_neighbors=5``.

    >>> parse_settings(["n_neighbors=5", "kernel=linear", "graph=false", "reg=1e-2"])
    {'n_neighbors': 5, 'kernel': 'linear', 'graph': False, 'reg': 0.01}
    """
    params: Params = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"A parameter is given as NAME=VALUE; got {setting!r}.")
        if key.strip() in params:
            raise ValueError(f"The parameter {key.strip()!r} is given twice: omit one of them.")
        params[key.strip()] = value = _value(text.strip())
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            raise ValueError(f"{shorten_repr(setting)} is too large for a parameter.")
    return params


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
