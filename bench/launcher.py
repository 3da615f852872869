#!/usr/bin/env python3
"""What `taeda run` adds to a script: processes from their start to their end.

    ./run python bench/launcher.py [--rounds 40]

Milliseconds, the best of the rounds, elapsed and of the processor, in turns: a script that says
`import taeda` under python, the same with `import torch` under `python -m taeda.run`, and the
difference. `nn` is a script that trains a layer for a step. With `--instructions` valgrind counts
instructions instead, which do not depend on what else the machine does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = {
    "import": "import {name} as torch\n",
    "nn": (
        "import {name} as torch\n"
        "model = torch.nn.Linear(4, 4)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "model(torch.ones(2, 4)).sum().backward()\n"
        "optimizer.step()\n"
    ),
}


def seconds(command):
    """(elapsed, of the processor)"""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    return elapsed, used.ru_utime + used.ru_stime


def instructions(command):
    """Those of the process, by valgrind."""
    with tempfile.NamedTemporaryFile() as log:
        options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log.name}"]
        subprocess.run(["valgrind", *options, *command], check=True)
        line = next(line for line in Path(log.name).read_text().splitlines() if "refs" in line)
    return int(line.split()[-1].replace(",", ""))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for title, program in PROGRAMS.items():
            plain, renamed = Path(folder, "plain.py"), Path(folder, "renamed.py")
            plain.write_text(program.format(name="taeda"))
            renamed.write_text(program.format(name="torch"))
            commands = [
                [sys.executable, str(plain)],
                [sys.executable, "-m", "taeda.run", str(renamed)],
            ]
            if options.instructions:
                own, launched = (instructions(command) for command in commands)
                print(
                    f"{title:8} {own / 1e6:9.1f} M {launched / 1e6:9.1f} M, "
                    f"{(launched - own) / 1e6:+.1f} M instructions"
                )
                continue
            times = [[], []]
            for _ in range(options.rounds):
                for found, command in zip(times, commands, strict=True):
                    found.append(seconds(command))
            for place, kind in enumerate(("elapsed", "processor")):
                own, launched = (min(found[place] for found in column) * 1e3 for column in times)
                print(
                    f"{title:8} {kind:10} python {own:7.1f}  taeda run {launched:7.1f}  "
                    f"adds {launched - own:+6.1f} ms"
                )


if __name__ == "__main__":
    main()
