"""Hooks in dictionaries: the handle that removes one, and backward hooks around a module's call."""

import weakref
from collections import OrderedDict
from warnings import warn

from taeda import _C
from taeda.autograd.function import Function


class _HandleMeta(type):
    """Handles of hooks of tensors and nodes, which C++ keeps, are such handles too."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (
            cls is RemovableHandle and type(instance) is _C._HookHandle
        )


class RemovableHandle(metaclass=_HandleMeta):
    """Removes a hook from its dictionary, and its number from dictionaries of flags beside it."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else extra_dict
        extra = [extra] if isinstance(extra, dict) else extra
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(flags) for flags in extra)

    def remove(self):
        """Takes the hook away; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        # A dictionary that was gone when the handle was stored is a dead reference again.
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(flags) for flags in extra if flags is not None)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def unserializable_hook(f):
    """Marks a hook that is knowingly lost when its tensor is stored."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warns of hooks that are lost when a tensor is stored or sent, but for those marked so."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


class BackwardHookFunction(Function):
    """Passes tensors on; in the backward pass, gradients go through a function."""

    generate_vmap_rule = True

    @staticmethod
    def forward(on_grads, *tensors):
        return tensors

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.on_grads = inputs[0]
        ctx.set_materialize_grads(False)
        fixed = [out for given, out in zip(inputs[1:], output) if not given.requires_grad]
        ctx.mark_non_differentiable(*fixed)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.on_grads(grads)


class BackwardHook:
    """Backward hooks of one call of a module.

    The call's inputs and outputs pass through BackwardHookFunction. The gradients of the outputs
    arrive first: pre-hooks may replace them, and they are kept. When the gradients of the inputs
    arrive, the hooks see both. Values that are not tensors stand as None; so do outputs without a
    gradient, while inputs without one have zeros.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.has_input_grads = False

    def setup_input_hook(self, args):
        """The positional arguments to call the module with."""
        self.n_inputs = len(args)
        self.input_options = [_options(value) for value in args]
        new = _through_function(args, self._on_input_grads)
        self.has_input_grads = new is not None
        return args if new is None else new

    def setup_output_hook(self, result):
        """The result of the module's call."""
        results = result if isinstance(result, tuple) else (result,)
        new = _through_function(results, self._on_output_grads)
        if new is None:
            return result
        return new if isinstance(result, tuple) else new[0]

    def _on_output_grads(self, grads):
        for hook in self.user_pre_hooks:
            replaced = hook(self.module, grads)
            if replaced is not None:
                _check_count("Backward pre hook", "grad_output", replaced, grads)
                grads = replaced
        if self.has_input_grads:
            self.grad_outputs = grads
        else:
            self._call_without_input_grads(grads)
        return grads

    def _on_input_grads(self, grads):
        # The gradient may reach the input past the output, as in double backward.
        if self.grad_outputs is None:
            return grads
        grads = tuple(
            _C.zeros(**options) if grad is None and options is not None else grad
            for grad, options in zip(grads, self.input_options)
        )
        for hook in self.user_hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is not None:
                _check_count("Backward hook", "grad_input", replaced, grads)
                grads = replaced
        self.grad_outputs = None
        return grads

    def _call_without_input_grads(self, grads):
        if self.user_hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients.",
                stacklevel=5,
            )
        for hook in self.user_hooks:
            replaced = hook(self.module, (None,) * self.n_inputs, grads)
            if replaced is not None and any(grad is not None for grad in replaced):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )


def _options(value):
    """Sizes, dtype and device of a tensor, to make zeros in its place; None for other values."""
    if not isinstance(value, _C.Tensor):
        return None
    return {"size": value.size(), "dtype": value.dtype, "device": value.device}


def _check_count(hook, what, replaced, grads):
    if len(replaced) != len(grads):
        raise RuntimeError(
            f"{hook} returned an invalid number of {what}, got {len(replaced)}, but expected "
            f"{len(grads)}"
        )


def _through_function(values, on_grads):
    """The values with their tensors tied to `on_grads`; None where no gradient will flow."""
    places = [i for i, value in enumerate(values) if isinstance(value, _C.Tensor)]
    if not (_C.is_grad_enabled() and any(values[i].requires_grad for i in places)):
        return None

    def on_tensor_grads(grads):
        spread = [None] * len(values)
        for place, grad in zip(places, grads):
            spread[place] = grad
        replaced = on_grads(tuple(spread))
        return tuple(replaced[place] for place in places)

    tensors = BackwardHookFunction.apply(on_tensor_grads, *(values[i] for i in places))
    new = list(values)
    for place, tensor in zip(places, tensors):
        new[place] = tensor
    return tuple(new) if type(values) is tuple else type(values)(*new)
