// Bounds of tensors from files.
#include "taeda/serialization/geometry.h"

namespace taeda::serialization {
namespace {

constexpr size_t kMaxDims = 64;

}  // namespace

std::string geometry_problem(IntList sizes, IntList strides, int64_t offset, DType dtype,
                             uint64_t available) {
  if (sizes.size() != strides.size() || sizes.size() > kMaxDims)
    return str("sizes and strides do not fit each other: got ", sizes.size(), " and ",
               strides.size(), " of at most ", kMaxDims);
  if (offset < 0) return str("its offset is negative: got ", offset);
  int64_t last = offset, count = 1, step = 0, bytes = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return "a size or stride is negative";
    if (__builtin_mul_overflow(count, sizes[i], &count)) return "the sizes are too large";
  }
  // Without elements the other sizes and the strides may be anything.
  if (count == 0) return "";
  for (size_t i = 0; i < sizes.size(); ++i)
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return "the strides are too large";
  if (__builtin_mul_overflow(count, item_size(dtype), &bytes)) return "the sizes are too large";
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, item_size(dtype), &last) ||
      static_cast<uint64_t>(last) > available)
    return str("the tensor reaches beyond its storage of ", available, " bytes");
  return "";
}

Tensor tensor_over(const Storage& storage, DType dtype, IntList sizes, IntList strides,
                   int64_t offset) {
  const std::string problem = geometry_problem(sizes, strides, offset, dtype, storage->nbytes());
  TAEDA_CHECK(problem.empty(), "setStorage: sizes ", sizes, ", strides ", strides,
              ", storage offset ", offset, " are out of bounds for storage of size ",
              storage->nbytes(), ": ", problem);
  auto impl = make_intrusive<TensorImpl>(storage, dtype, dense_keys(storage->device()));
  impl->set_geometry(sizes, strides, offset);
  return Tensor(std::move(impl));
}

}  // namespace taeda::serialization
