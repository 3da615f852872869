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
import cpp_cpu
import cpp_dense
import cpp_filling
import cpp_forms
import cpp_lowered
import cpp_lowering
import cpp_namespaces
import cpp_ops
import decompositions
import matrix
import nn_functional
import python_bindings
import records as record_files
import samples
import stubs
from writer import Writer

ROOT = Path(__file__).resolve().parents[2]


def repeated_headers(rows):
    """What the calls of operators that others repeat need."""
    families = dict.fromkeys(r.repeated.family for r in rows if r.repeated)
    found = [f"taeda/ops/{family}/functions.h" for family in families]
    return ["taeda/ops/functions.h", "taeda/ops/lists.h", *found] if found else []


def has_number_lists(rows):
    return any(a.type.base == "Scalar" and a.type.is_list for r in rows for a in r.schema.arguments)


def family_files(w, family, rows):
    """What follows from the records of one family."""
    home = f"taeda/ops/{family}"
    operators, declarations = f"{home}/operators.h", f"{home}/declarations.h"
    w.cpp(f"{home}/functions.h", ["taeda/core/tensor.h"], cpp_ops.declarations(rows))
    boxing = ["taeda/dispatch/number_lists.h"] if has_number_lists(rows) else []
    w.cpp(operators, ["taeda/dispatch/operator.h", *boxing], cpp_ops.operator_declarations(rows))
    w.cpp(
        declarations,
        ["<array>", "taeda/core/tensor.h", "taeda/ops/spec.h"],
        cpp_ops.impl_declarations(rows),
    )
    forms = [
        "taeda/ops/checks.h",
        "taeda/ops/operands.h",
        "taeda/ops/out_alias.h",
        "taeda/ops/out_dtype.h",
        "taeda/ops/pointwise.h",
        "taeda/ops/spec.h",
        operators,
        declarations,
    ]
    more = ["taeda/ops/functions.h"] if any("alias" in r.data for r in rows) else []
    if any("parts" in r.data for r in rows):
        more.append(f"{home}/rules.h")
    more += repeated_headers(rows)
    w.cpp(f"{home}/batching.h", ["taeda/ops/batching.h"], cpp_batch.declarations(rows))
    # One source for what runs below autograd and its tables: each costs the headers once.
    w.cpp(
        f"{home}/operators.cpp",
        [
            *forms,
            *more,
            f"{home}/batching.h",
            f"{home}/functions.h",
            "taeda/dispatch/dispatcher.h",
        ],
        "\n".join(
            [
                cpp_dense.dense(rows),
                cpp_batch.table(rows),
                cpp_ops.table(family, rows, cpp_batch.entry),
                cpp_ops.function_definitions(rows),
            ]
        ),
    )
    autograd_files(w, family, rows)
    cpu_files(w, family, rows, forms)
    lowered_files(w, family, rows, forms)
    if any(cpp_lowering.has_lowering(r) for r in rows):
        w.cpp(f"{home}/lowerings.h", ["taeda/ops/lowering.h"], cpp_lowering.declarations(rows))
    w.cpp(
        f"python/bindings_{family}.cpp",
        [
            "python/interop/errors.h",
            "python/interop/gil.h",
            "python/interop/named_results.h",
            "python/interop/tensor_object.h",
            "python/interop/wrap.h",
            "python/src/args/args.h",
            *(["python/src/args/number_lists.h"] if has_number_lists(rows) else []),
            "python/src/tensor/factories.h",
            "taeda/autograd/variable.h",
            "taeda/ops/functions.h",
            f"{home}/functions.h",
        ],
        python_bindings.family_code(family, rows),
    )
    w.add(f"docs/operators/{family}.md", stubs.page(family, rows))


def autograd_files(w, family, rows):
    """Nodes, tangents and casts: what runs above the dense forms."""
    gradients = f"taeda/ops/{family}/gradients.h"
    has_casts = any("autocast" in r.data for r in rows)
    parts = [cpp_autograd.family_code(rows), cpp_autograd.tracking_code(rows)]
    w.cpp(
        f"taeda/autograd/{family}_autograd.cpp",
        [
            *([gradients] if (ROOT / gradients).exists() else []),
            *(["taeda/autograd/autocast.h"] if has_casts else []),
            "taeda/autograd/forward.h",
            "taeda/autograd/generated_support.h",
            *(["taeda/autograd/lists.h"] if any(r.data.get("at_once") for r in rows) else []),
            "taeda/autograd/node.h",
            "taeda/autograd/saved.h",
            "taeda/autograd/variable.h",
            "taeda/autograd/write_watch.h",
            "taeda/ops/functions.h",
            "taeda/ops/gradients.h",
            f"taeda/ops/{family}/functions.h",
            f"taeda/ops/{family}/operators.h",
        ],
        "\n".join([*parts, *([cpp_autocast.family_code(rows)] if has_casts else [])]),
    )


