"""Learn from ambiguous labels: scikit-learn estimators for partial-label learning."""

__version__ = "0.2.0.dev0"


# __init__.pyi lists the public names, also for editors and type checkers. Each name is imported
# when first used, because the import of scikit-learn takes a second. The loader is imported here,
# so that an interrupt during its import is handled in __main__.py.
def __getattr__(name):  # noqa: ANN001
    import lazy_loader

    names = globals()
    attached = lazy_loader.attach_stub(__name__, __file__)
    names["__getattr__"], names["__dir__"], names["__all__"] = attached
    return names["__all__"] if name == "__all__" else names["__getattr__"](name)


def __dir__():
    return __getattr__("__all__")
