"""The stack of a program, kept cheaply and read when it is asked for."""

import sys
import traceback

__all__ = ["CapturedTraceback", "gather_traceback", "symbolize_tracebacks"]


class CapturedTraceback:
    """Where the program was: functions and the lines they were at, innermost first."""

    __slots__ = ("_places",)

    def __init__(self, frame):
        self._places = []
        while frame is not None:
            self._places.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back

    @staticmethod
    def extract(*, script=False, cpp=False, skip=0):
        """The stack of the caller, without its `skip` innermost frames. Only Python's are known."""
        return CapturedTraceback(sys._getframe(1 + skip))

    def frames(self):
        """A dict for each frame, innermost first."""
        return [
            {"name": code.co_name, "filename": code.co_filename, "line": line}
            for code, line in self._places
        ]

    def summary(self):
        """The stack as the module traceback has it, innermost last."""
        return traceback.StackSummary.from_list(
            [(f["filename"], f["line"], f["name"], None) for f in reversed(self.frames())]
        )

    def format(self):
        """Lines as Python prints them."""
        return self.summary().format()


def gather_traceback(python=True, script=False, cpp=False):
    """The stack of the caller, without frames where Python's are not asked for."""
    return CapturedTraceback(sys._getframe(1) if python else None)


def symbolize_tracebacks(tracebacks):
    """The frames of each of these stacks."""
    return [captured.frames() for captured in tracebacks]
