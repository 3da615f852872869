"""Custom operators: what is refused, with which words, and writes that need no fake kernel."""

import importlib
from collections.abc import Sequence

import pytest
from under_test import NAME, t

library = importlib.import_module(f"{NAME}.library")
functionalize = importlib.import_module(f"{NAME}.func").functionalize
Tensor = t.Tensor


def test_lists_of_numbers_of_any_kind():
    @library.custom_op("test_refuse::weighted", mutates_args=())
    def weighted(x: Tensor, by: Sequence[int | float | bool]) -> Tensor:
        return x * sum(by)

    assert str(weighted._opoverload._schema).endswith("weighted(Tensor x, Scalar[] by) -> Tensor")
    assert weighted(t.ones(2), [1, 0.5, True]).tolist() == [2.5, 2.5]


def test_tuples_of_arguments_get_advice():
    def f(x: tuple[int, int]) -> Tensor: ...

    with pytest.raises(
        ValueError, match=r"please try to use List instead. For example, list\[int\]"
    ):
        library.infer_schema(f, mutates_args=())


def test_keyword_only_tensors_are_refused():
    def f(x: Tensor, *, w: Tensor) -> Tensor: ...

    with pytest.raises(NotImplementedError, match="custom_op with kwarg-only Tensor args"):
        library.custom_op("test_refuse::keyword", mutates_args=())(f)


def test_a_device_needs_something_that_has_one():
    def f(n: int) -> Tensor: ...

    with pytest.raises(ValueError, match="Functions without tensor inputs are required to have a"):
        library.custom_op("test_refuse::factory", mutates_args=(), device_types="cpu")(f)

    @library.custom_op("test_refuse::made", mutates_args=(), device_types="cpu")
    def made(n: int, device: t.device) -> Tensor:
        return t.ones(n, device=device)

    assert made(2, device=t.device("cpu")).tolist() == [1.0, 1.0]


def test_calls_with_wrong_numbers_of_arguments():
    @library.custom_op("test_refuse::one", mutates_args=())
    def one(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(
        RuntimeError, match=r"one\(\) expected at most 1 argument\(s\) but received 2"
    ):
        one(t.ones(1), t.ones(1))
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        one(y=t.ones(1))


def test_a_write_without_results_needs_no_fake_kernel():
    lib = library.Library("test_write", "FRAGMENT")
    lib.define("add_into(Tensor x, Tensor(a!) out) -> ()")

    def add_into(x, out):
        out.add_(x)

    lib.impl("add_into", add_into, "CPU")
    op = t.ops.test_write.add_into

    def f(x, out):
        parts = out * 2
        op(x, parts[0])
        return parts + 1

    x, out = t.ones(2), t.zeros(3, 2)
    assert set(library.opcheck(op.default, (x, t.zeros(2))).values()) == {"SUCCESS"}
    if NAME == "taeda":  # PyTorch does this under torch.compile only
        assert t.equal(functionalize(f)(x, out), f(x, out))
    lib._destroy()


def test_older_names_say_so():
    with pytest.warns(FutureWarning, match="was renamed to `torch.library.register_fake`"):
        library.impl_abstract("aten::sin")


def test_autocast_takes_the_name_of_a_device():
    @library.custom_op("test_refuse::cast", mutates_args=())
    def cast(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        cast.register_autocast(3, t.bfloat16)


def test_what_returns_nothing_returns_none():
    @library.custom_op("test_refuse::nothing", mutates_args={"x"})
    def nothing(x: Tensor) -> None:
        return x.clone()

    with pytest.raises(RuntimeError, match="to return None but it returned something else"):
        nothing(t.ones(2))


def test_a_number_is_no_tensor():
    @library.custom_op("test_refuse::copied", mutates_args=())
    def copied(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="a value of type 'Tensor' for argument 'x' but instead"):
        copied(3)


def test_strings_may_hold_what_schemas_are_made_of():
    @library.custom_op("test_refuse::joined", mutates_args=())
    def joined(x: Tensor, by: str = "a, (b)", n: int = 2) -> Tensor:
        return x.new_full((n,), len(by))

    assert joined(t.ones(1)).tolist() == [6.0, 6.0]
    assert joined(t.ones(1), n=True).tolist() == [6.0]


@pytest.mark.parametrize("given", [lambda g: g, lambda g: (g,)])
def test_gradients_are_as_many_as_arguments(given):
    @library.custom_op("test_refuse::counted", mutates_args=())
    def counted(x: Tensor, y: Tensor, n: int) -> Tensor:
        return x * y

    counted.register_autograd(lambda ctx, g: given(g))
    z = counted(t.ones(2, requires_grad=True), t.ones(2), 1)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        z.sum().backward()


def test_a_number_has_no_gradient():
    @library.custom_op("test_refuse::scaled", mutates_args=())
    def scaled(x: Tensor, n: int) -> Tensor:
        return x * n

    scaled.register_autograd(lambda ctx, g: (g, g))
    with pytest.raises(RuntimeError, match="returned a gradient different than None at position"):
        scaled(t.ones(2, requires_grad=True), 1).sum().backward()
