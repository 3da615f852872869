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

// Rows of the gradient are added to those of the table one after the other, as in eager kernels.
void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, SymInt,
                              SymInt padding_idx, bool scale_grad_by_freq, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &grad = l.of(grad_output), &i = l.of(indices);
  const Place sizes = l.sizes(out);
  const Expr *rows = sizes[0], *padding = l.integer(padding_idx);
  const auto row_of = [&i, rows](Emitter& e, const Place& at) {
    Place place;
    for (size_t d = 0; d < i.sizes.size(); ++d) place.push_back(at[d]);
    return e.indirect(e.read(i, place), rows, false);
  };
  const auto zero = [](DType dtype) {
    return [type = kernel::compute_type(dtype)](Emitter& e, const Place&) {
      return e.constant(0, type);
    };
  };
  const Scatter updates{
      grad.sizes, [row_of, &grad, padding](Emitter& e, const Place& at) {
        const Expr* row = row_of(e, at);
        Sym value = e.read(grad, at);
        const bool has_padding = !padding->is_constant() || padding->range.lo >= 0;
        if (has_padding)
          value = where(e.index(row) == e.index(padding), e.constant(0, e.type_of(value)), value);
        return Scatter::Update{{row, at.back()}, value};
      }};
  if (!scale_grad_by_freq) return l.scatter(out, zero(grad.dtype), updates);
  const Definition& sum = l.scatter(grad.dtype, sizes, zero(grad.dtype), updates);
  const Definition& counts =
      l.scatter(DType::Double, {rows}, zero(DType::Double),
                {i.sizes, [row_of](Emitter& e, const Place& at) {
                   return Scatter::Update{{row_of(e, at)}, e.constant(1, Type::F64)};
                 }});
  const Definition& factors =
      l.define(grad.dtype, {rows}, [&counts](Emitter& e, const Place& at) -> Sym {
        const Sym count = e.read(counts, at), one = e.constant(1, Type::F64);
        return one / where(count > e.constant(0, Type::F64), count, one);
      });
  l.define(out, [&sum, &factors](Emitter& e, const Place& at) {
    return e.read(sum, at) * e.read(factors, {at[0]});
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
