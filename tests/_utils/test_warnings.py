import signal
import threading
import warnings

import pytest

from ambilearn._utils.warnings import delaying_interrupts, ignoring, run_to_end, warn_user


def within(package, function):
    """Run a function from code that belongs to a module of the given package."""
    scope = {"__name__": f"{package}.inside", "function": function}
    exec("def call():\n    return function()", scope)
    return scope["call"]


def message_and_place(function):
    with pytest.warns(UserWarning, match="careful") as caught:
        function()
    return caught[0].filename, caught[0].lineno


def test_the_callers_line_is_named_directly():
    def here():
        warn_user("careful")

    assert message_and_place(here) == (__file__, here.__code__.co_firstlineno + 1)


def test_frames_of_the_library_and_of_scikit_learn_are_skipped():
    inner = within("ambilearn", lambda_in("ambilearn"))
    outer = within("sklearn", within("ambilearn", inner))

    def here():
        outer()

    assert message_and_place(here) == (__file__, here.__code__.co_firstlineno + 1)


def test_frames_of_other_libraries_inside_ours_are_skipped():
    outer = within("ambilearn", within("their_library", lambda_in("their_library")))

    def here():
        outer()

    assert message_and_place(here) == (__file__, here.__code__.co_firstlineno + 1)


def test_other_libraries_are_callers():
    outer = within(
        "ambilearn", within("their_library", within("ambilearn", lambda_in("ambilearn")))
    )
    assert message_and_place(outer)[0] == "<string>"


def lambda_in(package):
    scope = {"__name__": f"{package}.inside", "warn_user": warn_user}
    exec("def call():\n    warn_user('careful')", scope)
    return scope["call"]


def test_category():
    with pytest.warns(FutureWarning, match="careful"):
        warn_user("careful", FutureWarning)


def test_without_user_code_the_outermost_frame_is_the_location():
    scope = {"__name__": "ambilearn.inside", "warn_user": warn_user, "warnings": warnings}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec("warn_user('careful')", scope)
    assert len(caught) == 1


def test_contexts_that_overlap_restore_the_filters():
    """As those of fits in several threads, which end in any order."""
    before = list(warnings.filters)
    first, second = ignoring(UserWarning), ignoring(FutureWarning)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.warn("careful", FutureWarning, stacklevel=1)
    assert not caught
    second.__exit__(None, None, None)
    assert warnings.filters == before


# --- Ctrl-C ---------------------------------------------------------------------------------------


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
