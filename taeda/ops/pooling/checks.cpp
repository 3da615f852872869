// Checks of pooled tensors and their gradients.
#include "taeda/ops/pooling/checks.h"
#include "taeda/core/unbacked.h"

#include "taeda/ops/shape.h"

namespace taeda {

void check_pooled_dtype(const char* op, const Tensor& self, PooledIntegers integers) {
  const DType t = self.dtype();
  const bool is_float = is_floating(t) && !is_float8(t);
  const bool is_integer = !is_floating(t) && !is_complex(t) && t != DType::Bool;
  const bool is_taken = is_float || (integers == kPoolsLong && t == DType::Int64) ||
                        (integers == kPoolsIntegers && is_integer);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken, "\"", op, "\" not implemented for '", t, "'");
}

OutSpec pooled_spec(const Tensor& self, const SymIntVec& sizes, DType dtype) {
  OutSpec spec(SymIntList(sizes), dtype, self.device());
  if (self.suggested_format() != MemoryFormat::Contiguous)
    spec.strides = channels_last_strides(sizes);
  return spec;
}

void check_gradient_dtype(const Tensor& grad_output, const Tensor& self) {
  TAEDA_CHECK(grad_output.dtype() == self.dtype(), "expected dtype ", self.dtype(),
              " for `gradOutput` but got dtype ", grad_output.dtype());
}

void check_gradient_sizes(const Tensor& t, const SymIntVec& sizes) {
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < ndim; ++d)
    TAEDA_CHECK(t.dim() == ndim && t.sym_size(d) == sizes[d], "Expected a tensor of dimension ",
                ndim, " and tensor.size[", d, "] == ", sizes[d], " but got: dimension ", t.dim(),
                " and tensor.size[", d, "] = ", d < t.dim() ? t.sym_size(d) : SymInt(0));
}

void check_planes(const char* op, const Tensor& self, int64_t spatial, int64_t first) {
  TAEDA_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, op, "(): Expected ",
              spatial + 1, "D or ", spatial + 2, "D tensor, but got: ", self.sym_sizes());
  for (int64_t d = first; d < self.dim(); ++d)
    TAEDA_CHECK(expect(SymOp::Gt, self.sym_size(d), 0), op,
                "(): Expected input to have non-zero size for non-batch dimensions, but input has "
                "sizes ",
                self.sym_sizes(), " with dimension ", d, " being empty");
}

}  // namespace taeda
