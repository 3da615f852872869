"""Tests of function modes and of taeda.overrides."""

import contextlib
import importlib
import inspect
import threading

import pytest
from under_test import NAME, t

overrides = importlib.import_module(f"{NAME}.overrides")
TorchFunctionMode = overrides.TorchFunctionMode
F = t.nn.functional
PLAIN = t.ones(2)


class Log(TorchFunctionMode):
    def __init__(self, calls=None, name=None):
        super().__init__()
        self.calls = [] if calls is None else calls
        self.name = name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((self.name, func) if self.name else func)
        return func(*args, **(kwargs or {}))


class Decline(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class TestModes:
    @pytest.mark.parametrize(
        "call, function",
        [
            (lambda: t.zeros(2), t.zeros),
            (lambda: t.tensor(1.0), t.tensor),
            (lambda: t.as_tensor([1]), t.as_tensor),
            (lambda: t.promote_types(t.int32, t.int64), t.promote_types),
            (lambda: PLAIN + 1, t.Tensor.add),
            (lambda: 1 - PLAIN, t.Tensor.__rsub__),
            (lambda: PLAIN[0], t.Tensor.__getitem__),
            (lambda: PLAIN.shape, t.Tensor.shape.__get__),
            (lambda: PLAIN.dim(), t.Tensor.dim),
            (lambda: PLAIN.view(2), t.Tensor.view),
            (lambda: F.relu(PLAIN), F.relu),
            (lambda: F.gelu(PLAIN), F.gelu),
            (lambda: len(PLAIN), t.Tensor.__len__),
            (lambda: repr(PLAIN), t.Tensor.__repr__),
        ],
    )
    def test_sees_calls_on_plain_tensors(self, call, function):
        with Log() as mode:
            call()
        assert mode.calls[0] == function

    def test_sees_nothing_of_settings(self):
        with Log() as mode:
            t.get_default_dtype()
            t.is_grad_enabled()
            t.is_tensor(PLAIN)
            hash(PLAIN)
        assert mode.calls == []

    def test_ends_with_its_block(self):
        mode = Log()
        with pytest.raises(KeyError), mode:
            raise KeyError
        t.zeros(2)
        assert mode.calls == [] and overrides._get_current_function_mode() is None

    def test_nests_from_the_inside(self):
        calls = []
        with Log(calls, "outer"), Log(calls, "inner"):
            t.zeros(2)
            assert len(overrides._get_current_function_mode_stack()) == 2
        assert calls == [("inner", t.zeros), ("outer", t.zeros)]

    def test_is_set_aside_while_it_answers(self):
        class Doubling(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                return result * 2 if isinstance(result, t.Tensor) else result

        with Doubling():
            assert t.ones(2).tolist() == [2, 2]
        with Doubling(), Doubling():
            x = t.ones(2)
        # The inner mode's product passes the outer mode too.
        assert x.tolist() == [8, 8]

    def test_comes_back_after_an_error(self):
        class Failing(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                raise KeyError(func.__name__)

        with Failing():
            for _ in range(2):
                with pytest.raises(KeyError, match="ones"):
                    t.ones(2)

    def test_redirects_the_device(self):
        class OnMeta(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                kwargs = dict(kwargs or {})
                if func in (t.zeros, t.ones, t.tensor, t.arange):
                    kwargs.setdefault("device", "meta")
                return func(*args, **kwargs)

        with OnMeta():
            assert t.zeros(2).is_meta and t.arange(3).is_meta and t.tensor([1]).is_meta
            assert not t.ones(2, device="cpu").is_meta
        assert not t.zeros(2).is_meta

    def test_comes_before_classes(self):
        calls = []

        class Seen(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append(("class", func))
                return super().__torch_function__(func, types, args, kwargs)

        x = t.ones(2).as_subclass(Seen)
        with Log(calls, "mode"):
            y = t.exp(x)
        assert type(y) is Seen and calls == [("mode", t.exp), ("class", t.exp)]

    def test_may_decline_in_favour_of_a_class(self):
        with Decline():
            assert t.exp(Like())[0] is t.exp

    def test_nobody_answers(self):
        with (
            Decline(),
            pytest.raises(
                TypeError,
                match=r"Multiple dispatch failed for 'torch.exp'(.|\n)*  - mode object <.*Decline",
            ),
        ):
            t.exp(PLAIN)

    def test_guards(self):
        with Log() as mode:
            with t._C.DisableTorchFunctionSubclass():
                t.zeros(1)
            with t._C.DisableTorchFunction():
                assert t._C._is_torch_function_all_disabled()
                t.ones(1)
            t.arange(1)
        assert mode.calls == [t.zeros, t.arange]

    def test_belongs_to_its_thread(self):
        seen = []

        def work():
            seen.append(overrides._get_current_function_mode())
            t.zeros(2)
            seen.extend(PLAIN[:1].tolist() + [overrides.has_torch_function_unary(PLAIN)])

        with Log() as mode:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        assert seen == [None, PLAIN[0].item(), False] and t.zeros not in mode.calls

    def test_base_mode_changes_nothing(self):
        with overrides.BaseTorchFunctionMode():
            assert t.ones(2).tolist() == [1, 1]

    def test_default_raises(self):
        with pytest.raises(NotImplementedError), TorchFunctionMode():
            t.ones(2)


class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


class TestOverrides:
    def test_has_torch_function(self):
        like = Like()
        assert overrides.has_torch_function((PLAIN, like))
        assert not overrides.has_torch_function((PLAIN, 1, None, "x", [like]))
        assert overrides.has_torch_function_unary(like)
        assert not overrides.has_torch_function_unary(PLAIN)
        assert not overrides.has_torch_function_unary(t.nn.Parameter(t.ones(1)))
        assert overrides.has_torch_function_variadic(PLAIN, like)
        assert not overrides.has_torch_function_variadic(PLAIN, 1.0)
        with Log():
            assert overrides.has_torch_function_unary(PLAIN)

    def test_handle_torch_function(self):
        like = Like()
        func, types, args, kwargs = overrides.handle_torch_function(
            t.add, (like,), PLAIN, like, alpha=2
        )
        assert func is t.add and types == (Like,) and args[1] is like and kwargs == {"alpha": 2}

    def test_wrap_torch_function(self):
        @overrides.wrap_torch_function(lambda a, b=None: (a,))
        def mine(a, b=None):
            return "mine"

        assert mine(PLAIN) == "mine" and mine(Like())[0] is mine

    def test_is_tensor_like(self):
        assert overrides.is_tensor_like(Like()) and overrides.is_tensor_like(PLAIN)
        assert not overrides.is_tensor_like(3) and not overrides.is_tensor_like([PLAIN])

    @pytest.mark.parametrize(
        "function, name, is_method",
        [
            (t.add, "torch.add", False),
            (t.Tensor.add, "torch.Tensor.add", True),
            (t.Tensor.grad.__get__, "torch.Tensor.grad.__get__", True),
            (F.relu, "torch.nn.functional.relu", False),
            (t.Tensor.grad.__set__, "torch.Tensor.grad.__set__", False),
        ],
    )
    def test_names(self, function, name, is_method):
        assert overrides.resolve_name(function) == name
        assert overrides.is_tensor_method_or_property(function) == is_method

    def test_lists_of_functions(self):
        by_namespace = overrides.get_overridable_functions()
        assert t.add in by_namespace[t] and t.Tensor.add in by_namespace[t.Tensor]
        assert F.mse_loss in by_namespace[F] and t.is_tensor not in by_namespace[t]
        ignored = overrides.get_ignored_functions()
        assert t.is_tensor in ignored and t.manual_seed in ignored and t.add not in ignored
        # Factories take no tensor, so there is none to ask.
        for factory in (t.tensor, t.ones, t.arange, t.full, t.eye, t.empty):
            assert factory in ignored and factory not in by_namespace[t]
        stand_ins = overrides.get_testing_overrides()
        assert stand_ins[t.add](1, 2) == -1
        assert list(inspect.signature(stand_ins[t.add]).parameters)[:2] == ["input", "other"]
        assert list(inspect.signature(stand_ins[t.Tensor.item]).parameters) == ["self"]


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch keeps its list by hand")
class TestEveryFunction:
    """What is listed as overridable hands a call over, whatever its arguments."""

    @staticmethod
    def calls(function, arguments):
        # Whether the operator then takes the arguments does not matter.
        with contextlib.suppress(Exception), Log() as mode:
            function(*arguments, **_keywords(function))
        return mode.calls

    @pytest.mark.parametrize("module", [t, F, t.functional], ids=lambda m: m.__name__)
    def test_functions(self, module):
        functions = overrides.get_overridable_functions()[module]
        missed = [f.__name__ for f in functions if f not in self.calls(f, _arguments(f))]
        assert functions and missed == []

    def test_methods(self):
        missed = []
        for method in overrides.get_overridable_functions()[t.Tensor]:
            # Operators call the method behind them: Tensor.__add__ is seen as Tensor.add.
            is_operator = method.__name__.startswith("__")
            arguments = [t.ones(2), *_arguments(method)[1:]]
            counts = range(1, 4) if _takes_any(method) else [None]
            calls = [c for n in counts for c in self.calls(method, _sized(arguments, n))]
            if not calls or (method not in calls and not is_operator):
                missed.append(method.__name__)
        assert missed == []

    def test_attributes(self):
        getters = [f for f in overrides.get_testing_overrides() if f.__name__ == "__get__"]
        missed = [f.__self__.__name__ for f in getters if f not in self.calls(f, [t.ones(2, 2)])]
        assert len(getters) > 20 and missed == []


def _takes_any(function):
    """Whether the signature is not known."""
    parameters = inspect.signature(overrides.get_testing_overrides()[function]).parameters
    return any(p.kind is p.VAR_POSITIONAL for p in parameters.values())


def _sized(arguments, count):
    """The arguments, or as many as `count` says, filled up with ones."""
    return arguments if count is None else [arguments[0], *[1] * (count - 1)]


def _keywords(function):
    """A number for each parameter that must be given by its name."""
    given = overrides.get_testing_overrides().get(function)
    parameters = inspect.signature(given).parameters.values() if given else ()
    return {p.name: 1 for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}


def _arguments(function):
    """One tensor-like for each parameter that must be given."""
    signature = inspect.signature(overrides.get_testing_overrides()[function])
    out = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return [*out, Like(), Like()]
        if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            out.append(Like())
    return out
