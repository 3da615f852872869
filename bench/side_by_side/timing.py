"""Measures calls: milliseconds of a large one, microseconds of a small one."""

import statistics
import time
from collections.abc import Callable
from types import ModuleType

# A function that measures a case, and the case with its name. It gives one figure or several.
Measure = Callable[[], float | dict[str, float]]
Case = tuple[str, Measure]

# A case this slow is not repeated further.
ENOUGH_SECONDS = 10


class Clock:
    """Times calls that leave their work to a device, or do it themselves."""

    def __init__(self, library: ModuleType, device: str) -> None:
        self.synchronize: Callable[[], object] = lambda: None
        if device.startswith("cuda"):
            self.synchronize = library.cuda.synchronize

    def milliseconds(self, call: Callable[[], object], repeats: int = 11, warm: int = 3) -> float:
        """The median of `repeats` calls after `warm` ones that do not count."""
        for _ in range(warm):
            call()
        self.synchronize()
        times: list[float] = []
        while len(times) < repeats and (len(times) < 2 or sum(times) < ENOUGH_SECONDS):
            start = time.perf_counter()
            call()
            self.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3


def microseconds(call: Callable[[], object], count: int = 10_000, repeats: int = 5) -> float:
    """The time of one call on the host, the best of several runs of `count` calls."""
    for _ in range(300):
        call()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def settle(library: ModuleType) -> None:
    """Waits until background compilation is done, where a framework has such a thing."""
    wait = getattr(getattr(library, "compiler", None), "wait", None)
    if wait is not None:
        wait()
