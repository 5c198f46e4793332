"""One's own tables: read candidate labels, clean them, fit a model, save it, label new rows.

What the commands ``ambilearn clean``, ``fit`` and ``predict`` do, as functions.
"""

import lazy_loader

# The public names stand in __init__.pyi. Each is imported when first used, so that the command
# line starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
