"""Ready parametrizations: weight_norm, spectral_norm and orthogonal matrices."""

from taeda import _C
from taeda.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from taeda.nn.utils import parametrize
from taeda.nn.utils._norm_parametrizations import _SpectralNorm, _WeightNorm
from taeda.nn.utils._orthogonal import _OrthMaps, _Orthogonal

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, _C.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


def weight_norm(module, name="weight", dim=0):
    """The tensor as a length (original0) and a direction (original1)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_older(state_dict, prefix, *rest):
        names = {f"{name}_g": "original0", f"{name}_v": "original1"}
        if all(prefix + old in state_dict for old in names):
            for old, new in names.items():
                value = state_dict.pop(prefix + old)
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = value

    module._register_load_state_dict_pre_hook(rename_older)
    return module


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The tensor divided by its largest singular value, which iterations estimate."""
    weight = _tensor(module, name)
    if dim is None:
        transposed = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, parametrization)
    return module


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The tensor as an orthogonal matrix, or one with orthogonal rows or columns."""
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
