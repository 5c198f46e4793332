"""Reports of a training run."""

from contextlib import suppress

import pytest

from ambilearn.deep.progress import EpochReport, report_printers, reports


def test_reports_count_the_epochs_that_are_left():
    losses = iter([(3.0, 0.1), (2.0, 0.2)])
    found = list(reports(lambda: next(losses), 3, 5))
    assert [(r.epoch, r.n_epochs, r.loss, r.settled) for r in found] == [
        (4, 5, 3.0, 0.1),
        (5, 5, 2.0, 0.2),
    ]
    assert found[-1].seconds_left == 0
    assert found[0].seconds <= found[1].seconds


def test_the_first_epoch_does_not_count_in_the_estimate(monkeypatch):
    clock = iter([0.0, 100.0, 101.0, 102.0])
    monkeypatch.setattr("ambilearn.deep.progress.perf_counter", lambda: next(clock))
    found = list(reports(lambda: (0.0, 0.0), 0, 3))
    assert [r.seconds_left for r in found] == [200.0, 1.0, 0.0]


@pytest.mark.parametrize("terminal", [True, False])
def test_reports_are_printed_to_standard_error(terminal, capsys, monkeypatch):
    """In a terminal, what follows a training that fails or is interrupted has a line of its own."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with suppress(KeyboardInterrupt), report_printers(True) as (print_report,):
        print_report(EpochReport(1, 3, 0.5, 0.25, 1.0, 75.0))
        print_report(EpochReport(2, 3, 0.4, 0.5, 2.0, 0.0))
        raise KeyboardInterrupt
    printed = capsys.readouterr()
    assert printed.out == ""
    text = "epoch 1 of 3, loss 0.500, 25.0 % of the rows settled, about 1 min 15 s left"
    assert text in printed.err
    assert printed.err.endswith("\n")
    assert printed.err.count("\n") == (1 if terminal else 2)


def test_nothing_is_printed_unless_wanted(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with report_printers(False) as printers:
        assert printers == []
    with report_printers(True):  # interrupted before the end of the first epoch
        pass
    assert capsys.readouterr().err == ""


def test_a_fit_without_reports_needs_no_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with report_printers(False) as printers:
        assert printers == []
