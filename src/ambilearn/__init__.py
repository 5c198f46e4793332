"""Learn from ambiguous labels: scikit-learn estimators for partial-label learning."""

__version__ = "0.1.0.dev0"


# The public names stand in __init__.pyi, where editors and type checkers read them, too. Each is
# imported when first used: `import ambilearn` stays instant, where scikit-learn alone takes a
# second and brings pandas along when it is installed. So is the loader: an interrupt of a command
# in its first moments then meets __main__.py, which expects it.
def __getattr__(name):  # noqa: ANN001
    import lazy_loader

    names = globals()
    attached = lazy_loader.attach_stub(__name__, __file__)
    names["__getattr__"], names["__dir__"], names["__all__"] = attached
    return names["__all__"] if name == "__all__" else names["__getattr__"](name)


def __dir__():
    return __getattr__("__all__")
