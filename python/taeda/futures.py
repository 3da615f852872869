"""Results that will be there later: futures with callbacks, and waiting for several of them."""

import logging
import threading
import traceback
from typing import Generic, TypeVar

import taeda

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Future(Generic[T]):
    """A value that another thread or a callback gives; it is given once.

    Callbacks run in the thread that completes the future, or at once if it is complete.
    """

    def __init__(self, *, devices=None):
        for device in devices or ():
            if taeda.device(device).index is None:
                raise ValueError(f"Expected devices to have indices, got {device}")
        self._changed = threading.Condition()
        self._is_done = False
        self._value = self._error = None
        self._callbacks = []

    def done(self):
        """Whether the value, or an exception, is there."""
        return self._is_done

    def wait(self):
        """The value, once it is there; raises what `set_exception` was given."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self):
        """The value, which must be there; raises what `set_exception` was given."""
        if not self._is_done:
            raise RuntimeError("the future has no value yet: wait() waits for one")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback):
        """A future of what `callback(self)` gives, which is called once this one is complete."""
        following = Future()

        def run(future):
            try:
                result = callback(future)
            except Exception as error:
                text = f"Got the following error when running the callback: {_text(error)}"
                cause = RuntimeError(text)
                cause.__cause__ = error
                following.set_exception(cause)
            else:
                following.set_result(result)

        _checked(callback, "then")
        self._on_completion(run)
        return following

    def add_done_callback(self, callback):
        """Calls `callback(self)` once this future is complete; an error in it is logged."""

        def run(future):
            try:
                callback(future)
            except Exception as error:
                _log.error("Got the following error when running the callback: %s", _text(error))

        _checked(callback, "add_done_callback")
        self._on_completion(run)

    def set_result(self, result):
        """Completes the future with a value."""
        self._complete(result, None)

    def set_exception(self, result):
        """Completes the future with an exception, which `wait` and `value` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value, error):
        with self._changed:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def _on_completion(self, run):
        with self._changed:
            if not self._is_done:
                self._callbacks.append(run)
                return
        run(self)


def _checked(callback, method):
    if not callable(callback):
        raise TypeError(f"{method}(): the callback must be callable, not {type(callback).__name__}")


def _text(error):
    return "".join(traceback.format_exception_only(error)).strip()


def collect_all(futures):
    """A future of the list of futures, complete when all of them are, or when one has failed."""
    whole = Future()
    lock, waiting = threading.Lock(), len(futures)

    def one_is_complete(future):
        nonlocal waiting
        with lock:
            waiting -= 1
            is_last = waiting == 0
            is_first_error = future._error is not None and not whole.done()
            if is_first_error:
                whole.set_exception(future._error)
        if is_last and not whole.done():
            whole.set_result(list(futures))

    for future in futures:
        future._on_completion(one_is_complete)
    if not futures:
        whole.set_result([])
    return whole


def wait_all(futures):
    """The values of all futures; raises the first error without waiting for the rest."""
    return [future.wait() for future in collect_all(futures).wait()]
