"""A class of tests once more, with settings changed."""

import functools
import unittest
from contextlib import ExitStack
from unittest import mock


def _patch(owner, name, value):
    """A scope in which a setting has another value."""
    if hasattr(owner, "patch"):
        return owner.patch(name, value)
    return mock.patch.object(owner, name, value)


def _patched(function, patches):
    @functools.wraps(function)
    def run(*args, **kwargs):
        with ExitStack() as stack:
            for owner, name, value in patches:
                stack.enter_context(_patch(owner, name, value))
            return function(*args, **kwargs)

    return run


def make_test_cls_with_patches(
    cls, cls_prefix, fn_suffix, *patches, xfail_prop=None, decorator=lambda function: function
):
    """A class whose tests are those of `cls`, each inside `patches`: (owner, name, value).

    Tests that have the attribute `xfail_prop` are expected to fail.
    """
    made = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {})
    made.__qualname__ = made.__name__
    for name in dir(cls):
        value = getattr(cls, name)
        if name.startswith("test_") and callable(value):
            test = _patched(value, patches)
            test.__name__ = f"{name}{fn_suffix}"
            if xfail_prop is not None and hasattr(value, xfail_prop):
                test = unittest.expectedFailure(test)
            setattr(made, test.__name__, decorator(test))
        elif not hasattr(made, name):
            setattr(made, name, value)
    return made
