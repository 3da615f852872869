"""Runs one sample call in a framework: its results, and the gradients under a fixed cotangent."""

import warnings

import record_calls

# Dtypes with golden values; the gradients' are those in which few digits are lost.
DTYPES = ("float64", "float32", "bfloat16", "complex128", "int64", "bool")
GRADIENT_DTYPES = ("float64", "complex128")


def evaluate(framework, function, record, arguments, has_gradients):
    """`function`'s results as a flat list, and the gradients of differentiable arguments by name.

    `framework` is the module of `arguments`, (positional, keyword-only). A gradient that was not
    computed is None; there are no gradients at all where no result depends on an argument.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _evaluate(framework, function, record, arguments, has_gradients)


def _evaluate(framework, function, record, arguments, has_gradients):
    args, kwargs, leaves = arguments[0], arguments[1], {}
    if has_gradients:
        args, kwargs = _with_leaves(framework, record, args, kwargs, leaves)
    results = flat(function(*args, **kwargs))
    if not record.schema.returns:
        results = flat(written_arguments(record, args, kwargs))
    plain = record.data.get("plain_results", ())
    numbers = [
        r for i, r in enumerate(results) if i not in plain and isinstance(r, framework.Tensor)
    ]
    roots = [r for r in numbers if r.requires_grad]
    if not roots or not leaves:
        return results, {}
    cotangents = [cotangent(framework, r, i) for i, r in enumerate(roots)]
    grads = framework.autograd.grad(roots, list(leaves.values()), cotangents, allow_unused=True)
    return [detached(framework, r) for r in results], dict(zip(leaves, grads))


def _with_leaves(framework, record, args, kwargs, leaves):
    """The arguments, differentiable ones as leaves of a graph; those that are written as copies."""
    schema = {a.name: a for a in record.schema.arguments}
    wanted = record_calls.differentiable(record)

    def leaf(name, value, is_written):
        if not isinstance(value, framework.Tensor) or not record_calls.is_number(value):
            return value
        leaves[name] = value.detach().requires_grad_()
        return leaves[name].clone() if is_written else leaves[name]

    def convert(name, value):
        if name not in wanted:
            return value
        if isinstance(value, (list, tuple)):
            return [leaf(f"{name}[{i}]", v, schema[name].is_written) for i, v in enumerate(value)]
        return leaf(name, value, schema[name].is_written)

    values = {n: convert(n, v) for n, v in record_calls.named(record, args, kwargs).items()}
    return list(values.values())[: len(args)], {name: values[name] for name in kwargs}


def written_arguments(record, args, kwargs):
    """What an operator without results leaves behind."""
    values = record_calls.named(record, args, kwargs)
    return [values[a.name] for a in record.schema.arguments if a.is_written]


def detached(framework, value):
    return value.detach() if isinstance(value, framework.Tensor) else value


def flat(results):
    if isinstance(results, (list, tuple)):
        return [value for item in results for value in flat(item)]
    return [results]


def cotangent(framework, result, position):
    """Eighths by the element's index and the result's position: exact in every dtype."""

    def eighths(first):
        return [0.25 + (5 * i + first) % 7 / 8 for i in range(result.numel())]

    values = eighths(3 * position)
    if result.is_complex():
        values = [complex(x, -y) for x, y in zip(values, eighths(3 * position + 4))]
    return framework.tensor(values, dtype=result.dtype).reshape(tuple(result.shape))
