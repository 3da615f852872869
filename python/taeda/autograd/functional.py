"""Jacobians, Hessians and their products with vectors, of functions over tensors."""

from taeda import _C
from taeda.autograd import grad
from taeda.autograd._functional_values import (
    NEEDS_V_FOR_INPUT,
    NEEDS_V_FOR_OUTPUT,
    as_tuple,
    finish,
    finish_matrix,
    fresh,
    read_vector,
)
from taeda.autograd._strictness import check_depends, check_differentiable, fill_zeros
from taeda.autograd.grad_mode import enable_grad, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_RESULTS = "outputs of the user-provided function"


def _gradients(outputs, inputs, seeds=None, **options):
    """`grad` that leaves out outputs without history; None where an input has no influence."""
    seeds = (None,) * len(outputs) if seeds is None else seeds
    pairs = [(o, s) for o, s in zip(outputs, seeds) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, seeds = zip(*pairs)
    return grad(outputs, inputs, seeds, allow_unused=True, **options)


def _grad_mode(create_graph):
    return set_grad_enabled(create_graph or _C.is_grad_enabled())


def _call(func, inputs, function, strict):
    is_tuple, outputs = as_tuple(func(*inputs), _RESULTS, function)
    check_differentiable(outputs, strict)
    return is_tuple, outputs


def _call_scalar(func, inputs, function, strict):
    is_tuple, outputs = _call(func, inputs, function, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return outputs


# ---- products ----


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v J): the product of a vector with the Jacobian."""
    with enable_grad():
        is_tuple, inputs = as_tuple(inputs, "inputs", "vjp")
        inputs = fresh(inputs, create_graph)
        is_output_tuple, outputs = _call(func, inputs, "vjp", strict)
        v = read_vector(v, outputs, is_output_tuple, "vjp", create_graph, NEEDS_V_FOR_OUTPUT)
    with _grad_mode(create_graph):
        found = _gradients(outputs, inputs, v, create_graph=create_graph)
        found = fill_zeros(found, inputs, strict, create_graph, "back")
    return finish(outputs, create_graph, is_output_tuple), finish(found, create_graph, is_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), J v): the Jacobian times a vector.

    Computed by backward mode twice: v J is linear in v, and the gradient of that map is J.
    """
    with enable_grad():
        is_tuple, inputs = as_tuple(inputs, "inputs", "jvp")
        inputs = fresh(inputs, create_graph)
        v = read_vector(v, inputs, is_tuple, "jvp", create_graph, NEEDS_V_FOR_INPUT)
        is_output_tuple, outputs = _call(func, inputs, "jvp", strict)
        seeds = tuple(_C.zeros_like(output).requires_grad_() for output in outputs)
        linear = _gradients(outputs, inputs, seeds, create_graph=True)
        check_depends(linear, "grad_inputs", strict)
    with _grad_mode(create_graph):
        found = _gradients(linear, seeds, v, create_graph=create_graph)
        found = fill_zeros(found, outputs, strict, create_graph, "back_trick")
    return (
        finish(outputs, create_graph, is_output_tuple),
        finish(found, create_graph, is_output_tuple),
    )


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), v H): the product of a vector with the Hessian of a function to one number."""
    with enable_grad():
        is_tuple, inputs = as_tuple(inputs, "inputs", "vhp")
        inputs = fresh(inputs, create_graph)
        v = read_vector(v, inputs, is_tuple, "vhp", create_graph, NEEDS_V_FOR_INPUT)
        outputs = _call_scalar(func, inputs, "vhp", strict)
        first = _gradients(outputs, inputs, create_graph=True)
        check_depends(first, "jacobian", strict)
    with _grad_mode(create_graph):
        found = _gradients(first, inputs, v, create_graph=create_graph)
        found = fill_zeros(found, inputs, strict, create_graph, "double_back")
    return finish(outputs, create_graph, False), finish(found, create_graph, is_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(inputs), H v): the Hessian times a vector, by backward mode three times.

    Where the Hessian is symmetric `vhp` gives the same for less.
    """
    with enable_grad():
        is_tuple, inputs = as_tuple(inputs, "inputs", "hvp")
        inputs = fresh(inputs, create_graph)
        v = read_vector(v, inputs, is_tuple, "hvp", create_graph, NEEDS_V_FOR_INPUT)
        outputs = _call_scalar(func, inputs, "hvp", strict)
        first = _gradients(outputs, inputs, create_graph=True)
        check_depends(first, "jacobian", strict)
        seeds = tuple(_C.zeros_like(x).requires_grad_() for x in inputs)
        linear = _gradients(first, inputs, seeds, create_graph=True)
        check_depends(first, "hessian", strict)
    with _grad_mode(create_graph):
        found = _gradients(linear, seeds, v, create_graph=create_graph)
        found = fill_zeros(found, inputs, strict, create_graph, "double_back_trick")
    return finish(outputs, create_graph, False), finish(found, create_graph, is_tuple)


