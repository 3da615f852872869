"""Functions of the program that are told when a compilation begins and ends."""

import contextlib
from _thread import RLock

__all__ = [
    "CompilationCallbackHandler",
    "callback_handler",
    "on_compile_end",
    "on_compile_start",
]


class CompilationCallbackHandler:
    """Callbacks in the order in which they were registered.

    Of compilations inside of others, the outermost is told.
    """

    def __init__(self):
        self.start_callbacks = []
        self.end_callbacks = []
        self._pending = 0
        self._lock = RLock()

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

    def begin(self, trigger, compile_id):
        """A compilation begins; `trigger` is a CallbackTrigger or its name."""
        with self._lock:
            self._pending += 1
            if self._pending == 1 and self.start_callbacks:
                self.run_start_callbacks(_args(trigger, compile_id))

    def end(self, trigger, compile_id):
        """A compilation ends."""
        with self._lock:
            try:
                if self._pending == 1 and self.end_callbacks:
                    self.run_end_callbacks(_args(trigger, compile_id))
            finally:
                self._pending -= 1

    @contextlib.contextmanager
    def install_callbacks(self, trigger, compile_id):
        """The scope of a compilation."""
        try:
            self.begin(trigger, compile_id)
            yield
        finally:
            self.end(trigger, compile_id)

    def clear(self):
        """Forgets all callbacks."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()
        if self._pending != 0:
            raise AssertionError(f"Cannot clear callbacks while {self._pending} are pending")


def _args(trigger, compile_id):
    from taeda.compiler._callback_args import CallbackArgs, CallbackTrigger

    return CallbackArgs(
        CallbackTrigger[trigger] if isinstance(trigger, str) else trigger, compile_id
    )


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback):
    """Registers a function that is called when a compilation begins; a decorator."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback):
    """Registers a function that is called when a compilation ends; a decorator."""
    return callback_handler.register_end_callback(callback)
