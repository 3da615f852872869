"""A tensor that writes down the operators it goes through, and a mode that does it for all tensors.

with capture_logs() as logs:
    x = LoggingTensor(taeda.ones(2))
    log_input("x", x)
    x * x
# $0: f32[2] = input('x')
# $1: f32[2] = taeda._ops.aten.mul.Tensor($0, $0)
"""

import contextlib
import itertools
import weakref

from taeda import _C
from taeda.overrides import enable_reentrant_dispatch
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_map

__all__ = [
    "LoggingTensor",
    "LoggingTensorMode",
    "LoggingTensorReentrant",
    "capture_logs",
    "capture_logs_with_logging_tensor_mode",
    "log_input",
]

_KINDS = {"float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u"}


def _abbreviation(dtype):
    name = str(dtype).rpartition(".")[2]
    if name == "bool":
        return "b8"
    kind = name.rstrip("0123456789")
    return _KINDS.get(kind, kind) + name[len(kind) :]


class _Log:
    """Lines of text; tensors have numbers in the order of their appearance."""

    def __init__(self, tensor_class):
        self.lines = []
        self.tensor_class = tensor_class
        self._numbers = {}
        self._count = itertools.count()

    def add(self, name, args, kwargs, results):
        shown = [str(tree_map(self._text, a)) for a in args]
        shown += [f"{key}={tree_map(self._text, a)}" for key, a in kwargs.items()]
        made = tree_map(self._typed_text, results)
        self.lines.append(f"{made} = {name}({', '.join(shown)})")

    def _number(self, tensor):
        known = self._numbers.get(id(tensor))
        if known is None or known[0]() is not tensor:
            # Addresses are used again: the weak reference tells.
            known = weakref.ref(tensor), next(self._count)
            self._numbers[id(tensor)] = known
        return known[1]

    def _text(self, value):
        return f"${self._number(value)}" if isinstance(value, self.tensor_class) else repr(value)

    def _typed_text(self, value):
        text = self._text(value)
        if not isinstance(value, self.tensor_class):
            return text
        sizes = ", ".join(map(str, value.shape))
        return f"{text}: {_abbreviation(value.dtype)}[{sizes}]"


_open_logs = []


def _log(name, args, kwargs, results):
    for log in _open_logs:
        log.add(name, args, kwargs, results)


def _log_call(func, args, kwargs, results):
    _log(f"{func.__module__}.{func.__name__}", args, kwargs, results)


def log_input(name, var):
    """Writes down a tensor that the program starts from."""
    _log("input", (name,), {}, var)


@contextlib.contextmanager
def capture_logs(is_mode=False):
    """Gives the list of lines; with `is_mode` plain tensors have numbers too."""
    log = _Log(_C.Tensor if is_mode else LoggingTensor)
    _open_logs.append(log)
    try:
        yield log.lines
    finally:
        _open_logs.remove(log)


@contextlib.contextmanager
def capture_logs_with_logging_tensor_mode():
    """The lines of everything that runs inside."""
    with LoggingTensorMode(), capture_logs(True) as lines:
        yield lines


class LoggingTensor(_C.Tensor):
    """Holds a tensor in `elem`, runs operators on it, and writes them down."""

    __slots__ = ["elem"]

    context = contextlib.nullcontext

    @staticmethod
    def __new__(cls, elem, *args, requires_grad=False, **kwargs):
        self = _C.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=requires_grad,
        )
        self.elem = elem.detach() if requires_grad else elem
        return self

    def __repr__(self):
        return super().__repr__(tensor_contents=f"{self.elem}")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(value):
            return value.elem if isinstance(value, cls) else value

        def wrap(value):
            return cls(value) if isinstance(value, _C.Tensor) else value

        kwargs = kwargs or {}
        with cls.context():
            inner = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs))
        results = tree_map(wrap, inner)
        _log_call(func, args, kwargs, results)
        return results


class LoggingTensorReentrant(LoggingTensor):
    """The same with autograd on for the tensor inside."""

    context = enable_reentrant_dispatch


class LoggingTensorMode(TorchDispatchMode):
    """Writes down the operators called on plain tensors."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        results = func(*args, **kwargs)
        _log_call(func, args, kwargs, results)
        return results
