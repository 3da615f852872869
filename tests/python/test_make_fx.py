"""make_fx: what is recorded, through autograd, transforms and modes, and what is refused."""

import numpy
import pytest
from taeda._subclasses.fake_tensor import FakeTensorMode
from taeda.fx.experimental.proxy_tensor import (
    DecompositionInterpreter,
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    get_isolated_graphmodule,
    get_proxy_mode,
    is_sym_node,
    make_fx,
)
from taeda.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode

import taeda
from taeda.func import functionalize, grad, vmap


def code(gm):
    return [line.strip() for line in gm.code.strip().splitlines()]


def test_operators_become_nodes():
    def f(x, y):
        z = x * y + 1
        return z.sum(), taeda.split(z, 1)[0]

    gm = make_fx(f)(taeda.randn(2, 3), taeda.randn(3))
    assert code(gm) == [
        "def forward(self, x_1, y_1):",
        "mul = taeda.ops.aten.mul.Tensor(x_1, y_1);  x_1 = y_1 = None",
        "add = taeda.ops.aten.add.Tensor(mul, 1);  mul = None",
        "sum_1 = taeda.ops.aten.sum.default(add)",
        "split = taeda.ops.aten.split.Tensor(add, 1);  add = None",
        "getitem = split[0]",
        "getitem_1 = split[1];  split = getitem_1 = None",
        "return (sum_1, getitem)",
    ]
    assert gm.graph._open_reason() == ""


def test_pytrees_go_in_and_come_out():
    def f(a):
        return {"o": a["k"] + a["l"][0], "n": 3}

    given = {"k": taeda.ones(2), "l": [taeda.ones(2)]}
    gm = make_fx(f)(given)
    result = gm(given)
    assert result["n"] == 3
    assert taeda.equal(result["o"], taeda.full((2,), 2.0))


def test_captured_tensors_become_attributes():
    weight = taeda.nn.Parameter(taeda.ones(3))
    other = taeda.full((3,), 2.0)
    gm = make_fx(lambda x: x * weight + other)(taeda.ones(3))
    assert gm._param_constant0 is weight
    assert gm._tensor_constant0 is other
    assert taeda.equal(gm(taeda.ones(3)), taeda.full((3,), 3.0))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_gradients_are_part_of_the_graph(mode):
    def f(x, w):
        loss = taeda.tanh(x @ w).sigmoid().sum()
        return taeda.autograd.grad(loss, [w])

    x, w = taeda.randn(2, 3), taeda.randn(3, 4, requires_grad=True)
    gm = make_fx(f, tracing_mode=mode)(x, w)
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert "aten.tanh_backward.default" in targets
    assert not any(n.op == "get_attr" for n in gm.graph.nodes)
    assert taeda.allclose(gm(x, w)[0], f(x, w)[0])


def test_transforms_are_gone_from_the_graph():
    def f(x):
        return vmap(grad(lambda t: (t * t * t).sum()))(x)

    x = taeda.randn(4, 3)
    gm = make_fx(f)(x)
    assert taeda.allclose(gm(x), 3 * x * x)
    assert all("vmap" not in str(n.target) for n in gm.graph.nodes)


def test_sizes_stay_symbols():
    gm = make_fx(lambda x: x.view(x.shape[0] * 2, -1) + x.shape[0], tracing_mode="symbolic")(
        taeda.ones(4, 6)
    )
    assert "sym_size_int = taeda.ops.aten.sym_size.int(x_1, 0)" in gm.code
    x = taeda.randn(5, 8)
    assert taeda.equal(gm(x), x.view(10, -1) + 5)


def test_numbers_of_inputs_stay_symbols():
    gm = make_fx(lambda x, n: x.sum() * n, tracing_mode="symbolic")(taeda.ones(3), 5)
    assert gm(taeda.ones(4), 2).item() == 8.0


def test_values_read_from_tensors():
    def f(x):
        n = x.sum().item()
        taeda._check_is_size(n)
        return taeda.zeros(n)

    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(taeda.ones(4, dtype=taeda.int64))
    gm = make_fx(f, tracing_mode="symbolic")(taeda.ones(4, dtype=taeda.int64))
    assert gm(taeda.tensor([1, 2])).shape == (3,)


def test_control_flow_on_values_is_refused():
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        make_fx(f)(taeda.ones(3))


