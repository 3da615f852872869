"""make_fx(pre_dispatch=True): operators as they are called, modes, modules, and what is refused."""

import pytest
from taeda._C import _fx
from taeda.fx.control_flow._regions import with_submodules
from taeda.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

import taeda
from taeda import nn

F = nn.functional


def targets(gm):
    return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]


def code(gm):
    return [line.strip() for line in gm.code.strip().splitlines()]


class Block(nn.Module):
    """Composite operators, a scope without gradients and an autocast region."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(self.norm(self.linear(x)))
        with taeda.no_grad():
            w = (y @ y.t()).softmax(-1)
        with taeda.autocast("cpu", dtype=taeda.bfloat16):
            w = w @ w
        return w.reshape(-1), y


def test_composites_stay_whole_and_modes_are_calls():
    gm = make_fx(Block(), pre_dispatch=True)(taeda.randn(4, 4))
    names = [n.name for n in gm.graph.nodes if n.op == "call_function"]
    assert names == [
        "linear",
        "layer_norm",
        "dropout",
        "_set_grad_enabled",
        "t",
        "matmul",
        "softmax",
        "_set_grad_enabled_1",
        "_enter_autocast",
        "matmul_1",
        "_exit_autocast",
        "reshape",
    ]
    assert "_set_grad_enabled = taeda._C._set_grad_enabled(False)" in gm.code
    assert "_enter_autocast('cpu', taeda.bfloat16, True" in gm.code
    requires_grad = {
        n.name: n.meta["tensor_meta"].requires_grad
        for n in gm.graph.nodes
        if "tensor_meta" in n.meta
    }
    assert requires_grad["linear"]
    assert not requires_grad["matmul"]
    assert (
        gm.graph.find_nodes(op="call_function", target=taeda.ops.aten.matmul.default)[1]
        .meta["val"]
        .dtype
        is taeda.bfloat16
    )


def test_graphs_run_as_the_module():
    block = Block().eval()
    gm = make_fx(block, pre_dispatch=True)(taeda.randn(4, 4))
    x = taeda.randn(4, 4)
    for ours, expected in zip(gm(x), block(x), strict=True):
        assert taeda.equal(ours, expected)
        assert ours.requires_grad == expected.requires_grad
    assert taeda.is_grad_enabled()
    assert not taeda.is_autocast_enabled("cpu")


def test_without_it_composites_come_apart():
    def f(x):
        return F.linear(x, x).softmax(-1)

    x = taeda.randn(3, 3)
    whole = ["aten.linear.default", "aten.softmax.int"]
    parts = ["aten.t.default", "aten.mm.default", "aten._softmax.default"]
    assert targets(make_fx(f, pre_dispatch=True)(x)) == whole
    assert targets(make_fx(f)(x)) == parts
    assert targets(make_fx(taeda.vmap(f), pre_dispatch=False)(taeda.randn(2, 3, 3))) != whole


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_tracing_modes(mode):
    gm = make_fx(lambda x: x.flatten().matmul(x.reshape(-1)), tracing_mode=mode, pre_dispatch=True)(
        taeda.randn(3, 4)
    )
    assert targets(gm)[0] == "aten.flatten.using_ints"
    x = taeda.randn(3, 4)
    assert taeda.allclose(gm(x), (x * x).sum())


def test_gradients_and_transforms_inside():
    def loss(x):
        return F.linear(x, x).softmax(-1)[..., 0].sum()

    x = taeda.randn(3, 3, requires_grad=True)
    for f in (
        lambda x: taeda.autograd.grad(loss(x), x)[0],
        taeda.func.grad(loss),
        taeda.func.vmap(taeda.func.grad(lambda t: t.matmul(t))),
    ):
        gm = make_fx(f, pre_dispatch=True)(x)
        assert taeda.allclose(gm(x), f(x), atol=1e-6)


def test_levels_are_as_before_once_composites_are_shown():
    make_fx(lambda x: x.softmax(-1), pre_dispatch=True)(taeda.ones(2))
    x = taeda.randn(2, 3, 3)
    batched = taeda.func.vmap(lambda t: F.linear(t, t).softmax(-1))(x)
    assert taeda.allclose(batched, taeda.stack([F.linear(t, t).softmax(-1) for t in x]))
    grads = taeda.func.vmap(taeda.func.grad(lambda t: t.softmax(-1)[0, 0]))(x)
    assert grads.shape == x.shape


def test_writes_stay():
    def f(x):
        x.add_(1)
        x[0].mul_(2)
        return x.sum()

    gm = make_fx(f, pre_dispatch=True)(taeda.ones(2))
    assert code(gm)[1:-1] == [
        "add_ = taeda.ops.aten.add_.Tensor(x_1, 1);  x_1 = None",
        "select = taeda.ops.aten.select.int(add_, 0, 0)",
        "mul_ = taeda.ops.aten.mul_.Tensor(select, 2);  select = mul_ = None",
        "sum_1 = taeda.ops.aten.sum.default(add_);  add_ = None",
    ]


def test_decompositions_apply_to_composites():
    table = {taeda.ops.aten.linear.default: lambda x, w, b=None: x @ w.t()}
    gm = make_fx(F.linear, decomposition_table=table, pre_dispatch=True)(
        taeda.ones(2, 2), taeda.ones(2, 2)
    )
    assert targets(gm) == ["aten.t.default", "aten.matmul.default"]


def test_the_tracer_goes_with_its_scope():
    def f(x):
        assert get_proxy_mode().pre_dispatch
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        make_fx(f, pre_dispatch=True)(taeda.ones(1))
    assert get_proxy_mode() is None
    assert taeda._C._len_torch_dispatch_stack() == 0
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x + 1 if taeda.allclose(x, x) else x, pre_dispatch=True)(taeda.ones(1))


def test_module_stacks():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    shared = nn.Sequential(net, net[0])
    gm = make_fx(shared, record_module_stack=True, pre_dispatch=True)(taeda.ones(1, 2))
    stacks = [n.meta["nn_module_stack"] for n in gm.graph.nodes if n.op == "call_function"]
    linear = "taeda.nn.modules.linear.Linear"
    sequential = "taeda.nn.modules.container.Sequential"
    assert stacks[0] == {
        "L__self__": ("", sequential),
        "L__self__0": ("0", sequential),
        "L__self__0.0": ("0.0", linear),
    }
    assert list(stacks[2]) == ["L__self__", "L__self__0.0@1"]
    norm = make_fx(nn.LayerNorm(2), record_module_stack=True)(taeda.ones(1, 2))
    assert all("nn_module_stack" in n.meta for n in norm.graph.nodes if "getitem" in n.name)
    plain = make_fx(shared, pre_dispatch=True)(taeda.ones(1, 2))
    assert not any("nn_module_stack" in n.meta for n in plain.graph.nodes)


def test_scopes_close_the_graph():
    block, x = Block().eval(), taeda.randn(4, 4)
    gm = make_fx(block, pre_dispatch=True)(x)
    assert "_set_grad_enabled: it sets a mode of the thread" in gm.graph._open_reason()
    scopes = gm.graph._wrap_mode_scopes(True, None)
    assert [call.name for call, _ in scopes] == ["wrap_with_set_grad_enabled", "wrap_with_autocast"]
    assert gm.graph._open_reason() == ""
    reads = [n.target for n in gm.graph.nodes if n.op == "get_attr"]
    root = with_submodules(gm.graph)
    for name in reads:
        setattr(root, name, getattr(gm, name))
    closed = taeda.fx.GraphModule(root, gm.graph)
    for ours, expected in zip(closed(x), block(x), strict=True):
        assert taeda.equal(ours, expected)
        assert ours.requires_grad == expected.requires_grad


def test_results_of_scopes_know_what_the_nodes_inside_know():
    gm = make_fx(Block(), pre_dispatch=True, record_module_stack=True)(taeda.randn(4, 4))
    (call, number), _ = gm.graph._wrap_mode_scopes(True, None)
    assert number == 1
    (result,) = call.users
    assert call.meta["val"][0].shape == result.meta["val"].shape == (4, 4)
    assert [path for path, _ in result.meta["nn_module_stack"].values()] == [""]


def test_a_graph_that_sets_modes_can_be_retraced():
    def f(x):
        a = x * x
        with taeda.no_grad():
            b = a.sin()
        return b * x

    x = taeda.randn(3, requires_grad=True)
    graph = make_fx(f, pre_dispatch=True)(x).graph
    options = {"functionalizes": True, "differentiates": True}
    joint, *_ = _fx.retrace(graph, [x], options)
    tangent = taeda.randn(3)
    result, found = taeda.fx.GraphModule(nn.Module(), joint)(x.detach(), tangent)
    taeda.testing.assert_close(result, f(x))
    taeda.testing.assert_close(found, taeda.autograd.grad(f(x), x, tangent)[0])
