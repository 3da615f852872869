"""Handlers of a compiled program see the errors that the program has without compilation."""

import fractions
import io
import traceback
import unittest

import pytest
from under_test import t


class Reflected:
    def __radd__(self, other):
        return "radd"

    def __rfloordiv__(self, other):
        return "rfloordiv"

    def __rpow__(self, other):
        return "rpow"

    def __gt__(self, other):
        return "gt"

    def __ne__(self, other):
        return "ne"


class Indexed:
    def __index__(self):
        return 1


NAMES = {"t": t, "r": Reflected(), "i": Indexed(), "half": fractions.Fraction(1, 2)}
EXPRESSIONS = """
x + r
x // r
x ** r
x < r
x != r
x != None
x == None
x + i
x * half
half * x
x + None
'a' + x
'a' * t.tensor(2)
x * [1, 2]
x < 'a'
x.numpy().sum()
x.absent
x.fake_mode
getattr(x, 'fake_mode', 'none')
x.__doc__ == t.Tensor.__doc__
t.nn.Parameter(x).absent
x.add('a')
x & 1
x[5]
x['a']
x.view(2)
x + t.ones(4)
t.stack(x)
t.tensor([x, x])
t.zeros(-1)
int(x)
round(x)
divmod(x, 2)
''.join([x])
sorted([x, 'a'])
x.masked_fill(x > 1, 'a')
t.broadcast_shapes((2,), (3,))
(lambda a: a)(x, 1)
""".strip().splitlines()


def handled(expression):
    """A function that gives the value of an expression of `x`, or its error."""
    text = f"""
def f(x):
    y = x * 2
    try:
        z = {expression}
    except Exception as error:
        z = type(error).__name__, str(error)
    return z, y + 1
"""
    names = dict(NAMES)
    exec(text, names)
    return names["f"]


