// Derivative helpers of joins.
#include "taeda/ops/join/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::gradients {

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<std::vector<SymInt>>& sizes,
                                 const std::vector<DType>& dtypes, int64_t dim) {
  std::vector<Tensor> out;
  SymInt start = 0;
  dim = wrap_dim(dim, grad.dim());
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Empty vectors join anything and take no part.
    if (sizes[i].size() == 1 && sizes[i][0] == SymInt(0)) {
      out.push_back(taeda::zeros(sizes[i], dtypes[i], {}, grad.device()));
      continue;
    }
    const SymInt length = sizes[i][dim];
    out.push_back(cast_gradient(grad.narrow(dim, start, length), dtypes[i]));
    start += length;
  }
  return out;
}

std::vector<Tensor> stack_backward(const Tensor& grad, const std::vector<DType>& dtypes,
                                   int64_t dim) {
  std::vector<Tensor> out = grad.unbind(dim);
  for (size_t i = 0; i < out.size(); ++i) out[i] = cast_gradient(out[i], dtypes[i]);
  return out;
}

}  // namespace taeda::gradients
