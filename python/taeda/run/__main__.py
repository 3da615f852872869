"""python -m taeda.run: a program in which `import torch` gives Taeda."""

import sys

from taeda.run.command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