def test_decompositions_run_instead():
    table = {taeda.ops.aten.silu.default: lambda x: x * taeda.sigmoid(x)}
    gm = make_fx(taeda.nn.functional.silu, table)(taeda.ones(3))
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert targets == ["aten.sigmoid.default", "aten.mul.Tensor"]


def test_writes_are_removed_under_functionalize():
    def f(x):
        y = x.clone()
        y[0] = 3.0
        y.add_(1)
        return y

    gm = make_fx(functionalize(f))(taeda.zeros(2, 3))
    x = taeda.randn(2, 3)
    assert taeda.allclose(gm(x), f(x))


def test_a_tensor_from_data_is_a_copy_of_a_constant():
    gm = make_fx(lambda x: taeda.tensor([1.0, 2.0]) * x, tracing_mode="fake")(taeda.ones(2))
    assert "lift_fresh_copy" in gm.code
    assert taeda.equal(gm(taeda.ones(2)), taeda.tensor([1.0, 2.0]))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("is_before_autograd", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[[0, 2]],
        lambda x: x[:, [[0, 1], [1, 2]]] * 2,
        lambda x: x[[0, 1], [2, 0]],
        lambda x: x[[True, False, True, False]],
    ],
)
def test_lists_are_indices(f, is_before_autograd, mode):
    x = taeda.arange(12.0).reshape(4, 3)
    gm = make_fx(f, tracing_mode=mode, pre_dispatch=is_before_autograd)(x)
    assert taeda.equal(gm(x + 1), f(x + 1))


def test_stack_traces_name_the_users_line():
    gm = make_fx(lambda x: x.relu(), record_stack_traces=True)(taeda.ones(2))
    node = next(n for n in gm.graph.nodes if n.op == "call_function")
    assert "test_make_fx.py" in node.meta["stack_trace"]


def test_meta_holds_fake_results():
    gm = make_fx(lambda x: x.t())(taeda.ones(2, 3))
    node = next(n for n in gm.graph.nodes if n.op == "call_function")
    val = node.meta["val"]
    assert (tuple(val.shape), tuple(val.stride())) == ((3, 2), (1, 3))
    assert val.fake_mode is not None


def test_the_tracer_is_active_only_inside():
    seen = []

    def f(x):
        seen.append(get_proxy_mode() is not None)
        return x

    make_fx(f)(taeda.ones(1))
    assert seen == [True]
    assert get_proxy_mode() is None


def test_an_error_inside_leaves_no_mode_behind():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        make_fx(f, tracing_mode="fake")(taeda.ones(1))
    assert taeda._C._len_torch_dispatch_stack() == 0


def test_modes_and_fakes_that_do_not_fit():
    with pytest.raises(AssertionError, match="tracing_mode must be real"):
        make_fx(lambda x: x, tracing_mode="magic")
    with FakeTensorMode():
        lost = taeda.ones(2)
    with pytest.raises(RuntimeError, match="it has no values"):
        make_fx(lambda x: x + lost, tracing_mode="real")(taeda.ones(2))


def test_resize_is_part_of_the_graph():
    gm = make_fx(lambda x: x.clone().resize_(2))(taeda.ones(4))
    assert "taeda.ops.aten.resize_.default(clone, [2])" in gm.code
    assert gm(taeda.arange(4.0)).tolist() == [0, 1]
    with FakeTensorMode():
        assert taeda.ones(4).resize_(2, 3).shape == (2, 3)


def test_symbolic_numbers_in_graphs_have_values():
    gm = make_fx(lambda x: x[: x.shape[0] - 1] * 2, tracing_mode="symbolic")(taeda.ones(4, 3))
    numbers = {n.name: str(n.meta["val"]) for n in gm.graph.nodes if "s" in str(n.name)[:1]}
    assert numbers["sym_size_int"] == "s0" and numbers["sub"] == "s0 - 1"
    assert "sub = sym_size_int - 1" in gm.code
    assert gm(taeda.ones(6, 3)).shape == (5, 3)


def test_sizes_are_results():
    gm = make_fx(lambda x: x.size(), tracing_mode="symbolic")(taeda.ones(4, 3))
    assert tuple(gm(taeda.ones(6, 2))) == (6, 2)


def test_numbers_are_read_from_fake_tensors():
    gm = make_fx(lambda x: taeda.zeros(x.sum().int().item()), tracing_mode="fake")(taeda.ones(3))
    assert gm(taeda.ones(5)).shape == (5,)


