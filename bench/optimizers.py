#!/usr/bin/env python3
"""Cost of AdamW's step over the parameters of GPT-2, and over as many small tensors.

    ./run python bench/optimizers.py [--repeat 9] [--threads 2]

GPT-2 with a tied head has 148 tensors of 124 million numbers; a step reads four and writes three
per number, 28 bytes. Beside it: what a copy moves per second, and the step's share of that rate.
PyTorch's row is its fused form. Packages take turns, since the machine may serve others too.
"""

import argparse
import importlib
import time

BYTES_PER_NUMBER = 28


def gpt2_shapes(layers=12, width=768, words=50257, places=1024):
    """The parameters of GPT-2 small: embeddings, blocks, the last norm; the head is tied."""
    block = [
        (width,), (width,), (width, 3 * width), (3 * width,), (width, width), (width,),
        (width,), (width,), (width, 4 * width), (4 * width,), (4 * width, width), (width,),
    ]  # fmt: skip
    return [(words, width), (places, width), *block * layers, (width,), (width,)]


def stepper(t, shapes, **form):
    """A function that steps AdamW once over tensors of these shapes."""
    params = [t.zeros(shape).requires_grad_() for shape in shapes]
    for param in params:
        param.grad = t.full(param.shape, 0.1)
    optimizer = t.optim.AdamW(params, **form)
    optimizer.step()
    return optimizer.step


def elapsed(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def best(calls, count, repeat):
    """The least time of each call, in turns."""
    times = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            times[name].append(elapsed(call, count))
    return {name: min(found) for name, found in times.items()}


def packages():
    # PyTorch 2.11 crashes on Python 3.12 where it is imported after Taeda.
    try:
        peer = {"torch": importlib.import_module("torch")}
    except ModuleNotFoundError:
        peer = {}
        print("PyTorch is not installed: ./run peers")
    return {"taeda": importlib.import_module("taeda"), **peer}


def steppers(found, shapes):
    ours = found["taeda"]
    calls = {
        "taeda default": stepper(ours, shapes),
        "taeda fused": stepper(ours, shapes, fused=True),
    }
    if "torch" in found:
        calls["torch fused"] = stepper(found["torch"], shapes, fused=True)
    return calls


def copy_rate(t, repeat):
    """Bytes that a copy reads and writes per second."""
    source, target = t.ones(1 << 26), t.ones(1 << 26)
    return 2 * source.numel() * 4 / best({"": lambda: target.copy_(source)}, 1, repeat)[""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--threads", type=int, help="of each package; what it chooses else")
    options = parser.parse_args()
    repeat, found = options.repeat, packages()
    if options.threads:
        for t in found.values():
            t.set_num_threads(options.threads)
    shapes = gpt2_shapes()
    numbers = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes)
    rate = copy_rate(found["taeda"], repeat)
    print(f"copy {rate / 1e9:.1f} GB/s; {len(shapes)} tensors, {numbers / 1e6:.1f} M numbers")
    large = best(steppers(found, shapes), 1, repeat)
    small = best(steppers(found, [(100,)] * len(shapes)), 50, repeat)
    print(f"{'':16}{'GPT-2 ms':>10}{'of copy':>9}{'ratio':>7}{'small us':>10}{'ratio':>7}")
    for name, seconds in large.items():
        share = numbers * BYTES_PER_NUMBER / seconds / rate
        ratios = [times[name] / times.get("torch fused", float("nan")) for times in (large, small)]
        print(
            f"{name:16}{seconds * 1e3:10.1f}{share:9.2f}{ratios[0]:7.2f}"
            f"{small[name] * 1e6:10.1f}{ratios[1]:7.2f}"
        )


if __name__ == "__main__":
    main()