def shown(function):
    return repr(function(t.tensor([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_errors_are_those_of_the_program(expression, backend):
    function = handled(expression)
    plain = shown(function)
    compiled = t.compile(function, backend=backend)
    assert [shown(compiled), shown(compiled)] == [plain, plain]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_errors_in_doubt_are_refused_in_one_graph(expression):
    function = handled(expression)
    plain = shown(function)
    compiled = t.compile(function, backend="eager", fullgraph=True)
    try:
        assert shown(compiled) == plain
    except t._dynamo.exc.Unsupported as error:
        assert f"z = {expression}" in str(error) or "line 5" in str(error)


@pytest.mark.parametrize("expression", ["x != None", "x == None", "x + r", "x.absent", "x < r"])
def test_operators_that_need_no_break(expression):
    function = handled(expression)
    compiled = t.compile(function, backend="eager", fullgraph=True)
    assert shown(compiled) == shown(function)


def test_an_error_that_leaves_one_graph_is_the_programs():
    def f(x, n):
        try:
            return x.view(n)
        finally:
            x.sum()

    compiled = t.compile(f, backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match=r"shape '\[2\]' is invalid for input of size 3"):
        compiled(t.ones(3), 2)
    assert compiled(t.ones(4), 2 + 2).shape == (4,)


def test_a_doubt_ends_with_its_call():
    def f(x, n):
        try:
            return x.view(n)
        except RuntimeError:
            return x

    compiled = t.compile(f, backend="eager", fullgraph=True)
    with pytest.raises(t._dynamo.exc.Unsupported):
        compiled(t.ones(3), 2)
    assert compiled(t.ones(3), 3).shape == (3,)


def test_a_mode_that_refuses_operands_leaves_them_to_the_other():
    class Refuses(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise TypeError("refused")

    x, r = t.ones(2), Reflected()
    with Refuses():
        assert x + r == "radd"
        assert (x < r) == "gt"
        with pytest.raises(TypeError, match="unsupported operand"):
            x - x


def test_archives_are_written_by_one_call():
    def f(x):
        y = x + 1
        file = io.BytesIO()
        t.save(y, file)
        file.seek(0)
        return t.load(file) * 2

    compiled = t.compile(f, backend="eager")
    assert compiled(t.ones(2)).tolist() == [4, 4]


# ---- the way of an error ----


def left_by_finally(x):
    try:
        int("q")
    finally:
        x = x * 2


def left_by_with(x):
    with t.no_grad():
        x = x + 1
        int("q")
    return x


def left_by_raise(x):
    try:
        int("q")
    except ValueError:
        x = x + 1
        raise


def left_behind_a_write(x):
    try:
        x.add_(1)
        int("q")
    finally:
        x.mul_(2)


@pytest.mark.parametrize(
    "left", [left_by_finally, left_by_with, left_by_raise, left_behind_a_write]
)
def test_tracebacks_name_each_caller_once(left):
    def passed(x):
        return left(x)

    def passed_twice(x):
        return passed(x) + 1

    def caught(x):
        try:
            return passed(x)
        except ValueError as error:
            return error

    def way_of(program):
        try:
            error = program(t.ones(2))
        except ValueError as raised:
            error = raised
        frames = traceback.extract_tb(error.__traceback__)
        return [(f.name, f.lineno) for f in frames if f.filename == __file__ and f.name != "way_of"]

    for program in (passed, passed_twice, caught):
        compiled = t.compile(program, backend="eager")
        for _ in range(3):
            assert way_of(compiled) == way_of(program)


def test_an_error_of_numbers_beside_a_tensor():
    def program(x, numbers):
        try:
            return x * numbers[5]
        except IndexError as error:
            return str(error)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for n in (2, 3, 4):
        assert compiled(t.ones(n), [1, 2]) == "list index out of range"


def test_frames_of_handled_errors_are_cleared():
    """As unittest does, whose errors have no traceback afterwards."""

    def fails():
        raise ValueError("text")

    def f(x):
        case = unittest.TestCase()
        with case.assertRaises(ValueError) as caught:
            fails()
        with case.assertRaisesRegex(KeyError, "a"):
            {}["a"]
        case.assertRaises(ZeroDivisionError, lambda: 1 // 0)
        return x + len(str(caught.exception)), caught.exception

    total, error = t.compile(f, backend="eager", fullgraph=True)(t.ones(2))
    assert t.equal(total, t.ones(2) + 4)
    assert type(error) is ValueError and error.args == ("text",) and error.__traceback__ is None


def test_frames_that_run_are_not_cleared():
    def f(x):
        try:
            raise ValueError
        except ValueError as error:
            try:
                error.__traceback__.tb_frame.clear()
            except RuntimeError as refused:
                return x + 1, str(refused)

    compiled = t.compile(f, backend="eager", fullgraph=True)
    assert compiled(t.ones(2))[1] == f(t.ones(2))[1]


def test_an_exception_from_before_names_each_line_once():
    """A program that keeps an error and raises it behind its handler."""

    def refuse(x):
        raise ValueError(str(len(told)))

    def retried(x):
        for _ in range(2):
            try:
                return refuse(x)
            except ValueError as error:
                told.append(str(error))
                last = error
        raise last

    def program(x):
        return retried(x + 1)

    found = []
    for function in (program, t.compile(program, backend="eager")):
        told = []
        for _ in range(3):
            with pytest.raises(ValueError) as raised:
                function(t.ones(2))
            places = traceback.extract_tb(raised.value.__traceback__)[1:]
            found.append((str(raised.value), [(place.name, place.lineno) for place in places]))
    assert found[:3] == found[3:]


def test_errors_with_causes_are_given_back():
    def program(x):
        error, other = ValueError(1, "a"), KeyError("k")
        error.__context__ = TypeError()
        error.__cause__ = RuntimeError(error)
        other.__suppress_context__ = True
        return x + 1, error, other

    _, error, other = t.compile(program, backend="eager", fullgraph=True)(t.ones(2))
    assert (type(error), error.args, type(error.__context__)) == (ValueError, (1, "a"), TypeError)
    assert isinstance(error.__cause__, RuntimeError) and error.__cause__.args == (error,)
    assert error.__suppress_context__ and other.__suppress_context__
    assert other.__cause__ is None and other.__context__ is None
