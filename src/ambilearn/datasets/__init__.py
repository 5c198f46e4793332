"""Load data sets by name, and generate candidate sets for controlled experiments."""

import lazy_loader

# The public names are in __init__.pyi. Each is imported when first used, so that the command
# line starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
