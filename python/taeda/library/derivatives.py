"""Derivatives of custom operators: a formula in Python as a node of the graph."""

from taeda import _C
from taeda._C import _dispatch
from taeda.library.keys import keys_below

_Tensor = _C.Tensor


class AutogradFormula:
    """The arguments of `register_autograd`; both may be missing."""

    def __init__(self):
        self.backward = None
        self.setup_context = None


def make_autograd_kernel(op, formula):
    """The kernel of `op` at the Autograd key; it runs for calls that are recorded.

    Arguments that are lists of tensors count as so many inputs of the node; the formula sees lists.
    """
    from taeda.autograd.function import Function

    has_keyword_only = any(a.kwarg_only for a in op._schema.arguments)

    def forward(ctx, call, *tensors):
        outputs = _dispatch.redispatch_below_autograd(
            op._handle, call.keys._bits, call.args, call.kwargs
        )
        needs = ctx.needs_input_grad[1:]
        ctx._needs = call.shape.fill(needs, absent=False)
        ctx._call_shape = call.shape
        ctx.needs_input_grad = ctx._needs
        if formula.setup_context is not None:
            if has_keyword_only:
                formula.setup_context(
                    ctx=ctx, inputs=call.args, keyword_only_inputs=call.kwargs, output=outputs
                )
            else:
                formula.setup_context(ctx=ctx, inputs=call.args, output=outputs)
        call.is_tuple = isinstance(outputs, tuple)
        values = outputs if call.is_tuple else (outputs,)
        call.results = ctx._results = _Shape(values)
        return tuple(_tensors_among(values))

    def backward(ctx, *grads):
        if formula.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        ctx.needs_input_grad = ctx._needs
        given = formula.backward(ctx, *ctx._results.fill(grads, absent=None))
        given = given if isinstance(given, tuple) else (given,)
        return (None, *ctx._call_shape.flatten_gradients(given, f"{name}Backward"))

    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    node = type(name, (Function,), body)

    def kernel(keys, *args, **kwargs):
        call = _Call(keys & keys_below("Autograd"), args, kwargs)
        flat = node._apply_here(call, *_tensors_among(args))
        values = call.results.fill(flat if isinstance(flat, tuple) else (flat,), rest=True)
        return values if call.is_tuple else values[0]

    return kernel


class _Call:
    """One call on its way through the node."""

    def __init__(self, keys, args, kwargs):
        self.keys = keys
        self.args = args
        self.kwargs = kwargs
        self.shape = _Shape(args)


def _is_tensor_list(value):
    return isinstance(value, (list, tuple)) and any(isinstance(v, _Tensor) for v in value)


def _tensors_among(values):
    """The tensors of some values and of the lists among them."""
    tensors = []
    for value in values:
        if isinstance(value, _Tensor):
            tensors.append(value)
        elif _is_tensor_list(value):
            tensors += [v for v in value if isinstance(v, _Tensor)]
    return tensors


class _Shape:
    """Which of some values are tensors and lists of them.

    It holds no tensor: a node keeps alive only what it saves.
    """

    def __init__(self, values):
        self._values = [_outline(value) for value in values]

    def fill(self, items, absent=None, rest=False):
        """A tuple of the same form with `items` for the tensors; other values are `absent`, or
        themselves where `rest` asks for them."""
        items = iter(items)

        def place(outline):
            if outline is _IS_TENSOR:
                return next(items)
            if isinstance(outline, list):
                return [place(o) for o in outline]
            return outline.value if rest else absent

        return tuple(place(outline) for outline in self._values)

    def flatten_gradients(self, given, name):
        """The gradients of the tensors, from one for each value; lists must match in length."""
        given = list(given)
        while len(given) > len(self._values) and given[-1] is None:
            given.pop()
        if len(given) != len(self._values):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected "
                f"{len(self._values)}, got {len(given)}): the formula of register_autograd returns "
                "one for each argument, None for one that is no tensor"
            )
        flat = []
        for position, (outline, gradient) in enumerate(zip(self._values, given)):
            if outline is _IS_TENSOR:
                flat.append(gradient)
            elif isinstance(outline, list):
                count = len(outline)
                if gradient is None:
                    gradient = [None] * count
                if not isinstance(gradient, (list, tuple)) or len(gradient) != count:
                    self._fail(given)
                flat += [g for g, o in zip(gradient, outline) if o is _IS_TENSOR]
            elif gradient is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position "
                    f"{position}, but the corresponding forward input was not a Variable; got "
                    f"{type(gradient)}"
                )
        return flat

    def _fail(self, given):
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. Got: "
            f"{_form(given)} (return from backward), {_form_of_outlines(self._values)} (inputs)"
        )


class _Other:
    def __init__(self, value):
        self.value = value


_IS_TENSOR = object()


def _outline(value):
    if isinstance(value, _Tensor):
        return _IS_TENSOR
    if _is_tensor_list(value):
        return [_IS_TENSOR if isinstance(v, _Tensor) else _Other(v) for v in value]
    return _Other(value)


def _form(values):
    items = (f"list of {len(v)}" if isinstance(v, (list, tuple)) else "one" for v in values)
    return f"({', '.join(items)})"


def _form_of_outlines(outlines):
    items = (f"list of {len(o)}" if isinstance(o, list) else "one" for o in outlines)
    return f"({', '.join(items)})"
