"""custom_op: schemas from annotations, kernels by device, autograd, vmap, modes."""

import importlib
import itertools
import warnings
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035 (the forms under test)

import pytest
from under_test import NAME, t

library = importlib.import_module(f"{NAME}.library")
modes = importlib.import_module(f"{NAME}.utils._python_dispatch")
gradcheck = importlib.import_module(f"{NAME}.autograd").gradcheck
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch does otherwise")
Tensor = t.Tensor
_names = (f"custom_op_test::op{i}" for i in itertools.count())


def make(fn, mutates_args=(), **options):
    """An operator with a name of its own."""
    return library.custom_op(next(_names), mutates_args=mutates_args, **options)(fn)


def copy(x: Tensor) -> Tensor:
    return x.clone()


def scale(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by


def scaled_with_gradient():
    op = make(scale)

    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1]

    op.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=setup_context)
    return op


# ---- schemas ----
@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Tensor, "Tensor x"),
        (Optional[Tensor], "Tensor? x"),  # noqa: UP045
        (Tensor | None, "Tensor? x"),
        (Sequence[Tensor], "Tensor[] x"),
        (List[Tensor], "Tensor[] x"),  # noqa: UP006
        (list[Optional[Tensor]], "Tensor?[] x"),  # noqa: UP045
        (int, "SymInt x"),
        (Optional[int], "SymInt? x"),  # noqa: UP045
        (Sequence[int], "SymInt[] x"),
        (Optional[Sequence[int]], "SymInt[]? x"),  # noqa: UP045
        (float, "float x"),
        (list[float], "float[] x"),
        (bool, "bool x"),
        (list[bool], "bool[] x"),
        (str, "str x"),
        (Union[int, float, bool], "Scalar x"),  # noqa: UP007
        (t.dtype, "ScalarType x"),
        (t.device, "Device x"),
    ],
)
def test_annotations_become_types(annotation, text):
    def f(x):
        pass

    f.__annotations__ = {"x": annotation, "return": None}
    assert library.infer_schema(f, mutates_args=()) == f"({text}) -> ()"


def test_defaults_keyword_only_arguments_and_results_are_in_the_schema():
    def f(
        x: Tensor,
        n: int = 3,
        s: str = "a",
        f: float = 1.0,
        b: bool = True,
        d: t.dtype = t.float32,
        o: Optional[Tensor] = None,  # noqa: UP045
        v: t.device = t.device("cpu"),
        *,
        k: int,
    ) -> Tuple[Tensor, int]:  # noqa: UP006
        pass

    assert library.infer_schema(f, mutates_args=(), op_name="op") == (
        'op(Tensor x, SymInt n=3, str s="a", float f=1.0, bool b=True, ScalarType d=float32, '
        'Tensor? o=None, Device v="cpu", *, SymInt k) -> (Tensor, SymInt)'
    )


def test_written_arguments_are_marked():
    def f(x: Tensor, y: list[Tensor], z: Tensor | None = None) -> None:
        pass

    assert library.infer_schema(f, mutates_args={"y", "z"}) == (
        "(Tensor x, Tensor(a1!)[] y, Tensor(a2!)? z=None) -> ()"
    )
    assert library.infer_schema(f, mutates_args="unknown") == (
        "(Tensor(a0!) x, Tensor(a1!)[] y, Tensor(a2!)? z=None) -> ()"
    )


def unannotated(x):
    pass


def of_dict(x: dict) -> Tensor:
    pass


def without_result(x: Tensor):
    pass


def returns_dict(x: Tensor) -> dict:
    pass


def variadic(*x: Tensor) -> Tensor:
    pass


def of_number(x: Tensor, n: int) -> Tensor:
    pass


def of_tuple_default(x: Tensor, n: Sequence[int] = (1, 2)) -> Tensor:
    pass


