"""The paper's experiments: definitions, runner, result store, tables and figures.

``spec`` defines what to measure, ``execute`` runs one task, ``run`` runs all tasks and ``store``
saves every result. ``stats``, ``tables``, ``figures``, ``verify`` and ``report`` are computed from
the store. This module imports nothing, so that the command line starts quickly.
"""
