// Batching rules of views whose arguments speak of all dimensions at once.
#include "taeda/ops/view/batching.h"
#include "taeda/ops/factory_like/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/permute/batching.h"
#include "taeda/ops/rearrange/batching.h"
#include "taeda/ops/view_part/batching.h"

namespace taeda::batch {
namespace {

SymIntVec with_batch(SymIntList sizes, const SymInt& batch) {
  SymIntVec out(sizes);
  out.insert(0, batch);
  return out;
}

}  // namespace

Batched t(const Batched& self) {
  TAEDA_CHECK(self.rank() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
              self.rank(), "D");
  const Tensor x = self.front();
  return {self.rank() == 2 ? x.transpose(1, 2) : taeda::alias(x), 0};
}

Batched view_dtype(const Batched& self, DType dtype) {
  const DType own = self.value.dtype();
  TAEDA_CHECK(self.rank() > 0 || item_size(own) == item_size(dtype),
              "self.dim() cannot be 0 to view ", own, " as ", dtype, " (different element sizes)");
  return {self.front().view(dtype), 0};
}

Batched unfold(const Batched& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t dim = wrap_dim(dimension, self.rank()) + 1;
  if (self.rank() > 0) return {self.front().unfold(dim, size, step), 0};
  return {self.front().unsqueeze(1).unfold(1, size, step).squeeze(1), 0};
}

Batched expand(const Batched& self, SymIntList size, bool implicit) {
  TAEDA_CHECK(static_cast<int64_t>(size.size()) >= self.rank(),
              "expand: the number of sizes provided (", size.size(),
              ") must be greater or equal to the number of dimensions in the tensor (", self.rank(),
              ")");
  const Tensor x = self.front_aligned(static_cast<int64_t>(size.size()));
  return {x.expand(with_batch(size, x.sym_size(0)), implicit), 0};
}

Batched squeeze(const Batched& self) {
  const Tensor x = self.front();
  IntVec dims;
  for (int64_t d = 1; d < x.dim(); ++d)
    if (x.sym_size(d) == SymInt(1)) dims.push_back(d);
  return {x.squeeze(IntList(dims)), 0};
}

// Offsets count from the storage's start, the same for every example; the batch keeps its stride.
Batched as_strided(const Batched& self, SymIntList size, SymIntList stride,
                   std::optional<SymInt> storage_offset) {
  const Tensor x = self.front();
  return {x.as_strided(with_batch(size, x.sym_size(0)), with_batch(stride, x.sym_strides()[0]),
                       storage_offset ? *storage_offset : x.impl()->sym_storage_offset()),
          0};
}

Batched repeat(const Batched& self, SymIntList repeats) {
  TAEDA_CHECK(static_cast<int64_t>(repeats.size()) >= self.rank(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
              "tensor");
  const Tensor x = self.front_aligned(static_cast<int64_t>(repeats.size()));
  return {x.repeat(with_batch(repeats, SymInt(1))), 0};
}

Batched roll(const Batched& self, SymIntList shifts, IntList dims) {
  const Tensor x = self.front();
  if (dims.empty()) {
    // Without dimensions the whole example rolls as one line.
    const Tensor line = x.reshape({x.sym_size(0), SymInt(-1)});
    return {line.roll(shifts, IntList({1})).reshape(x.sym_sizes()), 0};
  }
  IntVec moved;
  for (int64_t d : dims) moved.push_back(wrap_dim(d, self.rank()) + 1);
  return {x.roll(shifts, IntList(moved)), 0};
}

// Each example gets a block of its own as long as its strides reach.
Batched new_empty_strided(const Batched& self, SymIntList size, SymIntList stride,
                          std::optional<DType> dtype, std::optional<Layout> layout,
                          std::optional<Device> device, std::optional<bool> pin_memory) {
  TAEDA_CHECK(size.size() == stride.size(),
              "new_empty_strided(sizes, strides): dimensionality of sizes (", size.size(),
              ") must match dimensionality of strides (", stride.size(), ")");
  SymInt reach = 1;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] == SymInt(0)) reach = SymInt(0);
    if (reach != SymInt(0)) reach = reach + (size[i] - SymInt(1)) * stride[i];
  }
  const Tensor x = self.front();
  return {x.new_empty_strided(with_batch(size, x.sym_size(0)), with_batch(stride, reach), dtype,
                              layout, device, pin_memory),
          0};
}

}  // namespace taeda::batch
