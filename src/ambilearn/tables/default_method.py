"""The default method for a table, chosen mostly by its size."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ambilearn.kernel.landmarks import MAX_DENSE_LABELS
from ambilearn.registry import find_method
from ambilearn.tables.methods import has_parameter
from ambilearn.tables.read import CandidateTable

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
    table: CandidateTable,
    params: Mapping[str, Any] | None = None,
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
