"""A review that learns from every answer."""

import threading
from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.label_array import label_array
from ambilearn._utils.label_kinds import check_comparable_labels
from ambilearn._utils.text import shorten_repr
from ambilearn.confidence import ShareRight
from ambilearn.review.background import Worker
from ambilearn.review.fit_history import FitHistory
from ambilearn.review.learner import Labels, Learned, Learner
from ambilearn.review.process import LearnerProcess
from ambilearn.review.random_rows import RandomRows
from ambilearn.review.standing import Standing, Updater


class Step(NamedTuple):
    """One action of a person, which undo reverts.

    Parameters
    ----------
    before : dict of int to label
        Labels of the rows before, None if they were not settled.
    after : dict of int to label
        Labels of the rows since.
    random : bool
        Whether the rows were drawn at random.
    found : dict of int to label
        Labels of the rows by the method at that time.
    """

    before: dict[int, Any]
    after: dict[int, Any]
    random: bool = False
    found: Mapping[int, Any] = {}


class ReviewSession:
    """Review of candidate sets in which each answer changes the order of the remaining rows.

    The method is fitted again after some answers. Between two fits, a closed-form update of the
    last fit accounts for each answer at once: rows like a corrected one come earlier, and rows that
    are no longer ambiguous come later. Kernel, factorization and neighbors are computed once.

    Parameters
    ----------
    estimator : estimator, Learner or LearnerProcess
        A method of this library, such as :class:`~ambilearn.PLStacking`, alone, at the end of a
        pipeline, or in a search. It is cloned.
    X : array-like, data frame or sparse matrix of shape (n, d)
        Rows. With a pipeline, its preprocessing is fitted once.
    y : sequence of label collections, mask of shape (n, l), or CandidateSets
        Candidate sets.
    labels : mapping of int to label, optional
        Rows that are settled already.
    random_share : float, default=0.1
        Share of random rows among those that :meth:`next_rows` returns. :meth:`estimate` needs
        them. Their answers are used by the method only when the order reaches them.
    refit_after : int, optional
        Number of answers after which the method is fitted again; by default one for every fifty
        rows, and at least five.
    thorough : bool, default=True
        Compute the doubt of an ensemble by five further fits, as ``ambilearn review`` does.
    background : bool, default=False
        Fit and update in separate threads; the order then changes shortly after an answer.
        Otherwise results are the same in every run, and :meth:`next_rows` waits for a fit whenever
        one is due.
    random_state : int, default=0
        Seed of the random rows and of the folds.
    start : Learned, optional
        Result of an earlier fit, to begin with.
    steps : iterable of Step, default=()
        Answers of an earlier session, to continue it; :meth:`undo` also reverts them.

    Attributes
    ----------
    labels_ : dict of int to label
        The settled rows.
    transduction_ : ndarray of shape (n,)
        Label of each row: that of the person, or the most likely candidate.
    score_ : ndarray of shape (n,)
        Score of that label, not calibrated; 1 for a settled row.
    order_ : ndarray of shape (n,)
        Rows in the order in which a person should look at them, settled ones last.
    suggestion_ : ndarray of shape (n,)
        A label that is not a candidate, if it is probably the true one; None otherwise.
    version_ : int
        Increases whenever labels, confidences or order change.

    See Also
    --------
    ambilearn.find_doubtful : The doubt that helps to order the rows.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.review import ReviewSession
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [1.0, 0.0], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat"}, {"dog"}, {"dog"}, {"dog", "emu"}, {"dog"}]
    >>> session = ReviewSession(PLCL(n_neighbors=3), X, y, random_share=0)
    >>> session.next_rows(2)
    [3, 1]
    >>> session.suggestion_[3]
    'cat'
    >>> session.settle(3, "cat")
    >>> session.next_rows()
    [1]
    >>> str(session.transduction_[3])
    'cat'
    """

    def __init__(
        self,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        labels: Mapping[int, Any] | None = None,
        random_share: float = 0.1,
        refit_after: int | None = None,
        thorough: bool = True,
        background: bool = False,
        random_state: int = 0,
        start: Learned | None = None,
        steps: Iterable[Step] = (),
    ) -> None:
        if not 0 <= random_share <= 0.5:
            raise ValueError(f"random_share must be between 0 and 0.5; got {random_share}.")
        if not isinstance(estimator, Learner | LearnerProcess):
            estimator = Learner(estimator, X, y, thorough=thorough, random_state=random_state)
        self._updater = Updater(estimator, start) if isinstance(estimator, Learner) else estimator
        self.sets = self._updater.shown
        n = self.n_rows = len(self.sets)
        self.refit_after = max(5, round(n / 50)) if refit_after is None else refit_after
        self._random = RandomRows(n, random_share, random_state)
        self.labels_: dict[int, Any] = {}
        self.steps: list[Step] = []
        self.found: dict[int, Any] = {}  # labels by the method when a row was settled
        self._skipped: dict[int, None] = {}
        self._lock = threading.RLock()
        self._updating, self._fitting = threading.Lock(), threading.Lock()
        self.changed = threading.Condition(self._lock)  # notified with every answer and version
        self.version_ = 0
        self.is_dirty = False
        self._is_closed = False
        for row, label in (labels or {}).items():
            self.labels_[self._check_row(row)] = self.check_label(label)
        for step in steps:
            with self._lock:
                self._record(dict(step.after), step.random, step.found)
        self._learned: Labels = self._released() if start is None else start.labels
        self._tried = self._learned  # by the last fit, even if it failed
        if start is None:
            next(self._updater.learn(self._learned))
        self.update()
        self._history = FitHistory(self._standing.choices.labels)
        self._remember_fit(0)
        self._worker = Worker(self) if background else None

    # --- what a person does ---------------------------------------------------------------------

    def next_rows(self, n: int = 1) -> list[int]:
        """Rows to look at next, the most useful first; fewer if there are not that many.

        Parameters
        ----------
        n : int, default=1
            Number of rows.

        Returns
        -------
        rows : list of int
        """
        if not isinstance(n, Integral) or n < 0:
            raise ValueError(f"n must be a whole number and at least 0; got {n!r}.")
        return self.next_and_random(int(n))[0]

    def next_and_random(self, n: int) -> tuple[list[int], list[int]]:
        """Rows to look at next, and those among them that are drawn at random."""
        self._catch_up()
        with self._lock:
            done = {*self.labels_, *self._skipped}
            rows, drawn = self._random.mix(self._standing.order, done, n)
            if len(rows) < n:  # skipped rows come again when nothing else is left
                rows += [row for row in self._skipped if row not in rows][: n - len(rows)]
            return rows, drawn

    def settle(self, row: int, label: Any) -> None:
        """Record the label of a row.

        Parameters
        ----------
        row : int
            The row.
        label : label
            Any label, even one that is not a candidate. None makes the row unsettled again.
        """
        self.settle_rows({row: label})

    def settle_rows(self, labels: Mapping[int, Any], *, random: bool | None = None) -> None:
        """Record the labels of several rows in one step.

        Parameters
        ----------
        labels : mapping of int to label
            The rows and their labels; None for a row that becomes unsettled.
        random : bool, optional
            Whether the row was drawn at random. By default it was if it is the next random row.
        """
        if not isinstance(labels, Mapping):
            raise TypeError(
                "labels must be a mapping of rows to labels, such as {3: 'cat'}; got "
                f"{shorten_repr(labels)}."
            )
        self._check_open()
        after = {
            self._check_row(row): None if label is None else self.check_label(label)
            for row, label in labels.items()
        }
        with self._lock:
            if random is None:
                random = len(after) == 1 and next(iter(after)) in self._next_random()
            self._record(after, random, self.labels_by_method(after))

    def labels_by_method(self, rows: Iterable[int]) -> dict[int, Any]:
        """Labels that the method gives to some rows at the moment."""
        labels = self._standing.choices.labels
        return {row: labels[row : row + 1].tolist()[0] for row in rows}

    def _record(self, after: dict[int, Any], random: bool, found: Mapping[int, Any]) -> None:
        before = {row: self.labels_.get(row) for row in after}
        new = {row: label for row, label in found.items() if before.get(row) is None}
        self.steps.append(Step(before, after, random, new))
        self.found.update(new)
        self._apply(self.steps[-1])

    def skip(self, row: int) -> None:
        """Move a row to the end of the order, if it is not settled."""
        self._check_open()
        with self._lock:
            row = self._check_row(row)
            if row in self.labels_:
                return
            self._skipped.pop(row, None)
            self._skipped[row] = None
            self._touch()

    def undo(self) -> list[int]:
        """Revert the last call of :meth:`settle` or :meth:`settle_rows`.

        Returns
        -------
        rows : list of int
            The rows that it had changed; empty if there was none.
        """
        self._check_open()
        with self._lock:
            if not self.steps:
                return []
            step = self.steps.pop()
            self._apply(Step(step.after, step.before, step.random), undone=True)
            return list(step.after)

    # --- what is known --------------------------------------------------------------------------

    @property
    def standing_(self) -> Standing:
        """Labels, confidences, doubt and order at the moment."""
        self._catch_up()
        return self._standing

    @property
    def transduction_(self) -> NDArray[Any]:
        """Label of each row."""
        standing = self.standing_
        with self._lock:
            return self._with_settled(standing.choices.labels)

    @property
    def score_(self) -> NDArray[np.float64]:
        """Score of the label of each row; 1 for settled rows. It is not calibrated."""
        scores = self.standing_.choices.scores.copy()
        with self._lock:
            scores[list(self.labels_)] = 1.0
        return scores

    @property
    def order_(self) -> NDArray[np.intp]:
        """Rows in the order in which a person should look at them."""
        return self.standing_.order

    @property
    def suggestion_(self) -> NDArray[Any]:
        """Label that is probably true and not a candidate, None if there is none."""
        doubt = self.standing_.doubt
        if doubt is None:
            return np.full(self.n_rows, None)
        suggestion = doubt.suggestion.astype(object)
        suggestion[doubt.score <= 0] = None
        return suggestion

    @property
    def random_rows_(self) -> list[int]:
        """Random rows whose answers are held back from the method."""
        with self._lock:
            return sorted(self._random.held_back)

    def skipped_rows(self) -> set[int]:
        """Rows that were skipped and are not settled."""
        with self._lock:
            return set(self._skipped)

    def released_rows(self) -> set[int]:
        """Random rows that are settled and count as reviewed, because the order reached them."""
        with self._lock:
            drawn = {row for step in self.steps if step.random for row in step.after}
            return (drawn & self.labels_.keys()) - self._random.held_back

    def estimate(self) -> ShareRight | None:
        """Share of right labels now, with an interval, from the random rows.

        Returns
        -------
        ShareRight or None
            None before ten random rows are settled.
        """
        standing = self.standing_
        with self._lock:
            return self._random.estimate(self.labels_, standing.choices.labels, self.n_rows)

    def count_changes(self) -> tuple[int, int]:
        """Rows that the person gave another label than the method, and other rows that changed.

        The other rows have another label than after the first fit of the session.
        """
        now = self.transduction_
        with self._lock:
            settled = self.labels_.items()
            corrected = sum(self.found.get(row, label) != label for row, label in settled)
            return corrected, self._history.count_changed(now, self.labels_)

    def changes_little(self) -> str | None:
        """Message that the last answers changed few labels, or None."""
        with self._lock:
            answers = [step.after for step in self.steps]
        return self._history.describe_little_change(answers)

    # --- learning -------------------------------------------------------------------------------

    def refit(self) -> None:
        """Fit the method to all answers now, including those to random rows."""
        with self._lock:
            self._random.held_back.clear()
        self.learn()
        if self._worker is not None:
            self._worker.problem = None

    def learn(self) -> None:
        """Fit the method to the answers that are not held back."""
        with self._fitting:  # refit may be called during a fit in the background
            with self._lock:
                labels, n_answers = self._released(), len(self.steps)
                self._tried = labels
            for _ in self._updater.learn(labels):
                self._learned = labels
                self.update()
            self._remember_fit(n_answers)

    def update(self) -> None:
        """Account for the answers since the last fit by the closed-form update."""
        with self._updating:
            with self._lock:
                labels, skipped = self._released(), list(self._skipped)
                self.is_dirty = False
            standing = self._updater.update(labels, skipped)
            with self.changed:
                self._standing = standing
                if self._random.release(standing.order, {*labels, *skipped}):
                    self.is_dirty = True
                self.version_ += 1
                self.changed.notify_all()

    def _remember_fit(self, n_answers: int) -> None:
        with self._lock:
            self._history.add(n_answers, self._with_settled(self._standing.choices.labels))

    @property
    def n_unlearned(self) -> int:
        """Number of answers that the last successful fit does not have."""
        return self._count_others(self._learned)

    @property
    def _n_untried(self) -> int:
        """Number of answers that the last fit does not have, even if it failed."""
        return self._count_others(self._tried)

    def _count_others(self, fitted: Labels) -> int:
        with self._lock:
            now = self._released()
            return sum(now.get(row) != fitted.get(row) for row in {*now, *fitted})

    @property
    def has_update(self) -> bool:
        """Whether the order accounts for an answer before the next fit; not with images."""
        return self._updater.has_update

    @property
    def is_fitting(self) -> bool:
        """Whether the method is being fitted in the background."""
        return self._worker is not None and self._worker.is_fitting

    @property
    def problem(self) -> str | None:
        """Why the last fit in the background failed; None if another one succeeded since."""
        return None if self._worker is None else self._worker.problem

    def close(self) -> None:
        """End the threads; a fit that is running ends after its current iteration.

        No answer is accepted afterwards. A learner process ends immediately.
        """
        self._is_closed = True
        if self._worker is not None:
            self._worker.stop()

    def interrupt(self) -> None:
        """End the learner process, if there is one."""
        if isinstance(self._updater, LearnerProcess):
            self._updater.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _catch_up(self) -> None:
        """Without threads: fit if it is due, update otherwise."""
        if self._worker is not None or not self.is_dirty:
            return
        if self.n_unlearned >= self.refit_after:
            self.learn()
        else:
            self.update()

    def _apply(self, step: Step, *, undone: bool = False) -> None:
        for row, label in step.after.items():
            self._random.held_back.discard(row)
            self._skipped.pop(row, None)
            if label is None:
                self.labels_.pop(row, None)
            else:
                self.labels_[row] = label
                if step.random:
                    self._random.held_back.add(row)
        self._random.n_answered += (-1 if undone else 1) * len(step.after)
        self._touch()

    def _touch(self) -> None:
        self.is_dirty = True
        self.changed.notify_all()

    def _released(self) -> dict[int, Any]:
        """The answers that the method may use."""
        held_back = self._random.held_back
        return {row: label for row, label in self.labels_.items() if row not in held_back}

    def _next_random(self) -> list[int]:
        done = {*self.labels_, *self._skipped}
        return self._random.mix(self._standing.order, done, 1)[1]

    def _with_settled(self, labels: NDArray[Any]) -> NDArray[Any]:
        known = set(self.sets.classes.tolist())
        is_new = any(label not in known for label in self.labels_.values())
        result = labels.astype(object) if is_new else labels.copy()
        for row, label in self.labels_.items():
            result[row] = label
        return result

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("The session is closed and accepts no more answers.")

    def _check_row(self, row: Any) -> int:
        number = int(row)
        if number != row or not 0 <= number < self.n_rows:
            raise ValueError(f"There is no row {row!r}: rows are numbered 0 to {self.n_rows - 1}.")
        return number

    def check_label(self, label: Any) -> Any:
        """A label as it is recorded; raises ValueError if it cannot be a label of these rows."""
        if not isinstance(label, Hashable) or label != label:
            raise ValueError(f"{label!r} cannot be a label.")
        check_comparable_labels(label_array([label]), self.sets.classes, "The answer", "the labels")
        return label.item() if isinstance(label, np.generic) else label
