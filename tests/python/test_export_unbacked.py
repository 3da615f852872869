"""Programs with numbers that only data tells: their sizes, what is asserted of them, and files."""

import pytest
from exported_forms import reloaded
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    statically_known_true,
)

import taeda
from taeda.export import Dim, export

X = taeda.arange(12.0).reshape(6, 2)


def number(value):
    return taeda.tensor(value)


def forms(program):
    """The program, lowered, and each of them from a file."""
    lowered = program.run_decompositions()
    return [program, lowered, reloaded(program), reloaded(lowered)]


def called(program):
    return [n for n in program.graph.nodes if n.op == "call_function"]


def asserted(program):
    """The expressions that the program asserts when it runs."""
    nodes = [n for n in called(program) if n.target is taeda.ops.aten._assert_scalar.default]
    return [n.args[1].split("expression ")[1].split(" on node")[0] for n in nodes]


def read(f):
    """A function of a tensor and a number as one of two tensors."""
    return lambda x, n: f(x, n.item())


def check_all(f, fine, wrong=(), message="Runtime assertion failed for expression"):
    """Every form of the program does what the function does; some arguments are refused."""
    for program in forms(export(f, fine[0])):
        module = program.module()
        for args in fine:
            assert taeda.equal(module(*args), f(*args))
        for args in wrong:
            with pytest.raises((RuntimeError, IndexError), match=message):
                module(*args)


# ---- assertions ----
def bounded(x, n):
    taeda._check(n >= 0)
    taeda._check(n <= x.size(0))
    return x[:n]


def test_what_is_stated_is_asserted_before_it_is_used():
    program = export(read(bounded), (X, number(3)))
    assert asserted(program) == ["u0 >= 0", "u0 <= 6"]
    names = [n.name for n in called(program)]
    one, two = "_assert_scalar_default", "_assert_scalar_default_1"
    assert names == ["item", "ge", one, "le", two, "slice_1"]
    assert str(called(program)[-1].meta["val"].shape) == "torch.Size([u0, 2])"
    assert {str(s): str(r) for s, r in program.range_constraints.items()} == {"u0": "VR[0, 6]"}


def test_assertions_hold_in_every_form():
    check_all(
        read(bounded),
        [(X, number(3)), (X, number(6)), (X, number(0))],
        [(X, number(7)), (X, number(-1))],
        r"Runtime assertion failed for expression u\d+ [<>]= [06] on node",
    )


def test_a_branch_that_a_statement_decides_is_refused_for_other_data():
    def f(x, n):
        taeda._check(n > 3)
        return x + 1 if n > 3 else x - 1

    check_all(read(f), [(X, number(5))], [(X, number(3))])


def test_equal_sizes_are_asserted():
    def f(a, b):
        return taeda.zeros(a.item()) + taeda.ones(b.item())

    program = export(f, (number(3), number(3)))
    assert asserted(program) == ["u0 >= 0", "u1 >= 0", "Eq(u0, u1)"]
    check_all(f, [(number(3), number(3)), (number(5), number(5))], [(number(3), number(5))])


def test_a_size_from_data_that_must_fit_a_known_one():
    check_all(lambda x, n: x[:, 0] + taeda.ones(n.item()), [(X, number(6))], [(X, number(5))])


def test_lengths_that_must_add_up():
    def f(x, n):
        a, b = n.tolist()
        taeda._check(a + b == 6)
        taeda._check_is_size(a)
        taeda._check_is_size(b)
        first, second = x.split([a, b])
        return taeda.cat([second, first])

    check_all(f, [(X, number([2, 4])), (X, number([1, 5]))], [(X, number([1, 6]))])


def test_ranges_are_asserted():
    def f(n):
        taeda.sym_constrain_range_for_size(size := n.item(), min=2, max=7)
        return taeda.ones(size)

    check_all(f, [(number(5),)], [(number(9),), (number(1),)])


def test_ranges_of_plain_numbers():
    taeda.sym_constrain_range(3, min=1, max=3)
    with pytest.raises(RuntimeError, match=r"Invalid value range for 9 between \[2, 7\]"):
        taeda.sym_constrain_range_for_size(9, min=2, max=7)


def test_assertions_survive_passes_that_drop_what_is_unused():
    program = export(lambda n: taeda._check(n.item() > 3) or n + 1, (number(5),))
    program.graph.eliminate_dead_code()
    assert asserted(program) == ["u0 > 3"]


def test_counts_of_elements_are_bounded():
    def f(x):
        return x.nonzero().sum(0)

    program = export(f, (X,))
    assert {str(s): str(r) for s, r in program.range_constraints.items()} == {"u0": "VR[0, 12]"}
    check_all(f, [(X,), (X * 0,)])
    check_all(lambda x: taeda.masked_select(x, x > 3) * 2, [(X,)])
    check_all(lambda x: x[x > 3].sum(), [(X,)])


def test_an_assertion_of_a_number_is_an_operator():
    assert taeda._assert_scalar(2, "no") is None
    with pytest.raises(RuntimeError, match="the message"):
        taeda._assert_scalar(False, "the message")
    u = ShapeEnv().create_unbacked_symint()
    taeda.ops.aten._assert_scalar.default(u >= 3, "")
    assert statically_known_true(u >= 3)


@pytest.mark.parametrize("shape", [(1,), (), (1, 1)])
def test_a_tensor_of_one_element_may_be_a_size(shape):
    def f(n):
        return taeda.zeros(n.reshape(shape)).view(-1, 4) + 1

    check_all(f, [(number(8),), (number(12),)])


