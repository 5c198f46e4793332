"""A review without a page: the order follows the answers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import IPAL, PLCL, PLKNN, PLVoting
from ambilearn.candidates import as_candidates
from ambilearn.review import ReviewSession
from ambilearn.review.session import FitHistory, Step


def make_rows(n=60, seed=0, wrong=0.15):
    """Three groups; sets with a false label, and some without the true one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.eye(3)[y] * 2 + rng.normal(size=(n, 3))
    names = np.array(["ant", "bee", "cow"])
    sets = [{names[t], names[rng.integers(3)]} for t in y]
    for i in rng.permutation(n)[: int(wrong * n)]:
        sets[i] = {names[(y[i] + 1) % 3]}
    return X, as_candidates(sets), names[y]


@pytest.fixture(scope="module")
def rows():
    return make_rows()


def session(rows, method=None, **options):
    options = {"random_share": 0, "refit_after": 10**6} | options
    return ReviewSession(method or PLCL(max_iter=5), rows[0], rows[1], **options)


def review(session, y, n):
    for _ in range(n):
        (row,) = session.next_rows()
        session.settle(row, y[row])


def test_a_settled_row_has_its_label_and_does_not_come_again(rows):
    here = session(rows)
    first = here.next_rows(60)
    assert sorted(first) == list(range(60))
    here.settle(first[0], "cow")
    assert here.transduction_[first[0]] == "cow"
    assert here.score_[first[0]] == 1
    assert first[0] not in here.next_rows(60)
    assert here.order_[-1] == first[0]
    assert here.labels_ == {first[0]: "cow"}


def test_arrays_of_other_libraries_are_copied_to_host_memory(rows, library, dispatch):
    X, sets, y = rows
    here, there = session(rows), session((library.to_device(X), sets, y))
    for one in (here, there):
        review(one, y, 4)
        one.update()
    assert there.labels_ == here.labels_
    np.testing.assert_array_equal(there.order_, here.order_)


def test_a_new_label_can_be_given(rows):
    here = session(rows)
    here.settle(4, "zebra")
    assert here.transduction_[4] == "zebra"
    here.learn()
    assert here.transduction_[4] == "zebra"


def test_undo_restores_everything(rows):
    here = session(rows)
    before, order = here.score_, here.order_.tolist()
    assert here.undo() == []
    here.settle(3, "cow")
    here.settle_rows({5: "ant", 6: "ant"})
    assert here.undo() == [5, 6]
    assert here.labels_ == {3: "cow"}
    assert here.undo() == [3]
    np.testing.assert_allclose(here.score_, before)
    assert here.order_.tolist() == order


def test_undo_after_a_fit_gives_the_candidates_back(rows):
    here = session(rows)
    here.settle(3, "cow")
    here.learn()
    here.undo()
    labels = here.transduction_
    assert labels[3] in rows[1].to_sets()[3]
    assert here.n_unlearned == 1


def test_skipped_rows_come_last_in_the_order_in_which_they_were_skipped(rows):
    here = session(rows)
    first, second, third = here.next_rows(3)
    here.skip(first)
    here.skip(second)
    assert here.next_rows(60)[0] == third
    assert here.next_rows(60)[-2:] == [first, second]
    here.settle(first, "ant")
    here.skip(first)
    assert first not in here.next_rows(60)


