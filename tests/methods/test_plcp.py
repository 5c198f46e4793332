import numpy as np
import pytest
from core_methods import CORE_CLASSES
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_methods import blur, complementary_step, plcp
from optimality import assert_no_better_confidences, assert_on_candidate_simplices
from problems import ambiguous, random_mask, support
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from ambilearn import IPAL, PLAGGD, PLCL, PLCP, PLDA, PLKNN, SURE
from ambilearn.selection import FitCache
from ambilearn.solvers import project_rows
from ambilearn.tables.skops_format import dump_pipeline, load_pipeline

HANDOVERS = {"confidences": False, "graph": True}  # → whether the literal base keeps its outputs
BASES = [method() for method in CORE_CLASSES]
KAPPA = np.exp(-1)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# --- against the oracle -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("handover", HANDOVERS)
def test_agrees_with_the_published_algorithm(handover):
    X, Y, _ = ambiguous(n=50, d=12, n_labels=5, extra=0.5)
    A, B, new = X[:35], Y[:35], X[35:]
    model = PLCP(
        n_neighbors=6, max_iter=3, base_iter=3, partner_iter=5, kappa=2.0, handover=handover
    ).fit(A, B)
    options = {"k": 6, "stages": 3, "rounds": 3, "steps": 5, "kappa": 2.0}
    literal = plcp(A, B, new, **options, old_H=HANDOVERS[handover])
    np.testing.assert_allclose(model.label_distributions_, 1 - literal.Q, atol=1e-5)
    np.testing.assert_allclose(model.train_output_, 1 - literal.G, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(new), literal.scores, atol=1e-5)
    base = model.estimator_
    np.testing.assert_allclose(base.label_distributions_, literal.P, atol=1e-5)
    np.testing.assert_allclose(base.train_output_, literal.H, atol=1e-5)
    np.testing.assert_allclose(base.decision_function(new), literal.base_scores, atol=1e-5)
    # The two readings are apart by far more than this agreement.
    other = plcp(A, B, new, **options, old_H=not HANDOVERS[handover])
    assert np.abs(other.P - literal.P).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    X, Y = X[:80], Y[:80]  # the literal version takes its time
    model = PLCP(max_iter=2, base_iter=2, partner_iter=3).fit(X, Y)
    literal = plcp(X, Y, X_test, stages=2, rounds=2, steps=3)
    np.testing.assert_allclose(model.label_distributions_, 1 - literal.Q, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X_test), literal.scores, atol=1e-4)
    base = model.estimator_
    np.testing.assert_allclose(base.decision_function(X_test), literal.base_scores, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_complementary_program_is_a_projection(seed):
    rng = np.random.default_rng(seed)
    Y = random_mask(rng, 20, 5)
    G, B = rng.normal(size=Y.shape), blur(rng.random(Y.shape), Y, 1.0)
    projected = project_rows(1 - G + B, Y > 0).value
    np.testing.assert_allclose(1 - complementary_step(G, B, Y), projected, atol=1e-6)


# --- the partner --------------------------------------------------------------------------------


def test_the_partner_minimizes_its_objective():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    model = PLCP(estimator=SURE(), max_iter=1, partner_iter=5000).fit(X, Y)
    uniform = Y / Y.sum(axis=1, keepdims=True)
    B = blur((uniform + SURE().fit(X, Y).label_distributions_) / 2, Y, KAPPA)
    Z = model.label_distributions_
    assert_no_better_confidences(Z - model.train_output_ - B, Z, Y)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.01, 20), st.floats(0.001, 10), st.booleans())
def test_solutions_are_feasible(seed, kappa, reg, own_base):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    base = PLKNN(n_neighbors=5) if own_base else None
    model = PLCP(
        estimator=base, kappa=kappa, reg=reg, n_neighbors=5, max_iter=2, partner_iter=5
    ).fit(X, Y)
    assert_on_candidate_simplices(model.label_distributions_, Y)
    assert_on_candidate_simplices(model.estimator_.label_distributions_.clip(0), Y)


def test_the_partner_predicts_and_the_base_is_kept():
    X, Y, _ = ambiguous(n=80, extra=0.6)
    model = PLCP().fit(X[:60], Y[:60])
    np.testing.assert_allclose(model.decision_function(X[:60]), model.train_output_, atol=1e-9)
    base = model.estimator_
    np.testing.assert_allclose(base.decision_function(X[:60]), base.train_output_, atol=1e-9)
    assert np.abs(base.decision_function(X) - model.decision_function(X)).max() > 1e-3
    best = base.label_distributions_.argmax(axis=1)
    np.testing.assert_array_equal(base.transduction_, best)
    assert base.n_features_in_ == 4


