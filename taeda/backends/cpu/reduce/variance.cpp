// Variance, standard deviation and mean of the moments of elements.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "taeda/backends/cpu/reduce/reduce_driver.h"
#include "taeda/backends/cpu/variance_declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The two results of a line.
template <class Mean>
struct Statistics {
  double squares, count;
  Mean mean;
};
Statistics<double> statistics(const MomentState& s) { return {s.squares, s.count, s.mean}; }
Statistics<Complex<double>> statistics(const ComplexMomentState& s) {
  return {s.re.squares + s.im.squares, s.re.count, {s.re.mean, s.im.mean}};
}

template <class State>
void run_moments(const Tensor& self, uint64_t bits, double correction, bool keepdim, bool is_std,
                 Span<const Tensor*> outs) {
  using Mean = decltype(statistics(State{}).mean);
  constexpr ComputeType mean_type =
      std::is_same_v<Mean, double> ? ComputeType::F64 : ComputeType::C128;
  const ComputeType compute = compute_type(self.dtype());
  const StoreFn store_real = store_fn(ComputeType::F64, outs[0]->dtype());
  const StoreFn store_mean = outs.size() > 1 ? store_fn(mean_type, outs[1]->dtype()) : nullptr;
  auto finish = [&](const char* states, int64_t lines, const ReduceOutputs& to) {
    double values[kMaxReduceLines];
    Mean means[kMaxReduceLines];
    for (int64_t l = 0; l < lines; ++l) {
      const auto s = statistics(reinterpret_cast<const State*>(states)[l]);
      values[l] = s.squares / std::max(s.count - correction, 0.0);
      if (is_std) values[l] = std::sqrt(values[l]);
      means[l] = s.mean;
    }
    store_real(reinterpret_cast<const char*>(values), Block{1, lines, 0, to.stride[0]}, to.at[0]);
    if (store_mean)
      store_mean(reinterpret_cast<const char*>(means), Block{1, lines, 0, to.stride[1]}, to.at[1]);
  };
  run_reduction(reduce_op(ReduceKind::Moments, compute), tile_source(self.dtype(), compute), self,
                bits, keepdim, outs, finish);
}

void moments(const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
             bool keepdim, bool is_std, Span<const Tensor*> outs) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  const auto run_of =
      self.is_complex() ? &run_moments<ComplexMomentState> : &run_moments<MomentState>;
  run_of(self, bits, correction ? correction->to_double() : 1.0, keepdim, is_std, outs);
}

}  // namespace

void var_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  moments(self, dim, correction, keepdim, false, outs);
}
void std_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  moments(self, dim, correction, keepdim, true, outs);
}
void var_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  const Tensor* const outs[] = {&out0, &out1};
  moments(self, dim, correction, keepdim, false, outs);
}
void std_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  const Tensor* const outs[] = {&out0, &out1};
  moments(self, dim, correction, keepdim, true, outs);
}

}  // namespace taeda::cpu
