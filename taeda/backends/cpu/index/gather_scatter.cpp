// gather and scatter on the CPU: lines along the indexed dimension, in index order whatever the
// threads.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/gather_scatter_declarations.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/index/scatter_into.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/number_range.h"

namespace taeda::cpu {
namespace {

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else
    return static_cast<T>(a + b);
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else
    return static_cast<T>(a * b);
}

void scatter(const Tensor& self, int64_t dim, const Tensor& given_index, const Tensor& src,
             Tensor& out, Combine combine) {
  dim = wrap_dim(dim, self.dim());
  const Tensor index = start_scatter(self, dim, given_index, src, out);
  if (index.numel() > 0) scatter_into(dim, index, src, out, combine);
}

Combine combine_of(std::string_view reduce) {
  return reduce == "add" ? Combine::Add : Combine::Multiply;
}

Tensor value_of(const Scalar& value, const Tensor& self) {
  check_fits(value, self.dtype());
  return scalar_tensor_of(value, self.dtype(), self.device());
}

}  // namespace

void scatter_into(int64_t dim, const Tensor& index, const Tensor& src, Tensor& out,
                  Combine combine) {
  if (combine == Combine::Add && is_reduced_float(out.dtype())) {
    // Sums are rounded once: 256 + 1 is 256 in bfloat16.
    Tensor wide = out.to(DType::Float);
    scatter_into(dim, index, src.to(DType::Float), wide, combine);
    out.copy_(wide);
    return;
  }
  if (combine == Combine::Replace)
    return visit_item(out.element_size(), [&](auto tag) {
      using T = decltype(tag);
      scatter_into<T>(dim, index, src, out, [](T, T value) { return value; });
    });
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if (combine == Combine::Add)
      scatter_into<T>(dim, index, src, out, [](T a, T b) { return sum_of(a, b); });
    else
      scatter_into<T>(dim, index, src, out, [](T a, T b) { return product_of(a, b); });
  });
}

void gather(const Tensor& self, int64_t dim, const Tensor& given_index, bool, Tensor& out) {
  dim = wrap_dim(dim, self.dim());
  check_disjoint(out, self);
  check_disjoint(out, given_index);
  const Tensor index = int64_index(given_index);
  check_index_bounds(index, dim, size_along(self, dim));
  if (index.numel() == 0) return;
  visit_item(out.element_size(), [&](auto tag) {
    using T = decltype(tag);
    LineWalk walk(index.sizes(), dim);
    walk.add(out);
    walk.add(index);
    walk.add(self);
    walk.run([&](char* const* at, int64_t lines) {
      visit_bundle<T>(walk, at, lines, [](T& place, const T& value) { place = value; });
    });
  });
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out) {
  scatter(self, dim, index, src, out, Combine::Replace);
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                   Tensor& out) {
  scatter(self, dim, index, value_of(value, self), out, Combine::Replace);
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, Tensor& out) {
  scatter(self, dim, index, src, out, combine_of(reduce));
}
void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                          std::string_view reduce, Tensor& out) {
  scatter(self, dim, index, value_of(value, self), out, combine_of(reduce));
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out) {
  scatter(self, dim, index, src, out, Combine::Add);
}

}  // namespace taeda::cpu
