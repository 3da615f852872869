"""What goes wrong in the capture and compilation of programs."""

__all__ = [
    "BackendCompilerFailed",
    "CondOpArgsMismatchError",
    "FailOnRecompileLimitHit",
    "InductorError",
    "InfiniteGeneratorError",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "LoweringException",
    "ObservedException",
    "PackageError",
    "PassError",
    "ProgramPartError",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "RestartAnalysis",
    "ShortenTraceback",
    "SkipFrame",
    "StepUnsupported",
    "TorchDynamoException",
    "TorchRuntimeError",
    "UncapturedHigherOrderOpError",
    "Unsupported",
    "unsupported",
]


class TorchDynamoException(RuntimeError):  # noqa: N818
    """The base of these errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """A mistake of the capture itself."""


class ResetRequired(TorchDynamoException):
    """Compiled programs must be forgotten first."""

    def __init__(self):
        super().__init__(
            "Must call `torch._dynamo.reset()` before changing backends.  Detected two calls to "
            "`torch.compile()` with a different backend compiler arguments."
        )


class ShortenTraceback(TorchDynamoException):
    """An error whose traceback begins at a frame of the program; None: as it is."""

    def __init__(self, *args, first_useful_frame=None):
        super().__init__(*args)
        self.first_useful_frame = first_useful_frame

    def remove_dynamo_frames(self):
        """The error with the part of its traceback from that frame on."""
        at = self.__traceback__
        while at is not None and at.tb_frame is not self.first_useful_frame:
            at = at.tb_next
        return self if at is None else self.with_traceback(at)


class RestartAnalysis(TorchDynamoException):
    """A capture is to begin again. Captures of this package begin again by themselves."""


class SkipFrame(TorchDynamoException):
    """A frame is to be left alone."""


class StepUnsupported(TorchDynamoException):
    """`step_unsupported` is captured."""

    def __init__(self, msg="", real_stack=None):
        super().__init__(msg)
        self.msg, self.real_stack = msg, real_stack


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A function that an operator takes cannot be captured."""

    def __init__(self, msg="", real_stack=None):
        super().__init__(msg)
        self.msg, self.real_stack = msg, real_stack


class CondOpArgsMismatchError(TorchDynamoException):
    """The branches of cond() do not fit together."""


class InfiniteGeneratorError(TorchDynamoException):
    """A generator gives more values than a capture takes."""


class PackageError(TorchDynamoException):
    """Compiled programs that were kept cannot be loaded."""


class ObservedException(TorchDynamoException):
    """The program raises while it is captured. Captures of this package raise it itself."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name):
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class BackendCompilerFailed(ShortenTraceback):
    """A backend raised an error, which is `inner_exception`."""

    def __init__(self, backend_fn, inner_exception, first_useful_frame=None):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(
            f"backend={self.backend_name!r} raised:\n"
            f"{type(inner_exception).__name__}: {inner_exception}",
            first_useful_frame=first_useful_frame,
        )


class InductorError(BackendCompilerFailed):
    """The compiler of graphs raised an error, which is `inner_exception`."""


class ProgramPartError(InductorError):
    """What the program gave the compiler raised an error, which is `inner_exception`.

    It is never the reason to run a graph as it is: a part of the program would go missing.
    """

    def __init__(self, text, inner_exception):
        self.backend_name = "inductor"
        self.inner_exception = inner_exception
        ShortenTraceback.__init__(self, text)


class PassError(ProgramPartError):
    """A pass that the program set raised an error."""

    def __init__(self, run, inner_exception):
        name = getattr(run, "__name__", type(run).__name__)
        text = f"the pass {name} raised:\n{type(inner_exception).__name__}: {inner_exception}"
        super().__init__(text, inner_exception)


class LoweringException(ProgramPartError):  # noqa: N818
    """A lowering that the program registered raised an error, or gave what its operator does not.

    PyTorch's name and text.
    """

    def __init__(self, inner_exception, target, args, kwargs):
        lines = [f"LoweringException: {type(inner_exception).__name__}: {inner_exception}"]
        lines += [f"  target: {target}", *(f"  args[{i}]: {arg}" for i, arg in enumerate(args))]
        lines += [f"  kwargs: {kwargs}"] if kwargs else []
        super().__init__("\n".join(lines), inner_exception)


class TorchRuntimeError(TorchDynamoException):
    """An operator refuses its arguments."""

    def __init__(self, msg="", real_stack=None):
        super().__init__(msg)
        self.msg, self.real_stack = msg, real_stack


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
        import linecache

        text += "\n\nfrom user code:\n "
    for file, line, name in places:
        source = linecache.getline(file, line).strip()
        text += f'  File "{file}", line {line}, in {name}\n'
        text += f"    {source}\n" if source else ""
    return Unsupported(text.rstrip("\n"))
