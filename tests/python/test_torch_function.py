"""Tests of __torch_function__: subclasses of Tensor, classes that are like it, and their order."""

import copy
import operator
import pickle

import pytest
from under_test import NAME, t

F = t.nn.functional


class Logged(t.Tensor):
    """Notes each function that sees it, and lets it run."""

    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs)


def logged(*shape, dtype=None):
    return t.ones(*shape, dtype=dtype).as_subclass(Logged)


def calls_of(function):
    """The functions that `function()` called on logged tensors."""
    Logged.calls.clear()
    function()
    return [call[0] for call in Logged.calls]


PLAIN = t.ones(2, 2)

# What an expression over a logged x calls first.
OPERATORS = {
    "x + p": "add",
    "p + x": "add",
    "1 + x": "add",
    "x - p": "sub",
    "1 - x": "__rsub__",
    "x * 2": "mul",
    "2 * x": "mul",
    "x / p": "div",
    "x // 2": "__floordiv__",
    "2 // x": "__rfloordiv__",
    "x % 2": "remainder",
    "2 % x": "__rmod__",
    "2 ** x": "__rpow__",
    "x @ p": "matmul",
    "p @ x": "matmul",
    "x < p": "lt",
    "1 < x": "gt",
    "x <= p": "le",
    "x > p": "gt",
    "x >= 1": "ge",
    "x == p": "__eq__",
    "x != p": "ne",
    "i & i": "__and__",
    "i | i": "__or__",
    "i ^ i": "__xor__",
    "i << 1": "__lshift__",
    "i >> 1": "__rshift__",
    "1 << i": "__rlshift__",
    "-x": "neg",
    "abs(x)": "abs",
    "~i": "__invert__",
    "bool(one)": "__bool__",
    "int(one)": "__int__",
    "float(one)": "__float__",
    "complex(one)": "__complex__",
    "len(x)": "__len__",
    "1 in x": "__contains__",
    "x in p": "__eq__",
    "reversed(x)": "__reversed__",
    "repr(x)": "__repr__",
    "x[0]": "__getitem__",
    "x[..., 1:]": "__getitem__",
    "p[i]": "__getitem__",
    "p[0, i]": "__getitem__",
    "p[[0, i]]": "__getitem__",
    "x.add(1)": "add",
    "p.add(x)": "add",
    "x.view(4)": "view",
    "x.size()": "size",
    "x.dim()": "dim",
    "x.float()": "float",
    "x.tolist()": "tolist",
    "x.detach()": "detach",
    "x.clone()": "clone",
    "x.new_zeros(2)": "new_zeros",
    "x.new_tensor([1.0])": "new_tensor",
    "x.requires_grad_()": "requires_grad_",
    "p.type_as(x)": "type_as",
    "x.untyped_storage()": "untyped_storage",
}


