from dataclasses import replace

import numpy as np
import pytest
from made_up import fill

from ambilearn.experiments.figures import (
    _indistinguishable,
    build_figures,
    convergence,
    figure_files,
)
from ambilearn.experiments.results import Case, ExperimentResults
from ambilearn.experiments.spec import load_spec
from ambilearn.experiments.store import Store


@pytest.fixture
def figures_of(tmp_path):
    def make(name, accuracy=lambda label, task: 0.5 + task.run / 100, runs=10, **options):
        spec = replace(load_spec(name), runs=runs)
        with Store(tmp_path / f"{name}.sqlite") as store:
            fill(store, spec, accuracy, **options)
            return build_figures(ExperimentResults(spec, store))

    return make


@pytest.mark.slow
@pytest.mark.heavy
def test_curves_show_the_means_of_a_real_run(small):
    _, figure = build_figures(small)["small-curves"]
    assert len(figure.axes) == 2
    lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
    assert set(lines) == {"PL-CL", "SURE", "PL-KNN"}  # nothing was selected on wine
    expected = [
        small.values(small.fixed_lines[1], case, "accuracy").mean() for case in small.cases[2:]
    ]
    assert lines["SURE"].get_xdata() == pytest.approx([0.4, 0.8])
    assert lines["SURE"].get_ydata() == pytest.approx(expected)


def test_all_methods_of_the_demo_look_different(figures_of):
    _, figure = figures_of("demo", runs=1)["demo-curves"]
    lines = figure.axes[0].get_lines()
    assert len(lines) == len(load_spec("demo").methods)
    for look in ("get_color", "get_marker", "_unscaled_dash_pattern"):
        found = [getattr(line, look) for line in lines]
        assert len({str(each() if callable(each) else each) for each in found}) == len(lines)


@pytest.mark.parametrize("name", ["demo", "controlled", "stacking-controlled"])
def test_the_legend_fits_in_the_figure(figures_of, name):
    figures = figures_of(name, runs=1).values()
    legends = [(figure, legend) for _, figure in figures for legend in figure.legends]
    assert legends
    for figure, legend in legends:
        figure.draw_without_rendering()
        box = legend.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


def test_sensitivity_has_a_panel_for_every_parameter(figures_of):
    def accuracy(label, task):
        return 0.6 + task.params.get("alpha", 0.5) / 100 + task.run / 1000

    _, figure = figures_of("sensitivity", accuracy)["sensitivity"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["α", "β", "γ", "μ", "λ"]
    points = figure.axes[0].containers[0].lines[0]
    grid = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0]
    assert points.get_xdata() == pytest.approx(grid)
    assert points.get_ydata() == pytest.approx([0.6 + alpha / 100 + 0.0045 for alpha in grid])
    assert all(axes.get_xscale() == "log" for axes in figure.axes)


def test_sensitivity_has_a_row_for_every_case(small_spec, tmp_path):
    swept = [
        replace(small_spec.methods[0], params={"alpha": value}, sweep=("alpha", value))
        for value in (0.1, 1.0)
    ]
    shows = [{"kind": "sensitivity", "name": "s", "title": "S", "metric": "accuracy"}]
    spec = replace(small_spec, methods=swept, shows=shows)
    with Store(tmp_path / "s.sqlite") as store:
        fill(store, spec, lambda label, task: 0.5)
        experiment = ExperimentResults(spec, store)
    _, figure = build_figures(experiment)["s"]
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [f"accuracy on {case.label}" for case in experiment.cases]


def test_convergence_draws_every_run_of_what_is_measured(figures_of):
    _, figure = figures_of("convergence", data=["lost", "fg-net"])["convergence"]
    assert [axes.get_title() for axes in figure.axes] == ["fg-net, 10 runs", "lost, 10 runs"]
    *lines, mark = figure.axes[1].get_lines()
    assert len(lines) == 10
    assert set(mark.get_xdata()) == {8}
    assert lines[3].get_xdata() == pytest.approx([1, 2])
    assert lines[3].get_ydata() == pytest.approx(np.array([3.0, 2.0]) / 1.8 - 1)


def test_a_method_without_an_objective_has_no_convergence_figure(measured):
    experiment = measured("real-world", lambda label, task: 0.5, runs=1, data=["lost"])
    assert convergence(experiment, {}) is not None
    for result in experiment.results(experiment.lines[0], Case("lost")):
        del result.details["objective"]
    assert convergence(experiment, {}) is None


def test_no_results_give_no_figure(figures_of):
    for name in ("controlled", "sensitivity", "convergence", "real-world"):
        assert figures_of(name, lambda label, task: None) == {}


def test_the_rank_line_names_every_method(figures_of):
    order = ["SURE", "PL-CL", "LALO", "PL-AGGD", "IPAL", "PLDA", "PL-KNN"]
    figures = figures_of("controlled", lambda label, task: 1 - order.index(label) / 10, runs=1)
    _, figure = figures["controlled-ranks"]
    texts = [text.get_text() for text in figure.axes[0].texts]
    for i, label in enumerate(order, start=1):
        assert any(label in text and f"{i}.00" in text for text in texts)


def test_bars_connect_methods_within_the_critical_difference():
    assert _indistinguishable([1.0, 1.5, 2.2, 4.0], 1.0) == [(1.0, 1.5), (1.5, 2.2)]
    assert _indistinguishable([1.0, 1.5, 1.9, 4.0], 1.0) == [(1.0, 1.9)]
    assert _indistinguishable([1.0, 3.0, 5.0], 1.0) == []
    assert _indistinguishable([1.0, 1.5, 2.0, 2.5], 1.0) == [(1.0, 2.0), (1.5, 2.5)]


def test_files_are_the_same_twice(small, tmp_path):
    first, second = (dict(figure_files(build_figures(small), tmp_path)) for _ in range(2))
    assert sorted(path.name for path in first) == [
        "small-curves.png",
        "small-curves.svg",
        "small-ranks.png",
        "small-ranks.svg",
    ]
    assert first == second
    for path, content in first.items():
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
