// Pointwise convolutions: a product per image and group, or one per group where channels lie
// innermost.
#include "taeda/backends/cpu/convolution/pointwise.h"

#include "taeda/backends/cpu/gemm/gemm.h"

namespace taeda::cpu::convolution_kernels {
namespace {

// The dtypes that lose nothing by being handed over with their sums.
template <class F>
bool visit_pointwise(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::BFloat16: return f(BFloat16{});
    case DType::Half: return f(Half{});
    default: return false;
  }
}

// Places of a small image make products too narrow; the implicit product takes several images at
// once.
constexpr int64_t kLeastPlaces = 128;

// The images of one side: channels per group, and where they lie.
template <class T>
struct Side {
  T* data;
  int64_t channels, groups, places;
  bool is_channels_last;

  int64_t image() const { return groups * channels * places; }
  // Channels x places of a group in the first image.
  Matrix<T> planes(int64_t group) const { return {data + group * channels * places, places, 1}; }
  // All places x channels of a group.
  Matrix<T> rows(int64_t group) const { return {data + group * channels, groups * channels, 1}; }
};

// to = weight * from at every place; weight is (to.channels x from.channels) of each group, with
// these strides.
template <class T>
void multiply(const Geometry& g, Side<const T> from, const T* weight, int64_t group_stride,
              int64_t to_stride, int64_t from_stride, Side<T> to, const T* bias,
              const Finish& finish) {
  const ScalarOf<T> one(1), zero(0);
  for (int64_t group = 0; group < g.groups; ++group) {
    const T* w = weight + group * group_stride;
    const int64_t first = group * to.channels;
    const auto rows_are_final = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
      finish(first + col, cols, row, rows);
    };
    const auto planes_are_final = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
      finish(first + row % to.channels, rows, row / to.channels * to.places + col, cols);
    };
    const FinishBlock block =
        g.is_channels_last ? FinishBlock(rows_are_final) : FinishBlock(planes_are_final);
    const FinishBlock* const work = finish.block ? &block : nullptr;
    if (g.is_channels_last)
      gemm<T>(g.images * from.places, to.channels, from.channels, one, from.rows(group),
              {w, from_stride, to_stride}, zero, to.rows(group),
              bias ? bias + group * to.channels : nullptr, {work});
    else
      gemm_batched<T>(g.images, to.channels, from.places, from.channels, one,
                      {w, to_stride, from_stride}, 0, from.planes(group), from.image(), zero,
                      to.planes(group), to.image(), {work});
  }
}

template <class T>
Side<T> side_of(const Tensor& t, const Geometry& g, int64_t channels) {
  return {static_cast<T*>(t.data()), channels, g.groups, g.in[0] * g.in[1] * g.in[2],
          g.is_channels_last};
}

// A bias of planes is no part of their products.
bool takes(const Geometry& g, const Tensor& bias) {
  if (!g.is_pointwise()) return false;
  return g.is_channels_last || (!bias.defined() && g.in[0] * g.in[1] * g.in[2] >= kLeastPlaces);
}

}  // namespace

bool pointwise_forward(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  if (!takes(g, bias)) return false;
  return visit_pointwise(t.x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    multiply<T>(g, side_of<const T>(t.x, g, g.in_channels), static_cast<const T*>(t.weight.data()),
                g.out_channels * g.in_channels, g.in_channels, 1,
                side_of<T>(t.y, g, g.out_channels),
                bias.defined() ? static_cast<const T*>(bias.data()) : nullptr, t.finish);
    return true;
  });
}

bool pointwise_input(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  if (!takes(g, bias)) return false;
  return visit_pointwise(t.x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    multiply<T>(g, side_of<const T>(t.y, g, g.out_channels), static_cast<const T*>(t.weight.data()),
                g.out_channels * g.in_channels, 1, g.in_channels, side_of<T>(t.x, g, g.in_channels),
                bias.defined() ? static_cast<const T*>(bias.data()) : nullptr, t.finish);
    return true;
  });
}

bool pointwise_weight(const Tensors& t) {
  const Geometry& g = t.geometry;
  // Sums of planes wait in the weight, which halves have no room for.
  const bool are_planes = !g.is_channels_last;
  if (!takes(g, Tensor()) || (are_planes && is_reduced_float(t.x.dtype()))) return false;
  return visit_pointwise(t.x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto x = side_of<const T>(t.x, g, g.in_channels);
    const auto y = side_of<const T>(t.y, g, g.out_channels);
    const auto transposed = [](Matrix<const T> m) {
      return Matrix<const T>{m.data, m.col_stride, m.row_stride};
    };
    for (int64_t group = 0; group < g.groups; ++group) {
      const Matrix<T> weight{
          static_cast<T*>(t.weight.data()) + group * g.out_channels * g.in_channels, g.in_channels,
          1};
      if (!are_planes) {
        gemm<T>(g.out_channels, g.in_channels, g.images * x.places, 1, transposed(y.rows(group)),
                x.rows(group), 0, weight);
        continue;
      }
      Matrix<const T> a = y.planes(group), b = transposed(x.planes(group));
      for (int64_t n = 0; n < g.images; ++n) {
        gemm<T>(g.out_channels, g.in_channels, x.places, 1, a, b, n == 0 ? 0 : 1, weight);
        a.data += y.image();
        b.data += x.image();
      }
    }
    return true;
  });
}

}  // namespace taeda::cpu::convolution_kernels
