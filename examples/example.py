"""What the examples share: their options, the folder they write to, steps with a progress bar."""

import argparse
import pathlib
import sys
import tempfile
import time

from terminal import Progress


def parse_options(description, steps, smoke_steps, **more):
    """`more` names further options: a number's default, and what --smoke makes of it, or False."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--steps", type=int, help=f"steps of training (default {steps})")
    parser.add_argument("--smoke", action="store_true", help="a few small steps, for tests")
    parser.add_argument("--compile", action="store_true", help="compile what is trained")
    parser.add_argument("--seed", type=int, default=0)
    out = {"type": pathlib.Path, "default": pathlib.Path("demo_output")}
    parser.add_argument("--out", **out, help="folder of the pictures and samples")
    numbers = {name: choices for name, choices in more.items() if choices}
    for name, (default, _) in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), help=f"default {default}")
    for name in more.keys() - numbers.keys():
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    for name, choices in {"steps": (steps, smoke_steps), **numbers}.items():
        if getattr(options, name) is None:
            setattr(options, name, choices[options.smoke])
    if options.steps < 1:
        parser.error("--steps must be at least 1")
    return options


def prepare_folder(folder):
    """Makes the folder and writes to it: a disk that refuses should do so before the training."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(1 << 16))


def steps(options, label, note):
    """Counts the steps of a training; behind each the progress bar shows what `note()` says."""
    progress = Progress(options.steps, label)
    for step in range(options.steps):
        yield step
        progress.update(step + 1, note())


class Speed:
    """Times steps: the first one apart, since it compiles, and the mean of the others."""

    def __init__(self):
        self.times = []

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *error):
        self.times.append(time.perf_counter() - self.start)

    def __str__(self):
        first, *rest = self.times
        later = f", then {1000 * sum(rest) / len(rest):.1f} ms each" if rest else ""
        return f"first step {1000 * first:.0f} ms{later}"


def run(main):
    """Runs a program; a disk that refuses and Ctrl-C end it with one line."""
    try:
        main()
    except OSError as error:
        sys.exit(f"cannot write the pictures: {error}; --out names another folder")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: nothing more is written")
