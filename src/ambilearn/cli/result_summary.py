"""Summaries of results for the terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Label
from ambilearn.cli.console import Console, printable

if TYPE_CHECKING:
    from ambilearn.confidence.calibration import Calibration
    from ambilearn.confidence.doubt import Doubt
    from ambilearn.crowd.report import AnnotatorReport
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.clean import LabeledTable
    from ambilearn.tables.given_labels import CorrectedTable
    from ambilearn.tables.model import TableModel

_CHECK_FIRST = "\nCheck these rows first (the first row is 0):"
CLOSE_CALL_MARGIN = 0.1
_MAX_SHOWN_ROWS = 10
_MAX_SHOWN_ANNOTATORS = 10


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
    known = {i: truth for i, truth in enumerate(table.truth or []) if truth is not None}
    if not known:
        return
    chosen = labels[list(known)].tolist()
    right = np.mean([a == b for a, b in zip(known.values(), chosen, strict=True)])
    console.say(f"{right:.1%} of the {pluralize(len(known), 'row')} with a known label are right")
    sets = table.given[list(known)].to_sets()
    outside = np.array([a not in b for a, b in zip(known.values(), sets, strict=True)])
    outside |= _without_answer(table)[list(known)]
    if not outside.any():
        return
    rows = pluralize(int(outside.sum()), "row")
    if table.judgment is None:
        found = f"is not a candidate ({rows}); their chosen label is always wrong"
    else:  # a label that is in no answer may still be chosen
        found = f"is in no answer ({rows})"
    console.say(f"{outside.mean():.1%} of them have a known label that {found}", style="yellow")


def _without_answer(table: "CandidateTable") -> NDArray[np.bool_]:
    """Rows of a judged table without an answer or a correction."""
    unanswered = np.zeros(len(table.candidates), dtype=bool)
    if table.judgment is not None and table.votes is not None:
        unanswered = table.votes.answers_per_item == 0
        unanswered[list(table.corrections.labels)] = False
    return unanswered


def describe_cleaned(console: Console, cleaned: "LabeledTable") -> None:
    """How ambiguous the table is, and the rows to check first."""
    table = cleaned.table
    ambiguous = int((table.candidates.sizes > 1).sum())
    judged = table.judgment is not None
    if judged:
        disputed = (table.given.sizes > 1) & ~_without_answer(table)
        console.say(f"{pluralize(int(disputed.sum()), 'row')} with several different answers")
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
    first = [row for row in cleaned.order[:_MAX_SHOWN_ROWS].tolist() if _is_open(cleaned, row)]
    if not first:
        return
    doubtful = [] if cleaned.doubt is None else [">doubt", "suggestion"]
    scores = f"{'labels' if judged else 'candidates'} and their scores"
    console.say(_CHECK_FIRST)
    console.table([">row", *doubtful, "label", scores], (_row_to_check(cleaned, i) for i in first))


def _row_to_check(cleaned: "LabeledTable", row: int) -> Iterator[object]:
    yield row
    if cleaned.doubt is not None:
        yield f"{cleaned.doubt.score[row]:.2f}"
        yield _short(cleaned.doubt.suggestion[row] or "")
    pairs = cleaned.candidates(row)
    yield _short(pairs[0][0])
    rest = f", and {len(pairs) - 4} more" if len(pairs) > 4 else ""
    yield ", ".join(f"{_short(label)} {score:.2f}" for label, score in pairs[:4]) + rest


def describe_corrected(console: Console, corrected: "CorrectedTable") -> None:
    """How many labels were changed, and the rows to check first."""
    doubt, n = corrected.doubt, len(corrected.given)
    changed = int(np.sum(corrected.given != doubt.label))
    console.say(
        f"{changed} of {pluralize(n, 'label')} changed ({changed / n:.1%}), "
        f"{pluralize(int((doubt.doubtful & ~doubt.change).sum()), 'label')} doubtful and kept"
    )
    truth = corrected.table.truth or []
    known = [i for i, label in enumerate(truth) if label is not None]
    if known:
        before, after = (
            np.mean([labels[i] == truth[i] for i in known])
            for labels in (corrected.given.tolist(), doubt.label.tolist())
        )
        console.say(
            f"of the {pluralize(len(known), 'row')} with a known label, {before:.1%} were given "
            f"the right one; after the correction {after:.1%} are right"
        )
    settled = corrected.table.corrections.labels
    first = [i for i in corrected.order.tolist() if doubt.doubtful[i] and i not in settled]
    if not first:
        return
    console.say(_CHECK_FIRST)
    console.table(
        [">row", ">doubt", ">confidence", "given", "label", "suggestion"],
        (
            (
                row,
                f"{doubt.score[row]:.2f}",
                f"{doubt.confidence[row]:.2f}",
                *map(_short, (corrected.given[row], doubt.label[row], doubt.suggestion[row] or "")),
            )
            for row in first[:_MAX_SHOWN_ROWS]
        ),
    )


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


def _short(label: Label, limit: int = 30) -> str:
    text = printable(str(label))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def describe_annotators(console: Console, report: "AnnotatorReport", by: str) -> None:
    """Agreement, answers and most frequent confusions, of the least reliable annotators first."""
    frame = report.to_frame()
    console.say(f"{pluralize(len(frame), 'annotator')} judged by their answers {by}")
    console.table(
        [
            *("annotator", ">answers", ">agreement (95 %)"),
            "most frequent confusions: right → given (how often)",
        ],
        (
            (
                row.annotator,
                f"{row.answers:,}",
                f"{row.agreement:.0%} ({row.low:.0%}–{row.high:.0%})",
                row.confusions,
            )
            for row in frame.head(_MAX_SHOWN_ANNOTATORS).itertuples(index=False)
        ),
    )
    if len(frame) > _MAX_SHOWN_ANNOTATORS:
        rest = frame.iloc[_MAX_SHOWN_ANNOTATORS:]
        console.say(
            f"and {len(rest)} more, who agree with the result in {rest['agreement'].min():.0%} to "
            f"{rest['agreement'].max():.0%} of their answers"
        )
