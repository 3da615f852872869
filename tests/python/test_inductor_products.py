"""Work on the result of a product runs on its blocks, with the bits that it has by itself."""

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def captured(f, inputs, mode="symbolic", **options):
    gm = make_fx(f, tracing_mode=mode, pre_dispatch=True)(*inputs)
    return compile(gm, inputs, **({"native": "never"} | options))


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def same(a, b):
    is_alike = a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
    return is_alike and t.equal(a, b)


def alike(compiled, a, b):
    """Equal bits, or where a library did work behind a product, nearly so."""
    plans = compiled.report()
    if any(step["finished_by_library"] for plan in plans for step in plan["steps"]):
        return a.dtype == b.dtype and a.stride() == b.stride() and t.allclose(a, b, 1e-5, 1e-5)
    return same(a, b)


def steps(compiled, plan=0):
    """What runs: ("kernel0", "mm", "kernel1") for a product with kernels on its blocks."""
    return [
        (*step["prologues"], step["name"], *filter(None, [step["epilogue"]]))
        if step["prologues"] or step["epilogue"]
        else step["name"]
        for step in compiled.report()[plan]["steps"]
    ]


def filled(*sizes, dtype=t.float32):
    return (t.randn(*sizes) / 4).to(dtype)


# Sizes of x and w by the way in which a product goes: one row, few rows, small, packed by one
# thread, packed in several depth blocks, and of more columns than rows.
SIZES = {
    "row": ((1, 40), (40, 70)),
    "column": ((70, 40), (40, 1)),
    "thin": ((5, 90), (90, 130)),
    "small": ((9, 12), (12, 10)),
    "packed": ((130, 70), (70, 90)),
    "deep": ((70, 1500), (1500, 65)),
    "wide": ((33, 40), (40, 700)),
    "threads": ((300, 300), (300, 500)),
    "empty": ((0, 6), (6, 4)),
    "without terms": ((5, 0), (0, 4)),
}

EPILOGUES = {
    "relu": lambda x, w, r, b: t.relu(x @ w),
    "bias and gelu": lambda x, w, r, b: F.gelu(t.addmm(b, x, w)),
    "tanh gelu of a scaled sum": lambda x, w, r, b: F.gelu(
        t.addmm(r, x, w, beta=0.5, alpha=2.0), approximate="tanh"
    ),
    "residual": lambda x, w, r, b: r + t.addmm(b, x, w) * 0.5,
    "mask": lambda x, w, r, b: t.where(r > 0, x @ w, 0.0) / 0.9,
    "silu": lambda x, w, r, b: F.silu(x @ w) * b,
    "double": lambda x, w, r, b: (x @ w).double().sin(),
    "half": lambda x, w, r, b: (x @ w + b).tanh().bfloat16(),
}


def operands(sizes, dtype=t.float32):
    (m, k), (_, n) = sizes
    return [filled(*size, dtype=dtype) for size in ((m, k), (k, n), (m, n), (n,))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EPILOGUES)
def test_work_on_a_product_runs_on_its_blocks(name):
    f = EPILOGUES[name]
    traced = captured(f, operands(SIZES["packed"]))
    (step,) = steps(traced)
    assert step == (step[0], "kernel0") and step[0] in ("mm", "addmm"), traced.text()
    for _ in range(2):
        for sizes in SIZES.values():
            inputs = operands(sizes)
            assert alike(traced, traced(*inputs), f(*inputs)), (sizes, traced.text())
        traced.compile_native()


@pytest.mark.parametrize("dtype", [t.float64, t.bfloat16, t.float16])
@pytest.mark.parametrize("name", ["bias and gelu", "residual"])
def test_dtypes(name, dtype):
    f = EPILOGUES[name]
    traced = captured(f, operands(SIZES["packed"], dtype))
    assert steps(traced) == [("addmm", "kernel0")]
    for _ in range(2):
        for sizes in SIZES.values():
            inputs = operands(sizes, dtype)
            assert alike(traced, traced(*inputs), f(*inputs)), sizes
        traced.compile_native()