class TestLogged:
    @pytest.mark.parametrize("expression", OPERATORS)
    def test_operators_and_methods(self, expression):
        scope = {
            "x": logged(2, 2),
            "one": logged(1),
            "i": logged(2, 2, dtype=t.int64),
            "p": PLAIN,
        }
        code = compile(expression, "<expression>", "eval")
        first = calls_of(lambda: eval(code, scope))[0]
        assert first == getattr(t.Tensor, OPERATORS[expression])

    @pytest.mark.parametrize(
        "statement, name",
        [
            ("x += 1", "add_"),
            ("x -= 1", "sub_"),
            ("x *= p", "mul_"),
            ("x /= 2", "div_"),
            ("x //= 2", "floor_divide_"),
            ("x %= 2", "remainder_"),
            ("i &= i", "__iand__"),
            ("i <<= 1", "__ilshift__"),
            ("x[0] = 1", "__setitem__"),
            ("p[0] = x[0]", "__getitem__"),
            ("p[0, 0] = one", "__setitem__"),
        ],
    )
    def test_writes(self, statement, name):
        scope = {
            "x": logged(2, 2),
            "i": logged(2, 2, dtype=t.int64),
            "one": t.tensor(5.0).as_subclass(Logged),
            "p": t.ones(2, 2),
        }
        kept = scope["x"]
        first = calls_of(lambda: exec(statement, scope))[0]
        assert first == getattr(t.Tensor, name) and scope["x"] is kept

    @pytest.mark.parametrize(
        "name", ["shape", "T", "mT", "grad", "data", "dtype", "device", "ndim", "is_leaf", "grad_fn",
                 "requires_grad", "real", "is_cpu", "layout", "_version", "output_nr"]
    )  # fmt: skip
    def test_attributes(self, name):
        x = logged(2, 2)
        assert calls_of(lambda: getattr(x, name)) == [getattr(t.Tensor, name).__get__]

    def test_setting_attributes(self):
        x = logged(2)
        assert calls_of(lambda: setattr(x, "requires_grad", True)) == [
            t.Tensor.requires_grad.__set__
        ]
        assert calls_of(lambda: setattr(x, "grad", t.ones(2))) == [t.Tensor.grad.__set__]
        assert calls_of(lambda: delattr(x, "grad")) == [t.Tensor.grad.__delete__]
        assert calls_of(lambda: setattr(x, "note", 1)) == []
        assert x.requires_grad and x.grad is None and x.note == 1

    @pytest.mark.parametrize("name", ["add", "mul", "where", "cat", "stack", "zeros_like", "sum"])
    def test_functions(self, name):
        x = logged(2)
        arguments = {
            "where": (PLAIN > 0, x, PLAIN),
            "cat": ([t.ones(1), x],),
            "stack": ((t.ones(2), x),),
            "zeros_like": (x,),
            "sum": (x,),
        }.get(name, (PLAIN, x))
        assert calls_of(lambda: getattr(t, name)(*arguments)) == [getattr(t, name)]

    @pytest.mark.parametrize(
        "call, function",
        [
            (lambda x: F.relu(x), F.relu),
            (lambda x: F.softmax(x, 0), F.softmax),
            (lambda x: F.mse_loss(x, PLAIN), F.mse_loss),
            (lambda x: F.layer_norm(x, (2,)), F.layer_norm),
            (lambda x: F.linear(x, PLAIN), F.linear),
            (lambda x: F.gelu(x), F.gelu),
            (lambda x: F.sigmoid(x), t.Tensor.sigmoid),
            (lambda x: t.einsum("ij,jk", x, PLAIN), t.einsum),
            (lambda x: t.tensordot(x, PLAIN), t.tensordot),
            (lambda x: t.broadcast_tensors(x, PLAIN), t.broadcast_tensors),
            (lambda x: t.split(x, 1), t.split),
            (lambda x: t.numel(x), t.numel),
            (lambda x: t.is_floating_point(x), t.is_floating_point),
        ],
    )
    def test_python_functions(self, call, function):
        x = logged(2, 2)
        assert calls_of(lambda: call(x)) == [function]

    def test_arguments_arrive_as_given(self):
        x = logged(2)
        Logged.calls.clear()
        t.add(PLAIN[0], x, alpha=2)
        t.cat([x, x])
        F.relu(x)
        add, cat, relu = Logged.calls
        assert add[1] == (Logged,) and add[2][1] is x and add[3] == {"alpha": 2}
        assert cat[2][0][0] is x and cat[3] is None
        assert relu[3] == {"inplace": False}

    def test_python_functions_name_what_has_a_default(self):
        x, target = logged(2, 3), t.tensor([0, 1])
        Logged.calls.clear()
        F.nll_loss(x, target, None, None, 1)
        F.nll_loss(target=target, input=x, ignore_index=1)
        _, types, args, kwargs = Logged.calls[0]
        assert len(types) == 2 and args[0] is x and args[1] is target and len(args) == 2
        assert list(kwargs) == ["weight", "size_average", "ignore_index", "reduce", "reduction"]
        assert kwargs["ignore_index"] == 1 and kwargs["reduction"] == "mean"
        again = next(call for call in Logged.calls[1:] if call[0] is F.nll_loss)
        assert again[2][0] is x and again[3] == kwargs

    def test_out_and_in_place_return_the_object(self):
        x, out = logged(2), logged(2)
        assert t.add(PLAIN[0], 1, out=out) is out and out.tolist() == [2, 2]
        assert x.add_(1) is x and x.tolist() == [2, 2]
        plain = t.ones(2)
        assert type(plain.add_(x)) is Logged and plain.tolist() == [3, 3]

    def test_what_is_not_overridden(self):
        x = logged(2)
        assert calls_of(lambda: (t.is_tensor(x), hash(x), x.as_subclass(t.Tensor))) == []
        assert type(t.tensor(1.0)) is t.Tensor and type(t.zeros(2)) is t.Tensor

    def test_results_keep_the_class(self):
        x = logged(3)
        values, indices = t.sort(x)
        assert type(values) is type(indices) is Logged
        assert type(t.sort(x)).__name__ == "sort"
        assert {type(part) for part in x.unbind()} == {Logged}
        assert type(x.shape) is t.Size and x.shape == (3,)
        assert {type(row) for row in x} == {Logged} and x.sum().item() == 3.0

    def test_an_error_passes_through(self):
        with pytest.raises(IndexError, match="out of bounds"):
            logged(2)[5]


