// Parts of tensors, and tensors with a part replaced.
#include "taeda/ops/view_part/lowerings.h"

#include <limits>

#include "taeda/core/unbacked.h"

namespace taeda::lowering {

namespace {

// A position along a dimension. Of one that only data tells the kernel finds out whether it counts
// from the end, and whether it lies in the dimension at all.
struct Position {
  const Expr *at, *size;
  bool is_known;

  Position(const Tensor& self, size_t along, const SymInt& index) {
    Lowering& l = Lowering::current();
    const SymInt length = self.sym_size(static_cast<int64_t>(along));
    const std::optional<bool> from_end = known(SymOp::Lt, index, SymInt(0));
    is_known = from_end.has_value();
    at = l.integer(from_end.value_or(false) ? index + length : index);
    size = l.integer(length);
  }
  const Expr* in(Emitter& e) const {
    return is_known ? at : e.indirect(e.index(at), size, /*wraps=*/true);
  }
};

Place with_position(const Place& at, size_t along, const Expr* position) {
  Place place;
  for (size_t d = 0; d <= at.size(); ++d)
    place.push_back(d == along ? position : at[d < along ? d : d - 1]);
  return place;
}

}  // namespace

void select_int(const Tensor& self, int64_t dim, SymInt index, const Tensor& out) {
  Lowering& l = Lowering::current();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Position position(self, along, index);
  if (position.is_known) {
    l.view(out, self, [along, at_index = position.at](const Place& at) {
      return with_position(at, along, at_index);
    });
    return;
  }
  l.define(out, [&x = l.of(self), along, position](Emitter& e, const Place& at) {
    return e.read(x, with_position(at, along, position.in(e)));
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
      // Where only data tells, a run finds out: 1 for what counts from the end, 0 for others.
      const std::optional<bool> from_end = known(SymOp::Lt, at, 0);
      if (!from_end) at = at + size * sym_max(sym_min(-at, 1), 0);
      if (from_end == true) at = at + size;
      // Where only data tells, a run takes the smaller or the larger one.
      const std::optional<bool> is_before = known(SymOp::Lt, at, 0);
      at = !is_before ? sym_max(at, 0) : *is_before ? SymInt(0) : at;
      const std::optional<bool> is_beyond = known(SymOp::Gt, at, size);
      return !is_beyond ? sym_min(at, size) : *is_beyond ? size : at;
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
  Lowering& l = Lowering::current();
  if (self.dim() == 0) return l.view(out, self, [](const Place&) { return Place(); });
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
  const Position position(self, along, index);
  l.define(out, [&x, &part, along, position](Emitter& e, const Place& at) {
    Place place;
    for (size_t d = 0; d < at.size(); ++d)
      if (d != along) place.push_back(at[d]);
    const Sym old = e.read(x, at);
    return where(e.index(at[along]) == e.index(position.in(e)),
                 e.cast(e.read(part, place), e.type_of(old)), old);
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
