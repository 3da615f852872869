"""Memory and time of a backward graph: a chain of adds built, run and freed, beside PyTorch.

    ./run python bench/graph_memory.py [--nodes 100000] [--repeats 5]

Each module runs in a process of its own, so that neither one's allocator helps the other; the best
of the repeats counts. Bytes are what the process grew by while the chain was built.
"""

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def chain(module, nodes):
    """Bytes a node, and seconds to build, run and free a chain that saves no tensors."""
    leaf = module.ones(1, requires_grad=True)
    one = module.ones(1)
    before = resident_bytes()
    start = time.perf_counter()
    y = leaf
    for _ in range(nodes):
        y = y + one
    built = time.perf_counter()
    grown = resident_bytes() - before
    y.backward(retain_graph=True)
    run = time.perf_counter()
    del y
    freed = time.perf_counter()
    assert leaf.grad.item() == 1
    return {
        "bytes": grown / nodes,
        "build": built - start,
        "run": run - built,
        "free": freed - run,
    }


def measure(name, nodes, repeats):
    """The first chain sees fresh memory, so it alone tells the bytes; times are the best of all."""
    module = importlib.import_module(name)
    module.set_num_threads(1)
    rows = [chain(module, nodes) for _ in range(repeats)]
    best = {key: min(row[key] for row in rows) for key in rows[0]}
    return best | {"bytes": rows[0]["bytes"]}


def measure_in_process(name, nodes, repeats):
    command = [sys.executable, __file__, "--module", name, "--nodes", str(nodes)]
    command += ["--repeats", str(repeats)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--module", help="measure this module here and print JSON")
    args = parser.parse_args()
    if args.module:
        print(json.dumps(measure(args.module, args.nodes, args.repeats)))
        return
    ours = measure_in_process("taeda", args.nodes, args.repeats)
    has_torch = importlib.util.find_spec("torch") is not None
    theirs = measure_in_process("torch", args.nodes, args.repeats) if has_torch else None
    print(f"{args.nodes} chained adds, a node   {'taeda':>10} {'torch':>10} {'ratio':>6}")
    for key, unit, scale in (
        ("bytes", "B", 1),
        ("build", "ns", 1e9 / args.nodes),
        ("run", "ns", 1e9 / args.nodes),
        ("free", "ns", 1e9 / args.nodes),
    ):
        a = ours[key] * scale
        line = f"{key:>12} {unit:<14} {a:>12.0f}"
        if theirs:
            b = theirs[key] * scale
            line += f" {b:>10.0f} {a / b:>6.2f}"
        print(line)


if __name__ == "__main__":
    main()
