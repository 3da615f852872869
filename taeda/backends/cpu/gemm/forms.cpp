// Cross products and the coordinates of triangles.
#include <algorithm>

#include "taeda/backends/cpu/matrix_forms_declarations.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {

void linalg_cross(const Tensor& self, const Tensor& other, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor a = expanded_to(self.to(out.dtype()), out.sizes()),
               b = expanded_to(other.to(out.dtype()), out.sizes());
  const Tensor* const tensors[] = {&a, &b, &out};
  const LineSpace space(tensors, wrap_dim(dim, out.dim()));
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for_panels(space, 1, 3, [&](auto&& panels) {
      panels([&](char* const* at, int64_t) {
        const auto x = [&](int k, int i) {
          return *reinterpret_cast<const T*>(at[k] + i * space.along[k]);
        };
        // Each product is rounded, as PyTorch does.
        const auto product = [&](int i, int j) { return static_cast<T>(x(0, i) * x(1, j)); };
        const T products[] = {static_cast<T>(product(1, 2) - product(2, 1)),
                              static_cast<T>(product(2, 0) - product(0, 2)),
                              static_cast<T>(product(0, 1) - product(1, 0))};
        for (int i = 0; i < 3; ++i) *reinterpret_cast<T*>(at[2] + i * space.along[2]) = products[i];
      });
    });
  });
}

Tensor& _fill_triangle_indices_(Tensor& self, int64_t row, int64_t col, int64_t offset,
                                bool upper) {
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      if (self.numel() == 0) return;
      auto* to = static_cast<T*>(self.data());
      using Wide = __int128;
      // The rows that have a place: others may be as many as an integer can count.
      const auto begin = static_cast<int64_t>(upper ? 0 : std::clamp<Wide>(-Wide(offset), 0, row));
      const auto end =
          static_cast<int64_t>(upper ? std::clamp<Wide>(Wide(col) - offset, 0, row) : Wide(row));
      int64_t k = 0;
      for (int64_t r = begin; r < end; ++r) {
        const auto edge =
            static_cast<int64_t>(std::clamp<Wide>(Wide(r) + offset + (upper ? 0 : 1), 0, col));
        const int64_t first = upper ? edge : 0, last = upper ? col : edge;
        for (int64_t c = first; c < last; ++c, ++k) {
          to[k * self.stride(1)] = static_cast<T>(r);
          to[self.stride(0) + k * self.stride(1)] = static_cast<T>(c);
        }
      }
    } else {
      fail(ErrorKind::NotImplemented, "\"tril_indices\" not implemented for '", self.dtype(), "'");
    }
  });
  return self;
}

}  // namespace taeda::cpu
