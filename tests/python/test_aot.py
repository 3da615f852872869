"""Programs traced ahead of time behave as they do without: values, writes, memory, histories."""

import pytest
from taeda._inductor import compile as inductor
from taeda.fx.aot import (
    aot_export_joint_simple,
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_func,
    nop,
)
from taeda.utils import _pytree as pytree
from wrapped_tensor import Wrapped

import taeda as t


def kernels(gm, inputs):
    return make_boxed_func(inductor(gm, inputs, native="never"))


BACKENDS = {"nop": nop, "kernels": kernels}


def write_and_read(x, y):
    x.mul_(2)
    return x * y


def write_to_a_view(x, y):
    x[0].add_(y[0])
    return x.sum() + y


def write_and_return_it(x, y):
    return x.add_(y), y * 2


def write_twice(x, y):
    x.copy_(y)
    y.mul_(3)
    return x + y


def swap(x, y):
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)


def write_without_recording(x, y):
    with t.no_grad():
        x.mul_(2)
    return x * y


def write_to_the_detached(x, y):
    x.detach().add_(1)
    return x.sin() * y


def new_sizes(x, y):
    x.unsqueeze_(0)
    return x + y


def new_sizes_and_values(x, y):
    x.t_()
    x[0].mul_(2)
    return x.view(x.shape) + y.t()


def views_of_inputs(x, y):
    return x.view(-1), y[0], x.t().detach()


def the_inputs(x, y):
    return y, x, x


def views_of_one_value(x, y):
    h = x * y
    return h, h.view(-1), h.t()[1:]


def views_of_a_hidden_value(x, y):
    h = x * y
    return h.view(-1), h[1], h.detach()


def one_view_of_a_hidden_value(x, y):
    return (x * y).t()


def copies_of_one_value(x, y):
    h = x * y
    a, b = t.empty_like(h), t.empty_like(h)
    a.copy_(h)
    b.copy_(h)
    return a, b, h


def the_same_twice(x, y):
    h = x.exp() + y
    return h, h


def what_is_no_tensor(x, y):
    return [x * 2, None, 5, {"a": y.sum(), "b": "text"}]


def halves(x, y):
    return (x * y).split(2, 0)


def a_constant(x, y):
    return x * y, t.ones(3)


class Halved(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 0.5


def an_input_through_a_function(x, y):
    return Halved.apply(x) * 1, y


PROGRAMS = [
    write_and_read,
    write_to_a_view,
    write_and_return_it,
    write_twice,
    swap,
    write_without_recording,
    write_to_the_detached,
    new_sizes,
    new_sizes_and_values,
    views_of_inputs,
    the_inputs,
    views_of_one_value,
    views_of_a_hidden_value,
    one_view_of_a_hidden_value,
    copies_of_one_value,
    the_same_twice,
    what_is_no_tensor,
    halves,
    a_constant,
    an_input_through_a_function,
]


def leaves_and_inputs(requires_grad):
    """Leaves, and tensors made of them, which a program may write to."""
    leaves = [t.linspace(-1, 2, 12).view(3, 4), t.linspace(0.5, 3, 12).view(3, 4)]
    if requires_grad:
        leaves = [leaf.requires_grad_() for leaf in leaves]
        return leaves, [leaf * 1 for leaf in leaves]
    return leaves, leaves


def memory(v, others):
    """The number of the first tensor in the same memory."""
    pointers = [other.untyped_storage().data_ptr() for other in others]
    return pointers.index(v.untyped_storage().data_ptr())


def observe(function, requires_grad):
    """Everything that a caller can see."""
    leaves, inputs = leaves_and_inputs(requires_grad)
    result = function(*inputs)
    tensors = [v for v in pytree.tree_leaves(result) if isinstance(v, t.Tensor)]
    plain = [v for v in pytree.tree_leaves(result) if not isinstance(v, t.Tensor)]
    seen = [*inputs, *tensors]
    facts = [(v.requires_grad, v.shape, v.stride(), memory(v, seen)) for v in seen]
    identity = [[a is b for b in seen] for a in seen]
    values = [v.detach().clone() for v in seen]
    grads = []
    if any(v.requires_grad for v in tensors):
        total = sum((v * (i + 1)).sin().sum() for i, v in enumerate(tensors) if v.requires_grad)
        total = total + sum(v.sum() for v in inputs if v.requires_grad)
        grads = t.autograd.grad(total, leaves, allow_unused=True)
    # Results may be written to, where eager's may.
    written = []
    for v in tensors:
        try:
            v.detach().add_(1)
            written.append([w.detach().clone() for w in seen])
        except RuntimeError as error:
            written.append(str(error)[:40])
    return plain, facts, identity, values, list(grads), written


def equal(a, b):
    if isinstance(a, t.Tensor):
        return isinstance(b, t.Tensor) and t.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, backend, requires_grad, dynamic):
    want = observe(program, requires_grad)
    compiled = aot_function(program, BACKENDS[backend], dynamic=dynamic)
    for _ in range(2):
        have = observe(compiled, requires_grad)
        for part, expected, given in zip(
            ["plain", "facts", "identity", "values", "gradients", "written"], want, have
        ):
            assert equal(expected, given), part


