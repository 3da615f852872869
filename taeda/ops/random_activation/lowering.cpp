// Slopes by places of the stream, with the numbers of their eager kernels.
#include "taeda/ops/random/draws_of_elements.h"
#include "taeda/ops/random_activation/lowerings.h"

namespace taeda::lowering {

void _rrelu_noise(const Tensor& self, const Scalar& lower, const Scalar& upper,
                  const Generator& generator, const Tensor& out) {
  if (generator.defined() || lower.is_symbolic() || upper.is_symbolic()) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const auto slope = uniform_numbers(out, lower.to_double(), upper.to_double());
  l.define(out, [&x, slope](Emitter& e, const Place& at) {
    const Sym value = e.read(x, at), drawn = slope(e, at);
    return where(value > e.constant(0, e.type_of(value)), e.constant(1, e.type_of(drawn)), drawn);
  });
}

}  // namespace taeda::lowering
