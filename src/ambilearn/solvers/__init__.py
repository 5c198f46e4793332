"""Exact solvers for the sub-problems of the methods: arrays in, arrays out, no estimators.

An iterative solver returns a :class:`~ambilearn.solvers.result.Solution`: the value, whether it is
optimal, the number of steps, and the remaining violation of the optimality conditions. A closed
form returns its value. No solver loops over rows in Python. All operations except sparse and LAPACK
calls use the array namespace of the input.
"""

import lazy_loader

# Lazy imports: a method loads only the solvers that it uses.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
