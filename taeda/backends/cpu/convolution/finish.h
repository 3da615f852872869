// The caller's work on blocks of a convolution's result, as soon as their elements are final.
#pragma once

#include "taeda/backends/cpu/convolution/geometry.h"
#include "taeda/backends/cpu/gemm/gemm.h"

namespace taeda::cpu::convolution_kernels {

// Blocks are rows by columns of the result: places of all images by channels, or channels of all
// images by places of one image.
struct Finish {
  const FinishBlock* block = nullptr;  // null for no work
  bool are_channels_columns = false;
  int64_t images = 0, channels = 0, places = 0;  // of the result
  const PostOps* post_ops = nullptr;             // the same work for a library

  Finish() = default;
  Finish(const ProductOptions& options, const Tensor& result);

  // Channels [channel, channel + count) at `run` places from `place` on, counted through images.
  void operator()(int64_t channel, int64_t count, int64_t place, int64_t run) const;
  // All channels of `count` rows from `row` on. Rows are places or planes.
  void rows(int64_t row, int64_t count) const;
  // The rows of which the caller finishes some at a time, for blocks that stay in the cache.
  int64_t rows_at_once() const;
  // All of the result, on several threads.
  void all() const;

 private:
  int64_t row_length() const { return are_channels_columns ? channels : places; }
};

}  // namespace taeda::cpu::convolution_kernels
