"""Parameter: a tensor that modules register and optimizers change."""

from taeda import _C


class Parameter(_C.Tensor):
    """A leaf that requires gradients unless told otherwise; operations on it give plain tensors."""

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.Tensor()
        if type(data) is _C.Tensor or type(data) is Parameter:
            return _C.Tensor._make_subclass(cls, data, requires_grad)
        # Data of another subclass keeps its class.
        parameter = data.detach().requires_grad_(requires_grad)
        parameter._is_param = True
        return parameter

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


def is_parameter(tensor):
    """Whether modules treat the tensor as a parameter."""
    return isinstance(tensor, Parameter) or getattr(tensor, "_is_param", False)
