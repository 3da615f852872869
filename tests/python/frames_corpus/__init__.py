"""Python functions for the proof of the frame evaluator (frames_proof.py says what a case is)."""

import inspect
from collections.abc import Callable


def over(*functions: Callable) -> Callable[[Callable], Callable]:
    """Hand-backs are forced in the code of these functions (below their wrappers) as well."""

    def mark(case: Callable) -> Callable:
        case.over = tuple(map(inspect.unwrap, functions))
        return case

    return mark


def pure(case: Callable) -> Callable:
    """A case that changes nothing, not even an iterator: its segments may be run again."""
    case.pure = True
    return case
