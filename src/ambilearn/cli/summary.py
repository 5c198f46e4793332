"""What commands print about a table and about their result."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ambilearn._utils.text import pluralize, shorten_list, shorten_repr
from ambilearn._utils.types import Array, DataFrame, Label
from ambilearn.cli.console import Console, printable

if TYPE_CHECKING:
    from ambilearn.confidence.calibration import Calibration
    from ambilearn.confidence.doubt import Doubt
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.clean import LabeledTable
    from ambilearn.tables.model import TableModel

CHECK_FIRST = "\nCheck these rows first (the first row is 0):"
CLOSE_CALL_MARGIN = 0.1
MAX_SHOWN_ROWS = 10
_MAX_NAMED_COLUMNS = 5
# id, image_id, imageId, uuid; not "humid".
_ID_NAME = r"((^|[\W_])(uu|gu)?id|[a-z]I[dD])s?$|(^|[\W_])(UU|GU)?ID$|^(Id|index|idx)$"


def describe_table(console: Console, table: "CandidateTable") -> None:
    """Rows, labels and features, and which columns are left out."""
    sets = table.candidates
    size = f"{table.name}: {pluralize(len(sets), 'row')}, {pluralize(len(sets.classes), 'label')}"
    several = (sets.sizes > 1).any()
    console.say(f"{size}, {sets.sizes.mean():.2f} candidates per row" if several else size)
    by_kind: dict[str, list[str]] = {}
    for column in table.features.columns:
        size = f" ({column.length:,} numbers)" if column.length > 1 else ""
        by_kind.setdefault(column.kind, []).append(f"{column.name}{size}")
    kinds = "; ".join(f"{kind}: {shorten_list(names)}" for kind, names in by_kind.items())
    features = f"{pluralize(len(table.features.columns), 'feature')}: {kinds}"
    console.say(features if kinds else "no features: labels are chosen by the answers alone")
    if table.description.features_from is not None:
        console.say(f"answers and features are joined by the column {table.description.item!r}")
    for line in _describe_left_out(table.features.left_out):
        console.say(f"left out: {line}", style="yellow")
    if names := _label_columns(table):
        console.say(
            f"features with labels: {_names(names)}. If one is the true label, use --truth; if it "
            "must not be used, use --exclude.",
            style="yellow",
        )
    if names := _id_columns(table):
        console.say(
            f"features that look like ids: {_names(names)}. If they do not help to find the label, "
            "use --exclude.",
            style="yellow",
        )
    _warn_of_foreign_truth(console, table)
    corrections = table.corrections
    if corrections.labels:
        console.say(f"{pluralize(len(corrections.labels), 'row')} corrected by a person")
    if corrections.new_labels:
        console.say(
            f"labels that occur only in the corrections: {shorten_list(corrections.new_labels)}",
            style="yellow",
        )


def hint_at_given_label(console: Console, table: "CandidateTable") -> None:
    """Point to ``--given-label`` if there is nothing to choose between."""
    labels = table.given.classes.tolist()
    if len(labels) == 1:
        console.say(
            f"There is only one label, {shorten_repr(labels[0])}, so no label is changed.",
            style="yellow",
        )
    elif table.votes is None and (table.given.sizes == 1).all():
        console.say(
            "Every row has one candidate, so no label is changed. If some of the labels are wrong, "
            "use --given-label instead of --candidates.",
            style="yellow",
        )


def _names(columns: Sequence[str]) -> str:
    return shorten_list([repr(column) for column in columns], _MAX_NAMED_COLUMNS)


def _describe_left_out(left_out: Mapping[str, str]) -> list[str]:
    """Columns and why they are left out, those with the same reason in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reason = re.sub(r"\d+ different values in \d+ rows", "mostly different values", reason)
        by_reason.setdefault(reason, []).append(name)
    return [
        f"{names[0]!r} {left_out[names[0]]}"
        if len(names) == 1
        else f"{_names(names)}: each {reason}"
        for reason, names in by_reason.items()
    ]


def _parse(table: "CandidateTable", kind: str, name: str = "") -> DataFrame:
    """The features of a kind whose name matches a pattern."""
    from ambilearn.tables.columns import parse_features

    found = [c for c in table.features.columns if c.kind == kind and re.search(name, str(c.name))]
    return parse_features(table.name, table.frame, found, table.description.file.decimal)


def _id_columns(table: "CandidateTable") -> list[str]:
    """Features that are named like an id, and whose cells are different whole numbers."""
    return [
        name
        for name, values in _parse(table, "number", _ID_NAME).items()
        if values.is_unique and (values.dropna() % 1 == 0).all()
    ]


def _label_columns(table: "CandidateTable") -> list[str]:
    """Features in which every value is a label: perhaps the true label."""
    from ambilearn._utils.text import normalize_label

    labels = set(map(str, table.candidates.classes.tolist()))
    return [
        name
        for name, values in _parse(table, "category").items()
        if labels.issuperset(map(normalize_label, values.dropna()))
    ]


def _warn_of_foreign_truth(console: Console, table: "CandidateTable") -> None:
    """Warn if no known label is among the candidates of its row."""
    known = known_labels(table)
    sets = table.given[list(known)].to_sets() if known else []
    if known and not any(a in b for a, b in zip(known.values(), sets, strict=True)):
        given = "candidates" if table.votes is None else "answers"
        console.say(
            f"No label in column {table.description.truth!r} is among the {given} of its row. Are "
            f"the labels written in the same way as the {given}?",
            style="yellow",
        )