@pytest.mark.parametrize(
    ("fn", "mutates_args", "message"),
    [
        (unannotated, (), "Parameter x must have a type annotation"),
        (of_dict, (), "Parameter x has unsupported type <class 'dict'>"),
        (without_result, (), "No return type annotation was provided"),
        (returns_dict, (), "Return has unsupported type <class 'dict'>"),
        (variadic, (), "We do not support positional-only args, varargs, or varkwargs"),
        (of_number, {"q"}, "in mutates_args were not found in the custom op's signature"),
        (of_number, {"n"}, "only Tensors or collections of Tensors can be mutated"),
        (of_number, "x", "mutates_args must either be a sequence"),
        (of_tuple_default, (), "Parameter n has an unsupported default value type"),
    ],
)
def test_what_has_no_schema_is_refused(fn, mutates_args, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        library.infer_schema(fn, mutates_args=mutates_args)


def test_a_schema_must_agree_with_mutates_args():
    with pytest.raises(ValueError, match="Please make these consistent"):
        make(copy, schema="(Tensor(a!) x) -> Tensor")


def test_a_name_needs_a_namespace():
    with pytest.raises(ValueError, match='"namespace::name"'):
        library.custom_op("copy", mutates_args=())(copy)


# ---- calls ----
def test_an_operator_is_called_by_its_object_and_by_name():
    op = library.custom_op("custom_op_test::named", mutates_args=())(scale)
    x = t.ones(3)
    assert op(x, 3.0).tolist() == [3.0] * 3
    assert op(x, by=4.0).tolist() == [4.0] * 3
    assert t.ops.custom_op_test.named(x).tolist() == [2.0] * 3
    assert t.ops.custom_op_test.named.default(x, by=5.0).tolist() == [5.0] * 3
    assert repr(op) == "<CustomOpDef(custom_op_test::named)>"
    assert str(op._opoverload._schema).startswith("custom_op_test::named(Tensor x, float by=2.")
    assert t.Tag.pt2_compliant_tag in op._opoverload.tags


def test_tags_are_kept():
    op = make(copy, tags=[t.Tag.needs_fixed_stride_order, t.Tag.flexible_layout])
    assert {t.Tag.needs_fixed_stride_order, t.Tag.flexible_layout} <= set(op._opoverload.tags)


def test_arguments_of_every_kind_arrive():
    seen = []

    def f(
        x: Tensor,
        xs: list[Tensor],
        o: Tensor | None,
        n: int,
        v: float,
        b: bool,
        s: str,
        ns: Sequence[int],
        d: t.dtype,
        *,
        k: int = 7,
    ) -> Tuple[Tensor, int]:  # noqa: UP006
        seen.append((len(xs), o, n, v, b, s, list(ns), d, k))
        return x.clone(), n

    op = make(f)
    out, n = op(t.ones(1), [t.ones(1)] * 2, None, 3, 0.5, True, "s", (1, 2), t.int64, k=8)
    assert seen == [(2, None, 3, 0.5, True, "s", [1, 2], t.int64, 8)]
    assert n == 3


def test_results_may_be_lists_and_nothing():
    def halves(x: Tensor) -> list[Tensor]:
        return [x[:1].clone(), x[1:].clone()]

    def nothing(x: Tensor) -> None:
        return None

    a, b = make(halves)(t.arange(2.0))
    assert (a.item(), b.item()) == (0, 1)
    assert make(nothing)(t.ones(1)) is None


def test_a_wrong_result_is_an_error():
    def number(x: Tensor) -> Tensor:
        return 3

    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        make(number)(t.ones(1))


def test_a_wrong_argument_is_an_error():
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x'"):
        make(copy)("x")


def same(x: Tensor) -> Tensor:
    return x


def view(x: Tensor) -> Tensor:
    return x[:1]


def one_twice(x: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
    y = x.clone()
    return y, y


@pytest.mark.parametrize("fn", [same, view, one_twice])
def test_a_result_that_aliases_is_an_error(fn):
    with pytest.raises(RuntimeError, match="may not alias any inputs to this custom operator"):
        make(fn)(t.ones(2))


def test_errors_of_the_function_come_through():
    def fails(x: Tensor) -> Tensor:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        make(fails)(t.ones(1))


def test_a_second_definition_replaces_the_first():
    name = next(_names)
    first = library.custom_op(name, mutates_args=())(copy)
    second = library.custom_op(name, mutates_args=())(scale)
    assert second(t.ones(1)).item() == 2
    assert getattr(t.ops.custom_op_test, name.split("::")[1])(t.ones(1), 3.0).item() == 3
    del first


# ---- kernels by device ----
def test_a_kernel_for_a_device_replaces_the_function_there():
    op = make(copy)
    op.register_kernel("cpu")(lambda x: x + 1)
    assert op(t.ones(1)).item() == 2
    with op.set_kernel_enabled("cpu", False):
        assert op(t.ones(1)).item() == 1
    assert op(t.ones(1)).item() == 2


def test_an_operator_may_be_limited_to_devices():
    op = make(copy, device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'custom_op_test::"):
        op(t.ones(1))


def test_an_unknown_device_is_an_error():
    with pytest.raises(RuntimeError, match="device type at start of device string: nowhere"):
        make(copy, device_types="nowhere")


@only_taeda
def test_a_kernel_that_cannot_take_the_arguments_is_refused():
    op = make(scale)
    with pytest.raises(ValueError, match="cannot take the arguments of custom_op_test::"):
        op.register_kernel("cpu", lambda x: x)
    with pytest.raises(ValueError, match="cannot take the arguments of custom_op_test::"):
        op.register_fake(lambda: None)


# ---- fake kernels ----
def test_a_fake_kernel_runs_for_meta_tensors():
    op = make(copy)
    op.register_fake(lambda x: t.empty_like(x))
    out = op(t.empty(2, 3, device="meta"))
    assert out.shape == (2, 3) and out.device.type == "meta"


def test_without_a_fake_kernel_meta_tensors_are_refused():
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        make(copy)(t.empty(2, device="meta"))


def test_the_context_of_a_meta_kernel_has_no_dynamic_sizes():
    op = make(copy)
    op.register_fake(lambda x: library.get_ctx().new_dynamic_size() and x)
    with pytest.raises(RuntimeError, match="Meta Tensors don't support operators with outputs"):
        op(t.empty(2, device="meta"))


# ---- autograd ----
def test_backward_runs_the_registered_formula():
    op = scaled_with_gradient()
    x = t.ones(3, requires_grad=True)
    y = op(x, 3.0)
    assert type(y.grad_fn).__name__.startswith("GeneratedBackwardFor_custom_op_test_op")
    y.sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_backward_without_a_formula_is_an_error():
    y = make(copy)(t.ones(3, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


def test_a_formula_may_save_tensors_and_be_differentiated_twice():
    def cube(x: Tensor) -> Tensor:
        return x**3

    op = make(cube)
    op.register_autograd(
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = t.tensor([0.5, -1.5], dtype=t.float64, requires_grad=True)
    assert gradcheck(op, (x,))
    (g,) = t.autograd.grad(op(x).sum(), x, create_graph=True)
    (gg,) = t.autograd.grad(g.sum(), x)
    assert t.allclose(gg, 6 * x)


def test_a_formula_sees_lists_and_which_inputs_need_a_gradient():
    seen = []

    def sums(xs: list[Tensor], n: int) -> list[Tensor]:
        return [x * n for x in xs]

    op = make(sums)

    def backward(ctx, grads):
        seen.append((ctx.needs_input_grad, len(grads)))
        return [g * ctx.n for g in grads], None

    def setup_context(ctx, inputs, output):
        ctx.n = inputs[1]
        assert len(inputs[0]) == len(output) == 2

    op.register_autograd(backward, setup_context=setup_context)
    x, y = t.ones(2, requires_grad=True), t.ones(2)
    outputs = op([x, y], 5)
    outputs[0].sum().backward()
    assert x.grad.tolist() == [5.0] * 2
    assert seen == [(([True, False], False), 2)]


def test_a_formula_that_returns_another_structure_is_an_error():
    def sums(xs: list[Tensor]) -> Tensor:
        return xs[0] + xs[1]

    op = make(sums)
    op.register_autograd(lambda ctx, g: g)
    y = op([t.ones(2, requires_grad=True), t.ones(2)])
    with pytest.raises(RuntimeError, match="to be of the same structure as the inputs"):
        y.sum().backward()


def test_keyword_only_arguments_come_apart():
    seen = []

    def f(x: Tensor, *, k: float = 4.0) -> Tensor:
        return x * k

    op = make(f)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs))
        ctx.k = keyword_only_inputs["k"]

    op.register_autograd(lambda ctx, g: g * ctx.k, setup_context=setup_context)
    x = t.ones(1, requires_grad=True)
    op(x, k=3.0).backward()
    assert x.grad.item() == 3 and seen == [(1, {"k": 3.0})]


def test_results_without_gradients_pass_through():
    def f(x: Tensor) -> Tuple[Tensor, Tensor, int]:  # noqa: UP006
        return x * 2, x.argmax(), 5

    op = make(f)
    op.register_autograd(lambda ctx, g, unused, n: g * 2)
    x = t.ones(2, requires_grad=True)
    y, index, n = op(x)
    assert n == 5 and not index.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_nothing_is_recorded_inside_the_function():
    seen = []

    def f(x: Tensor) -> Tensor:
        seen.append((x * 2).requires_grad)
        return x * 2

    make(f)(t.ones(1, requires_grad=True))
    assert seen == [False]


def test_an_operator_that_writes_has_no_formula():
    def write(x: Tensor) -> None:
        x.sin_()

    op = make(write, mutates_args={"x"})
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional"):
        op.register_autograd(lambda ctx, g: g)


def test_an_operator_that_writes_marks_it():
    def write(x: Tensor, by: float) -> None:
        x.detach().numpy()[:] = by

    op = make(write, mutates_args={"x"})
    x = t.ones(2)
    before = x._version
    op(x, 4.0)
    assert x.tolist() == [4.0, 4.0] and x._version == before + 1
    assert op(t.ones(2, device="meta"), 4.0) is None  # a fake kernel is implied
    a = t.ones(2, requires_grad=True)
    b = a * 1
    loss = (b * b).sum()
    op(b.detach(), 3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@only_taeda
def test_forward_mode_is_refused():
    op = scaled_with_gradient()
    with pytest.raises(NotImplementedError, match="implement the jvp"):
        t.func.jvp(lambda x: op(x), (t.ones(2),), (t.ones(2),))


# ---- transforms and modes ----
def test_vmap_runs_the_registered_rule():
    seen = []
    op = scaled_with_gradient()

    @op.register_vmap
    def rule(info, in_dims, x, by):
        seen.append((info.batch_size, info.randomness, in_dims, by))
        return op(x, by), in_dims[0]

    x = t.arange(6.0).reshape(2, 3)
    assert t.equal(t.vmap(lambda v: op(v, 3.0), in_dims=1)(x), (x * 3).T)
    assert seen == [(3, "error", (1, None), 3.0)]


def test_vmap_rules_get_lists():
    def total(xs: list[Tensor]) -> Tensor:
        return xs[0] + xs[1]

    op = make(total)
    op.register_vmap(lambda info, in_dims, xs: (op([xs[0], xs[1]]), in_dims[0][0]))
    x = t.arange(6.0).reshape(2, 3)
    assert t.equal(t.vmap(lambda v: op([v, t.ones(3)]))(x), x + 1)


def test_vmap_without_a_rule_goes_over_the_examples():
    op = make(copy)
    x = t.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings(record=True):
        assert t.equal(t.vmap(op)(x), x)


def test_vmap_over_a_write_needs_a_rule():
    def write(x: Tensor) -> None:
        x.sin_()

    op = make(write, mutates_args={"x"})
    with pytest.raises(RuntimeError, match="the fallback path doesn't work on out= or view ops"):
        t.vmap(lambda x: (op(x), x)[1])(t.ones(2, 2))


def test_a_rule_must_say_where_the_batch_is():
    op = make(copy)
    op.register_vmap(lambda info, in_dims, x: x)
    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        t.vmap(op)(t.ones(2, 2))


@only_taeda
def test_grad_and_vmap_compose_with_the_formula():
    op = scaled_with_gradient()
    op.register_vmap(lambda info, in_dims, x, by: (op(x, by), in_dims[0]))
    x = t.arange(6.0).reshape(2, 3)
    f = lambda v: (op(v, 3.0) * v).sum()
    assert t.allclose(t.func.grad(f)(x[0]), 6 * x[0])
    assert t.allclose(t.vmap(t.func.grad(f))(x), 6 * x)
    h = t.func.jacrev(t.func.grad(f))(x[0])
    assert t.allclose(h, 6 * t.eye(3))


class Log(modes.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_see_the_operator_and_nothing_inside():
    op = scaled_with_gradient()
    x = t.ones(2, requires_grad=True)
    with Log() as log:
        y = op(x, 3.0)
    assert log.seen[0] is op._opoverload
    assert y.requires_grad


def test_a_rule_for_a_mode_replaces_its_handler():
    op = make(copy)
    op.register_torch_dispatch(Log, lambda mode, func, types, args, kwargs: args[0] + 41)
    with Log() as log:
        assert op(t.ones(1)).item() == 42
    assert op._opoverload not in log.seen
    assert op(t.ones(1)).item() == 1


def test_autocast_casts_what_was_registered():
    seen = []

    def f(x: Tensor) -> Tensor:
        seen.append(x.dtype)
        return x.clone()

    op = make(f)
    op.register_autocast("cpu", t.bfloat16)
    with t.autocast("cpu"):
        op(t.ones(2))
    op(t.ones(2))
    assert seen == [t.bfloat16, t.float32]
