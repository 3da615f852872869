#!/usr/bin/env python3
"""Cost of tracing and rewriting graphs, beside PyTorch's where it is installed.

    ./run python bench/fx_trace.py [--layers 50] [--repeat 15]

Each row is the least CPU time in milliseconds; the last column is Taeda's share of PyTorch's.
"""

import argparse
import importlib
import importlib.util
import time


def best(call, repeat):
    """The least CPU time of a call: other programs on the machine do not count."""
    call()
    times = []
    for _ in range(repeat):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times) * 1e3


def calls(t, fx, layers):
    nn = t.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
            self.scale = nn.Parameter(t.ones(8))

        def forward(self, x):
            return x + t.relu(self.norm(self.linear(x))) * self.scale

    blocks = nn.Sequential(*[Block() for _ in range(layers)])
    plain = nn.Sequential(*[nn.Linear(8, 8) for _ in range(layers)])
    traced, x = fx.symbolic_trace(blocks), t.ones(2, 8)

    def rewrite():
        module = fx.symbolic_trace(blocks)
        fx.replace_pattern(module, lambda a: t.relu(a), lambda a: t.tanh(a))

    return {
        "trace blocks": lambda: fx.symbolic_trace(blocks),
        "trace a sequence": lambda: fx.symbolic_trace(plain),
        "trace, compile, call": lambda: fx.symbolic_trace(blocks)(x),
        "write code": lambda: traced.graph.python_code("self"),
        "interpret": lambda: fx.Interpreter(traced).run(x),
        "transform": lambda: fx.Transformer(traced).transform(),
        "replace relu": rewrite,
        "walk nodes": lambda: [n.args for n in traced.graph.nodes],
    }


def measure(name, layers, repeat):
    t, fx = importlib.import_module(name), importlib.import_module(f"{name}.fx")
    return {row: best(call, repeat) for row, call in calls(t, fx, layers).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    ours = measure("taeda", options.layers, options.repeat)
    has_torch = importlib.util.find_spec("torch") is not None
    theirs = measure("torch", options.layers, options.repeat) if has_torch else {}
    print(f"{'milliseconds':<24}{'taeda':>9}{'torch':>9}{'share':>8}")
    for row, mine in ours.items():
        other = theirs.get(row)
        compared = f"{other:9.2f}{mine / other:8.2f}" if other else ""
        print(f"{row:<24}{mine:9.2f}{compared}")


if __name__ == "__main__":
    main()
