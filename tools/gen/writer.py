"""Collects generated files and writes only those that changed, so that nothing else recompiles."""

from pathlib import Path

BANNER = "// Generated from the operator records. Edit those and run ./run build.\n"


class Writer:
    def __init__(self, root):
        self.root = Path(root)
        self.files = {}

    def add(self, path, text):
        self.files[path] = text

    def cpp(self, path, includes, body):
        lines = "".join(
            f"#include {i if i.startswith('<') else chr(34) + i + chr(34)}\n" for i in includes
        )
        once = "#pragma once\n\n" if path.endswith((".h", ".inc")) else ""
        self.add(path, f"{BANNER}{once}{lines}\n{body}")

    def write(self):
        for path, text in self.files.items():
            target = self.root / path
            if target.exists() and target.read_text() == text:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        # A family that went away must not be compiled any longer.
        manifest = self.root / "files.txt"
        old = manifest.read_text().split() if manifest.exists() else []
        for path in set(old) - set(self.files):
            (self.root / path).unlink(missing_ok=True)
        text = "\n".join(sorted(self.files)) + "\n"
        if not manifest.exists() or manifest.read_text() != text:
            self.root.mkdir(parents=True, exist_ok=True)
            manifest.write_text(text)
