"""Writes that a graph keeps, memory that tensors swap, and the stages of a compilation."""

import contextlib

import pytest
from taeda._functorch.aot_autograd import (
    aot_compile_joint_with_descriptors,
    aot_export_joint_with_descriptors,
)
from taeda._functorch.partitioners import default_partition
from taeda._inductor import compile as compile_graph
from taeda.fx.aot import aot_function, aot_module_simplified, make_boxed_func, nop
from taeda.fx.aot.descriptors import BufferAOTInput, ParamAOTInput, PlainAOTInput
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
from taeda import nn


def keeper(graphs):
    def keep(gm, inputs):
        graphs.append(gm)
        return make_boxed_func(gm.forward)

    return keep


# ---- writes ----


def count_calls(x, buffer):
    buffer.add_(1)
    return x * buffer


def write_to_a_part(x, buffer):
    buffer[0].mul_(2)
    return x + buffer, buffer


def write_and_look(x, buffer):
    buffer.mul_(2)
    return x + 1, buffer[1:], buffer.detach()


def write_twice(x, buffer):
    buffer.copy_(x.detach())
    buffer.sub_(1)
    return x * 3


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("program", [count_calls, write_to_a_part, write_and_look, write_twice])
def test_writes_of_graphs(program, keeps, requires_grad):
    graphs = []
    compiled = aot_function(program, keeper(graphs), keep_inference_input_mutations=keeps)
    for _ in range(2):
        seen = []
        for f in (program, compiled):
            x, buffer = t.arange(3.0).requires_grad_(requires_grad), t.arange(3.0) + 2
            place, version = buffer.data_ptr(), buffer._version
            out = f(x, buffer)
            assert buffer.data_ptr() == place and buffer._version > version
            first = out[0] if isinstance(out, tuple) else out
            if requires_grad:
                first.sum().backward()
            seen.append((out, buffer, x.grad))
        t.testing.assert_close(seen[1], seen[0])
    assert ("copy_" in graphs[0].code) == keeps


def test_a_write_that_is_recorded_stays_outside():
    def program(x, buffer):
        buffer.mul_(x)
        return buffer + 1

    graphs = []
    compiled = aot_function(program, keeper(graphs), keep_inference_input_mutations=True)
    x, buffer = t.arange(3.0).requires_grad_(), t.ones(3)
    out = compiled(x, buffer)
    assert buffer.requires_grad and "copy_" not in graphs[0].code
    (out.sum() + buffer.sum()).backward()
    assert t.equal(x.grad, t.full((3,), 2.0))


def test_an_input_that_changes_its_sizes_is_written_outside():
    def program(buffer):
        buffer.t_()
        buffer.add_(1)

    graphs = []
    compiled = aot_function(program, keeper(graphs), keep_inference_input_mutations=True)
    buffer = t.arange(6.0).reshape(2, 3)
    compiled(buffer)
    assert "copy_" not in graphs[0].code
    assert t.equal(buffer, t.arange(6.0).reshape(2, 3).t() + 1)


def test_a_kept_write_knows_its_line():
    class Module(nn.Module):
        def forward(self, x):
            row = x[0]
            row.mul_(2)
            return (x + x,)

    tracer = t.fx.Tracer()
    tracer.record_stack_traces = True
    gm = t.fx.GraphModule(Module(), tracer.trace(Module()))
    graphs = []
    aot_module_simplified(gm, [t.ones(2, 3)], keeper(graphs), keep_inference_input_mutations=True)
    (write,) = [n for n in graphs[0].graph.nodes if "copy_" in str(n.target)]
    assert "row.mul_(2)" in write.meta["stack_trace"]


