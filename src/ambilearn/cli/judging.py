"""Labels that people gave: judge annotators by their answers, and correct given labels."""

from typing import TYPE_CHECKING

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console
from ambilearn.cli.summary import (
    CHECK_FIRST,
    MAX_SHOWN_ROWS,
    describe_accuracy,
    describe_calibration,
    describe_table,
    known_labels,
    shorten_label,
)

if TYPE_CHECKING:
    from ambilearn.cli.request import Plan, Request
    from ambilearn.crowd.report import AnnotatorReport
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.clean import LabeledTable
    from ambilearn.tables.given_labels import CorrectedTable

_CERTAIN = 0.995  # confidence that is shown as 1.00
FAST = (
    "--fast and --given-label cannot be combined: the probabilities decide which labels are "
    "changed."
)
NO_ANNOTATORS = (
    "There are no annotators to judge: name several columns with --candidates, or pass answers in "
    "long form with --item, --annotator and --answer."
)
_MAX_SHOWN_ANNOTATORS = 10


def correct_labels(
    console: Console, request: "Request", table: "CandidateTable", prefix: str | None = None
) -> "CorrectedTable":
    """Describe a table with given labels, and correct them."""
    from ambilearn.tables.given_labels import correct_table

    if request.weight_annotators or request.annotators_out:
        raise click.UsageError(NO_ANNOTATORS)
    if request.trust_candidates:
        raise click.UsageError(
            "--trust-candidates and --given-label cannot be combined: given labels that are all "
            "right need no correction."
        )
    describe_table(console, table)
    corrected = correct_table(
        table,
        request.method,
        # Without --method, the parameters are for the model that `fit` trains.
        request.parameters() if request.method else None,
        random_state=request.seed,
        device=request.device,
        prefix=prefix,
        progress=console.stage,
    )
    describe_corrected(console, corrected)
    return corrected


def judge_annotators(console: Console, request: "Request", plan: "Plan", new_rows: bool) -> "Plan":
    """Judge the annotators and use the resulting candidates and parameters."""
    from ambilearn.tables.judging import judge_table

    judged = judge_table(
        plan.table,
        plan.method,
        plan.params,
        tune=plan.tune,
        random_state=plan.random_state,
        new_rows=new_rows,
        progress=console.stage,
    )
    chosen = "".join(
        f"; {key}={value} chosen by the answers" for key, value in judged.chosen.items()
    )
    trust = f"and the features (trust in the features: {judged.feature_trust:.0%}{chosen})"
    _report_annotators(console, request, judged.annotators, trust)
    return plan._replace(table=judged.table, params=plan.params | judged.chosen, tune=False)


def clean_answers(
    console: Console, request: "Request", table: "CandidateTable", prefix: str
) -> "LabeledTable":
    """Describe a table without features, and choose its labels by the answers alone."""
    from ambilearn.tables.judging import clean_votes

    describe_table(console, table)
    cleaned, report = clean_votes(table, trust_candidates=request.trust_candidates, prefix=prefix)
    _report_annotators(console, request, report, "alone (Dawid and Skene)")
    if cleaned.table.judgment is not None:
        describe_calibration(console, cleaned.table.judgment.calibration)
    describe_accuracy(console, cleaned.table, cleaned.choices.labels)
    return cleaned


def _report_annotators(
    console: Console, request: "Request", report: "AnnotatorReport", by: str
) -> None:
    """Print the annotators, and write them if this is wanted."""
    from ambilearn.tables.writing import write_table

    describe_annotators(console, report, by)
    if request.annotators_out is not None:
        tables = report.to_frame(), report.confusion_frame()
        for frame, path in zip(tables, request.outputs_of_annotators, strict=True):
            write_table(frame, path, escape_formulas=request.escape_formulas)
            console.say(f"wrote {path}: {pluralize(len(frame), 'row')}")


def describe_corrected(console: Console, corrected: "CorrectedTable") -> None:
    """How many labels were changed, and the rows to check first."""
    doubt, given, labels = corrected.doubt, corrected.given.tolist(), corrected.doubt.label.tolist()
    n, changed = len(given), int((corrected.given != doubt.label).sum())
    console.say(
        f"{changed} of {pluralize(n, 'label')} changed ({changed / n:.1%}), "
        f"{pluralize(int((doubt.doubtful & ~doubt.change).sum()), 'label')} doubtful and kept"
    )
    if truth := known_labels(corrected.table):
        before, after = (
            sum(found[row] == right for row, right in truth.items()) / len(truth)
            for found in (given, labels)
        )
        console.say(
            f"of the {pluralize(len(truth), 'row')} with a known label, {before:.1%} were given "
            f"the right one; after the correction {after:.1%} are right"
        )
    settled = corrected.table.corrections.labels
    is_open = doubt.doubtful | (doubt.confidence < _CERTAIN)
    first = [i for i in corrected.order.tolist() if is_open[i] and i not in settled]
    if not first:
        return
    console.say(CHECK_FIRST)
    console.table(
        [">row", ">doubt", ">confidence", "given", "label", "suggestion"],
        (
            (
                *(row, f"{doubt.score[row]:.2f}", f"{doubt.confidence[row]:.2f}"),
                *map(shorten_label, (given[row], labels[row], doubt.suggestion[row] or "")),
            )
            for row in first[:MAX_SHOWN_ROWS]
        ),
    )


def describe_annotators(console: Console, report: "AnnotatorReport", by: str) -> None:
    """Agreement, answers and most frequent confusions, of the least reliable annotators first."""
    frame = report.to_frame()
    console.say(f"{pluralize(len(frame), 'annotator')} judged by their answers {by}")
    confusions = "most frequent confusions: right → given (how often)"
    console.table(
        ["annotator", ">answers", ">agreement (95 %)", confusions],
        (
            (
                *(row.annotator, f"{row.answers:,}"),
                *(f"{row.agreement:.0%} ({row.low:.0%}–{row.high:.0%})", row.confusions),
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
