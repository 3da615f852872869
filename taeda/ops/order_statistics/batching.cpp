// Batching rules of medians, searches and membership.
#include "taeda/ops/order_statistics/batching.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/order_statistics/functions.h"

namespace taeda::batch {
namespace {

// Each example as one line.
Tensor example_lines(const Batched& self) {
  const Tensor x = self.front();
  return x.dim() == 1 ? x.unsqueeze(1) : x.dim() == 2 ? x : x.flatten(1);
}

}  // namespace

Batched median(const Batched& self) {
  return {std::get<0>(taeda::median(example_lines(self), 1)), 0};
}
Batched nanmedian(const Batched& self) {
  return {std::get<0>(taeda::nanmedian(example_lines(self), 1)), 0};
}

// The values of an example are one line where they are searched in one sequence.
Batched searchsorted_Tensor(const Batched& sorted_sequence, const Batched& self, bool out_int32,
                            bool right, std::optional<std::string_view> side,
                            const Batched& sorter) {
  const SymInt& size = batch_context().size;
  const Tensor sequence = sorted_sequence.front_expanded(size);
  const Tensor order = sorter.defined() ? sorter.front_expanded(size) : Tensor();
  const Tensor values = self.front_expanded(size);
  if (sorted_sequence.rank() != 1 || self.rank() == 1)
    return {taeda::searchsorted(sequence, values, out_int32, right, side, order), 0};
  const Tensor found = taeda::searchsorted(sequence, values.reshape({size, SymInt(-1)}), out_int32,
                                           right, side, order);
  return {found.reshape(values.sym_sizes()), 0};
}

Batched isin_Tensor_Tensor(const Batched& elements, const Batched& test_elements,
                           bool assume_unique, bool invert) {
  if (!test_elements.is_batched())
    return {taeda::isin(elements.front(), test_elements.value, assume_unique, invert), 0};
  const SymInt& size = batch_context().size;
  const Tensor x = elements.front_expanded(size);
  const Tensor tests = test_elements.front_expanded(size).reshape({size, SymInt(1), SymInt(-1)});
  const Tensor found =
      x.reshape({size, SymInt(-1), SymInt(1)}).eq(tests).any(-1, false).reshape(x.sym_sizes());
  return {invert ? found.logical_not() : found, 0};
}

}  // namespace taeda::batch
