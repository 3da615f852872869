// Running sums and products on the CPU; floats run in double precision.
#include <memory>

#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/backends/cpu/scan_sort_declarations.h"
#include "taeda/kernel/reduce.h"

namespace taeda::cpu {
namespace {

template <class T>
struct RunningType {
  using Type = T;
};
template <>
struct RunningType<float> {
  using Type = double;
};
template <>
struct RunningType<Complex<float>> {
  using Type = Complex<double>;
};

// Numbers as values of bodies hold them, and back.
template <class A>
A raw_of(A x) {
  return x;
}
template <class R>
kernel::td_complex<R> raw_of(Complex<R> x) {
  return {x.re, x.im};
}
template <class A>
A element_of(A x) {
  return x;
}
template <class R>
Complex<R> element_of(kernel::td_complex<R> x) {
  return {x.re, x.im};
}

template <class Body, class T>
void scan_line(const T* in, T* out, int64_t n) {
  using A = typename RunningType<T>::Type;
  using V = typename kernel::ReduceVec<A>::Single;
  // A number, not a struct around it, stays in a register.
  typename V::Raw running = kernel::first_part(Body::template identity<V>()).raw;
  for (int64_t i = 0; i < n; ++i) {
    const V x = V::from_raw(raw_of(static_cast<A>(in[i])));
    running =
        kernel::combined<Body>(V::from_raw(running), kernel::first_part(Body::template lift<V>(x)))
            .raw;
    out[i] = static_cast<T>(element_of(running));
  }
}

template <class Body, class T>
void scan_lines(const T* in, T* out, int64_t lines, int64_t n, int64_t in_stride,
                int64_t out_stride) {
  for (int64_t l = 0; l < lines; ++l) scan_line<Body>(in + l * in_stride, out + l * out_stride, n);
}

template <class Body, class T>
void scan(const Tensor& self, int64_t dim, const Tensor& out) {
  constexpr int64_t item = sizeof(T);
  const Tensor* const tensors[] = {&self, &out};
  const LineSpace space(tensors, dim);
  const int64_t n = space.length[0];
  const ComputeType compute = compute_type(DTypeOf<T>::value);
  bool is_direct = self.dtype() == DTypeOf<T>::value && out.dtype() == self.dtype() &&
                   space.along[0] == item && space.along[1] == item;
  for (int k = 0; k < 2; ++k) is_direct &= space.outer[0].stride[k] % item == 0;
  const LoadFn load = load_fn(self.dtype(), compute);
  const StoreFn store = store_fn(compute, out.dtype());
  const int64_t max_lines = is_direct ? 4 : panel_lines(space, item);
  for_panels(space, max_lines, n, [&](auto&& panels) {
    std::unique_ptr<T[]> buffer;
    if (!is_direct) buffer = std::make_unique_for_overwrite<T[]>(max_lines * n);
    panels([&](char* const* at, int64_t lines) {
      const auto& stride = space.outer[0].stride;
      if (is_direct) {
        scan_lines<Body>(reinterpret_cast<const T*>(at[0]), reinterpret_cast<T*>(at[1]), lines, n,
                         stride[0] / item, stride[1] / item);
        return;
      }
      load_lines(load, at[0], lines, n, stride[0], space.along[0], buffer.get());
      scan_lines<Body>(buffer.get(), buffer.get(), lines, n, n, n);
      store_lines(store, buffer.get(), lines, n, stride[1], space.along[1], at[1]);
    });
  });
}

template <class Body>
void run(const char* name, const Tensor& self, int64_t dim, const Tensor& out) {
  if (self.numel() == 0) return;
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(out.dtype()), "\"", name,
                              "_out_cpu\" not implemented for '", out.dtype(), "'");
  switch (compute_type(out.dtype())) {
    case ComputeType::F32: return scan<Body, float>(self, dim, out);
    case ComputeType::F64: return scan<Body, double>(self, dim, out);
    case ComputeType::I64: return scan<Body, int64_t>(self, dim, out);
    case ComputeType::U64: return scan<Body, uint64_t>(self, dim, out);
    case ComputeType::C64: return scan<Body, Complex<float>>(self, dim, out);
    default: return scan<Body, Complex<double>>(self, dim, out);
  }
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  run<kernel::SumBody>("cumsum", self, dim, out);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  run<kernel::ProdBody>("cumprod", self, dim, out);
}

}  // namespace taeda::cpu
