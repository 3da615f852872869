// as_strided and as_strided_scatter between dtypes.
#include "taeda/fx/memory_looks.h"

#include "taeda/core/dtype.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::fx {
namespace {

int64_t size_of(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

// All elements in a line, as they lie, with what lies between them.
Tensor line_of(const Tensor& whole) {
  const SymInt length = gradients::storage_reach(whole.sym_sizes(), whole.sym_strides(), SymInt(0));
  return taeda::as_strided(whole, {length}, {SymInt(1)}, whole.impl()->sym_storage_offset());
}

// Elements in several of another dtype, along a last dimension.
struct Parts {
  Parts(SymIntList of, SymIntList between, int64_t count) : sizes(of), strides(between) {
    for (SymInt& stride : strides) stride = stride * SymInt(count);
    sizes.push_back(SymInt(count));
    strides.push_back(SymInt(1));
  }
  SymIntVec sizes, strides;
};

}  // namespace

Tensor look_at_memory(const Tensor& whole, DType dtype, SymIntList sizes, SymIntList strides,
                      const SymInt& start) {
  const DType own = whole.dtype();
  if (own == dtype) return taeda::as_strided(whole, sizes, strides, start);
  const int64_t own_size = size_of(own), size = size_of(dtype);
  if (size == own_size) return taeda::view(taeda::as_strided(whole, sizes, strides, start), dtype);
  if (size < own_size) {
    const bool is_real = is_complex(own) && to_real(own) == dtype;
    const Tensor parts = is_real ? taeda::view_as_real(whole) : taeda::view(line_of(whole), dtype);
    return taeda::as_strided(parts, sizes, strides, start);
  }
  const Parts in_own(sizes, strides, size / own_size);
  const Tensor parts = taeda::as_strided(whole, in_own.sizes, in_own.strides, start);
  if (is_complex(dtype) && to_real(dtype) == own) return taeda::view_as_complex(parts);
  return taeda::squeeze(taeda::view(parts, dtype), -1);
}

Tensor scatter_into_memory(const Tensor& whole, const Tensor& part, SymIntList sizes,
                           SymIntList strides, const SymInt& start) {
  const DType own = whole.dtype(), dtype = part.dtype();
  if (own == dtype) return taeda::as_strided_scatter(whole, part, sizes, strides, start);
  const int64_t own_size = size_of(own), size = size_of(dtype);
  if (size == own_size)
    return taeda::as_strided_scatter(whole, taeda::view(part, own), sizes, strides, start);
  if (size > own_size) {
    const Parts in_own(sizes, strides, size / own_size);
    const bool is_of_reals = is_complex(dtype) && to_real(dtype) == own;
    const Tensor parts = is_of_reals ? taeda::view_as_real(taeda::resolve_conj(part))
                                     : taeda::view(taeda::unsqueeze(part, -1), own);
    return taeda::as_strided_scatter(whole, parts, in_own.sizes, in_own.strides, start);
  }
  if (is_complex(own) && to_real(own) == dtype)
    return taeda::view_as_complex(
        taeda::as_strided_scatter(taeda::view_as_real(whole), part, sizes, strides, start));
  const Tensor line = taeda::view(
      taeda::as_strided_scatter(taeda::view(line_of(whole), dtype), part, sizes, strides, start),
      own);
  return taeda::as_strided(line, whole.sym_sizes(), whole.sym_strides(),
                           line.impl()->sym_storage_offset());
}

}  // namespace taeda::fx
