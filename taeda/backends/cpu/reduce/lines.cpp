// Orders and merges the dimensions across lines.
#include "taeda/backends/cpu/reduce/lines.h"

namespace taeda::cpu {

LineSpace::LineSpace(Span<const Tensor*> operands, int64_t dim) {
  num_operands = static_cast<int>(operands.size());
  TAEDA_INTERNAL_CHECK(num_operands <= kMaxOperands);
  const Tensor& first = *operands[0];
  for (int k = 0; k < num_operands; ++k) {
    const Tensor& t = *operands[k];
    base[k] = static_cast<char*>(t.data());
    length[k] = t.dim() == 0 ? 1 : t.sizes()[dim];
    along[k] = t.dim() == 0 ? t.element_size() : t.strides()[dim] * t.element_size();
  }
  SmallVector<Outer, 6> dims;
  for (int64_t d = first.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    count *= first.sizes()[d];
    if (first.sizes()[d] == 1) continue;
    Outer o{first.sizes()[d], {}};
    for (int k = 0; k < num_operands; ++k)
      o.stride[k] = operands[k]->strides()[d] * operands[k]->element_size();
    dims.push_back(o);
  }
  for (size_t i = 1; i < dims.size(); ++i)
    for (size_t j = i; j > 0 && std::abs(dims[j].stride[0]) < std::abs(dims[j - 1].stride[0]); --j)
      std::swap(dims[j], dims[j - 1]);
  for (const Outer& o : dims) {
    bool can_merge = !outer.empty();
    for (int k = 0; k < num_operands && can_merge; ++k)
      can_merge = o.stride[k] == outer.back().stride[k] * outer.back().size;
    if (can_merge)
      outer.back().size *= o.size;
    else
      outer.push_back(o);
  }
  if (outer.empty()) outer.push_back({1, {}});
}

void LineSpace::at(int64_t index, char** to) const {
  for (int k = 0; k < num_operands; ++k) to[k] = base[k];
  for (size_t d = 0; d < outer.size(); ++d) {
    const int64_t i = index % outer[d].size;
    index /= outer[d].size;
    for (int k = 0; k < num_operands; ++k) to[k] += i * outer[d].stride[k];
  }
}

}  // namespace taeda::cpu
