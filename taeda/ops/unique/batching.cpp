// The batching rule of nonzero_static: each element that counts knows its row of the result.
#include "taeda/ops/unique/batching.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/unique/functions.h"

namespace taeda::batch {

Batched nonzero_static(const Batched& self, SymInt size, int64_t fill_value) {
  const SymInt& examples = batch_context().size;
  const Tensor x = self.front();
  const int64_t rank = self.rank();
  const Tensor counts = x.ne(Scalar(0)).reshape({examples, SymInt(-1)});
  // Elements without a row go to one behind the others.
  const Tensor rows =
      (counts.cumsum(1) - Scalar(1)).masked_fill(counts.logical_not(), Scalar(size));
  const Tensor row = rows.clamp_max(Scalar(size));
  const Tensor positions =
      taeda::arange(Scalar(counts.sym_size(1)), DType::Int64, {}, x.device()).expand_as(row);
  Tensor rest = taeda::full({examples, size + SymInt(1)}, Scalar(-1), DType::Int64, {}, x.device())
                    .scatter(1, row, positions)
                    .narrow(1, 0, size);
  const Tensor is_empty = rest.lt(Scalar(0));
  std::vector<Tensor> columns(static_cast<size_t>(rank));
  for (int64_t d = rank; d-- > 0;) {
    const Scalar length(sym_max(x.sym_size(d + 1), SymInt(1)));
    columns[d] = rest.remainder(length).masked_fill(is_empty, Scalar(fill_value));
    rest = rest.div(length, "floor");
  }
  if (columns.empty()) return {rest.new_empty({examples, size, SymInt(0)}), 0};
  return {taeda::stack(columns, 2), 0};
}

}  // namespace taeda::batch
