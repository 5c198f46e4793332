"""No command overwrites its input, by whatever name the output is given."""

import os
from pathlib import Path

import click
import pytest
from made_up import fill
from PIL import Image
from protected import open_folder, read_only

from ambilearn.cli.outputs import check_outputs
from ambilearn.experiments.spec import load_spec
from ambilearn.experiments.store import Store

CLEAN = ["--candidates", "names", "--exclude", "truth"]


def by_path(old, new):
    return old


def by_another_path(old, new):
    return Path("folder") / ".." / old


def by_symbolic_link(old, new):
    try:
        new.symlink_to(old.absolute())
    except OSError:
        pytest.skip("this user cannot make symbolic links")
    return new


def by_hard_link(old, new):
    try:
        new.hardlink_to(old)
    except OSError:
        pytest.skip("this file system has no hard links")
    return new


WAYS = [by_path, by_another_path, by_symbolic_link, by_hard_link]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "folder").mkdir()


@pytest.fixture
def rejected(run):
    """Function that runs a command which must fail and change no file."""

    def rejected(*arguments, why="would overwrite an input file"):
        before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        status, out, err = run(*arguments)
        assert (status, out) == (1, "")
        assert why in err
        left = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        assert left == before

    return rejected


@pytest.mark.parametrize("way", WAYS)
def test_an_input_cannot_be_an_output(way):
    old = Path("old.csv")
    old.write_text("old")
    with pytest.raises(click.ClickException, match="would overwrite an input file"):
        check_outputs(["other.csv", way(old, Path("new.csv"))], ["none.csv", None, old])


def test_other_names_are_allowed():
    Path("old.csv").write_text("old")
    check_outputs(["new.csv", "newer.csv", None, "-"], ["old.csv", "not-there.csv", None, "-"])
    check_outputs([None], [None])


def test_missing_folder_raises(tmp_path):
    check_outputs([tmp_path / "t.csv"])
    with pytest.raises(click.ClickException, match="does not exist"):
        check_outputs([tmp_path / "no" / "t.csv"])
    (tmp_path / "link.csv").symlink_to(tmp_path / "no" / "t.csv")
    with pytest.raises(click.ClickException, match="does not exist"):
        check_outputs([tmp_path / "link.csv"])


def test_a_folder_that_cannot_be_written(monkeypatch):
    with open_folder() as folder:
        (folder / "old.csv").write_text("old")
        with read_only(folder):
            for name in ("new.csv", "old.csv"):
                message = rf"{name} cannot be written \(Permission denied\)\. Choose another"
                with pytest.raises(click.ClickException, match=message):
                    check_outputs([folder / name])
        check_outputs([folder / "new.csv", folder / "old.csv"])
        assert [path.name for path in folder.iterdir()] == ["old.csv"]
        assert (folder / "old.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("command", "name"), [("clean", "o.csv"), ("fit", "o.model"), ("review", "o.html")]
)
def test_an_invalid_output_is_reported_before_the_table_is_read(run, command, name):
    run(command, "nowhere.csv", *CLEAN, "--out", name)  # imports modules, which only root may read
    with open_folder() as folder, read_only(folder):
        status, _, err = run(command, "nowhere.csv", *CLEAN, "--out", folder / name)
    assert status == 1
    assert f"{name} cannot be written" in err


@pytest.mark.parametrize(
    "options",
    [("fit", "--out", "1.JPG"), ("review", "--no-browser", "--model-out", "1.JPG")],
)
def test_an_image_is_never_overwritten(rejected, options):
    """It was replaced by the model."""
    Path("1.JPG").write_bytes(b"image")
    Path("photos.csv").write_text("photo,names\n1.JPG,a|b\n")
    command, *others = options
    candidates = "--candidates", "names"
    rejected(command, "photos.csv", *candidates, *others, why="1.JPG has the name of an image")


def test_an_image_of_any_name_is_never_overwritten(rejected):
    Image.new("L", (4, 4)).save("1", format="TIFF")
    Path("photos.csv").write_text("photo,names\n1,a|b\n")
    options = "--candidates", "names", "--image", "photo", "--out", "1"
    rejected("fit", "photos.csv", *options, why="1 is an image. Choose another name.")


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("way", [by_path, by_another_path, by_symbolic_link])
def test_two_outputs_are_two_files(way, exists):
    old = Path("old.csv")
    if exists:
        old.write_text("old")
    with pytest.raises(click.ClickException, match="would be written twice"):
        check_outputs([old, way(old, Path("new.csv"))])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_can_be_written_twice():
    os.mkfifo("pipe.csv")
    check_outputs(["pipe.csv", "pipe.csv"], ["pipe.csv"])
    check_outputs([os.devnull, os.devnull], [os.devnull])