# ---- matrices ----


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The derivative of every output with respect to every input: [outputs][inputs].

    Each entry has the output's shape followed by the input's. `vectorize` computes all rows at once
    by vmap; `strategy="forward-mode"` computes columns in forward mode and needs it.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        is_tuple, inputs = as_tuple(inputs, "inputs", "jacobian")
        inputs = fresh(inputs, create_graph)
        is_output_tuple, outputs = _call(func, inputs, "jacobian", strict)
        if vectorize:
            if strict:
                raise RuntimeError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
                    "not supported together. Please either set `strict=False` or "
                    "`vectorize=False`."
                )
            rows = _batched_rows(outputs, inputs, create_graph)
        else:
            rows = [
                _rows(i, output, inputs, create_graph, strict) for i, output in enumerate(outputs)
            ]
    return finish_matrix(rows, create_graph, is_output_tuple, is_tuple)


def _rows(position, output, inputs, create_graph, strict):
    """The Jacobians of one output, an element at a time."""
    columns = [[] for _ in inputs]
    for element in output.reshape(-1).unbind():
        found = _gradients((element,), inputs, retain_graph=True, create_graph=create_graph)
        for i, (column, gradient, x) in enumerate(zip(columns, found, inputs)):
            if gradient is None:
                if strict:
                    raise RuntimeError(
                        f"Output {position} of the user-provided function is independent of input "
                        f"{i}. This is not allowed in strict mode."
                    )
                gradient = _C.zeros_like(x)
            elif strict and create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{i}. This is not allowed in strict mode when create_graph=True."
                )
            column.append(gradient)
    return [
        _C.stack(column).view((*output.size(), *x.size()))
        if column
        else _C.zeros((*output.size(), *x.size()), dtype=x.dtype, device=x.device)
        for column, x in zip(columns, inputs)
    ]


def _basis(tensors):
    """For each tensor the unit vectors of the space of all, restricted to its own elements."""
    total, start, chunks = sum(tensor.numel() for tensor in tensors), 0, []
    for tensor in tensors:
        chunk = _C.zeros((total, tensor.numel()), dtype=tensor.dtype, device=tensor.device)
        chunk[start : start + tensor.numel()].diagonal().fill_(1)
        chunks.append(chunk)
        start += tensor.numel()
    return tuple(chunks)


def _batched_rows(outputs, inputs, create_graph):
    """The Jacobians of all outputs by one batched call of `grad`."""
    flat = tuple(output.reshape(-1) for output in outputs)
    counts, seeds = [output.numel() for output in outputs], _basis(outputs)
    found = _gradients(flat, inputs, seeds, create_graph=create_graph, is_grads_batched=True)
    columns = []
    for gradient, x in zip(found, inputs):
        if gradient is None:
            gradient = _C.zeros_like(x).expand((sum(counts), *x.size()))
        pieces = gradient.split(counts)
        columns.append([p.reshape((*o.size(), *x.size())) for p, o in zip(pieces, outputs)])
    return list(zip(*columns))


def _forward_jacobian(func, inputs, strict, vectorize):
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )
    from taeda import vmap
    from taeda.autograd import forward_ad

    is_tuple, inputs = as_tuple(inputs, "inputs", "jacobian")
    seen = {}

    def product(*tangents):
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t.view_as(x)) for x, t in zip(inputs, tangents)]
            seen["is_tuple"], outputs = as_tuple(func(*duals), _RESULTS, "jacobian")
            pairs = [forward_ad.unpack_dual(output) for output in outputs]
            seen["sizes"] = [primal.size() for primal, _ in pairs]
            return tuple(_C.zeros_like(p) if t is None else t for p, t in pairs)

    counts, rows = [x.numel() for x in inputs], []
    for found, size in zip(vmap(product)(*_basis(inputs)), seen["sizes"]):
        pieces = found.split(counts)
        rows.append([p.movedim(0, -1).reshape((*size, *x.size())) for p, x in zip(pieces, inputs)])
    return finish_matrix(rows, True, seen["is_tuple"], is_tuple)


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """The second derivatives of a function to one number: [inputs][inputs]."""
    is_tuple, inputs = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*values):
        return _call_scalar(func, values, "hessian", strict)[0].squeeze()

    def first(*values):
        if outer_jacobian_strategy == "forward-mode":
            values = tuple(value.requires_grad_() for value in values)
        found = jacobian(scalar, values, create_graph=True)
        check_depends(found, "jacobian", strict)
        return found

    rows = jacobian(
        first,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return rows if is_tuple else rows[0][0]
