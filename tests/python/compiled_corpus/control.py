"""Programs around statements: loops, with, try, match and their corners."""

# ruff: noqa: B007, PLE0643, B012

import contextlib
import dataclasses

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)


@case(X)
def for_else(x):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 10
    for i in range(3):
        if i == 1:
            break
    else:
        x = x + 100
    return x, i


@case(X)
def while_else_continue(x):
    n = 0
    while n < 5:
        n += 1
        if n % 2:
            continue
        x = x + n
    else:
        x = x * 2
    return x


@case(X)
def nested_loops_with_flags(x):
    found = None
    for i in range(4):
        for j in range(4):
            if i * j == 6:
                found = (i, j)
                break
        if found:
            break
    return x * sum(found), found


@case(X)
def loop_variable_survives(x):
    for i, v in enumerate([x, x + 1]):
        pass
    return v * i


@case(X)
def list_grows_while_looped(x):
    queue = [1]
    for n in queue:
        if n < 8:
            queue.append(n * 2)
    return x * len(queue), queue


@case(X)
def loop_over_rows(x):
    out = []
    for row in x:
        out.append(row / (row.abs().sum() + 1))
    return t.stack(out)


@case(X)
def loop_with_sizes(x):
    total = x.new_zeros(x.shape[1])
    for i in range(x.size(0)):
        total = total + x[i] * (i + 1)
    return total


@case(X, 3)
def loop_by_argument(x, n):
    for _ in range(n):
        x = t.tanh(x)
    return x


@case(X)
def try_in_a_loop(x):
    out = []
    for key in ("a", "b", "c"):
        try:
            out.append({"a": 1, "c": 3}[key])
        except KeyError:
            out.append(-1)
            continue
        else:
            out.append("found")
        finally:
            out.append("done")
    return x + 1, out


@case(X)
def break_through_finally(x):
    log = []
    for i in range(3):
        try:
            if i == 1:
                break
        finally:
            log.append(i)
    return x * len(log), log


@case(X)
def return_through_finally(x):
    log = []

    def f():
        try:
            return x + 1
        finally:
            log.append("finally")

    return f(), log


@case(X)
def finally_overrides(x):
    def f():
        try:
            raise ValueError("lost")
        finally:
            return x * 2

    return f()


@case(X)
def except_tuple_and_name(x):
    try:
        [][1]
    except (KeyError, IndexError) as error:
        kind = type(error).__name__
    try:
        error  # noqa: B018
    except NameError:
        gone = True
    return x + 1, kind, gone


@case(X)
def except_by_base(x):
    try:
        raise FileNotFoundError("f")
    except OSError as error:
        return x + 1, isinstance(error, FileNotFoundError), error.args


@case(X)
def reraised_and_caught(x):
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            x = x + 1
            raise
    except KeyError as error:
        return x * 2, error.args[0]


@case(X)
def raised_while_handled(x):
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")  # noqa: B904
    except ValueError as error:
        return x + 1, type(error.__context__).__name__, error.__cause__


class OwnError(RuntimeError):
    def __init__(self, code, **details):
        super().__init__(f"code {code}")
        self.code = code
        self.details = details


@case(X)
def own_exception_class(x):
    try:
        raise OwnError(3, why="q")
    except OwnError as error:
        return x * error.code, str(error), error.details


@case(X)
def own_exception_escapes(x):
    y = x + 1
    if y.dim() == 2:
        raise OwnError(7)
    return y


