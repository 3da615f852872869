// logsumexp on the CPU.
#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/kernel/reduce.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

using kernel::LogSumExpBody;

template <class T>
T finished(const ScaledState<T>& s) {
  using V = kernel::Vec<kernel::One<T>>;
  return LogSumExpBody::finish<V>({s.largest, s.sum}).raw;
}
template <class R>
Complex<R> finished(const ScaledState<Complex<R>>& s) {
  using V = kernel::Vec<kernel::One<R>>;
  const auto log = kernel::td_log(kernel::td_complex<R>{s.sum.re, s.sum.im});
  return {log.re + LogSumExpBody::center(V(s.largest)).raw, log.im};
}

template <class T>
void run(ComputeType compute, const Tensor& self, uint64_t bits, bool keepdim, const Tensor& out) {
  const Tensor* const outs[] = {&out};
  const StoreFn store = store_fn(compute, out.dtype());
  run_reduction(
      reduce_op(ReduceKind::LogSumExp, compute), tile_source(self.dtype(), compute), self, bits,
      keepdim, outs, [&](const char* states, int64_t lines, const ReduceOutputs& to) {
        T values[kMaxReduceLines];
        for (int64_t l = 0; l < lines; ++l)
          values[l] = finished(reinterpret_cast<const ScaledState<T>*>(states)[l]);
        store(reinterpret_cast<const char*>(values), Block{1, lines, 0, to.stride[0]}, to.at[0]);
      });
}

}  // namespace

void logsumexp(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const DType common = is_integral(self.dtype(), true) ? default_dtype() : self.dtype();
  const ComputeType compute = compute_type(common);
  const uint64_t bits = dim_bitset(dim, self.dim(), true);
  switch (compute) {
    case ComputeType::F64: return run<double>(compute, self, bits, keepdim, out);
    case ComputeType::C64: return run<Complex<float>>(compute, self, bits, keepdim, out);
    case ComputeType::C128: return run<Complex<double>>(compute, self, bits, keepdim, out);
    default: return run<float>(compute, self, bits, keepdim, out);
  }
}

}  // namespace taeda::cpu
