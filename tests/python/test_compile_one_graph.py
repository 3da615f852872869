"""Programs that are one graph: checks of data, copies of objects, settings, numbers of classes."""

import copy
import dataclasses
import re

import pytest
from taeda._dynamo.testing import CompileCounter
from taeda._dynamo.utils import (
    clear_compilation_metrics,
    counters,
    get_compilation_metrics,
)
from taeda.fx.experimental.symbolic_shapes import ShapeEnv

import taeda as t

BACKENDS = ("eager", "aot_eager", "inductor")


@pytest.fixture(autouse=True)
def fresh():
    t.compiler.reset()
    yield
    t.use_deterministic_algorithms(False)


def whole(function, backend="eager", **options):
    return t.compile(function, backend=backend, fullgraph=True, **options)


CHECKS = {
    "count": lambda x: t._check((x > 0).sum().item() > 1),
    "equal": lambda x: t._check((x > 0).sum().item() == 3),
    "number": lambda x: t._check(x.sum().item() > 0.0),
    "truth": lambda x: t._check((x > 0).all().item(), lambda: "all are positive"),
    "value": lambda x: t._check_value((x > 0).all().item(), lambda: "all are positive"),
    "tensor": lambda x: t._check_tensor_all(x > 0, lambda: "all are positive"),
    "tensor with": lambda x: t._check_tensor_all_with(IndexError, x > 0),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_data_are_made_at_every_call(name, backend):
    def function(x):
        CHECKS[name](x)
        return x + 1

    x = t.tensor([1.0, 2.0, 3.0])
    with t._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = whole(function, backend)
        assert t.equal(compiled(x), x + 1)
        with pytest.raises(Exception) as plain:
            function(-x)
        with pytest.raises(plain.type) as own:
            compiled(-x)
    assert str(own.value) == str(plain.value)


# As a text, because pytest writes assertions of this file in another way.
ASSERTIONS = """
def asserted(x):
    assert x.sum() > 0, f"the sum is {x.sum().item()}"
    assert x.max() > 0 and not x.isnan().any()
    assert (x > 0).sum()
    return x + 1

def of_many(x):
    assert x > 0
    return x

def behind_a_write(x):
    x.add_(1)
    assert x.sum() > 0, "the sum"
    assert x.max() > 0
    return x.mul_(2)

def handled_behind_a_write(x, log):
    x.add_(1)
    try:
        assert x.sum() > 0, "the sum"
        log.append("more")
    except AssertionError as error:
        log.append(str(error))
        return x * 0
    return x

def behind_an_append(x, log):
    log.append("first")
    assert x.sum() > 0
    return x + 1
"""
of_text = {}
exec(ASSERTIONS, of_text)
asserted, of_many = of_text["asserted"], of_text["of_many"]
behind_a_write = of_text["behind_a_write"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_assertions_of_tensors_are_checks(backend):
    compiled = whole(asserted, backend)
    for _ in range(2):
        x = t.tensor([1.0, 2.0, 3.0])
        assert t.equal(compiled(x), x + 1)
        for wrong in (-x, x * t.nan, t.tensor([float("inf"), float("nan"), 1.0])):
            with pytest.raises(AssertionError) as plain:
                asserted(wrong)
            with pytest.raises(AssertionError) as own:
                compiled(wrong)
            assert str(own.value) == str(plain.value)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_failed_assertions_behind_writes(backend, fullgraph):
    compiled = t.compile(behind_a_write, backend=backend, fullgraph=fullgraph)
    for given in ([1.0, 2.0], [-3.0, 1.0], [-1.0, -1.0], [float("inf"), float("-inf")]):
        results = []
        for function in (behind_a_write, compiled):
            x = t.tensor(given)
            try:
                function(x)
                results.append((x.tolist(), None))
            except AssertionError as error:
                results.append((x.tolist(), error.args))
        assert results[0] == results[1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["handled_behind_a_write", "behind_an_append"])
def test_what_a_program_sees_of_a_failed_assertion(name, backend):
    """Its handlers, and what it wrote to objects before."""

    def seen(function, number):
        x, log = t.full((2,), number), []
        try:
            result = function(x, log).tolist()
        except AssertionError:
            result = None
        return result, x.tolist(), log

    compiled = t.compile(of_text[name], backend=backend)
    for number in (1.0, 1.0, -2.0, 3.0, -4.0):
        assert seen(compiled, number) == seen(of_text[name], number)


def test_arguments_of_a_distribution_with_a_matrix_are_checked():
    def program(x, matrix):
        return t.distributions.MultivariateNormal(t.zeros(2), matrix).log_prob(x)

    x, matrix = t.ones(2), t.tensor([[2.0, 1.0], [1.0, 2.0]])
    compiled = whole(program)
    t.testing.assert_close(compiled(x, matrix), program(x, matrix))
    for wrong in (-matrix, matrix + t.tensor([[0.0, 1.0], [0.0, 0.0]])):
        with pytest.raises(ValueError, match="satisfy the constraint PositiveDefinite"):
            compiled(x, wrong)


def test_assertions_that_are_branches():
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        whole(of_many)(t.ones(2))
    with pytest.raises(t._dynamo.exc.Unsupported, match="a value that only data tells"):
        whole(lambda x: x if x.sum() > 0 else -x)(t.ones(2))
    off = t._dynamo.config.patch(rewrite_assert_with_torch_assert=False)
    with off, pytest.raises(t._dynamo.exc.Unsupported, match="a value that only data tells"):
        whole(asserted)(t.ones(2))


SEARCHES = {
    "findall": lambda x: x + len(re.findall(r"\w+", "aa bb")),
    "sub": lambda x: x + len(re.sub(r"q(\d+)", lambda m: m[1], "q12 q3")),
    "template": lambda x: x + len(re.sub(r"layers\.(\d+)", r"l\1", "layers.3.w")),
    "match": lambda x: x + int(re.match(r"(?P<n>\d+)", "12")["n"]),
    "split": lambda x: x + len(re.split(r"[,;]", "a,b;c")),
    "compile": lambda x: x + bool(re.compile(rb"x", re.I).search(b"X1")),
    "flags": lambda x: x + len(re.findall("A", "aA", re.I | re.M)),
    "finditer": lambda x: x + sum(int(m.group()) for m in re.finditer(r"\d", "1 2 3")),
    "again": lambda x: x + len(re.findall(re.compile("a"), "aa")),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_for_patterns_that_re_does_not_know_yet(name):
    re.purge()
    x = t.ones(1)
    compiled = whole(SEARCHES[name])
    for _ in range(2):
        assert t.equal(compiled(x), SEARCHES[name](x))


def test_patterns_that_change_or_are_none():
    compiled = t.compile(lambda x, p: x + len(re.findall(p, "aab")), backend="eager")
    for pattern in ("a", "b", re.compile("a"), re.compile("b"), b"a", "a("):
        wanted = None
        try:
            wanted = len(re.findall(pattern, "aab"))
        except (TypeError, re.error) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                compiled(t.zeros(1), pattern)
        else:
            assert compiled(t.zeros(1), pattern).item() == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_failed_checks_behind_writes(backend):
    def function(x):
        x.add_(1)
        t._check_value((x > 0).all().item(), lambda: "all are positive")
        x.mul_(2)
        return x * 2

    with t._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = whole(function, backend)
        assert compiled(t.ones(2)).tolist() == [8, 8]
        for _ in range(2):
            x = t.full((2,), -3.0)
            with pytest.raises(ValueError, match="all are positive"):
                compiled(x)
            assert x.tolist() == [-2, -2]


def test_truth_of_a_number_from_data_is_a_result():
    with t._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = whole(lambda x: bool(x.item()))
        assert [compiled(t.tensor([n])) for n in (0, 1, 5)] == [False, True, True]


def test_eval_of_constants():
    def function(x):
        try:
            eval("1+")
        except SyntaxError as error:
            return x + eval("(1, 2)")[1], error.filename
        return x

    x = t.ones(3)
    result, where = whole(function)(x)
    assert t.equal(result, x + 2) and where == "<string>"
    with pytest.raises(t._dynamo.exc.Unsupported, match="Failed to trace builtin operator"):
        whole(lambda x: x + eval("len([1])"))(x)


def test_gradient_and_attribute_of_a_result():
    def function(x):
        y = x + 10
        y.grad = x
        y.note = 42
        return y, y.grad + 1

    x = t.ones(5)
    y, more = whole(function)(x)
    assert t.equal(y.grad, x) and y.note == 42 and t.equal(more, x + 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tensor_of_a_list_of_tensors(backend):
    def function(x):
        return t.tensor([[x, 3], [x * 2, 1]], dtype=t.float64), t.tensor([x, x])

    x = t.tensor(20)
    for own, plain in zip(whole(function, backend)(x), function(x), strict=True):
        assert t.equal(own, plain) and own.dtype == plain.dtype and not own.requires_grad


class Config:
    def __init__(self):
        self.sizes = [1, 2, 3]
        self.mapping = {"a": 10}


class Slotted:
    __slots__ = ("__hidden", "a")

    def __init__(self):
        self.a, self.__hidden = [1], 2

    def hidden(self):
        return self.__hidden


class Reduced:
    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return Reduced, (self.n + 1,)


class Items(list):
    pass


def test_copies_of_objects():
    def function(x, config, slotted, reduced):
        deep, shallow = copy.deepcopy(config), copy.copy(config)
        deep.sizes[0], deep.mapping["a"] = 99, 77
        items = copy.copy(Items([x, x + 1]))
        other = copy.deepcopy(slotted)
        other.a.append(5)
        number = copy.copy(reduced).n
        return x + deep.sizes[0] + number + other.hidden(), deep, shallow, items, other

    x, config, slotted = t.ones(2), Config(), Slotted()
    result, deep, shallow, items, other = whole(function)(x, config, slotted, Reduced(4))
    assert t.equal(result, x + 99 + 5 + 2)
    assert (deep.sizes, deep.mapping, config.sizes) == ([99, 2, 3], {"a": 77}, [1, 2, 3])
    assert type(deep) is Config and shallow.sizes is config.sizes
    assert type(items) is Items and t.equal(items[1], x + 1)
    assert type(other) is Slotted and (other.a, slotted.a) == ([1, 5], [1])


@dataclasses.dataclass(frozen=True)
class Pair:
    x: t.Tensor
    y: t.Tensor
    scale: int = dataclasses.field(kw_only=True)


@t.compiler.allow_in_graph
def scaled_sum(pair):
    return (pair.x + pair.y) * pair.scale


@pytest.mark.parametrize("backend", BACKENDS)
def test_frozen_data_classes_go_into_allowed_functions(backend):
    x = t.ones(2)
    compiled = whole(lambda x, y: scaled_sum(Pair(x, y, scale=3)), backend)
    assert t.equal(compiled(x, x * 2), x * 9)


class Number(int):
    def __eq__(self, other):
        raise RuntimeError("a guard asks no method of the program")

    __hash__ = int.__hash__


def test_numbers_of_a_class_of_the_program_are_constants():
    counter = CompileCounter()
    compiled = whole(lambda x, n: x + n, counter)
    found = [compiled(t.tensor(1), Number(n)).item() for n in (5, 10, 5)]
    assert found == [6, 11, 6] and counter.frame_count == 2


def test_determinism_is_set_and_guarded():
    seen = []

    @t.compiler.allow_in_graph
    def look():
        seen.append(t.are_deterministic_algorithms_enabled())

    counter = CompileCounter()

    def function(x):
        before = t.are_deterministic_algorithms_enabled()
        t.use_deterministic_algorithms(True, warn_only=True)
        look()
        t.use_deterministic_algorithms(False, warn_only=True)
        return x + 1, before

    compiled = whole(function, counter)
    for _ in range(2):
        t.use_deterministic_algorithms(False)
        assert compiled(t.ones(2))[1] is False
        assert t.is_deterministic_algorithms_warn_only_enabled()
        assert not t.are_deterministic_algorithms_enabled() and seen.pop()
    assert counter.frame_count == 1
    t.use_deterministic_algorithms(True)
    assert compiled(t.ones(2))[1] is True and counter.frame_count == 2


def test_allowed_functions_may_be_called_for_their_effect():
    calls = []

    @t.compiler.allow_in_graph
    def note(x):
        calls.append(tuple(x.shape))

    def function(x):
        note(x)
        return x * 2

    compiled = whole(function)
    compiled(t.ones(3))
    count = len(calls)
    compiled(t.ones(3))
    assert len(calls) == count + 1


def test_dynamic_sources():
    counter = CompileCounter()
    with t.compiler.config.patch(dynamic_sources="L\\['x.*'\\], L['y']"):
        compiled = t.compile(lambda x1, y: x1 * y, dynamic=False, backend=counter)
        assert [compiled(n, t.ones(n)).tolist() for n in (2, 3)] == [[2, 2], [3, 3, 3]]
    assert counter.frame_count == 1
    with pytest.raises(AttributeError):
        t.compiler.config.nothing = 1


def test_errors_of_backends_are_suppressed_and_measured():
    def broken(gm, inputs):
        raise RuntimeError("broken backend")

    clear_compilation_metrics()
    compiled = t.compile(lambda x: x.sin(), backend=broken)
    x = t.ones(2)
    with t._dynamo.config.patch(suppress_errors=True), pytest.warns(UserWarning, match="broken"):
        assert t.equal(compiled(x), x.sin())
    (metrics,) = get_compilation_metrics()
    assert metrics.fail_reason == "RuntimeError: broken backend"
    assert (metrics.graph_op_count, metrics.graph_input_count) == (1, 1)
    assert metrics.dynamo_time_before_restart_s > 0
    t.compiler.reset()
    with pytest.raises(t._dynamo.exc.BackendCompilerFailed):
        compiled(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_to_an_input_with_a_history(backend):
    def function(x, y):
        x.add_(y)
        return x.view(-1), x * 2

    results = []
    for run in (function, whole(function, backend)):
        leaf, y = t.ones(2, 3, requires_grad=True), t.full((2, 3), 2.0, requires_grad=True)
        x = leaf * 3
        view, twice = run(x, y)
        (view.sum() + (twice * x).sum()).backward()
        assert view._base is not None
        results.append((x.detach(), view.detach(), twice.detach(), leaf.grad, y.grad))
    for plain, own in zip(*results, strict=True):
        assert t.equal(plain, own)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        t.compile(function, backend=backend)(t.ones(2, 3, requires_grad=True), t.ones(2, 3))


def test_fakes_of_results_are_no_leaves():
    x = t.ones(3, requires_grad=True)
    for env in (None, ShapeEnv()):
        mode = t._subclasses.FakeTensorMode(shape_env=env)
        leaf, result = mode.from_tensor(x), mode.from_tensor(x * 2)
        assert leaf.is_leaf and not result.is_leaf and result.requires_grad
        result.add_(1)


def test_detached_in_place():
    def function(x):
        y = x * 2
        y.detach_()
        return y + 1, y.requires_grad, y.grad_fn is None

    x = t.randn(3, requires_grad=True)
    own, plain = whole(function)(x), function(x)
    assert t.equal(own[0], plain[0]) and own[1:] == plain[1:] == (False, True)


def test_hooks_on_saved_tensors_see_no_fakes():
    packed = []

    def pack(x):
        packed.append(type(x).__name__)
        return x

    x = t.randn(3, requires_grad=True)
    for backend in BACKENDS:
        t.compiler.reset()
        with t.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            out = t.compile(lambda x: (x.sin() * x).exp(), backend=backend)(x)
        assert packed and "FakeTensor" not in packed
        assert t.allclose(
            t.autograd.grad(out.sum(), x)[0], t.autograd.grad((x.sin() * x).exp().sum(), x)[0]
        )
        packed.clear()


class Counter:
    def __init__(self):
        self.count = 0


def count_and_double(counter, x):
    counter.count += 1
    return x * 2


def test_writes_to_objects_may_be_left_out_or_refused():
    x, config = t.ones(2), t._dynamo.config
    for settings, expected in (({}, 1), ({"replay_side_effects": False}, 0)):
        counter = Counter()
        with config.patch(**settings):
            assert t.equal(whole(count_and_double)(counter, x), x * 2)
        assert counter.count == expected
    is_told = pytest.warns(UserWarning, match=r"found certain side effects.*counter")
    with config.patch(side_effect_replay_policy="warn"), is_told:
        whole(count_and_double)(Counter(), x)
    is_refused = pytest.raises(RuntimeError, match="found certain side effects")
    with config.patch(side_effect_replay_policy="error"):
        with is_refused:
            whole(count_and_double)(Counter(), x)
        y = t.ones(2)
        assert t.equal(whole(lambda y: y.add_(1))(y), x + 1)  # tensors are the graph's


def test_guard_failures_are_told():
    told = []

    def function(x, y):
        return x * y if x.shape[0] < 4 else x + y

    compiled = t._dynamo.optimize("eager", nopython=True, guard_fail_fn=told.append)(function)
    for size in (2, 5):
        compiled(t.ones(size), t.ones(size))
    (failure,) = told
    assert failure.reason == "tensor 'x' size mismatch at index 0. expected 2, actual 5"
    assert failure.orig_code is function.__code__


class Described:
    scale = 3
    sizes = [1, 2]

    def double(self, x):
        return x * 2


def test_names_of_a_class():
    def function(x, described):
        names = type(described).__dict__
        names["sizes"].append(len(names["sizes"]))
        factor = names["scale"] if "scale" in names and "other" not in names else 1
        return names["double"](described, x) * factor + len(vars(Described).get("sizes"))

    x, described = t.ones(2), Described()
    compiled = whole(function)
    for count in (3, 4):
        assert t.equal(compiled(x, described), x * 6 + count)
        assert len(Described.sizes) == count
    Described.scale = 5
    assert t.equal(compiled(x, described), x * 10 + 5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_of_distributions_are_checked(backend):
    distributions = t.distributions

    def function(mean, scale):
        normal = distributions.Normal(mean, scale)
        return distributions.Independent(normal, 1).log_prob(mean)

    mean, scale = t.randn(3, 4), t.ones(3, 4)
    compiled = whole(function, backend)
    assert t.allclose(compiled(mean, scale), function(mean, scale))
    for arguments in ((mean, -scale), (mean * float("nan"), scale)):
        with pytest.raises(ValueError) as plain:
            function(*arguments)
        with pytest.raises(ValueError) as own:
            compiled(*arguments)
        assert str(own.value) == str(plain.value)


class Meta(type):
    offset = 1

    def __getattr__(cls, name):
        return len(name) + cls.offset

    @property
    def count(cls):
        return cls.scale * 2


class Made(metaclass=Meta):
    scale = 3


class Getter:
    def __init__(self, value):
        self.value = value

    def __call__(self, owner):
        return self.value + owner.own


class Owner:
    own = 2
    sum = property(Getter(5))


def test_attributes_that_metaclasses_and_objects_compute():
    def function(x, owner):
        return x + Made.scale + Made.dynamic + Made.count + owner.sum

    x, compiled = t.zeros(1), whole(function)
    assert compiled(x, Owner()).item() == 3 + 8 + 6 + 7
    Made.scale = 4
    Owner.sum.fget.value = 1
    assert compiled(x, Owner()).item() == function(x, Owner()).item() == 4 + 8 + 8 + 3


# ---- programs that raise ----


class OfNumpy(t.autograd.Function):
    """Computes outside of the package, which captures cannot."""

    @staticmethod
    def forward(ctx, x):
        return t.from_numpy(x.detach().numpy() * 2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_captures_cannot_do_is_an_error(backend):
    function = whole(lambda x: OfNumpy.apply(x) + 1, backend)
    for _ in range(2):
        with pytest.raises(t._dynamo.exc.Unsupported, match=r"call of Tensor\.numpy"):
            function(t.ones(2))


def test_a_program_that_raised_often_is_compiled():
    counter = CompileCounter()

    def positive(x, n):
        if n < 0:
            raise ValueError("negative")
        return x * n

    function = whole(positive, counter)
    for _ in range(12):
        with pytest.raises(ValueError, match="negative"):
            function(t.ones(2), -1)
    assert t.equal(function(t.ones(2), 3), t.full((2,), 3.0))
    assert counter.frame_count == 1


class Masked(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return x.clone(), mask

    @staticmethod
    def backward(ctx, g, _):
        return t.where(ctx.saved_tensors[0], g, g * 0.1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_without_gradients_of_sizes_that_change(backend):
    counters.clear()
    function = whole(lambda x: Masked.apply(x * 2), backend)
    for size in (3, 4, 5, 6):
        x = t.linspace(-1, 1, size).requires_grad_()
        result, mask = function(x)
        result.sum().backward()
        assert t.equal(mask, x > 0)
        assert t.allclose(x.grad, t.where(x > 0, 2.0, 0.2))
    assert counters["stats"]["unique_graphs"] == 2


class Sloped(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, settings):
        ctx.settings = settings
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.settings["slope"], None


def test_settings_of_a_function_that_change():
    counter = CompileCounter()
    function = whole(lambda x, settings: Sloped.apply(x, settings), counter)
    for slope in (0.1, 0.2, 0.3, 0.4):
        x = t.ones(2, requires_grad=True)
        function(x, {"slope": slope}).sum().backward()
        assert t.allclose(x.grad, t.full((2,), slope))
    assert counter.frame_count == 2


# ---- numbers and sizes that only data tells ----


@t.library.custom_op("test_compile_one_graph::places", mutates_args=())
def places(x: t.Tensor) -> t.Tensor:
    return x.nonzero().clone()


@places.register_fake
def _(x):
    count = t.library.get_ctx().new_dynamic_size()
    return x.new_empty((count, x.dim()), dtype=t.int64)


OF_DATA = {
    "item": lambda x: x * x.sum().item(),
    "an int": lambda x: x * int(x.max()),
    "a float": lambda x: x * float(x.max()),
    "a range": lambda x: t.arange(int((x > 0).sum())),
    "places": lambda x: x.nonzero() * 2,
    "a mask": lambda x: x[x > 0] + 1,
    "distinct ones": lambda x: t.unique(x) * 2,
    "an operator": lambda x: places(x) * 2,
    "an operator by its name": lambda x: t.ops.test_compile_one_graph.places(x).shape[0],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_DATA)
def test_what_only_data_tells_is_part_of_one_graph(name, backend):
    counters.clear()
    program = OF_DATA[name]
    function = whole(program, backend)
    for size in (3, 4, 5, 6):
        for x in (t.arange(size) * 1.0, t.ones(size), t.zeros(size)):
            expected = program(x)
            result = function(x)
            assert type(result) is type(expected)
            assert t.equal(t.as_tensor(result), t.as_tensor(expected))
    assert counters["stats"]["unique_graphs"] == 2


def test_a_branch_on_data_is_no_graph():
    function = whole(lambda x: x + 1 if x.sum().item() > 0 else x)
    with pytest.raises(t._dynamo.exc.Unsupported, match="only data tells"):
        function(t.ones(2))


class _Slope(t.autograd.Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g * x.cos()

    @staticmethod
    def backward(ctx, gg):
        g, x = ctx.saved_tensors
        return gg * x.cos(), -gg * g * x.sin()


class _Sine(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return _Slope.apply(g, x)


class _Twice(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return _Sine.apply(x) * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


class _Nested(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return _Twice.apply(_Sine.apply(x)) * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * _Sine.apply(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("function", [_Sine, _Twice, _Nested])
def test_autograd_functions_that_call_others(function, backend):
    def f(x):
        return function.apply(x * 2) + x

    compiled = t.compile(f, backend=backend, fullgraph=True)
    x = t.linspace(-1, 1, 5).requires_grad_()
    for requires_grad in (True, False):
        x.requires_grad_(requires_grad)
        have, want = compiled(x), f(x)
        assert t.equal(have, want)
        if requires_grad:
            gradients = [t.autograd.grad(y.sum(), x)[0] for y in (have, want)]
            assert t.equal(*gradients)
