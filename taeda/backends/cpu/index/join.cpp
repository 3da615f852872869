// cat and stack on the CPU: rows of contiguous memory by memcpy, anything else through copy_.
#include "taeda/ops/join/rules.h"

#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/join_declarations.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kGrainBytes = 1 << 18;

// A contiguous input, and its share of each row of the result.
struct Piece {
  const char* data;
  int64_t bytes;  // a row
  int64_t start;  // within the result's row
};

// Every thread writes one run of the result, wherever rows and pieces end.
void copy_rows(char* out, Span<Piece> pieces, int64_t rows, int64_t row_bytes) {
  parallel_for(0, rows * row_bytes, kGrainBytes, [&](int64_t first, int64_t last) {
    int64_t row = first / row_bytes, at = first % row_bytes;
    size_t p = std::upper_bound(pieces.begin(), pieces.end(), at,
                                [](int64_t v, const Piece& x) { return v < x.start; }) -
               pieces.begin() - 1;
    for (int64_t done = first; done < last;) {
      const Piece& piece = pieces[p];
      const int64_t inside = at - piece.start, n = std::min(piece.bytes - inside, last - done);
      std::memcpy(out + done, piece.data + row * piece.bytes + inside, static_cast<size_t>(n));
      done += n;
      at += n;
      if (++p == pieces.size()) {
        p = 0;
        at = 0;
        ++row;
      }
    }
  });
}

// Joins along `dim` of `out`; each input has `out`'s sizes but for `lengths` along it.
void join(TensorList tensors, Span<int64_t> lengths, int64_t dim, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t item = out.element_size();
  int64_t rows = 1, inner = item;
  for (int64_t d = 0; d < dim; ++d) rows *= out.sizes()[d];
  for (int64_t d = dim + 1; d < out.dim(); ++d) inner *= out.sizes()[d];
  bool is_plain = out.is_contiguous();
  for (size_t i = 0; i < tensors.size() && is_plain; ++i)
    is_plain = tensors[i].is_contiguous() && tensors[i].dtype() == out.dtype();
  if (is_plain) {
    SmallVector<Piece, 8> pieces;
    int64_t start = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int64_t bytes = lengths[i] * inner;
      if (bytes) pieces.push_back({static_cast<const char*>(tensors[i].data()), bytes, start});
      start += bytes;
    }
    return copy_rows(static_cast<char*>(out.data()), Span<Piece>(pieces.data(), pieces.size()),
                     rows, start);
  }
  int64_t start = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    IntVec sizes(out.sizes());
    sizes[dim] = lengths[i];
    Tensor part =
        make_alias(out, sizes, out.strides(), out.storage_offset() + start * out.strides()[dim]);
    // A stacked input lacks the new dimension.
    if (tensors[i].dim() < out.dim()) {
      IntVec own(tensors[i].strides());
      own.insert(static_cast<size_t>(dim), 1);
      cpu::copy_(part, make_alias(tensors[i], sizes, own, tensors[i].storage_offset()), false);
    } else {
      cpu::copy_(part, tensors[i], false);
    }
    start += lengths[i];
  }
}

}  // namespace

void cat(TensorList tensors, int64_t dim, Tensor& out) {
  std::vector<Tensor> parts;
  std::vector<int64_t> lengths;
  dim = wrap_dim(dim, out.dim());
  for (const Tensor& t : tensors) {
    if (is_skipped_in_cat(t)) continue;
    parts.push_back(t);
    lengths.push_back(t.sizes()[dim]);
  }
  join(parts, lengths, dim, out);
}

void stack(TensorList tensors, int64_t dim, Tensor& out) {
  const std::vector<int64_t> lengths(tensors.size(), 1);
  join(tensors, lengths, wrap_dim(dim, out.dim()), out);
}

}  // namespace taeda::cpu
