"""Arguments of a traced function: which become placeholders, and which are fixed values."""

import inspect
import types
from warnings import warn

import taeda
from taeda.fx._code_gen import _PyTreeCodeGen, _PyTreeInfo
from taeda.utils import _pytree as pytree

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class PHBase:
    """Stands in `concrete_args` for what stays an argument."""

    def __repr__(self):
        return "PH"


class PHWithMeta(PHBase):
    """The same, with attributes that its node gets."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key

    def transfer_attrs(self, to):
        to.__dict__.update((k, v) for k, v in vars(self).items() if not k.startswith("__"))


PH = PHBase()


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def without_variadics(fn, nargs):
    """The function taking its variadic and keyword-only arguments by position, as they are."""
    code = fn.__code__.replace(
        co_flags=fn.__code__.co_flags & ~_VARIADIC,
        co_argcount=nargs,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
    )
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class RootArguments:
    """Makes the placeholders of a graph from the signature of the traced function."""

    def __init__(self, tracer, root_fn, is_module, concrete_args):
        self.tracer = tracer
        self.root_fn = root_fn
        self.fn = inspect.unwrap(root_fn)
        code = self.fn.__code__
        self.code = code
        self.total = code.co_argcount + code.co_kwonlyargcount
        self.names = code.co_varnames
        self.skipped = 1 if is_module else 0
        if is_module and self.total == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        self.parameters = inspect.signature(self.fn).parameters
        # Of a function that takes nothing but *args: as many arguments as there are values.
        takes_only_args = self.total == self.skipped and code.co_flags & inspect.CO_VARARGS
        is_tuple = isinstance(concrete_args, tuple)
        self.positional = concrete_args if takes_only_args and is_tuple else ()
        self.concrete = {} if self.positional else self._by_name(concrete_args)
        self.leaves = 0

    def _by_name(self, concrete_args):
        if not isinstance(concrete_args, tuple):
            return concrete_args or {}
        names = self.names[self.skipped : self.total]
        if len(concrete_args) != len(names):
            raise RuntimeError(
                f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete "
                "arguments"
            )
        return dict(zip(names, concrete_args))

    def make(self):
        """(function, arguments): the function to run, on proxies."""
        if self.positional:
            names = [f"input_{i}" for i in range(len(self.positional))]
            leaves = [self._checked(*pair) for pair in zip(names, self.positional)]
            return self.root_fn, [self.tracer.root][: self.skipped] + leaves
        args = [self.tracer.root] if self.skipped else []
        args += [self._argument(name) for name in self.names[self.skipped : self.total]]
        root_fn, code = self.root_fn, self.code
        if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
            at = self.total
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._placeholder(stars + self.names[at]))
                    at += 1
            root_fn = without_variadics(root_fn, len(args))
        if not self.concrete:
            return root_fn, args
        flat, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children_specs):
            return root_fn, args
        return self._flattened(root_fn, spec), flat

    def _flattened(self, root_fn, in_spec):
        graph = self.tracer.graph
        info = _PyTreeInfo(list(self.names[: self.total]), in_spec, None)
        graph._codegen = _PyTreeCodeGen(info)

        def flat_function(*args):
            result = root_fn(*pytree.tree_unflatten(args, in_spec))
            leaves, out_spec = pytree.tree_flatten(result)
            graph._codegen.pytree_info = info._replace(out_spec=out_spec)
            return leaves

        return flat_function

    def _argument(self, name):
        if name not in self.concrete:
            return self._placeholder(name)
        self.leaves = 0
        return pytree.tree_map(lambda value: self._leaf(name, value), self.concrete[name])

    def _placeholder(self, name):
        parameter = self.parameters[name.lstrip("*")]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        return self.tracer.create_proxy(
            "placeholder", name, default, {}, type_expr=self.fn.__annotations__.get(name)
        )

    def _leaf(self, name, value):
        """A placeholder; for a fixed value also the check that it is what is passed."""
        self.leaves += 1
        parameter = self.parameters[name]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        return self._checked(f"{name}_{self.leaves}", value, default, name)

    def _checked(self, placeholder, value, default=(), name=""):
        tracer, name = self.tracer, name or placeholder
        out = tracer.create_proxy("placeholder", placeholder, default, {})
        if isinstance(value, PHBase):
            if isinstance(value, PHWithMeta):
                value.transfer_attrs(out.node)
            return out
        message = f"{name} has been specialized to have value {value} but got another value"
        if type(value) in (bool, int, float) or (type(value) is str and value):
            tracer.create_proxy("call_function", taeda._assert, (out == value, message), {})
        elif value is None:
            tracer.create_proxy("call_function", _assert_is_none, (out, message), {})
        else:
            warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs you "
                "specialized the function with.",
                stacklevel=6,
            )
        return value
