"""A served review of a user's table: session, page and the replay of a journal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ambilearn._utils.label_text import normalize_label
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.review.from_table import review_from_table
from ambilearn.review.images import ServedImages
from ambilearn.review.learner import Labels, Learner
from ambilearn.review.process import LearnerProcess
from ambilearn.review.record import Review
from ambilearn.review.session import ReviewSession, Step
from ambilearn.serve.journal import ReviewedRows, replay
from ambilearn.tables.corrections import parse_new_label
from ambilearn.tables.devices import with_own_device
from ambilearn.tables.judging import judge_table
from ambilearn.tables.methods import make_method
from ambilearn.tables.model import check_images, fit_table
from ambilearn.tables.preprocessing import make_preprocessing
from ambilearn.tables.read import CandidateTable


def make_learner(
    table: CandidateTable,
    method: str,
    params: Mapping[str, Any],
    *,
    tune: bool = False,
    random_state: int = 0,
    device: str | None = None,
    doubt: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> Learner:
    """The learner of a table without corrections, judged if annotators are to be judged.

    The other arguments are those of :func:`ambilearn.tables.fit_table`. Parameters are chosen once.
    With ``doubt``, it looks for rows whose true label is not a candidate. ``device`` is for methods
    with a parameter of this name.
    """
    estimator = make_method(method, params, n_rows=len(table.frame), random_state=random_state)
    if tune:
        model = fit_table(
            table,
            method,
            params,
            tune=True,
            random_state=random_state,
            device=device,
            progress=progress,
        )
        estimator, table = clone(model.method), table.with_min_votes(model.min_votes)
    check_images(table, estimator)
    estimator, _ = with_own_device(estimator, device)
    X = make_preprocessing(table.features.columns).fit_transform(table.X)
    learner = Learner(estimator, X, table.given, doubt=doubt, random_state=random_state)
    votes = table.votes
    if table.judgment is None or votes is None:
        return learner

    def judge(labels: Labels) -> NDArray[np.float64]:
        corrected = table.with_checked(labels)
        judged = judge_table(corrected, method, params, random_state=random_state, new_rows=False)
        assert judged.table.judged is not None
        return judged.table.judged

    return learner.judging(judge, _union(table.given, table.candidates, votes.classes))


def _union(one: CandidateSets, other: CandidateSets, classes: NDArray[Any]) -> CandidateSets:
    """Candidates of either, without weights."""
    both = [a | b for a, b in zip(one.to_sets(), other.to_sets(), strict=True)]
    return as_candidates(both, classes=classes)


def make_page(
    table: CandidateTable, method: str, image: str | None, images: ServedImages
) -> Review:
    """What the page shows before it has the state of the session."""
    prior = HOST.support(table.candidates).prior()
    judgment = table.judgment
    known = None if judgment is None else judgment.calibration.cleaned
    return review_from_table(
        table, prior, confidences=known, method=method, image=image, images=images
    )


def reviewed_rows(table: CandidateTable) -> ReviewedRows:
    """The rows of a table, to which a journal belongs."""
    hidden = {*table.candidate_columns, table.description.truth}
    columns = [column for column in table.frame.columns if column not in hidden]
    return ReviewedRows(table.texts, {str(column): table.frame[column] for column in columns})


def label_parser(classes: Iterable[Any], sep: str = "|") -> Callable[[str], Any]:
    """Function that returns the label of a text, and raises ValueError for one that cannot be it.

    ``classes`` are the labels of the table, and ``sep`` separates the labels of a cell.
    """
    labels = np.asarray(classes)
    known = {str(label): label for label in labels.tolist()}

    def parse(text: str) -> Any:
        text = normalize_label(text)
        if text in known:
            return known[text]
        if not text or sep in text:
            raise ValueError(f"A label must not be empty or contain {sep!r}.")
        try:
            text.encode()
        except UnicodeEncodeError:
            message = "The label has a character that cannot be written to a file."
            raise ValueError(message) from None
        known[text] = parse_new_label("The answer", text, labels)
        return known[text]

    return parse


def continue_session(
    learner: Learner | LearnerProcess,
    entries: Sequence[Mapping[str, Any]],
    labels: Labels,
    parse: Callable[[str], Any],
    **options: Any,
) -> ReviewSession:
    """A session in the background, with all entries of the journal.

    ``labels`` has the rows that were settled before the review, and ``parse`` returns the label of
    a text. The options are those of :class:`~ambilearn.review.ReviewSession`.
    """

    def read(texts: Mapping[int, str | None]) -> dict[int, Any]:
        return {row: None if text is None else parse(text) for row, text in texts.items()}

    known = replay(entries)
    steps = [
        Step({}, read(step["labels"]), step["random"], read(step["found"])) for step in known.steps
    ]
    session = ReviewSession(learner, labels=labels, steps=steps, background=True, **options)
    for row in known.skipped:
        if row not in session.labels_:
            session.skip(row)
    return session
