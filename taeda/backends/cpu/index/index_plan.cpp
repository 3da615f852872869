// Offsets of advanced indexing: a component for each index tensor, broadcast and summed.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/index/index_plan.h"

#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/index/masks.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// Values that are wrapped around `size` and multiplied by `step`, or (size 0) offsets as they are.
struct Component {
  Tensor values;
  int64_t size, step;
};

void add_row(int64_t* out, const int64_t* values, int64_t n, int64_t stride, int64_t size,
             int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = values[i * stride];
    out[i] += (v + (v < 0 ? size : 0)) * step;
  }
}

// out[p] += the component's offset at position p of `values`, which has the positions' shape.
void add_component(int64_t* out, const Tensor& values, int64_t size, int64_t step) {
  const IntList sizes = values.sizes(), strides = values.strides();
  const int64_t cols = sizes.empty() ? 1 : sizes.back(),
                stride = sizes.empty() ? 1 : strides.back();
  const auto* data = static_cast<const int64_t*>(values.data());
  parallel_for(0, values.numel(), 32768, [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t col = first % cols, n = std::min(cols - col, last - first);
      int64_t rest = first / cols, at = col * stride;
      for (size_t d = sizes.size(); d-- > 1;) {
        at += rest % sizes[d - 1] * strides[d - 1];
        rest /= sizes[d - 1];
      }
      add_row(out + first, data + at, n, stride, size, step);
      first += n;
    }
  });
}

Component mask_component(const Tensor& mask, const Tensor& self, int64_t dim) {
  const TrueElements elements(mask);
  Tensor offsets = make_tensor({elements.count()}, DType::Int64, self.device());
  elements.offsets(self.strides().slice(static_cast<size_t>(dim), static_cast<size_t>(mask.dim())),
                   self.element_size(), static_cast<int64_t*>(offsets.data()));
  return {offsets, 0, 1};
}

}  // namespace

IndexPlan plan_indices(const Tensor& self, TensorList indices) {
  SmallVector<IndexEntry, 4> entries;
  SmallVector<Component, 4> components;
  int64_t dim = 0, indexed = 0;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      ++dim;
      continue;
    }
    const bool is_mask = is_mask_dtype(index.dtype());
    const int64_t covered = is_mask ? index.dim() : 1;
    if (is_mask) {
      components.push_back(mask_component(index, self, dim));
    } else {
      const Tensor values = int64_index(index);
      const int64_t size = self.sizes()[dim];
      TAEDA_CHECK_INDEX(size > 0 || values.numel() == 0,
                        "index is out of bounds for dimension with size 0");
      // Dimensions without an index do not count, as in PyTorch.
      if (const auto bad = first_outside(values, -size, size))
        fail(ErrorKind::Index, "index ", *bad, " is out of bounds for dimension ", indexed,
             " with size ", size);
      components.push_back({values, size, self.strides()[dim] * self.element_size()});
    }
    entries.push_back({dim, covered, SymIntVec(components.back().values.sym_sizes())});
    dim += covered;
    indexed += covered;
  }
  IndexPlan plan{IndexShape(self, entries), {}};
  const IntList sizes = as_int(plan.shape.index_sizes);
  int64_t positions = 1;
  for (int64_t s : sizes) positions *= s;
  plan.offsets.resize(static_cast<size_t>(positions));
  for (const Component& c : components)
    add_component(plan.offsets.data(),
                  c.values.sizes() == sizes ? c.values : c.values.expand(as_symint(sizes)), c.size,
                  c.step);
  return plan;
}

std::vector<int64_t> wrapped_offsets(const Tensor& index, int64_t size, int64_t step) {
  std::vector<int64_t> out(static_cast<size_t>(index.numel()));
  if (!out.empty()) add_component(out.data(), index, size, step);
  return out;
}

}  // namespace taeda::cpu