class Quantity(t.Tensor):
    """Numbers with a unit: sums want equal units, products join them."""

    def __new__(cls, data, unit):
        self = t.as_tensor(data).as_subclass(cls)
        self.unit = unit
        return self

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, cls) and not hasattr(result, "unit"):
            units = [a.unit for a in args if isinstance(a, cls)]
            if func in (t.Tensor.mul, t.mul):
                result.unit = "*".join(units)
            elif len(set(units)) > 1:
                raise ValueError(f"{func.__name__} of {' and '.join(units)}")
            else:
                result.unit = units[0]
        return result


class TestQuantity:
    def test_units_follow(self):
        a, b = Quantity([1.0, 2.0], "m"), Quantity([3.0, 4.0], "s")
        assert (a + a).unit == "m" and (a * b).unit == "m*s" and a[0].unit == "m"
        assert (a * b).tolist() == [3, 8]
        with pytest.raises(ValueError, match="add of m and s"):
            t.add(a, b)

    def test_copy_and_pickle(self):
        a = Quantity([1.0, 2.0], "m")
        for other in (copy.copy(a), pickle.loads(pickle.dumps(a))):
            assert type(other) is Quantity and other.unit == "m" and other.tolist() == [1, 2]

    @pytest.mark.skipif(NAME == "torch", reason="PyTorch wants a new_empty of the subclass")
    def test_deepcopy(self):
        a = Quantity([1.0, 2.0], "m")
        other = copy.deepcopy(a)
        other[0] = 7
        assert type(other) is Quantity and other.unit == "m" and a.tolist() == [1, 2]


class Diagonal:
    """A matrix kept as its diagonal: like a tensor, but not one."""

    HANDLED = {}

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.HANDLED:
            return NotImplemented
        return cls.HANDLED[func](*args, **(kwargs or {}))


Diagonal.HANDLED = {
    t.mean: lambda d, dim=None: sum(d.values) / len(d.values) ** 2,
    t.add: lambda a, b: Diagonal([x + y for x, y in zip(a.values, b.values)]),
    t.Tensor.__rsub__: lambda a, b: ("rsub", type(a).__name__, type(b).__name__),
    t.Tensor.__getitem__: lambda a, index: "picked",
    t.cat: lambda tensors, dim=0: len(tensors),
    F.relu: lambda d, inplace: Diagonal([max(v, 0) for v in d.values]),
}


class TestTensorLike:
    def test_functions(self):
        d = Diagonal([1.0, -2.0])
        assert t.mean(d) == -0.25 and t.add(d, d).values == [2, -4]
        assert t.cat([t.ones(1), d]) == 2 and F.relu(d).values == [1, 0]
        assert t.mean(d, dim=0) == -0.25

    def test_operators_of_a_tensor(self):
        d = Diagonal([1.0, -2.0])
        assert (d - PLAIN) == ("rsub", "Tensor", "Diagonal")
        assert PLAIN[d] == "picked" and PLAIN[0, d] == "picked"

    def test_any_parameter_takes_one(self):
        class Answer:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__

        a = Answer()
        assert t.sum(PLAIN, a) == "sum" and t.full((2,), a) == "full"
        assert PLAIN.view(a) == "view" and PLAIN.reshape(a, 1) == "reshape"
        assert t.clamp(PLAIN, min=a) == "clamp" and PLAIN.to(a) == "to"

    def test_what_nobody_handles(self):
        d = Diagonal([1.0])
        with pytest.raises(
            TypeError,
            match=r"Multiple dispatch failed for 'torch.exp'; all __torch_function__ handlers "
            r"returned NotImplemented:\n\n  - tensor subclass <class '.*Diagonal'>",
        ):
            t.exp(d)
        with pytest.raises(TypeError, match=r"'torch.Tensor.mul'"):
            PLAIN.mul(d)
        with pytest.raises(
            TypeError,
            match="no implementation found for 'torch.nn.functional.softmax' on types that implement"
            r" __torch_function__: \[<class '.*Diagonal'>\]",
        ):
            F.softmax(d, 0)
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*: 'Tensor' and"):
            PLAIN * d
        with pytest.raises(
            TypeError, match=r"unsupported operand type\(s\) for \*: 'Diagonal' and"
        ):
            d * PLAIN

    def test_other_arguments_are_still_checked(self):
        d = Diagonal([1.0])
        with pytest.raises(TypeError, match="argument 'alpha' must be Number, not str"):
            PLAIN.add(d, alpha="x")
        with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
            t.add(d, "x", "y")

    def test_the_other_operand_gets_its_turn(self):
        class Right(Diagonal):
            def __rmul__(self, other):
                return "mine"

        assert PLAIN * Right([1.0]) == "mine"

    def test_plain_method_warns(self):
        class Bound:
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return 5

        with pytest.warns(UserWarning, match="as a plain method is deprecated"):
            assert t.exp(Bound()) == 5


