"""Dynamic sizes of exported programs: dimensions, ranges, what violates them, and fixes."""

import pytest
from exported_forms import reloaded, same, written_nodes
from taeda.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

import taeda
from taeda import nn
from taeda.export import AdditionalInputs, Dim, ExportedProgram, UserError, dims, export

# ---- dynamic sizes ----


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x).reshape(x.shape[0] * 3).sum() / x.shape[0]


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_one_program_for_many_sizes(again):
    module = Pooling()
    batch = Dim("batch", min=2, max=16)
    program = again(export(module, (taeda.randn(5, 4),), dynamic_shapes={"x": {0: batch}}))
    run = program.module()
    for n in (2, 7, 16):
        x = taeda.randn(n, 4)
        assert taeda.allclose(run(x), module(x), atol=1e-6)
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] <= 16"):
        run(taeda.randn(17, 4))
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[1\] == 4"):
        run(taeda.randn(5, 5))


def test_sizes_that_belong_together():
    batch = Dim("batch", max=100)
    shapes = {"x": {0: batch}, "y": {0: 2 * batch}}
    program = export(
        lambda x, y: x.sum() + y.sum(), (taeda.ones(3), taeda.ones(6)), dynamic_shapes=shapes
    )
    assert program.module()(taeda.ones(4), taeda.ones(8)) == 12
    with pytest.raises(AssertionError, match=r"Guard failed: y\.size\(\)\[0\] == 2\*x\.size"):
        program.module()(taeda.ones(4), taeda.ones(9))
    with pytest.raises(RuntimeError, match="does not fit batch = 3"):
        export(lambda x, y: x, (taeda.ones(3), taeda.ones(8)), dynamic_shapes=shapes)


def test_writes_to_views_of_dynamic_tensors():
    def f(x):
        y = x.clone()
        y[1:].add_(1)
        y[:, 0] = 3
        return y

    program = export(f, (taeda.randn(5, 4),), dynamic_shapes=({0: Dim("n")},))
    functional = program.run_decompositions()
    assert written_nodes(functional) == []
    x = taeda.randn(7, 4)
    same(program.module()(x), f(x))
    same(functional.module()(x), f(x))


def test_violations_suggest_a_range():
    def f(x, y):
        return x + y[: x.shape[0]]

    shapes = ({0: Dim("batch", min=2, max=10)}, None)
    with pytest.raises(
        RuntimeError, match=r"(?s)Suggested fixes:\n  batch = Dim\('batch', max=4\)"
    ):
        export(f, (taeda.randn(4, 3), taeda.randn(4, 3)), dynamic_shapes=shapes)


def test_hints():
    def f(x):
        return x.view(4, -1) + 1 if x.shape[0] == 4 else x

    x = taeda.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"Constraints violated \(L\['x'\]\.size\(\)\[0\]\)!"):
        export(f, (x,), dynamic_shapes=({0: Dim.DYNAMIC},))
    assert export(f, (x,), dynamic_shapes=({0: Dim.AUTO},)).range_constraints == {}
    assert export(f, (x,), dynamic_shapes=({0: Dim.STATIC},)).range_constraints == {}
    with pytest.raises(RuntimeError, match=r"Constraints violated \(batch\)!(?s:.*)batch = 4"):
        export(f, (x,), dynamic_shapes=({0: Dim("batch")},))


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_conditions_on_sizes(again):
    def halves(x):
        return x.view(2, -1).sum(0) if x.shape[0] % 2 == 0 else x

    program = again(export(halves, (taeda.ones(6),), dynamic_shapes=({0: Dim.AUTO},)))
    assert program.module()(taeda.ones(8)).tolist() == [2, 2, 2, 2]
    with pytest.raises(AssertionError, match="Guard failed: s0 % 2 == 0; got s0 = x"):
        program.module()(taeda.ones(7))
    with pytest.raises(RuntimeError, match=r"Constraints violated \(n\)!"):
        export(halves, (taeda.ones(6),), dynamic_shapes=({0: Dim("n")},))


def test_values_and_sizes_that_only_a_run_tells():
    program = export(lambda x: (x * x.sum().item(), x.nonzero()), (taeda.ones(3),))
    scaled, places = program.module()(taeda.tensor([1.0, 0.0, 2.0]))
    assert scaled.tolist() == [3, 0, 6]
    assert places.tolist() == [[0], [2]]


