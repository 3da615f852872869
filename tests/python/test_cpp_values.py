"""C++ extensions: lists and dictionaries, norms, and operators registered by objects."""

import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from taeda.testing._internal.common_utils import TestCase
from taeda.testing._internal.optests import opcheck
from taeda.utils import cpp_extension

import taeda as t

SOURCES = Path(__file__).with_name("extensions")


@pytest.fixture(scope="module")
def values():
    return cpp_extension.load("taeda_test_values", [str(SOURCES / "values.cpp")])


slow = pytest.mark.slow
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")


# ---- values ----
@slow
def test_lists_are_arguments_and_results(values):
    assert [x.item() for x in values.repeated(t.ones(1), 3)] == [1.0, 2.0, 3.0]
    assert values.shared_size([1, 2]) == 308
    op = t.ops.test_values.repeated
    assert [x.item() for x in op(t.zeros(1))] == [0.0, 1.0]
    assert t.ops.test_values.missing([t.ones(1), None, None]) == 2


@slow
def test_dictionaries_keep_their_order(values):
    assert values.ordered(["c", "b", "a", "c"]) == "c0a9-0"
    with pytest.raises(IndexError, match="Argument not in Dict"):
        values.ordered(["a"])


@slow
def test_storages_and_numbers_convert(values):
    x = t.ones(3)
    storage = values.storage_of(x)
    assert storage.nbytes() == 12 and storage.data_ptr() == x.data_ptr()
    assert values.is_storage_of(x.untyped_storage(), x[1:])
    assert values.halved(3.0) == 1.5 and values.halved(3) == 1.5


# ---- tensors ----
@slow
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf, -math.inf])
def test_norms(torch, values, p):
    x = t.randn(3, 4, dtype=t.float64)
    theirs = torch.from_numpy(x.numpy())
    assert t.allclose(values.norm_of(x, p, []), t.from_numpy(theirs.norm(p).numpy()))
    by_rows = theirs.norm(p, dim=1, keepdim=True)
    assert t.allclose(values.norm_of(x, p, [1]), t.from_numpy(by_rows.numpy()))


@slow
def test_norms_are_differentiated_at_zero_too(values):
    x = t.randn(4, dtype=t.float64, requires_grad=True)
    assert t.autograd.gradcheck(lambda v: values.norm_of(v, 2.0, []), (x,))
    zero = t.zeros(2, requires_grad=True)
    values.norm_of(zero, 2.0, []).backward()
    assert zero.grad.tolist() == [0.0, 0.0]


@slow
def test_variances_by_dimensions(values):
    x = t.randn(3, 4)
    rows, both, deviation, columns, everything = values.spreads(x)
    assert t.allclose(rows, x.var(dim=0)) and t.allclose(both, x.var())
    assert t.allclose(deviation, x.std()) and t.allclose(everything, x.var())
    assert t.allclose(columns, x.var(dim=1, correction=0, keepdim=True))


@slow
def test_detach_in_place(values):
    assert not values.cut_off(t.ones(1, requires_grad=True))


