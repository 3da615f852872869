"""Runs a record's samples on both sides, and compares results and gradients."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from parity.ahead import AheadOfTime
from parity.bridge import Bridge
from parity.captured import Captured
from parity.comparison import Comparison, dtype_name, tensors_in
from parity.report import Row, Tally, is_missing, is_to_come, one_line

# What these return is memory as it was found.
UNINITIALIZED = ("empty", "new_empty", "resize")


class Expected(NamedTuple):
    """PyTorch's result, and whether another seed gives other values."""

    result: Any
    is_random: bool


def check_samples(bridge: Bridge, record: Any, dtype: Any, options: Namespace) -> Row:
    """How many samples of a record agree in one dtype; AttributeError where Taeda lacks it."""
    function = bridge.counterparts.of_record(record)
    with_grad = options.grad and dtype.is_floating_point and record.supports_autograd
    tally = Tally(dtype_name(dtype))
    for index, sample in enumerate(record.sample_inputs("cpu", dtype, requires_grad=with_grad)):
        if options.samples and index >= options.samples:
            break
        expected = expected_of(bridge.torch, record, sample)
        if expected is None:
            continue
        try:
            has_values = not record.name.startswith(UNINITIALIZED)
            calls = calls_to_compare(bridge.taeda, function, options, has_values, tally.fallbacks)
            found = difference(bridge, calls, sample, expected, with_grad)
        except Exception as error:
            if options.built and is_missing(error):
                raise
            if options.built and is_to_come(error):
                continue
            found = one_line(error)
        tally.add(f"sample {index}", found)
    return tally.row()


def expected_of(torch: ModuleType, record: Any, sample: Any) -> Expected | None:
    """What PyTorch gives for a sample; None where it refuses."""
    results = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        try:
            results.append(record.op(sample.input, *sample.args, **sample.kwargs))
        except Exception:
            break
    if not results:
        return None
    is_random = record.name.startswith(UNINITIALIZED) or (
        len(results) == 2 and differ(torch, *results)
    )
    return Expected(results[0], is_random)


def differ(torch: ModuleType, first: Any, second: Any) -> bool:
    """Whether two results of one call hold other values, NaN aside."""

    def numbers(tensor: Any) -> Any:
        return tensor.nan_to_num() if tensor.is_floating_point() else tensor

    pairs = zip(tensors_in(first, torch.Tensor), tensors_in(second, torch.Tensor))
    try:
        return any(
            one.shape == other.shape
            and one.layout == torch.strided
            and not torch.equal(numbers(one), numbers(other))
            for one, other in pairs
        )
    except RuntimeError:  # tensors without values
        return False


def calls_to_compare(
    taeda: ModuleType,
    function: Callable,
    options: Namespace,
    has_values: bool,
    fallbacks: set[str],
) -> Iterator[tuple[str, Callable]]:
    """What to call, by the name of its result.

    A compiled function is made anew and called twice: before its native code is there and after.
    A function traced ahead of time adds what it calls for want of a lowering to `fallbacks`.
    """
    if options.aot:
        yield (
            "result",
            AheadOfTime(
                taeda,
                function,
                is_dynamic=options.dynamic,
                is_native=options.native,
                has_values=has_values,
                fallbacks=fallbacks,
            ),
        )
        return
    if not options.compiled:
        yield "result", function
        return
    for owner in (getattr(taeda, "compiler", None), getattr(taeda, "_dynamo", None)):
        if hasattr(owner, "reset"):
            owner.reset()
            break
    compiled = Captured(taeda, function, has_values)
    yield "result", compiled
    wait = getattr(getattr(taeda, "compiler", None), "wait", None)
    if wait is not None:
        wait()
        yield "native", compiled


def difference(
    bridge: Bridge,
    calls: Iterator[tuple[str, Callable]],
    sample: Any,
    expected: Expected,
    with_grad: bool,
) -> str | None:
    """What differs between PyTorch's result and those of `calls`, then between the gradients."""
    is_random = expected.is_random
    for path, function in calls:
        value, args, kwargs = bridge.call_of(sample, with_grad)
        got = function(value, *args, **kwargs)
        is_random |= getattr(function, "draws", False)
        comparison = Comparison(bridge, with_values=not is_random)
        found = comparison.difference(expected.result, got, path)
        if found:
            return found
    if not with_grad or is_random:
        return None
    try:
        want = gradients(bridge.torch, expected.result, (sample.input, sample.args, sample.kwargs))
    except Exception:
        return None
    if want is None:
        return None
    have = gradients(bridge.taeda, got, (value, args, kwargs))
    pairs = [pair for pair in zip(want, have or ()) if pair[0] is not None]
    if not pairs and any(gradient is not None for gradient in want):
        return "gradient: got a result that requires none"
    return comparison.difference(*map(list, zip(*pairs)), "gradient") if pairs else None


def gradients(library: ModuleType, result: Any, inputs: Any) -> tuple | None:
    """Gradients of a sum in which every element of the result counts; None where there are none."""
    leaves = [x for x in tensors_in(inputs, library.Tensor) if x.requires_grad]
    total = None
    for index, output in enumerate(tensors_in(result, library.Tensor)):
        if not output.requires_grad:
            continue
        if output.is_complex():
            part = library.view_as_real(output).sum()
        else:
            part = (output * (index + 1) * 0.5).sum() + (output * output).sum() * 0.25
        total = part if total is None else total + part
    return None if total is None else library.autograd.grad(total, leaves, allow_unused=True)
