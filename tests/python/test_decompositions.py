"""Decompositions: results and shapes of the operators they stand for, and what they are made of.

Operators are met in two ways: whatever the samples of all records dispatch, forward and backward,
and the calls of `decomposition_calls`.
"""

import pytest
import record_calls
from decomposition_calls import all_calls
from record_calls import records
from sampled_calls import REFUSES_HALVES, samples
from taeda._decomp import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    global_decomposition_table,
    register_decomposition,
    remove_decompositions,
)
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils import _pytree as pytree
from taeda.utils._python_dispatch import TorchDispatchMode

import taeda

aten = taeda.ops.aten

TOLERANCES = {
    taeda.float64: 1e-10,
    taeda.complex128: 1e-10,
    taeda.float32: 2e-5,
    taeda.complex64: 2e-5,
    taeda.float16: 4e-3,
    taeda.bfloat16: 3e-2,
}
# Memory without values: only sizes, dtype and strides are compared.
EMPTY = ("empty_like", "empty_permuted", "new_empty", "new_empty_strided")
# Parts of an operator in the order of the operator's own body: not a bit may differ.
EXACT = ("addcmul", "addcdiv", "fmax", "fmin", "clamp_min", "clamp_max", "frac", "max", "min")
EXACT += ("gelu_backward", "tanh_backward", "sigmoid_backward", "leaky_relu_backward", "roll")
EXACT += ("threshold_backward", "masked_fill", "tril", "triu", "stack", "take", "nan_to_num")
EXACT += ("select_backward", "slice_backward", "diagonal_backward", "index_copy", "index_fill")
EXACT += ("rand_like", "randn_like", "floor_divide", "_div_floor", "_div_trunc", "sum", "zeros")

# Strided arguments: the parts' results follow them otherwise than the operator's do.
OTHER_STRIDES = {"leaky_relu_backward", "masked_fill", "index_copy", "index_add"}
OTHER_STRIDES |= {"_softmax_backward_data", "_log_softmax_backward_data"}
OTHER_STRIDES |= {"_fused_cross_entropy_backward", "linalg_householder_product", "orgqr"}
# Of a total weight that is a list of one number, which the operator takes.
NO_LISTS = {"nll_loss_backward", "nll_loss2d_backward"}


def key_of(op):
    return op.name().removeprefix("aten::")


def is_core(op):
    record = records().get(key_of(op))
    return record is not None and "core" in record.data.get("tags", [])


