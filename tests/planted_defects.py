"""Things to torture that are known to be wrong, by which the campaign is tested."""

import ctypes
import time

from hypothesis import strategies as st
from torture.oracle import REJECTED, Defect, attempt
from torture.target import Target


def _wrong(case, folder):
    if case >= 1000:
        raise Defect("wrong", f"{case} is too much", "too much")
    return True


def _foreign(case, folder):
    return attempt(lambda: [][case]) is not REJECTED


def _crash(case, folder):
    if case >= 700:
        ctypes.string_at(0)
    return True


def _hang(case, folder):
    if case >= 2:
        time.sleep(1000)
    return True


def _right(case, folder):
    return case % 2 == 0


_numbers = st.integers(0, 10**6)
wrong = Target("planted_defects:wrong", "inputs", _numbers, _wrong)
foreign = Target("planted_defects:foreign", "inputs", _numbers, _foreign)
crash = Target("planted_defects:crash", "inputs", _numbers, _crash)
hang = Target("planted_defects:hang", "inputs", lambda random, number: number, _hang)
right = Target("planted_defects:right", "inputs", _numbers, _right)
