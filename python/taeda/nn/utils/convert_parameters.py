"""Parameters as one vector, and back."""

from taeda import _C
from taeda._type_info import typename


def parameters_to_vector(parameters):
    """All parameters' elements in one vector, in order."""
    parameters = list(parameters)
    _check_devices(parameters)
    return _C.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters views of consecutive parts of the vector."""
    if not isinstance(vec, _C.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    parameters = list(parameters)
    _check_devices(parameters)
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop


def _check_devices(parameters):
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
