"""Tensors whose `data` a captured program sets."""

from taeda.autograd import Function

__all__ = ["on_their_data", "with_data"]


class _WithData(Function):
    @staticmethod
    def forward(ctx, tensor, data):
        return data.view_as(data)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def with_data(tensor, data):
    """A tensor whose data was set, as a node of a graph: its gradient is the tensor's own."""
    return _WithData.apply(tensor, data)


def on_their_data(function, places):
    """The function of a graph some of whose inputs have other data before its gradients run.

    What is kept for the gradients is what the tensors at these places hold now.
    """

    def run(*args):
        args = list(args)
        for i in places:
            data = args[i].detach()
            args[i] = with_data(args[i], data) if args[i].requires_grad else data
        return function(*args)

    return run
