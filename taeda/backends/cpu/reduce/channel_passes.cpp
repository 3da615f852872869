// Numbers per channel, and tensors in the order of others.
#include "taeda/backends/cpu/reduce/channel_passes.h"

#include "taeda/ops/functions.h"

namespace taeda::cpu {

Tensor in_order_of(const Tensor& t, const Tensor& like) {
  if (t.strides() == like.strides()) return t;
  return taeda::empty_like(like, t.dtype()).copy_(t);
}

Tensor channels_of(const Tensor& t, ChannelRange range) {
  if (range.count() == t.size(1)) return t;
  IntVec sizes(t.sizes().begin(), t.sizes().end());
  sizes[1] = range.count();
  return make_alias(t, IntList(sizes), t.strides(), t.storage_offset() + range.first * t.stride(1));
}

Numbers numbers(const Tensor& t, int64_t n, double otherwise) {
  Numbers out(static_cast<size_t>(n), otherwise);
  if (!t.defined() || n == 0) return out;
  const int64_t stride = t.dim() == 0 ? 0 : t.stride(t.dim() - 1) * t.element_size();
  load_fn(t.dtype(), ComputeType::F64)(static_cast<const char*>(t.data()), Block{1, n, 0, stride},
                                       reinterpret_cast<char*>(out.data()));
  return out;
}

void put_numbers(const Numbers& from, const Tensor& to) {
  const int64_t n = to.numel();
  if (n == 0) return;
  store_fn(ComputeType::F64, to.dtype())(reinterpret_cast<const char*>(from.data()),
                                         Block{1, n, 0, to.element_size()},
                                         static_cast<char*>(to.data()));
}

Tensor bytes_of(IntList sizes) { return make_tensor(sizes, DType::Char, Device()); }

}  // namespace taeda::cpu