def test_a_graph_made_beside_a_trace():
    inner = []

    def f(x):
        inner.append(get_isolated_graphmodule(lambda a, k: a.sin() * k, (x,), {"k": 3}))
        return x.cos()

    module = make_fx(f, tracing_mode="symbolic")(taeda.ones(4))
    assert [n.name for n in module.graph.nodes if n.op == "call_function"] == ["cos"]
    assert [n.name for n in inner[0].graph.nodes if n.op == "call_function"] == ["sin", "mul"]
    sized = make_fx(lambda x: taeda.zeros(x.shape[0]), tracing_mode="symbolic")(taeda.ones(4))
    kinds = {n.name: is_sym_node(n) for n in sized.graph.nodes if n.op == "call_function"}
    assert kinds == {"sym_size_int": True, "zeros": False}


MODES = pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])


@MODES
def test_numbers_that_the_program_made_itself_may_be_read(mode):
    def f(x):
        number = taeda.tensor(3)
        return x + (number * 2).item()

    gm = make_fx(f, tracing_mode=mode)(taeda.ones(2))
    assert "add = taeda.ops.aten.add.Tensor(x_1, 6);  x_1 = None" in code(gm)
    assert taeda.equal(gm(taeda.ones(2)), taeda.full((2,), 7.0))


@MODES
def test_a_number_stays_known_when_known_numbers_are_written_to_it(mode):
    def f():
        number = taeda.tensor(1.0)
        number.add_(2)
        return taeda.full((2,), number)

    gm = make_fx(f, tracing_mode=mode)()
    for _ in range(2):
        assert taeda.equal(gm(), taeda.full((2,), 3.0))


@pytest.mark.parametrize("write", ["number", "view"])
def test_a_number_is_not_known_once_an_argument_is_written_to_it(write):
    def f(x):
        number = taeda.tensor([1.0])
        (number if write == "number" else number.view(())).add_(x.sum())
        return x + number.item()

    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(taeda.ones(2))


def test_random_numbers_are_not_known():
    def f(x):
        return x + taeda.rand_like(taeda.tensor(1.0)).item()

    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(taeda.ones(2))


def test_values_are_those_of_the_example_where_they_are_not_refused():
    def f(x):
        return x * 2 if x.sum() > 0 else x

    gm = make_fx(f, _error_on_data_dependent_ops=False)(taeda.ones(2))
    assert taeda.equal(gm(-taeda.ones(2)), taeda.full((2,), -2.0))


@MODES
def test_arrays_are_constants_of_the_graph(mode):
    def f(x):
        return x + taeda.from_numpy(numpy.ones(2, dtype="float32"))

    gm = make_fx(f, tracing_mode=mode)(taeda.ones(2))
    assert taeda.equal(gm(taeda.ones(2)), taeda.full((2,), 2.0))


def test_a_mode_has_the_table_of_the_innermost_scope():
    outer = {taeda.ops.aten.sin.default: lambda x: x}
    mode = ProxyTorchDispatchMode(PythonKeyTracer(), decomposition_table=outer)
    with mode.enable_decompositions({taeda.ops.aten.cos.default: lambda x: x}) as _:
        assert list(mode.decomposition_table) == [taeda.ops.aten.cos.default]
    assert mode.decomposition_table is outer


def test_a_graph_is_decomposed_by_a_run():
    gm = make_fx(taeda.nn.functional.silu)(taeda.ones(2))
    graph = taeda.fx.Graph()
    table = {taeda.ops.aten.silu.default: lambda x: x * x.sigmoid()}
    DecompositionInterpreter(gm, graph, table).run(taeda.ones(2))
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert targets == [taeda.ops.aten.sigmoid.default, taeda.ops.aten.mul.Tensor]
    x = taeda.randn(2)
    assert taeda.allclose(taeda.fx.GraphModule(gm, graph)(x), gm(x))


def test_a_function_may_name_the_module_that_it_calls():
    module = taeda.nn.Sequential(taeda.nn.Linear(2, 2))

    def call(x):
        return module(x)

    call._orig_mod = module
    gm = make_fx(call, record_module_stack=True)(taeda.ones(1, 2))
    stacks = [n.meta["nn_module_stack"] for n in gm.graph.nodes if n.op == "call_function"]
    assert all("L__self__0" in stack for stack in stacks)


def test_a_number_that_is_drawn_in_place_is_not_known():
    def f(x):
        number = taeda.tensor([2.0])
        number.normal_()
        return x + number.item()

    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(taeda.ones(2))


