// Orders and merges the dimensions of a loop nest.
#include "taeda/backends/cpu/pointwise/loop_nest.h"

namespace taeda::cpu {

void LoopNest::add(const Tensor& t, IntList shape) {
  const int k = num_operands++;
  TAEDA_INTERNAL_CHECK(num_operands <= kMaxOperands);
  base[k] = static_cast<char*>(t.data());
  strides[k].resize(shape.size());
  const IntList sizes = t.sizes(), own = t.strides();
  const size_t shift = shape.size() - sizes.size();
  const int64_t item = t.element_size();
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_broadcast = i < shift || (sizes[i - shift] == 1 && shape[i] != 1);
    strides[k][i] = is_broadcast ? 0 : own[i - shift] * item;
  }
}

void LoopNest::finish(IntList shape) {
  const int n = static_cast<int>(shape.size());
  numel = 1;
  for (int64_t s : shape) numel *= s;
  // Innermost first; the written operand decides, then the others in turn. Ties keep the logical
  // order.
  SmallVector<int, 8> order;
  for (int i = n - 1; i >= 0; --i)
    if (shape[i] != 1) order.push_back(i);
  auto is_inner = [&](int a, int b) {
    for (int k = 0; k < num_operands; ++k) {
      const int64_t sa = strides[k][a], sb = strides[k][b];
      if (sa == 0 || sb == 0 || sa == sb) continue;
      return (sa < 0 ? -sa : sa) < (sb < 0 ? -sb : sb);
    }
    return false;
  };
  for (size_t i = 1; i < order.size(); ++i)
    for (size_t j = i; j > 0 && is_inner(order[j], order[j - 1]); --j)
      std::swap(order[j], order[j - 1]);

  SmallVector<int64_t, 8> merged_strides[kMaxOperands];
  for (int d : order) {
    bool can_merge = !sizes.empty();
    for (int k = 0; k < num_operands && can_merge; ++k)
      can_merge = strides[k][d] == merged_strides[k].back() * sizes.back();
    if (can_merge) {
      sizes.back() *= shape[d];
      continue;
    }
    sizes.push_back(shape[d]);
    for (int k = 0; k < num_operands; ++k) merged_strides[k].push_back(strides[k][d]);
  }
  while (sizes.size() < 2) {
    sizes.push_back(1);
    for (int k = 0; k < num_operands; ++k) merged_strides[k].push_back(0);
  }
  for (int k = 0; k < num_operands; ++k) strides[k] = std::move(merged_strides[k]);
}

}  // namespace taeda::cpu
