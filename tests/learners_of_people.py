"""Learners for a process of its own, which imports this module."""

import warnings

from serve_review import make_learner as make_people

from ambilearn import PLCL, PLKNN, PLStacking

METHODS = {"plcl": PLCL, "plknn": PLKNN, "stack": PLStacking}


class NotLoadable:
    """An object that can be sent, but not received."""

    def __reduce__(self):
        """Function and arguments that make it."""
        return int, ("no number",)


class UnpicklableError(UserWarning):
    """An error or warning that cannot be made from its message."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")
        self.content = lambda: None


def make_learner(name, progress, **params):
    """A learner with a method."""
    progress("making the learner")
    if name == "unpicklable":
        raise UnpicklableError(1, 2)
    if name == "warning":
        warnings.warn(UnpicklableError(1, 2), stacklevel=2)
        name = "plknn"
    if name == "truncated":
        raise EOFError("the image is truncated")
    learner = make_people()
    learner.estimator = METHODS[name](**params)
    return learner
