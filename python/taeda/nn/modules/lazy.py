"""Modules whose parameters get their shapes from the first input."""

from itertools import chain

from taeda.autograd.grad_mode import no_grad
from taeda.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """The part of a lazy module that waits for the first call.

    A class puts it before its plain class, defines `initialize_parameters`, which gets the call's
    arguments, and names in `cls_to_become` the class that the module has from then on.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _lazy_members(self):
        return chain(self._parameters.items(), self._buffers.items())

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state().items():
            is_kept = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if is_kept else tensor.detach()

    def _lazy_load_hook(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ):
        """Gives shapes to what is loaded with values."""
        for name, tensor in self._lazy_members():
            value = state_dict.get(prefix + name)
            if is_lazy(tensor) and value is not None and not is_lazy(value):
                with no_grad():
                    tensor.materialize(value.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Gives every parameter its shape and values, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self):
        """Whether a parameter or buffer still waits for its shape."""
        return any(is_lazy(tensor) for _, tensor in self._lazy_members())

    def _infer_parameters(self, module, args, kwargs=None):
        """Runs before the first forward; the module is a plain one afterwards."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )
