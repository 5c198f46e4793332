"""All targets by name."""

from functools import cache
from importlib import import_module

from torture.target import Target

_MODULES = (
    "estimators",
    "layouts",
    "fits",
    "tables",
    "pictures",
    "models",
    "mat_files",
    "experiments",
    "command_lines",
    "damage",
    "kills",
    "dask_kills",
    "processes",
    "full_disks",
    "streams",
    "reviews",
)


@cache
def all_targets() -> dict[str, Target]:
    """Default targets of a campaign."""
    modules = (import_module(f"torture.{name}") for name in _MODULES)
    return {target.name: target for module in modules for target in module.TARGETS}


def find_target(name: str) -> Target:
    """A target by its name, or one of another module, by ``module:attribute``."""
    module, _, attribute = name.partition(":")
    if attribute:
        return getattr(import_module(module), attribute)
    if name not in all_targets():
        known = ", ".join(all_targets())
        raise SystemExit(f"There is no target {name!r}. The targets are: {known}.")
    return all_targets()[name]
