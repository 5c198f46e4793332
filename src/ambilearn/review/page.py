"""The review page: one HTML file that needs no other file, or a page of the review server."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ambilearn._utils.files import atomic_write
from ambilearn._utils.text import normalize_label, pluralize, report_lone_surrogates, requires_extra
from ambilearn.datasets.frames import split_ending

CELLS_SHOWN = 8
MAX_ROWS = 100_000  # more rows exceed the scroll height of browsers


# Which pages have a script: the file, the page on a server, or both. The scripts have one scope,
# joined in this order: an inline script cannot import from another.
SCRIPTS = {
    "csv": "both",
    "decisions": "both",
    "storage": "file",
    "connection": "served",
    "posted": "served",
    "view": "both",
    "virtual_list": "both",
    "card": "both",
    "other_label": "both",
    "state": "both",
    "several": "served",
    "keys": "both",
    "controls": "both",
    "served": "served",
}


def check_number_of_rows(n_rows: int) -> None:
    """Raise an error if a page cannot show so many rows."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"A review page holds at most {MAX_ROWS} rows, not {n_rows}: split the table, and "
            "review the parts."
        )


@dataclass(frozen=True)
class ReviewRow:
    """One row of the table.

    Parameters
    ----------
    cells : sequence of str
        The cells to show, one text for each column; empty if a value is missing.
    labels : sequence of str
        The candidates.
    confidences : sequence of float
        One for each candidate; scores, if the review is not calibrated.
    raw : str
        The candidates as the table has them, to recognize the row by.
    image : str, optional
        Address of an image, as :class:`~ambilearn.review.images.Images` makes it.
    decision : str, optional
        The label that a person has already chosen.
    suggestion : str, optional
        A label that is probably the truth. It is not a candidate, unless ``given`` is set.
    rank : int, default=0
        Place in the order in which rows should be looked at; among equals the margin decides.
    image_problem : str, optional
        Reason why the image cannot be shown, such as "not found". If there is an address, too, the
        page tries to load it.
    given : str, optional
        The label in the table, if it has one label per row; the page marks it and the suggestion.
    label : str, optional
        The label that the method chose; by default the candidate with the largest confidence.
    margin : float, optional
        Difference between the chosen label and the best other label; by default among the
        candidates.
    doubt : float, optional
        Probability that no candidate is right; it is shown with a suggestion.

    Examples
    --------
    >>> row = ReviewRow(["0.5"], ["anna", "bob"], [0.2, 0.8], "anna|bob")
    >>> row.ranked()
    [('bob', 0.8), ('anna', 0.2)]
    """

    cells: Sequence[str]
    labels: Sequence[str]
    confidences: Sequence[float]
    raw: str
    image: str | None = None
    decision: str | None = None
    suggestion: str | None = None
    rank: int = 0
    image_problem: str | None = None
    given: str | None = None
    label: str | None = None
    margin: float | None = None
    doubt: float | None = None

    def ranked(self) -> list[tuple[str, float]]:
        """Candidates with their confidences: the chosen one first, then the most confident."""
        pairs = zip(self.labels, self.confidences, strict=True)
        return sorted(pairs, key=lambda pair: (pair[0] != self.label, -pair[1]))


