"""What a program may ask and tell about being compiled."""

import importlib

from under_test import NAME, t

compiler = importlib.import_module(f"{NAME}.compiler")
export = importlib.import_module(f"{NAME}.export").export


class Asks(t.nn.Module):
    def forward(self, x):
        return x * 2 if compiler.is_compiling() and compiler.is_exporting() else x * 3


def test_a_program_knows_that_it_is_exported():
    x = t.ones(2)
    program = export(Asks(), (x,))
    assert t.equal(program.module()(x), x * 2)
    assert t.equal(Asks()(x), x * 3)
    assert not compiler.is_compiling() and not compiler.is_dynamo_compiling()


def test_functions_are_marked_as_not_to_be_compiled():
    @compiler.disable
    def plain(x):
        return x + 1

    @compiler.disable(recursive=False, reason="it prints")
    def with_arguments(x):
        return x + 2

    assert plain(1) == 2 and with_arguments(1) == 3
    assert plain._torchdynamo_disable and with_arguments._torchdynamo_disable
