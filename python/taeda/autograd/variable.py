"""Variable: an old name of Tensor that old code still constructs, and the engine's methods."""

from taeda import _C


class ImperativeEngine:
    """The methods of `Variable._execution_engine` while backward is running."""

    @staticmethod
    def queue_callback(callback):
        """Calls `callback()` when the innermost backward is through with its nodes."""
        _C._queue_callback(callback)

    @staticmethod
    def is_checkpoint_valid():
        """Whether backward runs for all leaves; reentrant checkpointing needs that."""
        return _C._is_checkpoint_valid()


class VariableMeta(type):
    """Makes every tensor an instance of Variable."""

    def __instancecheck__(cls, other):
        return isinstance(other, _C.Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad)` is the tensor's values as a tensor of its own."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if data is None:
            return _C.empty(0, requires_grad=requires_grad)
        return data.detach().requires_grad_(requires_grad)
