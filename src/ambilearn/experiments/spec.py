"""Definition of an experiment in a TOML file: what to measure and what to show."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from ambilearn._utils.plain_content import check_content
from ambilearn._utils.text import shorten_repr
from ambilearn.experiments.task import (
    READINGS,
    SCORES,
    SELECTIONS,
    Content,
    Task,
    check_params,
    derive_seed,
)
from ambilearn.registry import find_method

# The paper's experiments, in its order.
PAPER = ("real-world", "controlled", "transductive", "ablation", "sensitivity", "convergence")

SCORINGS = ("covering", "approximated")
DEFAULT_SEARCH = "halving:16"
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


class SpecError(ValueError):
    """An experiment does not exist, or its file is not valid."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A line of a table: a method, with parameters that differ from the defaults.

    ``sweep`` is the (parameter, value) that a sensitivity study varies; ``own_grid`` is the grid in
    the file of the experiment, if it differs from the paper's grid.
    """

    label: str
    estimator: str
    params: Content = field(default_factory=dict)
    sweep: tuple[str, float] | None = None
    own_grid: Mapping[str, Sequence[object]] | None = None

    @property
    def grid(self) -> Mapping[str, Sequence[object]]:
        """Grid of the parameters that are not fixed; empty for a sensitivity study."""
        if self.own_grid is not None:
            return self.own_grid
        grid = {} if self.sweep else find_method(self.estimator).paper_grid
        return {name: list(values) for name, values in grid.items() if name not in self.params}


@dataclass(frozen=True, eq=False)
class Setting:
    """One setting of the controlled protocol: its group, the varied value and all options."""

    group: str
    title: str
    vary: str
    value: float
    options: Content

    @property
    def label(self) -> str:
        """Short name, for columns."""
        return f"{SYMBOLS.get(self.vary, self.vary)} = {self.value:g}"


SYMBOLS = {"alpha": "α", "beta": "β", "gamma": "γ", "mu": "μ", "reg": "λ", "epsilon": "ε"}


@dataclass(frozen=True)
class Spec:
    """An experiment, read from its file.

    Attributes
    ----------
    name, title : str
        Name on the command line, and heading.
    data : list of str
        Data sets.
    methods : list of Variant
        Lines; the others are compared with the first one.
    settings : list of Setting or None
        Settings of the controlled protocol; None for data that have candidate sets.
    runs : int
        Number of random splits.
    protocol : dict
        ``scaling``, ``test_share``, ``rows`` of the tasks.
    shows : list of dict
        Tables and figures, each with ``kind``, ``name``, ``title`` and further entries of its kind.
    """

    name: str
    title: str
    data: list[str]
    methods: list[Variant]
    settings: list[Setting] | None
    runs: int
    protocol: Content
    shows: list[Content]
    quick: Content = field(default_factory=dict)

    def quick_version(self) -> "Spec":
        """Smaller version of the experiment, defined in ``[quick]`` of its file."""
        changes = dict(self.quick)
        runs = changes.pop("runs", min(self.runs, 2))
        return replace(self, runs=runs, protocol={**self.protocol, **changes})

    def task(
        self,
        method: Variant,
        data: str,
        setting: Setting | None,
        run: int,
        select: str = "fixed",
        search: Content | None = None,
    ) -> Task:
        """Task of one run of one cell; without a grid, the parameters are fixed."""
        if select not in SELECTIONS:
            raise SpecError(f"select must be one of {', '.join(SELECTIONS)}; got {select!r}.")
        task = Task(
            data,
            method.estimator,
            run,
            params=dict(method.params),
            candidates=None if setting is None else dict(setting.options),
            **self.protocol,
        )
        if select == "fixed" or not method.grid:
            return task
        search = search or parse_search(DEFAULT_SEARCH)
        # The points are the same for all runs, data sets and selections.
        drawn = {"grid": method.grid, "seed": derive_seed("search", method.grid)}
        return task.to(select=select, search={**search, **drawn})

    def tasks(self, select: str = "fixed", search: Content | None = None) -> Iterator[Task]:
        """All tasks, ordered by run, data set, setting and method."""
        settings: Sequence[Setting | None] = self.settings or [None]
        for run in range(self.runs):
            for data in self.data:
                for setting in settings:
                    for method in self.methods:
                        yield self.task(method, data, setting, run, select, search)


def spec_names() -> list[str]:
    """Names of the experiments that come with the library."""
    folder = files(__package__).joinpath("specs")
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def load_spec(name: str) -> Spec:
    """Read an experiment: one of :func:`spec_names`, or the path of a TOML file."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise SpecError(
                f"There is no experiment file {name}: pass its path, or the name of a built-in "
                f"experiment ({', '.join(spec_names())})."
            )
        try:
            return parse_spec(path.stem, path.read_text("utf-8"))
        except UnicodeDecodeError as error:
            raise SpecError(f"{name} is not UTF-8 text ({error}): save it as UTF-8.") from error
    if name not in spec_names():
        raise SpecError(
            f"There is no experiment {name!r}. Known experiments: {', '.join(spec_names())}."
        )
    return parse_spec(name, files(__package__).joinpath("specs", f"{name}.toml").read_text("utf-8"))