@pytest.mark.parametrize("first", [5, 1, 0])
def test_small_sizes_of_a_dynamic_program(first):
    def f(x):
        return [x.squeeze() * x.size(0), x.roll(1, 0)][: 1 + (x.size(0) > 1)]

    traced = []

    def counted(gm, inputs):
        traced.append(gm)
        return kernels(gm, inputs)

    compiled = aot_function(f, counted, dynamic=True)
    for rows in (first, 5, 1, 0, 7, 1, 3):
        x = t.randn(rows, 4, requires_grad=True)
        results, wanted = compiled(x), f(x)
        assert [r.shape for r in results] == [r.shape for r in wanted]
        assert all(map(t.equal, results, wanted))
        grads = [
            t.autograd.grad(sum(r.sum() for r in all_of), x)[0] for all_of in (results, wanted)
        ]
        assert t.equal(*grads)
    assert len(traced) == 6  # a forward and a backward for each of 0, 1 and more


def test_other_sizes_of_a_dynamic_program():
    compiled = aot_function(views_of_one_value, kernels, dynamic=True)
    for size in (3, 5, 8):
        x = t.randn(size, 4, requires_grad=True)
        y = t.randn(size, 4)
        for have, want in zip(compiled(x, y), views_of_one_value(x, y)):
            assert t.equal(have, want) and have.stride() == want.stride()


def test_gradients_of_gradients():
    def f(x, w):
        return (x.sin() * w).exp().sum()

    x, w = t.randn(4, requires_grad=True), t.randn(4, requires_grad=True)
    for backend in BACKENDS.values():
        compiled = aot_function(f, backend)

        def third(function):
            (g,) = t.autograd.grad(function(x, w), x, create_graph=True)
            (h,) = t.autograd.grad(g.sum(), w, create_graph=True)
            return t.autograd.grad(h.sum(), x)[0]

        assert t.allclose(third(compiled), third(f))


def test_a_second_backward_needs_a_retained_graph():
    x = t.randn(3, requires_grad=True)
    out = aot_function(lambda v: v.sin() * v, nop)(x)
    (first,) = t.autograd.grad(out.sum(), x, retain_graph=True)
    (second,) = t.autograd.grad(out.sum(), x)
    assert t.equal(first, second)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        t.autograd.grad(out.sum(), x)


