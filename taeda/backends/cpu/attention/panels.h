// What the forward and the backward pass of attention share: operands, panels and their products.
//
// Note [Attention panels]: products run on the packed micro-kernel of the matrix product. A tile of
// scores has a row per key and a lane per query, `nr` queries beside each other. In that form a
// block of weights is a packed right operand already: the values' product needs no packing of what
// the softmax made, and its sums have a lane per query too.
#pragma once

#include <algorithm>
#include <limits>

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu::attention {

using gemm_kernels::AccOf;
using gemm_kernels::Kernels;

constexpr int kMaxLanes = 64;  // of a panel

inline int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// A tensor of (batch, heads, length, width) by elements.
template <class T>
struct Operand {
  T* data;
  int64_t batch, head, row, col;
  explicit Operand(const Tensor& t)
      : data(static_cast<T*>(t.data())),
        batch(t.stride(0)),
        head(t.stride(1)),
        row(t.stride(2)),
        col(t.stride(3)) {}
  Matrix<T> at(int64_t b, int64_t h, int64_t first_row = 0) const {
    return {data + b * batch + h * head + first_row * row, row, col};
  }
};

// Numbers that are added to scores, of (queries, keys) for every batch and head; absent where
// there are none.
template <class T>
class AddedMask {
 public:
  using Acc = AccOf<T>;
  AddedMask(const Tensor& given, const Tensor& query, const Tensor& key);
  bool is_defined() const { return mask_.defined(); }
  // The panel of `keys` rows for `queries` lanes from (first_query, first_key) on.
  void fill(int64_t b, int64_t h, int64_t first_query, int64_t queries, int64_t first_key,
            int64_t keys, Acc* panel) const;

 private:
  Tensor mask_;  // in the operands' dtype or the accumulators'
  bool is_narrow_ = false;
};

// The sizes of a call.
template <class T>
struct Shape {
  using Acc = AccOf<T>;
  const Kernels<T>& kernels = gemm_kernels::kernels().get<T>();
  int64_t batch, heads, shared_heads, queries, keys, width;
  bool is_causal;
  Acc scale;
  int mr = kernels.mr, nr = kernels.nr;
  int64_t padded_width = round_up(width, mr);

  Shape(const Tensor& query, const Tensor& key, bool is_causal, double scale)
      : batch(query.size(0)),
        heads(query.size(1)),
        shared_heads(key.size(1)),
        queries(query.size(2)),
        keys(key.size(2)),
        width(query.size(3)),
        is_causal(is_causal),
        scale(static_cast<Acc>(scale)) {}
  int64_t heads_per_key() const { return heads / shared_heads; }
};

// c[i][lane] = alpha * sum over p of a[i][p] * b[p][lane] + beta * c, for packed panels of `a` that
// are `a_depth` deep, of which the first `depth` steps count. Rows of the last tile that do not
// count may be written.
template <class T>
void multiply_panels(const Kernels<T>& kernels, int64_t rows, int64_t depth, const AccOf<T>* a,
                     int64_t a_depth, const AccOf<T>* b, AccOf<T> alpha, AccOf<T> beta,
                     AccOf<T>* c) {
  for (int64_t i = 0; i < rows; i += kernels.mr)
    kernels.tile_for(rows - i)(depth, a + i * a_depth, b, alpha, beta, c + i * kernels.nr,
                               kernels.nr, {});
}

// Writes the columns of a panel, `width` rows of `lanes` that count, as rows of `out`.
template <class T>
void store_turned(int64_t width, int64_t lanes, const AccOf<T>* panel, Matrix<T> out,
                  AccOf<T>* buffer) {
  using Acc = AccOf<T>;
  const Kernels<T>& kernels = gemm_kernels::kernels().get<T>();
  const int nr = kernels.nr;
  gemm_kernels::kernels().get<Acc>().pack(width, lanes, panel, nr, 1, nr, buffer);
  for (int64_t j = 0; j < width; j += nr)
    kernels.store(lanes, std::min<int64_t>(nr, width - j), buffer + j * lanes, nr, Acc(1), Acc(0),
                  {out.data + j * out.col_stride, out.row_stride, out.col_stride}, nullptr);
}

// Hides keys from queries before them: rows are keys from `first_key` on, lanes queries from
// `first_query` on.
template <class Acc>
void hide_later_keys(int64_t first_query, int64_t first_key, int64_t keys, int lanes, Acc* scores) {
  for (int64_t i = std::max<int64_t>(0, first_query + 1 - first_key); i < keys; ++i) {
    const int64_t hidden = std::min<int64_t>(lanes, first_key + i - first_query);
    std::fill_n(scores + i * lanes, hidden, -std::numeric_limits<Acc>::infinity());
  }
}

}  // namespace taeda::cpu::attention
