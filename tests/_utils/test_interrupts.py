"""Ctrl-C is delayed, and has its usual effect afterwards."""

import signal
import threading

import pytest

from ambilearn._utils.interrupts import delaying_interrupts, run_to_end


def test_interrupts_are_collected():
    with delaying_interrupts() as pressed:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
    assert pressed == [signal.SIGINT] * 2
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def fail():
    with delaying_interrupts():
        raise ValueError


def test_the_handler_is_restored_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError):  # noqa: PT011 - of the block
        fail()
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_gets_no_signals():
    found = []

    def run():
        with delaying_interrupts() as pressed:
            found.append(pressed)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [[]]


def test_control_c_takes_effect_after_a_function():
    done = []

    def work():
        signal.raise_signal(signal.SIGINT)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_to_end(work)
    assert done == [True]
