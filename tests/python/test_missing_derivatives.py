"""What has no derivative in PyTorch raises in backward here too, and is never a constant.

A constant where PyTorch raises drops a part of the gradient without a word. The comparison goes over
the samples of every record: where results depend on an argument, in PyTorch by an error, they must
in Taeda.
"""

import warnings

import pytest
import record_calls

import taeda

# Operators that PyTorch refuses to differentiate, and why they are constants here.
CONSTANTS = {
    "detach_copy": "it cuts the graph, as detach does",
    "_amp_update_scale_": "a scale is changed outside any graph",
    "_foreach_zero": "zeros depend on nothing",
}
# Operators that PyTorch differentiates by some of their arguments, and Taeda by none: both raise.
OTHER_WORDS = {"native_layer_norm_backward", "native_batch_norm_backward"}


def leaves_of(framework, record, args, kwargs):
    """The arguments with each tensor of numbers that is not written as a leaf, and the leaves."""
    written = {a.name for a in record.schema.arguments if a.is_written}
    leaves = []

    def leaf(name, value):
        if isinstance(value, (list, tuple)):
            return type(value)(leaf(name, item) for item in value)
        is_tensor = isinstance(value, framework.Tensor)
        if name in written or not is_tensor or not value.dtype.is_floating_point:
            return value
        leaves.append(value.detach().requires_grad_())
        return leaves[-1]

    named = {n: leaf(n, v) for n, v in record_calls.named(record, args, kwargs).items()}
    return list(named.values())[: len(args)], {n: named[n] for n in kwargs}, leaves


def flat(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def backward_of(framework, function, record, arguments):
    """For each result of numbers: 'constant', 'differentiable', or the error of its backward."""
    args, kwargs, leaves = leaves_of(framework, record, *arguments)
    found = []
    for result in flat(function(*args, **kwargs)) if leaves else ():
        if not isinstance(result, framework.Tensor) or not result.dtype.is_floating_point:
            continue
        if not result.requires_grad:
            found.append("constant")
            continue
        try:
            framework.autograd.grad(
                result, leaves, framework.ones_like(result), allow_unused=True, retain_graph=True
            )
            found.append("differentiable")
        except (RuntimeError, NotImplementedError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def silent_constants(peer, torch, key):
    """Samples with a result that is a constant here, where PyTorch's backward raises."""
    record = record_calls.records()[key]
    packet = getattr(torch.ops.aten, record.schema.name, None)
    function = getattr(packet, record.schema.overload or "default", None)
    for call in record_calls.calls(key, taeda.float64) if function else ():
        try:
            theirs = backward_of(torch, function, record, peer.converted(call.arguments()))
        except (RuntimeError, NotImplementedError, IndexError):
            continue  # a call that PyTorch refuses as a whole
        ours = backward_of(taeda, record_calls.overload(key), record, call.arguments())
        for i, (mine, other) in enumerate(zip(ours, theirs)):
            if mine == "constant" and "not implemented" in other:
                yield f"{call}: result {i}, PyTorch: {other}"
            do_both_refuse = "not implemented" in mine and "not implemented" in other
            if do_both_refuse and mine != other and key not in OTHER_WORDS:
                yield f"{call}: {mine}, PyTorch: {other}"


def test_no_constant_where_pytorch_raises(torch):
    from golden_values import peer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keys = [key for key in record_calls.sampled() if key not in CONSTANTS]
        found = [line for key in keys for line in silent_constants(peer, torch, key)]
    assert not found, "\n".join(found)


X = (0.5, 1.5, 2.5)
REFUSED = {
    "heaviside": (lambda x: taeda.heaviside(x, x), RuntimeError, "aten::heaviside"),
    "floor_divide": (lambda x: x // 0.3, RuntimeError, "aten::floor_divide"),
    "unique": (taeda.unique, NotImplementedError, "'_unique2'"),
    "unique_dim": (lambda x: taeda.unique(x, dim=0), NotImplementedError, "'unique_dim'"),
    "unique_consecutive": (
        taeda.unique_consecutive,
        NotImplementedError,
        "'unique_consecutive'",
    ),
    "bincount": (
        lambda x: taeda.bincount(taeda.tensor([0, 1, 1]), x),
        RuntimeError,
        "aten::bincount",
    ),
    "linspace": (lambda x: taeda.linspace(x[0], x[1], 3), RuntimeError, "aten::linspace"),
    "histogram": (lambda x: taeda.histogram(x, 3).bin_edges, RuntimeError, "aten::histogram"),
    "binomial": (
        lambda x: taeda.binomial(taeda.full((3,), 9.0), x / 5),
        RuntimeError,
        "aten::binomial",
    ),
    "bernoulli": (lambda x: taeda.bernoulli(x, 0.5), RuntimeError, "aten::bernoulli"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_backward_raises(name):
    function, error, words = REFUSED[name]
    x = taeda.tensor(X, requires_grad=True)
    result = function(x).sum() + x.sum()
    with pytest.raises(error, match=f"derivative for {words} is not implemented"):
        result.backward()


@pytest.mark.parametrize("name", REFUSED)
def test_a_tangent_is_refused(name):
    function = REFUSED[name][0]
    x = taeda.tensor(X)
    with pytest.raises(NotImplementedError, match="forward AD"):
        taeda.func.jvp(function, (x,), (taeda.ones(3),))


@pytest.mark.parametrize("name", REFUSED)
def test_values_are_there_without_a_graph(name):
    function = REFUSED[name][0]
    with taeda.no_grad():
        assert not function(taeda.tensor(X, requires_grad=True)).requires_grad


def test_second_derivative_of_segment_reduce():
    x = taeda.tensor(X, dtype=taeda.float64, requires_grad=True)
    result = taeda.segment_reduce(x, "prod", lengths=taeda.tensor([1, 2]))
    (grad,) = taeda.autograd.grad(result.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="aten::_segment_reduce_backward is not implemented"):
        grad.sum().backward()


def test_second_derivative_of_a_gamma_variable():
    shape = taeda.tensor(X, requires_grad=True)
    (grad,) = taeda.autograd.grad(taeda._standard_gamma(shape).sum(), shape, create_graph=True)
    with pytest.raises(NotImplementedError, match="'_standard_gamma_grad'"):
        grad.sum().backward()


def test_the_node_says_so():
    x = taeda.tensor(X, requires_grad=True)
    assert taeda.heaviside(x, x).grad_fn.name() == "NotImplemented"
    assert taeda.ops.aten.lift_fresh_copy(x).grad_fn is not None


@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 2, 2)])
def test_second_derivatives_that_are_zero(shape):
    x = taeda.rand(shape, dtype=taeda.float64, requires_grad=True)
    target = taeda.zeros((shape[0], *shape[2:]), dtype=taeda.int64)
    loss = taeda.nn.functional.nll_loss(x, target)
    (grad,) = taeda.autograd.grad(loss, x, create_graph=True)
    (second,) = taeda.autograd.grad(grad.sum(), x)
    assert second.shape == x.shape and not second.any()
