// Operands and results of the products behind convolutions.
#include "taeda/backends/cpu/convolution/products.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "taeda/backends/cpu/convolution/implicit_product.h"
#include "taeda/backends/cpu/convolution/patches.h"
#include "taeda/backends/cpu/gemm/scratch.h"

namespace taeda::cpu::convolution_kernels {
namespace {

// Calls f with a value of the type that products of the dtype are computed in.
template <class F>
void visit_computed(DType t, F&& f) {
  switch (t) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::BFloat16: return f(BFloat16{});
    case DType::Half: return f(Half{});
    case DType::ComplexFloat: return f(Complex<float>{});
    case DType::ComplexDouble: return f(Complex<double>{});
    case DType::Int64: return f(uint64_t{});
    case DType::Int32: return f(uint32_t{});
    case DType::Int16: return f(uint16_t{});
    case DType::Int8:
    case DType::UInt8: return f(uint8_t{});
    default: fail(ErrorKind::NotImplemented, "\"convolution\" not implemented for '", t, "'");
  }
}

// Elements that lie at `lane * lane_stride + offsets[p]`, p along the depth.
template <class T>
struct Filters {
  const T* data;
  int64_t group_stride, lane_stride;
  std::vector<int64_t> offsets;
  int64_t step = 0;  // between all offsets, or 0 where they differ

  void find_step() {
    if (offsets.size() < 2) {
      step = 1;
      return;
    }
    step = offsets[1] - offsets[0];
    for (size_t p = 1; p < offsets.size(); ++p)
      if (offsets[p] - offsets[p - 1] != step) step = 0;
  }
  void pack(int64_t group, int64_t lane, int64_t lanes, int64_t q, int64_t depth, int width,
            PartOf<T>* dst) const {
    const auto& kernels = gemm_kernels::kernels().get<T>();
    const T* first = data + group * group_stride + lane * lane_stride;
    if (step != 0)
      return kernels.pack(lanes, depth, first + offsets[q], lane_stride, step, width, dst);
    T* rows = scratch_array<T>(Scratch::Patches, lanes * depth);
    for (int64_t i = 0; i < lanes; ++i)
      for (int64_t p = 0; p < depth; ++p)
        rows[i * depth + p] = first[i * lane_stride + offsets[q + p]];
    kernels.pack(lanes, depth, rows, depth, 1, width, dst);
  }
};

// The weight's elements for the channels of the patches, which `channel` apart, and their taps.
template <class T>
Filters<T> filters_for(const T* data, const WeightLayout& layout, int64_t group_stride,
                       int64_t lane_stride, int64_t channel_stride, const Patches<T>& patches) {
  Filters<T> f{data, group_stride, lane_stride, {}};
  f.offsets.resize(patches.pairs());
  for (int64_t p = 0; p < patches.pairs(); ++p) {
    const auto [channel, t] = patches.pair(p);
    const auto tap = patches.window.tap(t);
    int64_t at = channel * channel_stride;
    for (int d = 0; d < kSpatial; ++d) at += tap[d].kernel * layout.tap[d];
    f.offsets[p] = at;
  }
  f.find_step();
  return f;
}

// Where the places of a window are written: point q of dimension d at first[d] + q * step[d].
struct Target {
  Layout layout;
  Extents first, step;

  int64_t at(int64_t image, const Extents& point) const {
    int64_t offset = image * layout.image;
    for (int d = 0; d < kSpatial; ++d) offset += (first[d] + point[d] * step[d]) * layout.place[d];
    return offset;
  }
};

// Sums of places x channels into an image: channels are rows of the sums, or columns.
template <class T>
struct Store {
  T* data;
  const T* bias;
  Target target;
  const Window& window;
  int64_t channels;  // per group
  bool are_channels_rows;
  Finish finish;