def test_a_blurred_partner_is_independent():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    deaf = [PLCP(estimator=b, kappa=1e-13).fit(X, Y) for b in (SURE(), IPAL(), None)]
    for other in deaf[1:]:
        np.testing.assert_allclose(
            other.decision_function(X), deaf[0].decision_function(X), atol=1e-9
        )
    hearing = [PLCP(estimator=b).fit(X, Y).decision_function(X) for b in (SURE(), IPAL())]
    assert np.abs(hearing[0] - hearing[1]).max() > 1e-3


def test_less_blur_increases_confidences():
    X, Y, _ = ambiguous(n=50, extra=0.8)
    sure = [
        PLCP(kappa=kappa, max_iter=1, partner_iter=1)
        .fit(X, Y)
        .label_distributions_.max(axis=1)
        .mean()
        for kappa in (0.1, 1.0, 10.0)
    ]
    assert sure[0] < sure[1] < sure[2]


# --- the default base, which is resumed ---------------------------------------------------------


def test_the_first_stage_is_pl_aggd():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    base = PLCP(max_iter=1, gamma=0.5, mu=2.0, reg=0.1).fit(X, Y).estimator_
    alone = PLAGGD(max_iter=10, tol=0, gamma=0.5, mu=2.0, reg=0.1).fit(X, Y)
    np.testing.assert_array_equal(base.label_distributions_, alone.label_distributions_)
    np.testing.assert_array_equal(base.decision_function(X), alone.decision_function(X))
    assert (base.graph_ != alone.graph_).nnz == 0


def test_handovers_differ_from_the_second_stage_on():
    X, Y, _ = ambiguous(n=60, extra=0.7, seed=2)

    def outputs(stages, handover, **options):
        model = PLCP(max_iter=stages, handover=handover, **options).fit(X, Y)
        return model.estimator_.train_output_

    np.testing.assert_array_equal(outputs(1, "graph"), outputs(1, "confidences"))
    assert np.abs(outputs(2, "graph") - outputs(2, "confidences")).max() > 1e-3
    # Without a graph (μ = 0) that way tells the base nothing: it goes on as if it were alone.
    alone = PLAGGD(mu=0.0, max_iter=30, tol=0).fit(X, Y).train_output_
    silent = outputs(3, "graph", mu=0.0)
    np.testing.assert_allclose(silent, alone, atol=1e-8)
    assert np.abs(outputs(3, "confidences", mu=0.0) - alone).max() > 1e-3


def test_partner_and_base_share_graph_kernel_and_factorization():
    X, Y, _ = ambiguous()
    cache = FitCache()
    model = PLCP().fit(X, Y, cache=cache)
    assert cache.n_computed == {"geometry": 1, "graph": 1, "kernel": 1, "factorization": 1}
    alone = PLCP().fit(X, Y)
    np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))
    PLAGGD().fit(X, Y, cache=cache)  # of the same family
    assert cache.n_computed == {"geometry": 1, "graph": 1, "kernel": 1, "factorization": 1}


@pytest.mark.parametrize("seed", [0, None])
def test_landmarks_are_the_same_in_every_stage(seed):
    X, Y, _ = ambiguous(n=60)
    one, five = (
        PLCP(n_landmarks=12, random_state=np.random.RandomState(3), max_iter=stages).fit(X, Y)
        for stages in (1, 5)
    )
    np.testing.assert_array_equal(one.estimator_.X_fit_, five.estimator_.X_fit_)
    model = PLCP(n_landmarks=12, random_state=seed).fit(X, Y)
    assert model.X_fit_.shape == model.estimator_.X_fit_.shape == (12, 4)
    assert np.array_equal(model.X_fit_, model.estimator_.X_fit_) == (seed == 0)


def test_as_many_landmarks_as_rows_are_the_exact_kernel():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    exact = PLCP(sigma=2.0).fit(X, Y)
    low_rank = PLCP(sigma=2.0, n_landmarks=50, landmarks="uniform", random_state=0).fit(X, Y)
    np.testing.assert_allclose(low_rank.label_distributions_, exact.label_distributions_, atol=1e-4)


