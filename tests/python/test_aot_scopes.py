"""Modes and marks around programs traced ahead of time: autocast, sizes that change, effects."""

import importlib

import pytest
from taeda._functorch.aot_autograd import SerializableAOTDispatchCompiler
from taeda._higher_order_ops.effects import _register_effectful_op
from taeda._inductor import compile as inductor
from taeda._inductor.codecache import FxGraphCache, compiled_fx_graph_hash
from taeda._inductor.output_code import MockFXGraphCacheOutput
from taeda._library.effects import EffectType
from taeda.fx.aot import aot_function, make_boxed_func, min_cut_rematerialization_partition, nop
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils._config_module import functorch_config
from taeda.utils.checkpoint import checkpoint

import taeda as t


def kernels(gm, inputs):
    return make_boxed_func(inductor(gm, inputs, native="never"))


MARK = "_dynamo_propagated_dynamic_indices"


@pytest.fixture(autouse=True)
def fresh():
    t.compiler.reset()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_graphs_inside_of_inference_mode(backend, monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    model = t.nn.Linear(3, 3)

    @t.inference_mode()
    def decorated(x, scale):
        return model(x) * scale

    def partly(x, scale):
        y = x * scale
        with t.inference_mode():
            z = model(y) + scale
        return y, z

    x, scale = t.randn(2, 3), t.randn(3, requires_grad=True)
    for function in (decorated, partly):
        compiled = t.compile(function, backend=backend, fullgraph=True)
        for given in (x, t.randn(4, 3), t.randn(5, 3)):
            t.testing.assert_close(compiled(given, scale), function(given, scale))
    y, _ = compiled(x, scale)
    (grad,) = t.autograd.grad(y.sum(), scale)
    t.testing.assert_close(grad, x.sum(0))
    with t.inference_mode():
        assert compiled(x, scale)[0].is_inference()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_results_are_inference_tensors_where_eager_has_them(backend, around, requires_grad):
    def function(x):
        a = x.detach() * 2
        with t.inference_mode():
            b, c = a * 2, t.zeros(2)
            c.copy_(b)
        with t.no_grad(), t.inference_mode(False):
            d = x + 1
            d.mul_(2)
        return a, b, c, d, b.clone(), a.view(-1), x

    def looks(f):
        x = t.ones(2, requires_grad=requires_grad)
        with t.inference_mode(around):
            results = f(x)
        return [(r.is_inference(), r.requires_grad, r.tolist()) for r in results]

    assert looks(t.compile(function, backend=backend)) == looks(function)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_inference_results_take_no_part_in_gradients(backend):
    @t.inference_mode()
    def function(x):
        return x * 2

    result = t.compile(function, backend=backend)(t.ones(2))
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        result.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        result * t.ones(2, requires_grad=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_autocast_of_the_caller_does_not_cast_twice(backend):
    def function(x, w):
        with t.autocast("cpu", enabled=False):
            return x @ w

    x, w = t.randn(4, 4), t.randn(4, 4, requires_grad=True)
    compiled = t.compile(function, backend=backend)
    for _ in range(2):
        with t.autocast("cpu"), functorch_config.patch(backward_pass_autocast="off"):
            out = compiled(x, w)
        (grad,) = t.autograd.grad(out.sum(), w)
        assert out.dtype == t.float32 and t.equal(out, function(x, w))
        assert t.equal(grad, t.autograd.grad(function(x, w).sum(), w)[0])


AUTOCAST_OF_BACKWARD = {
    "same_as_forward": t.float32,
    "off": t.float32,
    (("device_type", "cpu"),): t.bfloat16,
}


@pytest.mark.parametrize("setting", AUTOCAST_OF_BACKWARD)
def test_autocast_while_gradients_are_traced(setting):
    seen = []

    class Product(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            product = grad @ x.mT
            seen.append(product.dtype)
            return product.float()

    given = setting if isinstance(setting, str) else [dict(setting)]
    x = t.randn(3, 3, requires_grad=True)
    with functorch_config.patch(backward_pass_autocast=given):
        out = aot_function(Product.apply, nop)(x)
    assert out.dtype == t.float32 and seen == [AUTOCAST_OF_BACKWARD[setting]]
    assert not t.is_autocast_enabled("cpu")


@pytest.mark.slow
def test_exact_gradients_do_not_follow_the_autocast_of_the_forward():
    attention = t.nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=True)

    def gradients(module):
        t.manual_seed(5)
        x = t.randn(3, 5, 16, requires_grad=True)
        with t.autocast("cpu"):
            out = module(x, x, x, need_weights=False)[0]
        return t.autograd.grad(out.float().square().sum(), [x, *attention.parameters()])

    compiled = t.compile(attention, options={"exact": True})
    for _ in range(2):
        for got, expected in zip(gradients(compiled), gradients(attention), strict=True):
            assert t.equal(got, expected)
        t.compiler.wait()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_results_of_changing_sizes_say_so(backend):
    def matmul(x, y):
        return t.matmul(x, y)

    compiled = t.compile(matmul, backend=backend)
    assert not hasattr(compiled(t.randn(10, 10), t.randn(10, 10)), MARK)
    out = compiled(t.randn(20, 20), t.randn(20, 20))
    assert getattr(out, MARK) == {0, 1}
    graphs = []

    def show(gm, inputs):
        graphs.append(inputs)
        return gm.forward

    then = t.compile(lambda z: z * 2, backend=show)
    assert t.equal(then(out), out * 2)
    assert all(isinstance(n, t.SymInt) for n in graphs[0][0].shape)
    then(compiled(t.randn(30, 30), t.randn(30, 30)))
    assert len(graphs) == 1


def test_saved_tensors_of_changing_sizes_say_so():
    packed = []

    def pack(x):
        packed.append(hasattr(x, MARK))
        return x

    compiled = t.compile(lambda x, y: (x @ y) @ y, backend="aot_eager")
    for size, is_marked in ((10, False), (20, True)):
        packed.clear()
        x, y = (t.randn(size, size, requires_grad=True) for _ in range(2))
        with t.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            compiled(x, y)
        assert packed and set(packed) == {is_marked}


def test_truth_values_of_data_are_asserted():
    def function(x):
        t._check((x > 0).all().item())
        return x + 1

    compiled = aot_function(function, nop)
    x = t.tensor([1.0, 2.0])
    assert t.equal(compiled(x), x + 1)
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression Eq"):
        compiled(-x)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_calls_of_operators_with_effects_stay(backend, requires_grad):
    log = []

    @t.library.custom_op("test_aot_scopes::note", mutates_args=())
    def note(s: str, x: t.Tensor) -> t.Tensor:
        log.append(s)
        return t.zeros(1)

    @note.register_fake
    def _(s, x):
        return t.zeros(1)

    def function(x):
        t.ops.test_aot_scopes.note("seen", x)
        return x + x

    x = t.ones(3, requires_grad=requires_grad)
    handle = _register_effectful_op(note, EffectType.ORDERED)
    assert t.equal(t.compile(function, backend=backend, fullgraph=True)(x), x + x)
    assert log == ["seen"]
    handle.destroy()
    t.compiler.reset()
    t.compile(function, backend="inductor", fullgraph=True)(x)  # which computes what is used
    assert log == ["seen"]


def test_hash_of_a_graph_is_its_content():
    def key(function, *inputs):
        return compiled_fx_graph_hash(make_fx(function)(*inputs), inputs, {}, [])[0]

    x, constant = t.ones(3), t.arange(3.0)
    assert key(lambda x: x.sin(), x) == key(lambda x: t.sin(x), x * 2)
    others = [
        key(lambda x: x.cos(), x),
        key(lambda x: x.sin(), t.ones(4)),
        key(lambda x: x + constant, x),
        key(lambda x: x + (constant + 1), x),
    ]
    assert len({key(lambda x: x.sin(), x), *others}) == 5
    key, lines = compiled_fx_graph_hash(make_fx(t.sin)(x), [x], {}, [])
    assert any("aten.sin" in line for line in lines)
    assert FxGraphCache.load_with_key(key, lines, [x], True, None, False, {})[0] is None


def test_compilers_say_what_they_give():
    def compiler(gm, inputs):
        return MockFXGraphCacheOutput(make_boxed_func(gm.forward))

    x = t.randn(3, requires_grad=True)
    own = SerializableAOTDispatchCompiler(MockFXGraphCacheOutput, compiler)
    aot_function(t.sin, own, partition_fn=min_cut_rematerialization_partition)(x).sum().backward()
    assert t.allclose(x.grad, x.detach().cos())
    with pytest.raises(AssertionError, match="expected the compiler to give"):
        aot_function(t.sin, SerializableAOTDispatchCompiler(MockFXGraphCacheOutput, nop))(x)


def test_paths_of_pytorch_are_there():
    control_flow = importlib.import_module("taeda.functorch.experimental.control_flow")
    experimental = importlib.import_module("taeda.functorch.experimental")
    assert control_flow.cond is t.cond
    x = t.randn(5, 2)
    assert t.allclose(experimental.chunk_vmap(t.sum, chunks=2)(x), x.sum(1))
    interface = t._dynamo.device_interface.get_interface_for_device("cpu")
    assert interface.is_available() and interface.is_dtype_supported(t.bfloat16)
    with pytest.raises(NotImplementedError, match="No interface for device"):
        t._dynamo.device_interface.get_interface_for_device("meta")
    is_constructor = t._subclasses.fake_tensor._is_tensor_constructor
    aten = t.ops.aten
    assert is_constructor(aten.ones.default) and not is_constructor(aten.sin.default)


def test_programs_for_one_tensor_twice_refuse_two():
    def function(x, y):
        x.unsqueeze_(0)
        y.unsqueeze_(0)
        return x + y

    def tensor():
        return t.randn(3, requires_grad=True).clone()

    compiled, x = aot_function(function, nop), tensor()
    assert compiled(x, x).shape == x.shape == (1, 1, 3)
    x, y = tensor(), tensor()
    with pytest.raises(AssertionError, match="that input 1 would be a duplicate of input 0"):
        compiled(x, y)
    assert x.shape == y.shape == (3,)
    plain = aot_function(lambda x, y: x * y, nop)
    assert t.equal(plain(x, x), x * x) and t.equal(plain(x, y), x * y)


def test_columns_of_a_matrix_are_no_shared_memory():
    graphs = []

    def compiler(gm, inputs):
        graphs.append(str(gm.graph))
        return make_boxed_func(gm.forward)

    def function(a, b):
        a.mul_(3)
        b.mul_(2)
        return a + b

    results = []
    for run in (function, aot_function(function, compiler)):
        x = t.arange(16.0).reshape(4, 4)
        results.append((run(x[:, :2], x[:, 2:]), x))
    assert t.equal(results[0][0], results[1][0]) and t.equal(results[0][1], results[1][1])
    assert "zeros" not in graphs[0]  # no value that stands for the memory of both
    overlapping = aot_function(function, compiler)
    x = t.arange(16.0).reshape(4, 4)
    overlapping(x[:, :3], x[:, 1:])
    plain = t.arange(16.0).reshape(4, 4)
    function(plain[:, :3], plain[:, 1:])
    assert t.equal(x, plain)


def recorded_inside(x):
    a = x[0]
    with t.enable_grad():
        z = x * 3
        v, b = z[1], x[0]
    return z, v, a, b, x + 1


@pytest.mark.parametrize("way", ["graph", "kernels", "make_fx"])
def test_gradients_switched_on_inside_of_no_grad(way):
    x = t.arange(4.0).reshape(2, 2).requires_grad_()
    with t.no_grad():
        want = recorded_inside(x)
        if way == "make_fx":
            gm = make_fx(recorded_inside, pre_dispatch=True)(x)
            compiled = inductor(gm, [x], native="never")
        else:
            compiled = aot_function(recorded_inside, nop if way == "graph" else kernels)
        have = compiled(x)
    assert [r.requires_grad for r in have] == [r.requires_grad for r in want]
    gradients = []
    for z, v, _, b, _ in (have, want):
        loss = z.sin().sum() + v.sum() * b.sum()
        (once,) = t.autograd.grad(loss, x, create_graph=True)
        (twice,) = t.autograd.grad(once.sum(), x)
        gradients.append((once.detach(), twice))
    t.testing.assert_close(gradients[0], gradients[1])
    with pytest.raises(RuntimeError, match="was compiled under no_grad; compile it with"):
        compiled(x)


def test_what_records_nothing_under_no_grad_is_an_inference():
    graphs = []

    def note(gm, inputs):
        graphs.append(gm)
        return nop(gm, inputs)

    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        aot_function(t.sin, None, None, inference_compiler=note)(x)
    assert [node.name for node in graphs[0].graph.nodes] == ["arg0_1", "sin", "output"]


@pytest.mark.parametrize("is_recording", [False, True])
def test_a_gradient_inside_frees_the_history_of_a_result(is_recording):
    def guided(x, w):
        with t.enable_grad():
            x = x.detach().requires_grad_(True)
            loss = (x @ w).sin().sum()
            (grad,) = t.autograd.grad(loss, x)
        return x - 0.1 * grad, loss

    x, w = t.randn(2, 3), t.randn(3, 3, requires_grad=True)
    with t.set_grad_enabled(is_recording):
        want, have = guided(x, w), aot_function(guided, nop)(x, w)
    for a, b in zip(have, want, strict=True):
        assert t.equal(a, b) and a.requires_grad == b.requires_grad
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        have[1].backward()


def test_grad_of_an_input_that_the_program_fills_is_refused():
    def function(x, w):
        (x @ w).sum().backward()
        return x * 2

    w = t.randn(3, 3, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"accumulates into \.grad of input 1"):
        aot_function(function, nop)(t.randn(2, 3), w)


def test_a_program_that_ends_in_another_grad_mode_is_traced_twice():
    def function(x, b):
        y = checkpoint(lambda x, b: (b.clone(), x.sin() * 2)[1], x, b, use_reentrant=False)
        t._C._set_grad_enabled(False)
        b.add_(0.05)  # a backward finds out that the region reads it
        return y, y.detach()

    x = t.randn(3, requires_grad=True)
    with t.enable_grad():
        y, plain = aot_function(function, nop)(x, t.ones(3))
    assert y.requires_grad and not plain.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
