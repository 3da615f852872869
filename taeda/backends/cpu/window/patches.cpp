// Patches of images as columns, and columns as images, on the CPU.
#include <algorithm>
#include <array>
#include <cstring>

#include "taeda/backends/cpu/patches_declarations.h"
#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/window/volume.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

// The places of a window's element along a dimension: index = start + place * stride.
struct PatchAxis {
  int64_t image, places, stride;
  // The first and the one after the last place whose element lies inside.
  std::pair<int64_t, int64_t> inside(int64_t start) const {
    const int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;
    const int64_t last = start >= image ? 0 : (image - 1 - start) / stride + 1;
    return {std::min(first, places), std::max(std::min(first, places), std::min(last, places))};
  }
};

struct Patches {
  PatchAxis high, wide;
  int64_t kernel[2], dilation[2], padding[2];

  Patches(int64_t height, int64_t width, IntList k, IntList d, IntList p, IntList s)
      : high{height, (height + 2 * p[0] - d[0] * (k[0] - 1) - 1) / s[0] + 1, s[0]},
        wide{width, (width + 2 * p[1] - d[1] * (k[1] - 1) - 1) / s[1] + 1, s[1]},
        kernel{k[0], k[1]},
        dilation{d[0], d[1]},
        padding{p[0], p[1]} {}
  int64_t plane() const { return high.image * wide.image; }
  int64_t columns() const { return kernel[0] * kernel[1]; }
  int64_t places() const { return high.places * wide.places; }

  // Calls row(start of the image's row, first column place, last, start of the column's row) for
  // each row of places of the window's element `k`; rows outside have last <= first.
  template <class Row>
  void for_rows(int64_t k, Row&& row) const {
    const int64_t y = k / kernel[1] * dilation[0] - padding[0];
    const int64_t x = k % kernel[1] * dilation[1] - padding[1];
    const auto [first, last] = wide.inside(x);
    for (int64_t oh = 0; oh < high.places; ++oh) {
      const int64_t ih = y + oh * high.stride;
      const bool is_inside = ih >= 0 && ih < high.image;
      row(ih * wide.image + x, first, is_inside ? last : first, oh * wide.places);
    }
  }
};

template <class Item>
void take_patches(const char* from, const Patches& p, int64_t planes, char* to) {
  const auto* const image = reinterpret_cast<const Item*>(from);
  auto* const columns = reinterpret_cast<Item*>(to);
  parallel_for(0, planes * p.columns(), row_grain(p.places()), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const Item* const plane = image + i / p.columns() * p.plane();
      Item* const column = columns + i * p.places();
      p.for_rows(i % p.columns(), [&](int64_t start, int64_t a, int64_t b, int64_t at) {
        Item* const row = column + at;
        std::fill(row, row + a, Item{});
        if (p.wide.stride == 1)
          std::copy(plane + start + a, plane + start + b, row + a);
        else
          for (int64_t o = a; o < b; ++o) row[o] = plane[start + o * p.wide.stride];
        std::fill(row + b, row + p.wide.places, Item{});
      });
    }
  });
}

// `parts` numbers stand at each place: two for complex ones.
template <class T>
void add_patches(const Tensor& from, const Patches& p, int64_t parts, const Tensor& to,
                 int64_t planes) {
  const RunReader<T> read(from);
  const RunWriter<T> write(to);
  const int64_t width = p.places() * parts, plane = p.plane() * parts;
  parallel_for(0, planes, row_grain(p.columns() * width), [&](int64_t first, int64_t last) {
    std::vector<T> buffer(read.is_plain() ? 0 : width), made(write.is_plain() ? 0 : plane);
    for (int64_t i = first; i < last; ++i) {
      T* const image = write.at(i * plane, made.data());
      std::fill(image, image + plane, T(0));
      for (int64_t k = 0; k < p.columns(); ++k) {
        const T* const column = read.get((i * p.columns() + k) * width, width, buffer.data());
        p.for_rows(k, [&](int64_t start, int64_t a, int64_t b, int64_t at) {
          for (int64_t o = a; o < b; ++o)
            for (int64_t c = 0; c < parts; ++c)
              image[(start + o * p.wide.stride) * parts + c] += column[(at + o) * parts + c];
        });
      }
      write.put(i * plane, plane, image);
    }
  });
}

}  // namespace

void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = self.contiguous();
  DenseResult made(out, MemoryFormat::Contiguous);
  const Patches p(x.size(-2), x.size(-1), kernel_size, dilation, padding, stride);
  const int64_t planes = x.numel() / p.plane();
  const auto* const from = static_cast<const char*>(x.data());
  auto* const to = static_cast<char*>(made.tensor().data());
  switch (x.element_size()) {
    case 1: take_patches<uint8_t>(from, p, planes, to); break;
    case 2: take_patches<uint16_t>(from, p, planes, to); break;
    case 4: take_patches<uint32_t>(from, p, planes, to); break;
    case 8: take_patches<uint64_t>(from, p, planes, to); break;
    default: take_patches<std::array<uint64_t, 2>>(from, p, planes, to);
  }
  made.finish();
}

void col2im(const Tensor& self, SymIntList, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, Tensor& out) {
  if (out.numel() == 0) return;
  Tensor x = self.contiguous();
  DenseResult made(out, MemoryFormat::Contiguous);
  const Patches p(out.size(-2), out.size(-1), kernel_size, dilation, padding, stride);
  const int64_t planes = out.numel() / p.plane(), parts = x.is_complex() ? 2 : 1;
  Tensor to = made.tensor();
  if (parts == 2) {
    x = taeda::view_as_real(x);
    to = taeda::view_as_real(to);
  }
  const auto add = x.dtype() == DType::Double ? &add_patches<double> : &add_patches<float>;
  add(x, p, parts, to, planes);
  made.finish();
}

}  // namespace taeda::cpu
