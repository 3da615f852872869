#!/usr/bin/env python3
"""Samples per second through a DataLoader with worker processes, and through a queue.

    ./run python bench/data_loading.py [--repeat 5] [--workers 2] [--seconds 2]

Samples are small, so that what is timed is the way from worker to consumer: a tensor and a label,
collated or not, a dict of several tensors, and pictures of 3 x 224 x 224 bytes for the other end. A
row is the best of several epochs; packages take turns, since the machine may serve others too.
Workers stay from epoch to epoch, so that no row holds the start of a process; `start` is that.
"""

import argparse
import importlib
import time


class Samples:
    """Map-style samples, each made by a function of the package and the index."""

    def __init__(self, count, make):
        self.count = count
        self.make = make

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.make(i)


def vector_and_label(t, count):
    rows = t.arange(64.0).repeat(count, 1)
    return Samples(count, lambda i: (rows[i], i))


def several_fields(t, count):
    rows = t.arange(16).repeat(count, 1)
    names = ("ids", "mask", "types", "labels")
    return Samples(count, lambda i: dict.fromkeys(names, rows[i]))


def picture(t, count):
    pixels = t.zeros(3, 224, 224, dtype=t.uint8)
    return Samples(count, lambda i: (pixels, i))


def as_list(samples):
    return samples


CASES = {
    "vector and label, batches of 1": (vector_and_label, 4_000, {"batch_size": 1}),
    "vector and label, batches of 8": (vector_and_label, 16_000, {"batch_size": 8}),
    "vector and label, batches of 64": (vector_and_label, 32_000, {"batch_size": 64}),
    "four fields, batches of 32": (several_fields, 16_000, {"batch_size": 32}),
    "vectors not collated, lists of 32": (
        vector_and_label,
        8_000,
        {"batch_size": 32, "collate_fn": as_list},
    ),
    "picture, batches of 32": (picture, 3_000, {"batch_size": 32}),
}


def packages():
    # PyTorch 2.11 crashes on Python 3.12 where it is imported after Taeda.
    try:
        peer = {"torch": importlib.import_module("torch")}
    except ModuleNotFoundError:
        peer = {}
        print("PyTorch is not installed: ./run peers")
    found = {"taeda": importlib.import_module("taeda"), **peer}
    for name in found:
        importlib.import_module(f"{name}.utils.data")
        importlib.import_module(f"{name}.multiprocessing")
    return found


def epoch_rate(loader, count):
    start = time.perf_counter()
    for _ in loader:
        pass
    return count / (time.perf_counter() - start)


def loader_rates(found, case, options):
    """The best rate of each package in samples per second."""
    make, count, arguments = CASES[case]
    loaders = {
        name: t.utils.data.DataLoader(
            make(t, count), num_workers=options.workers, persistent_workers=True, **arguments
        )
        for name, t in found.items()
    }
    rates = dict.fromkeys(found, 0.0)
    for _ in range(options.repeat + 1):  # the first epoch starts the workers
        for name, loader in loaders.items():
            rates[name] = max(rates[name], epoch_rate(loader, count))
    return rates


def start_times(found, options):
    """Milliseconds from `iter` to the first batch with new workers, and to their end."""
    times = dict.fromkeys(found, float("inf"))
    for _ in range(options.repeat):
        for name, t in found.items():
            data = vector_and_label(t, 2 * options.workers)
            start = time.perf_counter()
            for _ in t.utils.data.DataLoader(data, num_workers=options.workers):
                pass
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
    return times


def echo(tasks, results):
    while (tensor := tasks.get()) is not None:
        results.put(tensor)


def queue_rates(found, options):
    """Tensors per second to another process and back, one at a time."""
    rates = {}
    for name, t in found.items():
        context = t.multiprocessing.get_context("fork")
        tasks, results = context.SimpleQueue(), context.SimpleQueue()
        process = context.Process(target=echo, args=(tasks, results), daemon=True)
        process.start()
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < options.seconds:
            tasks.put(t.zeros(64))
            results.get()
            count += 1
        rates[name] = count / (time.perf_counter() - start)
        tasks.put(None)
        process.join()
    return rates


def print_row(case, values, form, is_rate):
    row = f"{case:36}" + "".join(f"{values[name]:>14{form}}" for name in values)
    if len(values) == 2:
        ratio = values["torch"] / values["taeda"] if is_rate else values["taeda"] / values["torch"]
        row += f"{ratio:>10.2f}"
    print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    found = packages()
    head = "".join(f"{name:>14}" for name in found) + (f"{'ratio':>10}" if len(found) == 2 else "")
    print(f"{f'samples per second, {options.workers} workers':36}{head}")
    for case in CASES:
        print_row(case, loader_rates(found, case, options), ",.0f", is_rate=True)
    print_row("tensor through a queue and back", queue_rates(found, options), ",.0f", is_rate=True)
    print_row("start and end of workers, ms", start_times(found, options), ".1f", is_rate=False)


if __name__ == "__main__":
    main()
