"""C++ extensions: bindings, operators, builds that are not repeated, errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from taeda.utils import cpp_extension

import taeda as t

SOURCES = Path(__file__).with_name("extensions")
# The first test compiles an extension.
pytestmark = pytest.mark.slow
needs_nvcc = pytest.mark.skipif(cpp_extension.CUDA_HOME is None, reason="needs nvcc")


@pytest.fixture(scope="module")
def bindings():
    """One small extension, kept in the user's cache between runs."""
    return cpp_extension.load("taeda_test_bindings", [str(SOURCES / "bindings.cpp")])


# ---- bindings ----
def test_functions_take_and_return_tensors(bindings):
    x = t.arange(6, dtype=t.float32).reshape(2, 3)
    assert t.equal(bindings.doubled(x), x * 2)
    assert t.equal(bindings.doubled(x.double()), x.double() * 2)
    assert bindings.trace(t.eye(3)) == 3.0
    assert bindings.length([x, x]) == 2


def test_keywords_and_defaults(bindings):
    x = t.ones(2, 2)
    assert bindings.describe(x) == (2, "nFloat", [1, 2])
    assert bindings.describe(x, x, dims=(5,), flag=True, type=t.int64) == (4, "nLong", [5])
    assert bindings.describe(x=x, name="é") == (2, "éFloat", [1, 2])
    assert "x: torch.Tensor" in bindings.describe.__doc__


def test_overloads_are_tried_in_order(bindings):
    assert bindings.twice(2) == 4 and isinstance(bindings.twice(2), int)
    assert bindings.twice(0.5) == 1.0


def test_wrong_arguments_name_what_is_supported(bindings):
    with pytest.raises(TypeError, match=r"doubled\(\): incompatible function arguments") as error:
        bindings.doubled("x")
    assert "1. (arg0: torch.Tensor) -> torch.Tensor" in str(error.value)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bindings.doubled(t.ones(1), 2)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bindings.describe(t.ones(1), colour=3)


def test_errors_become_exceptions(bindings):
    with pytest.raises(RuntimeError, match="no such thing: 42"):
        bindings.fails()
    with pytest.raises(ValueError, match="bad value"):
        bindings.fails_value()
    with pytest.raises(RuntimeError, match="\"doubled\" not implemented for 'Long'"):
        bindings.doubled(t.ones(2, dtype=t.int64))


def test_autograd_functions_in_cpp(bindings):
    x = t.tensor([0.5, -2.0], dtype=t.float64, requires_grad=True)
    assert t.autograd.gradcheck(lambda v: bindings.cube(v, scale=3.0), (x,))
    assert bindings.cube(x).grad_fn is not None


def test_factories_take_options(bindings):
    made = bindings.made([2])
    assert made.tolist() == [5.0, 5.0] and made.dtype == t.float64 and made.requires_grad


