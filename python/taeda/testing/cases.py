"""The test case that tests of extensions derive from: `assertEqual` knows tensors."""

import unittest

import taeda
from taeda.testing import assert_close
from taeda.utils._pytree import tree_leaves

__all__ = ["TestCase", "run_tests"]


class TestCase(unittest.TestCase):
    """unittest's, but values with tensors inside are compared with `assert_close`."""

    def assertEqual(
        self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True
    ):
        leaves = (*tree_leaves(x), *tree_leaves(y))
        if not any(isinstance(leaf, taeda.Tensor) for leaf in leaves):
            if atol is not None:
                assert_close(x, y, atol=atol, rtol=rtol, equal_nan=equal_nan, msg=msg)
            else:
                super().assertEqual(x, y, msg)
            return
        assert_close(
            x, y, atol=atol, rtol=rtol, equal_nan=equal_nan, check_dtype=exact_dtype, msg=msg
        )


def run_tests(argv=None):
    """Runs the cases of the calling script."""
    unittest.main(argv=argv)
