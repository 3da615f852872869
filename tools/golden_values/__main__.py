"""Makes the golden values: PyTorch's results and gradients on the records' samples."""

import subprocess
import sys

import record_calls

import taeda
from golden_values import peer, store
from golden_values.arguments import PROGRAMS, parse
from golden_values.evaluate import DTYPES


def line_of(key, text):
    """One sample in every dtype that the record takes and that can hold its numbers."""
    found = [record_calls.Call(key, text, getattr(taeda, name)) for name in DTYPES]
    found = [c for c in found if record_calls.takes(key, c.dtype) and c.arguments() is not None]
    line = {"op": key, "sample": text, "inputs": store.fingerprint(found)}
    for call in found:
        line[str(call.dtype).rpartition(".")[2]] = entry_of(call)
    return line


def entry_of(call):
    outcome = peer.run(call)
    if isinstance(outcome, str):
        return {"refused": outcome}
    results, grads = outcome
    entry = {"results": [store.encoded(r) for r in results]}
    if grads:
        entry["grads"] = {n: g if g is None else store.encoded(g) for n, g in grads.items()}
    return entry


def main(arguments):
    chosen = parse(arguments).family
    if not chosen or PROGRAMS in chosen:
        # A process of its own: the tests' module under test is chosen at its import.
        subprocess.run([sys.executable, "-m", "golden_values.programs"], check=True)
    if chosen == [PROGRAMS]:
        return 0
    records = [r for r in record_calls.records().values() if not chosen or r.family in chosen]
    families = {}
    for record in records:
        reason = peer.missing_reason(record)
        if reason == "unexplained":
            print(f"{record.key}: PyTorch has no such operator; add golden or no_golden")
        texts = [] if reason else record_calls.texts(record.key)
        families.setdefault(record.family, []).extend(line_of(record.key, t) for t in texts)
    for family, lines in families.items():
        store.write(family, lines)
    size = sum(store.path_of(family).stat().st_size for family in families)
    count = sum(map(len, families.values()))
    print(f"{count} samples of {len(records)} records in {len(families)} files, {size >> 10} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
