"""Function: an operation with a forward and a backward written in Python."""

from taeda import _C
from taeda.autograd.grad_mode import enable_grad, no_grad


class FunctionCtx:
    """What forward hands to backward: saved tensors, flags, and attributes of the user's."""

    def __init__(self, function, needs_input_grad):
        self._function = function
        self.needs_input_grad = needs_input_grad
        self._to_save = ()
        self._dirty = ()
        self._non_differentiable = ()
        self._materialize_grads = True
        self._saved = None
        self._output_like = ()

    def save_for_backward(self, *tensors):
        """Keeps inputs or outputs for backward, where they are `saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(tensor).__name__}"
                )
        self._to_save = tensors

    def mark_dirty(self, *tensors):
        """Names the inputs that forward writes in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Names the outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where no gradient arrived."""
        self._materialize_grads = value

    @property
    def saved_tensors(self):
        """The tensors of save_for_backward, checked against changes since."""
        if self._saved is None:
            return self._to_save
        return self._saved

    def _run_backward(self, saved, grads):
        """Called by the node: one gradient for each tensor among forward's arguments."""
        if self._materialize_grads:
            grads = tuple(
                _zeros(like) if grad is None else grad
                for grad, like in zip(grads, self._output_like)
            )
        self._saved = saved
        try:
            results = self._function.backward(self, *grads)
        finally:
            self._saved = None
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self.needs_input_grad)
        extra = results[expected:]
        if len(results) < expected or any(value is not None for value in extra):
            raise RuntimeError(
                f"function {self._function.__name__}Backward returned an incorrect number of "
                f"gradients (expected {expected}, got {len(results)})"
            )
        chosen = []
        for position, value in enumerate(results[:expected]):
            if position in self._tensor_positions:
                chosen.append(value)
            elif value is not None:
                raise RuntimeError(
                    f"function {self._function.__name__}Backward returned a gradient different "
                    f"from None at position {position + 1}, but the corresponding forward input "
                    "was not a Variable"
                )
        return tuple(chosen)


def _zeros(like):
    size, dtype, device = like
    return _C.zeros(size, dtype=dtype, device=device)


class Function:
    """Base of operations with a gradient of their own.

    A subclass defines `forward(ctx, *args)` and `backward(ctx, *grads)` as static methods, or
    `forward(*args)` and `setup_context(ctx, inputs, output)`; `apply` runs it.
    """

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward without recording, and records the call as one node."""
        needs = tuple(isinstance(arg, _C.Tensor) and arg.requires_grad for arg in args)
        ctx = FunctionCtx(cls, needs)
        is_recorded = _C.is_grad_enabled() and any(needs)
        with no_grad():
            if "setup_context" in {name for base in cls.__mro__ for name in vars(base)}:
                results = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, results)
            else:
                results = cls.forward(ctx, *args, **kwargs)
        if not is_recorded:
            return results
        is_single = not isinstance(results, tuple)
        results = (results,) if is_single else results
        with enable_grad():
            results = _record(ctx, args, results)
        return results[0] if is_single else results


def _record(ctx, args, results):
    """Ties the results to a new node; an input that comes back gets a handle of its own."""
    inputs = tuple(arg for arg in args if isinstance(arg, _C.Tensor))
    ctx._tensor_positions = {i for i, arg in enumerate(args) if isinstance(arg, _C.Tensor)}
    results = tuple(
        result.detach()
        if _is_among(result, inputs) and not _is_among(result, ctx._dirty)
        else result
        for result in results
    )
    outputs = tuple(result for result in results if isinstance(result, _C.Tensor))
    differentiable = tuple(
        not _is_among(output, ctx._non_differentiable)
        and (output.is_floating_point() or output.is_complex())
        for output in outputs
    )
    ctx._output_like = tuple((tuple(o.size()), o.dtype, o.device) for o in outputs)
    saved, ctx._to_save = ctx._to_save, ()
    _C._record_function(
        ctx, f"{ctx._function.__name__}Backward", inputs, outputs, differentiable, ctx._dirty, saved
    )
    return results


def _is_among(tensor, tensors):
    return any(tensor is other for other in tensors)


def once_differentiable(function):
    """Marks a backward that is itself not differentiable."""

    def backward(ctx, *grads):
        with no_grad():
            return function(ctx, *grads)

    return backward
