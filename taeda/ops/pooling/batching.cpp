// Batching rules of fractional pooling, whose samples have a batch where the input may have none.
#include "taeda/ops/pooling/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/functions.h"

namespace taeda::batch {
namespace {

template <class Pool>
std::tuple<Batched, Batched> fractional(const Batched& self, const Batched& samples,
                                        int64_t spatial, Pool&& pool) {
  const SymInt& size = batch_context().size;
  const Tensor x = self.front_expanded(size);
  const bool has_batch = x.dim() == spatial + 3;
  Tensor each = samples.front_expanded(size);
  // One example's samples may be more than its inputs.
  each = each.narrow(1, 0, has_batch ? x.sym_size(1) : SymInt(1)).flatten(0, 1);
  const auto [values, indices] = pool(has_batch ? x.flatten(0, 1) : x, each);
  if (!has_batch) return {Batched(values, 0), Batched(indices, 0)};
  const auto apart = [&](const Tensor& t) {
    return Batched(t.unflatten(0, {size, t.sym_size(0) / size}), 0);
  };
  return {apart(values), apart(indices)};
}

}  // namespace

std::tuple<Batched, Batched> fractional_max_pool2d(const Batched& self, IntList kernel_size,
                                                   IntList output_size,
                                                   const Batched& random_samples) {
  return fractional(self, random_samples, 2, [&](const Tensor& x, const Tensor& samples) {
    return taeda::fractional_max_pool2d(x, kernel_size, output_size, samples);
  });
}
std::tuple<Batched, Batched> fractional_max_pool3d(const Batched& self, IntList kernel_size,
                                                   IntList output_size,
                                                   const Batched& random_samples) {
  return fractional(self, random_samples, 3, [&](const Tensor& x, const Tensor& samples) {
    return taeda::fractional_max_pool3d(x, kernel_size, output_size, samples);
  });
}

}  // namespace taeda::batch