@slow
def test_backward_takes_gradients_by_reference(values):
    x = t.ones(2, requires_grad=True)
    values.tripled(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@slow
def test_dispatch_over_lists_of_dtypes(values):
    kinds = [values.kind_of(t.ones(1, dtype=d)) for d in (t.int64, t.float32, t.float16, t.bool)]
    assert kinds == ["8=", "4=", "2=", "1="]
    with pytest.raises(NotImplementedError, match="\"kind_of\" not implemented for 'BFloat16'"):
        values.kind_of(t.ones(1, dtype=t.bfloat16))


# ---- operators ----
@slow
def test_objects_register_operators(values):
    ops = t.ops.test_values
    assert str(ops.twice.default._schema) == "test_values::twice(Tensor _0) -> Tensor"
    x = t.ones(2, requires_grad=True)
    ops.twice(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert ops.thrice(t.ones(1)).item() == 3.0
    with pytest.raises(
        NotImplementedError, match="test_values::thrice: attempted to run this operator with Meta"
    ):
        ops.thrice(t.ones(1, device="meta"))


@slow
def test_an_object_that_fails_is_an_error_of_the_load(tmp_path):
    source = 'static auto r = torch::RegisterOperators("nameless", [](int64_t x) { return x; });'
    with pytest.raises(RuntimeError, match=r'name needs a namespace.*got "nameless"'):
        cpp_extension.load_inline(
            "nameless", source, build_directory=str(tmp_path), is_python_module=False
        )


@slow
def test_kernels_read_the_stack_as_in_pytorch(values):
    before = values.calls()
    assert t.ops.test_values.named(t.zeros(1)).item() == len("test_values::named")
    assert values.calls() == before + 1


@slow
def test_tuples_among_the_results_of_methods(values):
    (name, items), number = t.classes.test_values.Pairs().parts()
    assert (name, number) == ("items", 3) and items[0].item() == 1.0
    assert isinstance(t.classes.test_values.Pairs().parts()[0], tuple)


# ---- the stable interface ----
@pytest.fixture(scope="module")
def stable():
    source = str(SOURCES / "stable_names.cpp")
    cpp_extension.load("taeda_test_stable", [source], is_python_module=False)
    return t.ops.test_stable


@slow
def test_stable_tensors_over_memory_of_others(stable):
    x = t.arange(6.0)
    view = stable.over(x.data_ptr(), [2, 3], [1, 2], x.dtype)
    assert t.equal(view, x.reshape(3, 2).t()) and stable.freed_count() == 0
    del view
    assert stable.freed_count() == 1


@slow
def test_stable_functions_take_numbers_of_any_width(stable):
    assert stable.mixed(1, 2, 0.5, "ab", "c") == 6.5
    schema = stable.mixed.default._schema
    assert str(schema.arguments[0].type) == "int"


@slow
def test_stable_operators(stable):
    a, b, out = t.randn(2, 3), t.randn(3, 2), t.empty(2, 2)
    stable.product(out, a, b)
    assert t.allclose(out, a @ b)
    assert {t.Tag.core, t.Tag.pt2_compliant_tag} <= set(stable.product.default.tags)


@slow
def test_lists_of_types_and_checks_without_a_semicolon(stable):
    assert [stable.bytes_of(d) for d in (t.int32, t.bfloat16, t.complex128, t.bool)] == [
        4,
        2,
        16,
        1,
    ]
    with pytest.raises(RuntimeError, match="no bytes for UInt16"):
        stable.bytes_of(t.uint16)


@slow
def test_warnings_that_come_once(stable):
    with pytest.warns(UserWarning, match="seen 3 1"):
        stable.warned(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stable.warned(4)


# ---- modules without pybind11 ----
@slow
def test_a_module_may_define_its_own_init_function(tmp_path):
    source = """
#include <Python.h>
#include <torch/library.h>
extern "C" PyObject* PyInit_plain(void) {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, "plain", nullptr, -1, nullptr};
  return PyModule_Create(&module);
}
"""
    module = cpp_extension.load_inline(
        "plain", source, build_directory=str(tmp_path), no_implicit_headers=True
    )
    assert module.__name__ == "plain"


def cmake_build(folder):
    """Configures and builds the project of a folder, which finds Taeda's packages."""
    prefix = f"-DCMAKE_PREFIX_PATH={t.utils.cmake_prefix_path}"
    build = folder / "build"
    for command in (["-S", str(folder), "-B", str(build), prefix], ["--build", str(build)]):
        done = subprocess.run([CMAKE, *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


@slow
@pytest.mark.skipif(CMAKE is None, reason="needs cmake")
def test_projects_find_the_package_taeda(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(found LANGUAGES CXX)\n"
        "find_package(Taeda REQUIRED)\n"
        "add_executable(found found.cpp)\n"
        "target_link_libraries(found PRIVATE Taeda::torch)\n"
    )
    (tmp_path / "found.cpp").write_text(
        "#include <taeda/taeda.h>\n"
        "#include <torch/torch.h>\n"
        "#include <iostream>\n"
        "int main() { std::cout << taeda::arange(2) + torch::ones({2}) << std::endl; }\n"
    )
    program = cmake_build(tmp_path) / "found"
    printed = subprocess.run([str(program)], capture_output=True, text=True).stdout
    assert printed == " 1\n 2\n[ CPUFloatType{2} ]\n"


@slow
@pytest.mark.skipif(CMAKE is None, reason="needs cmake")
def test_projects_find_the_package_torch(tmp_path, monkeypatch):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        "project(found LANGUAGES CXX)\n"
        "set(CMAKE_CXX_STANDARD 17)\n"
        "find_package(Torch 2.0 REQUIRED)\n"
        'set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} ${TORCH_CXX_FLAGS}")\n'
        "include_directories(${TORCH_INCLUDE_DIRS})\n"
        "add_library(found SHARED found.cpp)\n"
        'target_link_libraries(found "${TORCH_LIBRARIES}")\n'
    )
    (tmp_path / "found.cpp").write_text(
        "#include <torch/script.h>\n"
        "static int64_t twice(int64_t x) { return 2 * x; }\n"
        'static auto registry = torch::RegisterOperators("test_found::twice", &twice);\n'
    )
    build = cmake_build(tmp_path)
    monkeypatch.chdir(tmp_path)
    t.ops.load_library(Path("build") / "libfound.so")
    assert str(build / "libfound.so") in t.ops.loaded_libraries
    assert t.ops.test_found.twice(21) == 42


# ---- what tests of extensions import ----
def test_equality_of_tensors_in_test_cases():
    case = TestCase()
    case.assertEqual([t.ones(2), 1], [t.ones(2) + 1e-7, 1])
    case.assertEqual(t.tensor([math.nan]), t.tensor([math.nan]))
    case.assertEqual("a", "a")
    case.assertEqual(1.0, 1.1, atol=0.2, rtol=0)
    for x, y in [(t.ones(2), t.zeros(2)), (t.ones(1), t.ones(1, dtype=t.float64)), (1, 2)]:
        with pytest.raises(AssertionError):
            case.assertEqual(x, y)
    assert opcheck is t.library.opcheck