def test_rows_like_a_corrected_one_become_less_certain_and_rise():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    sets = [{"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"b"}, {"b"}]
    here = ReviewSession(PLCL(), X, sets, random_share=0)
    wrong = "a" if here.transduction_[0] == "b" else "b"
    before = here.results_.choices.margins[1], here.order_.tolist().index(3)
    here.settle(0, wrong)
    assert here.transduction_[1] == wrong or here.results_.choices.margins[1] < before[0]


def test_the_update_is_close_to_a_new_fit_and_better_than_none():
    X, sets, y = make_rows(n=120, seed=1)
    updated, fitted, stale = (session((X, sets)) for _ in range(3))
    for row in updated.next_rows(12):
        updated.settle(row, y[row])
        fitted.settle(row, y[row])
    fitted.learn()
    rest = [row for row in range(120) if row not in updated.labels_]
    assert updated.n_unlearned == 12
    assert fitted.n_unlearned == 0

    def distance(one):
        change = one.results_.confidences - fitted.results_.confidences
        return np.abs(change[np.isin(np.repeat(np.arange(120), sets.sizes), rest)]).sum()

    assert distance(updated) < 0.8 * distance(stale)


def test_updates_one_by_one_are_the_update_by_all_answers(rows, monkeypatch):
    y = rows[2]
    n_labels = len(rows[1].classes)
    monkeypatch.setattr("ambilearn.review.updates._AT_ONCE", 4 * n_labels)  # four rows, then one
    one_by_one, at_once = (session(rows, refit_after=100) for _ in range(2))
    answers = {row: y[row] for row in (3, 14, 15, 9, 26)}
    for row, label in answers.items():
        one_by_one.settle(row, label)
        one_by_one.next_rows()
    one_by_one.settle(14, None)
    one_by_one.next_rows()
    one_by_one.settle(14, answers[14])
    at_once.settle_rows(answers)
    assert one_by_one.n_unlearned == at_once.n_unlearned == 5
    ours, theirs = one_by_one.results_, at_once.results_
    np.testing.assert_allclose(ours.confidences, theirs.confidences, atol=1e-12)
    np.testing.assert_allclose(ours.doubt.score, theirs.doubt.score, atol=1e-12)


def test_a_review_in_this_order_finds_more_than_one_by_chance():
    X, sets, y = make_rows(n=150, seed=2)
    here = session((X, sets), refit_after=10)
    wrong = here.transduction_ != y
    review(here, y, 30)
    assert wrong[list(here.labels_)].mean() > 1.4 * wrong.mean()
    # A label may have changed in a fit since the start.
    assert abs(here.count_changes()[0] - wrong[list(here.labels_)].sum()) <= 2


def test_fits_reuse_kernel_factor_and_neighbors(rows, count_work):
    here = session(rows, refit_after=2)
    review(here, rows[2], 6)
    assert count_work["kernel"] == count_work["geometry"] == 1
    assert count_work["graph"] > 2


def test_the_same_answers_give_the_same_session(rows):
    runs = [session(rows, refit_after=3, random_share=0.2) for _ in range(2)]
    for here in runs:
        review(here, rows[2], 12)
    assert list(runs[0].labels_) == list(runs[1].labels_)
    np.testing.assert_array_equal(runs[0].score_, runs[1].score_)


def test_a_session_continues_from_its_steps(rows):
    here = session(rows, random_share=0.2)
    review(here, rows[2], 10)
    steps = [Step({}, step.after, step.random, step.found) for step in here.steps]
    again = session(rows, random_share=0.2, steps=steps)
    assert again.labels_ == here.labels_
    assert again.count_changes()[0] == here.count_changes()[0] > 0
    assert again.undo() == here.undo()


@pytest.mark.parametrize(
    "method",
    [
        PLKNN(),
        IPAL(),
        PLVoting([("plcl", PLCL(max_iter=5)), ("plknn", PLKNN())]),
        make_pipeline(StandardScaler(), PLCL(n_landmarks=20, random_state=0)),
    ],
)
def test_any_method_will_do(rows, method):
    X, sets, y = rows
    here = ReviewSession(method, X, sets, random_share=0, refit_after=6)
    before = np.mean(here.transduction_ == y)
    review(here, y, 12)
    assert np.mean(here.transduction_ == y) > before


def test_few_rows_have_no_doubt():
    here = ReviewSession(PLCL(n_neighbors=1), [[0.0], [1.0]], [{"a", "b"}, {"b"}], random_share=0)
    assert here.suggestion_.tolist() == [None, None]
    here.settle(0, "a")
    assert here.next_rows(5) == [1]


@pytest.mark.parametrize(
    ("row", "label", "message"),
    [
        (60, "ant", "There is no row 60"),
        (-1, "ant", "There is no row -1"),
        (1.5, "ant", "There is no row 1.5"),
        (1, 7, "The answer has numbers as labels"),
        (1, ["ant"], "cannot be a label"),
        (1, float("nan"), "cannot be a label"),
    ],
)
def test_wrong_answers_are_rejected(rows, row, label, message):
    here = session(rows)
    with pytest.raises(ValueError, match=message):
        here.settle(row, label)
    assert here.labels_ == {}


def test_wrong_calls_are_rejected(rows):
    here = session(rows)
    with pytest.raises(TypeError, match=r"labels must be a mapping of rows to labels.*\[1, 2\]"):
        here.settle_rows([1, 2])
    for n in (-1, 2.5, "2"):
        with pytest.raises(ValueError, match="n must be a whole number and at least 0"):
            here.next_rows(n)
    assert here.next_rows(0) == []
    assert len(here.next_rows(np.int64(2))) == 2


def test_other_estimators_are_rejected(rows):
    with pytest.raises(TypeError, match="does not learn from candidate sets"):
        ReviewSession(StandardScaler(), *rows[:2])
    with pytest.raises(ValueError, match="random_share must be"):
        session(rows, random_share=0.9)


# --- what it is worth ---------------------------------------------------------------------------


def test_answers_to_random_rows_are_held_back_until_the_order_reaches_them():
    X, sets, y = make_rows(n=200, seed=3)
    here = session((X, sets), random_share=0.5, refit_after=20)
    _, drawn = here.next_and_random(20)
    assert len(drawn) == 10
    review(here, y, 60)
    held = here.random_rows_
    assert 10 <= len(held) < 30  # the others were reached
    assert here.n_unlearned < len(here.labels_)
    assert not set(held) & set(here._learned.labels)
    assert set(held) <= set(here.labels_)
    here.refit()
    assert here.random_rows_ == []
    assert set(here._learned.labels) == set(here.labels_)


def test_estimate_needs_ten_random_rows_and_is_one_if_all_rows_are_settled(rows):
    here = session(rows, random_share=0.5)
    assert here.estimate() is None
    here.settle_rows(dict(enumerate(rows[2])))
    assert here.estimate().low == 1


@pytest.mark.slow
def test_the_interval_covers_the_share_of_right_labels():
    covered = []
    for seed in range(12):
        X, sets, y = make_rows(n=150, seed=seed)
        here = session((X, sets), PLKNN(), random_share=0.5, refit_after=30, random_state=seed)
        review(here, y, 50)
        found = here.estimate()
        covered.append(found.low <= np.mean(here.transduction_ == y) <= found.high)
        assert found.low <= found.share <= found.high
    assert sum(covered) >= 10


def test_nothing_is_doubtful_when_all_rows_are_settled(rows):
    here = session(rows)
    assert here.results_.doubt is not None
    here.settle_rows(dict(enumerate(rows[2])))
    here.refit()
    assert here.results_.doubt is None
    assert here.next_rows() == []
    assert here.suggestion_.tolist() == [None] * here.n_rows


def test_a_sentence_says_that_answers_change_little(rows):
    here = session(rows, refit_after=5)
    assert here.stopping_hint() is None
    for row in np.flatnonzero(rows[1].sizes == 1)[:24]:
        here.settle(row, here.transduction_[row])
        here.next_rows()
    assert here.stopping_hint() is None or "corrected 0 labels" in here.stopping_hint()
    assert "change little" in here.stopping_hint()


def test_a_substitute_of_low_rank_serves_many_rows(rows, monkeypatch):
    monkeypatch.setattr("ambilearn.review.learner._MAX_EXACT_ROWS", 50)
    monkeypatch.setattr("ambilearn.review.learner._LANDMARKS", 20)
    here = session(rows, PLKNN())
    assert type(here.learner._regressor.ridge).__name__ == "PrimalRidge"
    review(here, rows[2], 3)
    assert here.n_unlearned == 3


def test_similar_rows_are_the_nearest_that_are_neither_settled_nor_random(rows):
    X = rows[0]
    here = session(rows, random_share=0.2)
    _, drawn = here.next_and_random(20)
    here.settle_rows({1: "ant", 2: "bee"}, random=False)
    left_out = {5, 1, 2, *drawn}
    nearest = np.argsort(np.linalg.norm(X - X[5], axis=1))
    expected = [row for row in nearest.tolist() if row not in left_out]
    assert here.similar_rows(5, 7) == expected[:7]
    assert here.similar_rows(5, 100) == expected
    sparse_rows = ReviewSession(PLKNN(), sparse.csr_array(X), rows[1], random_share=0)
    expected = [row for row in nearest.tolist() if row != 5]
    assert sparse_rows.similar_rows(5, 7) == expected[:7]
    with pytest.raises(ValueError, match="There is no row 60"):
        here.similar_rows(60)


# --- changes of the labels from fit to fit, by hand -----------------------------------------------


FIRST = np.array(["a"] * 100)
ANSWERS = [{row: "a"} for row in range(40)]


def changed(*rows):
    labels = FIRST.copy()
    labels[list(rows)] = "b"
    return labels


def test_settled_rows_are_not_counted():
    history = FitHistory(FIRST)
    assert history.count_changed(changed(1, 2, 3), [2]) == 2
    mixed = changed(1).astype(object)
    mixed[5] = 7  # a label of another type, which a person gave
    assert history.count_changed(mixed, []) == 2


@pytest.mark.parametrize(
    ("n_now", "now", "message"),
    [
        (20, changed(50, 51), "The last 20 answers corrected 0 labels and changed 2 others: "),
        (40, changed(*range(50, 54)), "The last 40 answers corrected 0 labels and changed 4 "),
        (20, changed(5), "The last 20 answers corrected 0 labels and changed 0 others: "),
        (20, changed(50, 51, 52), None),  # more than one label per ten answers
        (19, FIRST, None),  # too few
        (41, FIRST, None),  # answers were taken back since
    ],
)
def test_little_change(n_now, now, message):
    history = FitHistory(FIRST)
    history.add(0, FIRST)
    assert history.describe_little_change(ANSWERS) is None
    history.add(n_now, now)
    found = history.describe_little_change(ANSWERS)
    assert found is None if message is None else found.startswith(message)


@pytest.mark.parametrize("n_corrected", [2, 3])
def test_corrections_count_as_changes(n_corrected):
    history = FitHistory(FIRST)
    history.add(0, FIRST)
    history.add(20, changed(*range(n_corrected)))
    answers = [{row: "b" if row < n_corrected else "a"} for row in range(20)]
    found = history.describe_little_change(answers)
    assert (found is None) == (n_corrected == 3)
    assert n_corrected == 3 or "corrected 2 labels and changed 0 others" in found


def test_the_latest_fit_that_is_early_enough_is_compared():
    history = FitHistory(FIRST)
    for n_answers, labels in [(0, FIRST), (5, changed(60)), (15, changed(60, 61)), (25, FIRST)]:
        history.add(n_answers, labels)
    found = history.describe_little_change(ANSWERS)
    assert found.startswith("The last 20 answers corrected 0 labels and changed 1 other:")
