"""The drawn rows of an audit as a review that does not show their labels."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ambilearn._utils.labels import split_labels
from ambilearn._utils.text import readable_file_name
from ambilearn.datasets.label_cells import whole_number_text
from ambilearn.review.from_table import format_cell
from ambilearn.review.images import Images, Shown
from ambilearn.review.record import Review, ReviewRow

if TYPE_CHECKING:
    import pandas as pd

_MAX_LABELS = 20  # that are offered for a row without candidates


def review_from_audit(
    frame: "pd.DataFrame",
    rows: Sequence[int],
    labels: Sequence[str],
    texts: Sequence[str] | None = None,
    *,
    sep: str = "|",
    name: str = "table",
    hidden: Collection[str] = (),
    image: str | None = None,
    images: Images | None = None,
) -> Review:
    """Rows that were drawn for an audit, in this order, without scores.

    ``labels`` has the label of every row of the table. The page does not show which label a row
    has, unless there are no candidates and more than 20 labels. ``texts`` has the candidates of
    every row, separated by ``sep``; by default all labels are offered. Columns in ``hidden`` are
    not shown. ``images`` makes the addresses of the images in the column ``image``; by default they
    are relative to the folder of the table.
    """
    folder = Path(name).parent
    images = images or Images(folder, folder)
    columns = [column for column in frame.columns if column not in hidden and column != image]
    cells = {column: frame[column].to_list() for column in [*columns, *([image] if image else [])]}
    every = sorted(set(labels))
    shown = []
    for rank, row in enumerate(rows, start=1):
        candidates = every if len(every) <= _MAX_LABELS else [labels[row]]
        if texts is not None:
            offered = {*split_labels(texts[row], sep)} - {""}
            if labels[row] not in map(whole_number_text, offered):  # 1.0 is the label 1
                offered.add(labels[row])
            candidates = sorted(offered)
        picture = images.find(format_cell(cells[image][row])) if image else Shown()
        shown.append(
            ReviewRow(
                [format_cell(cells[column][row]) for column in columns],
                candidates,
                [0.0] * len(candidates),
                labels[row] if texts is None else texts[row],
                picture.address,
                rank=rank,
                image_problem=picture.problem,
            )
        )
    title = readable_file_name(name) if name != "<stdin>" else "standard input"
    numbers = [int(row) for row in rows]
    return Review(title, [str(c) for c in columns], shown, sep, blind=True, numbers=numbers)
