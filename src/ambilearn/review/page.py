"""The review page: one HTML file that needs no other file, or a page of the review server."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ambilearn._utils.files import atomic_write
from ambilearn._utils.text import normalize_label, pluralize, report_lone_surrogates, requires_extra
from ambilearn.review.record import Review, ReviewRow

# One scope, joined in this order: an inline script cannot import from another.
SCRIPTS = (
    "csv",
    "decisions",
    "storage",
    "view",
    "virtual_list",
    "card",
    "other_label",
    "state",
    "actions",
    "keys",
    "controls",
)
# The same page on a server: answers are posted instead of stored in the browser.
SERVED_SCRIPTS = (
    "csv",
    "decisions",
    "connection",
    "posted",
    "view",
    "virtual_list",
    "card",
    "other_label",
    "state",
    "actions",
    "several",
    "keys",
    "controls",
    "served",
)


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
    names = SERVED_SCRIPTS if served else SCRIPTS
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
