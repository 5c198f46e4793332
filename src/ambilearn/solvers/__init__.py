"""Exact solvers of the methods' sub-problems: arrays in, arrays out, no estimator in sight.

Every solver returns a :class:`~ambilearn.solvers.result.Solution`: the value, whether it is
optimal, how many steps that took, and how far from optimal it is. None loops over rows in Python;
all but the sparse and LAPACK calls go through the array namespace of their input.
"""

import lazy_loader

# Each is imported when first used: a method loads the solvers that it needs, and no other.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
