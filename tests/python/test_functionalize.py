"""functionalize: in-place operators and views as functions of values."""

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.utils._python_dispatch import TorchDispatchMode

import taeda
from taeda.func import functionalize, grad, vmap

REMOVE = ["mutations", "mutations_and_views"]


def views(x):
    y = x.clone()
    y[0].add_(1)
    y.t()[1].mul_(2)
    z = y.view(-1)
    y.sub_(1)
    z[2:4].fill_(7)
    y.transpose_(0, 1)
    y[0] = taeda.tensor([1.0, 2.0])
    return y, z, y.diagonal()


def shapes(x):
    y = x * 2
    y.unsqueeze_(0)
    y.add_(1)
    y.squeeze_(0).t_()
    return y


def fills(x):
    y = taeda.zeros(2, 3)
    y.copy_(x)
    y[:, 1].zero_()
    w = taeda.empty(3)
    w.fill_(2.0)
    taeda.add(w, y[0], out=w)
    y.index_put_((taeda.tensor([0]),), w)
    return y, w


def complex_parts(x):
    z = taeda.complex(x, x + 1)
    z.real.mul_(2)
    z.conj()[0].add_(1j)
    z.imag[1].zero_()
    return z


@pytest.mark.parametrize("remove", REMOVE)
@pytest.mark.parametrize("f", [views, shapes, fills, complex_parts])
def test_same_results(f, remove):
    x = taeda.arange(6.0).view(2, 3)
    expected, got = f(x.clone()), functionalize(f, remove=remove)(x.clone())
    expected = expected if isinstance(expected, tuple) else (expected,)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(expected)
    assert all(taeda.equal(a, b) for a, b in zip(got, expected))


@pytest.mark.parametrize("remove", REMOVE)
def test_arguments_are_written_once(remove):
    def f(a, b):
        a.add_(1)
        a[0].mul_(b)
        a.view(-1)[1:].sub_(2)
        return a.sum()

    x = taeda.ones(2, 2)
    version = x._version
    expected = taeda.ones(2, 2)
    total = f(expected, 3)
    assert functionalize(f, remove=remove)(x, 3).item() == total.item()
    assert taeda.equal(x, expected) and x._version == version + 1


def test_an_argument_given_twice_is_one_tensor():
    def f(a, b):
        a.add_(1)
        return b * 2

    x = taeda.zeros(2)
    assert functionalize(f)(x, x).tolist() == [2.0, 2.0]


def test_with_other_transforms():
    def f(x):
        y = x * 1
        y[1:].mul_(x[:-1])
        return y.sum()

    x = taeda.tensor([1.0, 2.0, 3.0])
    expected = grad(f)(x)
    assert taeda.equal(grad(functionalize(f))(x), expected)
    assert taeda.equal(functionalize(grad(f))(x), expected)
    xs = taeda.stack([x, x * 2])
    assert taeda.equal(vmap(functionalize(f))(xs), vmap(f)(xs))
    assert taeda.equal(functionalize(vmap(f))(xs), vmap(f)(xs))


def random_fills(x):
    y = x.clone()
    y[0].uniform_(0, 1)
    y[1].normal_(1, 2)
    y.t()[0].bernoulli_(0.5)
    z = taeda.empty(4).random_(10).geometric_(0.5)
    return y, z.exponential_(), z.cauchy_(), z.log_normal_(), z[1:].random_(2, 5)


class Written(TorchDispatchMode):
    """Lists the operators that write to an argument."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "!" in str(func._schema):
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def scattered(x):
    return taeda.select_scatter(x, x[0] * 2, 0, 1), taeda.diagonal_scatter(x, taeda.ones(2))


ALL = [views, shapes, fills, random_fills, complex_parts, scattered]


@pytest.mark.parametrize("remove", REMOVE)
@pytest.mark.parametrize("f", ALL)
def test_nothing_is_written_below(f, remove):
    x = taeda.arange(6.0).view(2, 3)
    with Written() as plain:
        f(x)
    assert plain.seen or f is scattered
    with Written() as written:
        functionalize(f, remove=remove)(x)
    assert written.seen == []


@pytest.mark.parametrize("remove", REMOVE)
def test_random_numbers_are_those_of_the_plain_function(remove):
    x = taeda.zeros(2, 3)
    taeda.manual_seed(3)
    expected = random_fills(x)
    taeda.manual_seed(3)
    for got, value in zip(functionalize(random_fills, remove=remove)(x), expected):
        assert taeda.equal(got, value)


def test_parts_of_a_root_with_gaps():
    """A root that is a view of the caller's keeps its strides while parts of it are written."""

    def f(x):
        x[1].add_(1)
        x.t()[0].mul_(2)
        return x * 1

    memory = taeda.arange(12.0).view(3, 4)
    expected = memory.clone()
    result = f(expected[:, 1::2])
    assert taeda.equal(functionalize(f)(memory[:, 1::2]), result)
    assert taeda.equal(memory, expected)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_rows_of_an_embedding_are_scaled(remove):
    def f(weight):
        rows = weight.clone()
        taeda.embedding_renorm_(rows, taeda.tensor([0, 2]), 1.0, 2.0)
        return rows

    weight = taeda.arange(6.0).view(3, 2) + 1
    assert taeda.equal(functionalize(f, remove=remove)(weight), f(weight))
    graph = make_fx(functionalize(f, remove=remove))(weight).graph
    targets = [n.target for n in graph.find_nodes(op="call_function")]
    assert taeda.ops.aten.embedding_renorm.default in targets
    assert taeda.ops.aten.embedding_renorm_.default not in targets


