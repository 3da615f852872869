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