def test_operators_register_with_inferred_schemas(bindings):
    op = t.ops.taeda_test_extension.scaled
    assert str(op.default._schema) == (
        "taeda_test_extension::scaled(Tensor _0, float _1) -> Tensor"
    )
    x = t.ones(2, requires_grad=True)
    op(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# ---- builds ----
def test_what_is_up_to_date_is_not_built_again(bindings):
    folder = Path(cpp_extension.get_default_build_root()) / "taeda_test_bindings"
    built = (folder / "taeda_test_bindings.so").stat().st_mtime_ns
    cpp_extension.load("taeda_test_bindings", [str(SOURCES / "bindings.cpp")])
    assert (folder / "taeda_test_bindings.so").stat().st_mtime_ns == built


def test_paths_and_tools():
    assert all(Path(folder).is_dir() for folder in cpp_extension.include_paths())
    headers = [Path(f) / "torch" / "extension.h" for f in cpp_extension.include_paths()]
    assert any(header.exists() for header in headers)
    assert any((Path(f) / "libtaeda.so").exists() for f in cpp_extension.library_paths())
    assert cpp_extension.is_ninja_available()
    cpp_extension.verify_ninja_availability()
    assert cpp_extension.LIB_EXT == ".so" and cpp_extension.ROCM_HOME is None
    is_new_enough, version = cpp_extension.get_compiler_abi_compatibility_and_version("c++")
    assert is_new_enough and version[0].isdigit()


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(OSError, match="build_directory does not exist"):
        cpp_extension.load("nothing", [], build_directory=str(tmp_path / "none"))


@pytest.mark.slow
def test_changed_sources_get_a_version(tmp_path):
    def build(number):
        return cpp_extension.load_inline(
            "versioned",
            f"int64_t number() {{ return {number}; }}",
            functions=["number"],
            build_directory=str(tmp_path),
        )

    first, second = build(1), build(2)
    assert (first.number(), second.number()) == (1, 2)
    assert second.__name__ == "versioned_v1"


@pytest.mark.slow
def test_a_compiler_error_is_shown(tmp_path):
    with pytest.raises(RuntimeError, match="Error building extension 'broken'") as error:
        cpp_extension.load_inline("broken", "int f() { return x; }", build_directory=str(tmp_path))
    assert "was not declared" in str(error.value)


@pytest.mark.slow
def test_a_broken_definition_is_an_error_of_the_load(tmp_path):
    source = 'TORCH_LIBRARY(broken_ext, m) { m.def("f(Tensr x) -> Tensor"); }'
    with pytest.raises(RuntimeError, match="unknown type specifier 'Tensr'"):
        cpp_extension.load_inline(
            "broken_ext", source, build_directory=str(tmp_path), is_python_module=False
        )


# ---- larger extensions, in the calls of PyTorch's tutorials ----
@pytest.mark.slow
def test_a_cell_with_its_own_backward(tmp_path):
    cell = cpp_extension.load(
        "gated_cell", [str(SOURCES / "gated_cell.cpp")], build_directory=str(tmp_path)
    )

    class Cell(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, weights, bias, h, c):
            next_h, next_c, joined, gates = cell.forward(x, weights, bias, h, c)
            ctx.save_for_backward(next_c, joined, gates, weights)
            return next_h, next_c

        @staticmethod
        def backward(ctx, grad_h, grad_c):
            return tuple(cell.backward(grad_h, grad_c, *ctx.saved_tensors))

    batch, features, state = 3, 5, 4
    shapes = [(batch, features), (3 * state, features + state), (1, 3 * state), (batch, state)]
    inputs = [t.randn(*s, dtype=t.float64, requires_grad=True) for s in [*shapes, shapes[-1]]]
    assert t.autograd.gradcheck(Cell.apply, inputs)


@pytest.mark.slow
def test_operators_in_cpp_get_derivatives_in_python(tmp_path):
    cpp_extension.load(
        "fused", [str(SOURCES / "fused.cpp")], build_directory=str(tmp_path), is_python_module=False
    )
    ops = t.ops.test_fused

    @t.library.register_fake("test_fused::product_plus")
    def _(a, b, c):
        return t.empty_like(a)

    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return ops.product(grad, b), ops.product(grad, a), None

    t.library.register_autograd(
        "test_fused::product_plus",
        backward,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2]),
    )
    a, b = t.randn(4, requires_grad=True), t.randn(4)
    out = ops.product_plus(a, b, 1.5)
    assert t.allclose(out, a * b + 1.5)
    (g,) = t.autograd.grad(out.sum(), a)
    assert t.allclose(g, b)
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    t.library.opcheck(ops.product_plus.default, (a, b, 1.5), test_utils=tests)
    result = t.empty(4)
    ops.sum_into(a.detach(), b, result)
    assert t.allclose(result, a.detach() + b)
    with pytest.raises(RuntimeError, match=r"Expected a.sizes\(\) == b.sizes\(\) to be true"):
        ops.product_plus(t.ones(2), t.ones(3), 1.0)
    with pytest.raises(RuntimeError, match="expected float, got Long"):
        ops.product(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64))


@pytest.mark.slow
@needs_nvcc
def test_cuda_sources_compile(tmp_path):
    from taeda.utils import _extension_toolchain as toolchain

    flags = [f"-I{path}" for path in cpp_extension.include_paths("cuda")]
    command = [
        toolchain.nvcc_compiler(),
        *flags,
        *toolchain.NVCC_FLAGS,
        "-gencode=arch=compute_90,code=sm_90",
        "-c",
        str(SOURCES / "fused.cu"),
        "-o",
        str(tmp_path / "fused.o"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fused.o").stat().st_size > 0


@pytest.mark.slow
def test_a_setup_script_builds_a_module(tmp_path):
    pytest.importorskip("setuptools", reason="environments of Python 3.12 and later have none")
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n"
        "from taeda.utils.cpp_extension import BuildExtension, CppExtension\n"
        "setup(name='ahead', ext_modules=[CppExtension('ahead', ['ahead.cpp'],\n"
        "      extra_compile_args={'cxx': ['-O1']})], cmdclass={'build_ext': BuildExtension})\n"
    )
    (tmp_path / "ahead.cpp").write_text(
        "#include <torch/extension.h>\n"
        "torch::Tensor neg(torch::Tensor x) { return -x; }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("neg", &neg); }\n'
    )
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    program = "import taeda, ahead; print(ahead.neg(taeda.ones(1)).item())"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "-1.0", ran.stderr
