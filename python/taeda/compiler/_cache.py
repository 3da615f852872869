"""The folder of compiled kernels, from the command line.

python -m taeda compile-cache [list | size | clear]
"""

import time

from taeda import _C
from taeda._inductor._report import size_text


def cache_text(shows_entries):
    """The folder, its size and limit, and its entries, those that were used last at the end."""
    folder, limit, entries = _C._inductor.cache_entries()
    if not folder:
        return "the cache is switched off\n"
    text = ""
    if shows_entries:
        for name, size, used in entries:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(used))
            text += f"{name[:16]}  {size_text(size):>12}  {when}\n"
    total = size_text(sum(size for _, size, _ in entries))
    return text + f"{len(entries)} entries, {total} of {size_text(limit)}, in {folder}\n"


def _run(options):
    if options.action == "clear":
        count = _C._inductor.cache_clear()
        print(f"{count} entries removed")
    else:
        print(cache_text(options.action == "list"), end="")
    return 0


def add_command(commands):
    """Adds compile-cache to the parsers of commands."""
    parser = commands.add_parser("compile-cache", help="the folder of compiled kernels")
    parser.add_argument("action", nargs="?", default="list", choices=["list", "size", "clear"])
    parser.set_defaults(run=_run)