def test_integers_and_complex_numbers():
    for dtype in (t.int32, t.complex64):
        inputs = [(t.randn(*s) * 5).to(dtype) for s in ((70, 80), (80, 75))]
        traced = captured(lambda x, w: (x @ w) * 3 + 1, inputs)
        assert steps(traced) == [("mm", "kernel0")]
        assert same(traced(*inputs), inputs[0] @ inputs[1] * 3 + 1)


def test_constant_sizes_of_one():
    for sizes in (((1, 5), (5, 7)), ((7, 5), (5, 1)), ((1, 5), (5, 1)), ((7, 1), (1, 6))):
        inputs = operands(sizes)
        traced = captured(EPILOGUES["residual"], inputs, mode="real")
        assert steps(traced) == [("addmm", "kernel0")]
        assert same(traced(*inputs), EPILOGUES["residual"](*inputs))


BATCHES = {
    "bmm": (lambda a, b: F.relu(t.bmm(a, b)) + 1, "bmm"),
    "baddbmm": (lambda a, b: t.baddbmm(a[:, :, :1], a, b, beta=0.3, alpha=2.0).tanh(), "baddbmm"),
    "heads": (lambda a, b: (a[None] @ b[None]).sin(), "bmm"),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name):
    f, called = BATCHES[name]
    sizes = [(3, 20, 9), (3, 9, 14)], [(5, 80, 70), (5, 70, 96)], [(2, 1, 300), (2, 300, 40)]
    compiled = captured(f, [filled(*s) for s in sizes[0]])
    assert steps(compiled) == [(called, "kernel0")], compiled.text()
    for _ in range(2):
        for pair in sizes:
            inputs = [filled(*s) for s in pair]
            assert alike(compiled, compiled(*inputs), f(*inputs))
        compiled.compile_native()


def test_rows_of_several_dimensions():
    def f(x, w, b, r):
        return F.gelu(F.linear(x, w, b)) + r

    compiled = None
    for rows in ((4, 6), (9, 33)):
        inputs = [filled(*rows, 20), filled(50, 20), filled(50), filled(*rows, 50)]
        compiled = compiled or captured(f, inputs)
        assert steps(compiled) == [("addmm", "kernel0")], compiled.text()
        for _ in range(2):
            assert alike(compiled, compiled(*inputs), f(*inputs))
            compiled.compile_native()


def test_transposed_operands_and_results():
    def f(x, w, r):
        return (x.t() @ w.t()).exp() + r.t()

    inputs = [filled(80, 70), filled(90, 80), filled(90, 70)]
    for mode in ("real", "symbolic"):
        compiled = captured(f, inputs, mode=mode)
        assert steps(compiled) == [("mm", "kernel0")]
        for _ in range(2):
            assert alike(compiled, compiled(*inputs), f(*inputs))
            compiled.compile_native()


def test_a_chain_of_layers():
    def f(x, u, v, w):
        return t.tanh(F.gelu(F.relu(x @ u) @ v) @ w)

    inputs = [filled(100, 64), filled(64, 128), filled(128, 96), filled(96, 32)]
    compiled = captured(f, inputs)
    assert steps(compiled) == [("mm", f"kernel{i}") for i in range(3)]
    assert alike(compiled, compiled(*inputs), f(*inputs))
    compiled.compile_native()
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_the_last_of_two_products_is_finished():
    def f(x, u, v):
        return F.silu(x @ u) * (x @ v)

    inputs = [filled(90, 64), filled(64, 80), filled(64, 80)]
    compiled = captured(f, inputs)
    assert steps(compiled) == ["mm", ("mm", "kernel0")]
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_a_product_that_others_need_is_kept():
    def f(x, w):
        p = x @ w
        return F.relu(p), p, p.sum(0)

    inputs = [filled(90, 64), filled(64, 80)]
    compiled = captured(f, inputs)
    assert ("mm", "kernel0") in steps(compiled) or "kernel0" in steps(compiled)
    for a, b in zip(compiled(*inputs), f(*inputs), strict=True):
        assert same(a, b)


