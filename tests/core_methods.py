"""The methods for a matrix of features, for tests that loop over all of them."""

from examples_folder import load

from ambilearn.registry import METHODS

# Without "forest" and "boosting", which draw samples of the rows: see test_candidateclassifier.py.
CORE_METHODS = {
    name: method for name, method in METHODS.items() if method.extra is None and not method.params
}
# The examples of docs/guide/adding-a-method.md pass the tests of all methods, too.
_EXAMPLES = {"clpl": ("clpl", "CLPL"), "nearestmean": ("nearest_mean", "NearestMean")}
CORE_CLASSES = [
    *(method.load() for method in CORE_METHODS.values()),
    *(getattr(load(file), name) for key, (file, name) in _EXAMPLES.items() if key not in METHODS),
]


def quick(method):
    """The method with few iterations, where it does not matter whether they have converged."""
    model = method()
    few = {name: 3 for name in model.get_params() if name.endswith("_iter")}
    return model.set_params(**few)