  void operator()(const Sums<T>& s) const {
    const auto& kernels = gemm_kernels::kernels().get<T>();
    const int64_t channel = s.group * channels + (are_channels_rows ? s.row : s.col);
    const int64_t place = are_channels_rows ? s.col : s.row;
    const int64_t places = are_channels_rows ? s.cols : s.rows;
    if (bias) add_bias(s, bias + channel);
    const AccOf<T> one(1), zero(0);
    const Layout& to = target.layout;
    const int64_t step = target.step[2] * to.place[2];
    for_runs(window, place, places, [&](int64_t image, Extents point, int64_t run, int64_t length) {
      T* first = data + target.at(image, point) + channel * to.channel;
      if (are_channels_rows)
        kernels.store(s.rows, length, s.data + run, s.row_stride, one, zero,
                      {first, to.channel, step}, nullptr);
      else
        kernels.store(length, s.cols, s.data + run * s.row_stride, s.row_stride, one, zero,
                      {first, step, to.channel}, nullptr);
    });
    finish(channel, are_channels_rows ? s.rows : s.cols, place, places);
  }

 private:
  void add_bias(const Sums<T>& s, const T* values) const {
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t j = 0; j < s.cols; ++j) {
        AccOf<T>& sum = s.data[i * s.row_stride + j];
        sum = static_cast<AccOf<T>>(sum + static_cast<AccOf<T>>(values[are_channels_rows ? i : j]));
      }
  }
};

// Sums over the patches times filters, one per place and channel of the result.
template <class T>
void gather_product(const Patches<T>& patches, int64_t images, int64_t groups,
                    const Filters<T>& filters, const Store<T>& store) {
  const auto pack_patches = [&](int64_t group, int64_t lane, int64_t lanes, int64_t q,
                                int64_t depth, int width, PartOf<T>* dst) {
    patches.pack_places(group, lane, lanes, q, depth, width, dst);
  };
  const auto pack_filters = [&](int64_t group, int64_t lane, int64_t lanes, int64_t q,
                                int64_t depth, int width, PartOf<T>* dst) {
    filters.pack(group, lane, lanes, q, depth, width, dst);
  };
  const Operand<T> places{images * patches.window.places(), pack_patches, false};
  const Operand<T> channels{store.channels, pack_filters, true};
  const bool is_rows = store.are_channels_rows;
  ImplicitProduct<T>{groups, patches.pairs(), is_rows ? channels : places,
                     is_rows ? places : channels, store}
      .run();
}

template <class T>
const T* elements(const Tensor& t) {
  return t.defined() ? static_cast<const T*>(t.data()) : nullptr;
}

template <class T>
void forward(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  const WeightLayout weight(t.weight);
  const Patches<T> patches{elements<T>(t.x), Layout(t.x),       g.in,
                           g.in_channels,    forward_window(g), g.is_channels_last};
  const Filters<T> filters = filters_for(elements<T>(t.weight), weight, g.out_channels * weight.out,
                                         weight.out, weight.in, patches);
  const Store<T> store{static_cast<T*>(t.y.data()),
                       elements<T>(bias),
                       {Layout(t.y), {}, {1, 1, 1}},
                       patches.window,
                       g.out_channels,
                       !g.is_channels_last,
                       t.finish};
  gather_product(patches, g.images, g.groups, filters, store);
}

template <class T>
void for_input(const Tensors& t, const Tensor& bias) {
  const Geometry& g = t.geometry;
  const WeightLayout weight(t.weight);
  const Finish finish = g.has_unit_stride() ? t.finish : Finish();
  for_residues(g, [&](const Extents& residue, const Window& window) {
    const Patches<T> patches{elements<T>(t.y), Layout(t.y), g.out,
                             g.out_channels,   window,      g.is_channels_last};
    const Filters<T> filters = filters_for(
        elements<T>(t.weight), weight, g.out_channels * weight.out, weight.in, weight.out, patches);
    const Store<T> store{static_cast<T*>(t.x.data()),
                         elements<T>(bias),
                         {Layout(t.x), residue, g.stride},
                         patches.window,
                         g.in_channels,
                         !g.is_channels_last,
                         finish};
    gather_product(patches, g.images, g.groups, filters, store);
  });
}

