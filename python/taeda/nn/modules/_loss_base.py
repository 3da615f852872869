"""The bases of losses: how the elements are reduced, and a weight for each class."""

from taeda.nn._reductions import reduction_name
from taeda.nn.modules.module import Module


class _Loss(Module):
    """The base of losses: how the elements are reduced."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = reduction_name(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, which is a buffer."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