def test_wrong_dynamic_shapes():
    x = taeda.ones(4, 3)
    with pytest.raises(RuntimeError, match="its top-level keys must be the arg names"):
        export(lambda x, y: x, (x, x), dynamic_shapes={"x": {0: Dim("batch")}})
    with pytest.raises(RuntimeError, match="to have the same length as the actual tensor shape"):
        export(lambda x: x, (x,), dynamic_shapes=((Dim("batch"),),))
    with pytest.raises(AssertionError, match="inconsistent min=4, max=2"):
        Dim("batch", min=4, max=2)
    assert [d.__name__ for d in dims("a", "b")] == ["a", "b"]
    assert isinstance(export(lambda x: x, (x,)), ExportedProgram)


def violation(f, args, shapes):
    with pytest.raises(RuntimeError) as error:
        export(f, args, dynamic_shapes=shapes)
    return str(error.value)


def test_texts_of_violations():
    x, y = taeda.ones(8), taeda.ones(8)
    equal = violation(lambda x, y: x + y, (x, y), ({0: Dim("a")}, {0: Dim("b")}))
    assert equal.startswith("Constraints violated (b)!")
    assert "The values of b = L['y'].size()[0] and a = L['x'].size()[0] must always be" in equal
    assert equal.endswith("Suggested fixes:\n  b = a")
    fixed = violation(lambda x, y: x + y, (x, y), ({0: Dim("a")}, None))
    assert "You marked a as dynamic but your code specialized it to be a constant (8)" in fixed
    assert fixed.endswith("Suggested fixes:\n  a = 8")
    halves = violation(lambda x: x if x.shape[0] % 4 == 0 else x + 1, (x,), ({0: Dim("a")},))
    assert "satisfy the generated guard L['x'].size()[0] % 4 == 0." in halves
    assert halves.endswith("Suggested fixes:\n  _a = Dim('_a', min=1, max=oo)\n  a = 4*_a")
    small = violation(lambda x: x, (x,), ({0: Dim("a", max=4)},))
    assert small.startswith("8 not in range [0, 4]")
    assert "Unexpected dimension mapped to index 0" in violation(lambda x: x, (x,), ({0: "a"},))


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_sizes_that_are_only_derived(again):
    def f(y):
        return y * 2 if y.shape[0] % 2 == 0 else y

    half = Dim("half", min=2, max=10)
    program = again(export(f, (taeda.ones(6),), dynamic_shapes=({0: 2 * half},)))
    assert {str(k): str(v) for k, v in program.range_constraints.items()} == {
        "s0": "VR[2, 10]",
        "2*s0": "VR[4, 20]",
    }
    run = program.module()
    assert run(taeda.ones(8)).tolist() == [2.0] * 8
    with pytest.raises(AssertionError, match=r"Guard failed: y\.size\(\)\[0\] % 2 == 0"):
        run(taeda.ones(7))
    with pytest.raises(AssertionError, match=r"Guard failed: y\.size\(\)\[0\] <= 20"):
        run(taeda.ones(22))


