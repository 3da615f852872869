"""Graphs against PyTorch in one run: tracing, fake tensors, passes.

    ./run python bench/graphs.py [--repeat N]

Each row: milliseconds (microseconds for the fake add) in Taeda and in PyTorch, the best of N.
"""

import argparse
import importlib
import math
import time


def best(f, repeat, inner=1):
    """The shortest of `repeat` timings of `inner` calls, in seconds a call."""
    f()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            f()
        times.append((time.perf_counter() - start) / inner)
    return min(times)


def make_deep_network(T):
    """50 layers of Linear and ReLU."""
    layers = []
    for _ in range(50):
        layers += [T.nn.Linear(16, 16), T.nn.ReLU()]
    return T.nn.Sequential(*layers)


def make_transformer(T, layers=12, width=64, heads=4):
    """A decoder of plain layers, its forward written out."""

    class Block(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1 = T.nn.LayerNorm(width)
            self.qkv = T.nn.Linear(width, 3 * width)
            self.out = T.nn.Linear(width, width)
            self.norm2 = T.nn.LayerNorm(width)
            self.up = T.nn.Linear(width, 4 * width)
            self.down = T.nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(b, t, 3, heads, width // heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // heads)
            mixed = (T.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, width)
            x = x + self.out(mixed)
            return x + self.down(T.nn.functional.gelu(self.up(self.norm2(x))))

    return T.nn.Sequential(*[Block() for _ in range(layers)])


def trace_deep_network(T):
    fx = importlib.import_module(f"{T.__name__}.fx")
    net = make_deep_network(T)
    return lambda: fx.symbolic_trace(net)


def trace_training_step(T):
    """Forward and backward of the transformer on fake tensors."""
    make_fx = importlib.import_module(f"{T.__name__}.fx.experimental.proxy_tensor").make_fx
    functional_call = importlib.import_module(f"{T.__name__}.func").functional_call
    net = make_transformer(T)
    names = [name for name, _ in net.named_parameters()]
    values = [p.detach() for _, p in net.named_parameters()]
    x = T.randn(2, 8, 64)

    def step(x, *values):
        values = [v.requires_grad_() for v in values]
        loss = functional_call(net, dict(zip(names, values)), (x,)).sum()
        return T.autograd.grad(loss, values)

    return lambda: make_fx(step, tracing_mode="fake")(x, *values)


def fake_add(T):
    mode = importlib.import_module(f"{T.__name__}._subclasses.fake_tensor").FakeTensorMode
    with mode():
        a = T.empty(2, 3)
    return lambda: a + a


def pass_over_nodes(T):
    """Replaces every relu of a chain of 10,000 by a neg, then removes dead code."""
    Graph = importlib.import_module(f"{T.__name__}.fx").Graph
    aten = T.ops.aten

    def build():
        graph = Graph()
        x = graph.placeholder("x")
        for _ in range(10_000):
            x = graph.call_function(aten.relu.default, (x,))
        graph.output(x)
        return graph

    def run():
        graph = build()
        start = time.perf_counter()
        for node in graph.nodes:
            if node.op == "call_function" and node.target is aten.relu.default:
                node.target = aten.neg.default
        graph.eliminate_dead_code()
        graph.lint()
        return time.perf_counter() - start

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    # PyTorch 2.11 crashes on Python 3.12 where it is imported after Taeda.
    try:
        import torch
    except ImportError:
        torch = None
    import taeda

    rows = [
        ("symbolic_trace, 50 layers [ms]", trace_deep_network, 1e3, 1),
        ("make_fx, 12-layer forward and backward [ms]", trace_training_step, 1e3, 1),
        ("fake add [us]", fake_add, 1e6, 5000),
        ("pass over 10,000 nodes [ms]", pass_over_nodes, 1e3, 0),
    ]
    print(f"{'':46}{'taeda':>10}{'pytorch':>10}{'ratio':>8}")
    for name, make, scale, inner in rows:
        figures = []
        for T in (taeda, torch):
            if T is None:
                continue
            run = make(T)
            seconds = best(run, repeat, inner) if inner else min(run() for _ in range(repeat))
            figures.append(seconds * scale)
        ratio = f"{figures[0] / figures[1]:8.3f}" if len(figures) == 2 else ""
        print(f"{name:46}" + "".join(f"{v:10.2f}" for v in figures) + ratio)


if __name__ == "__main__":
    main()
