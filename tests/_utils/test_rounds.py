"""The loop of a method, and its listeners."""

import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLCL
from ambilearn._utils.rounds import (
    OuterLoop,
    Round,
    listen_to_rounds,
    report_round,
    warn_unless_converged,
)


def rounds(*changes, name="PLCL", limit=20, tol=0.01):
    return [Round(name, i, limit, change, tol) for i, change in enumerate(changes, start=1)]


def test_without_a_listener_nothing_happens():
    report_round(Round("PLCL", 1, 20, 0.5, 0.01))


def test_listener_is_called_for_each_iteration():
    heard = []
    X, y = np.arange(6.0)[:, None], [{"a", "b"}, {"a"}, {"a"}, {"b"}, {"b"}, {"a", "b"}]
    with listen_to_rounds(heard.append):
        model = PLCL(n_neighbors=2, kernel="linear").fit(X, y)
    assert [done.number for done in heard] == list(range(1, model.n_iter_ + 1))
    assert {(done.name, done.limit, done.tol) for done in heard} == {
        ("PLCL", model.max_iter, model.tol)
    }
    PLCL(n_neighbors=2).fit(X, y)
    assert len(heard) == model.n_iter_


def test_other_threads_do_not_call_the_listener():
    heard = []
    with listen_to_rounds(heard.append):
        thread = threading.Thread(target=report_round, args=rounds(0.5))
        thread.start()
        thread.join()
    assert heard == []


def test_listener_is_removed_after_an_error():
    heard = []

    def fail():
        with listen_to_rounds(heard.append):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    report_round(rounds(0.5)[0])
    assert heard == []


# --- the outer loop -----------------------------------------------------------------------------


def run(changes, **parameters):
    """Feed a loop with steps of the given sizes until it stops or they are used up."""
    estimator = SimpleNamespace(**{"max_iter": 10, "tol": 0.1, "verbose": 0} | parameters)
    loop = OuterLoop(estimator)
    for change in changes:
        if not loop.should_continue():
            break
        loop.record(np.array([change, 0.0]), np.zeros(2), 1, objective=change)
    return loop


def test_stops_when_the_change_is_small():
    loop = run([1.0, 0.5, 0.1, 0.05])
    assert loop.n_iter == 3
    assert loop.objective == [1.0, 0.5, 0.1]


def test_change_is_the_root_mean_square_over_rows():
    loop = OuterLoop(SimpleNamespace(max_iter=10, tol=0.5, verbose=0))
    loop.record(np.array([3.0, 4.0, 0.0]), np.zeros(3), n_rows=100, objective=0.0)  # 5 / 10
    assert not loop.should_continue()
    loop.record(np.array([3.0, 4.0, 0.0]), np.zeros(3), n_rows=99, objective=0.0)
    assert loop.should_continue()


def test_warns_at_the_limit_with_advice():
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=3.*changing by 1\.0e\+00.*Raise max_iter"
    ):
        loop = run([1.0] * 5, max_iter=3)
    assert loop.n_iter == 3


def test_zero_tolerance_runs_to_the_limit_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run([1.0] * 5, max_iter=3, tol=0).n_iter == 3
        assert run([1.0, 0.0, 1.0], max_iter=3, tol=0).n_iter == 2  # nothing moves any more


def test_verbose_prints_a_line_per_iteration(capsys):
    run([1.0, 0.05], verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "iteration   1   objective 1.000000e+00   change 1.00e+00" in lines[0]
    run([1.0, 0.05])
    assert capsys.readouterr().out == ""


def test_a_change_that_is_not_a_number_is_no_convergence():
    with pytest.warns(ConvergenceWarning, match="Method stopped after max_iter=5 iterations"):
        warn_unless_converged("Method", float("nan"), tol=1e-3, max_iter=5)