def sums(x, y):
    return x.sum() + y.sum()


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_lower_bounds_of_derived_sizes(again):
    d = Dim("d", min=2)
    shapes = ({0: 2 * d}, {0: d + 1})
    program = again(export(sums, (taeda.ones(8), taeda.ones(5)), dynamic_shapes=shapes))
    ranges = {str(k): str(v) for k, v in program.range_constraints.items()}
    assert (ranges["2*s0"], ranges["s0 + 1"]) == ("VR[4, int_oo]", "VR[3, int_oo]")
    run = program.module()
    assert run(taeda.ones(4), taeda.ones(3)) == 7
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] >= 4; got 2"):
        run(taeda.ones(2), taeda.ones(2))


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_declared_minima_count(again):
    d = Dim("d")
    shapes = ({0: d}, {0: d + 1})
    program = again(export(sums, (taeda.ones(4), taeda.ones(5)), dynamic_shapes=shapes))
    ranges = {str(k): str(v) for k, v in program.range_constraints.items()}
    assert ranges == {"s0": "VR[0, int_oo]", "s0 + 1": "VR[1, int_oo]"}
    assert program.module()(taeda.ones(0), taeda.ones(1)) == 1
    lowered = program.run_decompositions()
    assert str(lowered.range_constraints) == str(program.range_constraints)
    with pytest.raises(AssertionError, match="Expected derived min value of d - 1 to be >= 0"):
        export(lambda x: x + 1, (taeda.ones(4),), dynamic_shapes=({0: d - 1},))


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_dynamic_integers(again):
    def f(x, n, k=2):
        return x * n, n + k, x[:n]

    shapes = {"x": None, "n": Dim.DYNAMIC, "k": None}
    program = again(export(f, (taeda.ones(9), 3, 2), dynamic_shapes=shapes))
    signature = program.graph_signature
    assert signature.user_inputs == ("x", "n", 2)
    run = program.module()
    scaled, total, part = run(taeda.ones(9), 5, 2)
    assert (scaled[0], total, part.numel()) == (5, 7, 5)
    assert program.example_inputs[0][1:] == (3, 2)
    with pytest.raises(AssertionError, match="Guard failed: k == 2"):
        run(taeda.ones(9), 5, 3)
    with pytest.raises(AssertionError, match=r"Guard failed: isinstance\(n, int\)"):
        run(taeda.ones(9), 5.0, 2)


def test_hints_with_ranges():
    program = export(lambda x: x + 1, (taeda.ones(6),), dynamic_shapes=({0: Dim.AUTO(min=4)},))
    run = program.module()
    assert run(taeda.ones(5)).numel() == 5
    with pytest.raises(AssertionError, match=r"Guard failed: .* >= 4"):
        run(taeda.ones(3))
    with pytest.raises(RuntimeError, match="6 not in range"):
        export(lambda x: x, (taeda.ones(6),), dynamic_shapes=({0: Dim.DYNAMIC(max=4)},))
    with pytest.raises(ValueError, match="static dimension"):
        Dim.STATIC(min=2)


def test_additional_inputs():
    def f(x, n, d):
        return x[:n].sum(0) + d["y"]

    examples = AdditionalInputs()
    examples.add((taeda.ones(7, 2), 4, {"y": taeda.ones(2)}))
    args = (taeda.ones(5, 2), 3, {"y": taeda.ones(2)})
    assert examples.dynamic_shapes(f, args) == {
        "x": (Dim.DYNAMIC, None),
        "n": Dim.DYNAMIC,
        "d": {"y": (None,)},
    }
    run = export(f, args, dynamic_shapes=examples).module()
    assert run(taeda.ones(9, 2), 8, {"y": taeda.ones(2)}).tolist() == [9, 9]
    examples.add((taeda.ones(7, 2, 1), 4, {"y": taeda.ones(2)}))
    with pytest.raises(ValueError, match="differing ranks"):
        export(f, args, dynamic_shapes=examples)


def test_modules_without_checks():
    program = export(lambda x: x + 1, (taeda.ones(2),))
    assert program.module(check_guards=False)(taeda.ones(5)).numel() == 5


def test_shapes_of_variadic_arguments():
    def f(x, *rest, **named):
        return x + rest[0] + named["z"]

    n = Dim("n")
    args, kwargs = (taeda.ones(4), taeda.ones(4)), {"z": taeda.ones(4)}
    for shapes in (
        {"x": {0: n}, "rest": ({0: n},), "named": {"z": {0: n}}},
        {"x": {0: n}, "rest": ({0: n},), "z": {0: n}},
        ({0: n}, {0: n}, {0: n}),
    ):
        run = export(f, args, kwargs, dynamic_shapes=shapes).module()
        assert run(taeda.ones(6), taeda.ones(6), z=taeda.ones(6)).tolist() == [3.0] * 6


def test_sizes_below_two():
    program = export(nn.Linear(2, 2), (taeda.ones(4, 2),), dynamic_shapes=({0: Dim("n", max=8)},))
    assert program.module()(taeda.ones(1, 2)).shape == (1, 2)
    text = violation(lambda x: x + 1, (taeda.ones(1),), ({0: Dim("n")},))
    assert "You marked n as dynamic but your code specialized it to be a constant (1)" in text
    assert text.endswith("Suggested fixes:\n  n = 1")