def test_a_saved_input_that_changes_is_noticed():
    x = t.randn(3, requires_grad=True)
    y = x * 1
    out = aot_function(lambda v: v * v, nop)(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_inputs_that_share_memory_are_traced_so():
    def f(a, b):
        a.mul_(2)
        return a + b

    base = t.arange(6.0)
    want_base = base.clone()
    want = f(want_base[:4], want_base[2:])
    compiled = aot_function(f, nop)
    assert t.equal(compiled(base[:4], base[2:]), want) and t.equal(base, want_base)


def test_inputs_that_share_memory_later_are_refused():
    def f(a, b):
        a.mul_(2)
        return a + b

    compiled = aot_function(f, nop)
    compiled(t.ones(4), t.ones(4))
    base = t.arange(6.0)
    with pytest.raises(
        RuntimeError, match="input 0 and input 1 share memory that the program writes"
    ):
        compiled(base[:4], base[2:])
    assert t.equal(base, t.arange(6.0))


def test_other_constants_and_nestings_are_refused():
    compiled = aot_function(lambda x, k: x * k, nop)
    compiled(t.ones(2), 3)
    with pytest.raises(RuntimeError, match="compiled for 3 and is given 4"):
        compiled(t.ones(2), 4)
    with pytest.raises(RuntimeError, match="nested in another way"):
        compiled(t.ones(2), k=3)


@pytest.mark.parametrize(("was", "now"), [(1, 1.0), (1, True), (0.0, -0.0)])
def test_equal_constants_of_other_kinds_are_refused(was, now):
    compiled = aot_function(lambda x, k: x / k, nop)
    compiled(t.ones(2), was)
    with pytest.raises(RuntimeError, match=f"compiled for {was} and is given {now}"):
        compiled(t.ones(2), now)


def test_a_constant_that_is_no_number():
    compiled = aot_function(lambda x, k: x * k, nop)
    for _ in range(2):
        assert compiled(t.ones(2), float("nan")).isnan().all()


def test_writes_of_the_backward():
    counter = t.zeros(3)

    class Counted(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, count):
            ctx.count = count
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.count.add_(1)
            return grad * 2, None

    compiled = aot_function(lambda x, count: Counted.apply(x, count), nop)
    x = t.randn(3, requires_grad=True)
    out = compiled(x, counter)
    assert counter.sum() == 0
    out.sum().backward()
    assert t.equal(counter, t.ones(3))
    with pytest.raises(RuntimeError, match="create_graph=True"):
        t.autograd.grad(compiled(x, counter).sum(), x, create_graph=True)


def test_an_input_that_a_function_gives_back_has_its_gradient():
    x = t.randn(3, requires_grad=True)
    out = aot_function(Halved.apply, nop)(x)
    out.sum().backward()
    assert t.equal(out, x) and t.equal(x.grad, t.full((3,), 0.5))


def test_memory_that_an_input_gets_is_refused():
    def f(x, y):
        x.data = y * 2
        return x + 1

    with pytest.raises(NotImplementedError, match="input 0 gets the memory of another tensor"):
        aot_function(f, nop)(t.ones(2), t.ones(2))


@pytest.mark.parametrize("is_leaf", [True, False])
def test_an_input_that_is_detached_in_place_is_refused(is_leaf):
    def f(x):
        x.detach_()
        return x + 1

    x = t.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="input 0 loses its history"):
        aot_function(f, nop)(x if is_leaf else x * 1)


