"""Compiled programs hold the tensors inside of wrappers that can be taken apart."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from under_test import NAME, t

tree_map = importlib.import_module(f"{NAME}.utils._pytree").tree_map
tree_leaves = importlib.import_module(f"{NAME}.utils._pytree").tree_leaves
_python_dispatch = importlib.import_module(f"{NAME}.utils._python_dispatch")
aten = t.ops.aten
BACKENDS = ["aot_eager", "inductor"]


def values(*shape):
    shape = shape or (2, 3)
    count = t.Size(shape).numel()
    return (t.arange(count * 1.0) - count // 2).reshape(shape)


class Scaled(t.Tensor):
    """`values * factor`; views and products with numbers keep the class, others give numbers."""

    @staticmethod
    def __new__(cls, values, factor):
        return t.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), dtype=values.dtype
        )

    def __init__(self, values, factor):
        self.values, self.factor = values, factor

    def __tensor_flatten__(self):
        return ["values"], {"factor": self.factor}

    @classmethod
    def __tensor_unflatten__(cls, tensors, context, outer_size, outer_stride):
        return cls(tensors["values"], context["factor"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.mul.Tensor and not isinstance(args[1], t.Tensor):
            return cls(args[0].values, args[0].factor * args[1])
        if func is aten.mul_.Tensor and isinstance(args[0], Scaled):
            args[0].values.mul_(args[1])
            return args[0]
        if func in (aten.detach.default, aten.view.default, aten.t.default, aten.clone.default):
            out = cls(func(args[0].values, *args[1:]), args[0].factor)
            return _python_dispatch.return_and_correct_aliasing(func, args, kwargs, out)

        def plain(value):
            return value.values * value.factor if isinstance(value, Scaled) else value

        return func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))


class Two(t.Tensor):
    """Computes with two tensors at once."""

    @staticmethod
    def __new__(cls, a, b):
        return t.Tensor._make_wrapper_subclass(
            cls, a.shape, strides=a.stride(), storage_offset=a.storage_offset(), dtype=a.dtype
        )

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, outer_size, outer_stride):
        return Two(tensors["a"], tensors["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        a, b = (
            func(*tree_map(part, args), **tree_map(part, kwargs or {}))
            for part in (lambda v: getattr(v, "a", v), lambda v: getattr(v, "b", v))
        )
        out = tree_map(lambda x, y: cls(x, y) if isinstance(x, t.Tensor) else x, a, b)
        return _python_dispatch.return_and_correct_aliasing(func, args, kwargs or {}, out)


def shown(value):
    """What can be compared of a result."""
    if isinstance(value, Scaled):
        return "Scaled", shown(value.values), value.factor, value.requires_grad
    if isinstance(value, Two):
        return "Two", shown(value.a), shown(value.b), value.requires_grad
    if isinstance(value, t.Tensor):
        return type(value).__name__, value.tolist(), value.dtype, value.requires_grad
    return tree_map(shown, value) if isinstance(value, (tuple, list, dict)) else value


KINDS = {
    "scaled": lambda: Scaled(values(), 0.5),
    "two": lambda: Two(values(), values() * 3),
    "nested": lambda: Two(Scaled(values(), 0.5), Scaled(values() * 2, 0.25)),
    "inside": lambda: Scaled(Two(values(), values() + 1), 0.5),
}


def pointwise(x):
    return (x * 2 + 1).relu()


def several(x):
    return x * 2, x.sum(), [x.sin(), x.shape[0]]


def linear(x):
    return t.nn.functional.linear(t.ones(4, 3), x).sigmoid()


def views(x):
    return x.view(-1).exp(), x.t() * 3


def writes_inside(x):
    y = x + 1
    y.mul_(3)
    y[0] = 5.0
    return y


def classes(x):
    y = x * 2
    return type(y).__name__, isinstance(x + 1, (Scaled, Two)), (y + y).cos()


def parts(x):
    y = x * 2
    return (y.values * 3 if isinstance(y, Scaled) else y.a + y.b), x.cos()


def without_grad(x):
    with t.no_grad():
        y = x * 2
    return x + y, y


def makes(x):
    return Two(values(), values() * 2) * x, Scaled(t.ones(2, 3), 3.0) + 1


def mixed_with_plain(x):
    return x * t.ones(2, 3) + t.arange(3.0)


PROGRAMS = [pointwise, several, linear, views, writes_inside, classes, parts, without_grad]


@pytest.fixture
def taken_apart(monkeypatch):
    """Whether each graph with wrappers so far was compiled for the tensors inside."""
    inner = pytest.importorskip(f"{NAME}.compiler._inner_tensors")
    found = []

    def compile_inside(*args):
        made = original(*args)
        found.append(made is not None)
        return made

    original = inner.compile_inside
    monkeypatch.setattr(inner, "compile_inside", compile_inside)
    return found


@pytest.fixture
def by_operator(monkeypatch):
    """One entry for each backward that the compiled one does not serve."""
    training = pytest.importorskip(f"{NAME}.compiler._inner_tensors")._Training
    found = []

    def run(*args):
        found.append(True)
        return original(*args)

    original = training.by_operator
    monkeypatch.setattr(training, "by_operator", run)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", [*PROGRAMS, makes, mixed_with_plain])
def test_results_are_those_of_eager(program, kind, backend, taken_apart):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        given, other = KINDS[kind](), KINDS[kind]()
        assert shown(compiled(given)) == shown(program(other))
        assert shown(given) == shown(other)
    assert taken_apart == [True]


def with_gradients(function, *args):
    """Results, and gradients of the first argument, of all results that have some."""
    args[0].requires_grad_()
    results = function(*args)
    for y in tree_leaves(results):
        if isinstance(y, t.Tensor) and y.requires_grad:
            (y * 2).sum().backward(retain_graph=True)
    return shown(results), [shown(arg.grad) for arg in args if isinstance(arg, t.Tensor)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_eager(program, kind, backend, taken_apart):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        found = with_gradients(compiled, KINDS[kind]())
        assert found == with_gradients(program, KINDS[kind]())
    assert taken_apart == [True]


def new_reports(run):
    """Reports of the plans that are made meanwhile."""
    before = {*t._inductor._alive}
    run()
    return [report for made in {*t._inductor._alive} - before for report in made.report()]


def test_one_kernel(taken_apart):
    compiled = t.compile(pointwise, fullgraph=True)
    (report,) = new_reports(lambda: compiled(Scaled(values(), 0.5)))
    assert (report["kernels"], report["calls"]) == (1, 0)


def test_one_kernel_forward_and_one_backward(taken_apart):
    compiled = t.compile(pointwise, fullgraph=True)
    reports = new_reports(lambda: compiled(Scaled(values(), 0.5).requires_grad_()))
    assert [(report["kernels"], report["calls"]) for report in reports] == [(1, 0), (1, 0)]


def test_sizes_are_symbols_when_they_change(taken_apart):
    def batch(n):
        return Two(values(n, 3), values(n, 3) * 2)

    compiled = t.compile(linear, fullgraph=True)
    for n in range(2, 7):
        assert with_gradients(compiled, batch(n)) == with_gradients(linear, batch(n))
    assert taken_apart == [True, True]


def test_contexts_are_guarded(taken_apart):
    def factor(x):
        return x * 2

    compiled = t.compile(factor, fullgraph=True)
    for number in (0.5, 0.25, 0.5, 0.25):
        x = Scaled(values(), number)
        assert shown(compiled(x)) == shown(factor(x))
    assert taken_apart == [True, True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_reach_the_tensors_inside(backend, taken_apart):
    def program(x, y):
        x.add_(1)
        return x * y

    def run(function, share):
        a = values()
        x, y = Two(a, a + 1), Two(a if share else a * 2, a * 3)
        b = x.b
        return shown(function(x, y)), shown(x), shown(y), b is x.b, shown(b)

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for share in (True, False):
        assert run(compiled, share) == run(program, share)
    assert taken_apart == [True, True]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wanted", [False, True])
def test_results_share_the_memory_inside(backend, wanted, taken_apart):
    def double(x):
        return x * 2

    x = Scaled(values(), 0.5).requires_grad_(wanted)
    y = t.compile(double, backend=backend, fullgraph=True)(x)
    y.values.add_(1)
    assert x.values.tolist() == (values() + 1).tolist()
    assert taken_apart == [True]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_without_gradient(backend, kind, taken_apart, by_operator):
    """The first backward is autograd's, later ones are compiled for what it was given."""

    def program(x):
        return x * 2 + 1, x.sin()

    def run(function):
        x = KINDS[kind]().requires_grad_()
        first, second = function(x)
        first.sum().backward()
        return shown((first, second, x.grad))

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        assert run(compiled) == run(program)
    assert taken_apart == [True] and by_operator == [True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_another_class(backend, taken_apart, by_operator):
    def program(x):
        return (x * x).sin()

    def run(function):
        x = KINDS["two"]().requires_grad_()
        function(x).backward(t.ones(2, 3) * 2)
        return shown(x.grad)

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        assert run(compiled) == run(program)
    assert taken_apart == [True] and by_operator == [True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_gradients(backend, taken_apart):
    def program(x):
        return (x * x).sin()

    def run(function):
        x = KINDS["two"]().requires_grad_()
        y = function(x)
        (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
        (first * first).sum().backward()
        return shown((first, x.grad))

    assert run(t.compile(program, backend=backend, fullgraph=True)) == run(program)
    assert taken_apart == [True]


def test_random_numbers_of_a_backward_by_operator():
    def program(x):
        return t.nn.functional.dropout(x * 2, 0.5), x * 3

    def run(function):
        t.manual_seed(0)
        x = KINDS["two"]().requires_grad_()
        first, _ = function(x)
        first.sum().backward()
        return shown((first, x.grad)), t.rand(1).item()

    compiled = t.compile(program, backend="aot_eager", fullgraph=True)
    for _ in range(2):
        assert run(compiled) == run(program)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_and_histories(backend, taken_apart):
    def run(function):
        seen = []
        x = KINDS["two"]().requires_grad_()
        middle = x * 3
        middle.retain_grad()
        y = function(middle)
        y.register_hook(lambda grad: seen.append(shown(grad)) or grad * 2)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return shown((y, x.grad, middle.grad)), seen

    assert run(t.compile(pointwise, backend=backend, fullgraph=True)) == run(pointwise)
    assert taken_apart == [True]


@pytest.mark.parametrize("kind", KINDS)
def test_autocast(kind, taken_apart):
    def run(function):
        x = KINDS[kind]().requires_grad_()
        with t.autocast("cpu", dtype=t.bfloat16):
            y = function(x)
        y.sum().backward()
        return shown((y, x.grad))

    assert run(t.compile(linear, fullgraph=True)) == run(linear)
    assert taken_apart == [True]


class Normalized(t.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.weight = t.nn.Parameter(KINDS[kind]())
        self.norm = t.nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(t.nn.functional.linear(x, self.weight)).relu()


@pytest.mark.parametrize("backend", BACKENDS)
def test_statistics_are_written_in_training(backend, taken_apart):
    def run(compiles):
        module = Normalized("scaled")
        call = t.compile(module, backend=backend, fullgraph=True) if compiles else module
        optimizer = t.optim.SGD(module.norm.parameters(), lr=0.1)
        for _ in range(3):
            call(values(4, 3).sin()).sum().backward()
            optimizer.step()
        state = {name: value.tolist() for name, value in module.norm.state_dict().items()}
        return state, module.weight.grad.tolist()

    assert run(True) == run(False)
    assert taken_apart == [True]


def test_parameters_are_trained(taken_apart):
    def run(compiles):
        module = t.nn.Linear(3, 2)
        module.weight = t.nn.Parameter(KINDS["two"]())
        module.bias = t.nn.Parameter(t.ones(2))
        call = t.compile(module, fullgraph=True) if compiles else module
        optimizer = t.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            call(values(4, 3).sin()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return shown(module.weight)

    assert run(True) == run(False)
    assert taken_apart == [True]


class Quantized(t.Tensor):
    """A weight of int8 numbers with a scale per row; an autograd Function is its linear."""

    @staticmethod
    def __new__(cls, numbers, scale):
        return t.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scale.dtype)

    def __init__(self, numbers, scale):
        self.numbers, self.scale = numbers, scale

    def __tensor_flatten__(self):
        return ["numbers", "scale"], []

    @classmethod
    def __tensor_unflatten__(cls, tensors, context, outer_size, outer_stride):
        return cls(tensors["numbers"], tensors["scale"])

    def dequantize(self):
        return self.numbers.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is t.nn.functional.linear:
            return QuantizedLinear.apply(*args)
        with t._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        assert func is aten.detach.default
        out = cls(args[0].numbers.detach(), args[0].scale.detach())
        return _python_dispatch.return_and_correct_aliasing(func, args, kwargs or {}, out)


class QuantizedLinear(t.autograd.Function):
    """Its gradient of the weight is that of the float weight."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.dequantize().t() + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.dequantize(), grad.t() @ x, grad.sum(0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_trained", [False, True])
def test_functions_that_look_inside_of_wrappers(is_trained, backend, taken_apart):
    def run(compiles):
        weight = Quantized((values(2, 3) * 9).to(t.int8), t.full((2, 1), 0.125))
        module = t.nn.Linear(3, 2)
        module.weight = t.nn.Parameter(weight, requires_grad=is_trained)
        module.bias = t.nn.Parameter(t.ones(2))
        call = t.compile(module, backend=backend, fullgraph=True) if compiles else module
        x = values(4, 3).requires_grad_()
        y = call(x)
        (y * y).sum().backward()
        return shown((y, x.grad, module.weight.grad, module.bias.grad))

    assert run(True) == run(False)
    assert taken_apart == [True]


class Masked(t.Tensor):
    """Computes where its mask holds."""

    @staticmethod
    def __new__(cls, data, mask):
        return t.Tensor._make_wrapper_subclass(
            cls, data.shape, strides=data.stride(), dtype=data.dtype
        )

    def __init__(self, data, mask):
        self.data_inside, self.mask = data, mask

    def __tensor_flatten__(self):
        return ["data_inside", "mask"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, outer_size, outer_stride):
        return Masked(tensors["data_inside"], tensors["mask"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        mask, *others = [arg.mask for arg in args if isinstance(arg, Masked)]
        for other in others:
            mask = mask & other

        def plain(value):
            return (
                t.where(value.mask, value.data_inside, 0.0) if isinstance(value, Masked) else value
            )

        out = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
        return cls(out, mask) if out.shape == mask.shape else out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("both", [False, True])
def test_masks(both, backend, taken_apart):
    def program(a, b):
        c = (a * b + a).tanh()
        return c, c.sum(), (c * b).mean()

    def seen(x):
        return x if x is None else (x.data_inside.tolist(), x.mask.tolist(), x.requires_grad)

    def run(function):
        a = Masked(values(), values() > 0).requires_grad_()
        b = Masked(values().cos(), values() < 2).requires_grad_(both)
        c, total, mean = function(a, b)
        (total + mean).backward()
        return seen(c), total.item(), mean.item(), seen(a.grad), seen(b.grad)

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        assert run(compiled) == run(program)
    assert taken_apart == [True]


# ---- what stays as it is ----


class Growing(Scaled):
    """Its factor is written by products in place."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.mul_.Tensor:
            args[0].factor *= args[1]
            return args[0]
        return super().__torch_dispatch__(func, types, args, kwargs)


class Noted(Scaled):
    """Writes down the operators it sees."""

    seen = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_dispatch__(func, types, args, kwargs)


def compare(program, make, backend, also=lambda x: None):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    for _ in range(2):
        given, other = make(), make()
        found = shown(compiled(given)), shown(given), also(given)
        assert found == (shown(program(other)), shown(other), also(other))


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_to_attributes(backend, taken_apart):
    def program(x):
        x.mul_(2)
        return x + 1

    compare(program, lambda: Growing(values(), 0.5), backend)
    assert True not in taken_apart


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_that_handlers_fill(backend, taken_apart):
    def seen(_):
        found = [*Noted.seen]
        Noted.seen.clear()
        return found

    compare(pointwise, lambda: Noted(values(), 0.5), backend, seen)
    assert True not in taken_apart


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_that_the_methods_do_not_tell(backend, taken_apart):
    def make():
        x = Scaled(values(), 0.5)
        x.more = 3
        return x

    compare(lambda x: x * x.more, make, backend)
    assert taken_apart == [False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_of_results(backend, taken_apart):
    def program(x):
        y = x * 2
        y.note = 5
        return y

    y = t.compile(program, backend=backend, fullgraph=True)(Scaled(values(), 0.5))
    assert y.note == 5
    assert taken_apart == [False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_of_inputs_in_training(backend, taken_apart):
    def flat(x):
        return x.view(-1)

    compiled = t.compile(flat, backend=backend, fullgraph=True)
    x = Scaled(values(), 0.5).requires_grad_()
    assert compiled(x)._is_view() and compiled(x)._base is x
    assert taken_apart == [False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_to_inputs_in_training(backend, taken_apart):
    def program(x):
        x.mul_(2)
        return x.sin()

    def run(function):
        x = KINDS["two"]().requires_grad_()
        middle = x * 1
        function(middle).sum().backward()
        return shown((middle, x.grad))

    assert run(t.compile(program, backend=backend, fullgraph=True)) == run(program)
    assert taken_apart == [False]


# ---- beside PyTorch ----


def rounded(value):
    if isinstance(value, (tuple, list)):
        return [rounded(item) for item in value]
    return round(value, 5) if isinstance(value, float) else str(value).replace("torch.", "")


def all_in_eager():
    """Of every program and kind; this file on PyTorch prints it."""
    return {
        f"{program.__name__} {kind}": rounded(with_gradients(program, KINDS[kind]()))
        for program in PROGRAMS
        for kind in KINDS
    }


def test_same_as_in_pytorch(torch):
    code = "import test_compile_inner_tensors as m; m.json.dump(m.all_in_eager(), m.sys.stdout)"
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "TAEDA_TEST_MODULE": "torch", "PYTHONPATH": folder}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    wanted = json.loads(done.stdout)
    for program in PROGRAMS:
        compiled = t.compile(program, fullgraph=True)
        for kind in KINDS:
            found = rounded(with_gradients(compiled, KINDS[kind]()))
            assert str(found).replace(f"{NAME}.", "") == str(wanted[f"{program.__name__} {kind}"])
