"""PyTorch's path of optimizers whose steps take lists of tensors."""

from functools import partialmethod

from taeda import optim


def _over_lists(cls):
    """The optimizer with `foreach=True`."""
    return type(cls.__name__, (cls,), {"__init__": partialmethod(cls.__init__, foreach=True)})


Adadelta = _over_lists(optim.Adadelta)
Adagrad = _over_lists(optim.Adagrad)
Adam = _over_lists(optim.Adam)
AdamW = _over_lists(optim.AdamW)
Adamax = _over_lists(optim.Adamax)
ASGD = _over_lists(optim.ASGD)
NAdam = _over_lists(optim.NAdam)
RAdam = _over_lists(optim.RAdam)
RMSprop = _over_lists(optim.RMSprop)
Rprop = _over_lists(optim.Rprop)
SGD = _over_lists(optim.SGD)
