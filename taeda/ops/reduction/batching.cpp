// Batching rules of reductions over everything: the example becomes one line, reduced along it.
#include "taeda/ops/reduction/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

Tensor line(const Batched& self) {
  const Tensor x = self.front();
  return x.dim() == 1 ? x.unsqueeze(1) : x.dim() == 2 ? x : x.flatten(1);
}

using ArgReduction = Tensor (*)(const Tensor&, std::optional<int64_t>, bool);

Batched arg_reduced(ArgReduction reduce, const Batched& self, std::optional<int64_t> dim,
                    bool keepdim) {
  if (!dim) {
    Tensor out = reduce(line(self), 1, false);
    if (keepdim)
      for (int64_t d = 0; d < self.rank(); ++d) out = out.unsqueeze(-1);
    return {out, 0};
  }
  if (self.rank() == 0) {
    wrap_dim(*dim, 0);
    return {reduce(line(self), 1, false), 0};
  }
  return {reduce(self.front(), wrap_dim(*dim, self.rank()) + 1, keepdim), 0};
}

}  // namespace

Batched prod(const Batched& self, std::optional<DType> dtype) {
  return {line(self).prod(1, false, dtype), 0};
}
Batched max(const Batched& self) { return {line(self).amax(IntList({1})), 0}; }
Batched min(const Batched& self) { return {line(self).amin(IntList({1})), 0}; }
Batched any(const Batched& self) { return {line(self).any(1, false), 0}; }
Batched all(const Batched& self) { return {line(self).all(1, false), 0}; }
Batched argmax(const Batched& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_reduced(&taeda::argmax, self, dim, keepdim);
}
Batched argmin(const Batched& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_reduced(&taeda::argmin, self, dim, keepdim);
}

}  // namespace taeda::batch