def test_memory_with_gaps_is_written_without_them():
    """What a compiler gets has no scatter of values that lie apart; what is looked at has."""

    def program(a):
        a.mul_(3)
        return a + 1

    def looking(a):
        a.mul_(3)
        return a.as_strided((2, 2), (8, 1)) + 1

    for f, scatters in ((program, False), (looking, True)):
        graphs = []
        wide, other = t.arange(32.0), t.arange(32.0)
        a, b = (m.as_strided((4, 4), (8, 1), 0) for m in (wide, other))
        t.testing.assert_close(aot_function(f, keeper(graphs))(a), f(b))
        assert t.equal(wide, other)
        assert ("as_strided_scatter" in graphs[0].code) == scatters


@pytest.mark.parametrize("requires_grad", [False, True])
def test_memory_that_is_put_back(requires_grad):
    def program(x):
        own = t.arange(6.0)
        before = t.ops.aten.alias.default(x)
        with t.no_grad():
            x.set_(own)
            x.set_(before)
        return x + own.reshape(2, 3)

    x, y = (t.ones(2, 3).requires_grad_(requires_grad) for _ in range(2))
    out, want = aot_function(program, nop)(x * 2), program(y * 2)
    assert t.equal(out, want)
    if requires_grad:
        out.sum().backward()
        assert t.equal(x.grad, t.full((2, 3), 2.0))


# ---- stages ----


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(t.arange(3.0) + 1)
        self.register_buffer("calls", t.zeros(()))

    def forward(self, x, *, bias):
        self.calls.add_(1)
        return {"out": x * self.weight + bias}


def test_a_module_in_two_stages():
    module, x, bias = Scaled(), t.ones(2, 3).requires_grad_(), t.full((3,), 0.5)
    with contextlib.ExitStack() as stack:
        joint = aot_export_joint_with_descriptors(stack, module, (x,), {"bias": bias})
        assert joint.params_spec == ["weight"] and joint.buffers_spec == ["calls"]
        nodes = joint.graph_module.graph.find_nodes(op="placeholder")
        assert [n.meta.get("desc") for n in nodes][:4] == [
            ParamAOTInput("weight"),
            BufferAOTInput("calls"),
            PlainAOTInput(0),
            PlainAOTInput(1),
        ]
        run = aot_compile_joint_with_descriptors(joint)
    assert module.calls.item() == 0
    out = run(module.weight, module.calls, x, bias=bias)["out"]
    assert t.equal(out, x * module.weight + bias) and module.calls.item() == 1
    out.sum().backward()
    assert t.equal(module.weight.grad, t.full((3,), 2.0))
    assert t.equal(x.grad, module.weight.detach().expand(2, 3))


def test_the_graph_between_the_stages_counts():
    module, x = nn.Linear(2, 2, bias=False), t.ones(1, 2)
    with contextlib.ExitStack() as stack:
        joint = aot_export_joint_with_descriptors(stack, module, (x,))
        graph = joint.graph_module.graph
        output = graph.find_nodes(op="output")[0]
        with graph.inserting_before(output):
            doubled = graph.call_function(t.ops.aten.mul.Tensor, (output.args[0][0], 2))
            doubled.meta["val"] = output.args[0][0].meta["val"]
        output.update_arg(0, (doubled, *output.args[0][1:]))
        run = aot_compile_joint_with_descriptors(joint)
    assert t.equal(run(module.weight, x), module(x) * 2)


def clamp_then_square(x):
    x.clamp_(-1, 4)
    return x * x


def clamp_through_a_view(x):
    x.unsqueeze(1).clamp_(-1, 4)
    x.narrow(0, 0, 1).add_(1)
    return x.amax(-1)


def clamp_through_parts(x):
    for row in range(2):
        x[row].clamp_(-1, 4)
    return x.exp()


def clamp_twice(x):
    x.t().clamp_(-1, 4)
    x[0].clamp_(1, 2)
    return x.sin()


