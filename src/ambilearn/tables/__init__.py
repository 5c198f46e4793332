"""Tables of a user: read candidate labels, clean them, fit a model, save it, label new rows.

The commands ``ambilearn clean``, ``fit`` and ``predict`` as functions.
"""

import lazy_loader

# __init__.pyi lists the public names. Each is imported when first used, so that the command line
# starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
