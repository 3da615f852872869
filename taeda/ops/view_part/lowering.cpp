// Parts of tensors, and tensors with a part replaced.
#include "taeda/ops/view_part/lowerings.h"

#include <limits>

namespace taeda::lowering {

void select_int(const Tensor& self, int64_t dim, SymInt index, const Tensor& out) {
  Lowering& l = Lowering::current();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const SymInt size = self.sym_size(static_cast<int64_t>(along));
  const Expr* at_index = l.integer(index < SymInt(0) ? index + size : index);
  l.view(out, self, [along, at_index](const Place& at) {
    Place place;
    for (size_t d = 0; d <= at.size(); ++d)
      place.push_back(d == along ? at_index : at[d < along ? d : d - 1]);
    return place;
  });
}

namespace {

// start, start + step, ... of a dimension, as a slice says.
struct Steps {
  const Expr *first, *end, *step;

  Steps(const SymInt& size, std::optional<SymInt> start, std::optional<SymInt> last,
        const SymInt& by) {
    Lowering& l = Lowering::current();
    const auto clamped = [&size](SymInt at) {
      // What formulas say for "to the end": no sum with a size may be formed of it.
      if (!at.is_symbolic() && at.expect_int() == std::numeric_limits<int64_t>::max()) return size;
      if (at < SymInt(0)) at = at + size;
      if (at < SymInt(0)) at = SymInt(0);
      return at > size ? size : at;
    };
    first = l.integer(clamped(start.value_or(SymInt(0))));
    end = l.integer(clamped(last.value_or(size)));
    step = l.integer(by);
  }
};

// A diagonal of two dimensions begins at (row, column).
struct Diagonal {
  size_t rows, columns;  // dimensions
  int64_t row, column;

  Diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2)
      : rows(static_cast<size_t>(wrap_dim(dim1, self.dim()))),
        columns(static_cast<size_t>(wrap_dim(dim2, self.dim()))),
        row(offset < 0 ? -offset : 0),
        column(offset > 0 ? offset : 0) {}
  bool is_other(size_t d) const { return d != rows && d != columns; }
};

}  // namespace

void slice_Tensor(const Tensor& self, int64_t dim, std::optional<SymInt> start,
                  std::optional<SymInt> end, SymInt step, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Steps steps(self.sym_size(static_cast<int64_t>(along)), start, end, step);
  l.view(out, self, [&pool, along, steps](const Place& at) {
    Place place = at;
    place[along] = pool.add(steps.first, pool.mul(steps.step, at[along]));
    return place;
  });
}

void diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const Diagonal diagonal(self, offset, dim1, dim2);
  l.view(out, self, [&pool, diagonal](const Place& at) {
    Place place(at.size() + 1, nullptr);
    size_t next = 0;
    for (size_t d = 0; d < place.size(); ++d)
      if (diagonal.is_other(d)) place[d] = at[next++];
    place[diagonal.rows] = pool.add(at.back(), pool.integer(diagonal.row));
    place[diagonal.columns] = pool.add(at.back(), pool.integer(diagonal.column));
    return place;
  });
}

void unfold(const Tensor& self, int64_t dimension, int64_t, int64_t step, const Tensor& out) {
  if (self.dim() == 0) return;
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const size_t along = static_cast<size_t>(wrap_dim(dimension, self.dim()));
  l.view(out, self, [&pool, along, step](const Place& at) {
    Place place(at.begin(), at.end() - 1);
    place[along] = pool.add(pool.mul(at[along], pool.integer(step)), at.back());
    return place;
  });
}

// ---- tensors with a part replaced ----
void select_scatter(const Tensor& self, const Tensor& src, int64_t dim, SymInt index,
                    const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &part = l.of(src);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const SymInt size = self.sym_size(static_cast<int64_t>(along));
  const Expr* row = l.integer(index < SymInt(0) ? index + size : index);
  l.define(out, [&x, &part, along, row](Emitter& e, const Place& at) {
    Place place;
    for (size_t d = 0; d < at.size(); ++d)
      if (d != along) place.push_back(at[d]);
    const Sym old = e.read(x, at);
    return where(e.index(at[along]) == e.index(row), e.cast(e.read(part, place), e.type_of(old)),
                 old);
  });
}

void slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<SymInt> start,
                   std::optional<SymInt> end, SymInt step, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &part = l.of(src);
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Steps steps(self.sym_size(static_cast<int64_t>(along)), start, end, step);
  l.define(out, [&x, &part, along, steps](Emitter& e, const Place& at) {
    symbolic::ExprPool& pool = e.pool();
    const Expr* from = pool.subtract(at[along], steps.first);
    const Sym here = e.index(at[along]);
    SymMask inside = (here >= e.index(steps.first)) & (here < e.index(steps.end));
    if (!steps.step->is_constant(1))
      inside = inside & (e.index(pool.modulo(from, steps.step)) == e.constant(0, Type::I64));
    Place place = at;
    place[along] = pool.floor_div(from, steps.step);
    const Sym old = e.read(x, at);
    return where(inside, e.cast(e.read_if(inside, part, place), e.type_of(old)), old);
  });
}

void diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                      int64_t dim2, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &part = l.of(src);
  const Diagonal diagonal(self, offset, dim1, dim2);
  l.define(out, [&x, &part, diagonal](Emitter& e, const Place& at) {
    symbolic::ExprPool& pool = e.pool();
    const Expr* from = pool.subtract(at[diagonal.rows], pool.integer(diagonal.row));
    const Expr* column = pool.subtract(at[diagonal.columns], pool.integer(diagonal.column));
    const SymMask inside =
        (e.index(from) == e.index(column)) & (e.index(from) >= e.constant(0, Type::I64));
    Place place;
    for (size_t d = 0; d < at.size(); ++d)
      if (diagonal.is_other(d)) place.push_back(at[d]);
    place.push_back(from);
    const Sym old = e.read(x, at);
    return where(inside, e.cast(e.read_if(inside, part, place), e.type_of(old)), old);
  });
}

}  // namespace taeda::lowering