@pytest.mark.parametrize("backend", ("aot_eager", "inductor"))
@pytest.mark.parametrize(
    "function", (clamp_then_square, clamp_through_a_view, clamp_through_parts, clamp_twice)
)
def test_gradients_of_what_was_there_before_a_write(function, backend):
    """Backward asks where values were clamped, and the input has been written to since."""

    def run(f):
        leaf = t.arange(6.0).reshape(2, 3).requires_grad_()
        x = leaf * 1
        result = f(x)
        return result, x, t.autograd.grad(result.square().sum(), leaf)[0]

    for found, wanted in zip(run(t.compile(function, backend=backend)), run(function), strict=True):
        t.testing.assert_close(found, wanted)


def write_to_slices(x):
    y = x * 0.5
    y[0].mul_(3)
    y[1:].mul_(0.5)
    return y


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize(
    "join",
    (
        lambda x, y: t.cat([x[:1], y]).exp(),
        lambda x, y: t.cat([y, x[:2]]).exp(),
        lambda x, y: t.stack([x, y]).exp(),
        lambda x, y: t.stack([x, y]).amax(0),
    ),
)
def test_a_gradient_that_lies_inside_of_another_one(join, dynamic):
    """Writes to slices are undone in the memory of the gradient, which begins somewhere in it."""

    def f(x):
        return join(x, write_to_slices(x))

    def gradient(function):
        x = t.linspace(1, 2, 4).requires_grad_()
        function(x).sum().backward()
        return x.grad

    def compiled(gm, inputs):
        return compile_graph(gm, inputs, native="never")

    for _ in range(2):
        t.testing.assert_close(gradient(aot_function(f, compiled, dynamic=dynamic)), gradient(f))


def test_places_of_a_copy_that_begins_inside_of_its_storage():
    def f(x):
        whole = t.as_strided_scatter((x * 1)[1:], x[:2] + 50, (2,), (1,), 2)
        return whole.as_strided((2,), (1,), 1) * 1, whole.storage_offset()

    x = t.arange(5.0)
    traced = make_fx(f)(x)
    for made in (traced, compile_graph(traced, [x], native="never"), aot_function(f, nop)):
        found, offset = made(x)
        assert t.equal(found, t.tensor([1.0, 50.0])) and offset == 1


def test_a_saved_view_of_an_input_that_is_written_keeps_the_old_values():
    """The cut of the program's own saves the view, and the gradient computes the rest again."""

    def f(x, w):
        result = w * x.t().exp()
        x.mul_(2)
        return result

    def saves_the_view(joint, inputs, **settings):
        forward, backward = default_partition(joint, inputs, **settings)
        (view,) = forward.graph.find_nodes(op="call_function", target=t.ops.aten.t.default)
        (power,) = forward.graph.find_nodes(op="call_function", target=t.ops.aten.exp.default)
        output = forward.graph.output_node()
        output.args = (tuple(view if leaf is power else leaf for leaf in output.args[0]),)
        forward.recompile()
        (given,) = [n for n in backward.graph.find_nodes(op="placeholder") if n.name == power.name]
        with backward.graph.inserting_after(given):
            again = backward.graph.call_function(t.ops.aten.exp.default, (given,))
        again.meta["val"] = given.meta["val"]
        given.replace_all_uses_with(again, delete_user_cb=lambda user: user is not again)
        backward.recompile()
        return forward, backward

    x, w = t.randn(3, 4), t.randn(4, 3, requires_grad=True)
    written = x.clone()
    result = aot_function(f, fw_compiler=nop, partition_fn=saves_the_view)(written, w)
    (gradient,) = t.autograd.grad(result.sum(), w)
    assert t.equal(written, x * 2)
    assert t.equal(gradient, x.t().exp())


