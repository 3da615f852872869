// The loops of gather and scatter: elements of one side at the positions that an index names on the
// other.
#pragma once

#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/reduce/line_walk.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"

namespace taeda::cpu {

// A scalar counts as one dimension of size one.
inline int64_t size_along(const Tensor& t, int64_t dim) {
  return t.dim() == 0 ? 1 : t.sizes()[dim];
}

// The elements of a bundle: for each, visit(plain, indexed) with the element at the position its
// index names. Operands are the plain side, the index and the indexed side. Neighbours in memory
// are visited after one another.
template <class T, class F>
void visit_bundle(const LineWalk& walk, char* const* at, int64_t lines, F&& visit) {
  const int64_t p1 = walk.dim_stride[0], i1 = walk.dim_stride[1], x1 = walk.dim_stride[2];
  const int64_t p0 = walk.line_stride(0), i0 = walk.line_stride(1), x0 = walk.line_stride(2);
  char *plain = at[0], *index = at[1], *indexed = at[2];
  auto element = [&](int64_t i, int64_t j) {
    const int64_t k = *reinterpret_cast<const int64_t*>(index + i * i1 + j * i0);
    visit(*reinterpret_cast<T*>(plain + i * p1 + j * p0),
          *reinterpret_cast<T*>(indexed + k * x1 + j * x0));
  };
  if (lines > 1 && i0 < i1)
    for (int64_t i = 0; i < walk.length; ++i)
      for (int64_t j = 0; j < lines; ++j) element(i, j);
  else if (p1 == sizeof(T) && i1 == sizeof(int64_t) && x1 == sizeof(T))
    for (int64_t j = 0; j < lines; ++j) {
      const auto* at_index = reinterpret_cast<const int64_t*>(index + j * i0);
      T *at_plain = reinterpret_cast<T*>(plain + j * p0),
        *at_indexed = reinterpret_cast<T*>(indexed + j * x0);
      for (int64_t i = 0; i < walk.length; ++i) visit(at_plain[i], at_indexed[at_index[i]]);
    }
  else
    for (int64_t j = 0; j < lines; ++j)
      for (int64_t i = 0; i < walk.length; ++i) element(i, j);
}

// The first step of a scatter: copies the values of self to `out`. Returns the index, checked, as
// int64.
inline Tensor start_scatter(const Tensor& self, int64_t dim, const Tensor& given_index,
                            const Tensor& src, Tensor& out) {
  check_disjoint(out, given_index);
  check_disjoint(out, src);
  Tensor index = int64_index(given_index);
  check_index_bounds(index, dim, size_along(self, dim));
  if (!out.is_same(self)) out.copy_(self);
  return index;
}

// Writes `src` (or a zero-dim value) into `out`; combine(old, new) gives the stored value.
template <class T, class F>
void scatter_into(int64_t dim, const Tensor& index, const Tensor& src, Tensor& out, F&& combine) {
  LineWalk walk(index.sizes(), dim);
  walk.add(src);
  walk.add(index);
  walk.add(out);
  walk.run([&](char* const* at, int64_t lines) {
    visit_bundle<T>(walk, at, lines,
                    [&](const T& value, T& place) { place = combine(place, value); });
  });
}

// The rules that are compiled for every dtype, once.
enum class Combine { Replace, Add, Multiply };
void scatter_into(int64_t dim, const Tensor& index, const Tensor& src, Tensor& out,
                  Combine combine);

}  // namespace taeda::cpu
