"""Streams and events of the CPU, for programs that do not ask which device they run on.

Work on the CPU is done when its call returns, so that nobody waits.
"""

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "stream"]


class Stream:
    """A queue of work that is always empty."""

    def __init__(self, priority=-1):
        self.priority = priority

    def wait_stream(self, stream):
        """Returns at once."""

    def record_event(self):
        """Marks nothing."""

    def wait_event(self, event):
        """Returns at once."""


class Event:
    """A mark that has always been reached."""

    def query(self):
        """True: everything before it is done."""
        return True

    def record(self, stream=None):
        """Marks nothing."""

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=None):
        """Returns at once."""


_current = Stream()


def current_stream(device=None):
    """The stream of the CPU."""
    return _current


class StreamContext:
    """Makes a stream the current one inside a `with`."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _current
        self._before = _current
        if self.stream is not None:
            _current = self.stream

    def __exit__(self, *exception):
        global _current
        _current = self._before


def stream(stream):
    """Makes a stream the current one inside a `with`; None changes nothing."""
    return StreamContext(stream)