@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors")
@pytest.mark.parametrize("dynamic", [False, True])
def test_masked_fill_of_expanded_tensors(dynamic):
    """An element is filled if one of those in its place is, in eager and compiled."""

    def f(x, mask):
        own = x + 1
        own.unsqueeze(-1).expand(3, 4).masked_fill_(mask, t.tensor(5.0))
        x[:1].expand(4).masked_fill_(mask, 7)
        return own, x.expand(2, 3).masked_fill_(mask[:3], 9), x * 2

    compiled = aot_function(f, lambda gm, _: make_boxed_func(gm.forward), dynamic=dynamic)
    for mask in ([False, True, False, False], [False] * 4, [False, False, True, True]):
        mask = t.tensor(mask)
        mine, other = t.arange(3.0), t.arange(3.0)
        for a, b in zip(compiled(mine, mask), f(other, mask), strict=True):
            assert t.equal(a, b)
        assert t.equal(mine, other)
    x = t.arange(3.0)
    x[:1].expand(3).masked_fill_(t.tensor([False, True, False]), 5)
    assert x.tolist() == [5, 1, 2]


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.fill_(2),
        lambda x: x.zero_(),
        lambda x: x.tril_(),
        lambda x: x.triu_(1),
        lambda x: x.index_fill_(1, t.tensor([0, 2]), 4.0),
        lambda x: x.index_fill_(0, t.tensor([1]), t.tensor(5.0)),
        lambda x: x.masked_fill_(t.eye(3, dtype=t.bool), 6),
    ],
)
def test_fills_of_expanded_tensors(fill, dynamic):
    def f(x):
        own = (x + 1).unsqueeze(-1)
        x[:1].fill_(9)
        return fill(own.expand(3, 3)), own, fill(x.expand(3, 3)), x * 2

    compiled = aot_function(f, lambda gm, _: make_boxed_func(gm.forward), dynamic=dynamic)
    mine, other = t.arange(3.0), t.arange(3.0)
    for a, b in zip(compiled(mine), f(other), strict=True):
        assert t.equal(a, b)
    assert t.equal(mine, other)


def test_a_fill_that_copies_is_refused_for_expanded_tensors():
    """fill_ with a tensor is a copy, in eager too."""

    def f(x):
        return (x + 1).expand(3, 3).fill_(t.tensor(2.0))

    for g in (f, aot_function(f, nop)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            g(t.arange(3.0))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "f", [lambda x: x.reshape(-1).add_(1).sum(), lambda x: x.contiguous().add_(1).sum()]
)
def test_written_inputs_that_lie_otherwise(f, dynamic):
    """Whether reshape and contiguous give views follows from strides."""
    compiled = aot_function(f, nop, dynamic=dynamic)
    compiled(t.ones(4, 5))
    x = t.ones(4, 5)
    compiled(x)
    assert x.sum() == 40
    for other in (t.ones(5, 4).t(), t.ones(8, 5)[::2], t.ones(4, 1).expand(4, 5)):
        with pytest.raises(RuntimeError, match="lie otherwise in memory"):
            compiled(other)
        assert other.sum() == 20
    if dynamic:
        for shape in ((1, 5), (4, 1), (7, 3)):
            x = t.ones(shape)
            compiled(x)
            assert x.sum() == 2 * x.numel()


# ---- copies to the same place ----


def copy_to_itself(x):
    y = x * 2
    y.copy_(y)
    return y


def copy_of_a_look(x):
    y = x * 2
    y.t().copy_(y.t())
    y[1:].copy_(y[1:])
    return y


def copy_of_expanded(x):
    y = x * 2
    wide = y.expand(2, *y.shape)
    wide.copy_(y.expand(2, *y.shape))
    return wide


def copy_input_to_itself(x):
    x.copy_(x)
    x.view(-1).copy_(x.view(-1))
    return x * 2