// The elements of y as lanes of channels along all places.
template <class T>
struct Responses {
  const T* data;
  Layout layout;
  int64_t channels, places;  // per group, per image
  int64_t place_stride;      // between all places where channels lie innermost, else 0

  void pack(int64_t group, int64_t lane, int64_t lanes, int64_t q, int64_t depth, int width,
            PartOf<T>* dst) const {
    const auto& kernels = gemm_kernels::kernels().get<T>();
    const T* first = data + (group * channels + lane) * layout.channel;
    if (place_stride != 0)
      return kernels.pack(lanes, depth, first + q * place_stride, 1, place_stride, width, dst);
    if (q / places == (q + depth - 1) / places)
      return kernels.pack(lanes, depth, first + q / places * layout.image + q % places,
                          layout.channel, 1, width, dst);
    T* rows = scratch_array<T>(Scratch::Patches, lanes * depth);
    for (int64_t p = 0; p < depth;) {
      const int64_t image = (q + p) / places, place = (q + p) % places;
      const int64_t count = std::min(places - place, depth - p);
      for (int64_t i = 0; i < lanes; ++i)
        std::memcpy(static_cast<void*>(rows + i * depth + p),
                    first + image * layout.image + i * layout.channel + place, count * sizeof(T));
      p += count;
    }
    kernels.pack(lanes, depth, rows, depth, 1, width, dst);
  }
};

template <class T>
void for_weight(const Tensors& t) {
  const Geometry& g = t.geometry;
  const Patches<T> patches{elements<T>(t.x), Layout(t.x),       g.in,
                           g.in_channels,    forward_window(g), g.is_channels_last};
  const Responses<T> responses{elements<T>(t.y), Layout(t.y), g.out_channels,
                               g.out[0] * g.out[1] * g.out[2],
                               g.is_channels_last ? g.groups * g.out_channels : 0};
  const auto pack_patches = [&](int64_t group, int64_t lane, int64_t lanes, int64_t q,
                                int64_t depth, int width, PartOf<T>* dst) {
    patches.pack_pairs(group, lane, lanes, q, depth, width, dst);
  };
  const auto pack_responses = [&](int64_t group, int64_t lane, int64_t lanes, int64_t q,
                                  int64_t depth, int width, PartOf<T>* dst) {
    responses.pack(group, lane, lanes, q, depth, width, dst);
  };
  // Pairs come in the order of the weight's elements.
  const int64_t pairs = patches.pairs();
  T* weight = static_cast<T*>(t.weight.data());
  const auto store = [&](const Sums<T>& s) {
    T* first = weight + (s.group * g.out_channels + s.row) * pairs + s.col;
    gemm_kernels::kernels().get<T>().store(s.rows, s.cols, s.data, s.row_stride, AccOf<T>(1),
                                           AccOf<T>(0), {first, pairs, 1}, nullptr);
  };
  ImplicitProduct<T>{g.groups,
                     g.images * responses.places,
                     {g.out_channels, pack_responses, false},
                     {pairs, pack_patches, false},
                     store}
      .run();
}

}  // namespace

Done forward_product(const Tensors& t, const Tensor& bias) {
  visit_computed(t.x.dtype(), [&](auto tag) { forward<decltype(tag)>(t, bias); });
  return Done::Finished;
}

Done input_product(const Tensors& t, const Tensor& bias) {
  visit_computed(t.x.dtype(), [&](auto tag) { for_input<decltype(tag)>(t, bias); });
  return t.geometry.has_unit_stride() ? Done::Finished : Done::Computed;
}

void weight_product(const Tensors& t) {
  visit_computed(t.x.dtype(), [&](auto tag) { for_weight<decltype(tag)>(t); });
}

}  // namespace taeda::cpu::convolution_kernels