@dataclass(frozen=True)
class Review:
    """A table to be reviewed.

    Parameters
    ----------
    title : str
        Name of the table.
    columns : sequence of str
        Names of the cells of each row.
    rows : sequence of ReviewRow
        All rows, in the order of the table.
    separator : str, default="|"
        What separates the candidates in ``raw``.
    method : str, default=""
        Name of the method that computed the confidences.
    calibrated : bool, default=False
        Whether the confidences are calibrated. The page then shows them as percentages.
    blind : bool, default=False
        Whether to hide the confidences and the label of a row, for an audit.
    numbers : sequence of int, optional
        Row of the table of each row of the review; by default ``0 … n - 1``.
    n_shown : int, default=8
        Number of cells that a card shows before a person asks for all.

    Raises
    ------
    ValueError
        If there are no rows or too many, or if the parts of a row do not fit together.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[ReviewRow]
    separator: str = "|"
    method: str = ""
    calibrated: bool = False
    blind: bool = False
    numbers: Sequence[int] | None = None
    n_shown: int = CELLS_SHOWN

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("There is no row to review.")
        check_number_of_rows(len(self.rows))
        if self.numbers is not None and len(self.numbers) != len(self.rows):
            raise ValueError(f"There are {len(self.rows)} rows, but {len(self.numbers)} numbers.")
        for i, row in enumerate(self.rows):
            if len(row.cells) != len(self.columns):
                raise ValueError(f"Row {i} has {len(row.cells)} cells, not {len(self.columns)}.")
            if not row.labels:
                raise ValueError(f"Row {i} has no candidate label.")
            if len(row.labels) != len(row.confidences):
                raise ValueError(
                    f"Row {i} has {len(row.labels)} candidates and {len(row.confidences)} "
                    "confidences."
                )
            if row.given is None and row.suggestion in row.labels:
                raise ValueError(f"Row {i} has the candidate {row.suggestion!r} as suggestion.")
            if not all(map(math.isfinite, row.confidences)):
                raise ValueError(f"Row {i} has a confidence that is not a finite number.")

    @cached_property
    def classes(self) -> list[str]:
        """All labels that are a candidate, a suggestion or a decision somewhere, sorted."""
        labels = {label for row in self.rows for label in row.labels}
        labels |= {row.decision for row in self.rows if row.decision is not None}
        labels |= {row.suggestion for row in self.rows if row.suggestion is not None}
        return sorted(labels, key=lambda label: (label.casefold(), label))

    @property
    def download(self) -> str:
        """Name of the file in which the page saves the labels."""
        stem = re.sub(r"[^\w.-]+", "-", split_ending(self.title)[0]).strip("-.")
        return f"{stem or 'review'}-{'audit' if self.blind else 'corrections'}.csv"

    @cached_property
    def fingerprint(self) -> str:
        """Short name of the table's content, under which a browser keeps the work on it.

        Confidences, suggestions and images are left out: another method makes no other table.
        """
        content: list[object] = [list(self.columns)]
        content.append([[list(row.cells), row.raw] for row in self.rows])
        if self.numbers is not None:
            content.append(list(self.numbers))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:20]


def render_review(review: Review, *, served: bool = False, outputs: Sequence[str] = ()) -> str:
    """The page as text.

    Parameters
    ----------
    review : Review
        What to show.
    served : bool, default=False
        Whether the page is for the review server, to which it posts the answers.
    outputs : sequence of str, default=()
        Names of the files that the server writes at the end.

    Returns
    -------
    str
        HTML with all styles, scripts and data inside. Table content is always rendered as text: the
        data is JSON without ``<``. The content security policy allows only the page's own script
        and style, by their hashes, and connections only to the server of the page.
    """
    with requires_extra("cli", purpose="The review page"):
        from jinja2 import Environment, StrictUndefined

    style = _read_asset("style.css")
    left_out = "file" if served else "served"
    names = [name for name, pages in SCRIPTS.items() if pages != left_out]
    script = "\n".join(_read_asset(f"{name}.js") for name in names)
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        _read_asset("page.html.j2")
    )
    return template.render(
        title=review.title,
        subtitle=_make_subtitle(review),
        n_rows=len(review.rows),
        calibrated=review.calibrated,
        blind=review.blind,
        given=any(row.given is not None for row in review.rows),
        remote=_has_remote_images(review),
        served=served,
        outputs=outputs,
        fingerprint=review.fingerprint,
        policy=_make_policy(review, style, script, served),
        style=style,
        script=script,
        data=_json_for_html(_make_data(review)),
    )


def encode_page(review: Review, **options: Any) -> bytes:
    """The page of :func:`render_review`; an error names the row whose text cannot be written."""
    page = render_review(review, **options)
    try:
        return page.encode()
    except UnicodeEncodeError:
        for number, row in enumerate(review.rows):
            text = "\n".join([*row.cells, *row.labels, row.raw, row.decision or ""])
            with report_lone_surrogates(f"Row {number} of the table"):
                text.encode()
        raise


def write_review(review: Review, path: str | Path) -> Path:
    """Write the page; the file appears only when it is complete.

    Parameters
    ----------
    review : Review
        What to show.
    path : path-like
        Where to write it. Missing folders are made.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    content = encode_page(review)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(content)
    return path


def _read_asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text("utf-8")


def _make_subtitle(review: Review) -> str:
    counts = f"{pluralize(len(review.rows), 'row')}, {pluralize(len(review.classes), 'label')}"
    if review.blind:
        return f"{counts}, drawn at random"
    shown = "confidences" if review.calibrated else "scores"
    return f"{counts}, {shown} by {review.method}" if review.method else counts


def _make_data(review: Review) -> dict[str, Any]:
    position = {label: j for j, label in enumerate(review.classes)}
    return {
        "fingerprint": review.fingerprint,
        "download": review.download,
        "separator": review.separator,
        "calibrated": review.calibrated,
        "blind": review.blind,
        "numbers": None if review.numbers is None else list(review.numbers),
        "columns": list(review.columns),
        "shown": review.n_shown,
        "classes": [normalize_label(label) for label in review.classes],
        "rows": [_make_row(row, position) for row in review.rows],
    }


def _make_row(row: ReviewRow, position: dict[str, int]) -> list[Any]:
    ranked = row.ranked()
    return [
        list(row.cells),
        row.raw,
        [position[label] for label, _ in ranked],
        [round(float(confidence), 6) for _, confidence in ranked],
        row.image,
        None if row.decision is None else normalize_label(row.decision),
        None if row.suggestion is None else position[row.suggestion],
        row.image_problem,
        row.rank,
        position.get(row.given or ""),
        None if row.margin is None else round(float(row.margin), 6),
        None if row.doubt is None else round(100 * float(row.doubt)),
    ]


def _json_for_html(data: Any) -> str:
    """JSON that cannot end the script element that contains it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _has_remote_images(review: Review) -> bool:
    return any((row.image or "").lower().startswith(("http:", "https:")) for row in review.rows)


def _make_policy(review: Review, style: str, script: str, served: bool) -> str:
    """Content-Security-Policy: nothing but our own style and script, and the images of the table.

    Images may come from the network only if the table has such addresses, and never into a page
    of the server.
    """
    network = " http: https:" if _has_remote_images(review) else ""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src 'self' data:" if served else f"img-src 'self' file: data:{network}",
            *(["connect-src 'self'"] if served else []),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
