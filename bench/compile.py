#!/usr/bin/env python3
"""The cost of compiling: each case in two processes, the second with a warm cache.

    ./run python bench/compile.py [--cases two,mlp] [--phases infer,train] [--peers] [--batch 1]
                                  [--where] [--freeze] [--roofline]

Milliseconds: trace (make_fx), stages of the compiler (cut: tracing again with gradients, and the
partition), the first call, the time until all kernels are native and the calls in it, a call then,
a call of eager operators, and the peak of the process's memory. `chain` reuses every value, 200
deep, and stays interpreted; `functions` is one kernel of 300; `deep` has 2,000 layers and `half`
1,000: linear stages take twice as long for twice the layers.
With --peers the same by torch.compile, whose trace and stages are part of the first call.
--where says how long the kernels of a call take, and each operator that is called; --freeze freezes
the networks' parameters where there are no gradients. --roofline adds the least time that the work
of a call could take: its FLOPs at the rate of a product of 2048 x 2048 matrices, and the bytes of
all else than products at the rate of a copy, both measured in the same process.
"""

import argparse
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

STAGES = ["cut", "lower", "units", "fuse", "write"]
CASES = [
    "two",
    "chain",
    "functions",
    "half",
    "deep",
    "mlp",
    "resnet50",
    "vit_b16",
    "bert_base",
    "gpt2",
]


def two(x):
    return (x + 1).relu()


def chain(x):
    for _ in range(200):
        x = (x * x + x).sin()
    return x


def functions(T):
    all_six = [T.sin, T.exp, T.erf, T.tanh, T.nn.functional.gelu, lambda v: v.abs().pow(1.3)]

    def run(x):
        y = x
        for i in range(300):
            y = (all_six[i % 6](y) * 0.7 + x * 0.1).clamp(-2, 2)
        return y

    return run


def layers(count):
    def deep(x, weight):
        for _ in range(count):
            x = (x @ weight).relu() + x
        return x

    return deep


def case(T, name, batch):
    """A function of tensors, the tensors, and whether each has a gradient in training."""
    if name in ("two", "chain"):
        return {"two": two, "chain": chain}[name], [T.randn(4)], [True]
    if name == "functions":
        return functions(T), [T.randn(1 << 16)], [True]
    if name in ("half", "deep"):
        count = 1000 if name == "half" else 2000
        return layers(count), [T.randn(4, 8), T.randn(8, 8) * 0.01], [True, True]
    from side_by_side.networks import networks

    network = networks(T)[name]
    model = network.build().eval()
    parameters = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    names = list(parameters)

    def run(x, *values):
        return T.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))

    x = network.make_input(batch or network.cpu_batch, "cpu")
    is_trained = [isinstance(p, T.nn.Parameter) for p in parameters.values()]
    return run, [x, *(p.detach() for p in parameters.values())], [False, *is_trained]


def best(call, seconds=0.5):
    """The least time of a call, in milliseconds."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 20000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def now_ms():
    return time.perf_counter() * 1e3


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step_of(f, inputs, phase):
    """One call, or one call with its gradients."""
    if phase == "infer":
        return lambda: f(*inputs)
    wanted = [x for x in inputs if x.requires_grad]

    def step():
        out = f(*inputs)
        (out * out).mean().backward(inputs=wanted)
        for x in wanted:
            x.grad = None

    return step


def is_settled(compiled):
    return all(r["native"] == r["kernels"] or r["problem"] for r in compiled.report())


def where(compiled, step, runs=5):
    """Milliseconds of a call by what they are spent on, the largest first."""
    compiled.time()
    for _ in range(runs):
        step()
    spent = {}
    for report in compiled.report():
        for one in report["steps"]:
            name = "kernels" if one["kind"] == "kernel" else one["name"]
            spent[name] = spent.get(name, 0) + 1e3 * one["seconds"]
    compiled.time(False)
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def roofline(T, f, inputs, phase, reports):
    """Milliseconds of a call's FLOPs at the rate of a product and its bytes at that of a copy."""
    from taeda.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        step_of(f, inputs, phase)()
    side, count = 2048, 2**25
    a, b, x, y = T.randn(side, side), T.randn(side, side), T.randn(count), T.empty(count)
    with T.no_grad():
        flops_per_ms = 2 * side**3 / best(lambda: T.mm(a, b), 1.0)
        bytes_per_ms = 2 * x.nbytes / best(lambda: y.copy_(x), 1.0)
    steps = [s for report in reports for s in report["steps"]]
    moved = sum(s["bytes_read"] + s["bytes_written"] for s in steps if not is_product(s))
    return counter.get_total_flops() / flops_per_ms + moved / bytes_per_ms


def is_product(step):
    """Whether a step's time is that of its FLOPs, which a FlopCounterMode counts."""
    from taeda.utils.flop_counter import flop_registry

    counted = {packet.__name__.split(".")[-1] for packet in flop_registry}
    return step["kind"] != "kernel" and step["name"].split("::")[-1].split(".")[0] in counted


