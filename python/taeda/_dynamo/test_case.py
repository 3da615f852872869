"""PyTorch's path of the test case of compiled programs: `taeda.testing.compiled_cases`."""

from taeda.testing.compiled_cases import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
