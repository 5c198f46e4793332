"""Deep partial-label learning: images and other raw data, with PyTorch.

:class:`DeepPLCL` has its own training loop. skorch was considered and is not used, for three
reasons: the confidences of the rows are state that belongs to neither the module nor the
optimizer, so its checkpoints cannot restore a run; its loop reads the loss back from the device
in every step, which stops the device; and its batches carry no row numbers and one view, so
iterator, training step, loss and history would all have to be overridden.

Importing this package does not import PyTorch: the first fit does.
"""

from ambilearn.deep.deepplcl import DeepPLCL

__all__ = ["DeepPLCL"]
