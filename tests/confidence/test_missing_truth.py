import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import comb, logit, softmax

from ambilearn import find_doubtful
from ambilearn.backend import HOST
from ambilearn.candidates import as_candidates
from ambilearn.confidence.missing_truth import fit_missing_truth, judge_sets
from ambilearn.kernel.leave_one_out import OutputBlock


def planted(n=800, n_labels=6, share=0.1, seed=0, sharpness=5.0):
    """Outputs, candidates, and the rows without their true label, drawn from the model."""
    rng = np.random.default_rng(seed)
    outputs = rng.normal(size=(n, n_labels))
    proba = np.exp(sharpness * outputs)
    proba /= proba.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_labels, p=row) for row in proba])
    mask, absent = np.zeros((n, n_labels), dtype=bool), rng.random(n) < share
    for i, size in enumerate(rng.integers(1, 4, size=n)):
        others = rng.permutation(np.delete(np.arange(n_labels), y[i]))
        mask[i, others[: size - (not absent[i])]] = True
        mask[i, y[i]] = not absent[i]
    return outputs, mask, absent


def log_likelihood(factor, bias, share, outputs, mask, weights):
    """The sum over the rows, as the docstring has it."""
    l, total = mask.shape[1], 0.0
    for h, row, weight in zip(outputs, mask, weights, strict=True):
        size = row.sum()
        if size == l:
            continue
        powers = np.exp(factor * h + bias)
        proba = 0.98 * powers / powers.sum() + 0.02 / l
        with_truth = (1 - share) * proba[row].sum() / comb(l - 1, size - 1)
        without = share * proba[~row].sum() / comb(l - 1, size)
        total += weight * np.log(with_truth + without)
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_the_parameters_are_those_of_a_general_maximizer(weighted):
    outputs, mask, _ = planted(n=60, n_labels=4)
    mask[:3] = True
    weights = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    model = fit_missing_truth(outputs, mask, weights if weighted else None)
    data = outputs, mask, weights if weighted else np.ones(60)
    found = minimize(
        lambda theta: theta[1:] @ theta[1:] - log_likelihood(theta[0], theta[1:], 0.1, *data),
        np.r_[3.0, np.zeros(4)],
        method="Powell",
        options={"xtol": 1e-8, "ftol": 1e-12},
    )
    np.testing.assert_allclose(np.r_[model.factor, model.bias], found.x, atol=0.02)

    def loss(share):
        prior = np.log(share) + 19 * np.log(1 - share)
        return -prior - log_likelihood(model.factor, model.bias, share, *data)

    best = minimize_scalar(loss, bounds=(1e-6, 0.5), method="bounded", options={"xatol": 1e-8})
    np.testing.assert_allclose(model.share, best.x, rtol=0.02)


def judge(outputs, mask, seed=0):
    block = [OutputBlock(np.arange(len(outputs)), outputs)]
    return judge_sets(lambda: block, HOST.support(as_candidates(mask)), seed)


def test_planted_rows_are_found_and_flags_are_right():
    for seed in range(3):
        outputs, mask, absent = planted(seed=seed)
        missing = judge(outputs, mask).score
        flagged = missing > 0.5
        assert flagged[absent].mean() > 0.4
        assert absent[flagged].mean() > 0.6
        assert np.mean(judge(*planted(seed=seed, share=0.0)[:2]).score > 0.5) < 0.01


def test_useless_outputs_flag_nothing():
    outputs, mask, _ = planted()
    for useless in (np.zeros_like(outputs), np.random.default_rng(1).normal(size=outputs.shape)):
        assert (judge(useless, mask).score < 0.5).all()


