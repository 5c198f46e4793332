"""Review ambiguous rows: a page on which a person settles labels, and a session that learns.

:func:`write_review` writes the page, one HTML file. :class:`ReviewSession` is the review without a
page: it returns the rows to look at next and learns from every answer. ``ambilearn review``
combines both.
"""

import lazy_loader

# The public names are in __init__.pyi. Each is imported when first used, so that the command line
# starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