APART = {
    "elsewhere": lambda x, w: (x @ w).flip(0).exp(),
    "reduced": lambda x, w: F.softmax(x @ w, -1),
    "a part": lambda x, w: (x @ w)[1:].exp(),
    "transposed": lambda x, w: ((x @ w).t() + 1).contiguous(),
    "its own rows": lambda x, w: (lambda p: p + p[0])(x @ w),
}


@pytest.mark.parametrize("name", APART)
def test_work_that_reads_other_elements_waits_for_the_product(name):
    inputs = [filled(70, 64), filled(64, 70)]
    compiled = captured(APART[name], inputs)
    assert all(isinstance(step, str) for step in steps(compiled)), compiled.text()
    assert same(compiled(*inputs), APART[name](*inputs))


def test_dropout_draws_eagers_numbers():
    def f(x, w):
        return F.dropout(F.relu(x @ w), 0.3, True)

    inputs = [filled(90, 64), filled(64, 80)]
    compiled = captured(f, inputs)
    assert steps(compiled) == [("mm", "kernel0")]
    for _ in range(2):
        t.manual_seed(7)
        want = f(*inputs)
        after = t.get_rng_state()
        t.manual_seed(7)
        assert same(compiled(*inputs), want) and t.equal(t.get_rng_state(), after)
        compiled.compile_native()


def test_a_residual_that_is_written():
    def f(x, w, r):
        r.add_(x @ w)
        return F.relu(r)

    x, w = filled(90, 64), filled(64, 80)
    ours, eager = filled(90, 80), None
    eager = ours.clone()
    compiled = captured(f, [x, w, ours.clone()])
    assert any(isinstance(step, tuple) for step in steps(compiled))
    for _ in range(3):
        assert same(compiled(x, w, ours), f(x, w, eager))
        assert t.equal(ours, eager)


def test_operands_that_are_one_tensor():
    def f(x, w, r):
        return F.gelu(x @ w) + r

    square = filled(80, 80)
    compiled = captured(f, [filled(80, 80), filled(80, 80), filled(80, 80)])
    for _ in range(2):
        for given in ((square, square, square), (square, square.t(), square.t())):
            assert alike(compiled, compiled(*given), f(*given))
        compiled.compile_native()


def test_an_index_out_of_range_inside():
    def f(x, w, table, i):
        return (x @ w) + table[i]

    inputs = [filled(70, 64), filled(64, 80), filled(9, 80), t.randint(0, 9, (70,))]
    compiled = captured(f, inputs)
    assert steps(compiled) == [("mm", "kernel0")]
    bad = t.full((70,), 9)
    with pytest.raises(IndexError) as eager:
        f(*inputs[:3], bad)
    for _ in range(2):
        with pytest.raises(IndexError) as raised:
            compiled(*inputs[:3], bad)
        assert str(raised.value) == str(eager.value)
        assert alike(compiled, compiled(*inputs), f(*inputs))
        compiled.compile_native()


def test_both_forms_are_compared():
    f, inputs = EPILOGUES["bias and gelu"], operands(SIZES["packed"])
    compiled = captured(f, inputs, native="wait", check=True)
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_training_keeps_what_the_backward_needs():
    def f(x, w, b, u, v):
        return (F.gelu(F.silu(F.linear(x, w, b)) @ u) @ v).square().mean()

    def leaves(rows):
        sizes = (rows, 64), (128, 64), (128,), (128, 70), (70, 40)
        return [filled(*s).requires_grad_() for s in sizes]

    compiled = captured(f, leaves(96))
    assert steps(compiled)[:2] == [("addmm", "kernel0"), ("mm", "kernel1")]
    assert any(isinstance(step, tuple) for step in steps(compiled, 1)), compiled.text()
    for _ in range(2):
        for rows in (96, 300, 5):
            inputs = leaves(rows)
            have = t.autograd.grad(compiled(*inputs), inputs)
            want = t.autograd.grad(f(*inputs), inputs)
            assert all(same(a, b) for a, b in zip(have, want, strict=True))
        compiled.compile_native()


