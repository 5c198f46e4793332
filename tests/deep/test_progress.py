"""Reports of a training run."""

import pytest

from ambilearn.deep.progress import EpochReport, print_report, reports


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
def test_a_report_is_printed_to_standard_error(terminal, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    print_report(EpochReport(1, 2, 0.5, 0.25, 1.0, 75.0))
    print_report(EpochReport(2, 2, 0.4, 0.5, 2.0, 0.0))
    printed = capsys.readouterr()
    assert printed.out == ""
    text = "epoch 1 of 2, loss 0.500, 25.0 % of the rows settled, about 1 min 15 s left"
    assert text in printed.err
    assert printed.err.endswith("\n")
    assert printed.err.count("\n") == (1 if terminal else 2)