@pytest.mark.parametrize(
    "f, requires_grad",
    [
        (copy_to_itself, False),
        (copy_to_itself, True),
        (copy_of_a_look, False),
        (copy_of_a_look, True),
        (copy_of_expanded, False),  # eager has no gradient of it
        (copy_input_to_itself, False),
        (copy_input_to_itself, True),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_copy_to_the_same_place_writes_nothing(f, requires_grad, dynamic):
    compiled = aot_function(f, nop, dynamic=dynamic)
    for run in (compiled, t.compile(f, dynamic=dynamic)):
        for n in (3, 4):
            if n == 4 and not dynamic:
                continue
            x = t.arange(5.0 * n).reshape(n, 5).requires_grad_(requires_grad)
            h = x * 1
            out, want = run(h), x.detach() * 2
            assert t.equal(out, want.expand_as(out)) and t.equal(h, x)
            if requires_grad:
                out.sum().backward()
                assert t.equal(x.grad, t.full_like(x, 2.0))


def test_written_memory_keeps_strides_of_dimensions_of_size_one():
    def f(x):
        x.neg_()
        y = x.expand(2, 1, 2)[0].clone().as_strided((1, 2), (1, 1)).mul_(3)
        return x.bool(), x * 2, y, y.exp()

    def compiled(run):
        x = t.arange(2.0).as_strided((1, 2), (1, 1))
        results = run(x)
        return [(r.tolist(), r.stride()) for r in (x, *results)]

    for run in (aot_function(f, nop), t.compile(f)):
        assert compiled(run) == compiled(f)


# ---- copies of values that lie elsewhere in their memory at a run ----


def _first_row(a):
    c = a * 1
    c[:1].mul_(2)
    return c


def _one_row(a):
    c = a * 1
    c[0] = c[0] * 2
    return c


def _shifted(a):
    c = a * 1
    c[1:] = a[:-1] * 2
    return c


def _columns(a):
    c = a * 1
    c[:, 1:] += a[:, :-1]
    return c


def _transposed(a):
    c = a * 1
    c.t().mul_(2)
    return c


def _into_zeros(a):
    y = t.zeros(*a.shape)
    y[:, :1] = a[:, 1:]
    return y


def _without_diagonal(a):
    return (a * 1).fill_diagonal_(0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    "f",
    [_first_row, _one_row, _shifted, _columns, _transposed, _into_zeros, _without_diagonal],
)
def test_gradients_that_are_a_part_of_a_tensor(f, backend, dynamic):
    gradients = []
    for run in (f, t.compile(f, backend=backend, dynamic=dynamic)):
        x = t.arange(1.0, 7.0).view(3, 2).requires_grad_()
        y = t.cat([t.ones(2, 2), run(x)])
        (y * t.arange(1.0, 11.0).view(5, 2)).sum().backward()
        gradients.append(x.grad)
    assert t.equal(*gradients)


def _look(y):
    return y.as_strided((2,), (1,), 0)


def _of_a_copy(x):
    y = t.empty(3, 2)
    y.copy_(x)
    return _look(y)


def _written_through(x):
    y = t.empty(3, 2)
    y[:] = x
    _look(y).mul_(5)
    return y


def _of_a_turned_copy(x):
    y = t.empty(2, 3).t()
    y.copy_(x)
    return _look(y) * 1


def _of_a_copy_into_turned(x):
    y = t.empty(2, 3)
    y.t().copy_(x)
    return _look(y) * 1


@pytest.mark.parametrize(
    "f", [_of_a_copy, _written_through, _of_a_turned_copy, _of_a_copy_into_turned]
)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_places_of_a_copy_are_its_own(f, backend):
    compiled = t.compile(f, backend=backend)
    for x in (t.arange(6.0).view(3, 2), t.arange(12.0).view(2, 3, 2)[1]):
        assert t.equal(compiled(x), f(x))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradients_of_a_map_whose_function_writes_to_a_part(backend):
    def f(x):
        return t._higher_order_ops.map(_first_row, x)

    gradients = []
    for run in (f, t.compile(f, backend=backend)):
        x = t.ones(2, 3, requires_grad=True)
        run(x).backward(t.arange(1.0, 7.0).view(2, 3))
        gradients.append(x.grad)
    assert t.equal(*gradients)