def test_the_backward_is_compiled_when_it_runs():
    compiled_graphs = []

    def note(gm, inputs):
        compiled_graphs.append(gm)
        return nop(gm, inputs)

    x = t.randn(3, requires_grad=True)
    out = aot_function(t.sin, note)(x)
    assert len(compiled_graphs) == 1
    out.sum().backward()
    assert len(compiled_graphs) == 2
    with t.no_grad():
        aot_function(t.sin, note)(x)
    assert len(compiled_graphs) == 3


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (lambda *_: [t.ones(2)], r"number of gradients \(expected 2, got 1\)"),
        (lambda *_: t.ones(2), r"number of gradients \(expected 2, got 1\)"),
        (lambda *_: [t.ones(2)] * 5, r"number of gradients \(expected 2, got 5\)"),
        (lambda *_: [t.ones(2), 2], r"expected Variable or None \(got int\)"),
        (lambda *_: [t.ones(2), t.ones(7)], r"invalid gradient at index 1 - got \[7\]"),
    ],
)
def test_results_of_a_compiled_backward_are_counted(results, message):
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    compiled = aot_function(
        lambda x, y: (x * y).sin(), nop, lambda gm, inputs: make_boxed_func(results)
    )
    with pytest.raises(RuntimeError, match=message):
        compiled(x, y).sum().backward()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_results_of_a_compiled_forward_are_counted(requires_grad):
    x = t.ones(2, requires_grad=requires_grad)
    count = 2 if requires_grad else 1  # the input is saved
    for given, message in [
        ([t.ones(2)] * 3, f"expected {count} outputs, got 3"),
        ([], f"expected {count} outputs, got 0"),
        ([3] * count, "output 0 of a compiled graph: got int, expected a Tensor"),
        ([None] * count, "output 0 of a compiled graph: got None, expected a Tensor"),
    ]:
        run = make_boxed_func(lambda *_, given=given: given)
        with pytest.raises(AssertionError, match=message):
            aot_function(t.sin, lambda *_, run=run: run)(x)


def test_a_tangent_of_another_class_and_layout_keeps_its_class():
    def f(x):
        return (x * 2).sin()

    x = t.randn(3, 2, requires_grad=True)
    y = aot_function(f, nop)(x)
    tangent = Wrapped(t.ones(()).expand(3, 2))  # strides 0, where the trace had (2, 1)
    (grad,) = t.autograd.grad(y, x, tangent)
    assert type(grad) is Wrapped
    assert t.equal(grad.inner, t.autograd.grad(f(x).sum(), x)[0])


def test_modules():
    module = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.BatchNorm1d(8), t.nn.ReLU(), t.nn.Linear(8, 2))
    twin = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.BatchNorm1d(8), t.nn.ReLU(), t.nn.Linear(8, 2))
    twin.load_state_dict(module.state_dict())
    compiled = aot_module(twin, nop)
    x = t.randn(5, 4)
    for _ in range(3):
        have, want = compiled(x), module(x)
        assert t.equal(have, want)
        want.sum().backward()
        have.sum().backward()
    for a, b in zip(module.parameters(), twin.parameters()):
        assert t.equal(a.grad, b.grad)
    for a, b in zip(module.buffers(), twin.buffers()):
        assert t.equal(a, b)
    forward = aot_module_simplified(module.eval(), [x], nop)
    assert t.equal(forward(x), module(x))


def test_joint_graphs():
    def f(x, w):
        return (x * w).sin()

    x, w = t.randn(3), t.randn(3, requires_grad=True)
    joint = aot_export_joint_simple(lambda *args: (f(*args),), [x, w], trace_joint=True)
    (out,), (none, grad) = joint([x, w], [t.ones(3)])
    assert t.equal(out, f(x, w)) and t.equal(grad, t.autograd.grad(f(x, w).sum(), w)[0])
    assert none is None  # x requires no gradient
    plain = aot_export_joint_simple(lambda *args: (f(*args),), [x, w.detach()], trace_joint=True)
    assert t.equal(plain(x, w)[0], f(x, w))
    inference = aot_export_joint_simple(lambda *args: (f(*args),), [x, w], trace_joint=False)
    assert t.equal(inference(x, w)[0], f(x, w))
    refused = [
        ("does not support input mutations", lambda v: (v.mul_(2) + 1,), [t.ones(2)]),
        ("does not support outputs that alias inputs", lambda v: (v.view(-1),), [t.ones(2)]),
        ("requires outputs to be a single list/tuple", t.sin, [t.ones(2)]),
        ("requires individual inputs not to be pytrees", lambda v: (v[0] * 2,), [[t.ones(2)]]),
        ("received a metadata mutation", lambda v: (v.t_() * 2,), [t.ones(2, 2)]),
    ]
    for message, function, args in refused:
        with pytest.raises(RuntimeError, match=message):
            aot_export_joint_simple(function, args, trace_joint=False)


