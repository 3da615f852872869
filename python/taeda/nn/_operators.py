"""The operators behind taeda.nn, and the error that names one which does not exist yet."""

from types import FunctionType

from taeda import _C as _extension
from taeda._C import _nn as _nn_extension


class MissingOperatorError(NotImplementedError, AttributeError):
    """A function needs an operator that Taeda does not have.

    Also an AttributeError, so that hasattr and getattr with a default work where a name is asked
    for, not called.
    """


def missing(name):
    """The error that the operator `name` does not exist."""
    return MissingOperatorError(
        f"[{name}] the operator aten::{name} is not implemented in Taeda; "
        "docs/operator_matrix.md lists those that are"
    )


def _raising(name):
    def function(*args, **kwargs):
        raise missing(name)

    return function


class _Operators:
    """The functions of an extension module; others, once named, raise when they are called.

    There is no __getattr__, which would make every read of an attribute slower.
    """

    def __init__(self, module):
        self.__dict__.update(vars(module))


# By the names that the extension modules have.
_C = _Operators(_extension)
_nn = _Operators(_nn_extension)


def name_missing_operators(namespace):
    """Lets `_C.x` and `_nn.x`, for all names x in the code of a module's functions, be called."""
    own = [v for v in namespace.values() if getattr(v, "__module__", None) == namespace["__name__"]]
    methods = [m for v in own if isinstance(v, type) for m in vars(v).values()]
    for function in (*own, *methods):
        function = getattr(function, "__func__", function)
        if isinstance(function, FunctionType):
            for name in function.__code__.co_names:
                vars(_C).setdefault(name, _raising(name))
                vars(_nn).setdefault(name, _raising(name))