class Watch(TorchDispatchMode):
    """Keeps every call of an operator that has a decomposition."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in decomposition_table:
            self.calls.append((func, *pytree.tree_map(detached, (args, kwargs))))
        return func(*args, **kwargs)


def detached(x):
    return x.detach() if isinstance(x, taeda.Tensor) else x


def calls_of_sample(sample):
    """The calls that a sample and its backward make."""
    watch = Watch()
    with watch:
        results = sample(*sample.tensors)
        flat = [t for t in pytree.tree_leaves(results) if isinstance(t, taeda.Tensor)]
        for t in flat:
            if t.requires_grad:
                t.backward(taeda.ones_like(t), retain_graph=True)
    return watch.calls


def sampled(name, dtype):
    found = []
    for sample in samples(name, dtype, requires_grad=has_derivative(name)):
        if name not in NO_LISTS or sample.tensors[-1].dim() == 0:
            found += calls_of_sample(sample)
    return found


def has_derivative(name):
    record = records()[name]
    return "no_grad" not in record.data and not record_calls.unchecked(record)


def from_same_seed(fn, args, kwargs):
    taeda.manual_seed(3)
    for x in pytree.tree_leaves((args, kwargs)):
        if isinstance(x, taeda.Generator):
            x.manual_seed(3)
    return fn(*args, **kwargs)


def tensors_of(results):
    return [t for t in pytree.tree_leaves(results) if isinstance(t, taeda.Tensor)]


def check_layout(got, expected, op):
    assert got.dtype == expected.dtype, (op, got.dtype, expected.dtype)
    assert got.shape == expected.shape, (op, got.shape, expected.shape)
    same = got.numel() == 0 or got.stride() == expected.stride()
    assert same or op._opname in OTHER_STRIDES, (op, got.stride(), expected.stride())


def check_call(op, args, kwargs):
    expected = tensors_of(from_same_seed(op, args, kwargs))
    got = tensors_of(from_same_seed(decomposition_table[op], args, kwargs))
    assert len(got) == len(expected), op
    for a, b in zip(got, expected):
        check_layout(a, b, op)
        if op._opname in EMPTY:
            continue
        tolerance = 0 if op._opname in EXACT else TOLERANCES.get(b.dtype, 0)
        close = taeda.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert close, (op, args, kwargs, a, b)


def check_meta(op, args, kwargs):
    """On tensors without memory."""
    moved = pytree.tree_map_only(taeda.Tensor, lambda t: t.to("meta"), (args, kwargs))
    if not tensors_of(moved) or key_of(op) in READS_VALUES:
        return
    expected = tensors_of(op(*moved[0], **moved[1]))
    got = tensors_of(decomposition_table[op](*moved[0], **moved[1]))
    for a, b in zip(got, expected):
        check_layout(a, b, op)


READS_VALUES = {"one_hot", "linspace.Tensor_Tensor", "linspace.Tensor_Scalar"}
READS_VALUES |= {"linspace.Scalar_Tensor", "logspace.Tensor_Tensor", "logspace.Tensor_Scalar"}
READS_VALUES |= {"logspace.Scalar_Tensor", "ctc_loss.Tensor", "_ctc_loss.Tensor"}


def remaining(op, args, kwargs):
    """The operators that make_fx keeps of a call."""
    flat, spec = pytree.tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(flat) if isinstance(x, taeda.Tensor)]

    def program(*tensors):
        values = list(flat)
        for i, t in zip(places, tensors):
            values[i] = t
        given, named = pytree.tree_unflatten(values, spec)
        return op(*given, **named)

    gm = make_fx(program, core_aten_decompositions())(*(flat[i] for i in places))
    return [n.target for n in gm.graph.nodes if isinstance(n.target, taeda._ops.OpOverload)]


def check_core(op, args, kwargs):
    """Core operators, and those with a written reason."""
    for target in remaining(op, args, kwargs):
        record = records().get(key_of(target))
        assert record is not None, (op, target)
        assert is_core(target) or "no_decomposition" in record.data, (op, target)


NAMES = sorted(record_calls.sampled())
DTYPES = (taeda.float64, taeda.float32, taeda.float16, taeda.bfloat16, taeda.complex128)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_a_sample_calls(name):
    for dtype in DTYPES:
        for call in sampled(name, dtype) if takes(name, dtype) else []:
            check_call(*call)
            check_meta(*call)
    for call in sampled(name, taeda.float32):
        if not counts_classes(call) and not has_generator(call):
            check_core(*call)


def has_generator(call):
    """No value of a graph."""
    return any(isinstance(x, taeda.Generator) for x in pytree.tree_leaves(call[1:]))


def counts_classes(call):
    """Reads its greatest element."""
    return call[0] is aten.one_hot.default and len(call[1]) == 1


def takes(name, dtype):
    """Some operators do not take the halves, of which there are no complex numbers."""
    is_short = dtype in (taeda.float16, taeda.bfloat16)
    return not (is_short and name in REFUSES_HALVES)


def label(call):
    return key_of(call[0])


@pytest.mark.parametrize("call", all_calls(), ids=label)
def test_call(call):
    check_call(*call)
    check_meta(*call)
    if not counts_classes(call):
        check_core(*call)


@pytest.mark.slow
def test_every_decomposition_was_compared():
    seen = {op for op, _, _ in all_calls()}
    for name in NAMES:
        seen |= {op for op, _, _ in sampled(name, taeda.float64)}
        seen |= {op for op, _, _ in sampled(name, taeda.complex128)}
    missing = {key_of(op) for op in core_aten_decompositions()} - {key_of(op) for op in seen}
    assert missing == set()


def test_every_operator_reaches_the_core_set():
    for r in records().values():
        functional = r.kind != "composite" and not r.schema.is_inplace
        if functional and "core" not in r.data.get("tags", []):
            packet = getattr(aten, r.schema.name)
            op = getattr(packet, r.schema.overload or "default")
            assert (op in decomposition_table) != ("no_decomposition" in r.data), r.key


def test_the_core_table_holds_no_core_operator():
    assert not [op for op in core_aten_decompositions() if is_core(op)]


def test_gradients_flow_through_a_decomposition():
    x = taeda.tensor([0.5, -1.0], requires_grad=True)
    decomposition_table[aten.silu.default](x).sum().backward()
    y = x.detach().requires_grad_()
    taeda.nn.functional.silu(y).sum().backward()
    assert taeda.allclose(x.grad, y.grad)


def test_a_trace_through_the_table():
    x = taeda.randn(3, 4)
    gm = make_fx(lambda a: taeda.nn.functional.silu(a), core_aten_decompositions())(x)
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.sigmoid.default", "aten.mul.Tensor"]
    assert taeda.equal(gm(x), x * x.sigmoid())


def test_half_is_rounded_once():
    x = taeda.linspace(-4, 4, 1001).half()
    got = decomposition_table[aten.silu.default](x)
    wide = x.float()
    assert taeda.equal(got, (wide * wide.sigmoid()).half())
    assert not taeda.equal(got, x * x.sigmoid())


def test_registered_functions_go_first():
    native = decomposition_table[aten.silu.default]
    try:

        @register_decomposition(aten.silu)
        def mine(x):
            return x + 1

        assert decomposition_table[aten.silu.default] is mine
        assert core_aten_decompositions()[aten.silu.default] is mine
        with pytest.raises(RuntimeError, match="duplicate registrations"):
            register_decomposition(aten.silu.default)(mine)
        gm = make_fx(taeda.nn.functional.silu, get_decompositions([aten.silu]))(taeda.ones(2))
        assert gm(taeda.ones(2)).tolist() == [2.0, 2.0]
    finally:
        for name in aten.silu.overloads():
            decomposition_table.pop(getattr(aten.silu, name), None)
        decomposition_table[aten.silu.default] = native


def test_a_registry_of_ones_own():
    table = {}
    register_decomposition([aten.gelu.default, aten.relu.default], table)(lambda x: x)
    assert set(table) == {aten.gelu.default, aten.relu.default}
    remove_decompositions(table, [aten.gelu])
    assert set(table) == {aten.relu.default}


def test_tables_by_stage():
    assert global_decomposition_table["post_autograd"] is decomposition_table
    assert get_decompositions([aten.silu], type="meta") == {}
    with pytest.raises(ValueError, match="type must be one of"):
        get_decompositions([aten.silu], type="later")


def test_what_is_no_operator_is_refused():
    with pytest.raises(TypeError, match="expected an operator of taeda"):
        get_decompositions([3])


def test_decompose_of_a_composite():
    seen = Watch()
    assert aten.silu.default.decompose(taeda.ones(2)) is NotImplemented
    with seen:
        out = aten.square.default.decompose(taeda.tensor([3.0]))
    assert out.item() == 9


def test_functions_by_name():
    from taeda._decomp import decompositions

    assert decompositions.silu_backward is decomposition_table[aten.silu_backward.default]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        decompositions.nothing  # noqa: B018


def test_products_of_batches_come_apart_in_a_trace():
    def f(x, w):
        return taeda.nn.functional.linear(x, w).view(-1)

    x, w = taeda.randn(2, 3, 4), taeda.randn(5, 4)
    gm = make_fx(f, decomposition_table=core_aten_decompositions(), tracing_mode="fake")(x, w)
    names = [n.name for n in gm.graph.nodes if n.op == "call_function"]
    assert names == ["permute", "view", "mm", "view_1", "view_2"]
    assert taeda.allclose(gm(x, w), f(x, w), atol=1e-6)