def cpu_files(w, family, rows, forms):
    """The CPU's kernels, and the bodies for those who print them."""
    home = f"taeda/backends/cpu/{family}"
    has_bodies = any(r.kind == "pointwise" for r in rows)
    if has_bodies or any(cpp_cpu.has_own_kernel(r) for r in rows):
        w.cpp(
            f"{home}_declarations.h",
            ["<array>", "taeda/core/tensor.h"],
            cpp_cpu.declarations(rows),
        )
        w.cpp(
            f"{home}_kernels.cpp",
            [
                f"{home}_declarations.h",
                *(["taeda/backends/cpu/pointwise/pointwise.h"] if has_bodies else []),
                *(
                    ["taeda/backends/cpu/pointwise/list_call.h"]
                    if any(r.repeated for r in rows)
                    else []
                ),
                *repeated_headers(rows),
                *forms,
            ],
            cpp_cpu.kernels(rows),
        )
    if not has_bodies:
        return
    bodies = f"taeda/ops/{family}/bodies.h"
    tiles = ["taeda/backends/cpu/pointwise/tiles.h", bodies]
    w.cpp(f"{home}_tiles.isa.cpp", tiles, cpp_cpu.isa_tiles(rows))
    w.cpp(
        f"{home}_tiles.cpp",
        [*tiles, f"taeda/ops/{family}/declarations.h"],
        cpp_cpu.base_tiles(rows),
    )
    w.cpp(
        f"taeda/ops/{family}/symbolic.cpp",
        [bodies, "taeda/ops/symbolic.h"],
        cpp_dense.symbolic(rows),
    )


def lowered_files(w, family, rows, forms):
    """What devices that compile kernels get."""
    if not any(cpp_lowered.is_lowered(r) for r in rows):
        return
    home = f"taeda/backends/lowered/{family}"
    w.cpp(
        f"{home}_declarations.h", ["<array>", "taeda/core/tensor.h"], cpp_lowered.declarations(rows)
    )
    w.cpp(
        f"{home}_forms.cpp",
        [
            f"{home}_declarations.h",
            "taeda/backends/device_kernels.h",
            "taeda/backends/lowered/forms.h",
            "taeda/backends/lowered/pointwise.h",
            "taeda/ops/indexing/index_checks.h",
            *forms,
        ],
        cpp_lowered.forms(rows),
    )


def generate(records, root):
    w = Writer(root)
    families = record_files.families(records)
    parts = [p for rows in families.values() for p in cpp_ops.method_parts(rows)]
    methods = "\n".join(d for d, _ in parts) + "\n" + cpp_forms.methods(records)
    w.add("taeda/core/tensor_methods.inc", methods)
    shared = [f for f, rows in families.items() if not rows[0].is_leaf]
    leaves = [f"taeda/ops/{f}/functions.h" for f in families if f not in shared]
    functions = [f"taeda/ops/{f}/functions.h" for f in shared]
    w.cpp("taeda/ops/functions.h", ["taeda/core/tensor.h", *functions, "taeda/ops/overloads.h"], "")
    w.cpp("taeda/ops/all_functions.h", ["taeda/ops/functions.h", *leaves], "")
    includes = ["taeda/ops/all_functions.h", "taeda/ops/number_or_list.h"]
    w.cpp(
        "taeda/ops/short_names.h",
        ["taeda/ops/all_functions.h"],
        cpp_namespaces.functions(records),
    )
    w.cpp("taeda/ops/call_forms.h", includes, cpp_forms.functions(records))
    operators = [f"taeda/ops/{f}/operators.h" for f in shared]
    w.cpp("taeda/ops/operators.h", ["taeda/dispatch/operator.h", *operators], "")
    for family, rows in families.items():
        family_files(w, family, rows)
    w.cpp(
        "taeda/ops/explicit_decompositions.cpp",
        [
            "taeda/ops/decompositions.h",
            *[f"taeda/ops/{f}/{h}.h" for f in families for h in ("declarations", "operators")],
        ],
        decompositions.code(records),
    )
    w.cpp(
        "taeda/ops/symbolic_table.cpp", ["taeda/ops/symbolic.h"], cpp_dense.symbolic_table(records)
    )
    lowered = [f for f, rows in families.items() if any(map(cpp_lowering.has_lowering, rows))]
    called = [f for f, rows in families.items() if any(map(cpp_lowering.is_listed, rows))]
    opened = [f for f, rows in families.items() if any(map(cpp_lowering.is_opened, rows))]
    w.cpp(
        "taeda/ops/lowering_table.cpp",
        sorted(
            [f"taeda/ops/{f}/lowerings.h" for f in lowered]
            + [f"taeda/ops/{f}/operators.h" for f in {*lowered, *called, *opened}]
            + [f"taeda/ops/{f}/declarations.h" for f in opened]
            + ["taeda/ops/lowering.h"]
        ),
        cpp_lowering.table(records),
    )
    filling = [f for f, rows in families.items() if any(map(cpp_filling.inplace_form, rows))]
    w.cpp(
        "taeda/ops/filling_table.cpp",
        ["taeda/ops/filling.h", *[f"taeda/ops/{f}/operators.h" for f in filling]],
        cpp_filling.table(records),
    )
    w.cpp("taeda/ops/sample_table.cpp", ["taeda/ops/samples.h"], samples.table(records))
    w.cpp(
        "taeda/backends/cpu/kernel_table.cpp",
        ["taeda/backends/cpu/pointwise/pointwise.h"],
        cpp_cpu.kernel_table(records),
    )
    w.cpp(
        "taeda/backends/lowered/form_table.cpp",
        ["taeda/backends/lowered/forms.h"],
        cpp_lowered.table(families),
    )
    w.add(nn_functional.PATH, nn_functional.code(records))
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
    ap.add_argument("--records", default=ROOT / "taeda/ops")
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
