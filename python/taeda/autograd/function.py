"""Function: an operation with a forward and a backward written in Python."""

from functools import lru_cache

from taeda import _C


class FunctionCtx:
    """What a call of a Function remembers: flags for the engine, and attributes of the user's.

    `saved_tensors` and `needs_input_grad` are attributes of the contexts themselves, which are also
    the `grad_fn` of what the call returned.
    """

    def save_for_backward(self, *tensors):
        """Keeps inputs or outputs for backward, where they are `saved_tensors`; None is allowed."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp, where they are `saved_tensors`; None is allowed."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should "
                    "save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Names the inputs that forward writes in place; all of them must be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Names the outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where no gradient arrived."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """Base of contexts; each Function class has a subclass of it, named `<class>Backward`."""

    def apply(self, *grads):
        """Runs the user's backward; the engine calls this unless gradients are boxed."""
        if self._forward_cls.boxed_grads_call:
            return self.apply_boxed(list(grads))
        return self._user_backward()(self, *grads)

    def apply_boxed(self, grads):
        """The same with the gradients in a list, which backward may empty to free them."""
        return self._user_backward()(self, grads)

    def apply_jvp(self, *tangents):
        """Runs the user's jvp."""
        return self._forward_cls.jvp(self, *tangents)

    def _user_backward(self):
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                    "You should only implement one of them."
                )
            return vjp
        return backward


class FunctionMeta(type):
    """Gives every Function class the class of its contexts."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})


class Function(_C._FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """Base of operations with a gradient of their own.

    A subclass defines `forward(ctx, *args)` and `backward(ctx, *grads)` as static methods, or
    `forward(*args)`, `setup_context(ctx, inputs, output)` and `backward`; `apply` runs it.
    """

    generate_vmap_rule = False
    # Whether backward gets one list of all gradients, which it may empty, in place of each of them.
    boxed_grads_call = False
    # Whether saved_tensors may be asked for once, after which backward alone keeps the tensors.
    clear_saved_tensors_on_access = False

    def __init__(self, *args, **kwargs):
        from warnings import warn

        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. "
            "(Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """The operation; runs unrecorded."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Called after a forward that takes no context, to fill it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """A gradient for each argument of forward, None where there is none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    # Another name of backward.
    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of the outputs, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """The operation over one more dimension; returns outputs and where they have it."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )


class InplaceFunction(Function):
    """Kept for old code: a Function with an `inplace` flag."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class DelayedError(BackwardCFunction):
    """Called with tensors, gives them back; going backward through them raises the message."""

    def __init__(self, message, num_inputs):
        self.message = message

    def __call__(self, *tensors):
        results = _C._delay_error(self.message, tensors)
        return results[0] if len(results) == 1 else results


class _NoGradient(Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return (None,) * len(grads)


class UndefinedGrad(BackwardCFunction):
    """Called with tensors, gives them back; going backward through them no gradient flows."""

    def __call__(self, *tensors):
        results = _NoGradient.apply(*tensors)
        return results[0] if len(results) == 1 else results


_C._functions.DelayedError = DelayedError
_C._functions.UndefinedGrad = UndefinedGrad


@lru_cache(maxsize=1024)
def _signature(function):
    from inspect import signature

    return signature(function)


def _bind_arguments(forward, has_setup, args, kwargs):
    """(args, kwargs) of a call of apply with what was given by name in its position.

    With a `setup_context` of its own the Function gets its defaults too; else `forward` fills them
    in, but for those before an argument that was given by name.
    """
    context = () if has_setup else (None,)
    try:
        bound = _signature(forward).bind(*context, *args, **kwargs)
    except TypeError:
        return args, kwargs  # the call says what is wrong with them
    is_named = any(
        name in kwargs and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        for name, parameter in bound.signature.parameters.items()
        if name in bound.kwargs
    )
    if has_setup or is_named:
        bound.apply_defaults()
    return bound.args[len(context) :], bound.kwargs


def once_differentiable(fn):
    """Marks a backward that is itself not differentiable: going through it twice is an error."""
    from functools import wraps

    from taeda.autograd.grad_mode import no_grad

    @wraps(fn)
    def backward(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        if not _C.is_grad_enabled():
            return outputs
        if not any(isinstance(arg, _C.Tensor) and arg.requires_grad for arg in args):
            return outputs
        return _forbid_second_derivative(outputs)

    return backward


def _forbid_second_derivative(outputs):
    values = outputs if isinstance(outputs, tuple) else (outputs,)
    leaves = (None if v is None else _C._mark_requires_grad(v.detach()) for v in values)
    error = DelayedError(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        len(values),
    )
    return error(*leaves)
