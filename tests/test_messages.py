"""The errors and warnings read as a set: each says what is wrong, where, and what to do.

Every case is a mistake that a user makes, and the words that the message must have: what (and
where) first, the remedy last.
"""

import re
import warnings
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from core_methods import CORE_CLASSES
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from ambilearn import PLCL, PLKNN, as_candidates, bridges, metrics, votes_to_candidates
from ambilearn.cli.main import main
from ambilearn.datasets import load_dataset, make_candidates, read_mat
from ambilearn.experiments.choose import parse_search
from ambilearn.experiments.spec import parse_spec
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Task
from ambilearn.selection import FitCache
from ambilearn.tables import read_candidate_table

X = np.arange(12.0).reshape(6, 2)
SETS = [{"a", "b"}, {"a"}, {"b"}, {"a", "b"}, {"b"}, {"a"}]
UNCLEAR = np.random.default_rng(0).normal(size=(30, 2))
MASK = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 1], [1, 0]])
CLASSES = ["a", "b"]


def changed(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


def cache_of_other_rows():
    cache = FitCache()
    cache.bind(X + 1)
    return cache


def table(text, **options):
    return read_candidate_table(StringIO(text), format="csv", **{"candidates": "names"} | options)


CANDIDATES = {
    "nothing": (lambda: as_candidates(None), "y is None", "y must be a sequence"),
    "one text": (lambda: as_candidates("abc"), "got str", "a mask|0/1 or boolean mask"),
    "a cube": (lambda: as_candidates(np.ones((2, 2, 2))), "3 dimensions", "y must be"),
    "empty set": (lambda: as_candidates([{"a"}, set()]), "row 1 is empty", "Drop the row"),
    "missing member": (lambda: as_candidates([{"a"}, {None}]), "row 1 contains NaN", "remove it"),
    "missing label": (
        lambda: as_candidates([0.0, np.nan]),
        "label of row 1 is nan",
        "Drop the row",
    ),
    "empty row": (lambda: as_candidates(changed(MASK, 2, 0)), "row 2 is empty", "mark all labels"),
    "no mask": (
        lambda: as_candidates(changed(MASK, 2, -7)),
        "row 2 has the value -7",
        "has 1 for each",
    ),
    "NaN in mask": (
        lambda: as_candidates(changed(MASK, (3, 1), np.nan)),
        "contains NaN: row 3",
        "list of sets",
    ),
    "no sparse mask": (
        lambda: as_candidates(sparse.csr_array(changed(MASK, 2, -7))),
        "row 2 has the value -7",
        "has 1 for each candidate",
    ),
    "mask as lists": (lambda: as_candidates(MASK.tolist()), "looks like a mask", "numpy.asarray"),
    "unknown label": (
        lambda: as_candidates(SETS, classes=["a", "c"]),
        "Row 0 has the candidate label 'b'",
        "add it to the classes, or correct",
    ),
    "unknown column": (
        lambda: as_candidates(pd.DataFrame(MASK, columns=CLASSES), classes=["a", "c"]),
        "column 'b' that is not among the 2",
        "rename or drop",
    ),
    "too few names": (lambda: as_candidates(MASK, classes=["a"]), "2 columns but", "one class per"),
    "a name twice": (lambda: as_candidates(MASK, classes=["a", "a"]), "'a' is listed", "different"),
    "no name": (lambda: as_candidates(MASK, classes=["a", None]), "missing value", "name every"),
    "mixed types": (lambda: as_candidates([{1}, {"a"}]), "cannot be sorted", "labels of one"),
    "wrong length": (
        lambda: as_candidates(SETS, n_rows=5),
        "X has 5 rows but",
        "candidate set per row",
    ),
}

BRIDGES = {
    "k": (
        lambda: bridges.candidates_from_top_k(MASK, 3),
        "number of labels, 2; got 3",
        "from 1 to",
    ),
    "no rows": (
        lambda: bridges.candidates_from_top_k(GaussianNB().fit(X, [0, 1] * 3), 1),
        "GaussianNB",
        "pass the rows",
    ),
    "empty prediction set": (
        lambda: bridges.candidates_from_prediction_sets([[1, 0], [0, 0]]),
        "row 1 is empty",
        "Pass the probabilities",
    ),
    "negative confidence": (
        lambda: bridges.soft_labels([[0.5, 0.5], [2.0, -1.0]]),
        "Row 1 of the confidences has the value -1",
        "predict_proba",
    ),
    "not fitted": (
        lambda: bridges.to_sample_weights(PLKNN()),
        "PLKNN has no label_distributions_",
        "pass a fitted",
    ),
    "votes too few": (
        lambda: votes_to_candidates([["a", "b"]], min_votes=2),
        "In row 0 no label has 2 votes",
        "Lower min_votes",
    ),
    "no vote": (
        lambda: votes_to_candidates([["a"], [None]]),
        "Row 1 has no candidate",
        "Drop the row",
    ),
    "votes in a row": (
        lambda: votes_to_candidates(np.array(["a", "b"])),
        r"its shape is \(2,\)",
        "one column per",
    ),
    "mixed votes": (
        lambda: votes_to_candidates([["a", 1]]),
        "different types",
        "all as text or all as numbers",
    ),
}

DATA = {
    "no such data": (lambda: load_dataset("losst"), "no data set 'losst'", "The data sets are"),
    "no such column": (lambda: table("x,name\n1,a\n"), "no column 'names'", "Did you mean 'name'"),
    "no rows": (lambda: table("x,names\n"), "no rows, only a heading", "Add rows"),
    "nothing at all": (lambda: table(""), "is empty", "Check that"),
    "no features": (lambda: table("names\na|b\n"), "no column is left", "Features are all columns"),
    "no feature": (
        lambda: read_candidate_table(pd.DataFrame({"x": [{}], "c": ["a"]}), candidates="c"),
        "column 'x', row 0: {} is a dict",
        "exclude the column",
    ),
    "infinite": (
        lambda: table("x,names\n1,a\ninf,b\n").X,
        "column 'x', row 1: 'inf'",
        "Leave the cell empty",
    ),
    "votes too few": (
        lambda: table("x,a,b\n1,p,q\n", candidates=["a", "b"], min_votes=2),
        "In row 0 no label has 2 votes",
        "fallback",
    ),
    "no candidates": (
        lambda: table("x,names\n1,a\n2,\n"),
        "Row 1 has no candidate",
        "Drop the row",
    ),
    "extra separator": (lambda: table("x,names\n1,a||b\n"), "Row 0 has an empty", "remove"),
    "too many cells": (
        lambda: table("x,names\n1,a,b\n"),
        "Expected 2 fields in line 2, saw 3",
        "into quotes",
    ),
    "no separator": (lambda: table("x,names\n1,a\n", sep=""), "sep must not be empty", "such as"),
    "two truths": (
        lambda: read_candidate_table(
            pd.DataFrame({"x": [1, 2], "c": ["a", "b"], "t": [["a", "b"], "b"]}),
            candidates="c",
            label="t",
        ),
        "row 0: expected one label",
        "Leave the cell empty",
    ),
    "other ending": (
        lambda: read_candidate_table("x.xls", candidates="c"),
        "x.xls",
        "pass format=",
    ),
    "flip without q": (lambda: make_candidates(CLASSES, kind="flip"), "needs q", "for example"),
    "q without flip": (lambda: make_candidates(CLASSES, q=0.1), "q is not used with", "remove it"),
    "kind": (lambda: make_candidates(CLASSES, kind="x"), "got 'x'", "must be 'controlled'"),
    "p": (lambda: make_candidates(CLASSES, p=80), "p must be .* got 80", "between 0 and 1"),
    "r": (lambda: make_candidates(CLASSES, r=2), "got 2", "between 1 and 1"),
    "one label": (lambda: make_candidates(["a", "a"]), "only one label", "classes="),
    "sets": (lambda: make_candidates(MASK), r"shape is \(6, 2\)", "already has candidates"),
    "wrong proba": (
        lambda: make_candidates(CLASSES, kind="instance", proba=[[1.0, -1.0], [0.5, 0.5]]),
        "row 0",
        "output of predict_proba",
    ),
}

SCORES = {
    "lengths": (lambda: metrics.tolerance_accuracy([1, 2], [1], 1), "2 true but 1", "one of each"),
    "matrix": (lambda: metrics.tolerance_accuracy(MASK, [1], 1), r"shape \(6, 2\)", r"\(n_rows,\)"),
    "text": (lambda: metrics.tolerance_accuracy(["s"], ["m"], 1), "not numbers", "classes="),
    "covering": (lambda: metrics.covering_rate(SETS, ["a"]), "6 candidate sets but 1", "pass one"),
    "logits": (
        lambda: metrics.approximated_accuracy(SETS, changed(MASK, (2, 0), -1)),
        "first in row 2",
        "output of predict_proba",
    ),
    "shape": (
        lambda: metrics.approximated_accuracy(SETS, MASK[:, :1]),
        r"It has \(6, 1\)",
        r"shape \(6, 2\)",
    ),
    "another cache": (
        lambda: PLKNN(n_neighbors=2).fit(X, SETS, cache=cache_of_other_rows()),
        "other rows",
        r"a new FitCache\(\)",
    ),
}

SPEC = 'title = "t"\ndata = ["iris"]\nmethods = ["PL-CL"]\n'

EXPERIMENTS = {
    "search": (lambda: parse_search("best:3"), "got 'best:3'", "random:N, halving:N or grid"),
    "no title": (lambda: parse_spec("mine", "data = []"), "mine: 'title'", "is missing"),
    "method": (
        lambda: parse_spec("mine", SPEC.replace("PL-CL", "PL-XX")),
        "mine: There is no method 'PL-XX'",
        "The methods are: ",
    ),
    "section": (
        lambda: parse_spec("mine", "nonsense = 1\n" + SPEC),
        "mine: 'nonsense' is not a known name",
        "Known names: title",
    ),
    "parameter": (
        lambda: Task("iris", "PLCL", 0, params={"alfa": 1}).key,
        "PLCL has no parameter 'alfa'",
        "It has: alpha",
    ),
    "estimator": (
        lambda: Task("iris", "PLXX", 0).key,
        "no method 'PLXX'",
        "The methods are: ",
    ),
    "no store": (lambda: Store("no.sqlite", create=False), "no result store no.sqlite", "--store"),
}

CASES = [
    pytest.param(*case, id=f"{topic}: {name}")
    for topic, cases in {
        "candidates": CANDIDATES,
        "bridges": BRIDGES,
        "data": DATA,
        "scores": SCORES,
        "experiments": EXPERIMENTS,
    }.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize(("mistake", "what", "remedy"), CASES)
def test_an_error_says_what_where_and_what_to_do(mistake, what, remedy):
    with pytest.raises((ValueError, OSError), match=what) as caught:
        mistake()
    assert re.search(remedy, str(caught.value))


@pytest.mark.parametrize("method", CORE_CLASSES)
@pytest.mark.parametrize(
    ("rows", "y", "words"),
    [
        (X, None, ["requires y to be passed", "y must be a sequence"]),
        (X[:5], SETS, ["X has 5 rows but y has 6", "in the same order"]),
        (X, [set(), *SETS[1:]], ["row 0 is empty", "Drop the row"]),
        (X * 1e80, SETS, ["largest entry of X is 1e+81 (row 5, column 1)", "Scale the features"]),
        (sparse.csr_array(X * 1e80), SETS, ["(row 5, column 1)", "StandardScaler"]),
        (changed(X, (1, 0), np.nan), SETS, ["Input X contains NaN", "imputer"]),
    ],
    ids=["no y", "length", "empty set", "large", "large sparse", "NaN"],
)
def test_every_method_gives_the_same(method, rows, y, words):
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        method().fit(rows, y)
    assert words[1] in str(caught.value)


@pytest.mark.parametrize("method", CORE_CLASSES)
def test_predicting_too_early_or_other_columns(method):
    with pytest.raises(ValueError, match=r"not fitted yet\. Call 'fit'"):
        method().predict(X)
    fitted = quietly(lambda: method().fit(X, SETS))
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2"):
        fitted.predict(X[:, :1])


def quietly(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


WARNINGS = {
    "joined labels": (
        lambda: PLKNN(n_neighbors=2).fit(X, ["a|b", "b", "a", "b|a", "a", "b"]),
        r"'a\|b', which is taken as one label",
        "split it",
    ),
    "not converged": (
        lambda: PLCL(max_iter=1, n_neighbors=2).fit(UNCLEAR, SETS * 5),
        "PLCL stopped after max_iter=1",
        "Raise max_iter",
    ),
}


@pytest.mark.parametrize(("mistake", "what", "remedy"), WARNINGS.values(), ids=WARNINGS)
def test_a_warning_says_what_and_what_to_do_at_the_users_line(mistake, what, remedy):
    with pytest.warns(UserWarning, match=what) as caught:
        mistake()
    ours = [w for w in caught if re.search(what, str(w.message))]
    assert len(ours) == 1
    assert remedy in str(ours[0].message)
    assert ours[0].filename == __file__


COMMANDS = {
    "unknown experiment": (["paper", "run", "nope"], "no experiment 'nope'", "Known experiments"),
    "no file": (["paper", "run", "no.toml"], "no experiment file no.toml", "built-in experiment"),
    "unknown method": (
        ["paper", "run", "demo", "--methods", "x"],
        "no method 'x'",
        "The methods are",
    ),
    "unknown data": (["paper", "run", "--data", "irs"], "no data set 'irs'", "Did you mean 'iris'"),
    "search": (["paper", "run", "demo", "--search", "x"], "got 'x'", "random:N"),
    "no results": (
        ["paper", "tables", "demo"],
        "no result store out/results.sqlite",
        "paper run` first",
    ),
    "no store": (["paper", "report", "--store", "a.sqlite"], "no result store a.sqlite", "--store"),
    "text as store": (
        ["paper", "tables", "--store", "notes.txt"],
        "notes.txt cannot be used",
        "another",
    ),
    "text as new store": (
        ["paper", "run", "demo", "--quick", "--store", "notes.txt"],
        "notes.txt cannot be used",
        "another",
    ),
    "store below a file": (
        ["paper", "run", "demo", "--quick", "--store", "notes.txt/x.sqlite"],
        "notes.txt",
        "",
    ),
    "data to fetch": (["data", "fetch"], "Name at least one data set", "data list"),
    "data to check": (["data", "check", "irs"], "no data set 'irs'", "The data sets are"),
    "no data": (
        ["paper", "run", "real-world", "--jobs", "1"],
        "None of the data sets",
        "paper run demo",
    ),
    "no UTF-8": (["paper", "run", "binary.toml"], "binary.toml is not UTF-8", "save it as UTF-8"),
    "data of a file": (
        ["paper", "run", "other.toml"],
        "no data set 'nowhere'",
        "The data sets are",
    ),
    "folder as file": (["paper", "report", "--out", "."], "'.' is a directory", "for help"),
}


@pytest.mark.parametrize(("arguments", "what", "remedy"), COMMANDS.values(), ids=COMMANDS)
def test_the_command_line_ends_in_one_line(arguments, what, remedy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("AMBILEARN_DATA", raising=False)
    (tmp_path / "notes.txt").write_text("Not a database. " * 100)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "other.toml").write_text(SPEC.replace("iris", "nowhere"))
    done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, SystemExit)  # anything else is a traceback
    assert done.exit_code in (1, 2)
    assert what in done.stderr
    assert remedy in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert errors == done.stderr.splitlines()[-1:]


def test_a_file_that_is_no_mat_file_says_how_to_make_one(tmp_path):
    (tmp_path / "some.mat").write_bytes(b"nothing of the kind" * 20)
    with pytest.raises(ValueError, match=r"some\.mat: not a MATLAB .*save -v7"):
        read_mat(tmp_path / "some.mat")


def test_errors_of_the_system_name_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("a file where the folder should be")
    done = CliRunner().invoke(main, ["paper", "run", "demo", "--quick", "--jobs", "1"])
    assert done.exit_code == 1
    assert re.fullmatch(r"Error: out: .+\.\n", done.stderr)