def test_counters():
    from taeda._dynamo.utils import counters

    before = counters["aot_autograd"]["ok"]
    compiled = aot_function(lambda x: x * 2, nop)
    compiled(t.ones(2))
    compiled(t.ones(2))
    assert counters["aot_autograd"]["ok"] == before + 1


WEIGHT = t.randn(5, 4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: t.nn.functional.linear(x[None], WEIGHT, t.ones(5)),
        lambda x: t.nn.functional.linear(x[0], WEIGHT),
        lambda x: x.sin().view(-1),
    ],
)
def test_a_result_beside_its_detached_self(f):
    """Operators may make what they give as a view of a tensor that autograd never saw."""

    def both(x):
        y = f(x)
        return y, y.detach()

    x = t.randn(3, 4, requires_grad=True)
    compiled = aot_function(both, nop)
    result, detached = compiled(x)
    assert result.requires_grad and not detached.requires_grad
    assert result.data_ptr() == detached.data_ptr()
    wanted = t.autograd.grad(f(x).sum(), x)
    assert t.equal(t.autograd.grad(result.sum(), x)[0], wanted[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x.detach(), x.detach(), x.data),
        lambda x: (x, x.add_(1).detach(), x.data),
        lambda x: (x + 1, (x + 1).detach(), x.view(-1), x.view(-1).detach()),
        lambda x: (y := x + 1, y.detach(), y.data, v := y.view(-1), v.detach(), v.view(3)),
    ],
)
def test_detached_tensors_are_tensors_of_their_own(f):
    def facts(run):
        x = t.ones(3)
        given = [x, *run(x)]
        ids = [[a is b for b in given] for a in given]
        return ids, [[a.data_ptr() == b.data_ptr() for b in given] for a in given], [
            a._is_view() for a in given
        ]  # fmt: skip

    assert facts(aot_function(f, nop)) == facts(f)


@pytest.mark.parametrize("is_result", [False, True])
def test_views_without_gradients_require_them_with_their_base(is_result):
    def f(x):
        y = x * 2 if is_result else x
        with t.no_grad():
            view = y.view(-1)
        return y, view, view.detach(), y[1:]

    x = t.ones(2, 3, requires_grad=True)
    facts = [
        [(v.requires_grad, v.is_leaf, v._is_view(), v.shape) for v in run(x)]
        for run in (aot_function(f, nop), f)
    ]
    assert facts[0] == facts[1]


class Two(t.Tensor):
    """Holds two tensors, of which one may be another wrapper."""

    @staticmethod
    def __new__(cls, a, b):
        return t.Tensor._make_wrapper_subclass(cls, a.shape, strides=a.stride(), dtype=a.dtype)

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        assert (size, stride) == (inner["a"].shape, inner["a"].stride())
        return Two(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def each(name):
            opened = [getattr(v, name) if isinstance(v, Two) else v for v in args]
            return func(*opened, **(kwargs or {}))

        return Two(each("a"), each("b"))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Two(x, x * 2),
        lambda x: (x + 1, Two(x, x * 2) * 3),
        lambda x: [Two(Two(x, x + 1), x * 2) * 3, x - 1],
        lambda x: (Two(t.cat([x, x]).view(2, -1), x), x.size(0)),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_wrappers_that_the_program_makes(f, dynamic):
    def opened(v):
        if isinstance(v, (list, tuple)):
            return [opened(e) for e in v]
        return (opened(v.a), opened(v.b)) if isinstance(v, Two) else v

    x = t.arange(3.0)
    compiled = aot_function(f, nop, dynamic=dynamic)
    for given in (x, x + 5, t.arange(5.0) if dynamic else x):
        assert equal(opened(compiled(given)), opened(f(given)))