def test_threads_give_the_same_bits():
    f, inputs = EPILOGUES["residual"], operands(SIZES["threads"])
    compiled = captured(f, inputs)
    count = t.get_num_threads()
    try:
        for threads in (1, 2, 3):
            t.set_num_threads(threads)
            assert alike(compiled, compiled(*inputs), f(*inputs))
    finally:
        t.set_num_threads(count)


def test_reports_say_what_a_product_saves():
    inputs = [filled(64, 32), filled(32, 48)]
    size = 64 * 48 * 4
    compiled = captured(lambda x, w: F.relu(x @ w), inputs, mode="real")
    (report,) = compiled.report()
    (step,) = report["steps"]
    assert (report["kernels"], report["library_calls"]) == (1, ["mm"])
    assert step["kind"] == "call" and step["nodes"] == ["mm = mm", "relu = relu"]
    assert step["bytes_saved"] == 2 * size  # the product is neither written nor read
    assert (step["bytes_read"], step["bytes_written"]) == ((64 + 48) * 32 * 4, size)
    text = compiled.text()
    assert "call mm (mm), its blocks finished by" in text and "block_row" in text
    kept = captured(lambda x, w: ((x @ w), F.relu(x @ w)), inputs, mode="real")
    assert kept.report()[0]["steps"][0]["bytes_written"] >= size


# ---- operands ----
def quantized(rows, cols):
    return t.randint(-128, 128, (rows, cols), dtype=t.int8)


OPERANDS = {
    "cast of the first": (lambda x, w: x.float() @ w, ("kernel0", "mm"), t.bfloat16, t.float32),
    "cast of the second": (lambda x, w: x @ w.float(), ("kernel0", "mm"), t.float32, t.float16),
    "both": (
        lambda x, w: x.float() @ (w.float() - 3) * 2,
        ("kernel0", "kernel1", "mm", "kernel2"),
        t.bfloat16,
        t.int8,
    ),
    "to a half type": (
        lambda x, w: x.bfloat16() @ w.bfloat16(),
        ("kernel0", "kernel1", "mm"),
        t.float32,
        t.float32,
    ),
    "transposed before": (lambda x, w: x @ (w * 2).t().t(), ("kernel0", "mm"), None, None),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPERANDS)
def test_operands_are_computed_where_they_are_packed(name):
    f, expected, first, second = OPERANDS[name]

    def inputs(sizes):
        (m, k), (_, n) = sizes
        x, w = filled(m, k), filled(k, n)
        return [x.to(first or t.float32), (w * 50 if second == t.int8 else w).to(second or w.dtype)]

    compiled = captured(f, inputs(SIZES["packed"]))
    assert steps(compiled) == [expected], compiled.text()
    for _ in range(2):
        for sizes in SIZES.values():
            given = inputs(sizes)
            assert alike(compiled, compiled(*given), f(*given)), (sizes, compiled.text())
        compiled.compile_native()


def test_a_dequantized_weight():
    def f(x, w, scale, b):
        return F.relu(F.linear(x, w.float() * scale[:, None], b))

    compiled = None
    for m, k, n in ((90, 70, 80), (300, 1500, 200), (4, 50, 60), (1, 50, 60)):
        inputs = [filled(m, k), quantized(n, k), filled(n).abs(), filled(n)]
        compiled = compiled or captured(f, inputs)
        assert steps(compiled) == [("kernel0", "addmm", "kernel1")], compiled.text()
        for _ in range(2):
            assert alike(compiled, compiled(*inputs), f(*inputs))
            compiled.compile_native()
    checked = captured(f, inputs, native="wait", check=True)
    assert alike(checked, checked(*inputs), f(*inputs))


