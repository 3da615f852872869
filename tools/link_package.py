"""Links the package's Python files into the build folder, beside the built libraries."""

import compileall
import os
import shutil
import sys
from pathlib import Path


def link_package(sources: list[Path], package: Path) -> None:
    """Makes every entry of `sources` visible in `package`; an edit then needs no rebuild.

    A folder that several sources have is a folder of links, any other entry a link.
    """
    package.mkdir(parents=True, exist_ok=True)
    wanted: dict[str, Path] = {}
    shared: dict[str, list[Path]] = {}
    for folder in filter(Path.is_dir, sources):
        for entry in folder.iterdir():
            if entry.name == "__pycache__" or entry.suffix == ".so":
                continue
            if entry.name in wanted:
                shared.setdefault(entry.name, [wanted[entry.name]]).append(entry)
            else:
                wanted[entry.name] = entry
    for link in package.iterdir():
        if link.is_symlink() and link.name not in wanted:
            link.unlink()
    for name, target in wanted.items():
        link = package / name
        if name in shared:
            if link.is_symlink():
                link.unlink()
            link_package(shared[name], link)
            continue
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)  # it was shared
        if link.is_symlink() and link.readlink() == target:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def compile_package(sources: list[Path], package: Path) -> None:
    """Writes the bytecode of files that changed, as an installer does.

    Python writes it by itself when a module is imported, except where the environment or a folder
    that cannot be written forbids it; without it, starting takes three times as long.
    """
    for folder in [package, *filter(Path.is_dir, sources)]:
        if os.access(folder, os.W_OK):
            compileall.compile_dir(folder, quiet=2)


if __name__ == "__main__":
    *folders, destination = (Path(argument).resolve() for argument in sys.argv[1:])
    link_package(folders, destination)
    compile_package(folders, destination)
