// Dense tensors as rows: planes of depth x height x width elements, or of groups of channels where
// those lie innermost.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::cpu {

struct Volume {
  int64_t planes = 1;
  int64_t size[3] = {1, 1, 1};  // depth, height, width
  int64_t inner = 1;            // elements at each place

  // `spatial` last dimensions are the plane's; in a channels-last format dimension 1 is inside.
  Volume(const Tensor& t, int64_t spatial, MemoryFormat format) {
    const int64_t ndim = t.dim();
    for (int64_t d = 0; d < spatial; ++d) size[3 - spatial + d] = t.size(ndim - spatial + d);
    for (int64_t d = 0; d < ndim - spatial; ++d)
      (format != MemoryFormat::Contiguous && d == 1 ? inner : planes) *= t.size(d);
  }
  int64_t width() const { return size[2] * inner; }  // elements of a row
  int64_t plane() const { return size[0] * size[1] * width(); }
  int64_t rows() const { return planes * size[0] * size[1]; }
  int64_t numel() const { return planes * plane(); }
};

// The result of a kernel that writes dense memory: the given tensor, or one that is copied there.
class DenseResult {
 public:
  DenseResult(Tensor& given, MemoryFormat format);
  const Tensor& tensor() const { return dense_; }
  // After the last write.
  void finish();

 private:
  Tensor& given_;
  Tensor dense_;
};

// How many rows of `cost` elements are worth a thread.
int64_t row_grain(int64_t cost);

}  // namespace taeda::cpu
