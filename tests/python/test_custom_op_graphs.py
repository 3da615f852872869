"""Operators of one's own on fake tensors, in traces and in exported programs."""

import pytest
from taeda._inductor import compile
from taeda._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.fx.experimental.symbolic_shapes import ShapeEnv
from taeda.library.operator_checks import OpCheckError

import taeda
from taeda.export import export, load, save
from taeda.func import grad, vmap


@taeda.library.custom_op("graphs::scale", mutates_args=())
def scale(x: taeda.Tensor, k: float) -> taeda.Tensor:
    return x * k


@scale.register_fake
def _(x, k):
    return taeda.empty_like(x)


scale.register_autograd(
    lambda ctx, g: (g * ctx.k, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
)
scale.register_vmap(lambda info, dims, x, k: (scale(x, k), dims[0]))


@taeda.library.custom_op("graphs::places", mutates_args=())
def places(x: taeda.Tensor) -> taeda.Tensor:
    return x.nonzero()


@places.register_fake
def _(x):
    return x.new_empty([taeda.library.get_ctx().new_dynamic_size(), x.dim()], dtype=taeda.int64)


def test_fake_results_are_fake():
    with FakeTensorMode():
        x = taeda.ones(4, device="cuda")
        y = scale(x, 2.0)
    assert isinstance(y, FakeTensor)
    assert (y.shape, y.device) == (x.shape, x.device)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_one_node_in_a_trace(mode):
    gm = make_fx(lambda x: scale(x, 2.0) + 1, tracing_mode=mode)(taeda.ones(3))
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert targets == ["graphs.scale.default", "aten.add.Tensor"]
    assert gm(taeda.ones(3)).tolist() == [3, 3, 3]


def test_traced_through_gradients_and_batches():
    f = vmap(grad(lambda t: scale(t, 3.0).sum()))
    gm = make_fx(f)(taeda.ones(2, 3))
    assert taeda.equal(gm(taeda.ones(2, 3)), taeda.full((2, 3), 3.0))


def test_sizes_that_depend_on_values():
    gm = make_fx(lambda x: places(x) * 2, tracing_mode="symbolic")(taeda.ones(3))
    assert "places: i64[u0, 1] = graphs::places(x_1)" in gm.graph.to_text()
    assert gm(taeda.tensor([0.0, 1.0])).tolist() == [[2]]
    with (
        pytest.raises(DynamicOutputShapeException, match=r"graphs\.places\.default"),
        FakeTensorMode(),
    ):
        places(taeda.ones(3))
    mode = FakeTensorMode(shape_env=ShapeEnv())
    assert str(places(mode.from_tensor(taeda.ones(3))).shape[0]) == "u0"


def test_exported_saved_and_loaded(tmp_path):
    class Model(taeda.nn.Module):
        def forward(self, x):
            return scale(x, 2.0).relu()

    program = export(Model(), (taeda.ones(3),))
    assert "graphs.scale.default" in program.graph_module.code
    save(program, tmp_path / "program.pt2")
    again = load(tmp_path / "program.pt2").module()
    assert again(taeda.tensor([-1.0, 2.0, 3.0])).tolist() == [0, 4, 6]


def test_opcheck_finds_a_wrong_device_and_untraceable_results():
    @taeda.library.custom_op("graphs::moved", mutates_args=())
    def moved(x: taeda.Tensor) -> taeda.Tensor:
        return x.clone()

    @moved.register_fake
    def _(x):
        return taeda.empty(x.shape, dtype=x.dtype, device="cuda")

    with pytest.raises(OpCheckError, match="Devices cpu and cuda:0 are not equal"):
        taeda.library.opcheck(moved, (taeda.ones(3),))
    taeda.library.opcheck(scale, (taeda.ones(3, requires_grad=True), 2.0))
    taeda.library.opcheck(places, (taeda.ones(3),))


def test_fake_kernels_see_the_device_that_is_shown():
    seen = []

    @taeda.library.custom_op("graphs::placed", mutates_args=())
    def placed(x: taeda.Tensor) -> taeda.Tensor:
        return taeda.zeros(x.shape, device=x.device)

    @placed.register_fake
    def _(x):
        seen.append(x.device)
        return taeda.zeros(x.shape, device=x.device)

    with FakeTensorMode():
        y = placed(taeda.ones(4, device="cuda"))
    assert seen == [taeda.device("cuda:0")]
    assert y.device == seen[0]


def test_export_of_an_operator_that_writes(tmp_path):
    @taeda.library.custom_op("test_graphs::add_into", mutates_args={"out"})
    def add_into(x: taeda.Tensor, out: taeda.Tensor) -> None:
        out.add_(x)

    class Writes(taeda.nn.Module):
        def forward(self, x):
            out = x * 2
            add_into(x, out)
            return out + 1

    x = taeda.ones(2, 3)
    program = export(Writes(), (x,))
    assert taeda.equal(program.module()(x), Writes()(x))
    save(program, tmp_path / "writes.pt2")
    assert taeda.equal(load(tmp_path / "writes.pt2").module()(x), Writes()(x))


# ---- lists of lists ----
@pytest.fixture
def merge():
    with taeda.library._scoped_library("graphs_lists", "DEF") as lib:
        lib.define("merge(Tensor[][] rows, Tensor[] more) -> (Tensor[], Tensor)")

        def merged(rows, more):
            return [row[0] + m for row, m in zip(rows, more, strict=True)], rows[-1][-1] * 2

        lib.impl("merge", merged, "CPU")
        taeda.library.register_fake("graphs_lists::merge", merged, lib=lib)
        yield taeda.ops.graphs_lists.merge.default


def test_lists_of_lists_of_tensors(merge):
    a, b = taeda.ones(2), taeda.full((2,), 3.0)
    sums, last = merge([[a, b], [b]], [a, a])
    assert [t.tolist() for t in sums] == [[2, 2], [4, 4]] and last.tolist() == [6, 6]
    assert str(merge._schema).startswith("graphs_lists::merge(Tensor[][] rows, Tensor[] more)")
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'List\[List\[Tensor\]\]'"):
        merge([a, b], [a, a])


def test_lists_of_lists_are_traced_and_exported(merge):
    def f(a, b):
        return merge([[a * 2, b], [b.add_(1)]], [a, a])

    args = lambda: (taeda.ones(2), taeda.full((2,), 3.0))
    expected = [t.tolist() for t in (*f(*args())[0], f(*args())[1])]
    program = export(f, args())
    for form in (program, program.run_decompositions({})):
        sums, last = form.module()(*args())
        assert [t.tolist() for t in (*sums, last)] == expected
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(t) for t in args()]
    assert isinstance(f(*fakes)[1], FakeTensor)


