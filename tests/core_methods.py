"""The methods for a matrix of features, for tests that loop over all of them."""

from ambilearn.registry import METHODS

CORE_METHODS = {name: method for name, method in METHODS.items() if method.extra is None}