# ---- parts ----
PARTS = {
    "to": lambda x, n: x[:n],
    "from": lambda x, n: x[n:],
    "from the end": lambda x, n: x[-n:],
    "up to the end": lambda x, n: x[:-n],
    "steps": lambda x, n: x[n::2],
    "both": lambda x, n: x[1:n],
    "row": lambda x, n: x[n],
    "row from the end": lambda x, n: x[-n],
    "narrow": lambda x, n: x.narrow(0, 0, n),
    "columns": lambda x, n: x.reshape(2, 6).narrow(1, 0, n),
    "columns used": lambda x, n: (x.reshape(2, 6)[:, :n].clone() + 1).contiguous(),
    "narrow from": lambda x, n: x.narrow(0, n, 1),
    "used": lambda x, n: (x[:n] * 2 + 1).sum(0),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_whose_bounds_only_data_tells(name):
    f = read(PARTS[name])
    check_all(f, [(X, number(3)), (X, number(5)), (X, number(1))])


@pytest.mark.parametrize("name", ["to", "from", "from the end", "up to the end", "both", "steps"])
def test_slices_may_go_beyond_the_tensor(name):
    check_all(read(PARTS[name]), [(X, number(3)), (X, number(9)), (X, number(-9)), (X, number(0))])


def test_rows_that_are_not_there_are_refused_when_the_program_runs():
    check_all(read(PARTS["row"]), [(X, number(-2))], [(X, number(9))], "out of range")


@pytest.mark.parametrize("name", PARTS)
def test_parts_in_symbolic_traces(name):
    f = read(PARTS[name])
    module = make_fx(f, tracing_mode="symbolic")(X, number(3))
    assert taeda.equal(module(X, number(5)), f(X, number(5)))


def test_the_same_part_has_the_same_size():
    def f(x, n):
        y = x.clone()
        y[:n] = 1
        return y + (x[:n] + x[:n]).sum()

    check_all(read(f), [(X, number(3)), (X, number(5))])


def test_a_part_of_a_dynamic_size():
    f = read(lambda x, n: x[:n])
    program = export(f, (X, number(3)), dynamic_shapes=({0: Dim("rows")}, None))
    module = program.module()
    for rows, n in ((4, 2), (4, 9), (9, 4)):
        assert taeda.equal(module(taeda.ones(rows, 2), number(n)), taeda.ones(rows, 2)[:n])


def test_gradients_through_a_part():
    def f(x, n):
        return (x[: n.item()] * 3).sum()

    module = export(f, (X.clone().requires_grad_(), number(3))).module()
    x = X.clone().requires_grad_()
    module(x, number(4)).backward()
    assert taeda.equal(x.grad, taeda.tensor([3.0] * 4 + [0.0] * 2).unsqueeze(1).expand(6, 2))


# ---- functions of control flow ----
def test_a_branch_asserts_what_it_states():
    def f(x, n):
        def some(x, n):
            count = n.item()
            taeda._check(count >= 2)
            taeda._check(count <= 6)
            return x.narrow(0, 0, count).sum(0)

        return taeda.cond(x.sum() > 0, some, lambda x, n: x.sum(0), (x, n))

    check_all(f, [(X, number(3)), (-X, number(1))], [(X, number(1)), (X, number(7))])


def test_a_branch_asserts_of_numbers_from_outside():
    def f(x, n):
        count = n.item()

        def some(x):
            taeda._check(count >= 2)
            taeda._check(count <= 6)
            return x[:count].sum(0)

        return taeda.cond(x.sum() > 0, some, lambda x: x.sum(0), (x,))

    check_all(f, [(X, number(3)), (-X, number(1))], [(X, number(1)), (X, number(7))])


# ---- numbers as results ----
def test_numbers_are_results():
    def f(x):
        total = x.sum().item()
        count = (x > 3).sum().item()
        return total / 2, count * 2 + 1, (x.sum() > 0).item(), taeda.sym_int(total * 1.5)

    program = export(f, (X,))
    kinds = [type(s.arg).__name__ for s in program.graph_signature.output_specs]
    assert kinds == ["SymFloatArgument", "SymIntArgument", "SymBoolArgument", "SymIntArgument"]
    for form in forms(program):
        assert form.module()(X * 2) == (66.0, 21, True, 198)


def test_sizes_that_are_rounded_floats_survive_files():
    def f(x):
        return taeda.ones(taeda.sym_int(x.max().item() / 2), 2).sum(0)

    check_all(f, [(X,), (X * 2,)])


def test_a_program_from_a_file_is_lowered():
    program = reloaded(export(read(bounded), (X, number(3)))).run_decompositions()
    assert taeda.equal(program.module()(X, number(5)), X[:5])
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        program.module()(X, number(7))


# ---- what is refused ----
def test_an_error_names_the_expression_the_line_and_a_remedy():
    def f(x, n):
        if n > 3:
            return x + 1
        return x - 1

    with pytest.raises(GuardOnDataDependentSymNode) as info:
        export(read(f), (X, number(3)))
    text = str(info.value)
    assert text.startswith("Could not guard on data-dependent expression u0 > 3 (unhinted: u0 > 3)")
    assert "torch._check(u0 > 3)" in text and "if n > 3:" in text and "torch.cond" in text
    assert info.value.cond == "u0 > 3"


def test_broadcasting_of_known_sizes_is_what_it_was():
    fake = ShapeEnv()
    a = taeda._C._fx._symbolic_meta([fake.create_unbacked_symint(), 3], [3, 1], taeda.float32)
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        a + taeda.empty(4, device="meta")