class Base(t.Tensor):
    pass


class Derived(Base):
    pass


class Unrelated(t.Tensor):
    pass


class TestOrder:
    @pytest.mark.parametrize("swap", [False, True])
    def test_the_derived_class_is_asked_first(self, swap):
        pair = [t.ones(2).as_subclass(Base), t.ones(2).as_subclass(Derived)]
        a, b = reversed(pair) if swap else pair
        assert type(a + b) is type(t.add(a, b)) is type(t.stack([a, b])) is Derived

    def test_types_are_ordered(self):
        seen = []

        class Watch(Base):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(types)

        base, watch, other = (t.ones(2).as_subclass(c) for c in (Base, Watch, Unrelated))
        t.stack([other, base, watch, base])
        t.stack([base, watch])
        assert seen == [(Unrelated, Watch, Base), (Watch, Base)]

    def test_unrelated_classes_decline(self):
        a, b = t.ones(2).as_subclass(Base), t.ones(2).as_subclass(Unrelated)
        with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.Tensor.add'"):
            a.add(b)
        with pytest.raises(TypeError, match="unsupported operand"):
            operator.add(a, b)


class TestParameter:
    def test_results_are_plain(self):
        p = t.nn.Parameter(t.ones(2))
        assert type(p * 2) is type(p.detach()) is type(p[0]) is type(t.exp(p)) is t.Tensor

    def test_another_class_wins(self):
        p = t.nn.Parameter(t.ones(2))
        assert type(p * t.ones(2).as_subclass(Base)) is Base


class TestAutograd:
    def test_grad_is_plain_and_results_are_not(self):
        x = t.ones(2).as_subclass(Base).requires_grad_()
        y = (x * 3).sum()
        assert type(y) is Base and type(t.autograd.grad(y, x)[0]) is Base
        (x * 3).sum().backward()
        assert type(x.grad) is t.Tensor and x.grad.tolist() == [3, 3]

    def test_as_subclass_keeps_the_graph(self):
        x = t.ones(2, requires_grad=True)
        (x.as_subclass(Base) * 2).sum().backward()
        assert type(x.grad) is t.Tensor and x.grad.tolist() == [2, 2]

    def test_make_subclass(self):
        x = t.Tensor._make_subclass(Base, t.ones(2), True)
        assert type(x) is Base and x.is_leaf and x.requires_grad
        assert type(x.data) is Base and type(x.detach()) is Base


class TestDisabling:
    def test_subclass_guard(self):
        x = logged(2)
        with t._C.DisableTorchFunctionSubclass():
            Logged.calls.clear()
            assert not t._C._is_torch_function_enabled()
            assert type(x + 1) is t.Tensor and x.shape == (2,) and Logged.calls == []
        assert t._C._is_torch_function_enabled() and type(x + 1) is Logged

    def test_disabled_implementation(self):
        class Quiet(t.Tensor):
            __torch_function__ = t._C._disabled_torch_function_impl

        q = t.ones(2).as_subclass(Quiet)
        assert type(q) is Quiet and type(q + 1) is type(t.exp(q)) is t.Tensor
        assert not t.overrides.has_torch_function_unary(q)
        result = t._C._disabled_torch_function_impl(t.add, (), (logged(2), 1), {})
        assert type(result) is t.Tensor

    def test_a_tensor_like_is_no_tensor_then(self):
        with t._C.DisableTorchFunctionSubclass(), pytest.raises(TypeError, match="must be Tensor"):
            t.exp(Diagonal([1.0]))
