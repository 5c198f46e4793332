"""Learn from ambiguous labels: scikit-learn estimators for partial-label learning."""

import lazy_loader

__version__ = "0.1.0.dev0"

# The public names stand in __init__.pyi, where editors and type checkers read them, too. Each is
# imported when first used: `import ambilearn` stays instant, where scikit-learn alone takes a
# second and brings pandas along when it is installed.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
