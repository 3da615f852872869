// Numbers of a convolution from its tensors.
#include "taeda/backends/cpu/convolution/geometry.h"

namespace taeda::cpu::convolution_kernels {
namespace {

// The last entries of `list`, behind as many fillers as dimensions are missing.
Extents filled(IntList list, int64_t filler) {
  Extents out;
  out.fill(filler);
  for (size_t i = 0; i < list.size(); ++i) out[kSpatial - list.size() + i] = list[i];
  return out;
}

IntList behind_two(IntList list) { return {list.data() + 2, list.size() - 2}; }

}  // namespace

Geometry::Geometry(const Tensor& x, const Tensor& weight, const Tensor& y, IntList stride,
                   IntList padding, IntList dilation, int64_t groups, bool is_channels_last)
    : images(x.sizes()[0]),
      groups(groups),
      in_channels(weight.sizes()[1]),
      out_channels(weight.sizes()[0] / groups),
      in(filled(behind_two(x.sizes()), 1)),
      out(filled(behind_two(y.sizes()), 1)),
      kernel(filled(behind_two(weight.sizes()), 1)),
      stride(filled(stride, 1)),
      padding(filled(padding, 0)),
      dilation(filled(dilation, 1)),
      is_channels_last(is_channels_last) {}

bool Geometry::is_pointwise() const {
  for (int d = 0; d < kSpatial; ++d)
    if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
  return true;
}

Layout::Layout(const Tensor& t)
    : image(t.strides()[0]), channel(t.strides()[1]), place(filled(behind_two(t.strides()), 0)) {}

WeightLayout::WeightLayout(const Tensor& weight)
    : out(weight.strides()[0]),
      in(weight.strides()[1]),
      tap(filled(behind_two(weight.strides()), 0)) {}

}  // namespace taeda::cpu::convolution_kernels
