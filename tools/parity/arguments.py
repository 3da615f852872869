"""The options of `./run parity`, on the standard library alone."""

import argparse
import re

from driver.terminal import Parser, count, names_among, new_file, pattern

DESCRIPTION = """\
Runs PyTorch's operator records (OpInfo: samples, dtypes, inputs that must fail) on PyTorch and on
Taeda with the same inputs, and compares values, shapes, dtypes and gradients. Every record runs in
a process of its own, so that a crash or a hang costs that record alone.

  ./run parity --built                   the operators that Taeda has, in float32 and int64
  ./run parity --only '^(add|softmax)$'  two operators; what differs is printed
  ./run parity --errors --phrases        inputs that must fail: same exception type and phrase
  ./run parity --json verdicts.json      every record's verdict, for a report or a comparison

The exit status is 0 when every record passes."""

DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex128", "complex64", "complex32"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"),
)


def seconds(text: str) -> float:
    """An option's time limit."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return value


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser("./run parity", DESCRIPTION)
    add = parser.add_argument
    add("--only", type=pattern, default=re.compile(""), metavar="REGEX", help="operators by name")
    add("--built", action="store_true", help="leave out what needs operators that Taeda lacks")
    add("--dtypes", type=names_among(DTYPES), default="float32,int64", metavar="NAMES")
    add("--samples", type=count, default=12, help="per record and dtype, at most; 0: all")
    add("--no-grad", dest="grad", action="store_false", help="compare no gradients")
    add("--aot", action="store_true", help="traced ahead of time, as kernels, with eager's bits")
    add("--dynamic", action="store_true", help="with --aot: sizes are symbols")
    add("--native", action="store_true", help="with --aot: kernels are compiled, not interpreted")
    add("--compiled", action="store_true", help="through taeda.compile(fullgraph=True)")
    add("--errors", action="store_true", help="run the inputs that must fail")
    add("--phrases", action="store_true", help="with --errors: the messages must match too")
    add("--timeout", type=seconds, default=180.0, metavar="SECONDS", help="per record (180)")
    add("--device", default="cpu", help="Taeda's device; PyTorch stays on the CPU")
    add("--module", default="taeda", help="what to compare; torch compares PyTorch with itself")
    add("--json", type=new_file, metavar="FILE", help="write every record's verdict")
    add("-v", "--verbose", action="store_true", help="print every record, not only what differs")
    options = parser.parse_args(arguments)
    if options.phrases and not options.errors:
        parser.error("--phrases needs --errors")
    return options
