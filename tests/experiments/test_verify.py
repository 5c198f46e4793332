import pytest
from made_up import fill

from ambilearn.experiments.results import ExperimentResults
from ambilearn.experiments.spec import load_spec, parse_search
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import published_records, verdict, verification_table


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (0.709, "within"),
        (0.731, "within"),
        (0.687, "within"),
        (0.6866, "within"),  # is printed as 0.687
        (0.686, "below"),
        (0.732, "above"),
        (None, "not measured"),
    ],
)
def test_verdicts(mean, expected):
    deviation = {} if mean is None else {"deviation": (mean - 0.709) / 0.022}
    assert verdict({"published_std": 0.022, **deviation}) == expected


@pytest.fixture
def experiments(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        names = ("real-world", "transductive", "ablation", "controlled")
        fill(store, load_spec("real-world"), lambda label, task: 0.7, data=["lost"])
        yield [ExperimentResults(load_spec(name), store) for name in names]


def test_every_published_cell_is_checked_once(experiments):
    found = published_records(experiments)
    assert len(found) == 56 + 56 + 80
    assert len({(c["table"], c["line"], c["column"]) for c in found}) == len(found)
    measured = [c for c in found if c["mean"] is not None]
    assert {c["column"] for c in measured} == {"Lost"}
    # Seven methods, twice; and the full PL-CL of the ablation, twice, which is the same task.
    assert len(measured) == 7 + 7 + 2


def test_the_table_shows_and_counts_them(experiments):
    table = verification_table(published_records(experiments))
    first = next(row for row in table.rows if row[:3] == ["real-world", "PL-CL", "Lost"])
    assert first == [
        "real-world",
        "PL-CL",
        "Lost",
        "0.709 ± 0.022",
        "0.700 ± 0.000",
        "-0.4",
        "within",
    ]
    counts = dict.fromkeys(("within", "above", "below", "not measured"), 0)
    for record in table.records:
        counts[record["verdict"]] += 1
    for name, count in counts.items():
        assert f"{count} {name}" in table.notes[0]
    assert counts["not measured"] == 192 - 16


def test_every_way_of_choosing_parameters_is_checked(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        spec = load_spec("real-world")
        fill(store, spec, lambda label, task: 0.6, data=["lost"])
        search = parse_search("halving:4")
        for select in ("label-free", "oracle"):
            fill(store, spec, lambda label, task: 0.7, data=["lost"], select=select, search=search)
        records = published_records([ExperimentResults(spec, store)])
        found = [c for c in records if c["mean"] is not None]
    assert {c["line"] for c in found if c["method"] == "PL-CL"} == {
        "PL-CL",
        "PL-CL (label-free, halving 4, covering)",
        "PL-CL (oracle, halving 4 †)",
        "PL-CL (oracle per run, halving 4 †)",
    }
    verdicts = {c["line"]: c["verdict"] for c in found}
    assert verdicts["PL-CL"] == "below"
    assert verdicts["PL-CL (oracle, halving 4 †)"] == "within"
    assert "chosen with the test labels" in verification_table(found).notes[-1]
    assert len(verification_table([c for c in found if c["select"] == "fixed"]).notes) == 1
