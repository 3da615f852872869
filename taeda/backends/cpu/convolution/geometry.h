// A plain convolution in numbers, with three spatial dimensions: missing ones have size 1.
//
// A transposed convolution is the gradient of a plain one for its input, so that all kernels know
// plain ones only: x (images, groups * in_channels, in) and weight (groups * out_channels,
// in_channels, kernel) give y (images, groups * out_channels, out).
#pragma once

#include <array>
#include <cstdint>

#include "taeda/core/tensor.h"

namespace taeda::cpu::convolution_kernels {

constexpr int kSpatial = 3;
using Extents = std::array<int64_t, kSpatial>;

struct Geometry {
  int64_t images, groups, in_channels, out_channels;  // channels per group
  Extents in, out, kernel, stride, padding, dilation;
  bool is_channels_last;

  Geometry(const Tensor& x, const Tensor& weight, const Tensor& y, IntList stride, IntList padding,
           IntList dilation, int64_t groups, bool is_channels_last);

  bool operator==(const Geometry&) const = default;
  // A product of matrices: every element of x meets one place of y.
  bool is_pointwise() const;
  // The gradient for the input then is one window, whose places are those of x.
  bool has_unit_stride() const { return stride == Extents{1, 1, 1}; }
};

// Where the elements of images lie: strides of images, channels and places.
struct Layout {
  int64_t image, channel;
  Extents place;

  explicit Layout(const Tensor& t);
};

// Where the elements of a weight lie.
struct WeightLayout {
  int64_t out, in;
  Extents tap;

  explicit WeightLayout(const Tensor& weight);
};

}  // namespace taeda::cpu::convolution_kernels