def measure_taeda(name, phase, options):
    from taeda._inductor import compile, config
    from taeda.fx.experimental.proxy_tensor import make_fx

    import taeda as T

    T.manual_seed(0)
    f, inputs, is_trained = case(T, name, options.batch)
    if phase == "train":
        inputs = [x.requires_grad_(y) for x, y in zip(inputs, is_trained, strict=True)]
    if options.freeze and phase == "infer":
        T.set_grad_enabled(False)
        config.freezing = True
        inputs = [inputs[0], *(T.nn.Parameter(x, requires_grad=False) for x in inputs[1:])]
    row = {}
    start = now_ms()
    gm = make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(*inputs)
    row["trace"] = now_ms() - start
    start = now_ms()
    # One kernel of 200 sines keeps the system's compiler busy for a minute.
    compiled = compile(gm, inputs, native="never" if name == "chain" else "background")
    row["compile"] = now_ms() - start
    step = step_of(compiled, inputs, phase)
    start = now_ms()
    step()
    row["first"] = now_ms() - start
    calls = 1
    while name != "chain" and not is_settled(compiled):
        step()
        calls += 1
    row["settled"], row["calls"] = now_ms() - start, calls
    reports = compiled.report()
    for stage in STAGES:
        key = "trace" if stage == "cut" else stage
        row[stage] = 1e3 * sum(r["seconds"].get(key, 0) for r in reports)
    row["nodes"] = len(list(gm.graph.nodes))
    row["kernels"] = sum(r["kernels"] for r in reports)
    row["calls_out"] = sum(r["calls"] for r in reports)
    row["fallbacks"] = sorted({x for r in reports for x in r["fallbacks"]})
    row["steady"] = best(step)
    row["peak"] = peak_mib()
    row["where"] = where(compiled, step)
    row["eager"] = best(step_of(f, inputs, phase))
    if options.roofline:
        row["roofline"] = roofline(T, f, inputs, phase, reports)
    return row


def measure_torch(name, phase, options):
    import torch as T

    T.manual_seed(0)
    f, inputs, is_trained = case(T, name, options.batch)
    if phase == "train":
        inputs = [x.requires_grad_(y) for x, y in zip(inputs, is_trained, strict=True)]
    step = step_of(T.compile(f, dynamic=True), inputs, phase)
    start = now_ms()
    step()
    row = {"first": now_ms() - start, "calls": 1}
    row["settled"] = row["first"]
    row["steady"], row["peak"] = best(step), peak_mib()
    row["eager"] = best(step_of(f, inputs, phase))
    return row


def worker(options):
    measure = measure_taeda if options.worker == "taeda" else measure_torch
    try:
        row = measure(options.cases, options.phases, options)
    except NotImplementedError as error:
        row = {"refused": str(error)}
    print(json.dumps(row))


def run_worker(framework, name, phase, options, cache):
    command = [sys.executable, "-W", "ignore", __file__, "--worker", framework]
    command += ["--cases", name, "--phases", phase]
    if options.batch:
        command += ["--batch", str(options.batch)]
    command += [f"--{name}" for name in ("freeze", "roofline") if getattr(options, name)]
    caches = {"TAEDA_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
    done = subprocess.run(
        command, env={**os.environ, **caches}, capture_output=True, text=True, timeout=1200
    )
    if done.returncode:
        return {"refused": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def shown(row, warm):
    """The table's cells of one case."""
    if "refused" in row:
        return row["refused"][:150]
    texts = [f"{row.get(key, 0):8.1f}" for key in ["trace", *STAGES, "first", "settled"]]
    texts += [f"{row['calls']:6d}", f"{warm.get('settled', 0):8.1f}"]
    texts += [f"{row['steady']:10.4f}", f"{row['eager']:10.4f}", f"{row['peak']:8.0f}"]
    counts = f"  {row['kernels']} kernels, {row['calls_out']} calls" if "kernels" in row else ""
    if "roofline" in row:
        counts += f", roofline {row['roofline']:.4f}"
    return "".join(texts) + counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--phases", default="infer,train")
    parser.add_argument("--batch", type=int, default=0, help="of the networks; 0: their own")
    parser.add_argument("--peers", action="store_true", help="PyTorch's compiler as well")
    parser.add_argument("--where", action="store_true", help="what the time of a call goes to")
    parser.add_argument("--freeze", action="store_true", help="frozen parameters in inference")
    parser.add_argument("--roofline", action="store_true", help="the least time of such a call")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    frameworks = ["taeda"]
    if options.peers and importlib.util.find_spec("torch"):
        frameworks.append("torch")
    titles = ["trace", *STAGES, "first", "settled"]
    head = "".join(f"{title:>8}" for title in titles) + f"{'calls':>6}{'warm':>8}"
    print(f"{'milliseconds':<24}{head}{'steady':>10}{'eager':>10}{'MiB':>8}")
    for name in options.cases.split(","):
        for phase in options.phases.split(","):
            for framework in frameworks:
                with tempfile.TemporaryDirectory() as cache:
                    row = run_worker(framework, name, phase, options, cache)
                    warm = (
                        {}
                        if "refused" in row
                        else run_worker(framework, name, phase, options, cache)
                    )
                print(f"{name + ' ' + phase:<17}{framework:<7}{shown(row, warm)}", flush=True)
                if options.where and "where" in row:
                    spent = [f"{name} {ms:.2f}" for name, ms in row["where"].items()]
                    print(f"{'':<24}where: {', '.join(spent)}")
                if row.get("fallbacks"):
                    print(f"{'':<24}fallbacks: {', '.join(row['fallbacks'])}")


if __name__ == "__main__":
    main()
