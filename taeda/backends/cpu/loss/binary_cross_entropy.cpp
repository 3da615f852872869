// binary_cross_entropy on the CPU, where values can be looked at before they are used.
#include "taeda/backends/cpu/indexing_declarations.h"
#include "taeda/backends/cpu/loss_declarations.h"
#include "taeda/backends/cpu/reduction_declarations.h"
#include "taeda/ops/loss/declarations.h"

namespace taeda::cpu {
namespace {

using Reduce = void (*)(const Tensor& self, IntList dim, bool keepdim, Tensor& out);

double extreme(Reduce reduce, const Tensor& t) {
  Tensor out = make_tensor(IntList(), t.dtype(), t.device());
  reduce(t, IntList(), false, out);
  return cpu::_local_scalar_dense(out).to_double();
}

// Refuses numbers outside [0, 1] and NaN.
void check_probabilities(const Tensor& t, const char* name) {
  if (t.numel() == 0 || !t.is_floating_point()) return;
  TAEDA_CHECK(extreme(&cpu::amin, t) >= 0 && extreme(&cpu::amax, t) <= 1, "all elements of ", name,
              " should be between 0 and 1");
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  check_probabilities(self, "input");
  check_probabilities(target, "target");
  return impl::binary_cross_entropy(self, target, weight, reduction);
}

}  // namespace taeda::cpu
