"""An operator in Python and one in C++, each with a derivative, checked by opcheck and gradcheck.

./run python examples/custom_operator.py
"""

import numpy
from taeda.library import custom_op, opcheck, register_autograd, register_fake
from taeda.utils.cpp_extension import load_inline

import taeda
from taeda import Tensor


@custom_op("examples::numpy_cube", mutates_args=())
def numpy_cube(x: Tensor) -> Tensor:
    return taeda.from_numpy(numpy.power(x.numpy(), 3))


numpy_cube.register_fake(taeda.empty_like)
numpy_cube.register_autograd(
    lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)

CPP = """
at::Tensor clamp_cube(const at::Tensor& x, double limit) {
  at::Tensor in = x.contiguous(), out = at::empty(in.sizes(), in.options());
  AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "clamp_cube", [&] {
    const scalar_t* p = in.const_data_ptr<scalar_t>();
    scalar_t* r = out.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < in.numel(); ++i) {
      const scalar_t cube = p[i] * p[i] * p[i];
      r[i] = cube > limit ? limit : cube < -limit ? -limit : cube;
    }
  });
  return out;
}
TORCH_LIBRARY(examples_cpp, m) { m.def("clamp_cube(Tensor x, float limit) -> Tensor"); }
TORCH_LIBRARY_IMPL(examples_cpp, CPU, m) { m.impl("clamp_cube", &clamp_cube); }
"""


def cpp_operator():
    """Builds the operator (a few seconds the first time) and gives it shapes and a derivative."""
    load_inline("taeda_example_operator", CPP, is_python_module=False)
    name = "examples_cpp::clamp_cube"
    register_fake(name, lambda x, limit: taeda.empty_like(x))

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.limit = inputs[1]

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2 * (x.abs() ** 3 < ctx.limit), None

    register_autograd(name, backward, setup_context=setup_context)
    return taeda.ops.examples_cpp.clamp_cube.default


def main():
    x = taeda.randn(5, dtype=taeda.float64, requires_grad=True)
    print("python:", opcheck(numpy_cube, (x,)))
    print("gradcheck:", taeda.autograd.gradcheck(numpy_cube, (x,)))
    op = cpp_operator()
    print("C++:", opcheck(op, (x, 2.0)))
    print("gradcheck:", taeda.autograd.gradcheck(lambda v: op(v, 2.0), (x,)))


if __name__ == "__main__":
    main()
