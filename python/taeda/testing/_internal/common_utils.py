"""PyTorch's path of the test case of extensions, which is in `taeda.testing.cases`."""

from taeda.testing.cases import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
