"""The layer check reads the design's table and names file, line and rule."""

import check_layers
import pytest

TABLE = """\
| row | folders under `taeda/` | holds | also allowed |
| --- | --- | --- | --- |
| 0 | base | errors | |
| 4 | ops, backends/{meta,cpu} | kernels | backends/* → ops (declarations); never each other |
| 6 | nn, optim | parts | optim → nn |
| 7 | `python/interop` | casters | |
| 8 | dynamo | frames | dynamo → python/interop |
| 9 | serve, `python/src` | bindings | |

| row | not a layer |
"""


@pytest.fixture
def layers():
    return check_layers.read_layers(TABLE)


def messages(layers, path, *lines):
    return list(check_layers.check_file(layers, path, "\n".join(lines)))


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("taeda/base/a.h", '"taeda/base/b.h"'),
        ("taeda/ops/a.cpp", '"taeda/base/b.h"'),
        ("taeda/backends/cpu/gemm/a.cpp", '"taeda/backends/cpu/b.h"'),
        ("taeda/backends/cpu/a.cpp", '"taeda/ops/b.h"'),
        ("taeda/backends/cpu/a.cpp", '"taeda/backends/device_api.h"'),
        ("taeda/optim/a.h", '"taeda/nn/b.h"'),
        ("python/src/a.cpp", '"python/interop/b.h"'),
        ("python/src/a.cpp", "<Python.h>"),
        ("taeda/dynamo/a.h", '"python/interop/b.h"'),
        ("taeda/dynamo/cpython_3_11.c", "<internal/pycore_frame.h>"),
        ("taeda/base/a.cpp", "<iostream>"),
        ("taeda/base/a.h", "<vector>"),
        ("taeda/taeda.h", '"taeda/ops/b.h"'),
    ],
)
def test_allowed(layers, path, include):
    assert messages(layers, path, f"#include {include}") == []


@pytest.mark.parametrize(
    ("path", "include", "rule"),
    [
        (
            "taeda/base/a.h",
            '"taeda/ops/b.h"',
            "taeda/base (row 0) may not include taeda/ops (row 4)",
        ),
        ("taeda/ops/a.h", '"taeda/backends/cpu/b.h"', "may not include taeda/backends/cpu"),
        ("python/src/a.cpp", '"taeda/taeda.h"', "the header of programs outside"),
        (
            "taeda/backends/cpu/a.h",
            '"taeda/backends/meta/b.h"',
            "may not include taeda/backends/meta",
        ),
        ("taeda/backends/a.cpp", '"taeda/backends/cpu/b.h"', "may not include taeda/backends/cpu"),
        ("taeda/nn/a.h", '"taeda/optim/b.h"', "may not include taeda/optim"),
        ("taeda/serve/a.h", '"python/src/b.h"', "may not include python/src"),
        ("taeda/dynamo/a.cpp", '"python/src/args/b.h"', "may not include python/src"),
        (
            "python/interop/a.cpp",
            '"python/src/args/b.h"',
            "python/interop (row 7) may not include python/src (row 9)",
        ),
        ("taeda/base/a.h", '"taeda/unheard_of/b.h"', "not in the layer table"),
        ("taeda/base/a.h", '"b.h"', "path from the root"),
        ("taeda/base/a.h", "<iostream>", "str.h"),
        ("taeda/ops/a.cpp", "<Python.h>", "may know Python"),
        ("taeda/dynamo/a.cpp", '"internal/pycore_frame.h"', "C files"),
    ],
)
def test_refused(layers, path, include, rule):
    (message,) = messages(layers, path, "// opener", f"#  include {include}")
    assert message.startswith(f"{path}:2: ")
    assert rule in message


@pytest.mark.parametrize(
    "line",
    [
        "  cpu::add(a, b);",
        "if (t.is_cpu()) return;",
        "namespace taeda::cpu::avx2 {",
        "if (t.is_cuda()) return;",
        "return t.to(DeviceType::CPU);",
        "return t.to(DeviceType::CUDA);",
        "return t.to(kCPU);",
        "return device.value_or(Device());",
        "namespace taeda::cpu {",
        "using namespace cpu;",
        "Device d{};",
        "return Device {};",
        'return Device("cpu");',
        "return DeviceType(0);",
        "key(DeviceType::PrivateUse1);",
        "return t.cpu();",
        'return t.to("cpu");',
        'fail("http://x"); cpu::add(a);',
        "return empty(sizes, Device{});",
        "const int slot = slot_of(Key::Dense, DeviceType::CPU), place = of(DeviceType::CPU);",
    ],
)
def test_operators_name_no_device(layers, line):
    (message,) = messages(layers, "taeda/ops/view/a.cpp", "// opener", line)
    assert message.startswith("taeda/ops/view/a.cpp:2: ") and "name no device" in message
    assert messages(layers, "taeda/backends/cpu/a.cpp", "// opener", line) == []


def test_the_cpu_where_pytorch_names_it(layers):
    said = "// PyTorch names the CPU: indices lie there."
    assert messages(layers, "taeda/ops/a.cpp", said, "check(t.is_cpu());") == []
    assert messages(layers, "taeda/ops/a.cpp", said, "t.to(DeviceType::CPU);", "Device();") == []
    assert messages(layers, "taeda/ops/a.cpp", said, "cpu::add(a, b);") != []
    assert messages(layers, "taeda/ops/a.cpp", said, "t.to(DeviceType::CUDA);") != []
    assert messages(layers, "taeda/ops/a.cpp", said, "", "", "", "check(t.is_cpu());") != []
    assert messages(layers, "taeda/ops/a.cpp", "// not on cpu:: nor is_cpu") == []


@pytest.mark.parametrize(
    "line",
    [
        "    {{slot_of(Key::Dense, DeviceType::CPU), &add}, {slot_of(Key::Dense, DeviceType::CUDA), &add}}",
        "const Device device(DeviceType::Meta);",
        "Device device = t.device();",
        "t.to(TheDevice());",
    ],
)
def test_no_device_of_its_own(layers, line):
    assert messages(layers, "taeda/ops/a.cpp", line) == []


def test_folder_outside_the_table(layers):
    (message,) = messages(layers, "taeda/unheard_of/a.h", "#pragma once")
    assert message == "taeda/unheard_of/a.h:1: folder is not in the layer table of docs/design.md"


def test_text_without_a_table():
    with pytest.raises(ValueError, match="no layer table"):
        check_layers.read_layers("# A page\n")


def test_tree(layers, tmp_path):
    (tmp_path / "taeda" / "base").mkdir(parents=True)
    (tmp_path / "taeda" / "base" / "a.h").write_text('#include "taeda/nn/b.h"\n')
    (tmp_path / "taeda" / "base" / "notes.md").write_text('#include "taeda/nn/b.h"\n')
    (message,) = check_layers.check_tree(layers, tmp_path)
    assert message.startswith("taeda/base/a.h:1: ")


def test_the_design_page_names_every_row():
    text = (check_layers.ROOT / "docs" / "design.md").read_text()
    layers = check_layers.read_layers(text)
    assert set(layers.rows.values()) == set(range(10))
    assert layers.rows["taeda/backends/cpu"] == 4
    assert ("taeda/distributed", "taeda/data") in layers.arrows
