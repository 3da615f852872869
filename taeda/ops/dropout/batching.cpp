// The batching rule of dropout: a mask for each example, or one for all.
#include "taeda/ops/dropout/batching.h"
#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {

std::tuple<Batched, Batched> native_dropout(const Batched& input, double p,
                                            std::optional<bool> train) {
  const bool is_drawn = train.value_or(true);
  if (!is_drawn || draws_per_example()) {
    const Tensor all = input.front_expanded(batch_context().size);
    const auto [output, mask] = taeda::native_dropout(all, p, train);
    return {Batched(output, 0), Batched(mask, 0)};
  }
  if (!input.is_batched()) {
    const auto [output, mask] = taeda::native_dropout(input.value, p, train);
    return {Batched(output, -1), Batched(mask, -1)};
  }
  const Tensor all = input.front();
  const Tensor one = all.new_empty(all.sym_sizes().drop_front(1));
  const Tensor mask = std::get<1>(taeda::native_dropout(one, p, train));
  const double scale = p == 1 ? 0.0 : 1 / (1 - p);
  const Tensor wide = mask.expand(all.sym_sizes());
  return {Batched(taeda::native_dropout_backward(all, wide, scale), 0), Batched(mask, -1)};
}

}  // namespace taeda::batch