@pytest.mark.parametrize("command", ["clean", "fit", "review"])
@pytest.mark.parametrize("which", ["table", "checked"])
def test_table_and_checked_labels_are_never_overwritten(rejected, people, command, which):
    ending = "html" if command == "review" else "csv"
    files = {"table": Path(f"people.{ending}"), "checked": Path(f"mine.{ending}")}
    people.to_csv(files["table"], index=False)
    files["checked"].write_text(
        f"row,candidates,label\n0,{people['names'][0]},{people['truth'][0]}\n"
    )
    options = ["--format", "csv", "--checked", files["checked"], "--out", files[which]]
    rejected(command, files["table"], *CLEAN, *options)


@pytest.mark.parametrize("command", ["clean", "fit"])
@pytest.mark.parametrize("option", ["--out", "--annotators-out"])
@pytest.mark.parametrize("table", ["answers.csv", "items.csv"])
def test_answers_and_features_are_never_overwritten(rejected, command, option, table):
    Path("answers.csv").write_text("item,who,label\np,ann,cat\np,ben,dog\nq,ann,dog\n")
    Path("items.csv").write_text("item,weight\np,4\nq,30\n")
    outputs = {"--out": "other.csv", "--annotators-out": "whom.csv"} | {option: table}
    rejected(
        *[command, "answers.csv", "--item", "item", "--annotator", "who", "--answer", "label"],
        *["--features-from", "items.csv"],
        *[word for pair in outputs.items() for word in pair],
    )


@pytest.mark.parametrize("which", ["model.csv", "new.csv"])
def test_model_and_table_are_never_overwritten_by_predict(rejected, which):
    Path("model.csv").write_text("a model")
    Path("new.csv").write_text("x\n1\n")
    rejected("predict", "model.csv", "new.csv", "--out", which)


@pytest.fixture
def results(spec):
    """A store with made-up results of the experiment mine.toml."""
    store = Path("out/results.sqlite")
    with Store(store) as opened:
        fill(opened, load_spec("mine.toml"), lambda label, task: 0.5, data=["iris"])
    return store


@pytest.mark.parametrize("name", ["out/results.sqlite", "mine.toml"])
def test_results_and_experiment_are_never_overwritten_by_the_report(rejected, results, name):
    rejected("paper", "report", "mine.toml", "--out", name)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_the_sqlite_files_are_never_overwritten(run, results, ending):
    with Store(results):  # another process is at work
        status, _, err = run("paper", "report", "mine.toml", "--out", f"{results}{ending}")
    assert status == 1
    assert "would overwrite an input file" in err


@pytest.mark.parametrize(
    ("command", "name"), [("tables", "mine.csv"), ("figures", "mine-curves.svg")]
)
def test_the_results_are_never_overwritten_by_tables_and_figures(rejected, results, command, name):
    results = results.rename(Path("folder") / name)
    rejected(
        *["paper", command, "mine.toml", "--store", results, "--out", "folder"],
        why=f"{results} would overwrite an input file",
    )


@pytest.mark.parametrize("command", ["tables", "figures"])
def test_two_experiments_do_not_write_the_same_files(rejected, results, command):
    """The second replaced the first."""
    Path("yours.toml").write_bytes(Path("mine.toml").read_bytes())
    why = "would be written twice"
    rejected("paper", command, "mine.toml", "yours.toml", "--out", "both", why=why)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "streams"),
    [
        (["clean", "-", "--out", "t.csv"], {"stdin": "t.csv"}),
        (["fit", "-", "--out", "t.csv"], {"stdin": "t.csv"}),
        (["clean", "t.csv"], {"stdout": "t.csv"}),
        (["clean", "-"], {"stdin": "t.csv", "stdout": "t.csv"}),
    ],
)
def test_standard_streams_are_files_like_others(process, people, arguments, streams):
    """Also if standard input and output are the same file."""
    people.to_csv("t.csv", index=False)
    before = Path("t.csv").read_bytes()
    status, _, err = process(*arguments, *CLEAN, **streams)
    assert status == 1
    assert b"would overwrite an input file" in err
    assert Path("t.csv").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "clean people.csv --candidates names --method plknn --fast --out o.csv",
        "clean people.csv --candidates names --method plknn --fast --out o.parquet",
        "fit people.csv --candidates names --method plknn --out people.model",
        "review people.csv --candidates names --method plknn --fast --out review.html",
    ],
)
def test_a_file_that_may_not_grow_leaves_nothing_behind(process, people_csv, tmp_path, line):
    """A limit of file sizes is a full disk that every user can have."""
    pytest.importorskip("resource", reason="needs limits of resources, which Windows has not")
    if "parquet" in line:
        pytest.importorskip("pyarrow")
    before = sorted(tmp_path.rglob("*"))
    status, _, errors = process(*line.split(), file_size=1000)
    assert status == 1
    assert b"File too large" in errors
    assert b"Traceback" not in errors
    assert sorted(tmp_path.rglob("*")) == before
