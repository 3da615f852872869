"""Modules as graphs of values with signatures, forward alone and with the gradients of a loss."""

import pytest
from taeda._functorch.aot_autograd import aot_export_module

import taeda as t
from taeda import nn


class Normed(nn.Module):
    """A loss beside a result, and buffers that the forward writes to."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        out = self.norm(self.linear(x)).relu()
        return out.sin().sum(), out.detach()


PARAMETERS = ["linear.weight", "linear.bias", "norm.weight", "norm.bias"]
BUFFERS = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]


def state_of(mod):
    state = [*mod.named_parameters(), *mod.named_buffers()]
    return [tensor.detach().clone().requires_grad_(tensor.requires_grad) for _, tensor in state]


def names_of(gm):
    return [node.name for node in gm.graph.output_node().args[0]]


def test_forward_with_writes_to_buffers():
    mod, x = Normed(), t.randn(5, 3)
    gm, signature = aot_export_module(mod, [x], trace_joint=False)
    new_mean, new_var, new_count, loss, out = gm(*state_of(mod), x)
    want_loss, want_out = mod(x)
    assert t.equal(loss, want_loss) and t.equal(out, want_out)
    norm = mod.norm
    assert t.equal(new_mean, norm.running_mean) and t.equal(new_var, norm.running_var)
    assert t.equal(new_count, norm.num_batches_tracked)
    names = names_of(gm)
    assert (signature.parameters, signature.buffers) == (PARAMETERS, BUFFERS)
    inputs = [f"arg{i}_1" for i in range(8)]
    assert [n.name for n in gm.graph.find_nodes(op="placeholder")] == inputs
    assert signature.inputs_to_parameters == dict(zip(inputs[:4], PARAMETERS))
    assert signature.inputs_to_buffers == dict(zip(inputs[4:7], BUFFERS))
    assert signature.user_inputs == ["arg7_1"] and signature.user_outputs == names[3:]
    assert signature.buffers_to_mutate == dict(zip(names[:3], BUFFERS))
    assert signature.parameters_to_mutate == signature.user_inputs_to_mutate == {}
    assert signature.backward_signature is None
    assert signature.input_tokens == signature.output_tokens == []


def test_a_joint_graph_gives_the_gradients_of_the_loss():
    mod, x = Normed(), t.randn(5, 3, requires_grad=True)
    gm, signature = aot_export_module(mod, [x], trace_joint=True, output_loss_index=0)
    results = gm(*state_of(mod), x.detach())
    loss, out = mod(x)
    wanted = t.autograd.grad(loss, [*mod.parameters(), x])
    assert t.equal(results[3], loss) and t.equal(results[4], out)
    assert len(results) == 5 + len(wanted)
    for got, want in zip(results[5:], wanted):
        t.testing.assert_close(got, want)
    names = names_of(gm)
    backward = signature.backward_signature
    assert backward.gradients_to_parameters == dict(zip(names[5:], PARAMETERS))
    assert backward.gradients_to_user_inputs == {names[-1]: "arg7_1"}
    assert backward.loss_output == names[0]  # as PyTorch has it
    assert signature.user_outputs == names[3:5]
    assert not any("tangent" in n.name for n in gm.graph.nodes)


def test_writes_to_arguments_and_parameters():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(t.ones(2))

        def forward(self, x, pair):
            x.add_(4)
            self.p.mul_(2)
            return {"sum": x + pair[0] * self.p}

    mod, args = Writes(), (t.randn(2), (t.randn(2), t.randn(2)))
    gm, signature = aot_export_module(mod, args, trace_joint=False)
    names = names_of(gm)
    assert signature.parameters_to_mutate == {names[0]: "p"}
    assert signature.user_inputs_to_mutate == {names[1]: "arg1_1"}
    x, (a, b) = args
    new_p, new_x, result = gm(t.ones(2), x, a, b)
    assert t.equal(new_p, t.full((2,), 2.0)) and t.equal(new_x, x + 4)
    assert t.equal(result, x + 4 + a * 2)
    leaves, spec = t.utils._pytree.tree_flatten({"sum": 0})
    assert signature.out_spec == spec and len(leaves) == 1


def test_keyword_arguments():
    class Scales(nn.Module):
        def forward(self, x, *, by):
            return (x * by,)

    x, by = t.randn(3), t.randn(3)
    gm, signature = aot_export_module(Scales(), (x,), trace_joint=False, kwargs={"by": by})
    assert t.equal(gm(x, by)[0], x * by) and signature.user_inputs == ["arg0_1", "arg1_1"]


def test_dynamic_shapes():
    gm, _ = aot_export_module(
        nn.Linear(3, 2), (t.randn(4, 3),), trace_joint=False, dynamic_shapes=True
    )
    (x,) = gm.graph.find_nodes(op="placeholder")[2:]
    assert isinstance(x.meta["val"].shape[0], t.SymInt)
    weight, bias = t.randn(2, 3), t.randn(2)
    (got,) = gm(weight, bias, t.ones(7, 3))
    assert t.equal(got, nn.functional.linear(t.ones(7, 3), weight, bias))


def test_before_dispatch_composites_stay_whole():
    gm, _ = aot_export_module(
        nn.Linear(2, 2), [t.randn(2, 2)], trace_joint=False, pre_dispatch=True
    )
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"] == [
        t.ops.aten.linear.default
    ]


def test_decompositions():
    table = {t.ops.aten.relu.default: lambda x: x.clamp(min=0)}
    gm, _ = aot_export_module(nn.ReLU(), [t.randn(3)], trace_joint=False, decompositions=table)
    assert t.ops.aten.relu.default not in [n.target for n in gm.graph.nodes]
    assert t.equal(gm(t.tensor([-1.0, 2.0, 3.0]))[0], t.tensor([0.0, 2.0, 3.0]))


class Calls(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.p, self.f = nn.Parameter(t.ones(2)), f

    def forward(self, *args):
        return self.f(self.p, *args)


X = t.ones(2)
REFUSED = [
    (lambda p, x: (x.unsqueeze_(0) * p,), [X], {}, "received a metadata mutation"),
    (lambda p, x, y: (x.mul_(2) + y,), [X, X], {}, "Encountered duplicated inputs"),
    (lambda p, x, y: (x.mul_(2) + y,), [X, X.view(-1)], {}, "Encountered aliased inputs"),
    (lambda p, x: (p * x).sum(), [X], {"trace_joint": True}, "with output_loss_index"),
    (
        lambda p, x: (p * x, (p * x).sum()),
        [X],
        {"trace_joint": True, "output_loss_index": 1},
        "Found an output of the forward that requires gradients, that was not the scalar loss",
    ),
    (
        lambda p, x: (p * x,),
        [X],
        {"trace_joint": True, "output_loss_index": 0},
        r"to be a scalar, but it has shape torch.Size\(\[2\]\)",
    ),
    (
        lambda p, x: (x.sum(),),
        [X],
        {"trace_joint": True, "output_loss_index": 0},
        "was marked as the loss, but it does not require gradients",
    ),
    (lambda p, x: (x,), [X], {"trace_joint": True, "pre_dispatch": True}, "not supported when"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[-1][:30])
def test_what_is_refused(case):
    function, args, options, message = case
    with pytest.raises(RuntimeError, match=message):
        aot_export_module(Calls(function), args, **{"trace_joint": False, **options})


def test_a_parameter_without_a_gradient():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Parameter(t.ones(2)), nn.Parameter(t.ones(2))

        def forward(self, x):
            return (self.used * x).sum()

    with pytest.raises(AssertionError, match="Found a parameter that did not receive a gradient"):
        aot_export_module(Half(), [X], trace_joint=True, output_loss_index=0)
