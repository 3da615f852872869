"""The older spectral_norm: a hook that divides the weight by its norm before each call."""

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.nn import functional as F
from taeda.nn._operators import _C as _operators
from taeda.nn._operators import name_missing_operators
from taeda.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from taeda.nn.parameter import Parameter, is_lazy
from taeda.nn.utils._norm_parametrizations import as_matrix

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


class SpectralNorm:
    """The hook: `name` is `name_orig` over its largest singular value.

    The buffers `name_u` and `name_v` hold estimates of the vectors; version 1 of the state has
    the second one.
    """

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """The weight as a matrix whose rows are the slices along `dim`."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight over its norm, which is estimated further if asked for."""
        weight = getattr(module, self.name + "_orig")
        u = getattr(module, self.name + "_u")
        v = getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    # The buffers are written to, so that replicas of the module share them.
                    v = F.normalize(_C.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = F.normalize(_C.mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies, since a later call writes to the buffers that backward needs.
                u, v = u.clone(), v.clone()
        return weight / _C.dot(u, _C.mv(matrix, v))

    def remove(self, module):
        """Makes the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    def _solve_v_and_rescale(self, matrix, u, target_sigma):
        """The vector v with which u @ matrix @ v is the norm."""
        inverse = _operators.linalg_pinv(matrix.t().mm(matrix))
        v = inverse.mm(matrix.t()).mv(u)
        return v.mul_(target_sigma / _C.dot(u, _C.mv(matrix, v)))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Registers the parameter, the two buffers and the hooks."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).size()
            drawn = [weight.new_empty(size).normal_(0, 1) for size in sizes]
            u, v = (F.normalize(vector, dim=0, eps=eps) for vector in drawn)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain attribute, so that it is there before the first call but no parameter.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Computes `name_v` of a state that was saved without it."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, *rest):
        hook = self.fn
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + hook.name
        has_all = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and has_all and key not in state_dict:
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = hook._solve_v_and_rescale(
                matrix, state_dict[key + "_u"], sigma
            )


class SpectralNormStateDictHook:
    """Notes the version of the hook's state."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its largest singular value before each call."""
    if dim is None:
        transposed = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes the weight a parameter again, with its present value."""
    number = _number_of(module._forward_pre_hooks, lambda hook: _is_for(hook, name))
    if number is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(number).remove(module)
    kinds = (SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook)
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        number = _number_of(table, lambda hook: isinstance(hook, kinds) and hook.fn.name == name)
        table.pop(number, None)
    return module


def _is_for(hook, name):
    return isinstance(hook, SpectralNorm) and hook.name == name


def _number_of(table, is_wanted):
    """The number of the first hook that is wanted; wrapped ones are looked into."""
    for number, hook in table.items():
        if is_wanted(getattr(hook, "hook", hook)):
            return number
    return None


name_missing_operators(globals())
