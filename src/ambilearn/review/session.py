"""A review that learns from every answer, and what it has achieved so far."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import label_array
from ambilearn._utils.suspicious_labels import check_comparable_labels
from ambilearn._utils.text import pluralize, shorten_repr
from ambilearn._utils.types import AnyCandidates, Array, Estimator, Label, Matrix
from ambilearn.confidence import ShareEstimate, estimate_share_right
from ambilearn.review.learner import Labels, Learned, Learner
from ambilearn.review.updates import Results, Updater

_MIN_ROWS = 10  # random rows before a share is estimated
_FEW = 20  # answers that show whether further answers change much
_LITTLE = 0.1  # labels changed per answer


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

    before: dict[int, Label]
    after: dict[int, Label]
    random: bool = False
    found: Mapping[int, Label] = {}


def labels_of_rows(labels: Array, rows: Iterable[int]) -> dict[int, Label]:
    """Some of the labels of all rows, by row, as Python objects."""
    return {row: labels[row : row + 1].tolist()[0] for row in rows}


class Answers:
    """The settled rows of a review, and the steps by which they were settled.

    Attributes
    ----------
    labels : dict of int to label
        The settled rows.
    found : dict of int to label
        Labels by the method when the rows were settled.
    steps : list of Step
        What :meth:`undo` reverts.
    """

    def __init__(self, labels: Mapping[int, Label], steps: Iterable[Step] = ()) -> None:
        self.labels, self.found = dict(labels), dict[int, Label]()
        self.steps: list[Step] = []
        for step in steps:
            self.record(step.after, step.found, random=step.random)

    def record(
        self, after: Mapping[int, Label], found: Mapping[int, Label], *, random: bool
    ) -> None:
        """Record the labels of some rows in one step; None makes a row unsettled again."""
        before = {row: self.labels.get(row) for row in after}
        new = {row: label for row, label in found.items() if before.get(row) is None}
        self.steps.append(Step(before, dict(after), random, new))
        self.found.update(new)
        self._apply(after)

    def undo(self) -> Step | None:
        """Revert and return the last step, if there is one."""
        if not self.steps:
            return None
        step = self.steps.pop()
        self._apply(step.before)
        return step

    def _apply(self, labels: Mapping[int, Label]) -> None:
        for row, label in labels.items():
            if label is None:
                self.labels.pop(row, None)
            else:
                self.labels[row] = label


class ReviewSession:
    """Review of candidate sets in which each answer changes the order of the remaining rows.

    The method is fitted again after some answers. Between two fits, a closed-form update of the
    last fit accounts for each answer at once: rows like a corrected one come earlier, and rows that
    are no longer ambiguous come later. Kernel, factorization and neighbors are computed once.

    Parameters
    ----------
    estimator : estimator or Learner
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
    random_state : int, default=0
        Seed of the random rows and of the folds.
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
    [3, 0]
    >>> session.settle(3, "cat")
    >>> session.next_rows()
    [1]
    >>> str(session.transduction_[3])
    'cat'
    """

    def __init__(
        self,
        estimator: Estimator,
        X: Matrix = None,
        y: AnyCandidates = None,
        *,
        labels: Mapping[int, Label] | None = None,
        random_share: float = 0.1,
        refit_after: int | None = None,
        random_state: int = 0,
        steps: Iterable[Step] = (),
    ) -> None:
        if not 0 <= random_share <= 0.5:
            raise ValueError(f"random_share must be between 0 and 0.5; got {random_share}.")
        if not isinstance(estimator, Learner):
            estimator = Learner(estimator, X, y, random_state=random_state)
        self.learner: Learner = estimator
        self.sets = estimator.shown
        n = self.n_rows = len(self.sets)
        self.refit_after = max(5, round(n / 50)) if refit_after is None else refit_after
        self._updater = Updater(estimator)
        self._random = RandomRows(n, random_share, random_state)
        self._skipped: dict[int, None] = {}
        self._drawn: set[int] = set()  # random rows that were returned last, or skipped
        given = {
            self._check_row(row): self.check_label(label) for row, label in (labels or {}).items()
        }
        self._answers = Answers(given)
        self._learned: Learned | None = None
        for step in steps:
            self.record(step.after, step.found, random=step.random)
        self.learn()

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
        """Rows to look at next; and the random rows among them, and among the skipped rows."""
        order, done = self.results_.order, {*self.labels_, *self._skipped}
        rows, drawn = self._random.mix(order, done, n)
        self._drawn = {*drawn, *(self._drawn & self._skipped.keys())}
        if len(rows) < n:  # skipped rows come again when nothing else is left
            rows += [row for row in self._skipped if row not in rows][: n - len(rows)]
        return rows, sorted(self._drawn)

    def similar_rows(self, row: int, n: int = 50) -> list[int]:
        """The rows nearest to a row that are neither settled nor drawn at random.

        Parameters
        ----------
        row : int
            The row.
        n : int, default=50
            Number of rows, if there are as many.

        Returns
        -------
        rows : list of int
            The nearest first, without the row itself. Rows that come up as random rows are left
            out: answers to them must not depend on similar rows, for :meth:`estimate`.
        """
        left_out = {self._check_row(row), *self.labels_, *self._drawn}
        rows = (int(each) for each in self.learner.nearest(row))
        return list(islice((each for each in rows if each not in left_out), n))

    def settle(self, row: int, label: Label) -> None:
        """Record the label of a row.

        Parameters
        ----------
        row : int
            The row.
        label : label
            Any label, even one that is not a candidate. None makes the row unsettled again.
        """
        self.settle_rows({row: label})

    def settle_rows(self, labels: Mapping[int, Label], *, random: bool | None = None) -> None:
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
        after = {
            self._check_row(row): None if label is None else self.check_label(label)
            for row, label in labels.items()
        }
        if random is None:
            random = len(after) == 1 and next(iter(after)) in self._next_random()
        self.record(after, labels_of_rows(self._results.choices.labels, after), random=random)

    def record(
        self, after: Mapping[int, Label], found: Mapping[int, Label], *, random: bool
    ) -> None:
        """Record labels that were checked; ``found`` are those of the method."""
        self._answers.record(after, found, random=random)
        self._reconsider(after)
        if random:
            self._random.held_back |= {row for row, label in after.items() if label is not None}
        self._random.n_answered += len(after)

    def skip(self, row: int) -> None:
        """Move a row to the end of the order, if it is not settled."""
        row = self._check_row(row)
        if row not in self.labels_:
            self._skipped.pop(row, None)
            self._skipped[row] = None
            self._is_current = False

    def undo(self) -> list[int]:
        """Revert the last call of :meth:`settle` or :meth:`settle_rows`.

        Returns
        -------
        rows : list of int
            The rows that it had changed; empty if there was none.
        """
        step = self._answers.undo()
        if step is None:
            return []
        self._reconsider(step.after)
        if step.random:
            self._random.held_back |= step.before.keys() & self.labels_.keys()
        self._random.n_answered -= len(step.after)
        return list(step.after)

    def _reconsider(self, rows: Iterable[int]) -> None:
        """Take rows out of those that are held back or skipped: their labels have changed."""
        self._random.held_back.difference_update(rows)
        for row in rows:
            self._skipped.pop(row, None)
        self._is_current = False

    # --- what is known --------------------------------------------------------------------------

    @property
    def labels_(self) -> dict[int, Label]:
        """The settled rows."""
        return self._answers.labels

    @property
    def steps(self) -> list[Step]:
        """The answers that were not undone."""
        return self._answers.steps

    @property
    def is_current(self) -> bool:
        """Whether the results account for all answers that are not held back."""
        return self._is_current

    @property
    def results_(self) -> Results:
        """Labels, confidences, doubt and order now; fits the method if enough rows are settled."""
        if not self.is_current:
            if self.n_unlearned >= self.refit_after:
                self.learn()
            else:
                self.update()
        return self._results

    @property
    def current_results(self) -> Results:
        """Results without the answers since the last update."""
        return self._results

    @property
    def transduction_(self) -> Array:
        """Label of each row."""
        return self._with_settled(self.results_.choices.labels)

    @property
    def score_(self) -> NDArray[np.float64]:
        """Score of the label of each row; 1 for settled rows. It is not calibrated."""
        scores = self.results_.choices.scores.copy()
        scores[list(self.labels_)] = 1.0
        return scores

    @property
    def order_(self) -> NDArray[np.intp]:
        """Rows in the order in which a person should look at them."""
        return self.results_.order

    @property
    def suggestion_(self) -> Array:
        """Label that is probably true and not a candidate, None if there is none."""
        doubt = self.results_.doubt
        if doubt is None:
            return np.full(self.n_rows, None)
        return doubt.suggestion

    @property
    def random_rows_(self) -> list[int]:
        """Random rows whose answers are held back from the method."""
        return sorted(self._random.held_back)

    def used_rows(self) -> list[int]:
        """Settled rows whose answers the method uses; all others are held back."""
        return sorted(self._released())

    def released_rows(self) -> set[int]:
        """Random rows that are settled and count as reviewed, because the order reached them."""
        drawn = {row for step in self.steps if step.random for row in step.after}
        return (drawn & self.labels_.keys()) - self._random.held_back

    def estimate(self) -> ShareEstimate | None:
        """Share of right labels now, with an interval, from the random rows.

        Returns
        -------
        ShareEstimate or None
            None before ten random rows are settled.
        """
        return self._random.estimate(self.labels_, self.results_.choices.labels, self.n_rows)

    def count_changes(self) -> tuple[int, int]:
        """Rows that the person gave another label than the method, and other rows that changed.

        The other rows have another label than after the first fit of the session.
        """
        now = self.transduction_
        corrected = sum(
            self._answers.found.get(row, label) != label for row, label in self.labels_.items()
        )
        return corrected, self._history.count_changed(now, self.labels_)

    def stopping_hint(self) -> str | None:
        """Message that the last answers changed few labels, or None."""
        return self._history.describe_little_change([step.after for step in self.steps])

    # --- learning -------------------------------------------------------------------------------

    def refit(self) -> None:
        """Fit the method to all answers now, including those to random rows."""
        self._random.held_back.clear()
        self.learn()

    def learn(self) -> None:
        """Fit the method to the answers that are not held back."""
        self.take(self.begin_fit()())

    def begin_fit(self) -> Callable[[], Learned]:
        """Function that fits, for :meth:`take`; it may run in another thread.

        This session may record answers meanwhile.
        """
        self._tried, self._n_tried = self._released(), len(self.steps)
        return partial(self.learner.learn, self._tried)

    def take(self, learned: Learned) -> None:
        """Use the result of a fit."""
        is_first = self._learned is None
        self._learned, self._is_current = learned, False
        self.update()
        labels = self._results.choices.labels
        if is_first:
            self._history = FitHistory(labels)
        self._history.add(self._n_tried, self._with_settled(labels))

    def update(self) -> None:
        """Account for the answers since the last fit by the closed-form update.

        Then ``is_current`` is whether the results have all answers: the new order may have released
        some.
        """
        assert self._learned is not None
        labels, skipped = self._released(), list(self._skipped)
        self._results = self._updater.update(self._learned, labels, skipped)
        closed = {*labels, *skipped}
        self._is_current = not self._random.release(self._results.order, closed)

    @property
    def n_unlearned(self) -> int:
        """Number of answers that the last successful fit does not have."""
        return self._count_others({} if self._learned is None else self._learned.labels)

    @property
    def n_untried(self) -> int:
        """Number of answers that the last fit does not have, even if it failed."""
        return self._count_others(self._tried)

    def _count_others(self, fitted: Labels) -> int:
        now = self._released()
        return sum(now.get(row) != fitted.get(row) for row in {*now, *fitted})

    def _released(self) -> dict[int, Label]:
        """The answers that the method may use."""
        held_back = self._random.held_back
        return {row: label for row, label in self.labels_.items() if row not in held_back}

    def _next_random(self) -> list[int]:
        done = {*self.labels_, *self._skipped}
        return self._random.mix(self._results.order, done, 1)[1]

    def _with_settled(self, labels: Array) -> Array:
        known = set(self.sets.classes.tolist())
        is_new = any(label not in known for label in self.labels_.values())
        result = labels.astype(object) if is_new else labels.copy()
        for row, label in self.labels_.items():
            result[row] = label
        return result

    def _check_row(self, row: Any) -> int:
        number = int(row)
        if number != row or not 0 <= number < self.n_rows:
            raise ValueError(f"There is no row {row!r}: rows are numbered 0 to {self.n_rows - 1}.")
        return number

    def check_label(self, label: Label) -> Any:
        """A label as it is recorded; raises ValueError if it cannot be a label of these rows."""
        if not isinstance(label, Hashable) or label != label:
            raise ValueError(f"{label!r} cannot be a label.")
        check_comparable_labels(label_array([label]), self.sets.classes, "The answer", "the labels")
        return label.item() if isinstance(label, np.generic) else label


class RandomRows:
    """Mixes random rows into the review, and estimates the share of right labels from them.

    Rows that are reviewed first are the hardest, so they are not representative of the rest. Every
    few rows a random one comes up. Its answer is held back from the method, which therefore labels
    the row like all rows that were not looked at, until the order of the review reaches the row:
    then its answer is released, and the row counts as reviewed. The rows that are held back are a
    random sample of the rows that were not reviewed.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    share : float
        Share of random rows among the answers, 0 for none.
    random_state : int
        Seed.
    """

    def __init__(self, n_rows: int, share: float, random_state: int) -> None:
        self._drawn = np.random.default_rng(random_state).permutation(n_rows)
        self._every = round(1 / share) if share else 0
        self.held_back: set[int] = set()
        self.n_answered = 0  # answers so far, to keep the share

    def mix(
        self, order: NDArray[np.intp], done: Collection[int], n: int
    ) -> tuple[list[int], list[int]]:
        """The first n rows to look at, with random rows in between, and the random rows among them.

        ``order`` is the order of the review, and ``done`` has the rows that are settled or skipped.
        """
        closed = set(done)
        wanted = (row for row in map(int, order) if row not in closed)
        spare = (row for row in map(int, self._drawn) if row not in closed)
        rows: list[int] = []
        drawn: list[int] = []
        for place in range(self.n_answered + 1, self.n_answered + 1 + n):
            is_random = bool(self._every) and place % self._every == 0
            row = next(spare if is_random else wanted, None)
            if row is None:
                break
            closed.add(row)
            rows.append(row)
            if is_random:
                drawn.append(row)
        return rows, drawn

    def release(self, order: Iterable[Any], closed: Collection[int]) -> list[int]:
        """Release the rows that the order of the review has reached; return them."""
        if not self.held_back:
            return []
        reached = []
        for row in map(int, order):
            if row in self.held_back:
                reached.append(row)
            elif row not in closed:
                break
        self.held_back.difference_update(reached)
        return reached

    def estimate(
        self, labels: Mapping[int, Label], found: Array, n_rows: int
    ) -> ShareEstimate | None:
        """Share of right labels if every settled row is right; None with less than ten rows.

        ``found`` has the labels of the method, which has not seen the answers that are held back.
        """
        rows = sorted(self.held_back)
        n_reviewed = len(labels) - len(rows)
        if n_reviewed == n_rows:
            return ShareEstimate(1.0, 1.0, 1.0, 0.95, len(rows), n_rows)
        if len(rows) < _MIN_ROWS:
            return None
        right = [bool(found[row] == labels[row]) for row in rows]
        rest = estimate_share_right(right, n_rows - n_reviewed)
        n_corrected = len(rows) - sum(right)

        def of_all(share: float) -> float:
            at_least = n_reviewed + len(rows)
            return min(1.0, max(at_least, n_reviewed + n_corrected + share * rest.n_rows) / n_rows)

        share, low, high = map(of_all, (rest.share, rest.low, rest.high))
        return ShareEstimate(share, low, high, rest.level, len(rows), n_rows)


class FitHistory:
    """Labels of all rows after the last fits; ``first`` has those by the method at the start."""

    def __init__(self, first: Array) -> None:
        self._first = first
        self._fits: list[tuple[int, Array]] = []  # answers so far, and labels

    def add(self, n_answers: int, labels: Array) -> None:
        """Record the labels after a fit to the first ``n_answers`` answers."""
        if self._fits and self._fits[-1][0] == n_answers:  # another result of the same fit
            self._fits.pop()
        self._fits = [*self._fits[-_FEW:], (n_answers, labels)]

    def count_changed(self, labels: Array, settled: Iterable[int]) -> int:
        """Number of rows, other than the settled ones, with another label than at the start."""
        return _count_different(labels, self._first, settled)

    def describe_little_change(self, answers: Sequence[Mapping[int, Label]]) -> str | None:
        """Message that the last answers changed few labels, or None.

        Each answer has the labels of one or several rows.
        """
        fits = self._fits
        n_now, now = fits[-1]
        earlier = [each for each in fits if each[0] <= n_now - _FEW]
        if not earlier or n_now > len(answers):  # some were taken back
            return None
        n_before, before = earlier[-1]
        last = {row: label for each in answers[n_before:n_now] for row, label in each.items()}
        corrected = sum(label != before[row] for row, label in last.items())
        others = _count_different(now, before, last)
        if not last or corrected + others > _LITTLE * len(last):
            return None
        return (
            f"The last {pluralize(len(last), 'answer')} corrected "
            f"{pluralize(corrected, 'label')} and changed {pluralize(others, 'other')}: further "
            "answers change little."
        )


def _count_different(labels: Array, others: Array, left_out: Iterable[int]) -> int:
    if labels.dtype.kind != others.dtype.kind:  # one of them has labels of several types
        labels, others = labels.astype(object), others.astype(object)
    differs = np.array(labels != others, dtype=bool)
    differs[list(left_out)] = False
    return int(differs.sum())
