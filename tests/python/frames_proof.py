"""The proof of the frame evaluator: each function of a corpus plainly, then with hand-backs forced.

Runs on any CPython that taeda._frames was built for, with the standard library alone:
`python frames_proof.py [--pairs N] [--only TEXT] [--report FILE]`. Exit status 1 with a difference.

A case is a function of one argument, a Probe, in a module of frames_corpus. It returns plain data,
or raises; what it does to the world goes through `probe.log`. Its decorators say more:

    @over(function, ...)   hand-backs are forced in the code of these functions, too
    @pure                  nothing is changed, not even an iterator, so segments may be run again
"""

import argparse
import gc
import importlib
import pkgutil
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import frames_corpus

from taeda import _frames

# Modules of the corpus with syntax that older versions cannot read.
SINCE = {"since_312": (3, 12)}


class Probe:
    """An object that a case stores, passes and closes over; its references are counted."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def log(self, *event: object) -> None:
        self.events.append(event)


@dataclass
class Outcome:
    """What a run showed: a value or an exception with its traceback, events, references left."""

    value: object = None
    error: str | None = None
    lines: list[tuple[str, int, str]] = field(default_factory=list)
    events: list[object] = field(default_factory=list)
    references: tuple[int, int, int] = (0, 0, 0)


def _describe(error: BaseException) -> str:
    """An exception with its causes and contexts, by type and arguments."""
    parts, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        notes = getattr(error, "__notes__", None)
        parts.append(f"{type(error).__name__}{error.args!r}{notes or ''}")
        linked = error.__cause__ is not None or not error.__suppress_context__
        error = (error.__cause__ or error.__context__) if linked else None
    return " <- ".join(parts)


def _lines(error: BaseException) -> list[tuple[str, int, str]]:
    """The traceback below the harness: file, line and function."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        (frame.filename, frame.lineno, frame.name) for frame in frames if frame.filename != __file__
    ]


def observe(case: Callable, call: Callable) -> Outcome:
    """Runs a case through `call` and records everything that can be compared."""
    probe = Probe()
    before = sys.getrefcount(probe), sys.getrefcount(case), sys.getrefcount(case.__code__)
    outcome = Outcome()
    try:
        outcome.value = call(case, probe)
    except BaseException as error:
        outcome.error = _describe(error)
        outcome.lines = _lines(error)
        traceback.clear_frames(error.__traceback__)
        del error
    outcome.events = list(probe.events)
    probe.events.clear()
    result = outcome.value
    outcome.value = _plain(result)
    del result
    gc.collect(0)
    after = sys.getrefcount(probe), sys.getrefcount(case), sys.getrefcount(case.__code__)
    if after != before:  # cycles of the case's own, or a leak
        gc.collect()
        after = sys.getrefcount(probe), sys.getrefcount(case), sys.getrefcount(case.__code__)
    outcome.references = tuple(b - a for a, b in zip(before, after, strict=True))
    return outcome


def _plain(value: object) -> str:
    """A value as text, so that nothing of the run stays alive."""
    return f"{type(value).__name__}: {value!r}"


def codes_of(function: object) -> Iterator[types.CodeType]:
    """The code of a function and of everything that is defined inside of it."""
    pending = [getattr(function, "__code__", function)]
    while pending:
        code = pending.pop()
        yield code
        pending.extend(const for const in code.co_consts if isinstance(const, types.CodeType))


def places_of(case: Callable) -> list[tuple[types.CodeType, int]]:
    """Every instruction at which a hand-back is forced."""
    functions = [case, *getattr(case, "over", ())]
    return [
        (code, offset)
        for function in functions
        for code in codes_of(function)
        for offset in _frames.offsets(code)
    ]


def _plainly(case: Callable, probe: Probe) -> object:
    return case(probe)


@dataclass
class Tally:
    cases: int = 0
    runs: int = 0
    hand_backs: int = 0
    rebuilt: int = 0
    rollbacks: int = 0
    differences: list[str] = field(default_factory=list)


def prove(case: Callable, pairs: int, tally: Tally, seed: int = 0) -> None:
    """Compares a case's evaluated runs with its plain one; differences go to the tally."""
    chance = random.Random(f"{case.__qualname__}/{seed}")
    observe(case, _plainly)  # caches and lazy imports of the case's first run
    expected = observe(case, _plainly)
    again = observe(case, _plainly)
    if again != expected:
        tally.differences.append(f"{case.__qualname__}: two plain runs differ: {expected} {again}")
        return
    tally.cases += 1
    places = places_of(case)

    def check(name: str, **options: object) -> None:
        session = _frames.Session(skipped=[Probe.log.__code__], **options)
        actual = observe(case, session.run)
        tally.runs += 1
        for key in ("hand_backs", "rebuilt", "rollbacks"):
            setattr(tally, key, getattr(tally, key) + session.counts[key])
        if actual != expected:
            tally.differences.append(
                f"{case.__module__}.{case.__qualname__} {name}:\n  plain     {expected}\n"
                f"  evaluated {actual}"
            )

    check("evaluated")
    for place in places:
        code, offset = place
        check(f"handed back at {code.co_name}+{offset}", places=[place])
    for index in range(pairs):
        two = chance.sample(places, min(2, len(places)))
        where = ", ".join(f"{code.co_name}+{offset}" for code, offset in two)
        check(
            f"handed back at {where}",
            places=two,
            callers=index % 2 == 1,
            rebuild=index % 3 != 0,
        )
        check("handed back by chance", one_in=7, seed=chance.getrandbits(32), rebuild=True)
    if getattr(case, "pure", False):
        for _ in range(2 * pairs):
            begin, fail = chance.sample(places, 2)
            where = f"{begin[0].co_name}+{begin[1]} to {fail[0].co_name}+{fail[1]}"
            check(f"segment {where}", segment=begin, failure=fail)


def cases(only: str = "") -> Iterator[Callable]:
    """The functions of the corpus, by module and in the order of their definition."""
    for info in pkgutil.iter_modules(frames_corpus.__path__):
        if sys.version_info < SINCE.get(info.name, (3, 11)):
            continue
        module = importlib.import_module(f"frames_corpus.{info.name}")
        for name, value in list(vars(module).items()):
            if name.startswith("case_") and only in f"{info.name}.{name}":
                yield value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4, help="random pairs of places per case")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally = Tally()
    for case in cases(options.only):
        prove(case, options.pairs, tally, options.seed)
    for text in tally.differences[:20]:
        print(text)
    print(
        f"Python {sys.version.split()[0]}: {tally.cases} cases, {tally.runs} runs, "
        f"{tally.hand_backs} hand-backs, {tally.rebuilt} frames rebuilt, "
        f"{tally.rollbacks} rollbacks, {len(tally.differences)} differences"
    )
    raise SystemExit(1 if tally.differences else 0)


if __name__ == "__main__":
    main()