def test_refusals():
    with pytest.raises(RuntimeError, match="received invalid argument for remove=all"):
        functionalize(lambda x: x, remove="all")
    captured = taeda.zeros(2)
    with pytest.raises(RuntimeError, match="to a tensor that it captured"):
        functionalize(lambda x: captured.add_(x))(taeda.ones(2))


class Doubled(taeda.autograd.Function):
    """Says that its gradient is 5."""

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


def test_a_function_of_ones_own_below_a_gradient():
    def f(x):
        y = x.clone()
        y.add_(1)
        return Doubled.apply(y).sum()

    x = taeda.ones(3)
    assert functionalize(f)(x).item() == 12
    assert functionalize(grad(f))(x).tolist() == [5, 5, 5]
    assert grad(functionalize(f))(x).tolist() == [5, 5, 5]


def nested_views(x):
    y = x.clone()
    flat = y.view(-1)[1:]
    flat.mul_(2)
    column = y.t()[1]
    column.add_(flat[:2])
    return y, flat, column


def graph_of(f, remove):
    from taeda.fx.experimental.proxy_tensor import make_fx

    gm = make_fx(functionalize(f, remove=remove))(taeda.ones(2, 3))
    return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"], gm


def test_traced_views_are_put_back_by_their_inverses():
    targets, gm = graph_of(nested_views, "mutations")
    assert targets == [
        "aten.clone.default",
        "aten.view.default",
        "aten.slice.Tensor",
        "aten.mul.Tensor",
        "aten.view.default",
        "aten.slice_scatter.default",
        "aten.view.default",
        "aten.view.default",
        "aten.slice.Tensor",
        "aten.t.default",
        "aten.select.int",
        "aten.slice.Tensor",
        "aten.add.Tensor",
        "aten.t.default",
        "aten.select_scatter.default",
        "aten.t.default",
        "aten.t.default",
        "aten.select.int",
        "aten.view.default",
        "aten.slice.Tensor",
    ]
    x = taeda.randn(2, 3)
    for got, expected in zip(gm(x), nested_views(x), strict=True):
        assert taeda.equal(got, expected)


VIEWING = [
    nested_views,
    lambda x: x.clone().split(2, 1)[0].add_(1),
    lambda x: x.clone().unbind(0)[1].add_(1),
    lambda x: x.clone().unsqueeze_(0).squeeze_(0).transpose_(0, 1).add_(1),
    lambda x: x.clone().diagonal().fill_(3),
    lambda x: x.clone().permute(1, 0).add_(1),
    lambda x: x.expand(2, 2, 3),
]


@pytest.mark.parametrize("f", VIEWING)
def test_traced_views_become_copies(f):
    targets, gm = graph_of(f, "mutations_and_views")
    views = [name for name in targets if name.startswith("aten.") and is_view(name)]
    assert views == [] and not any("meta" in str(n.kwargs) for n in gm.graph.nodes)
    x = taeda.randn(2, 3)
    got, expected = gm(x), f(x)
    for a, b in zip(*([v] if isinstance(v, taeda.Tensor) else v for v in (got, expected))):
        assert taeda.equal(a, b)


def is_view(name):
    _, packet, overload = name.split(".")
    schema = getattr(getattr(taeda.ops.aten, packet), overload)._schema
    return any(a.alias_info is not None for a in schema.arguments)


def test_resize_is_refused():
    with pytest.raises(RuntimeError, match="resize_"):
        functionalize(lambda x: x.clone().resize_(2))(taeda.ones(4))


def through_bits(x):
    x[1:].view(taeda.int16)[0, 2:4].fill_(3)
    x.view(taeda.int32).add_(1)
    return x


def through_wider(x):
    x.view(taeda.float64)[0].zero_()
    return x


def through_complex(x):
    y = taeda.view_as_complex(x.view(2, 2, 2))
    y.mul_(1j)
    y.conj().imag.add_(2)
    return x, y


READINGS = [(through_bits, REMOVE), (through_wider, REMOVE), (through_complex, REMOVE[:1])]


@pytest.mark.parametrize("f, remove", [(f, remove) for f, each in READINGS for remove in each])
def test_writes_through_another_reading_of_the_memory(f, remove):
    wanted, x = taeda.arange(8.0).view(2, 4), taeda.arange(8.0).view(2, 4)
    expected, got = f(wanted), functionalize(f, remove=remove)(x)
    assert taeda.equal(x, wanted)
    for a, b in zip(*([v] if isinstance(v, taeda.Tensor) else v for v in (got, expected))):
        assert taeda.equal(a, b)


@pytest.mark.parametrize("part", [lambda z: z.real, lambda z: z.imag, lambda z: z.conj()])
def test_writes_to_parts_of_complex_numbers(part):
    def f(z):
        part(z.t())[0].mul_(3)
        return z

    z = taeda.complex(taeda.arange(6.0).view(2, 3), taeda.ones(2, 3))
    expected = f(z.clone())
    assert taeda.equal(functionalize(f)(z.clone()), expected)


@pytest.mark.parametrize("dtype", [taeda.int32, taeda.int16, taeda.int64, taeda.uint8])
def test_writes_through_as_strided_of_another_dtype(dtype):
    def f(x):
        x.view(dtype).as_strided((2,), (2,), 1).fill_(7)
        return x * 2

    wanted, x = taeda.arange(8.0), taeda.arange(8.0)
    assert taeda.equal(functionalize(f)(x), f(wanted)) and taeda.equal(x, wanted)


def test_a_part_without_elements_is_written():
    def f(x):
        y = x.clone()
        y.chunk(2, 1)[-1].sub_(1)
        return y + 1

    assert functionalize(f)(taeda.randn(5, 0)).shape == (5, 0)
