// True elements of a mask: counted in fixed pieces, then visited piece by piece.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/index/masks.h"

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {
constexpr int64_t kPiece = 8192;
}

TrueElements::TrueElements(const Tensor& mask) : mask_(mask.contiguous()) {
  const auto* bytes = static_cast<const uint8_t*>(mask_.data());
  const int64_t numel = mask_.numel(), pieces = (numel + kPiece - 1) / kPiece;
  starts_.assign(static_cast<size_t>(pieces) + 1, 0);
  parallel_for(0, pieces, 8, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      int32_t count = 0;
      for (int64_t i = k * kPiece, end = std::min(numel, i + kPiece); i < end; ++i)
        count += bytes[i] != 0;
      starts_[static_cast<size_t>(k) + 1] = count;
    }
  });
  for (size_t k = 1; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
}

template <class F>
void TrueElements::visit(F&& f) const {
  const auto* bytes = static_cast<const uint8_t*>(mask_.data());
  const int64_t numel = mask_.numel();
  parallel_for(0, static_cast<int64_t>(starts_.size()) - 1, 4, [&](int64_t first, int64_t last) {
    int32_t places[kPiece + 1];
    for (int64_t k = first; k < last; ++k) {
      const int64_t begin = k * kPiece;
      const auto length = static_cast<int32_t>(std::min(kPiece, numel - begin));
      // Without a branch: a random mask would be mispredicted at every other element.
      int64_t count = 0;
      for (int32_t i = 0; i < length; ++i) {
        places[count] = i;
        count += bytes[begin + i] != 0;
      }
      if (count) f(Piece{starts_[static_cast<size_t>(k)], begin, places, count});
    }
  });
}

void TrueElements::offsets(IntList strides, int64_t item, int64_t* out) const {
  const IntVec sizes(mask_.sizes()), steps(strides);
  const bool is_dense = IntList(strides) == mask_.strides();
  visit([&](const Piece& piece) {
    for (int64_t k = 0; k < piece.count; ++k) {
      int64_t rest = piece.begin + piece.places[k], at = is_dense ? rest : 0;
      for (size_t d = is_dense ? 0 : sizes.size(); d-- > 0; rest /= sizes[d])
        at += rest % sizes[d] * steps[d];
      out[piece.rank + k] = at * item;
    }
  });
}

void TrueElements::coordinates(int64_t* out, int64_t row_stride, int64_t column_stride) const {
  const IntVec sizes(mask_.sizes());
  const size_t outer = sizes.empty() ? 0 : sizes.size() - 1;
  const int64_t cols = sizes.empty() ? 1 : sizes.back();
  visit([&](const Piece& piece) {
    // The coordinates of the current row of the last dimension, moved on as positions grow.
    IntVec row(outer);
    int64_t row_begin = (piece.begin + piece.places[0]) / cols * cols, rest = row_begin / cols;
    for (size_t d = outer; d-- > 0; rest /= sizes[d]) row[d] = rest % sizes[d];
    for (int64_t k = 0; k < piece.count; ++k) {
      const int64_t i = piece.begin + piece.places[k];
      for (; i >= row_begin + cols; row_begin += cols)
        for (size_t d = outer; d-- > 0 && ++row[d] == sizes[d];) row[d] = 0;
      int64_t* to = out + (piece.rank + k) * row_stride;
      for (size_t d = 0; d < outer; ++d) to[static_cast<int64_t>(d) * column_stride] = row[d];
      if (!sizes.empty()) to[static_cast<int64_t>(outer) * column_stride] = i - row_begin;
    }
  });
}

}  // namespace taeda::cpu