def test_batched_lists_of_lists(merge):
    x = taeda.arange(6.0).reshape(3, 2)
    found = vmap(lambda t: merge([[t, t * 2]], [t])[1])(x)
    assert taeda.equal(found, x * 4)


@pytest.mark.parametrize(
    "told, words",
    [
        (
            lambda x: x.new_empty(x.shape[0] + 1),
            r"sizes \[3\] and Float.*sizes \[4\] and Float",
        ),
        (lambda x: x.new_empty(1, 3), r"sizes \[3\].*sizes \[1, 3\]"),
        (lambda x: x.new_empty(3, dtype=taeda.float64), "Float.*Double"),
    ],
)
def test_a_fake_kernel_that_is_wrong_is_noticed_by_compiled_programs(told, words):
    with taeda.library._scoped_library("graphs_wrong", "DEF") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CPU")
        taeda.library.register_fake("graphs_wrong::twice", told, lib=lib)
        x = taeda.ones(3)
        f = lambda x: taeda.ops.graphs_wrong.twice(x) + 1
        with pytest.raises(RuntimeError, match=words):
            compile(make_fx(f, tracing_mode="fake")(x), [x])(x)
        result = taeda.compile(f)(x)
        assert taeda.equal(result, f(x)) and result.dtype is taeda.float32