WRITTEN = {
    "dear": lambda x, w: x @ w.exp(),
    "read by others": lambda x, w: (x @ (w * 2), w * 2),
    "both operands": lambda x, w: (lambda y: y @ y)(w * 2),
    "a shared matrix": lambda x, w: x.expand(3, 90, 90) @ (w * 2),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_other_operands_are_written(name):
    inputs = [filled(90, 90), filled(90, 90)]
    compiled = captured(WRITTEN[name], inputs)
    assert all(isinstance(step, str) for step in steps(compiled)), compiled.text()
    for a, b in zip(as_list(compiled(*inputs)), as_list(WRITTEN[name](*inputs)), strict=True):
        assert same(a, b)


BATCHED_OPERANDS = {
    "first": (lambda a, b: (a * 2) @ b, ("kernel0", "bmm")),
    "second": (lambda a, b: t.bmm(a, b.float() + 1).relu(), ("kernel0", "bmm", "kernel1")),
    "both": (lambda a, b: t.bmm(a * 2, b * 3), ("kernel0", "kernel1", "bmm")),
    "transposed": (lambda a, b: a @ (b.mT.contiguous() * 2).mT, None),
    "sum": (lambda a, b: t.baddbmm(a[:, :, :1], a * 2, b), ("kernel0", "baddbmm")),
    "heads": (lambda a, b: (a[None] * 2) @ b[None], ("kernel0", "bmm")),
}


@pytest.mark.parametrize("name", BATCHED_OPERANDS)
def test_operands_of_batches(name):
    f, expected = BATCHED_OPERANDS[name]
    sizes = (
        [(3, 80, 170), (3, 170, 96)],
        [(5, 80, 70), (5, 70, 96)],
        [(5, 20, 9), (5, 9, 14)],
        [(2, 1, 300), (2, 300, 40)],
    )
    compiled = captured(f, [filled(*s) for s in sizes[0]])
    assert expected is None or steps(compiled) == [expected], compiled.text()
    for _ in range(2):
        for pair in sizes:
            inputs = [filled(*s) for s in pair]
            assert alike(compiled, compiled(*inputs), f(*inputs)), (pair, compiled.text())
        compiled.compile_native()


def test_an_index_out_of_range_in_an_operand():
    def f(x, table, i):
        return x @ table[i]

    inputs = [filled(90, 70), filled(9, 80), t.randint(0, 9, (70,))]
    compiled = captured(f, inputs)
    assert steps(compiled) == [("kernel0", "mm")]
    with pytest.raises(IndexError, match="out of"):
        compiled(*inputs[:2], t.full((70,), 9))
    assert alike(compiled, compiled(*inputs), f(*inputs))


def test_reports_say_what_an_operand_saves():
    inputs = [filled(64, 100), filled(100, 48, dtype=t.bfloat16)]
    compiled = captured(lambda x, w: x @ w.float(), inputs, mode="real")
    (step,) = compiled.report()[0]["steps"]
    assert step["prologues"] == ["kernel0"] and step["nodes"] == ["_to_copy = _to_copy", "mm = mm"]
    assert step["bytes_saved"] == 2 * 100 * 48 * 4
    assert step["bytes_read"] == 64 * 100 * 4 + 100 * 48 * 2


def test_parts_of_a_frozen_weight_have_panels_of_their_own():
    from taeda._inductor import config

    class Columns(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.randn(64, 96))

        def forward(self, x, first, end):
            return F.relu(x @ self.weight[:, first:end])

    model, x = Columns().eval(), t.randn(100, 64)
    with config.patch(freezing=True), t.no_grad():
        compiled = t.compile(model)
        for first, end in ((0, 96), (0, 80), (0, 70), (10, 60), (20, 60), (5, 96)):
            t.testing.assert_close(compiled(x, first, end), model(x, first, end))


# ---- config.epilogue_fusion ----
def dense_layer(x, w, b):
    return F.relu(F.linear(x, w.float(), b))


def fused_and_apart(f, inputs, **options):
    """The plans with config.epilogue_fusion, and without it."""
    from taeda._inductor import config

    with config.patch(epilogue_fusion=False):
        apart = captured(f, inputs, **options)
    return captured(f, inputs, **options), apart


def test_products_without_fusion_are_plain_calls():
    inputs = [filled(90, 64), filled(80, 64, dtype=t.bfloat16), filled(80)]
    fused, apart = fused_and_apart(dense_layer, inputs)
    assert steps(fused) == [("kernel0", "addmm", "kernel1")]
    assert steps(apart) == ["kernel0", "addmm", "kernel1"]
    assert same(fused(*inputs), apart(*inputs))


def test_a_frozen_program_without_fusion():
    inputs = [filled(90, 64), t.nn.Parameter(filled(80, 64)), t.nn.Parameter(filled(80))]
    from taeda._inductor import config

    with config.patch(freezing=True), t.no_grad():
        fused, apart = fused_and_apart(dense_layer, inputs)
        assert steps(fused, -1) == [("addmm", "kernel0")]
        assert steps(apart, -1) == ["addmm", "kernel0"]
        assert same(fused(*inputs), apart(*inputs))


def test_the_parts_of_a_program_without_fusion():
    def f(x, w):
        found = F.relu(x @ w).nonzero()
        return found, F.relu(x.sin() @ w)

    inputs = [filled(90, 64), filled(64, 80)]
    fused, apart = fused_and_apart(f, inputs)
    assert any(isinstance(step, tuple) for step in steps(fused))
    for plan in range(len(apart.report())):
        assert all(isinstance(step, str) for step in steps(apart, plan))
    for a, b in zip(fused(*inputs), apart(*inputs), strict=True):
        assert same(a, b)


W, B = t.randn(96, 32), t.randn(96)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(
    ("view", "sizes"),
    [
        (lambda x: x.transpose(0, 1), (2, 7, 32)),
        (lambda x: x.permute(0, 2, 3, 1), (2, 32, 3, 4)),
        (lambda x: x.expand(4, 7, 32), (1, 7, 32)),
        (lambda x: x[:, ::2], (3, 14, 32)),
    ],
)
def test_linear_layers_of_strided_inputs(view, sizes, has_bias):
    def f(x, w, b):
        return F.linear(view(x), w, b if has_bias else None)

    inputs = [t.randn(sizes), W, B]
    assert same(captured(f, inputs, mode="real")(*inputs), f(*inputs))


def test_products_of_batches_that_do_not_merge():
    def f(x, w):
        return x.permute(0, 2, 3, 1) @ w.t()

    inputs = [t.randn(2, 32, 3, 4), W]
    assert same(captured(f, inputs, mode="real")(*inputs), f(*inputs))


@pytest.mark.parametrize("dtype", [t.float32, t.complex64])
def test_forms_are_compared_where_a_kernel_writes_an_operand_alone(dtype):
    def f(a):
        return (a * 2).t().contiguous() @ a

    for rows in (4, 200):
        x = t.randn(rows, 3, dtype=dtype)
        compiled = captured(f, (x,), native="wait", check=True)
        assert compiled.report()[0]["steps"][0]["prologues"]
        assert t.allclose(compiled(x), f(x), atol=1e-4)


# ---- families ----
def families(compiled, plan=0):
    """By step: how many products run side by side with it, itself included."""
    return [step["family"] for step in compiled.report()[plan]["steps"]]


def branches(x, *weights):
    return [F.relu(x @ w) + i for i, w in enumerate(weights)]


def test_small_products_of_one_input_are_a_family():
    inputs = [filled(12, 16), *(filled(16, n) for n in (8, 16, 24, 1, 9))]
    compiled = captured(branches, inputs)
    assert families(compiled) == [5] * 5
    for rows in (12, 1, 40):
        inputs[0] = filled(rows, 16)
        for got, want in zip(compiled(*inputs), branches(*inputs), strict=True):
            assert same(got, want)


def test_products_that_read_each_other_are_no_family():
    def chain(x, w):
        for _ in range(4):
            x = x @ w
        return x

    inputs = [filled(12, 16), filled(16, 16)]
    compiled = captured(chain, inputs)
    assert families(compiled) == [0] * 4
    assert same(compiled(*inputs), chain(*inputs))


def test_levels_of_parallel_chains_are_families():
    def chains(x, *weights):
        for _ in range(3):
            weights = [F.gelu(x @ w) for w in weights]
        return weights

    inputs = [filled(16, 16), *(filled(16, 16) for _ in range(6))]
    compiled = captured(chains, inputs)
    assert families(compiled) == [6] * 18
    for got, want in zip(compiled(*inputs), chains(*inputs), strict=True):
        assert alike(compiled, got, want)


def test_a_family_with_large_members():
    inputs = [filled(130, 140), filled(140, 8), filled(140, 300), filled(140, 5), filled(140, 260)]
    compiled = captured(branches, inputs)
    assert families(compiled) == [4] * 4
    for got, want in zip(compiled(*inputs), branches(*inputs), strict=True):
        assert alike(compiled, got, want)


def test_a_family_keeps_what_an_input_was_before_it_is_written():
    from taeda.fx.aot import aot_function

    def f(x, a, b):
        first = x @ a
        x.mul_(2)
        return first, x @ b

    inputs = [filled(10, 12), filled(12, 12), filled(12, 12)]
    expected, given = [v.clone() for v in inputs], [v.clone() for v in inputs]
    compiled = aot_function(f, fw_compiler=lambda gm, args: compile(gm, args, native="never"))
    for got, want in zip(compiled(*given), f(*expected), strict=True):
        assert t.equal(got, want)
    assert t.equal(given[0], expected[0])


def test_temporaries_of_a_family_do_not_meet():
    def f(x, *weights):
        return sum((x.sin() @ w).cos() @ w.T for w in weights)

    inputs = [filled(20, 24), *(filled(24, 24) for _ in range(8))]
    compiled = captured(f, inputs)
    assert max(families(compiled)) == 8
    for _ in range(20):
        t.testing.assert_close(compiled(*inputs), f(*inputs))


def test_an_index_out_of_range_inside_of_a_family():
    def f(table, at, *weights):
        return [F.relu(table @ w)[at] for w in weights]

    inputs = [filled(10, 12), t.tensor([1, 9]), filled(12, 12), filled(12, 12)]
    compiled = captured(f, inputs)
    for got, want in zip(compiled(*inputs), f(*inputs), strict=True):
        assert same(got, want)
    inputs[1] = t.tensor([1, 10])
    with pytest.raises(IndexError):
        compiled(*inputs)


@pytest.mark.parametrize("setting", [{"batch_fusion": False}, {"exact": True}])
def test_products_one_after_the_other(setting):
    from taeda._inductor import config

    inputs = [filled(12, 16), *(filled(16, 8) for _ in range(4))]
    with config.patch(**setting):
        compiled = captured(branches, inputs)
    assert families(compiled) == [0] * 4
    for got, want in zip(compiled(*inputs), branches(*inputs), strict=True):
        assert same(got, want)


def test_families_of_timed_and_checked_runs():
    inputs = [filled(12, 16), *(filled(16, 8) for _ in range(4))]
    compiled = captured(branches, inputs, native="wait")
    compiled.time()
    compiled(*inputs)
    assert all(step["seconds"] > 0 for step in compiled.report()[0]["steps"])
    from taeda._inductor import config

    with config.patch(check=True):
        checked = captured(branches, inputs, native="wait")
    for got, want in zip(checked(*inputs), branches(*inputs), strict=True):
        assert same(got, want)


def test_threads_run_one_family_at_once():
    import concurrent.futures

    inputs = [filled(12, 16), *(filled(16, 24) for _ in range(6))]
    compiled = captured(branches, inputs)
    want = compiled(*inputs)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: compiled(*inputs), range(40)):
            assert all(map(same, got, want))


@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 0, 0), (3, 0), (0,)])
def test_a_linear_layer_of_no_features(shape):
    inputs = [t.randn(shape), t.randn(6, 0), t.randn(6)]
    assert t.equal(captured(F.linear, inputs, mode="real")(*inputs), F.linear(*inputs))
