"""Tasks for Label Studio, and the answers that it exports."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import AnyCandidates, Label
from ambilearn.candidates import as_candidates

_KEY = "row"  # key of the row number in the data of a task


class LabelStudioAnswer(NamedTuple):
    """One label that an annotator chose in Label Studio.

    Attributes
    ----------
    item : int
        Row.
    annotator : int or str
        The annotator: number or email address of the user.
    label : str, int, float or bool
        The label.
    """

    item: int
    annotator: Any
    label: Label


def to_label_studio(
    y: AnyCandidates,
    data: Sequence[Mapping[str, Any]] | None = None,
    *,
    rows: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    from_name: str = "label",
    to_name: str = "item",
    model_version: str = "ambilearn",
) -> list[dict[str, Any]]:
    """Tasks to import in Label Studio, with the labels of a method as predictions.

    The labeling configuration needs ``<Choices name="label" toName="item" ...>``, or other names
    as given here. ``json.dump`` writes the tasks to a file for the import.

    Parameters
    ----------
    y : candidate sets of n rows
        The candidates; each task has them in its data, as ``candidates``.
    data : sequence of n mappings, optional
        Data to show for each row, such as ``{"text": "…"}`` or ``{"image": "https://…"}``: plain
        values.
    rows : array-like of int, optional
        Rows to export, in this order, such as ``session.next_rows(50)``. By default all.
    labels : array-like of shape (n,), optional
        Label of each row, such as ``session.transduction_``, as prediction.
    scores : array-like of shape (n,), optional
        Score of each label. Label Studio can sort tasks by it.
    from_name, to_name : str
        Names of the control and of the object in the labeling configuration.
    model_version : str, default="ambilearn"
        Name of the predictions.

    Returns
    -------
    tasks : list of dict

    Examples
    --------
    >>> from ambilearn.bridges import to_label_studio
    >>> (task,) = to_label_studio([{"cat", "dog"}], [{"text": "woof"}], labels=["dog"])
    >>> task["data"]
    {'text': 'woof', 'row': 0, 'candidates': ['cat', 'dog']}
    >>> task["predictions"][0]["result"][0]["value"]
    {'choices': ['dog']}
    """
    sets = [sorted(map(str, labels)) for labels in as_candidates(y).to_sets()]
    if data is not None and len(data) != len(sets):
        raise ValueError(
            f"There are {len(sets)} rows but data for {len(data)}: pass one mapping per row."
        )
    chosen = None if labels is None else np.asarray(labels).tolist()
    known = None if scores is None else np.asarray(scores, dtype=np.float64).tolist()
    for name, values in (("labels", chosen), ("scores", known)):
        if values is not None and len(values) != len(sets):
            raise ValueError(
                f"{name} has {len(values)} entries, but there are {len(sets)} rows: pass those of "
                "all rows, also with rows=."
            )
    if known is not None and (chosen is None or not np.isfinite(known).all()):
        raise ValueError("scores must be finite numbers, and need labels.")
    tasks = []
    wanted = slice(None) if rows is None else np.asarray(rows).tolist()
    for row in np.arange(len(sets))[wanted].tolist():
        shown = {} if data is None else dict(data[row])
        if reserved := {_KEY, "candidates"} & shown.keys():
            raise ValueError(
                f"data has the key {min(reserved)!r} in row {row}, which the task needs: rename it."
            )
        task: dict[str, Any] = {"data": {**shown, _KEY: row, "candidates": sets[row]}}
        if chosen is not None:
            value = {"choices": [str(chosen[row])]}
            result = {"from_name": from_name, "to_name": to_name, "type": "choices", "value": value}
            prediction: dict[str, Any] = {"model_version": model_version, "result": [result]}
            if known is not None:
                prediction["score"] = known[row]
            task["predictions"] = [prediction]
        tasks.append(task)
    return tasks


def from_label_studio(
    tasks: Sequence[Mapping[str, Any]],
    *,
    from_name: str = "label",
    classes: ArrayLike | None = None,
) -> list[LabelStudioAnswer]:
    """Answers in an export of Label Studio (format JSON), in long form.

    Parameters
    ----------
    tasks : sequence of dict
        The content of the file: tasks that :func:`to_label_studio` made, with their annotations.
        Cancelled annotations are left out.
    from_name : str, default="label"
        Name of the control in the labeling configuration.
    classes : array-like of shape (n_labels,), optional
        Labels of the rows, such as ``as_candidates(y).classes``, which may be numbers.
        Label Studio has only text; a text that is the name of a label becomes this label.

    Returns
    -------
    answers : list of LabelStudioAnswer
        One for each chosen label; several for an annotation with several choices. With one
        annotator, ``{a.item: a.label for a in answers}`` goes into
        :meth:`~ambilearn.review.ReviewSession.settle_rows`; with several, the answers are the rows
        of a table for :meth:`~ambilearn.Votes.from_long`.

    Raises
    ------
    ValueError
        If the content is not such an export.

    Examples
    --------
    >>> from ambilearn.bridges import from_label_studio
    >>> choice = {"from_name": "label", "type": "choices", "value": {"choices": ["dog"]}}
    >>> task = {"data": {"row": 3}, "annotations": [{"completed_by": 1, "result": [choice]}]}
    >>> from_label_studio([task])
    [LabelStudioAnswer(item=3, annotator=1, label='dog')]
    """
    if not isinstance(tasks, Sequence) or isinstance(tasks, (str, bytes)):
        raise ValueError("tasks must be the list in an export of Label Studio in the format JSON.")
    known = [] if classes is None else np.asarray(classes).tolist()
    labels = {str(label): label for label in known}
    return [
        answer._replace(label=labels.get(answer.label, answer.label))
        for i, task in enumerate(tasks)
        for answer in _answers(i, task, from_name)
    ]


def _answers(i: int, task: Any, from_name: str) -> Iterator[LabelStudioAnswer]:
    data = task.get("data") if isinstance(task, Mapping) else None
    row = data.get(_KEY) if isinstance(data, Mapping) else None
    if not isinstance(row, int) or isinstance(row, bool):
        raise ValueError(
            f"Task {i} has no row number in its data ({_KEY!r}): {shorten_repr(data)}. Export "
            "tasks that to_label_studio made, in the format JSON."
        )
    annotations = task.get("annotations")
    if not isinstance(annotations, Sequence):
        raise ValueError(f"Task {i} has no list of annotations: export in the format JSON.")
    try:
        for annotation in annotations:
            if annotation.get("was_cancelled"):
                continue
            user = annotation.get("completed_by")
            annotator = user.get("email", user.get("id")) if isinstance(user, Mapping) else user
            for result in annotation.get("result", []):
                if result.get("type") == "choices" and result.get("from_name") == from_name:
                    for label in result["value"]["choices"]:
                        yield LabelStudioAnswer(row, annotator, str(label))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"Task {i} is damaged ({error!r}). Export in the format JSON.") from error
