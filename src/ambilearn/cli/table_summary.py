"""Describe a table before learning from it, and point out possible mistakes."""

import re
from collections.abc import Mapping, Sequence

from ambilearn._utils.text import normalize_label, pluralize, shorten_list, shorten_repr
from ambilearn.cli.console import Console
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.columns import parse_features

_MAX_NAMED_COLUMNS = 5
# id, image_id, imageId, uuid; not "humid".
_ID_NAME = re.compile(r"((^|[\W_])(uu|gu)?id|[a-z]I[dD])s?$|(^|[\W_])(UU|GU)?ID$|^(Id|index|idx)$")


def describe_table(console: Console, table: CandidateTable) -> None:
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


def hint_at_given_label(console: Console, table: CandidateTable) -> None:
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


def _id_columns(table: CandidateTable) -> list[str]:
    """Features that are named like an id, and whose cells are different whole numbers."""
    numbers = [
        column
        for column in table.features.columns
        if column.kind == "number" and _ID_NAME.search(str(column.name))
    ]
    values = parse_features(table.name, table.frame, numbers, table.description.file.decimal)
    return [
        column
        for column in values
        if values[column].is_unique and (values[column].dropna() % 1 == 0).all()
    ]


def _warn_of_foreign_truth(console: Console, table: CandidateTable) -> None:
    """Warn if no known label is among the candidates of its row."""
    known = {i: truth for i, truth in enumerate(table.truth or []) if truth is not None}
    sets = table.given[list(known)].to_sets() if known else []
    if known and not any(a in b for a, b in zip(known.values(), sets, strict=True)):
        given = "candidates" if table.votes is None else "answers"
        console.say(
            f"No label in column {table.description.truth!r} is among the {given} of its row. Are "
            f"the labels written in the same way as the {given}?",
            style="yellow",
        )


def _label_columns(table: CandidateTable) -> list[str]:
    """Features in which every value is a label: perhaps the true label."""
    labels = set(map(str, table.candidates.classes.tolist()))
    categories = [c for c in table.features.columns if c.kind == "category"]
    values = parse_features(table.name, table.frame, categories)
    return [
        column
        for column in values
        if labels.issuperset(map(normalize_label, values[column].dropna()))
    ]
