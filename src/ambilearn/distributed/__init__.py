"""PL-CL on Dask collections: a cluster, or more rows than fit in memory.

Input is Dask arrays or data frames, for instance from Parquet::

    frame = dask.dataframe.read_parquet("people.parquet")
    model = DistributedPLCL(n_landmarks=500, random_state=0)
    model.fit(frame[["height", "width"]], frame["names"].str.split("|"))
    model.to_local()  # a PLCL that needs no Dask

Computation runs on the cluster of the current :class:`distributed.Client`, if there is one. With
several clients, select one with ``with client.as_current():``.
"""

from ambilearn._utils.text import requires_extra

with requires_extra("dask", purpose="ambilearn.distributed"):
    from ambilearn.distributed.plcl import DistributedPLCL

__all__ = ["DistributedPLCL"]
