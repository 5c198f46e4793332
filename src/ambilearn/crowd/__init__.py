"""Answers of several annotators: their skills, the labels of the rows, and a classifier.

:class:`Votes` holds the answers, from a long or a wide table. :class:`CrowdClassifier` estimates
the annotators' skills and the labels of the rows in turn, from the answers and the features.
:func:`consensus` does the same with the outputs of any model, without a fit.
"""

import lazy_loader

# The public names are in __init__.pyi. Each is imported when first used, so that the command line
# starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
