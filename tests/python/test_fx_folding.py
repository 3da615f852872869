"""Passes that change what is computed: folding, fusing, common values, signatures, eight bits."""

import importlib

import pytest
from fx_model import Model, passes
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


# ---- folding and fusing ----
class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(t.rand(2, 3))
        self.b = nn.Parameter(t.rand(2))
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x @ self.w.t() + self.b.relu() * 2) + self.b


def test_constants_are_folded():
    module = Constant().eval()
    folded = passes("experimental.const_fold").split_const_subgraphs(module)
    x = t.rand(1, 3)
    assert t.allclose(folded(x), module(x))
    methods = [n.target for n in folded.graph.nodes if n.op == "call_method"]
    assert methods == []
    inner = [n.name for n in folded.const_subgraph_module.graph.nodes]
    assert {"t", "relu", "mul"} <= set(inner)


def test_folding_may_be_declined():
    fold = passes("experimental.const_fold").split_const_subgraphs
    module = Constant().eval()
    kept = fold(module, skip_folding_node_fn=lambda n: n.op != "get_attr")
    assert kept.const_subgraph_module is None
    x = t.rand(1, 3)
    assert t.allclose(kept(x), module(x))


def test_dropout_is_removed():
    module = passes("experimental.optimization").remove_dropout(Constant())
    assert "drop" not in dict(module.named_children())
    x = t.rand(1, 3)
    assert t.equal(module(x), module(x))


def test_weights_absorb_a_normalization():
    fusion = importlib.import_module(f"{NAME}.nn.utils.fusion")
    w, b, x = t.rand(4, 3), t.rand(4), t.rand(2, 3)
    mean, var, gain, shift = t.rand(4), t.rand(4) + 1, t.rand(4), t.rand(4)
    new_w, new_b = fusion.fuse_linear_bn_weights(w, b, mean, var, 1e-5, gain, shift)
    expected = (x @ w.T + b - mean) / (var + 1e-5).sqrt() * gain + shift
    assert t.allclose(x @ new_w.T + new_b, expected, atol=1e-5)
    kernel = t.rand(4, 3, 1, 1)
    conv_w, conv_b = fusion.fuse_conv_bn_weights(kernel, None, mean, var, 1e-5, None, None)
    scale = (var + 1e-5).rsqrt()
    assert t.allclose(conv_w[:, :, 0, 0], kernel[:, :, 0, 0] * scale[:, None])
    assert t.allclose(conv_b, -mean * scale)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's table of fusions is closed")
def test_layers_are_fused():
    optimization = passes("experimental.optimization")
    from taeda.nn.utils.fusion import fuse_linear_bn_eval

    class Norm(nn.Module):
        track_running_stats = True
        eps = 1e-5

        def __init__(self):
            super().__init__()
            self.num_features = 3
            self.register_buffer("running_mean", t.rand(3))
            self.register_buffer("running_var", t.rand(3) + 1)
            self.weight, self.bias = nn.Parameter(t.rand(3)), nn.Parameter(t.rand(3))

        def forward(self, x):
            scaled = (x - self.running_mean) / (self.running_var + self.eps).sqrt()
            return scaled * self.weight + self.bias

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m, path):
            return True

    model = nn.Sequential(nn.Linear(3, 3), Norm(), nn.ReLU()).eval()
    traced = fx.GraphModule(model, Leaf().trace(model))
    optimization.FUSIONS.append((nn.Linear, Norm, fuse_linear_bn_eval))
    try:
        fused = optimization.fuse(traced, no_trace=True)
    finally:
        optimization.FUSIONS.pop()
    assert [n.target for n in fused.graph.nodes if n.op == "call_module"] == ["0", "2"]
    x = t.rand(2, 3)
    assert t.allclose(fused(x), model(x), atol=1e-5)


# ---- common subexpressions, signatures ----
@pytest.mark.skipif(NAME != "taeda", reason="PyTorch takes operators only")
def test_common_subexpressions():
    def program(x):
        return t.cos(x) + t.cos(x) * t.cos(x + 1) + t.rand(2) + x.sum(0)

    module = fx.symbolic_trace(program)
    result = passes("passes.dialect.common.cse_pass").CSEPass()(module)
    cosines = [n for n in result.graph_module.graph.nodes if n.target is t.cos]
    assert result.modified and len(cosines) == 2
    again = passes("passes.dialect.common.cse_pass").CSEPass()(result.graph_module)
    assert not again.modified


def test_common_subexpressions_leave_the_module_alone():
    make_fx = passes("experimental.proxy_tensor").make_fx
    module = make_fx(lambda x: x.cos() + x.cos())(t.ones(2))
    code = module.code
    result = passes("passes.dialect.common.cse_pass").CSEPass()(module)
    assert result.modified and result.graph_module is not module
    assert module.code == code and len(module.graph.nodes) == 5
    assert len(result.graph_module.graph.nodes) == 4
    assert t.equal(result.graph_module(t.ones(2)), module(t.ones(2)))


