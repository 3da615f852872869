#!/usr/bin/env python3
"""The time of the first result of a compiled function, above that of eager operators.

    ./run python bench/first_call.py [--cases two,resnet50] [--phases infer,train] [--rounds 7]
                                     [--batch 1]

Each number is the median over fresh processes: the first eager call, taeda.compile with the first
call where the cache is empty and where it is warm, each minus 1.3 times the eager call, the
processor time of the same (which neighbours on the machine change less), and the modules that
compiling imported.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CASES = ["two", "mlp", "resnet50", "vit_b16", "bert_base", "gpt2"]
EAGER_SHARE = 1.3


def two(x):
    return (x + 1).relu()


def case(T, name, phase, batch):
    """A function and its input."""
    if name == "two":
        return two, T.randn(4).requires_grad_(phase == "train")
    from side_by_side.networks import networks

    network = networks(T)[name]
    return network.build().train(phase == "train"), network.make_input(
        batch or network.cpu_batch, "cpu"
    )


def worker(options):
    import taeda as T

    f, x = case(T, options.cases, options.phases, options.batch)
    is_trained = options.phases == "train"

    def step(f):
        with T.set_grad_enabled(is_trained):
            out = f(x)
        if is_trained:
            (out * out).mean().backward()

    before = len(sys.modules)
    start = time.perf_counter(), time.process_time()
    step(f if options.worker == "eager" else T.compile(f))
    ends = time.perf_counter(), time.process_time()
    wall, processor = (1e3 * (end - begin) for begin, end in zip(start, ends, strict=True))
    modules = len(sys.modules) - before
    if options.worker == "fill":
        T.compiler.wait()
    print(json.dumps({"wall": wall, "processor": processor, "modules": modules}), flush=True)


def run_worker(kind, name, phase, options, cache):
    command = [sys.executable, "-W", "ignore", __file__, "--worker", kind]
    command += ["--cases", name, "--phases", phase, "--batch", str(options.batch)]
    done = subprocess.run(
        command,
        env={**os.environ, "TAEDA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        timeout=1200,
        check=True,
    )
    return json.loads(done.stdout)


def rounds_of(name, phase, options):
    """What each kind of process took, by kind, a value per round."""
    found = {"eager": [], "cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as filled:
        run_worker("fill", name, phase, options, filled)
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as empty:
                found["eager"].append(run_worker("eager", name, phase, options, empty))
                found["cold"].append(run_worker("cold", name, phase, options, empty))
            found["warm"].append(run_worker("warm", name, phase, options, filled))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--phases", default="infer,train")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=0, help="of the networks; 0: their own")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    titles = ["eager", "first", "warm", "eager cpu", "first cpu", "warm cpu", "modules"]
    print(f"{'milliseconds':<18}" + "".join(f"{title:>11}" for title in titles))
    for name in options.cases.split(","):
        for phase in options.phases.split(","):
            found = rounds_of(name, phase, options)
            cells = []
            for what in ("wall", "processor"):
                medians = {
                    kind: statistics.median(one[what] for one in all_)
                    for kind, all_ in found.items()
                }
                allowed = EAGER_SHARE * medians["eager"]
                cells += [medians["eager"], medians["cold"] - allowed, medians["warm"] - allowed]
            modules = found["cold"][0]["modules"]
            print(
                f"{name + ' ' + phase:<18}"
                + "".join(f"{cell:>11.1f}" for cell in cells)
                + f"{modules:>11}",
                flush=True,
            )


if __name__ == "__main__":
    main()
