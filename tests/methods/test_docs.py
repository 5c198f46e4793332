"""Shared parameter and attribute descriptions, and numpydoc's validation of every method."""

import inspect
import re

import pytest
from core_methods import CORE_CLASSES

from ambilearn import LALO, PLCL, PLDATransformer
from ambilearn.distributed import DistributedPLCL
from ambilearn.methods._docs import _DESCRIPTIONS, insert_shared_docs

ESTIMATORS = [*CORE_CLASSES, PLDATransformer]
# Missing, unknown, unordered or undescribed parameters; unknown or unordered sections.
CODES = {"GL03", "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "PR10", "SS01"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_docstring_is_valid_numpydoc(estimator):
    validate = pytest.importorskip("numpydoc.validate").validate
    found = validate(f"{estimator.__module__}.{estimator.__qualname__}")["errors"]
    assert [error for error in found if error[0] in CODES] == []


@pytest.mark.parametrize("estimator", [*ESTIMATORS, DistributedPLCL], ids=lambda e: e.__name__)
def test_docstring_has_no_placeholder_left(estimator):
    assert not re.search(r"^ *\{\w+\}$|\{default\}", estimator.__doc__, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(_DESCRIPTIONS))
def test_description_is_written_once(name):
    sources = [inspect.getsource(each) for each in (PLCL, LALO)]
    if any(f"    {{{name}}}\n" in source for source in sources):
        assert all(f"    {name} : " not in source for source in sources)
        text = _DESCRIPTIONS[name].splitlines()[-1].strip()
        assert text in PLCL.__doc__
        assert text in LALO.__doc__


def test_default_comes_from_the_signature():
    @insert_shared_docs
    class Method:
        """One line.

        Parameters
        ----------
        {max_iter}
        {landmarks}
        """

        def __init__(self, max_iter=7, landmarks="uniform"):
            pass

    assert "max_iter : int, default=7\n    Maximum" in inspect.getdoc(Method)
    assert 'landmarks : {"kmeans", "uniform"}, default="uniform"\n' in inspect.getdoc(Method)


def test_unknown_placeholder_is_an_error():
    class Method:
        """One line.

        {no_such_parameter}
        """

    with pytest.raises(KeyError, match="no_such_parameter"):
        insert_shared_docs(Method)


def test_class_without_docstring_is_unchanged():
    class Method:
        pass

    assert insert_shared_docs(Method) is Method
    assert Method.__doc__ is None
