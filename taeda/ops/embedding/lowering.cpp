// Rows of a table.
#include "taeda/ops/embedding/lowerings.h"

namespace taeda::lowering {

void embedding(const Tensor& weight, const Tensor& indices, SymInt, bool, bool, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &table = l.of(weight), &i = l.of(indices);
  l.define(out, [&table, &i](Emitter& e, const Place& at) {
    Place row;
    for (size_t d = 0; d + 1 < at.size(); ++d) row.push_back(at[d]);
    return e.read(table, {e.indirect(e.read(i, row), table.sizes[0], false), at.back()});
  });
}

}  // namespace taeda::lowering
