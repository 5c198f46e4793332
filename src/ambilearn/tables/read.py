"""Read a user's table in Python: the arguments of :class:`TableDescription`, and what they mean."""

import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

from ambilearn._utils.types import DataFrame
from ambilearn.tables.candidate_table import CandidateTable, read_table
from ambilearn.tables.description import FileFormat, TableDescription, fill


def read_candidate_table(
    source: str | os.PathLike[str] | IO[Any] | DataFrame,
    *,
    candidates: str | Sequence[str] | None = None,
    given_label: str | None = None,
    features_from: str | os.PathLike[str] | IO[Any] | DataFrame | None = None,
    item: str = "item",
    annotator: str = "annotator",
    answer: str = "label",
    sep: str = "|",
    truth: str | None = None,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    embed: Mapping[str, str] | None = None,
    image: str | None = None,
    image_folders: Sequence[str | os.PathLike[str]] = (),
    min_votes: int | None = None,
    fallback: str = "error",
    na_is_label: bool = False,
    no_answer: Any = (),
    missing: str | None = None,
    checked: str | os.PathLike[str] | IO[Any] | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
) -> CandidateTable:
    r"""Read a table with candidate labels: CSV, TSV, Excel, Parquet or JSON.

    Features may be numbers, categories, booleans, dates, sentences and lists of numbers; cells may
    be missing. All columns are kept unchanged, including those that are not features.

    Parameters
    ----------
    source : path-like, file object or DataFrame
        The table. The format is inferred from the file extension (``.csv``, ``.tsv``, also with
        ``.gz``, ``.parquet``, ``.jsonl``, ``.json``, ``.xlsx``). A data frame must be one of
        pandas, with column names that are text.
    candidates : str or sequence of str
        The column with the candidates of each row, as text (``"anna|bob"``) or, in Parquet and
        JSON, as a list; or several columns, one for each annotator, in which cells may be empty; a
        row without any answer may then have any label.
        A name such as ``"A*"`` selects all columns that match it.
    given_label : str, optional
        Instead of ``candidates``: the column with the one label of each row, some of which may be
        wrong; see :func:`ambilearn.tables.correct_table`.
    features_from : path-like, file object or DataFrame, optional
        With ``candidates``, a table with the features of the rows, joined by the column ``item`` of
        both tables; if neither has a column of this name, by the only column that both have.
        Instead of ``candidates``, if ``source`` has the answers of annotators in long form, one in
        each row: a table with the column ``item`` and the features, one row for each item. Its rows
        and their order are those of the result, with a further column ``answers`` that has the
        different answers to each item, most frequent first; counts of votes are the weights of the
        candidates.
    item, annotator, answer : str
        Columns of the answers in long form.
    sep : str, default="|"
        What separates the labels in text.
    truth : str, optional
        Column with the true label where it is known, for reports only: never a feature.
    features : str or sequence of str, optional
        Columns that are features. By default all that have no other role and can help; see
        :func:`ambilearn.tables.columns.find_features`. Names of columns may be patterns, here and
        below.
    exclude : str or sequence of str, default=()
        Columns that are not features, such as an id or a comment.
    categorical : str or sequence of str, default=()
        Features that are categories even if all their cells are numbers, such as codes. These are
        features also if they agree with the labels of the rows.
    embed : mapping, optional
        Names or folders of pretrained networks for columns of texts or of names of image files; see
        :class:`ambilearn.features.PretrainedFeatures`.
    image : str, optional
        Column with names of image files, which then is the only feature: for
        :class:`~ambilearn.DeepPLCL`. Paths are relative to the folder of the table, and only files
        in this folder and its subfolders are read.
    image_folders : sequence of path-like, default=()
        Further folders from which images are allowed. A relative path that is not found in the
        folder of the table is looked up there.
    min_votes : int, optional
        With several annotators: votes that a label needs. One by default.
    fallback : {"error", "union"}, default="error"
        What to do with a row in which no label has enough votes: raise an error, or take all its
        votes.
    na_is_label : bool, default=False
        Whether a cell of candidates that is nothing but ``NA``, ``NaN``, ``null``, ``None`` or the
        like is a label of that name (Namibia), not a missing cell. Among other labels, as in
        ``"NA|ZA"``, and in a list such a word is always a label.
    no_answer : sequence, default=()
        Codes in the cells of candidates that mean no answer, such as ``"-1"``, alone or among
        labels.
    missing : {"error", "any", "skip"}, optional
        What to do with a row without candidates: raise an error, let it have any label, or leave
        the row out of the table. By default an error, and any label if there are several
        annotators.
    checked : path-like or file object, optional
        CSV file of labels that a person has set, as the review page saves it; see
        :func:`ambilearn.tables.corrections.read_corrections`.
    format, encoding, delimiter
        File format, if it cannot be inferred from the file name; encoding of text, such as
        ``"cp1252"``, by default UTF-8; separator of CSV cells.
    sheet : str, optional
        Sheet of an Excel file. By default the first that is not hidden.
    decimal : {".", ","}, default="."
        Decimal separator of features that are numbers in text. With a comma, a cell such as
        ``1.234`` is rejected as ambiguous.

    Returns
    -------
    CandidateTable
        With the candidate sets in ``candidates`` and the features in ``X``, for any method:
        ``method.fit(table.X, table.candidates)``. Labels of a CSV or Excel file are always
        text. The text of labels is normalized, in the table, in ``no_answer`` and in corrections:
        form NFC, no blanks around it, no zero-width space, word joiner or byte-order mark, and a
        space for a no-break space.

    Raises
    ------
    InvalidFileError
        Naming the file, the column and the row (counted from 0, without the header).

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import read_candidate_table
    >>> file = StringIO("id,age,town,names\n07,30,Rome,anna|bob\n08,,Oslo,bob\n09,41,Rome,anna\n")
    >>> table = read_candidate_table(file, candidates="names", exclude=["id"], format="csv")
    >>> [sorted(labels) for labels in table.candidates.to_sets()]
    [['anna', 'bob'], ['bob'], ['anna']]
    >>> [(column.name, column.kind) for column in table.features.columns]
    [('age', 'number'), ('town', 'category')]
    >>> table.frame["id"].to_list()
    ['07', '08', '09']

    Answers in long form:

    >>> answers = StringIO("item,annotator,label\np1,ann,cat\np1,ben,cat\np2,ann,dog\np1,eve,dog\n")
    >>> animals = StringIO("item,weight\np1,4\np2,30\n")
    >>> table = read_candidate_table(answers, features_from=animals, format="csv")
    >>> table.votes
    <Votes: 4 answers by 3 annotators to 2 of 2 items, 2 labels>
    >>> table.frame["answers"].to_list()
    ['cat|dog', 'dog']
    """
    arguments = locals()
    return read_table(fill(TableDescription, arguments, file=fill(FileFormat, arguments)))
