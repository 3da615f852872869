"""Convolutions side by side with PyTorch: time of Taeda's over PyTorch's, by layer and pass.

    PYTHONPATH=build/python .venv/bin/python bench/convolution.py [--only REGEX] [--dtype float32]
        [--layout contiguous|channels_last] [--batch 8] [--seconds 0.3] [--cpu]

Layers are those of ResNet-50 and some of other kinds. A figure is the least of many runs, in which
the two take turns. `--cpu` counts the time of the processor instead of the clock's: with
OMP_NUM_THREADS=1 it compares on a busy machine.
"""

import argparse
import re
import time

import torch

import taeda

# name: input channels, size, output channels, kernel, stride, padding, groups
LAYERS = {
    "7x7s2": (3, 224, 64, 7, 2, 3, 1),
    "3x3_56": (64, 56, 64, 3, 1, 1, 1),
    "3x3_56s2": (128, 56, 128, 3, 2, 1, 1),
    "3x3_28": (128, 28, 128, 3, 1, 1, 1),
    "3x3_14": (256, 14, 256, 3, 1, 1, 1),
    "3x3_7": (512, 7, 512, 3, 1, 1, 1),
    "1x1_56_64_256": (64, 56, 256, 1, 1, 0, 1),
    "1x1_56_256_64": (256, 56, 64, 1, 1, 0, 1),
    "1x1_28_512_128": (512, 28, 128, 1, 1, 0, 1),
    "1x1_14_256_1024": (256, 14, 1024, 1, 1, 0, 1),
    "1x1_7_2048_512": (2048, 7, 512, 1, 1, 0, 1),
    "1x1_56s2_256_512": (256, 56, 512, 1, 2, 0, 1),
    "depthwise_56": (96, 56, 96, 3, 1, 1, 96),
    "depthwise_56s2": (96, 56, 96, 3, 2, 1, 96),
    "groups_28": (128, 28, 128, 3, 1, 1, 32),
}


def calls(module, layer, options):
    """The passes of one layer as functions without arguments."""
    channels, size, out_channels, kernel, stride, padding, groups = layer
    dtype = getattr(module, options.dtype)
    format = {}
    if options.layout == "channels_last":
        format = {"memory_format": module.channels_last}

    def laid_out(*sizes):
        return module.randn(*sizes).to(dtype).contiguous(**format)

    x = laid_out(options.batch, channels, size, size)
    weight = laid_out(out_channels, channels // groups, kernel, kernel)
    arguments = [[stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups]
    with module.no_grad():
        grad = module.randn_like(module.convolution(x, weight, None, *arguments))

    def backward(*mask):
        def call():
            module.ops.aten.convolution_backward(grad, x, weight, None, *arguments, list(mask))

        return call

    return {
        "forward": lambda: module.convolution(x, weight, None, *arguments),
        "input": backward(True, False, False),
        "weight": backward(False, True, False),
    }


def least(functions, seconds, now):
    """The least time of each function, which take turns."""
    best = [float("inf")] * len(functions)
    for call in functions:
        call()
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for i, call in enumerate(functions):
            start = now()
            call()
            best[i] = min(best[i], now() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--passes", default="forward,input,weight")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--layout", default="contiguous", choices=["contiguous", "channels_last"])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    now = time.process_time if options.cpu else time.perf_counter
    for name, layer in LAYERS.items():
        if not re.search(options.only, name):
            continue
        ours, theirs = calls(taeda, layer, options), calls(torch, layer, options)
        parts = []
        for which in options.passes.split(","):
            own, other = least([ours[which], theirs[which]], options.seconds, now)
            parts.append(f"{which} {own * 1e3:8.3f} / {other * 1e3:8.3f} = {own / other:5.2f}")
        print(f"{name:18} {'   '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
