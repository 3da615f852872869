"""Links the package's Python files into the build folder, beside the built libraries."""

import sys
from pathlib import Path


def link_package(sources: list[Path], package: Path) -> None:
    """Makes every entry of `sources` visible in `package`; an edit then needs no rebuild."""
    package.mkdir(parents=True, exist_ok=True)
    wanted = {
        entry.name: entry
        for folder in sources
        if folder.is_dir()
        for entry in folder.iterdir()
        if entry.name != "__pycache__" and entry.suffix != ".so"
    }
    for link in package.iterdir():
        if link.is_symlink() and link.name not in wanted:
            link.unlink()
    for name, target in wanted.items():
        link = package / name
        if link.is_symlink() and link.readlink() == target:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(target)


if __name__ == "__main__":
    *folders, destination = (Path(argument).resolve() for argument in sys.argv[1:])
    link_package(folders, destination)
