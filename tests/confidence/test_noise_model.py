import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ambilearn.confidence.noise_model import fit_noise_model


def simulate(n, matrix, sharpness=4.0, seed=0):
    """Outputs of a calibrated classifier, true labels, and labels given with known noise."""
    rng = np.random.default_rng(seed)
    l = len(matrix)
    outputs = rng.normal(size=(n, l))
    probabilities = np.exp(sharpness * outputs)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(l, p=p) for p in probabilities])
    given = np.array([rng.choice(l, p=matrix[j]) for j in truth])
    return outputs, truth, given


PAIRS = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def test_rates_and_temperature_of_simulated_noise_are_found():
    outputs, _, given = simulate(4000, PAIRS)
    found = fit_noise_model(outputs, given)
    np.testing.assert_allclose(found.matrix, PAIRS, atol=0.05)
    assert found.temperature == pytest.approx(4.0, rel=0.15)


def test_the_result_solves_the_equations_of_the_model_written_out():
    """One more literal step of the algorithm does not change the result."""
    outputs, _, given = simulate(300, PAIRS)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=300)
    found = fit_noise_model(outputs, given, weights)

    def held_out(b):
        F = np.exp(b * outputs)
        return F / F.sum(axis=1, keepdims=True)

    def loss(b):
        F = held_out(b)
        likelihood = [F[i] @ found.matrix[:, given[i]] for i in range(300)]
        return -np.sum(weights * np.log(likelihood))

    best = minimize_scalar(loss, bounds=(0.1, 50), method="bounded").x
    assert found.temperature == pytest.approx(best, rel=0.03)
    F = held_out(found.temperature)
    counts = np.zeros((3, 3))
    for i in range(300):
        T = F[i] * found.matrix[:, given[i]]
        T /= T.sum()
        np.testing.assert_allclose(found.posterior[i], T, atol=1e-12)
        np.testing.assert_allclose(found.held_out[i], F[i], atol=1e-12)
        counts[:, given[i]] += weights[i] * T
    total = weights.sum()
    e = (1 + total - counts[0, 0] - counts[1, 1] - counts[2, 2]) / (2 + total)
    for j in range(3):
        for k in range(3):
            prior = 1 - e if j == k else e / 2
            expected = (counts[j, k] + 50 * prior) / (counts[j].sum() + 50)
            assert found.matrix[j, k] == pytest.approx(expected, abs=2e-3)


def test_a_row_of_weight_two_is_the_row_twice():
    outputs, _, given = simulate(200, PAIRS)
    weights = np.where(np.arange(200) < 60, 2.0, 1.0)
    twice = np.r_[np.arange(200), np.arange(60)]
    weighted, repeated = (
        fit_noise_model(outputs, given, weights),
        fit_noise_model(outputs[twice], given[twice]),
    )
    np.testing.assert_allclose(weighted.matrix, repeated.matrix, atol=1e-6)
    np.testing.assert_allclose(weighted.posterior, repeated.posterior[:200], atol=1e-6)


def test_outputs_in_another_unit_give_the_same_probabilities():
    outputs, _, given = simulate(200, PAIRS)
    one, other = fit_noise_model(outputs, given), fit_noise_model(1e4 * outputs + 7, given)
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-6)
    assert one.temperature == pytest.approx(1e4 * other.temperature, rel=1e-6)


def test_a_label_with_few_rows_has_the_common_rate_of_errors():
    outputs, _, given = simulate(2000, np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    outputs = np.column_stack([outputs, np.full(2000, -9.0)])  # a fifth label that nobody has
    found = fit_noise_model(outputs, given)
    common = 1 - np.mean(np.diag(found.matrix)[:4])
    assert 1 - found.matrix[4, 4] == pytest.approx(common, abs=0.05)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1)


@pytest.mark.parametrize(
    "outputs", [np.zeros((6, 2)), np.eye(2)[[0, 0, 0, 1, 1, 1]] * 1e6], ids=["constant", "certain"]
)
def test_extreme_outputs_give_probabilities(outputs):
    found = fit_noise_model(outputs, np.array([0, 0, 1, 1, 1, 0]))
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1)
    assert (found.matrix > 0).all()