@case(X)
def zero_division_escapes(x):
    n = x.dim() - 2
    return x * (1 // n)


@case(X)
def assertion_escapes(x):
    assert x.shape[0] == 5, f"got {x.shape[0]}"
    return x


@case(X)
def attribute_error_escapes(x):
    y = x * 2
    return y.no_such_name


@case(X)
def type_error_escapes(x):
    return len(x.dim()) + x


@case(X)
def index_error_of_a_list(x):
    values = [x]
    return values[3]


@case(X)
def index_error_of_a_tensor(x):
    y = x + 1
    return y[9]


@case(X)
def shape_error_in_a_call(x):
    def f(v):
        return v @ v

    y = x * 2
    return f(y)


@case(X)
def shape_error_caught(x):
    try:
        return x @ x
    except RuntimeError:
        return x @ x.T


@case(X, [])
def error_after_writes(x, log):
    log.append(1)
    x.add_(1)
    log.append(2)
    raise ValueError("late")


@case(X)
def stop_iteration_escapes(x):
    it = iter([x])
    next(it)
    return next(it)


@case(X)
def unbound_local(x):
    if x.dim() == 3:
        y = x
    return y + 1


@case(X)
def exception_group_like_chain(x):
    errors = []
    for f in (lambda: 1 / 0, lambda: {}["k"], lambda: int("q")):
        try:
            f()
        except Exception as error:
            errors.append(type(error).__name__)
    return x * len(errors), errors


class Switch:
    def __init__(self, log, eats=False):
        self.log = log
        self.eats = eats

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append("out" if kind is None else kind.__name__)
        return self.eats


@case(X, [])
def with_two_managers(x, log):
    with Switch(log) as a, Switch(log, eats=True) as b:
        x = x + 1
        raise KeyError("eaten")
    return x, a is not b


@case(X, [])
def with_return_inside(x, log):
    with Switch(log):
        return x + len(log)


@case(X, [])
def with_in_a_loop(x, log):
    for i in range(3):
        with Switch(log):
            if i == 1:
                continue
            x = x + i
    return x


@case(X, [])
def with_error_escapes(x, log):
    with Switch(log):
        x = x + 1
        raise ValueError("out of with")


@contextlib.contextmanager
def scaled(log, by):
    log.append("enter")
    try:
        yield by * 2
    except KeyError:
        log.append("caught")
    finally:
        log.append("exit")


@case(X, [])
def generator_manager_catches(x, log):
    with scaled(log, 3) as s:
        x = x * s
        raise KeyError("k")
    return x


@case(X, [])
def exit_stack_in_order(x, log):
    with contextlib.ExitStack() as stack:
        for i in range(2):
            stack.enter_context(Switch(log))
        stack.callback(log.append, "callback")
        x = x + 1
    return x


@case(X, [])
def manager_as_decorator(x, log):
    class Noted(contextlib.ContextDecorator):
        def __enter__(self):
            log.append("a")

        def __exit__(self, *error):
            log.append("b")

    @Noted()
    def f(v):
        return v + 1

    return f(f(x))


@case(X)
def grad_mode_inside_loop(x):
    flags = []
    for i in range(3):
        with t.set_grad_enabled(i % 2 == 0):
            x = x * 1.5
            flags.append(t.is_grad_enabled())
    return x, flags


@case(X)
def conditional_chains(x):
    n = x.shape[0]
    if n < 2:
        y = x
    elif 2 <= n < 4:
        y = x + 1
    elif n == 4 and x.dtype is t.float32 and not x.requires_grad:
        y = x + 2
    else:
        y = x + 3
    return y


@case(X, None, 0, "")
def truth_of_values(x, a, b, c):
    value = a or b or c or x
    other = x.dim() and 5
    return value + other, not a, bool([0])


@case(X)
def match_literals(x):
    out = []
    for v in (1, "a", None, True, 2.5, -1):
        match v:
            case None:
                out.append("none")
            case True:
                out.append("true")
            case 1 | -1:
                out.append("one")
            case "a":
                out.append("text")
            case _:
                out.append("other")
    return x + len(out), out


@case(X, [1, 2, 3])
def match_sequences(x, values):
    match values:
        case []:
            return x
        case [a]:
            return x * a
        case [a, *rest] if len(rest) > 1:
            return x * a + sum(rest)
        case _:
            return x - 1


@case(X, {"op": "scale", "by": 3, "extra": 1})
def match_mappings(x, request):
    match request:
        case {"op": "shift", "by": by}:
            return x + by
        case {"op": "scale", "by": int(by), **rest}:
            return x * by, rest


@dataclasses.dataclass
class Move:
    dx: int
    dy: int = 0


@dataclasses.dataclass
class Turn:
    angle: float


@case(X, [Move(1, 2), Turn(0.5), Move(3)])
def match_class_patterns(x, commands):
    for command in commands:
        match command:
            case Move(dx, 0):
                x = x + dx
            case Move(dx=a, dy=b):
                x = x * a + b
            case Turn(angle=float() as angle):
                x = x * angle
    return x


@case(X, ("pair", (1, 2)))
def match_nested_and_as(x, value):
    match value:
        case ("single", _):
            return x
        case ("pair", (int() as a, b) as both):
            return x * a + b, both


@case(X)
def match_on_shape(x):
    match tuple(x.shape):
        case (4, n):
            return x * n
        case _:
            return x


@case(X)
def del_of_names_and_items(x):
    a = [x, x + 1, x + 2]
    b = {"k": 1}
    del a[0], b["k"]
    c = a
    del a
    return c[0], len(b)


@case(X)
def augmented_on_everything(x):
    n = 3
    n += 1
    n **= 2
    n //= 3
    n %= 4
    n <<= 2
    n |= 1
    n ^= 2
    values = [x]
    values[0] *= n
    return values[0], n


@case(X)
def chained_assignment(x):
    a = b = [x]
    a.append(1)
    return b[0], len(b), a is b


@case(X)
def conditional_comparisons(x):
    n = x.shape[1]
    return x + (0 < n < 5) + (n is not None) + (n in (1, 3)) + (n not in [3])


@case(X)
def pass_and_ellipsis(x):
    def nothing(): ...

    return x, nothing(), ... is Ellipsis
