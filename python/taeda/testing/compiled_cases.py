"""The test case that tests of compiled programs derive from."""

import contextlib
import importlib.util

import taeda
from taeda.compiler import reset
from taeda.compiler._counters import counters
from taeda.testing.cases import TestCase as _TestCase
from taeda.testing.cases import run_tests as _run_tests
from taeda.utils._config_module import dynamo_config as config

__all__ = ["TestCase", "run_tests"]


def run_tests(needs=()):
    """Runs the cases of the calling script, where the modules that they need can be imported."""
    for need in (needs,) if isinstance(needs, str) else needs:
        is_there = taeda.cuda.is_available() if need == "cuda" else importlib.util.find_spec(need)
        if not is_there:
            return
    _run_tests()


class TestCase(_TestCase):
    """Each case begins without compiled programs and counts, and leaves none.

    Errors of compilers are errors. `setUpClass` opens `_exit_stack` for settings of a class.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._exit_stack = contextlib.ExitStack()
        cls._exit_stack.enter_context(config.patch(suppress_errors=False))

    @classmethod
    def tearDownClass(cls):
        cls._exit_stack.close()
        super().tearDownClass()

    def setUp(self):
        self._had_grad = taeda.is_grad_enabled()
        super().setUp()
        reset()
        counters.clear()

    def tearDown(self):
        reset()
        counters.clear()
        super().tearDown()
        taeda.set_grad_enabled(self._had_grad)