def test_a_program_may_use_the_root_of_a_derived_size():
    program = export(
        lambda x: x.view(x.shape[0] // 2, 2) + x.shape[0] // 2,
        (taeda.ones(6),),
        dynamic_shapes=({0: 2 * Dim("half")},),
    )
    for form in (program, program.run_decompositions(), reloaded(program)):
        assert form.module()(taeda.ones(10)).tolist() == [[6, 6]] * 5
        with pytest.raises(AssertionError, match="Guard failed"):
            form.module()(taeda.ones(7))


def test_a_root_of_a_shifted_and_scaled_size():
    program = export(
        lambda x: taeda.zeros((x.shape[0] - 1) // 3),
        (taeda.ones(10),),
        dynamic_shapes=({0: 3 * Dim("n") + 1},),
    )
    assert program.module()(taeda.ones(16)).shape == (5,)


def test_a_size_that_follows_from_another_is_suggested():
    with pytest.raises(RuntimeError) as info:
        export(
            lambda x, y: x + y[1:],
            (taeda.ones(5), taeda.ones(6)),
            dynamic_shapes=({0: Dim("n")}, {0: Dim("m")}),
        )
    text = str(info.value)
    assert "related to the values of n = L['x'].size()[0] by m = n + 1." in text
    assert text.endswith("Suggested fixes:\n  m = n + 1")


# ---- fixes ----
def test_suggested_fixes_are_put_in():
    def attempt(f, args, shapes):
        for _ in range(3):
            try:
                return export(f, args, dynamic_shapes=shapes)
            except RuntimeError as error:
                shapes = refine_dynamic_shapes_from_suggested_fixes(str(error), shapes)
        return None

    shapes = ({0: Dim("n")}, {0: Dim("m")})
    program = attempt(lambda x, y: x + y[1:], (taeda.ones(5), taeda.ones(6)), shapes)
    assert program.module()(taeda.ones(7), taeda.ones(8)).shape == (7,)
    even = attempt(lambda x: x.view(-1, 2), (taeda.ones(6),), {"x": [Dim("n")]})
    assert even.module()(taeda.ones(8)).shape == (4, 2)
    fixed = attempt(lambda x: x + taeda.ones(6), (taeda.ones(6),), ({0: Dim("n")},))
    assert fixed.range_constraints == {}


def test_fixes_that_cannot_be_read_are_refused():
    shapes = ({0: Dim("n"), 1: None}, Dim.AUTO)
    with pytest.raises(RuntimeError, match="suggests no fixes"):
        refine_dynamic_shapes_from_suggested_fixes("all went well", shapes)
    for wrong in ("n = n + 1", "n = k", "n = __import__('os')", "n = m\n  m = n"):
        with pytest.raises(RuntimeError, match="cannot read the suggested fix"):
            refine_dynamic_shapes_from_suggested_fixes(f"Suggested fixes:\n  {wrong}", shapes)
    kept = refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\n  k = 4", shapes)
    assert kept == shapes
    bounded = refine_dynamic_shapes_from_suggested_fixes(
        "Suggested fixes:\n  n = Dim('n', min=3, max=9)", shapes
    )
    assert (bounded[0][0].min, bounded[0][0].max) == (3, 9) and bounded[1] is Dim.AUTO


def test_conditions_may_be_left_to_calls():
    def f(x):
        return x.view(2, -1)

    shapes = ({0: Dim("n", max=20)},)
    with pytest.raises(RuntimeError, match="Constraints violated"):
        export(f, (taeda.ones(4, 3),), dynamic_shapes=shapes)
    program = export(
        f,
        (taeda.ones(4, 3),),
        dynamic_shapes=shapes,
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    for form in (program, reloaded(program)):
        assert form.module()(taeda.ones(6, 3)).shape == (2, 9)
        for rows in (5, 22):
            with pytest.raises(AssertionError, match="Guard failed"):
                form.module()(taeda.ones(rows, 3))
    with pytest.raises(RuntimeError, match="specialized it to be a constant"):
        export(
            lambda x: x + taeda.ones(4),
            (taeda.ones(4),),
            dynamic_shapes=({0: Dim("n")},),
            prefer_deferred_runtime_asserts_over_guards=True,
        )


def test_a_size_without_requirements_may_be_a_named_one():
    class Difference(nn.Module):
        def forward(self, x, y):
            return x - y

    shapes = {"x": (Dim.AUTO, Dim("d1", min=3)), "y": (Dim("d0", max=8), Dim.DYNAMIC)}
    program = export(Difference(), (taeda.randn(4, 4), taeda.randn(4, 4)), dynamic_shapes=shapes)
    x, y = (n.meta["val"].shape for n in program.graph.find_nodes(op="placeholder"))
    assert str(x) == str(y)
    ranges = [program.range_constraints[size.node.expr] for size in x]
    assert (ranges[0].upper, ranges[1].lower) == (8, 3)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(taeda.randn(9, 4), taeda.randn(9, 4))


def test_a_size_that_is_no_multiple_says_its_form():
    class Twice(nn.Module):
        def forward(self, x):
            return x * 2

    message = r"Expected shape\[0\] = 10 .* of the form 2\*n \+ 1, where n is an integer"
    with pytest.raises(UserError, match=message) as caught:
        export(Twice(), (taeda.ones(10),), dynamic_shapes=({0: 2 * Dim("n", max=9) + 1},))
    assert caught.value.msg == str(caught.value)


def test_derived_sizes_whose_root_is_one_are_each_named():
    d = Dim("d", min=1, max=2)
    shapes = {"x": (2 * d,), "y": (d + 1,)}
    with pytest.raises(UserError) as caught:
        export(lambda x, y: x + y, (taeda.ones(2), taeda.ones(2)), dynamic_shapes=shapes)
    lines = caught.value.msg.splitlines()
    assert lines[0] == "Constraints violated (2*d, d + 1)!"
    for line, name in zip(lines[1:], ("2*d", "d + 1")):
        assert (
            f"You marked {name} as dynamic but your code specialized it to be a constant (2)"
            in line
        )
    assert lines[3:] == ["Suggested fixes:", "  d = 1"]


def test_a_fixed_root_tells_what_became_of_derived_sizes():
    d = Dim("d", min=6)
    args = (taeda.ones(6, 2), taeda.ones(12))
    with pytest.raises(UserError) as caught:
        export(lambda x, y: x.reshape([-1]) + y, args, dynamic_shapes={"x": (d - 6, 2), "y": (d,)})
    text = caught.value.msg
    assert "Specializations unexpectedly required (d)!" in text
    assert "solving the guards generated for d - 6 = L['x'].size()[0]" in text
    assert "resulted in a specialized value of 6." in text
    assert text.endswith("Suggested fixes:\n  d = 12")


def test_the_function_of_a_derived_size():
    d = Dim("d", max=9)
    assert (d.fn(5), (2 * d).fn(5), (2 * d - 3).fn(5)) == (5, 10, 7)


def test_what_is_checked_of_a_derived_size():
    n = Dim("n", min=3, max=6)
    twice, odd = (
        export(lambda x: x + 1, (taeda.ones(size),), dynamic_shapes=({0: dim},)).module()
        for dim, size in ((2 * n, 10), (2 * n + 1, 11))
    )
    for module, size, message in [
        (twice, 9, r"x\.size\(\)\[0\] % 2 == 0"),
        (twice, 14, r"x\.size\(\)\[0\] <= 12"),
        (twice, 4, r"x\.size\(\)\[0\] >= 6"),
        (odd, 10, r"\(x\.size\(\)\[0\] - 1\) % 2 == 0"),
        (odd, 15, r"x\.size\(\)\[0\] <= 13"),
    ]:
        with pytest.raises(AssertionError, match=f"Guard failed: {message}"):
            module(taeda.ones(size))
    assert twice(taeda.ones(8)).shape == (8,) and odd(taeda.ones(9)).shape == (9,)


def test_pooling_of_channels_last_down_to_one_row_has_no_guard():
    x = taeda.randn(3, 4, 8, 10).to(memory_format=taeda.channels_last)

    class Pooled(nn.Module):
        def forward(self, x):
            return nn.functional.max_pool2d(x[:, :, 1:], 2)

    shapes = ({0: Dim("b"), 2: Dim("h", min=4, max=64), 3: Dim("w", min=4)},)
    program = export(Pooled(), (x,), dynamic_shapes=shapes).module()
    for part in (x, x[:, :, :4], x[:1, :, :, :5]):
        assert taeda.equal(program(part), Pooled()(part))