def parse_spec(name: str, text: str) -> Spec:
    """Read an experiment from the text of its file."""
    try:
        content = tomllib.loads(text)
        _check_form(content)
        spec = Spec(
            name=name,
            title=content["title"],
            data=content["data"],
            methods=_methods(content),
            settings=_settings(content),
            runs=content.get("runs", 10),
            protocol=content.get("protocol", {}),
            shows=content.get("show", []),
            quick=content.get("quick", {}),
        )
        for task in islice(spec.tasks(), len(spec.methods)):
            _ = task.key  # raises for unknown parameters and values that are not plain content
    except (ValueError, TypeError, RecursionError) as error:  # TOML errors are ValueErrors
        raise SpecError(f"Experiment {name}: {error}") from error
    return spec


def _check_form(content: Content) -> None:
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
        _check_columns(show, content, f"show[{i}].columns")


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


def _check_columns(show: Content, content: Content, where: str) -> None:
    if "columns" in show and "candidates" in content:
        raise ValueError(
            f"{where} is for data sets with candidate sets: remove it, and select a setting of "
            "[[candidates]] with group and value."
        )
    for column in show.get("columns", ()):
        _check_choice(column["data"], content["data"], f"{where}: data")


def _check_choice(value: str, known: Any, where: str) -> None:
    if value not in known:
        raise ValueError(f"{where} must be one of {', '.join(known)}; got {value!r}.")


def _methods(content: Content) -> list[Variant]:
    methods = []
    for entry in content["methods"]:
        if isinstance(entry, str):  # a method with its defaults; its label is the name in the file
            entry = {"method": entry, "label": entry}
        method = find_method(entry["method"])
        params, grid = entry.get("params", {}), entry.get("grid")
        check_params(method.name, grid or {})
        methods.append(Variant(entry["label"], method.name, params=params, own_grid=grid))
    for parameter, values in content.get("sweep", {}).items():
        first = methods[0]
        for value in values:
            label = f"{first.label}, {SYMBOLS.get(parameter, parameter)} = {value:g}"
            params = {**first.params, parameter: value}
            methods.append(Variant(label, first.estimator, params=params, sweep=(parameter, value)))
    return methods


def _settings(content: Content) -> list[Setting] | None:
    if "candidates" not in content:
        return None
    settings = []
    for entry in content["candidates"]:
        entry = dict(entry)
        group, title = entry.pop("group"), entry.pop("title")
        vary, values = entry.pop("vary"), entry.pop("values")
        for value in values:
            settings.append(Setting(group, title, vary, value, {**entry, vary: value}))
    return settings


def parse_search(text: str, scoring: str = SCORINGS[0]) -> Content:
    """Parse ``random:N``, ``halving:N`` or ``grid`` to the ``search`` of a task.

    ``scoring`` is the metric of the label-free choice: covering rate or approximated accuracy.

    >>> parse_search("halving:16")
    {'kind': 'halving', 'points': 16, 'scoring': 'covering'}
    """
    if scoring not in SCORINGS:
        raise ValueError(f"The scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    found = re.fullmatch(r"(random|halving):([1-9][0-9]{0,8})|grid", text)
    if found is None:
        raise ValueError(
            "The search must be random:N, halving:N or grid, where N is a whole number of at most "
            f"nine digits; got {shorten_repr(text)}."
        )
    kind, points = found.groups()
    return {"kind": kind or "grid", "points": points and int(points), "scoring": scoring}
