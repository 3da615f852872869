// Derivative helpers of operators that return several views.
#include "taeda/ops/split/gradients.h"

#include <algorithm>

#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

const Tensor* first_defined(Span<Tensor> grads) {
  for (const Tensor& g : grads)
    if (g.defined()) return &g;
  return nullptr;
}

Tensor zeros_like_part(const Tensor& model, SymIntList sizes) { return model.new_zeros(sizes); }

}  // namespace

Tensor unbind_backward(Span<Tensor> grads, SymIntList self_sizes, int64_t dim) {
  const Tensor* model = first_defined(grads);
  if (!model) return Tensor();
  std::vector<Tensor> parts;
  for (const Tensor& g : grads)
    parts.push_back(g.defined() ? g : zeros_like_part(*model, model->sym_sizes()));
  return taeda::stack(parts, wrap_dim(dim, static_cast<int64_t>(self_sizes.size())));
}

Tensor split_with_sizes_backward(Span<Tensor> grads, SymIntList self_sizes, SymIntList split_sizes,
                                 int64_t dim) {
  const Tensor* model = first_defined(grads);
  if (!model) return Tensor();
  dim = wrap_dim(dim, static_cast<int64_t>(self_sizes.size()));
  std::vector<Tensor> parts;
  for (size_t i = 0; i < grads.size(); ++i) {
    SymIntVec sizes(self_sizes);
    sizes[dim] = split_sizes[i];
    parts.push_back(grads[i].defined() ? grads[i] : zeros_like_part(*model, sizes));
  }
  return taeda::cat(parts, dim);
}

Tensor split_backward(Span<Tensor> grads, SymIntList self_sizes, const SymInt& split_size,
                      int64_t dim) {
  const SymInt& total = self_sizes[wrap_dim(dim, static_cast<int64_t>(self_sizes.size()))];
  SymIntVec sizes(grads.size(), split_size);
  sizes.back() = total - split_size * SymInt(grads.size() - 1);
  return split_with_sizes_backward(grads, self_sizes, sizes, dim);
}

}  // namespace taeda::gradients
