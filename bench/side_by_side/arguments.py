"""The options of `./run bench --peers`, on the standard library alone."""

import argparse
import re

from driver.terminal import Parser, count, names_among, new_file, pattern

DESCRIPTION = """\
Times Taeda and PyTorch on the same work in one run. Every section runs in a process per framework
and round; the frameworks take turns.

  start     import: time, memory, size of the installation
  micro     what a call costs, on four elements
  kernels   large tensors, products, attention, convolution
  models    forward passes and training steps of five networks, eager and compiled

  ./run bench --peers --sections micro,kernels --rows '^(add|view|sum)'
  ./run bench --peers --sections models --models mlp,bert_base --phases infer,train --modes eager

Each line is a case: the median of every framework, and the ratio of the first to the second. A
ratio below 1 means that the first is ahead; for rows in GFLOP/s it is turned round. Of compiled
cases, `first` is the first result with an empty compile cache, `settled` the time until background
compilation is done too, `warm` the first result of a later process. What a framework cannot run is
a row that ends in `_error`."""

SECTIONS = ("start", "micro", "kernels", "models")
MODELS = ("mlp", "resnet50", "bert_base", "gpt2", "vit_b16")
PHASES = ("infer1", "infer", "train")
FRAMEWORKS = ("taeda", "torch")
DTYPES = ("float64", "float32", "float16", "bfloat16")


def rounds(text: str) -> int:
    """An option's number of rounds: one or more."""
    if count(text) == 0:
        raise argparse.ArgumentTypeError("expected at least 1 round")
    return int(text)


def names(text: str) -> list[str]:
    return text.split(",")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser("./run bench --peers", DESCRIPTION)

    def choose(name: str, known: tuple[str, ...], **settings: str) -> None:
        every = ",".join(known)
        parser.add_argument(
            name, type=names_among(known), default=every, metavar="NAMES", **settings
        )

    add = parser.add_argument
    choose("--sections", SECTIONS, help="which of those above")
    add("--rows", type=pattern, default=re.compile(""), metavar="REGEX", help="cases by name")
    choose("--frameworks", FRAMEWORKS)
    choose("--models", MODELS)
    choose("--phases", PHASES, help="infer1: a batch of one")
    add("--modes", type=names, default="eager,compile", help="eager, compile, or a compile mode")
    add("--dtype", choices=DTYPES, default="float32", help="of inference and of autocast")
    add("--device", default="cpu")
    add("--threads", type=count, default=0, help="of the models; 0: as many as there are")
    add("--rounds", type=rounds, default=2, help="turns per framework and section")
    add("--json", type=new_file, metavar="FILE", help="write the table's numbers")
    return parser.parse_args(arguments)
