"""Runs a record's inputs that must fail on both sides, and compares the exceptions."""

import re
from argparse import Namespace
from typing import Any

from parity.bridge import Bridge
from parity.report import Row, Tally, is_missing


def check_refusals(bridge: Bridge, record: Any, options: Namespace) -> Row:
    """How many of PyTorch's refusals Taeda shares; AttributeError where Taeda lacks it."""
    function = bridge.counterparts.of_record(record)
    tally = Tally("errors")
    for index, case in enumerate(record.error_inputs("cpu")):
        sample = case.sample_input
        try:
            record.op(sample.input, *sample.args, **sample.kwargs)
            continue  # this PyTorch accepts it
        except Exception as error:
            expected = type(error)
        try:
            value, args, kwargs = bridge.call_of(sample)
            function(value, *args, **kwargs)
            found = f"no error, expected {expected.__name__}"
        except Exception as error:
            if options.built and is_missing(error):
                raise
            phrase = case.error_regex if options.phrases else ""
            found = other_refusal(error, (expected, case.error_type), phrase)
        tally.add(f"case {index}", found)
    return tally.row()


def other_refusal(error: Exception, expected: tuple[type, ...], phrase: str) -> str | None:
    """What is wrong with an exception: its type, or that its message lacks `phrase`, a regex."""
    message = str(error)
    if not isinstance(error, expected):
        return f"{type(error).__name__}, expected {expected[0].__name__}: {message[:120]}"
    if not re.search(phrase, message):
        return f"phrase {phrase[:60]!r} not in {message[:80]!r}"
    return None
