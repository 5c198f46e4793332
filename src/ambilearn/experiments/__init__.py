"""The paper's experiments as data, one runner, one store, and everything that is shown of them.

``spec`` says what to measure, ``execute`` measures one task, ``run`` measures them all and
``store`` keeps every result. From the store come ``stats``, ``tables``, ``figures``, ``verify``
and the ``report``. Nothing is imported here: the command line must start quickly.
"""
