// Batching rules of random operators whose results are no fills of a given shape.
#include "taeda/ops/random/batching.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {

Batched multinomial(const Batched& self, SymInt num_samples, bool replacement,
                    const Generator& generator) {
  if (!draws_per_example()) {
    check_same_draw(self);
    return {self.value.multinomial(num_samples, replacement, generator), -1};
  }
  TAEDA_CHECK(self.rank() == 1 || self.rank() == 2, "prob_dist must be 1 or 2 dim");
  const Tensor rows = self.front_expanded(batch_context().size);
  if (self.rank() == 1) return {rows.multinomial(num_samples, replacement, generator), 0};
  const Tensor drawn = rows.flatten(0, 1).multinomial(num_samples, replacement, generator);
  return {drawn.reshape({rows.sym_size(0), rows.sym_size(1), num_samples}), 0};
}

// Element by element: examples are more elements, or all of them see the same draws.
namespace {

template <class Draw>
Batched drawn(const Batched& self, const Draw& draw) {
  if (draws_per_example()) return {draw(self.front_expanded(batch_context().size)), 0};
  check_same_draw(self);
  return {draw(self.value), -1};
}

}  // namespace

Batched _standard_gamma(const Batched& self, const Generator& generator) {
  return drawn(self, [&](const Tensor& t) { return taeda::_standard_gamma(t, generator); });
}
Batched poisson(const Batched& self, const Generator& generator) {
  return drawn(self, [&](const Tensor& t) { return taeda::poisson(t, generator); });
}
Batched binomial(const Batched& count, const Batched& prob, const Generator& generator) {
  if (!draws_per_example()) {
    check_same_draw(count);
    check_same_draw(prob);
    return {taeda::binomial(count.value, prob.value, generator), -1};
  }
  const SymInt& size = batch_context().size;
  const Tensor probs = Batched(prob.front_expanded(size), 0).front_aligned(count.rank());
  return {taeda::binomial(count.front_expanded(size), probs, generator), 0};
}

Batched randperm_generator(SymInt n, const Generator& generator, std::optional<DType> dtype,
                           std::optional<Layout> layout, std::optional<Device> device,
                           std::optional<bool> pin_memory) {
  const auto draw = [&] {
    return taeda::randperm(n, generator, dtype, layout, device, pin_memory);
  };
  if (!draws_per_example()) return {draw(), -1};
  const int64_t count = batch_context().size.expect_int();
  const DType type = dtype.value_or(DType::Int64);
  if (count == 0) return {taeda::empty({SymInt(0), n}, type, layout, device, pin_memory), 0};
  std::vector<Tensor> each;
  for (int64_t i = 0; i < count; ++i) each.push_back(draw());
  return {taeda::stack(each), 0};
}

Batched randperm(SymInt n, std::optional<DType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory) {
  return randperm_generator(n, Generator(), dtype, layout, device, pin_memory);
}

}  // namespace taeda::batch