def test_shifts_and_scales_of_the_outputs_and_the_order_of_labels_and_rows_change_nothing():
    outputs, mask, _ = planted(n=200)
    expected = judge(outputs, mask)
    shift = np.random.default_rng(0).normal(size=(200, 1))
    moved = judge(100 * outputs + shift, mask)
    np.testing.assert_allclose(moved.score, expected.score, atol=1e-3)
    factors = [fit_missing_truth(each, mask).factor for each in (100 * outputs + shift, outputs)]
    np.testing.assert_allclose(100 * factors[0], factors[1], rtol=1e-2)
    rows, labels = np.random.default_rng(0).permutation(200), np.array([3, 1, 5, 0, 2, 4])
    other = judge(outputs[rows][:, labels], mask[rows][:, labels])
    np.testing.assert_allclose(other.score, expected.score[rows], atol=1e-3)
    np.testing.assert_array_equal(labels[other.other.astype(int)], expected.other[rows])


def test_a_row_with_all_labels_is_never_without_its_truth_and_changes_no_other():
    outputs, mask, _ = planted(n=100)
    expected = judge(outputs, mask).score
    full = judge(np.r_[outputs, outputs[:40]], np.r_[mask, np.ones((40, 6), dtype=bool)])
    np.testing.assert_allclose(full.score[:100], expected, atol=1e-6)
    assert (full.score[100:] == 0).all()
    assert set(full.other[100:]) == {None}
    everything = judge(outputs, np.ones_like(mask))
    assert (everything.score == 0).all()
    one_label = judge(np.ones((3, 1)), [{"a"}] * 3)
    assert one_label.within.toarray().tolist() == [[1]] * 3


def test_blocks_of_rows_give_the_same():
    outputs, mask, _ = planted(n=90)
    expected = judge(outputs, mask)
    parts = np.flatnonzero(np.arange(90) % 3), np.arange(0, 90, 3)
    blocks = [OutputBlock(rows, outputs[rows]) for rows in parts]
    found = judge_sets(lambda: blocks, HOST.support(as_candidates(mask)), 0)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-12)
    np.testing.assert_array_equal(found.other, expected.other)
    np.testing.assert_allclose(found.within.toarray(), expected.within.toarray(), atol=1e-12)


def test_many_rows_are_judged_by_parameters_of_a_part(monkeypatch):
    outputs, mask, absent = planted(n=3000)
    expected = judge(outputs, mask).score
    monkeypatch.setattr("ambilearn.confidence.missing_truth._ENTRIES", 6000)
    found = judge(outputs, mask).score
    assert 0 < np.abs(found - expected).max() < 0.3
    assert absent[found > 0.5].mean() > 0.6
    np.testing.assert_array_equal(found, judge(outputs, mask).score)


def test_extreme_outputs_are_finite():
    outputs, mask, _ = planted(n=50)
    for scale in (0, 1e-300, 1e300):
        found = judge(np.sign(outputs) * scale, mask)
        assert np.isfinite(found.score).all()
        assert np.isfinite(found.within.data).all()


def test_probabilities_of_any_model_are_judged_too():
    outputs, mask, absent = planted()
    proba = np.exp(5 * outputs)
    proba /= proba.sum(axis=1, keepdims=True)
    doubt = find_doubtful(pred_probs=proba, labels=as_candidates(mask), classes=range(6))
    assert absent[doubt.doubtful].mean() > 0.6
    assert doubt.score[absent].mean() > 5 * doubt.score[~absent].mean()


def test_doubt_after_a_change_of_outputs_is_that_of_the_new_outputs():
    """A change of the log odds by the factor of the outputs made rows certain after one answer."""
    outputs, mask, _ = planted(n=300, sharpness=30.0)
    before, model = judge(outputs, mask), fit_missing_truth(outputs, mask)
    change = np.random.default_rng(1).normal(size=300) / 2
    scores = model.factor * (outputs + np.where(mask, 0, change[:, None])) + model.bias
    inside = (softmax(scores, axis=1) * mask).sum(axis=1)
    expected = model.probability(logit(np.minimum(inside, 1)), mask.sum(axis=1))
    np.testing.assert_allclose(before.shifted(change).score, expected, atol=1e-9)
    assert before.settled([3]).shifted(change).score[3] == 0
