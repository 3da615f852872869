"""SymInt, SymFloat, SymBool and the shape environment, from Python."""

import math
import subprocess
import sys

import pytest
from taeda._C._fx import _symbolic_meta
from taeda._subclasses.fake_tensor import FakeTensorMode
from taeda.fx.experimental import symbolic_shapes as shapes
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    StatelessSymbolicContext,
    bind_symbols,
    create_contiguous,
    eval_guards,
    fx_placeholder_targets,
    fx_placeholder_vals,
    guarding_hint_or_throw,
    has_static_value,
    optimization_hint,
)

import taeda


@pytest.fixture
def env():
    return ShapeEnv()


def symbols(env, *hints):
    sizes, _, _ = env.create_symbolic_sizes_strides_storage_offset(
        taeda.empty(hints, device="meta"),
        "x",
        symbolic_context=StatelessSymbolicContext([DimDynamic.DYNAMIC] * len(hints)),
    )
    return sizes


def symbolic(env, *hints, source="x"):
    sizes, strides, offset = env.create_symbolic_sizes_strides_storage_offset(
        taeda.empty(hints, device="meta"), source
    )
    return _symbolic_meta(sizes, strides, taeda.float32, offset)


def guards(env):
    return [str(g.expr) for g in env.guards]


ARITHMETIC = [
    (lambda s: s + 1, "s0 + 1"),
    (lambda s: 7 - s, "7 - s0"),
    (lambda s: s * s, "s0**2"),
    (lambda s: s**2, "s0**2"),
    (lambda s: 2**s, "2**s0"),
    (lambda s: s // 2, "(s0//2)"),
    (lambda s: 9 // s, "(9//s0)"),
    (lambda s: s % 4, "Mod(s0, 4)"),
    (lambda s: s / 2, "IntTrueDiv(s0, 2)"),
    (lambda s: -s, "-s0"),
    (lambda s: abs(-s), "s0"),
    (lambda s: s << 1, "2*s0"),
    (lambda s: s >> 1, "(s0//2)"),
    (lambda s: s & 5, "BitwiseFn_bitwise_and(s0, 5)"),
    (lambda s: 5 | s, "BitwiseFn_bitwise_or(5, s0)"),
    (lambda s: s ^ True, "BitwiseFn_bitwise_xor(s0, 1)"),
    (lambda s: (s > 3) ^ (s > 9), "Ne(s0 > 3, s0 > 9)"),
    (lambda s: s * 1.5, "ToFloat(s0)*1.5"),
    (lambda s: round(s / 2), "RoundToInt(IntTrueDiv(s0, 2))"),
    (lambda s: round(s / 7, 2), "RoundDecimal(IntTrueDiv(s0, 7), 2)"),
    (lambda s: round(s / 7, -1), "RoundDecimal(IntTrueDiv(s0, 7), -1)"),
    (lambda s: math.floor(s / 2), "FloorToInt(IntTrueDiv(s0, 2))"),
    (lambda s: math.ceil(s / 2), "CeilToInt(IntTrueDiv(s0, 2))"),
    (lambda s: math.trunc(s / 2), "TruncToInt(IntTrueDiv(s0, 2))"),
    (lambda s: s == 3, "Eq(s0, 3)"),
    (lambda s: 3 != s, "Ne(s0, 3)"),
    (lambda s: s > 3, "s0 > 3"),
    (lambda s: ~(s > 3), "s0 <= 3"),
    (lambda s: (s > 3) & (s < 9), "(s0 > 3) & (s0 < 9)"),
    (lambda s: taeda.sym_max(s, 5), "Max(5, s0)"),
    (lambda s: taeda.sym_min(5, s), "Min(5, s0)"),
    (lambda s: taeda.sym_not(s == 3), "Ne(s0, 3)"),
    (lambda s: taeda.sym_float(s), "ToFloat(s0)"),
    (lambda s: taeda.sym_int(s / 3), "TruncToInt(IntTrueDiv(s0, 3))"),
    (lambda s: taeda.sym_sum([s, s, 1]), "2*s0 + 1"),
    (lambda s: taeda.sym_sqrt(s), "OpaqueUnaryFn_sqrt(ToFloat(s0))"),
    (lambda s: taeda._sym_exp(s / 9), "OpaqueUnaryFn_exp(IntTrueDiv(s0, 9))"),
    (lambda s: taeda._sym_atan2(s, 2.5), "OpaqueBinaryFn_atan2(ToFloat(s0), 2.5)"),
    (lambda s: taeda.sym_ite(s == 3, s, 2), "Piecewise((s0, Eq(s0, 3)), (2, True))"),
]


@pytest.mark.parametrize(("function", "text"), ARITHMETIC, ids=[text for _, text in ARITHMETIC])
def test_arithmetic_is_symbolic_and_right(env, function, text):
    (s0,) = symbols(env, 6)
    result = function(s0)
    assert str(result) == text
    assert guards(env) == []
    assert result.node.hint == (not 6 > 3 if text == "s0 <= 3" else function(6))


def test_bits_of_floats_and_negative_shifts_are_refused(env):
    (s0,) = symbols(env, 6)
    for wrong in (lambda: s0 & 1.5, lambda: taeda.sym_float(s0) | 1):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: s0 << -1, lambda: s0 >> -1):
        with pytest.raises(ValueError, match="negative shift count"):
            wrong()


def test_bits_have_ranges_and_guards(env):
    (s0,) = symbols(env, 6)
    assert str(~s0) == "-s0 - 1" and (~s0) < 0
    assert (s0 & 7) <= 7 and (s0 | 8) >= 0
    assert guards(env) == []
    assert (s0 & 3) == 2
    fake = _symbolic_meta([s0], [1], taeda.float32)
    assert env.produce_guards([fake], ["x"])[0] == "(L['x'].size()[0] & 3) == 2"
    assert env.evaluate_guards_for_args([fake], [taeda.empty(10)])
    assert not env.evaluate_guards_for_args([fake], [taeda.empty(11)])


def test_products_of_divisions_print_as_what_they_are(env):
    (s0,) = symbols(env, 7)
    number = 2 * (s0 // 2) * (s0 // (s0 // 2))
    assert number == 12
    fake = _symbolic_meta([s0], [1], taeda.float32)
    text = next(t for t in env.produce_guards([fake], ["x"]) if "//" in t)

    class Example:
        size = staticmethod(lambda: [7])

    assert eval(text, {"L": {"x": Example}}) is True


def test_rounding_to_digits_is_pythons():
    for digits in (-1, 0, 1, 2, 5, 400):

        def f(x, digits=digits):
            return x * round(x.shape[0] / 8 + 0.005, digits)

        module = make_fx(f, tracing_mode="symbolic")(taeda.ones(4))
        for n in (5, 11, 12, 20, 37, 44):
            assert taeda.equal(module(taeda.ones(n)), f(taeda.ones(n)))


def test_keys_and_consistency_of_numbers(env):
    a, b = symbols(env, 6, 7)
    known = {shapes.SymIntEqByExpr(a + 1): "a", shapes.SymIntEqByExpr(3): "three"}
    assert known[shapes.SymIntEqByExpr(1 + a)] == "a" and known[shapes.SymIntEqByExpr(3)] == "three"
    assert shapes.SymIntEqByExpr(b) not in known and guards(env) == []
    shapes.check_consistent(a + 0, a)
    with pytest.raises(RuntimeError, match="old != new"):
        shapes.check_consistent(a, b)
    with pytest.raises(RuntimeError, match="old != new"):
        shapes.check_consistent(taeda.ones(2, 3), taeda.ones(2, 4))


def test_tensors_of_symbolic_numbers():
    def f(x):
        n = x.shape[0]
        return (
            taeda.tensor(n),
            taeda.tensor([[n, 2], [3, n + 1]]),
            taeda.tensor([1.5, n]),
            taeda.tensor(n / 2),
            taeda.as_tensor(n, dtype=taeda.float64),
        )

    module = make_fx(f, tracing_mode="symbolic")(taeda.ones(4))
    for got, expected in zip(module(taeda.ones(7)), f(taeda.ones(7)), strict=True):
        assert got.dtype == expected.dtype and taeda.equal(got, expected)


def test_methods_of_plain_numbers(env):
    (s0,) = symbols(env, 6)
    assert s0.conjugate() is s0 and guards(env) == []
    assert (s0.bit_length(), s0.as_integer_ratio()) == (3, (6, 1))
    assert taeda.sym_float(s0).hex() == (6.0).hex()


def test_results_that_are_constants_are_plain(env):
    (s0,) = symbols(env, 6)
    for value, expected in [(s0 - s0, 0), (s0 + 1 > s0, True), (s0 * 2 % 2, 0), (s0 == 1, False)]:
        assert value is expected or (type(value) is int and value == expected)


def test_conversions_guard(env):
    a, b, c, d = symbols(env, 4, 5, 6, 7)
    assert [int(a), [0] * 6 == [0] * c, float(b), bool(d == 7)] == [4, True, 5.0, True]
    assert guards(env) == ["Eq(s0, 4)", "Eq(s2, 6)", "Eq(s1, 5)", "Eq(s3, 7)"]
    assert str(a) == "4" and a.node.is_constant() and a.node.maybe_as_int() == 4


def test_numbers_have_pytorchs_types_and_nodes(env):
    (s0,) = symbols(env, 6)
    assert isinstance(s0, taeda.SymInt)
    assert isinstance(s0 / 2, taeda.SymFloat)
    assert isinstance(s0 > 3, taeda.SymBool)
    node = s0.node
    assert node.shape_env is env and node.hint == 6 and node.pytype is int
    assert node.expr == (s0 + 1 - 1).node.expr and node.expr.is_symbol and node.expr.name == "s0"
    assert taeda.SymInt(node).node.expr == node.expr
    assert node.maybe_as_int() is None
    assert node.guard_int("", 0) == 6
    with pytest.raises(TypeError, match="unhashable"):
        hash(s0)
    with pytest.raises(TypeError):
        s0 + "a"
    assert (s0 == "a") is False


def test_tensors_take_and_give_symbolic_sizes(env):
    x = symbolic(env, 4, 6)
    s0, s1 = x.shape
    assert str(x.shape) == "torch.Size([s0, s1])"
    assert str(x.stride()) == "(s1, 1)" and str(x.stride(0)) == "s1"
    assert str(x.numel()) == "s0*s1" and str(x.shape.numel()) == "s0*s1"
    assert str(taeda.zeros(s0, 3, device="meta").shape) == "torch.Size([s0, 3])"
    assert str(x.new_empty((s0 + 1,)).shape) == "torch.Size([s0 + 1])"
    assert str(x.view(-1).shape) == "torch.Size([s0*s1])"
    assert str(x.reshape(s1, s0).shape) == "torch.Size([s1, s0])"
    assert str(taeda.arange(s0, device="meta").shape) == "torch.Size([s0])"
    assert str(taeda.arange(1, s0, 2, device="meta").shape) == "torch.Size([(s0//2)])"
    assert str((x * s0 + s1).shape) == "torch.Size([s0, s1])"
    assert str(taeda.cat([x, x[1:]]).shape) == "torch.Size([2*s0 - 1, s1])"
    assert str(x[0].shape) == "torch.Size([s1])" and str(x[..., -1].shape) == "torch.Size([s0])"
    assert str((x @ x.t()).shape) == "torch.Size([s0, s0])"
    assert str(x.t().clone().stride()) == "(1, s1)"
    assert guards(env) == []
    assert str(x[:, : s1 // 2].shape) == "torch.Size([s0, (s1//2)])"
    assert guards(env) == ["(s1//2) <= s1", "Ne(s1 - (s1//2), 0)"]
    assert len(x) == 4 and guards(env)[-1:] == ["Eq(s0, 4)"]


def test_broadcasting_unifies(env):
    x, (s2, s3) = symbolic(env, 4, 6), symbols(env, 4, 6)
    y = _symbolic_meta((s2, s3), (s3, 1), taeda.float32)
    assert str(y.shape) == "torch.Size([s2, s3])"
    assert str((x + y).shape) == "torch.Size([s0, s1])"
    assert str(y.shape) == "torch.Size([s0, s1])"
    assert sorted(guards(env)) == ["Eq(s0, s2)", "Eq(s1, s3)"]
    with pytest.raises(RuntimeError, match="must match the size"):
        x + symbolic(env, 5, 6, source="z")


def test_channels_last(env):
    x = taeda.empty(2, 3, 4, 5, device="meta").contiguous(memory_format=taeda.channels_last)
    sizes, strides, _ = env.create_symbolic_sizes_strides_storage_offset(x, "x")
    fake = _symbolic_meta(sizes, strides, taeda.float32)
    assert str(fake.stride()) == "(s1*s2*s3, 1, s1*s3, s1)"
    assert fake.is_contiguous(memory_format=taeda.channels_last) and not fake.is_contiguous()
    assert str(fake.relu().stride()) == "(s1*s2*s3, 1, s1*s3, s1)"
    assert str(fake.contiguous().stride()) == "(s1*s2*s3, s2*s3, s3, 1)"


def test_gradients_keep_symbols(env):
    x = symbolic(env, 4, 6).requires_grad_()
    w = _symbolic_meta((x.shape[1], 3), (3, 1), taeda.float32).requires_grad_()
    loss = (x @ w).relu().mean() + x[1:].var(0).sum() + taeda.cat([x, x]).sum(1).exp().mean()
    loss.backward()
    assert str(x.grad.shape) == "torch.Size([s0, s1])"
    assert str(w.grad.shape) == "torch.Size([s1, 3])"
    assert guards(env) == ["Ne(s0 - 1, 1)"]  # broadcasting asks


def test_duck_shapes_and_dynamic_dimensions(env):
    x, y = symbolic(env, 4, 4, source="x"), symbolic(env, 4, 7, source="y")
    assert str((x.shape, y.shape)) == "(torch.Size([s0, s0]), torch.Size([s0, s1]))"
    assert env.var_to_sources[x.shape[0].node.expr] == [
        "x.size()[0]",
        "x.size()[1]",
        "y.size()[0]",
    ]
    a, b = symbols(env, 4, 4)
    assert str((a, b)) == "(s2, s3)"
    assert [str(s) for s in symbols(env, 0, 1)] == ["0", "1"]
    with_zero_one = ShapeEnv(specialize_zero_one=False, duck_shape=False)
    assert [str(s) for s in symbols(with_zero_one, 0, 1)] == ["s0", "s1"]
    (size,) = symbols(with_zero_one, 5)
    assert str(with_zero_one.var_to_range[size.node.expr]) == "VR[0, int_oo]"


def test_an_order_of_two_sizes_narrows_both(env):
    a, b = symbols(env, 15, 5)
    assert a < 20 and b < a
    ranges = [str(env.var_to_range[s.node.expr]) for s in (a, b)]
    assert ranges == ["VR[3, 19]", "VR[2, 18]"]


def test_guards_say_where_they_came_from(env):
    (s0,) = symbols(env, 6)
    assert s0 > 4
    assert env.guards[0].stack.split(":")[0].endswith("test_symbolic_shapes.py")
    assert env.guards[0].stack.endswith("in test_guards_say_where_they_came_from")
    assert "s0 > 4" in env.format_guards(True)


def test_guards_decide_for_other_inputs(env):
    x = symbolic(env, 4, 6)
    assert x.shape[0] * 2 < x.shape[1] * 2
    assert x.shape[1] % 2 == 0
    texts = env.produce_guards([x], ["x"])
    assert "L['x'].size()[1] % 2 == 0" in texts and "2 <= L['x'].size()[0]" in texts
    short = env.produce_guards([x], ["x"], _simplified=True)
    assert "L['x'].size()[1] % 2 == 0" in short and "2 <= L['x'].size()[0]" not in short
    for shape, expected in [((4, 6), True), ((7, 8), True), ((8, 8), False), ((3, 7), False)]:
        y = taeda.empty(shape)
        assert env.evaluate_guards_for_args([x], [y]) is expected
        assert all(eval(text, {"L": {"x": y}}) for text in texts) is expected
    bound = env.bind_symbols([x], [taeda.empty(7, 8)])
    assert bound == {x.shape[0].node.expr: 7, x.shape[1].node.expr: 8}


def test_guards_on_sizes_that_became_constants(env):
    sizes = symbols(env, 2, 5)
    x = _symbolic_meta(sizes, (sizes[1], 1), taeda.float32)
    assert x.shape[0] == x.shape[1] % 3
    assert str(x.shape) == "torch.Size([2, s1])"
    assert env.evaluate_guards_for_args([x], [taeda.empty(2, 5)])
    assert not env.evaluate_guards_for_args([x], [taeda.empty(2, 4)])


def test_constraints(env):
    def create(hint, constraint):
        return env.create_symbolic_sizes_strides_storage_offset(
            taeda.empty(hint, device="meta"),
            "L['x']",
            symbolic_context=StatelessSymbolicContext([DimDynamic.DYNAMIC], [constraint]),
        )

    ranges = shapes.StrictMinMaxConstraint(shapes.ValueRanges(4, 64))
    with pytest.raises(shapes.ConstraintViolationError, match="2 not in range"):
        create(2, ranges)
    (size,), (stride,), _ = create(8, ranges)
    x = _symbolic_meta([size], [stride], taeda.float32)
    assert size >= 4 and env.produce_guards([x], ["L['x']"])
    assert size % 2 == 0
    with pytest.raises(shapes.ConstraintViolationError, match=r"generated guard L.*\] % 2 == 0"):
        env.produce_guards([x], ["L['x']"])


def test_unbacked_numbers(env):
    u0, (s0,) = env.create_unbacked_symint(), symbols(env, 6)
    with pytest.raises(shapes.GuardOnDataDependentSymNode, match=r"expression Eq\(u0, 3\)") as e:
        bool(u0 == 3)
    assert e.value.cond == "Eq(u0, 3)"
    with pytest.raises(shapes.GuardOnDataDependentSymNode, match="specialized integer"):
        int(u0)
    assert shapes.guard_or_false(u0 == 3) is False and shapes.guard_or_true(u0 == 3) is True
    taeda._check_is_size(u0, max=100)
    taeda._check(u0 < s0)
    assert bool(u0 <= s0) and shapes.statically_known_true(u0 <= 100)
    assert not shapes.guard_size_oblivious(u0 == 1)
    assert str(taeda.empty(u0, 3, device="meta").sum(1).shape) == "torch.Size([u0])"
    assert guards(env) == []
    asserts = env.deferred_runtime_asserts[u0.node.expr]
    assert [str(a.expr) for a in asserts] == ["u0 >= 0", "u0 <= 100", "u0 < s0"]
    taeda._check(u0 == 2)
    assert str(u0 + 1) == "3"
    with pytest.raises(RuntimeError, match="no good"):
        taeda._check(u0 == 5, lambda: "no good")
    flag, number = env.create_unbacked_symbool(), env.create_unbacked_symfloat()
    assert (str(flag), str(number * 2)) == ("Eq(u1, 1)", "zuf0*2.0")


def test_checks_of_plain_values():
    taeda._check(True)
    for check, error in [
        (taeda._check, RuntimeError),
        (taeda._check_index, IndexError),
        (taeda._check_value, ValueError),
        (taeda._check_type, TypeError),
        (taeda._check_not_implemented, NotImplementedError),
    ]:
        with pytest.raises(error, match=r"^said$"):
            check(False, lambda: "said")
    with pytest.raises(TypeError, match="cond must be a bool"):
        taeda._check(1)
    with pytest.raises(RuntimeError):
        taeda._check_is_size(-1)


def test_questions_without_guards(env):
    (s0,) = symbols(env, 6)
    assert shapes.statically_known_true(s0 > 1) and not shapes.statically_known_true(s0 > 3)
    assert shapes.is_concrete_int(3) and not shapes.is_concrete_int(s0)
    assert shapes.has_free_symbols(s0) and not shapes.has_free_symbols(3)
    assert {str(s) for s in shapes.free_symbols([s0 + 1, env.create_unbacked_symint()])} == {
        "s0",
        "u0",
    }
    assert shapes.hint_int(s0 * 2) == 12 and env.size_hint((s0 * 2).node.expr) == 12
    with env.suppress_guards():
        assert s0 > 3
    assert guards(env) == []
    env.freeze()
    assert s0 > 4 and guards(env) == []


def test_environments_live_as_long_as_their_numbers():
    (s0,) = symbols(ShapeEnv(), 6)
    assert str(s0 + 1) == "s0 + 1"
    assert isinstance(s0.node.shape_env, ShapeEnv)


def test_plain_functions_of_plain_numbers():
    assert taeda.sym_max(2, 3.0) == 3.0 and type(taeda.sym_max(4, 3.0)) is float
    assert taeda.sym_min(2, 3) == 2 and taeda.sym_not(False) is True
    assert taeda.sym_ite(True, 1, 2) == 1 and taeda.sym_sqrt(4) == 2.0
    assert taeda.sym_int(2.7) == 2 and taeda.sym_float(2) == 2.0


def test_numbers_from_data_serve_as_sizes():
    env = ShapeEnv()
    u0, u1 = env.create_unbacked_symint(), env.create_unbacked_symint()
    with FakeTensorMode(shape_env=env):
        x = taeda.zeros(u0, 3)  # a run checks that it is no negative number
        assert (x + 1).shape[0] is not None and str(x.view(-1).shape) == "torch.Size([3*u0])"
        taeda._check(u1 >= 2)
        assert taeda.empty(u1, u1 + 1).is_contiguous()
    assert [str(a.expr) for a in env.deferred_runtime_asserts[u0.node.expr]] == ["u0 >= 0"]
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(env.create_unbacked_symint() >= 0)  # a question of the program's is one


def test_guards_of_a_traced_graph():

    def f(x, y):
        return taeda.cat([x, y]) if x.shape[0] > 2 else x

    gm = make_fx(f, tracing_mode="symbolic")(taeda.ones(3, 4), taeda.ones(5, 4))
    assert fx_placeholder_targets(gm) == ["x_1", "y_1"]
    assert eval_guards(gm, taeda.ones(6, 7), taeda.ones(2, 7))
    assert not eval_guards(gm, taeda.ones(2, 7), taeda.ones(6, 7))
    assert sorted(bind_symbols(gm, taeda.ones(6, 7), taeda.ones(2, 7)).values()) == [2, 6, 7]
    texts = gm.shape_env.produce_guards(fx_placeholder_vals(gm), ["x", "y"])
    assert "3 <= L['x'].size()[0]" in texts and "L['x'].stride()[1] == 1" not in texts
    all_texts = gm.shape_env.produce_guards(
        fx_placeholder_vals(gm), ["x", "y"], ignore_static=False
    )
    assert "L['x'].stride()[1] == 1" in all_texts


def test_hints_and_constants():
    env = ShapeEnv()
    sizes, strides, _ = env.create_symbolic_sizes_strides_storage_offset(taeda.ones(4, 6), "x")
    s0, s1 = sizes
    assert guarding_hint_or_throw(s0 * 2) == 8 and guarding_hint_or_throw(s0 < 5) is True
    assert optimization_hint(env.create_unbacked_symint(), fallback=3) == 3
    assert has_static_value(3) and not has_static_value(s0)
    assert [str(s) for s in create_contiguous((s0, s1, 2))] == ["2*s1", "2", "1"]


def test_a_program_in_a_folder_named_like_the_package_is_the_users(tmp_path):
    folder = tmp_path / "taeda"
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(
        "import sys\n"
        "sys.path.pop(0)\n"
        "import taeda\n"
        "from taeda.fx.experimental.symbolic_shapes import ShapeEnv\n"
        "from taeda._subclasses.fake_tensor import FakeTensorMode\n"
        "env = ShapeEnv()\n"
        "x = FakeTensorMode(shape_env=env).from_tensor(taeda.ones(6))\n"
        "assert x.shape[0] > 4\n"
        "print(env.guards[0].stack)\n"
    )
    done = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"{program}:8 in <module>"
