"""What frames cost: the hook, hand-backs and the plain evaluator.

    ./run python bench/frames.py [--repeat N]

Other versions: build the module alone (tools/build_frames.py) and run this file with its folder on
PYTHONPATH. Each row is the best of N.
"""

import argparse
import functools
import sys
import time
from collections.abc import Callable

from taeda import _frames

CALLS = 100_000


def callee(x: int) -> int:
    return x


def calls(count: int = CALLS) -> None:
    for i in range(count):
        callee(i)


def loop(count: int = CALLS) -> int:
    total = 0
    for i in range(count):
        if i & 1:
            total += i * 3
        else:
            total -= i
    return total


def attributes(count: int = CALLS) -> int:
    class Point:
        def __init__(self, x: int, y: int) -> None:
            self.x, self.y = x, y

        def norm(self) -> int:
            return self.x * self.x + self.y * self.y

    point = Point(1, 2)
    total = 0
    for _ in range(count):
        total += point.norm()
    return total


def best(function: Callable[[], object], repeat: int) -> float:
    """The shortest of the timings, in seconds."""
    function()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def per_call(repeat: int) -> dict[str, float]:
    """Nanoseconds of a plain call without the loop around it; the hooks take turns."""

    def empty() -> None:
        for _ in range(CALLS):
            pass

    def nothing(is_on: bool) -> None:
        pass

    hooks = {
        "no hook": nothing,
        "a hook that does nothing": _frames._set_empty_hook,
        "the hook, not needed": _frames._set_idle_hook,
    }
    times = dict.fromkeys(hooks, float("inf"))
    for _ in range(repeat):
        for name, switch in hooks.items():
            switch(True)
            times[name] = min(times[name], best(calls, 3))
            switch(False)
    around = best(empty, repeat)
    return {name: (value - around) / CALLS * 1e9 for name, value in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    print(f"Python {sys.version.split()[0]}")
    times = per_call(repeat)
    for name, value in times.items():
        print(f"{'a plain call, ' + name:42}{value:8.1f} ns")
    above = times["the hook, not needed"] - times["a hook that does nothing"]
    print(f"{'the hook above one that does nothing':42}{above:8.1f} ns")

    evaluated = best(lambda: _frames.Session().run(calls), repeat)
    first = _frames.offsets(callee.__code__)[0]
    handed = best(lambda: _frames.Session(places=[(callee.__code__, first)]).run(calls), repeat)
    rebuilt = best(
        lambda: _frames.Session(places=[(callee.__code__, first)], rebuild=True).run(calls), repeat
    )
    print(f"an entered call, evaluated                {evaluated / CALLS * 1e9:8.1f} ns")
    print(
        f"an entered call, handed back at its start {handed / CALLS * 1e9:8.1f} ns  "
        f"(the hand-back: {(handed - evaluated) / CALLS * 1e9:.0f})"
    )
    print(f"the same with its frames made anew        {rebuilt / CALLS * 1e9:8.1f} ns")

    for function in (loop, attributes, calls):
        session = _frames.Session()
        session.run(function)
        count = session.counts["instructions"]
        slow = best(functools.partial(_frames.Session().run, function), repeat)
        fast = best(function, repeat)
        print(
            f"{function.__name__:12} {count} instructions: evaluated {slow / count * 1e9:.1f} ns "
            f"each, CPython {fast / count * 1e9:.1f} ns each ({slow / fast:.1f} times)"
        )


if __name__ == "__main__":
    main()
