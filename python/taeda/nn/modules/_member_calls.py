"""Layers whose forward is one call of a function: what a call of the layer may do in C++."""

from taeda import _C


def calls(home, name, *members, keywords=()):
    """Says that forward is one call: `home.name(input, self.member, ..., keyword=self.keyword)`.

    A call of the layer then reads the members and calls the function without running the Python
    code, wherever nobody could tell; see Note [Forward as a call of a function] in
    python/src/module_call.cpp.
    """

    def note(forward):
        code = forward.__code__
        line = min(at for _, _, at in code.co_lines() if at and at != code.co_firstlineno)
        return _C._member_call(forward, vars(home), name, members, keywords, line)

    return note
