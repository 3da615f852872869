"""Runs PyTorch's operator records one after another, prints what differs and a summary."""

import importlib
import json
import os
import sys
import time
import warnings
from argparse import Namespace
from functools import partial
from types import ModuleType
from typing import Any

from driver.terminal import Progress

from parity.arguments import parse
from parity.bridge import Bridge
from parity.isolation import isolated
from parity.refusals import check_refusals
from parity.report import Row, Verdict, as_json, slowest, summary
from parity.samples import check_samples

# CUDA kernels as text, sparse layouts, private kernels, and one that crashes PyTorch itself.
LEFT_OUT = (
    *("jiterator_", "sparse.", "to_sparse", "torch.ops.aten._flash", "torch.ops.aten._efficient"),
    *("torch._scaled_mm", "hash_tensor"),
)
LEFT_OUT_NAMES = {"sgn"}


def load(options: Namespace) -> tuple[Bridge, list[Any]]:
    """The two libraries, and PyTorch's records."""
    warnings.simplefilter("ignore")
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    taeda: ModuleType = importlib.import_module(options.module)
    return Bridge(torch, taeda, options.device), op_db


def chosen(records: list[Any], bridge: Bridge, options: Namespace) -> list[Any]:
    return [
        record
        for record in records
        if options.only.search(record.name)
        and not record.name.startswith(LEFT_OUT)
        and record.name not in LEFT_OUT_NAMES
        and not (options.built and not bridge.counterparts.has(record))
    ]


def label(record: Any) -> str:
    variant = record.variant_test_name
    return f"{record.name}:{variant}" if variant else record.name


def rows_of(bridge: Bridge, record: Any, options: Namespace) -> list[Row]:
    """A record's rows: one per dtype that PyTorch supports, or one of its must-fail inputs.

    Where an operator is missing, a row says so; with --built there are no rows then.
    """
    if options.errors:
        checks = {"errors": partial(check_refusals, bridge, record, options)}
        checks = checks if record.error_inputs_func else {}
    else:
        supported = record.supported_dtypes("cpu")
        dtypes = {name: getattr(bridge.torch, name) for name in options.dtypes}
        checks = {
            name: partial(check_samples, bridge, record, dtype, options)
            for name, dtype in dtypes.items()
            if dtype in supported
        }
    rows = []
    for name, check in checks.items():
        try:
            rows.append(check())
        except AttributeError as error:
            if options.built:
                return []
            rows.append(Row.failed(name, f"missing: {error}"))
    return rows


def run(bridge: Bridge, records: list[Any], options: Namespace) -> list[Verdict]:
    """The verdicts; prints those that differ where operators were chosen, or all when asked."""
    is_chosen = options.built or options.only.pattern
    progress = Progress(len(records))
    verdicts = []
    for index, record in enumerate(records):
        progress.show(index, f"{label(record)}; {summary(verdicts)}")
        start = time.monotonic()
        rows = isolated(lambda record=record: rows_of(bridge, record, options), options.timeout)
        verdict = Verdict.of(label(record), rows, time.monotonic() - start)
        if verdict is None:
            continue
        verdicts.append(verdict)
        if options.verbose or (verdict.bad and is_chosen):
            progress.clear()
            print(verdict, flush=True)
    progress.clear()
    return verdicts


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.compiled:
        os.environ.setdefault("TAEDA_COMPILE_STRICT", "1")
    try:
        bridge, records = load(options)
    except ImportError as error:
        return fail(f"{error}; ./run peers installs PyTorch, ./run build makes Taeda")
    if options.compiled and not hasattr(bridge.taeda, "compile"):
        return fail(f"{options.module} has no compile")
    records = chosen(records, bridge, options)
    if not records:
        return fail(f"no record is called {options.only.pattern!r}")
    verdicts = run(bridge, records, options)
    print(summary(verdicts))
    if options.verbose:
        print(slowest(verdicts))
    if options.json:
        options.json.write_text(json.dumps(as_json(verdicts), indent=1) + "\n")
    return 1 if any(verdict.bad for verdict in verdicts) else 0


def fail(message: str) -> int:
    print(f"./run parity: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
