"""What goes wrong in the capture and compilation of programs."""

import linecache

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "TorchDynamoException",
    "TorchRuntimeError",
    "Unsupported",
    "unsupported",
]


class TorchDynamoException(RuntimeError):  # noqa: N818
    """The base of these errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """A mistake of the capture itself."""


class ResetRequired(TorchDynamoException):
    """Compiled programs must be forgotten first."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name):
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised an error, which is `inner_exception`."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(
            f"backend={self.backend_name!r} raised:\n"
            f"{type(inner_exception).__name__}: {inner_exception}"
        )


class TorchRuntimeError(TorchDynamoException):
    """An operator refuses its arguments."""


class RecompileError(TorchDynamoException):
    """A place was compiled again where that is an error."""


class RecompileLimitExceeded(TorchDynamoException):
    """A place was compiled too often."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """The same where `config.fail_on_recompile_limit_hit` is set."""


class Unsupported(TorchDynamoException):
    """A part of a program cannot be captured, and must be."""

    def __init__(self, msg, *, case_name=None):
        super().__init__(msg)
        self.msg = msg


def unsupported(reason, places=()):
    """The error of a break: its cause, what to do about it, and the program's lines.

    A place is (file, line, name of the function); the innermost is the last.
    """
    from taeda.compiler._remedies import remedy_of

    text = reason
    if remedy := remedy_of(reason):
        text += f"\n  Hint: {remedy}"
    if places:
        text += "\n\nfrom user code:\n "
    for file, line, name in places:
        source = linecache.getline(file, line).strip()
        text += f'  File "{file}", line {line}, in {name}\n'
        text += f"    {source}\n" if source else ""
    return Unsupported(text.rstrip("\n"))
