#!/usr/bin/env python3
"""Cost of a call through function transforms on a few numbers, beside PyTorch's where installed.

    ./run python bench/transforms.py [--repeat 7]

Each row is the best time of a call in microseconds; the last column is Taeda's share of PyTorch's.
"""

import argparse
import importlib
import time


def best(call, count, repeat):
    """The least time of a call, over several runs of `count` calls."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - start) / count)
    return min(times) * 1e6


def calls(t, func):
    x, batch = t.ones(4), t.ones(3, 4)

    def square(a):
        return a * a

    def total(a):
        return (a * a).sum()

    grad, vmap, per_sample = func.grad(total), func.vmap(square), func.vmap(func.grad(total))
    jacrev, jacfwd, hessian = func.jacrev(square), func.jacfwd(square), func.hessian(total)
    return {
        "plain sum": (lambda: total(x), 2000),
        "grad": (lambda: grad(x), 500),
        "vmap": (lambda: vmap(batch), 1000),
        "vmap(grad)": (lambda: per_sample(batch), 300),
        "vjp": (lambda: func.vjp(square, x)[1](x), 300),
        "jvp": (lambda: func.jvp(square, (x,), (x,)), 500),
        "jacrev": (lambda: jacrev(x), 200),
        "jacfwd": (lambda: jacfwd(x), 200),
        "hessian": (lambda: hessian(x), 50),
    }


def measure(name, repeat):
    t = importlib.import_module(name)
    t.set_num_threads(1)
    rows = calls(t, importlib.import_module(f"{name}.func"))
    return {row: best(call, count, repeat) for row, (call, count) in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    ours = measure("taeda", repeat)
    try:
        theirs = measure("torch", repeat)
    except ModuleNotFoundError:
        theirs = {}
    print(f"{'':12}{'taeda us':>10}{'torch us':>10}{'ratio':>8}")
    for row, value in ours.items():
        other = theirs.get(row)
        tail = f"{other:10.2f}{value / other:8.2f}" if other else f"{'-':>10}{'-':>8}"
        print(f"{row:12}{value:10.2f}{tail}")


if __name__ == "__main__":
    main()
