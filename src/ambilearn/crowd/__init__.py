"""Answers of many annotators: who said what, who is to be trusted, and a classifier beside them.

:class:`Votes` keeps the answers, in whatever form they come. :class:`CrowdClassifier` judges
annotators by the rows and rows by the annotators, with the features as one more witness.
"""

import lazy_loader

# The public names stand in __init__.pyi. Each is imported when first used, so that the command
# line starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