def test_functions_by_signature():
    normalize = passes("operator_schemas").normalize_function
    relu = nn.functional.relu
    found = normalize(relu, (1,), {}, normalize_to_only_use_kwargs=True)
    assert found.args == () and found.kwargs == {"input": 1, "inplace": False}
    types = (t.Tensor, t.Tensor)
    found = normalize(t.add, (1, 2), {}, types, {}, normalize_to_only_use_kwargs=True)
    assert found.kwargs == {"input": 1, "other": 2, "alpha": 1}
    assert normalize(len, (1,)) is None


def test_modules_by_signature():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    linear = next(n for n in module.graph.nodes if n.op == "call_module")
    found = linear.normalized_arguments(module, normalize_to_only_use_kwargs=True)
    assert list(found.kwargs) == ["input"] and found.args == ()
    with pytest.raises(RuntimeError, match="root did not have that target"):
        passes("operator_schemas").normalize_module(module, "nowhere", ())


def test_arguments_of_a_graph_by_keyword():
    module = fx.symbolic_trace(lambda x, y: nn.functional.relu(t.add(x, y)))
    passes("passes.shape_prop").ShapeProp(module).propagate(t.ones(1), t.ones(1))
    normal = passes("experimental.normalize").NormalizeArgs(module).transform()
    add, relu = (n for n in normal.graph.nodes if n.op == "call_function")
    assert not add.args and list(add.kwargs)[:2] == ["input", "other"]
    assert relu.kwargs["inplace"] is False
    assert normal(t.ones(1), t.ones(1)).item() == 2


def test_order_is_repaired():
    module = fx.symbolic_trace(lambda x: t.relu(x.sin()))
    sin, relu = (next(n for n in module.graph.nodes if n.name == k) for k in ("sin", "relu"))
    relu.append(sin)
    with pytest.raises(RuntimeError):
        module.graph.lint()
    passes("passes.tools_common").legalize_graph(module)
    module.graph.lint()
    assert module(t.ones(1)).shape == (1,)


@pytest.mark.skipif(NAME != "taeda", reason="Taeda's own passes")
class TestOwnPasses:
    def test_times(self):
        from taeda.fx.passes.timing import NodeTiming

        module = fx.symbolic_trace(Model())
        waits = []
        timing = NodeTiming(module, synchronize=lambda: waits.append(1))
        x, y = t.rand(3, 4), t.rand(3, 4)
        for _ in range(2):
            assert t.equal(timing.run(x, y), module(x, y))
        rows = timing.rows()
        assert {row.node.name for row in rows} == {
            n.name for n in module.graph.nodes if n.op.startswith("call")
        }
        assert all(row.runs == 2 and row.seconds > 0 for row in rows)
        assert abs(sum(row.share for row in rows) - 1) < 1e-6
        assert rows[0].seconds >= rows[-1].seconds
        assert len(timing.summary(top=2).split("\n")) == 3 and waits

    def test_eight_bits(self):
        from taeda.fx.passes import quantize_dequantize as eight_bits

        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        module = fx.symbolic_trace(model)
        x = t.rand(64, 4) * 4 - 1
        ranges = eight_bits.calibrate(module, [(x[:32],), (x[32:],)])
        low, high = ranges[next(iter(module.graph.nodes))]
        assert low == x.min().item() and high == x.max().item()
        rounded = eight_bits.insert_quantize_dequantize(module, ranges)
        steps = [n.target for n in rounded.graph.nodes if n.op == "call_function"]
        assert steps == [eight_bits.quantize, eight_bits.dequantize] * 2
        error = (rounded(x) - model(x)).abs().max().item()
        assert 0 < error < 0.1

    def test_zero_stays_zero(self):
        from taeda.fx.passes import quantize_dequantize as eight_bits

        for low, high in ((-1.0, 3.0), (0.5, 2.0), (-2.0, -1.0), (0.0, 0.0)):
            scale, zero_point = eight_bits._parameters(low, high)
            q = eight_bits.quantize(t.tensor([0.0, low, high]), scale, zero_point)
            back = eight_bits.dequantize(q, scale, zero_point)
            assert back[0].item() == 0
            assert (back - t.tensor([0.0, low, high])).abs().max().item() <= scale


def test_calls_that_stay_apart():
    banned = passes("passes.dialect.common.cse_pass").get_CSE_banned_ops()
    aten = t.ops.aten
    assert {aten.randint.low, aten.native_dropout.default, aten.empty_like.default} <= banned
    assert not {aten.add.Tensor, aten.zeros.default, aten.cos.default} & banned
