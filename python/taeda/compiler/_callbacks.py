"""Functions of the program that are told when a compilation begins and ends."""

import contextlib
import dataclasses
import enum
import threading

__all__ = [
    "CallbackArgs",
    "CallbackTrigger",
    "CompilationCallbackHandler",
    "callback_handler",
    "on_compile_end",
    "on_compile_start",
]


class CallbackTrigger(enum.Enum):
    """What is compiled."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


@dataclasses.dataclass
class CallbackArgs:
    """What a callback gets."""

    callback_trigger: CallbackTrigger
    compile_id: str


class CompilationCallbackHandler:
    """Callbacks in the order in which they were registered.

    Of compilations inside of others, the outermost is told.
    """

    def __init__(self):
        self.start_callbacks = []
        self.end_callbacks = []
        self._pending = 0
        self._lock = threading.RLock()

    def register_start_callback(self, callback):
        """Adds a function that is called when a compilation begins."""
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback):
        """Adds a function that is called when a compilation ends."""
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback):
        """Takes back a function that is called at the beginning."""
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback):
        """Takes back a function that is called at the end."""
        self.end_callbacks.remove(callback)

    def run_start_callbacks(self, args):
        """Calls those of the beginning."""
        for callback in self.start_callbacks:
            callback(args)

    def run_end_callbacks(self, args):
        """Calls those of the end."""
        for callback in self.end_callbacks:
            callback(args)

    def begin(self, args):
        """A compilation begins."""
        with self._lock:
            self._pending += 1
            if self._pending == 1:
                self.run_start_callbacks(args)

    def end(self, args):
        """A compilation ends."""
        with self._lock:
            try:
                if self._pending == 1:
                    self.run_end_callbacks(args)
            finally:
                self._pending -= 1

    @contextlib.contextmanager
    def install_callbacks(self, trigger, compile_id):
        """The scope of a compilation."""
        args = CallbackArgs(trigger, compile_id)
        try:
            self.begin(args)
            yield
        finally:
            self.end(args)

    def clear(self):
        """Forgets all callbacks."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()
        if self._pending != 0:
            raise AssertionError(f"Cannot clear callbacks while {self._pending} are pending")


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback):
    """Registers a function that is called when a compilation begins; a decorator."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback):
    """Registers a function that is called when a compilation ends; a decorator."""
    return callback_handler.register_end_callback(callback)
