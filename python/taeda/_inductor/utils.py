"""What was compiled while a function ran, and how long it runs; PyTorch's path.

    result, code = run_and_get_code(taeda.compile(f), x)

A compiled program has a text per graph, with the backward a second one: its steps, kernels and
calls of operators in their order, then the kernels as C++.
"""

import statistics
import time

from . import metrics

__all__ = [
    "print_performance",
    "run_and_get_code",
    "run_and_get_cpp_code",
    "run_fw_bw_and_get_code",
    "timed",
]


def _texts(plan):
    return [text + source for text, source in zip(plan.texts(), plan.sources(), strict=True)]


def run_and_get_code(fn, *args, **kwargs):
    """What a function gives, and the texts of what was compiled for it, as a list.

    Programs that were compiled before are compiled again.
    """
    from taeda.compiler import reset

    reset()
    with metrics.recorded() as programs:
        result = fn(*args, **kwargs)
    return result, list(dict.fromkeys(text for one in programs for text in _texts(one._plan)))


def run_fw_bw_and_get_code(fn):
    """The same of a function without arguments and of the backward of its sum."""

    def run():
        result = fn()
        result.sum().backward()
        return result

    return run_and_get_code(run)


def run_and_get_cpp_code(fn, *args, **kwargs):
    """The same, as one text."""
    result, code = run_and_get_code(fn, *args, **kwargs)
    return result, "\n".join(code)


def timed(model, example_inputs, times=1, device="cpu"):
    """Seconds that some calls take together."""
    import taeda

    taeda.manual_seed(1337)
    start = time.perf_counter()
    for _ in range(times):
        model(*example_inputs)
    return time.perf_counter() - start


def print_performance(model, example_inputs=(), times=10, repeat=10, baseline=1.0, device="cpu"):
    """Prints and returns the seconds of a call, a median; `baseline` divides what is printed."""
    runs = [timed(model, example_inputs, times, device) for _ in range(repeat)]
    took = statistics.median_low(runs) / times
    print(f"{took / baseline:.6f}")
    return took
