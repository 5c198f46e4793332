"""Validation of the file of an experiment when it is read."""

import re
from importlib.resources import files
from typing import Any

from ambilearn._utils.plain_content import check_content
from ambilearn.experiments.task import READINGS, SCORES, Content

MAX_RUNS = 10_000  # limit of random splits; the paper has ten, and a typo must not fill the disk

METRICS = (*SCORES, "training.covering", "training.approximated")

_PROTOCOL = {"scaling?": str, "test_share?": float, "rows?": int}
_METHOD = {"method": str, "label": str, "params?": {"*": object}, "grid?": {"*": [object]}}
_SHOW = {
    "kind": str,
    "name": str,
    "title": str,
    "metric?": str,
    "published?": str,
    "verify?": bool,
    "group?": str,
    "value?": float,
    "columns?": [{"title": str, "data": str, "metric": str}],
    "select?": [str],
    "readings?": [{"title": str, "select": [str]}],
}
_FORM = {
    "title": str,
    "data": [str],
    "methods": [(str, _METHOD)],
    "sweep?": {"*": [float]},
    "candidates?": [{"group": str, "title": str, "vary": str, "values": [float], "*": object}],
    "runs?": int,
    "protocol?": _PROTOCOL,
    "show?": [_SHOW],
    "quick?": {"runs?": int, **_PROTOCOL},
}

# Required entries of a table or figure, besides its kind, name and title.
_NEEDS: dict[str, tuple[str, ...]] = {
    "table": (),
    "win-tie-loss": ("metric",),
    "readings": ("readings",),
    "ranks": ("metric",),
    "curves": ("metric",),
    "sensitivity": ("metric",),
    "convergence": (),
}


def check_form(content: Content) -> None:
    """Raise if the content of an experiment file is not valid.

    Raises
    ------
    ValueError
        With the invalid entry and the expected form.
    """
    check_content(content, _FORM)
    for name in ("data", "methods", "candidates"):
        if name in content and not content[name]:
            raise ValueError(f"{name} is empty: add at least one entry.")
    for i, entry in enumerate(content.get("candidates", ())):
        if not entry["values"]:
            raise ValueError(f"candidates[{i}].values is empty: add at least one value.")
    for section in (content, content.get("quick", {})):
        if not 1 <= section.get("runs", 1) <= MAX_RUNS:
            raise ValueError(f"runs must be between 1 and {MAX_RUNS}.")
    for i, show in enumerate(content.get("show", ())):
        _check_show(show, f"show[{i}]")


def _check_show(show: Content, where: str) -> None:
    _check_choice(show["kind"], _NEEDS, f"{where}.kind")
    needs = _NEEDS[show["kind"]]
    if show["kind"] in ("table", "readings") and "columns" not in show:
        needs += ("metric",)
    if "group" in show:
        needs += ("value",)
    for name in needs:
        if name not in show:
            raise ValueError(f"'{where}.{name}' is missing.")
    if not re.fullmatch(r"[\w-][\w .-]*", show["name"]):
        raise ValueError(
            f"{where}.name is used in file names: use only letters, digits, - and _, not "
            f"{show['name']!r}."
        )
    if "published" in show:
        folder = files(__package__).joinpath("published")
        tables = sorted(file.name.removesuffix(".csv") for file in folder.iterdir())
        _check_choice(show["published"], tables, f"{where}.published")
    for each in (show, *show.get("columns", ())):
        _check_choice(each.get("metric", METRICS[0]), METRICS, f"{where}: the metric")
    for each in (show, *show.get("readings", ())):
        select = each.get("select", ["fixed"] * 2)
        if len(select) != 2:
            raise ValueError(
                f"{where}: select must have two entries, for the first method and for the others."
            )
        for choice in select:
            _check_choice(choice, READINGS, f"{where}: select")


def _check_choice(value: str, known: Any, where: str) -> None:
    if value not in known:
        raise ValueError(f"{where} must be one of {', '.join(known)}; got {value!r}.")
