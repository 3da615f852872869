// Normalization by the squares of neighbouring channels.
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"

namespace taeda::impl {

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  TAEDA_CHECK_VALUE(input.dim() >= 3,
                    "Expected 3D or higher dimensionality "
                    "                         input (got ",
                    input.dim(), " dimensions)");
  TAEDA_CHECK(size > 0, "[local_response_norm] size must be positive: got ", size);
  if (input.sym_numel() == SymInt(0)) return input;
  // Channels outside count as zeros.
  const auto outside = [&](int64_t count) {
    SymIntVec sizes(input.sym_sizes());
    sizes[1] = SymInt(count);
    return input.new_zeros(SymIntList(sizes));
  };
  const Tensor squares[] = {outside(size / 2), input.mul(input), outside((size - 1) / 2)};
  const int64_t dims[] = {-1};
  const Tensor windows = taeda::cat(squares, 1).unfold(1, size, 1);
  // Means of integers are cut to integers, as in pooling.
  const Tensor mean = is_integral(input.dtype(), true)
                          ? windows.sum(IntList(dims)).floor_divide(Scalar(size))
                          : windows.mean(IntList(dims));
  return input.div(mean.mul(Scalar(alpha)).add(Scalar(k)).pow(Scalar(beta)));
}

}  // namespace taeda::impl