def test_a_negated_size_is_written_as_one():
    gm = make_fx(lambda x: taeda.empty(-x.shape[0] + 10), tracing_mode="symbolic")(taeda.ones(4))
    assert gm(taeda.ones(3)).shape == (7,)
    gm = make_fx(lambda x: x * -x.shape[0], tracing_mode="symbolic")(taeda.ones(4))
    assert "neg = -sym_size_int;  sym_size_int = None" in code(gm)


def test_a_size_for_all_dimensions_may_be_a_symbol():
    resize = taeda.nn.functional.interpolate
    gm = make_fx(lambda x: resize(x, size=x.shape[2] * 2), tracing_mode="symbolic")(
        taeda.rand(1, 2, 5)
    )
    assert gm(taeda.rand(1, 2, 7)).shape == (1, 2, 14)


def test_results_without_gradients_are_saved_as_they_are():
    gm = make_fx(taeda.nn.LayerNorm(4))(taeda.randn(2, 4))
    names = {n.name.rstrip("_0123456789") for n in gm.graph.nodes if n.op == "call_function"}
    assert names == {"native_layer_norm", "getitem"}


def test_sizes_that_only_data_tells_are_joined_and_viewed():
    def f(a, b, step):
        a, b, step = a.item(), b.item(), step.item()
        joined = taeda.cat([taeda.ones(a * step), taeda.zeros(b * step)])
        return joined.view(a + b, step)

    numbers = taeda.tensor(3), taeda.tensor(2), taeda.tensor(4)
    gm = make_fx(f, tracing_mode="symbolic")(*numbers)
    other = taeda.tensor(1), taeda.tensor(5), taeda.tensor(2)
    assert taeda.equal(gm(*other), f(*other))


def test_a_view_divides_a_size_that_only_data_tells():
    def f(x):
        return taeda.zeros(x.item(), 2).view(3, -1, 2)

    gm = make_fx(f, tracing_mode="symbolic")(taeda.tensor(6))
    assert gm(taeda.tensor(12)).shape == (3, 4, 2)


def test_real_tracing_gives_the_function_its_arguments():
    given, seen = (taeda.ones(2), "text", None, taeda.float32, 2**70), []

    def f(*args):
        seen.extend(args)
        return args[0] + 1

    gm = make_fx(f)(*given)
    assert all(a is b for a, b in zip(seen, given, strict=True))
    assert taeda.equal(gm(*given), taeda.full((2,), 2.0))


def test_results_of_any_kind_keep_their_places():
    def f(x):
        return {"a": [x + 1, None], "b": ("text", 2.5, taeda.int64), "c": x}

    x = taeda.ones(2)
    result = make_fx(f)(x)(x)
    assert taeda.equal(result["a"][0], x + 1) and result["a"][1] is None
    assert result["b"] == ("text", 2.5, taeda.int64)
    assert result["c"] is x


def test_an_error_of_the_function_leaves_the_thread_as_it_was():
    def f(x):
        raise KeyError("own")

    for mode in ("real", "fake", "symbolic"):
        with pytest.raises(KeyError, match="own"):
            make_fx(f, tracing_mode=mode)(taeda.ones(2))
        assert get_proxy_mode() is None
        assert not is_in_torch_dispatch_mode()
        assert type(taeda.ones(2) + 1) is taeda.Tensor


def test_modes_of_the_caller_act_on_the_function():
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is taeda.ops.aten.sin.default else result

    for mode in ("real", "fake"):
        with Doubled():
            gm = make_fx(lambda x: x.sin(), tracing_mode=mode)(taeda.ones(2))
        assert [n.name for n in gm.graph.nodes][1:-1] == ["sin", "mul"]


def test_the_function_is_inside_a_mode():
    inside = []
    make_fx(lambda x: inside.append(is_in_torch_dispatch_mode()) or x)(taeda.ones(2))
    assert inside == [True]
    assert not is_in_torch_dispatch_mode()


def test_the_grad_mode_of_the_caller_holds():
    x = taeda.ones(2, requires_grad=True)

    def f(x):
        return taeda.autograd.grad((x * x).sum(), x)[0] if taeda.is_grad_enabled() else x * x

    assert "ones_like" in make_fx(f)(x).code
    with taeda.no_grad():
        assert [n.name for n in make_fx(f)(x).graph.nodes] == ["x_1", "mul", "output"]
