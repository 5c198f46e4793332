import os
import pickle
from pathlib import Path

CLEAN = ["--candidates", "names", "--exclude", "truth"]


def test_predict_names_the_column_that_does_not_fit(run, people, people_csv):
    run("fit", people_csv, *CLEAN, "--method", "plknn", "--out", "m.model")
    people.rename(columns={"height": "heigth"}).to_csv("new.csv", index=False)
    status, out, err = run("predict", "m.model", "new.csv")
    assert (status, out) == (1, "")
    assert "Error: new.csv has no column 'height'. Did you mean 'heigth'?" in err
    people.assign(height="tall").to_csv("new.csv", index=False)
    status, _, err = run("predict", "m.model", "new.csv")
    assert "Error: new.csv, column 'height', row 0: 'tall' is not a number." in err
    people.assign(town="Atlantis").to_csv("new.csv", index=False)
    status, _, err = run("predict", "m.model", "new.csv")
    assert status == 0
    assert "count as unknown: 1 in column 'town' ('Atlantis')." in " ".join(err.split())
    assert "unknown" not in run("predict", "m.model", people_csv)[2]


def test_a_pickle_is_not_executed(run, people_csv, tmp_path):
    class Payload:
        def __reduce__(self):
            return os.mkdir, ("executed",)

    Path("evil.model").write_bytes(pickle.dumps(Payload()))
    err = run.fails("predict", "evil.model", people_csv)
    assert "Error: evil.model is not a model" in err
    assert not (tmp_path / "executed").exists()


def test_formulas_are_escaped_on_request(run, people_csv):
    run.succeeds("fit", people_csv, *CLEAN, "--features", "height", "--out", "m.model")
    Path("t.jsonl").write_text('{"=h": "=cmd|\'/c calc\'!A0", "n": "-1.5", "height": "180"}\n')
    run.succeeds("predict", "m.model", "t.jsonl", "--out", "o.csv")
    assert Path("o.csv").read_text().startswith("=h,n,height,label,score")
    run.succeeds("predict", "m.model", "t.jsonl", "--escape-formulas", "--out", "o.csv")
    assert Path("o.csv").read_text().startswith("'=h,n,height,label,")
    assert Path("o.csv").read_text().splitlines()[1].startswith("'=cmd|'/c calc'!A0,-1.5,180,")
    out, _ = run.succeeds("predict", "m.model", "t.jsonl", "--escape-formulas")
    assert '"=h": "=cmd' in out  # JSON has types