# --- any base -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_any_method_can_be_the_base(base):
    X, Y, y = ambiguous(n=90, d=6, n_labels=6)
    model = PLCP(estimator=base, max_iter=2).fit(X[:60], Y[:60])
    assert type(model.estimator_) is type(base)
    assert not hasattr(base, "classes_")  # it is left as it was
    assert_on_candidate_simplices(model.label_distributions_, Y[:60])
    assert model.score(X[60:], y[60:]) > 0.5
    assert np.mean(model.transduction_ == y[:60]) > 0.75


@pytest.mark.parametrize("base", [SURE(), IPAL(), PLCL()], ids=repr)
def test_first_stage_is_the_base_alone(base):
    X, Y, _ = ambiguous(n=50, extra=0.5)
    first = PLCP(estimator=base, max_iter=1).fit(X, Y)
    alone = clone(base).fit(X, Y)
    np.testing.assert_array_equal(first.estimator_.decision_function(X), alone.decision_function(X))
    second = PLCP(estimator=base, max_iter=2).fit(X, Y).estimator_
    told = blur(np.clip((Y + first.train_output_) / 2, 0, 1), Y, KAPPA)
    expected = clone(base).fit(X, told)
    np.testing.assert_allclose(
        second.label_distributions_, expected.label_distributions_, atol=1e-9
    )
    assert np.abs(second.label_distributions_ - alone.label_distributions_).max() > 1e-4


def test_the_base_keeps_its_candidates_own_weights():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    table = Y * np.random.default_rng(0).uniform(0.2, 1.0, Y.shape)
    first = PLCP(estimator=IPAL(), max_iter=1).fit(X, table)
    alone = IPAL().fit(X, table)
    np.testing.assert_allclose(
        first.estimator_.label_distributions_, alone.label_distributions_, atol=1e-12
    )


def test_weights_of_candidates_reward_the_partner():
    X, Y, _ = ambiguous(n=50, extra=0.5)
    table = Y * np.random.default_rng(0).uniform(0.2, 1.0, Y.shape)
    sets = support(table)
    model = PLCP(estimator=SURE(), max_iter=1, partner_iter=3000, rho=1.4).fit(X, table)
    uniform = Y / Y.sum(axis=1, keepdims=True)
    B = blur((uniform + SURE().fit(X, table).label_distributions_) / 2, Y, KAPPA)
    Z, reward = model.label_distributions_, sets.scatter(1.4 * sets.preference())
    assert_no_better_confidences(Z - model.train_output_ - B - reward / 2, Z, Y)


def test_sparse_masks_give_sparse_results_with_any_base():
    X, Y, _ = ambiguous(n=50)
    for base in (None, SURE(), PLKNN()):
        dense, scattered = (PLCP(estimator=base).fit(X, y) for y in (Y, sparse.csr_array(Y)))
        assert sparse.issparse(scattered.label_distributions_)
        np.testing.assert_allclose(
            scattered.label_distributions_.toarray(), dense.label_distributions_, atol=1e-8
        )


def test_many_labels():
    X, Y, _ = ambiguous(n=40)
    wide = sparse.csr_array(np.hstack([Y, np.zeros((40, 1100))]))
    blocks, dense = PLCP().fit(X, wide), PLCP().fit(X, wide.toarray())
    np.testing.assert_allclose(
        blocks.label_distributions_.toarray(), dense.label_distributions_, atol=1e-8
    )


def test_handover_by_graph_requires_the_default_base():
    X, Y, _ = ambiguous()
    with pytest.raises(ValueError, match=r"estimator=SURE\(\) is refitted .* or estimator=None"):
        PLCP(estimator=SURE(), handover="graph").fit(X, Y)


# --- rows that count more or less ---------------------------------------------------------------


@pytest.mark.parametrize("base", [None, SURE(sigma=2.0), PLKNN()], ids=repr)
def test_weights_of_rows(base):
    X, Y, y = ambiguous(n=50, extra=0.5)
    estimator = PLCP(estimator=base, sigma=2.0)
    plain = clone(estimator).fit(X, Y)
    ones = clone(estimator).fit(X, Y, sample_weight=np.ones(50))
    np.testing.assert_array_equal(ones.decision_function(X), plain.decision_function(X))
    v = np.random.default_rng(0).uniform(0.2, 3.0, 50)
    weighted = clone(estimator).fit(X, Y, sample_weight=v)
    assert np.abs(weighted.decision_function(X) - plain.decision_function(X)).max() > 1e-3
    base_difference = weighted.estimator_.decision_function(X) - plain.estimator_.decision_function(
        X
    )
    assert np.abs(base_difference).max() > 1e-3
    times = np.arange(50) % 3 + 1  # with one candidate each, the weight is a number of rows
    counted = clone(estimator).fit(X, y, sample_weight=times)
    repeated = clone(estimator).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(
        counted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )


