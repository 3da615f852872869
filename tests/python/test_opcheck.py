"""opcheck: what a wrong registration looks like."""

import importlib
import itertools

import pytest
from under_test import NAME, t

library = importlib.import_module(f"{NAME}.library")
opcheck = library.opcheck
Tensor = t.Tensor
_names = (f"opcheck_test::op{i}" for i in itertools.count())


def copy(x: Tensor) -> Tensor:
    return x.clone()


def make(fn=copy, fake=None, **options):
    op = library.custom_op(next(_names), mutates_args=(), **options)(fn)
    op.register_fake(fake or (lambda x: t.empty_like(x)))
    return op


def problem(op, *args, test):
    """The message of the one test that must fail."""
    results = opcheck(op, args, test_utils=test, raise_exception=False)
    assert results[test] != "SUCCESS", results
    return str(results[test])


def test_a_right_operator_passes():
    op = make()
    op.register_autograd(lambda ctx, g: g)
    results = opcheck(op, (t.randn(2, 3, requires_grad=True),))
    assert set(results.values()) == {"SUCCESS"}
    assert list(results) == [
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ]
    assert set(opcheck(t.ops.aten.sin.default, (t.randn(2),)).values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        (lambda x: x.new_empty(5), r"Shapes .*Size\(\[2, 2\]\) and .*Size\(\[5\]\) are not equal"),
        (lambda x: x.new_empty(2, 2, dtype=t.int32), "Dtypes torch.float32 and torch.int32 are"),
        (lambda x: x.new_empty(2, 2).t(), r"Strides are \(2, 1\) and \(1, 2\) \(mismatched at 0"),
    ],
)
def test_a_fake_kernel_that_lies_is_caught(fake, message):
    import re

    assert re.search(message, problem(make(fake=fake), t.ones(2, 2), test="test_faketensor"))


def test_an_undeclared_write_is_caught():
    def add_one(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    with pytest.raises(Exception, match="Argument x is not defined as mutable but was mutated"):
        opcheck(make(add_one), (t.ones(2),))


@pytest.fixture
def lib():
    made = library.Library("opcheck_lib", "FRAGMENT")
    yield made
    made._destroy()


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x: x[:1]])
def test_an_undeclared_alias_is_caught(lib, kernel):
    lib.define("alias(Tensor x) -> Tensor")
    lib.impl("alias", kernel, "CPU")
    message = problem(t.ops.opcheck_lib.alias.default, t.ones(2), test="test_schema")
    assert message == "Argument x is not defined to alias output but was aliasing"


def test_a_derivative_at_the_wrong_key_is_caught(lib):
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x * 2, "CPU")
    message = problem(
        t.ops.opcheck_lib.double.default,
        t.ones(2, requires_grad=True),
        test="test_autograd_registration",
    )
    assert "does not have an autograd kernel defined at an autograd key" in message


def test_a_missing_derivative_is_caught():
    message = problem(make(), t.ones(2, requires_grad=True), test="test_aot_dispatch_dynamic")
    assert "no autograd formula was registered" in message


def test_a_missing_fake_kernel_is_caught():
    op = library.custom_op(next(_names), mutates_args=())(copy)
    assert "no fake impl registered" in problem(op, t.ones(2), test="test_faketensor")


def test_unknown_tests_are_refused():
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        opcheck(make(), (t.ones(2),), test_utils="test_everything")


# ---- fake kernels that lie in other ways ----
@pytest.mark.parametrize(
    "fake",
    [
        lambda x: x,
        lambda x: x.view(-1).view(x.shape),
        lambda x: t.empty_like(x).requires_grad_(),
        lambda x: t.empty(x.shape, device="meta"),
        lambda x: x.new_empty(3, 2)[1:],
    ],
    ids=["the argument", "a view", "requires grad", "device", "offset"],
)
def test_a_fake_result_is_what_the_real_one_is(fake):
    message = problem(make(fake=fake), t.ones(2, 2), test="test_faketensor")
    if NAME == "taeda":  # PyTorch has other words for aliases
        assert "on FakeTensor and concrete Tensors, found mismatched tensor metadata" in message


@pytest.mark.parametrize(
    "fake",
    [
        lambda x: x.new_empty((library.get_ctx().new_dynamic_size(), 3), dtype=t.int64),
        lambda x: x.new_empty((library.get_ctx().new_dynamic_size(), 2)),
    ],
    ids=["another size", "dtype"],
)
def test_what_is_known_beside_a_size_from_data_is_compared(fake):
    def places(x: Tensor) -> Tensor:
        return x.nonzero().contiguous()

    assert "mismatched" in problem(make(places, fake), t.ones(2, 2), test="test_faketensor")


def test_numbers_and_counts_of_results_are_compared():
    def pair(x: Tensor) -> tuple[Tensor, int]:
        return x.clone(), 3

    def several(x: Tensor) -> list[Tensor]:
        return [x.clone(), x.clone()]

    wrong_number = make(pair, lambda x: (t.empty_like(x), 4))
    results = opcheck(wrong_number, (t.ones(2),), raise_exception=False)
    assert set(results.values()) != {"SUCCESS"}
    wrong_count = make(several, lambda x: [t.empty_like(x)])
    results = opcheck(wrong_count, (t.ones(2),), raise_exception=False)
    for test in ("test_faketensor", "test_aot_dispatch_dynamic"):
        assert isinstance(results[test], (AssertionError, RuntimeError))


# ---- formulas ----
@pytest.mark.parametrize(
    "backward",
    [
        lambda ctx, g: g.sum(),
        lambda ctx, g: (g, g),
        lambda ctx, g: t.from_numpy(g.numpy() * 2),
        lambda ctx, g: t.ones(3),
    ],
    ids=["shape", "count", "not traceable", "another shape"],
)
def test_a_wrong_derivative_is_caught(backward):
    op = make()
    op.register_autograd(backward)
    x = t.ones(2, 2, requires_grad=True)
    assert problem(op, x, test="test_aot_dispatch_dynamic")


def test_a_result_that_depends_on_the_calls_before_is_caught():
    calls = []

    def count(x: Tensor) -> Tensor:
        calls.append(0)
        return x + len(calls)

    assert problem(make(count), t.ones(2), test="test_aot_dispatch_dynamic")


def test_random_numbers_are_no_difference():
    def noisy(x: Tensor) -> Tensor:
        return x + t.rand_like(x)

    op = make(noisy)
    op.register_autograd(lambda ctx, g: g)
    t.manual_seed(5)
    state = t.get_rng_state()
    results = opcheck(op, (t.ones(2, requires_grad=True),), test_utils="test_aot_dispatch_dynamic")
    assert set(results.values()) == {"SUCCESS"}
    if NAME == "taeda":  # PyTorch draws
        assert t.equal(t.get_rng_state(), state)


def test_an_operator_with_overloads_needs_one():
    with pytest.raises(RuntimeError, match="can only test operators without overloads"):
        opcheck(t.ops.aten.sin, (t.ones(2),))
