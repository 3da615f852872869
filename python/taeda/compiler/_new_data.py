"""Tensors whose `data` or `requires_grad` a captured program sets, or that are inference ones."""

from taeda._C._dynamo import as_inference
from taeda.autograd import Function

__all__ = ["on_their_data", "with_data", "with_flags", "with_kinds"]


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


def with_flags(function, flags):
    """The function of a graph before which inputs, by place, are told whether they require a
    gradient. One that raises leaves them as they were."""

    def run(*args):
        before = [(args[i], args[i].requires_grad) for i, _ in flags]
        try:
            for i, flag in flags:
                args[i].requires_grad = flag
            return function(*args)
        except BaseException:
            for tensor, flag in before:
                tensor.requires_grad = flag
            raise

    return run


def with_kinds(function, kinds):
    """The function of a graph whose results, by place, are tensors of inference mode or are none.

    What a program makes inside of `inference_mode` is one, whatever the graph is called in.
    """

    def run(*args):
        results = list(function(*args))
        for i, is_inference in kinds:
            if results[i].is_inference() != is_inference:
                results[i] = as_inference(results[i], is_inference)
        return tuple(results)

    return run
