"""How a user's table is read: one description, which Python arguments and commands fill."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ambilearn._utils.text import MISSING_WORDS, normalize_text
from ambilearn._utils.types import DataFrame, Label
from ambilearn.datasets.advice import check_frame, check_text_columns
from ambilearn.datasets.frames import check_unique_columns, find_format, read_frame, source_name

# Which `clean` writes; adding one also takes a line in `clean.append_results`.
NEW_COLUMNS = ("label", "score", "confidence", "doubt", "suggestion", "review_rank")
FILE_NAME = "name of the file"  # in the attributes of a data frame that was read from one
_SEVERAL = ("candidates", "features", "exclude", "categorical", "no_answer")  # may be one value
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How to read a file: the options of the same names.

    ``format`` is that of a file without a known ending, such as standard input.
    """

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}.")

    def read(self, source: Any) -> tuple[str, DataFrame]:
        """Name and content of a file; a data frame is returned as it is."""
        if hasattr(source, "columns"):
            name = getattr(source, "attrs", {}).get(FILE_NAME, "table")
            check_frame(name, source)
            check_unique_columns(name, source)
            check_text_columns(name, source)
            return name, source
        name = source_name(source)
        frame = read_frame(
            source,
            format=self.format_of(name),
            encoding=self.encoding,
            delimiter=self.delimiter,
            sheet=self.sheet,
        )
        return name, frame

    def format_of(self, name: str) -> str | None:
        """Format of a file; the ending of its name decides, if it is a known one."""
        return find_format(name) or self.format


@dataclass(frozen=True, kw_only=True)
class TableDescription:
    """A table with candidate labels, the roles of its columns, and how to read it.

    The attributes are the arguments of :func:`ambilearn.tables.read_candidate_table`.
    """

    source: Any
    candidates: tuple[str, ...] = ()
    given_label: str | None = None
    features_from: Any = None
    item: str = "item"
    annotator: str = "annotator"
    answer: str = "label"
    sep: str = "|"
    truth: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    embed: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    image_folders: tuple[Path, ...] = ()
    min_votes: int | None = None
    fallback: str = "error"
    na_is_label: bool = False
    no_answer: tuple[Any, ...] = ()
    missing: str | None = None
    checked: Any = None
    file: FileFormat = field(default_factory=FileFormat)
    votes_alone: bool = False  # answers of annotators without any feature are accepted

    def __post_init__(self) -> None:
        """Check the options, and convert single names and lists to tuples."""
        for name in _SEVERAL:
            object.__setattr__(self, name, as_tuple(getattr(self, name)))
        object.__setattr__(self, "image_folders", tuple(map(Path, self.image_folders)))
        if not normalize_text(self.sep):
            raise ValueError(
                "sep must not be empty or invisible: pass the text between two labels, such as '|'."
            )
        if self.missing not in (None, "error", "any", "skip"):
            raise ValueError(f"missing must be 'error', 'any' or 'skip', got {self.missing!r}.")
        if self.given_label is not None and self.missing == "any":
            raise ValueError(
                "missing='any' is for candidates, not for given_label: use missing='skip' "
                "(--missing skip), or fill in the labels."
            )

    @property
    def is_long_form(self) -> bool:
        """Whether the table has one answer per row."""
        if self.candidates:
            return False
        return self.features_from is not None or (self.votes_alone and self.given_label is None)

    @property
    def missing_words(self) -> Set[str]:
        """Cells of candidates that are missing; none if these words are labels."""
        return frozenset() if self.na_is_label else MISSING_WORDS

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns with the labels."""
        return self.candidates if self.given_label is None else (self.given_label,)


@dataclass(frozen=True)
class Corrections:
    """Labels chosen by a person.

    Attributes
    ----------
    labels : dict of int to label
        The label of each corrected row.
    new_labels : list
        Those labels that are a candidate nowhere in the table.
    random : set of int
        Rows that were drawn at random.
    """

    labels: dict[int, Label] = field(default_factory=dict)
    new_labels: list[Label] = field(default_factory=list)
    random: set[int] = field(default_factory=set)


def as_tuple(values: Any) -> tuple[Any, ...]:
    """One text, or a sequence of texts or codes, as a tuple."""
    if values is None:
        return ()
    several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    return tuple(values) if several else (values,)


def fill(kind: type[_Kind], options: Mapping[str, Any], **given: Any) -> _Kind:
    """An object whose attributes are the options of the same names; None keeps the default."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    known = {name: value for name, value in options.items() if name in names and value is not None}
    return kind(**known | given)