@pytest.mark.parametrize("base", [IPAL(), PLDA(estimator=IPAL())], ids=repr)
def test_a_base_without_weights_of_rows_is_named(base):
    X, Y, _ = ambiguous(n=20)
    model = PLCP(estimator=base)
    with pytest.raises(ValueError, match=f"{type(base).__name__}, .* omit sample_weight"):
        model.fit(X, Y, sample_weight=np.arange(1, 21))
    model.fit(X, Y, sample_weight=np.ones(20))  # all alike: nothing to weigh


# --- the contract -------------------------------------------------------------------------------


def test_stages(capsys):
    X, Y, y = ambiguous(n=60, extra=0.5)
    assert PLCP(verbose=1).fit(X, Y).n_iter_ == 5
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["[PLCP]", "iteration", str(i)] for i in range(1, 6)
    ]
    assert PLCP().fit(X, y).n_iter_ == 1  # nothing to disambiguate
    assert PLCP(max_iter=50, tol=1e-2).fit(X, Y).n_iter_ < 50
    with pytest.warns(ConvergenceWarning, match="PLCP stopped after max_iter=2") as caught:
        PLCP(max_iter=2, tol=1e-12).fit(X, Y)
    assert caught[0].filename == __file__


def test_a_certain_partner_does_not_end_the_stages():
    """Its confidences stand still at zeros and ones while what it tells the base still moves."""
    X, Y, _ = ambiguous(n=35, d=12, n_labels=5, extra=0.5, seed=1)
    one, two = (PLCP(kappa=2.0, max_iter=stages).fit(X, Y) for stages in (4, 5))
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)
    assert two.n_iter_ == 5
    assert np.abs(one.estimator_.train_output_ - two.estimator_.train_output_).max() > 1e-6


def test_parameters_of_the_base_are_searched():
    X, Y, y = ambiguous(n=90)
    model = PLCP(estimator=SURE(), max_iter=2)
    search = GridSearchCV(model, {"estimator__lam": [0.1, 0.3]}, cv=3).fit(X, Y)
    assert search.best_estimator_.estimator_.lam in (0.1, 0.3)
    assert search.best_estimator_.score(X, y) > 0.7


@pytest.mark.parametrize("base", [None, PLKNN(n_neighbors=3), PLCP(max_iter=2)], ids=repr)
def test_model_files(base):
    X, Y, _ = ambiguous()
    fitted = make_pipeline(PLCP(estimator=base)).fit(X, Y)
    back = load_pipeline(dump_pipeline(fitted))
    np.testing.assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(back[-1].estimator_.predict(X), fitted[-1].estimator_.predict(X))


def test_defaults_are_the_authors():
    defaults = PLCP().get_params()
    expected = {"reg": 0.05, "base_iter": 10, "partner_iter": 30, "max_iter": 5, "kappa": None}
    assert {name: defaults[name] for name in expected} == expected
    X, Y, _ = ambiguous()
    np.testing.assert_array_equal(
        PLCP().fit(X, Y).decision_function(X), PLCP(kappa=KAPPA).fit(X, Y).decision_function(X)
    )
    assert isinstance(PLCP().fit(X, Y).estimator_, PLAGGD)


@pytest.mark.heavy
def test_the_partner_disambiguates_lost_better_than_the_base_alone(real_split):
    shares = []
    for seed in range(2):
        X, Y, y, _, _ = real_split("lost", seed)
        shares.append([np.mean(m.fit(X, Y).transduction_ == y) for m in (PLCP(), PLAGGD())])
    partner, alone = np.mean(shares, axis=0)
    assert partner > alone + 0.01


def test_a_large_kappa_does_not_overflow():
    X, Y, _ = ambiguous(n=30, d=4, n_labels=3, seed=0)
    model = PLCP(kappa=1e4, max_iter=2, tol=0).fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)


@pytest.mark.parametrize("kernels", [("rbf", "precomputed"), ("precomputed", "rbf")])
def test_base_and_partner_take_the_same_kind_of_rows(kernels):
    X, Y, _ = ambiguous(n=30, d=4, n_labels=3, seed=0)
    base, own = kernels
    with pytest.raises(ValueError, match="PLCP and its estimator must both take a kernel matrix"):
        PLCP(estimator=SURE(kernel=base), kernel=own).fit(X @ X.T, Y)
