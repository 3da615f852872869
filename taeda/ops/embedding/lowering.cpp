// Rows of a table, and rows with a single one.
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

// The number of classes is the size of the result, also where it is inferred. A class outside of it
// is found as an index is, so that eager's operator says what is wrong.
void one_hot(const Tensor& self, int64_t, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& classes = l.of(self);
  const Expr* count = l.sizes(out).back();
  l.define(out, [&classes, count](Emitter& e, const Place& at) {
    Place row;
    for (size_t d = 0; d + 1 < at.size(); ++d) row.push_back(at[d]);
    const Expr* of_row = e.indirect(e.read(classes, row), count, false);
    return where(e.index(of_row) == e.index(at.back()), e.constant(1, Type::I64),
                 e.constant(0, Type::I64));
  });
}

}  // namespace taeda::lowering
