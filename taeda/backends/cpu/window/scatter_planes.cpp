// Elements brought to places of their planes: the gradients of greatest elements, and unpooling.
#include <algorithm>
#include <atomic>
#include <string>

#include "taeda/backends/cpu/pointwise/runs.h"
#include "taeda/backends/cpu/pooling_declarations.h"
#include "taeda/backends/cpu/window/volume.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/plane_format.h"

namespace taeda::cpu {
namespace {

// to[places[i]] += from[i] in each plane, or = where `is_added` is false. A place outside its plane
// is skipped and returned; 0, which lies inside, where there is none.
template <class T, bool is_added>
int64_t scatter(const Tensor& from, const Tensor& places, const Volume& source, const Tensor& to,
                const Volume& target) {
  const RunReader<T> read(from);
  const RunWriter<T> write(to);
  const int64_t* const at = places.data<int64_t>();
  const int64_t n = source.plane(), inner = source.inner, size = target.plane() / inner;
  std::atomic<int64_t> outside{0};
  parallel_for(0, source.planes, row_grain(n + target.plane()), [&](int64_t first, int64_t last) {
    std::vector<T> values(read.is_plain() ? 0 : n), made(write.is_plain() ? 0 : target.plane());
    for (int64_t p = first; p < last; ++p) {
      const T* const v = read.get(p * n, n, values.data());
      const int64_t* const place = at + p * n;
      T* const plane = write.at(p * target.plane(), made.data());
      std::fill(plane, plane + target.plane(), T(0));
      for (int64_t i = 0; i < n; i += inner)
        for (int64_t c = 0; c < inner; ++c) {
          const int64_t where = place[i + c];
          if (where < 0 || where >= size) {
            outside = where;
            continue;
          }
          T& element = plane[where * inner + c];
          element = is_added ? element + v[i + c] : v[i + c];
        }
      write.put(p * target.plane(), target.plane(), plane);
    }
  });
  return outside;
}

template <bool is_added>
int64_t scatter_planes(const Tensor& from, const Tensor& indices, int64_t spatial,
                       MemoryFormat format, Tensor& out) {
  if (out.numel() == 0) return 0;
  const Tensor x = from.contiguous(format), places = indices.contiguous(format);
  DenseResult made(out, format);
  const Volume source(x, spatial, format), target(out, spatial, format);
  int64_t outside = 0;
  switch (compute_type(x.dtype())) {
    case ComputeType::F32:
      outside = scatter<float, is_added>(x, places, source, made.tensor(), target);
      break;
    case ComputeType::F64:
      outside = scatter<double, is_added>(x, places, source, made.tensor(), target);
      break;
    default: outside = scatter<int64_t, is_added>(x, places, source, made.tensor(), target);
  }
  made.finish();
  return outside;
}

void max_backward(const Tensor& grad, const Tensor& self, const Tensor& indices, int64_t spatial,
                  Tensor& out) {
  scatter_planes<true>(grad, indices, spatial, plane_format(self, spatial), out);
}

void unpool(const Tensor& self, const Tensor& indices, int64_t spatial, Tensor& out) {
  const int64_t outside =
      scatter_planes<false>(self, indices, spatial, plane_format(self, spatial), out);
  if (outside == 0) return;
  std::string volume;
  for (int64_t d = out.dim() - spatial; d < out.dim(); ++d)
    volume += (volume.empty() ? "" : "x") + std::to_string(out.sizes()[d]);
  fail(ErrorKind::Runtime, "Found an invalid max index: ", outside, " (output volumes are of size ",
       volume, ")");
}

}  // namespace

void max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntList,
                                      IntList, IntList, IntList, bool, const Tensor& indices,
                                      Tensor& grad_input) {
  max_backward(grad_output, self, indices, 2, grad_input);
}
void max_pool3d_with_indices_backward(const Tensor& grad_output, const Tensor& self, IntList,
                                      IntList, IntList, IntList, bool, const Tensor& indices,
                                      Tensor& grad_input) {
  max_backward(grad_output, self, indices, 3, grad_input);
}
void adaptive_max_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                                  const Tensor& indices, Tensor& grad_input) {
  max_backward(grad_output, self, indices, 2, grad_input);
}
void adaptive_max_pool3d_backward(const Tensor& grad_output, const Tensor& self,
                                  const Tensor& indices, Tensor& grad_input) {
  max_backward(grad_output, self, indices, 3, grad_input);
}
void fractional_max_pool2d_backward(const Tensor& grad_output, const Tensor&, IntList, IntList,
                                    const Tensor& indices, Tensor& grad_input) {
  scatter_planes<true>(grad_output, indices, 2, MemoryFormat::Contiguous, grad_input);
}
void fractional_max_pool3d_backward(const Tensor& grad_output, const Tensor&, IntList, IntList,
                                    const Tensor& indices, Tensor& grad_input) {
  scatter_planes<true>(grad_output, indices, 3, MemoryFormat::Contiguous, grad_input);
}
void max_unpool2d(const Tensor& self, const Tensor& indices, SymIntList, Tensor& out) {
  unpool(self, indices, 2, out);
}
void max_unpool3d(const Tensor& self, const Tensor& indices, SymIntList, IntList, IntList,
                  Tensor& out) {
  unpool(self, indices, 3, out);
}

}  // namespace taeda::cpu
