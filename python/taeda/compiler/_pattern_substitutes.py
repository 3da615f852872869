"""What captures enter in place of what the module re remembers: the same whether it does or not."""

import re

__all__ = ["SUBSTITUTES", "made_pattern"]


def made_pattern(pattern, flags):
    """The pattern of a text, which is the same at every call."""
    return re.compile(pattern, flags)


def _compile(pattern, flags):
    if not isinstance(pattern, re.Pattern):
        return made_pattern(pattern, flags)
    if flags:
        raise ValueError("cannot process flags argument with a compiled pattern")
    return pattern


SUBSTITUTES = {re._compile: _compile}
