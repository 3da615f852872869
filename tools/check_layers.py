"""Checks #include lines against the layer table of docs/design.md; operators name no device.

A folder may include itself, the folders of lower rows, the files directly in a folder above it, and
what an arrow in the table's last column grants (`optim → nn; distributed → nn, optim, data`).
The headers of programs that use the library, `taeda/taeda.h`, `taeda/compile.h`, `taeda/data.h`,
`taeda/nn.h`, `taeda/optim.h` and `taeda/package.h`, may include every folder, and no source of the
library includes them.

Includes do not show what a file knows: sources of `taeda/ops`, generated ones too, neither say
`cpu::` nor name a device otherwise (`is_cpu`, `is_cuda`, `DeviceType::CPU`, `kCPU`, and `Device()`,
which is the CPU). The CPU may be named where a comment within three lines says "PyTorch names the
CPU". The places of dispatch tables, `slot_of(...)`, are all devices' and name none.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_SUFFIXES = {".h", ".inc", ".cpp", ".c", ".cu"}
CPU_NAME = re.compile(
    r"\bis_cpu\b|\bDeviceType::CPU\b|\bkCPU\b|\bDevice(?:\s*\(\)|\s*\{\}|\(\"cpu\"\))"
    r"|\bDevice \w+\s*\{\}|\bDeviceType\(0\)|[.>]cpu\(\)|\bto\(\"cpu\"\)"
)
OTHER_NAME = re.compile(
    r"\b(?:cpu|cuda)::|\bnamespace (?:taeda::)?(?:cpu|cuda)\b|\bis_cuda\b"
    r"|\bDeviceType::(?:CUDA|PrivateUse\d)\b|\bkCUDA\b"
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
TABLE_SLOT = re.compile(r"\bslot_of\([^()]*\)")
CPU_BY_DEFINITION = "PyTorch names the CPU"
FRONT_DOORS = {
    "taeda/taeda.h",
    "taeda/compile.h",
    "taeda/data.h",
    "taeda/nn.h",
    "taeda/optim.h",
    "taeda/package.h",
}
CHECKED_FOLDERS = ("taeda", "python/src", "python/interop")


@dataclass
class Layers:
    """The table: the row of each folder (as `taeda/base`), and the arrows inside rows."""

    rows: dict[str, int] = field(default_factory=dict)
    arrows: list[tuple[str, str]] = field(default_factory=list)

    def folder_of(self, path: str) -> str | None:
        """The folder of the table that a file belongs to; nested folders belong to the nearest."""
        parent = path.rpartition("/")[0]
        while parent:
            if parent in self.rows:
                return parent
            parent = parent.rpartition("/")[0]
        return None

    def is_allowed(self, source: str, target: str) -> bool:
        if source == target or self.rows[target] < self.rows[source]:
            return True
        if self.rows[target] > self.rows[source]:
            return False
        if source.startswith(target + "/"):
            return True
        return any(
            fnmatchcase(source, left) and fnmatchcase(target, right) for left, right in self.arrows
        )


def _expand(cell: str) -> list[str]:
    """`ops, backends/{meta,cpu}` to taeda/ops, taeda/backends/meta, taeda/backends/cpu."""
    names = []
    for name in re.findall(r"[^,{}\s]+(?:\{[^}]*\})?", cell.replace("`", "")):
        prefix, brace, inner = name.partition("{")
        parts = (
            [prefix + part.strip() for part in inner.rstrip("}").split(",")] if brace else [name]
        )
        names.extend(part if part.startswith("python/") else f"taeda/{part}" for part in parts)
    return names


def read_layers(text: str) -> Layers:
    """Reads the table whose first column is `row` from the text of the design page."""
    layers = Layers()
    in_table = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            in_table = False
        elif cells[0] == "row":
            in_table = True
        elif in_table and cells[0].isdigit():
            for folder in _expand(cells[1]):
                layers.rows[folder] = int(cells[0])
            layers.arrows.extend(_arrows(cells[3]))
    if not layers.rows:
        raise ValueError("no layer table found: expected a table whose first column is 'row'")
    _add_parents(layers)
    return layers


def _arrows(cell: str) -> Iterator[tuple[str, str]]:
    for clause in cell.split(";"):
        left, arrow, right = re.sub(r"\([^)]*\)", "", clause).partition("→")
        if arrow:
            for target in _expand(right):
                yield _expand(left)[0], target


def _add_parents(layers: Layers) -> None:
    """`taeda/backends` itself shares the row of `taeda/backends/cpu`."""
    for folder, row in list(layers.rows.items()):
        parent = folder.rpartition("/")[0]
        if parent not in ("taeda", "python"):
            layers.rows.setdefault(parent, row)


def check_file(layers: Layers, path: str, text: str) -> Iterator[str]:
    """Yields a message for each include line of the file `path` that breaks a rule."""
    if path in FRONT_DOORS:
        return
    source = layers.folder_of(path)
    if source is None:
        yield f"{path}:1: folder is not in the layer table of docs/design.md"
        return
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        if match:
            broken = _broken_rule(layers, source, path, match[1] == '"', match[2])
            if broken:
                yield f"{path}:{number}: {broken}"
        elif source == "taeda/ops":
            name = _named_device(line, lines[max(0, number - 4) : number])
            if name:
                yield f"{path}:{number}: {name}: operators name no device, backends bring them"


def _named_device(line: str, around: list[str]) -> str | None:
    """The device's name in a line of an operator's source, unless it stands there by right."""
    # A comment begins outside of texts; names in texts are messages, but for devices by their name.
    plain = STRING.sub(lambda m: m[0] if m[0] == '"cpu"' else '""', line)
    code = TABLE_SLOT.sub("", plain.partition("//")[0])
    match = OTHER_NAME.search(code)
    if not match and not any(CPU_BY_DEFINITION in x for x in around):
        match = CPU_NAME.search(code)
    return match[0] if match else None


def _broken_rule(layers: Layers, source: str, path: str, is_quoted: bool, name: str) -> str | None:
    if name.startswith("internal/pycore_"):
        if source == "taeda/dynamo" and path.endswith(".c"):
            return None
        return f"<{name}>: CPython's internal headers belong to C files in taeda/dynamo"
    if name == "Python.h":
        if source.startswith("python/") or source == "taeda/dynamo":
            return None
        return "<Python.h>: only python/ and taeda/dynamo may know Python"
    if name == "iostream":
        return "<iostream>: format with taeda/base/str.h" if path.endswith(".h") else None
    if not is_quoted:
        return None
    if not name.startswith(("taeda/", "python/")):
        return f'"{name}": project headers are included by their path from the root, others in <>'
    if name in FRONT_DOORS:
        return f'"{name}": the header of programs outside; include what is needed of it'
    target = layers.folder_of(name)
    if target is None:
        return f'"{name}": folder is not in the layer table of docs/design.md'
    if layers.is_allowed(source, target):
        return None
    return (
        f'"{name}": {source} (row {layers.rows[source]}) may not include '
        f"{target} (row {layers.rows[target]})"
    )


def check_tree(layers: Layers, root: Path) -> list[str]:
    """Messages for all sources under `root`, in the order of their paths."""
    messages = []
    for folder in CHECKED_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                name = path.relative_to(root).as_posix()
                messages.extend(check_file(layers, name, path.read_text()))
    return messages


def main() -> int:
    layers = read_layers((ROOT / "docs" / "design.md").read_text())
    messages = check_tree(layers, ROOT) + check_tree(layers, ROOT / "build" / "gen")
    print("\n".join(messages) or "layers: includes follow the table, no operator names a device")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
