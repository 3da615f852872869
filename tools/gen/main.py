#!/usr/bin/env python3
"""Writes everything that follows from the operator records into a build folder.

main.py --out build/gen      write (only files whose text changed)
main.py --out build/gen --list   print the files it writes
main.py --committed          rewrite the two committed files (type stubs, operator matrix)
main.py --check              fail when a committed file is out of date or an artefact is missing
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cpp_autocast
import cpp_autograd
import cpp_batch
import cpp_dense
import cpp_ops
import decompositions
import matrix
import python_bindings
import records as record_files
import stubs
from writer import Writer

ROOT = Path(__file__).resolve().parents[2]


def generate(records, root):
    w = Writer(root)
    families = record_files.families(records)
    parts = [p for rows in families.values() for p in cpp_ops.method_parts(rows)]
    w.add("taeda/core/tensor_methods.inc", "\n".join(d for d, _ in parts) + "\n")
    w.cpp(
        "taeda/ops/functions.h",
        [
            "taeda/core/tensor.h",
            *[f"taeda/ops/{f}_functions.h" for f in families],
            "taeda/ops/overloads.h",
        ],
        "",
    )
    w.cpp(
        "taeda/ops/operators.h",
        ["taeda/dispatch/operator.h", *[f"taeda/ops/{f}_operators.h" for f in families]],
        "",
    )
    for family, rows in families.items():
        w.cpp(
            f"taeda/ops/{family}_functions.h", ["taeda/core/tensor.h"], cpp_ops.declarations(rows)
        )
        w.cpp(
            f"taeda/ops/{family}_operators.h",
            ["taeda/dispatch/operator.h"],
            cpp_ops.operator_declarations(rows),
        )
        w.cpp(
            f"taeda/ops/{family}_decl.h",
            ["<array>", "taeda/core/tensor.h", "taeda/ops/spec.h"],
            cpp_ops.impl_declarations(rows),
        )
        methods = "\n".join(d for _, d in cpp_ops.method_parts(rows))
        body = cpp_ops.table(family, rows, cpp_batch.entry)
        body += (
            "namespace taeda {\n\n"
            + cpp_ops.definitions(rows)
            + "\n"
            + methods
            + "\n\n}  // namespace taeda\n"
        )
        w.cpp(
            f"taeda/ops/{family}_table.cpp",
            [
                f"taeda/ops/{family}_operators.h",
                f"taeda/ops/{family}_functions.h",
                "taeda/dispatch/dispatcher.h",
            ],
            body,
        )
        w.cpp(
            f"taeda/ops/{family}_dense.cpp",
            [
                "taeda/ops/checks.h",
                "taeda/ops/operands.h",
                "taeda/ops/out_alias.h",
                "taeda/ops/out_dtype.h",
                "taeda/ops/pointwise.h",
                "taeda/ops/spec.h",
                f"taeda/ops/{family}_operators.h",
                f"taeda/ops/{family}_decl.h",
                *(["taeda/ops/functions.h"] if any("alias" in r.data for r in rows) else []),
            ],
            cpp_dense.dense(rows),
        )
        w.cpp(
            f"taeda/ops/{family}_batch.h",
            ["taeda/ops/batching.h"],
            cpp_batch.declarations(rows),
        )
        w.cpp(
            f"taeda/ops/{family}_rules.cpp",
            [
                f"taeda/ops/{family}_batch.h",
                f"taeda/ops/{family}_decl.h",
                f"taeda/ops/{family}_operators.h",
            ],
            cpp_batch.table(rows),
        )
        formulas = f"taeda/autograd/{family}_formulas.h"
        w.cpp(
            f"taeda/autograd/{family}_autograd.cpp",
            [
                *([formulas] if (ROOT / formulas).exists() else []),
                "taeda/autograd/formulas.h",
                "taeda/autograd/forward.h",
                "taeda/autograd/generated_support.h",
                "taeda/autograd/node.h",
                "taeda/autograd/saved.h",
                "taeda/autograd/variable.h",
                "taeda/autograd/write_watch.h",
                f"taeda/ops/{family}_operators.h",
                "taeda/ops/functions.h",
            ],
            cpp_autograd.family_code(rows) + "\n" + cpp_autograd.tracking_code(rows),
        )
        if any("autocast" in r.data for r in rows):
            w.cpp(
                f"taeda/autograd/{family}_autocast.cpp",
                ["taeda/autograd/autocast.h", f"taeda/ops/{family}_operators.h"],
                cpp_autocast.family_code(rows),
            )
        if any(r.kind == "pointwise" for r in rows):
            tiles = ["taeda/backends/cpu/tiles.h", f"taeda/ops/{family}.h"]
            w.cpp(
                f"taeda/backends/cpu/{family}_tiles.isa.cpp",
                tiles,
                cpp_dense.isa_tiles(family, rows),
            )
            w.cpp(
                f"taeda/backends/cpu/{family}_tiles.cpp", tiles, cpp_dense.base_tiles(family, rows)
            )
            w.cpp(
                f"taeda/backends/cpu/{family}_symbolic.cpp",
                [*tiles, "taeda/ops/symbolic.h"],
                cpp_dense.symbolic(rows),
            )
        w.cpp(
            f"python/bindings_{family}.cpp",
            [
                "python/src/args.h",
                "python/src/factories.h",
                "python/src/tensor_type.h",
                "python/src/wrap.h",
                "taeda/autograd/variable.h",
                "taeda/ops/functions.h",
            ],
            python_bindings.family_code(family, rows),
        )
        w.add(f"docs/operators/{family}.md", stubs.page(family, rows))
    w.cpp(
        "taeda/ops/explicit_decompositions.cpp",
        ["taeda/ops/decompositions.h", *[f"taeda/ops/{f}_decl.h" for f in families]],
        decompositions.code(records),
    )
    w.cpp(
        "taeda/ops/symbolic_table.cpp", ["taeda/ops/symbolic.h"], cpp_dense.symbolic_table(records)
    )
    w.cpp("python/binding_tables.cpp", ["python/src/generated.h"], python_bindings.tables(families))
    return w


def committed(records):
    return {
        ROOT / "python/taeda/_C.pyi": stubs.pyi(records),
        ROOT / "docs/operator_matrix.md": matrix.markdown(records),
    }


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--records", default=ROOT / "taeda/ops/records")
    ap.add_argument("--out", default=ROOT / "build/gen")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--committed", action="store_true")
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    records = record_files.load(args.records)
    if args.check or args.committed:
        stale = []
        for path, text in committed(records).items():
            if path.exists() and path.read_text() == text:
                continue
            if args.check:
                stale.append(
                    f"{path.relative_to(ROOT)} is out of date: run tools/gen/main.py --committed"
                )
            else:
                path.write_text(text)
        stale += [
            f"{key}: no {column} and no written reason" for key, column in matrix.holes(records)
        ]
        print(
            "\n".join(stale)
            if stale
            else f"{len(records)} records, every artefact made or explained"
        )
        return 1 if stale and args.check else 0
    w = generate(records, args.out)
    if args.list:
        print("\n".join(sorted(w.files)))
    else:
        w.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
