#!/usr/bin/env python3
"""What calls of compiled functions cost, beside eager operators and PyTorch's compiler.

    ./run python bench/compiled_calls.py [--cases mlp,decode,guards] [--peers] [--rounds 3]

Medians over fresh processes, each the best of many calls.
  mlp     microseconds of a step of an MLP of small layers: inference, and a forward and backward
  decode  microseconds of a token of a decoder whose key-value cache grows with each
  guards  microseconds of a call of a module with 400 parameters, of the plan inside of it, and the
          difference: what the guards and the reading of 400 parameters cost
  cache   microseconds of writing one position of a cache of 32 MiB in place
  products  microseconds of 8 and of 64 independent products of 64 x 64 matrices with an activation
  chain   milliseconds of ten chained pointwise operators over 2^12, 2^16 and 2^24 floats, and of a
          copy that moves as many bytes
"""

import argparse
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time

CASES = ["mlp", "decode", "guards", "cache", "products", "chain"]


def best(call, seconds=1.0):
    """The least time of a call, in microseconds."""
    for _ in range(3):
        call()
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def settle(T):
    """Until all kernels are native; PyTorch's are after the first call."""
    if hasattr(T.compiler, "wait"):
        T.compiler.wait()


def mlp(T):
    model = T.nn.Sequential(
        T.nn.Linear(16, 32), T.nn.ReLU(), T.nn.Linear(32, 32), T.nn.ReLU(), T.nn.Linear(32, 4)
    )
    compiled = T.compile(model)
    x = T.randn(8, 16)

    def infer(f):
        def call():
            with T.no_grad():
                f(x)

        return call

    def train(f):
        def call():
            f(x).sum().backward()
            for p in model.parameters():
                p.grad = None

        return call

    row = {}
    for name, phase in [("infer", infer), ("train", train)]:
        phase(compiled)()
        settle(T)
        row[f"mlp {name}, compiled"] = best(phase(compiled))
        row[f"mlp {name}, eager"] = best(phase(model))
    return row


def decode(T):
    width, heads, tokens = 64, 4, 64
    F = T.nn.functional

    class Decoder(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = T.nn.LayerNorm(width)
            self.qkv = T.nn.Linear(width, 3 * width)
            self.out = T.nn.Linear(width, width)

        def forward(self, x, cache):
            q, k, v = self.qkv(self.norm(x)).view(1, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            if cache is not None:
                k, v = T.cat([cache[0], k], 2), T.cat([cache[1], v], 2)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 1, width)
            return x + self.out(y), (k, v)

    model = Decoder().eval()
    compiled = T.compile(model)
    start = T.randn(1, 1, width)

    def run(f):
        def call():
            with T.no_grad():
                x, cache = start, None
                for _ in range(tokens):
                    x, cache = f(x, cache)

        return call

    run(compiled)()
    settle(T)
    return {
        "decode a token, compiled": best(run(compiled), 2.0) / tokens,
        "decode a token, eager": best(run(model), 2.0) / tokens,
    }


def guards(T):
    class Many(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = T.nn.ModuleList(T.nn.Linear(2, 2) for _ in range(200))

        def forward(self, x):
            # One operator for all parameters, so that the call is mostly guards.
            return x + self.layers[0].bias if all(p.ndim for p in self.parameters()) else x

    model = Many()
    x = T.randn(2)
    compiled = T.compile(model)
    plain = T.compile(lambda x, bias: x + bias)
    bias = model.layers[0].bias
    with T.no_grad():
        compiled(x)
        plain(x, bias)
        settle(T)
        whole, inside = best(lambda: compiled(x)), best(lambda: plain(x, bias))
    return {
        "400 parameters, a call": whole,
        "the same operator, no module": inside,
        "guards of 400 parameters": whole - inside,
    }


def beside_eager(T, name, f, inputs):
    """Rows of a function without gradients."""
    compiled = T.compile(f)
    with T.no_grad():
        compiled(*inputs)
        settle(T)
        return {
            f"{name}, compiled": best(lambda: compiled(*inputs)),
            f"{name}, eager": best(lambda: f(*inputs)),
        }


def cache(T):
    def put(keys, key, at):
        keys[:, :, at] = key

    inputs = [T.randn(8, 16, 1024, 64), T.randn(8, 16, 1, 64), T.tensor([5])]
    return beside_eager(T, "one position of a cache", put, inputs)


def products(T):
    def branches(x, *weights):
        return [T.relu(x @ w) for w in weights]

    row = {}
    for count in (8, 64):
        inputs = [T.randn(64, 64) for _ in range(count + 1)]
        row |= beside_eager(T, f"{count} products", branches, inputs)
    return row


def chain(T):
    def ten(x):
        y = x + 1
        for _ in range(4):
            y = (y * 0.5).relu() + x
        return y * 2

    row = {}
    compiled = T.compile(ten, dynamic=False)
    for power in (12, 16, 24):
        x = T.randn(2**power)
        out = T.empty_like(x)
        with T.no_grad():
            compiled(x)
            settle(T)
            row[f"chain 2^{power} compiled ms"] = best(lambda x=x: compiled(x)) / 1e3
            row[f"chain 2^{power} eager ms"] = best(lambda x=x: ten(x)) / 1e3
            row[f"copy 2^{power} ms"] = best(lambda x=x, out=out: out.copy_(x)) / 1e3
    return row


def run_worker(framework, name):
    command = [sys.executable, "-W", "ignore", __file__, "--worker", framework, "--cases", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise SystemExit(f"{framework} {name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--peers", action="store_true", help="PyTorch's compiler as well")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        T = importlib.import_module(options.worker)
        T.manual_seed(0)
        print(json.dumps(globals()[options.cases](T)))
        return
    frameworks = ["taeda"]
    if options.peers and importlib.util.find_spec("torch"):
        frameworks.append("torch")
    print(f"{'':36}" + "".join(f"{name:>12}" for name in frameworks) + f"{'ratio':>8}")
    for name in options.cases.split(","):
        rows = {framework: [] for framework in frameworks}
        for _ in range(options.rounds):
            for framework in frameworks:
                rows[framework].append(run_worker(framework, name))
        for key in rows["taeda"][0]:
            values = [statistics.median(row[key] for row in rows[f]) for f in frameworks]
            ratio = f"{values[0] / values[1]:8.2f}" if len(values) > 1 else ""
            print(f"{key:36}" + "".join(f"{v:12.3f}" for v in values) + ratio, flush=True)


if __name__ == "__main__":
    main()