def describe_model(console: Console, model: "TableModel", given: dict[str, Any]) -> None:
    """Method, parameters that were chosen, and the use of landmarks."""
    parameters = model.about["parameters"]
    if model.about["selection score"] is not None:
        chosen = ", ".join(f"{key}={value}" for key, value in model.about["chosen"].items())
        console.say(
            f"chosen without true labels: {chosen} ({model.about['selection score']:.1%} of the "
            "held-out predictions are candidates)"
        )
    if parameters.get("n_landmarks") and "n_landmarks" not in given:
        console.say(
            f"the kernel of {model.about['rows']} rows is approximated by "
            f"{parameters['n_landmarks']} landmarks. Choose another number with --set "
            "n_landmarks=N; --set n_landmarks=none is exact and needs memory for n×n matrices.",
            style="yellow",
        )


def describe_calibration(
    console: Console, calibration: "Calibration", *, new_rows: bool = False, page: bool = False
) -> None:
    """Whether confidences are calibrated, and why.

    They are in a column of the output table, of `predict` if for ``new_rows``, or on a page.
    """
    if page and calibration.cleaned is None:
        console.say(f"the page shows scores without calibration: {calibration.reason}")
    elif calibration.cleaned is None and calibration.inverse_temperature is None:
        column, output = ("of `predict` ", "of its output ") if new_rows else ("", "")
        console.say(
            f"confidence {column}is empty: {calibration.reason}. To fill it, check some rows "
            f"{output}with `ambilearn audit`"
        )
    else:
        console.say(f"calibrated ({calibration.reason})")


def describe_accuracy(console: Console, table: "CandidateTable", labels: Array) -> None:
    """Accuracy on rows with a known label, and the share whose label is not a candidate."""
    known = known_labels(table)
    if not known:
        return
    right = sum(labels[row] == truth for row, truth in known.items()) / len(known)
    console.say(f"{right:.1%} of the {pluralize(len(known), 'row')} with a known label are right")
    unanswered, sets = _without_answer(table), table.given[list(known)].to_sets()
    outside = sum(
        truth not in labels or row in unanswered
        for (row, truth), labels in zip(known.items(), sets, strict=True)
    )
    if not outside:
        return
    rows = pluralize(outside, "row")
    if table.judgment is None:
        found = f"is not a candidate ({rows}); their chosen label is always wrong"
    else:  # a label that is in no answer may still be chosen
        found = f"is in no answer ({rows})"
    console.say(
        f"{outside / len(known):.1%} of them have a known label that {found}", style="yellow"
    )


def known_labels(table: "CandidateTable") -> dict[int, Label]:
    """The true labels that are known, by their rows."""
    return {i: truth for i, truth in enumerate(table.truth or []) if truth is not None}


def _without_answer(table: "CandidateTable") -> set[int]:
    """Rows of a judged table without an answer or a correction."""
    if table.judgment is None or table.votes is None:
        return set()
    return set((table.votes.answers_per_item == 0).nonzero()[0]) - {*table.corrections.labels}


def describe_cleaned(console: Console, cleaned: "LabeledTable") -> None:
    """How ambiguous the table is, and the rows to check first."""
    table = cleaned.table
    ambiguous = int((table.candidates.sizes > 1).sum())
    judged = table.judgment is not None
    if judged:
        disputed = set((table.given.sizes > 1).nonzero()[0]) - _without_answer(table)
        console.say(f"{pluralize(len(disputed), 'row')} with several different answers")
    several = f"several {'possible labels' if judged else 'candidates'}"
    if ambiguous:
        close = int((cleaned.choices.margins < CLOSE_CALL_MARGIN).sum())
        console.say(
            f"{pluralize(ambiguous, 'row')} with {several}, among them "
            f"{pluralize(close, 'close call')} (margin below {CLOSE_CALL_MARGIN})"
        )
    else:
        console.say(f"No row has {several}")
    describe_doubt(console, table, cleaned.doubt)
    first = [row for row in cleaned.order[:MAX_SHOWN_ROWS].tolist() if _is_open(cleaned, row)]
    if not first:
        return
    doubtful = [] if cleaned.doubt is None else [">doubt", "suggestion"]
    scores = f"{'labels' if judged else 'candidates'} and their scores"
    console.say(CHECK_FIRST)
    console.table([">row", *doubtful, "label", scores], (_row_to_check(cleaned, i) for i in first))


def _row_to_check(cleaned: "LabeledTable", row: int) -> Iterator[object]:
    yield row
    if cleaned.doubt is not None:
        yield f"{cleaned.doubt.score[row]:.2f}"
        yield shorten_label(cleaned.doubt.suggestion[row] or "")
    pairs = cleaned.candidates(row)
    yield shorten_label(pairs[0][0])
    rest = f", and {len(pairs) - 4} more" if len(pairs) > 4 else ""
    yield ", ".join(f"{shorten_label(label)} {score:.2f}" for label, score in pairs[:4]) + rest


def describe_doubt(console: Console, table: "CandidateTable", doubt: "Doubt | None") -> None:
    """Number of rows in which probably no candidate, or no answer, is correct."""
    if doubt is not None:
        flagged = int(doubt.doubtful.sum())
        console.say(
            f"{pluralize(flagged, 'row')} in which probably no "
            f"{'candidate' if table.judgment is None else 'answer'} is correct (doubt above 0.5)"
        )


def _is_open(cleaned: "LabeledTable", row: int) -> bool:
    """Whether there is anything to decide: several candidates, or perhaps none that is right."""
    if row in cleaned.table.corrections.labels:
        return False
    doubtful = cleaned.doubt is not None and bool(cleaned.doubt.doubtful[row])
    return doubtful or bool(cleaned.choices.margins[row] < 1)


def shorten_label(label: Label, limit: int = 30) -> str:
    """A label that fits into a table of the terminal."""
    text = printable(str(label))
    return text if len(text) <= limit else text[: limit - 1] + "…"
