// Batching rules of cdist: examples are a leading dimension of its batch.
#include "taeda/ops/distance/batching.h"
#include "taeda/ops/distance/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/functions.h"

namespace taeda::batch {
namespace {

// The rows of each example: those of `x` in the batch that `sizes` starts with.
SymIntVec rows_of(SymIntVec sizes, const Tensor& x) {
  sizes[sizes.size() - 2] = x.sym_size(-2);
  sizes[sizes.size() - 1] = x.sym_size(-1);
  return sizes;
}

}  // namespace

Batched _cdist_forward(const Batched& x1, const Batched& x2, double p,
                       std::optional<int64_t> compute_mode) {
  const int64_t rank = std::max(x1.rank(), x2.rank());
  return {taeda::_cdist_forward(x1.front_aligned(rank), x2.front_aligned(rank), p, compute_mode),
          0};
}

Batched _cdist_backward(const Batched& grad, const Batched& x1, const Batched& x2, double p,
                        const Batched& cdist) {
  const int64_t rank = std::max({grad.rank(), x1.rank(), x2.rank(), cdist.rank()});
  const auto with_front = [&](const Batched& b) {
    Tensor out = b.front_aligned(rank);
    while (out.dim() <= rank) out = out.unsqueeze(0);
    return out;
  };
  const Tensor first = with_front(x1), second = with_front(x2);
  const Tensor grads = with_front(grad), distances = with_front(cdist);
  // Rows broadcast; gradients and distances stand for each pair of each example.
  SymIntVec sizes(grads.sym_sizes().begin(), grads.sym_sizes().end());
  for (int64_t d = 0; d + 2 < grads.dim(); ++d)
    for (const Tensor& t : {first, second, distances})
      if (sizes[d] == SymInt(1)) sizes[d] = t.sym_size(d);
  return {taeda::_cdist_backward(grads.expand(sizes), first.expand(rows_of(sizes, first)), second,
                                 p, distances.expand(sizes)),
          0};
}

// The rows of all pairs, in the order of the result.
Batched _pdist_forward(const Batched& self, double p) {
  const Tensor x = self.front();
  const int64_t n = x.sym_size(1).expect_int();
  const Tensor pairs = taeda::triu_indices(n, n, 1, DType::Int64, {}, x.device());
  const auto rows = [&](int64_t which) { return x.index_select(1, pairs.select(0, which)); };
  return {taeda::linalg_vector_norm(rows(0) - rows(1), Scalar(p), IntList({-1})), 0};
}

}  // namespace taeda::batch
