"""Stacks that are kept and read later."""

import importlib

from under_test import NAME

captured = importlib.import_module(f"{NAME}.utils._traceback").CapturedTraceback
profiler = importlib.import_module(f"{NAME}._C._profiler")


def test_a_stack_is_read_later():
    def inner():
        return captured.extract()

    stack = inner()
    last = stack.summary()[-1]
    assert last.name == "inner" and last.filename == __file__
    assert any("in test_a_stack_is_read_later" in line for line in stack.format())


def test_frames_that_are_skipped():
    def inner():
        return captured.extract(skip=1)

    assert inner().summary()[-1].name == "test_frames_that_are_skipped"


def test_frames_of_several_stacks():
    stacks = [profiler.gather_traceback(python=True, script=False, cpp=False) for _ in range(2)]
    for frames in profiler.symbolize_tracebacks(stacks):
        names = [frame["name"] for frame in frames]
        assert "test_frames_of_several_stacks" in names
        assert {"name", "filename", "line"} <= set(frames[0])
