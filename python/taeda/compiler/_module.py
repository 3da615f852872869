"""Modules whose calls are compiled."""

import copy
import warnings
from collections.abc import Sized

import taeda
from taeda.nn.modules import _hooks

__all__ = ["OptimizedModule"]


def _is_lazy(mod):
    """Whether a module makes its parameters at the first call; its __getattr__ is not asked."""
    return "_initialize_hook" in vars(mod) and hasattr(type(mod), "_infer_parameters")


class OptimizedModule(taeda.nn.Module):
    """A module whose calls are compiled; everything else is that of the module it was made of.

    dynamo_ctx: a `CompileContext`; None where calls run as they are (`taeda.compiler.disable`).
    """

    _opt_mod_attributes = {
        "_orig_mod",
        "dynamo_ctx",
        "_torchdynamo_orig_callable",
        "_torchdynamo_wrapper_id",
        "_torchdynamo_disable",
        "get_compiler_config",
        "forward",
        "_forward",
        "_super_module_initialized",
    }

    def __init__(self, mod, dynamo_ctx):
        # Reads and writes of attributes ask for it.
        object.__setattr__(self, "_orig_mod", mod)
        object.__setattr__(self, "_super_module_initialized", False)
        super().__init__()
        object.__setattr__(self, "_super_module_initialized", True)
        self.__dict__.pop("training", None)
        object.__delattr__(self, "_orig_mod")
        self._modules["_orig_mod"] = mod
        object.__setattr__(self, "dynamo_ctx", dynamo_ctx)
        self._initialize()

    def _initialize(self):
        from taeda.compiler._compile import compile_callable
        from taeda.compiler._innermost import note_innermost
        from taeda.compiler._marks import disable

        mod = self._modules["_orig_mod"]
        if self.dynamo_ctx is None:
            forward = disable(mod.__call__)
            self._torchdynamo_disable = True
        else:
            forward = compile_callable(mod, self.dynamo_ctx)
        if _is_lazy(mod):
            self._forward, forward = forward, self._call_lazy_check
        self.forward = forward
        note_innermost(self, mod.forward)
        self.get_compiler_config = lambda: self.dynamo_ctx and self.dynamo_ctx.compiler_config

    def _call_lazy_check(self, *args, **kwargs):
        # A module without parameters so far makes them outside of captures.
        mod = self._orig_mod
        if _is_lazy(mod) and mod.has_uninitialized_params():
            mod._infer_parameters(mod, args, kwargs)
        return self._forward(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        if (
            _hooks._global_forward_pre_hooks
            or _hooks._global_forward_hooks
            or _hooks._global_backward_pre_hooks
            or _hooks._global_backward_hooks
        ):
            warnings.warn(
                "Using `taeda.compile(module)` when there are global hooks on modules (e.g., from "
                "`register_module_forward_hook`); this will cause the hooks to fire an extra time "
                "for the `OptimizedModule` created by `taeda.compile(module)`. If this causes "
                "undesired behavior, please try using `module.compile()`, or use the per-module "
                "hooks instead",
                stacklevel=2,
            )
        return super().__call__(*args, **kwargs)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        if self._super_module_initialized:
            self._orig_mod.training = value

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def _is_own(self, name):
        return hasattr(type(self), name) or name in OptimizedModule._opt_mod_attributes

    def __setattr__(self, name, value):
        if not self._is_own(name):
            setattr(self._orig_mod, name, value)
        elif name == "_orig_mod":
            self._modules[name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if self._is_own(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self):
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __dir__(self):
        names = self._orig_mod.__dir__()
        return [*names, *(name for name in super().__dir__() if name not in names)]

    def __reduce__(self):
        return type(self), (self._orig_mod, self.dynamo_ctx)

    def __deepcopy__(self, memo):
        return type(self)(copy.deepcopy(self._orig_mod, memo), self.dynamo_ctx)
