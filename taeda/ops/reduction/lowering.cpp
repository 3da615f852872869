// Sums, means, extremes and tests as reductions of their bodies.
#include "taeda/ops/chunked_rows.h"
#include "taeda/ops/reduction/lowerings.h"
#include "taeda/ops/shape.h"

namespace taeda::lowering {
namespace {

uint64_t all_dims(const Tensor& t) { return dim_bitset({}, t.dim(), true); }

// The type in which elements of a dtype are combined: truth values count as integers.
Type type_in(DType dtype) { return dtype == DType::Bool ? Type::I64 : kernel::compute_type(dtype); }

// The place in the kept dimensions of an element of the result, whose reduced dimensions have one
// element each or are left out.
Place kept_place(const Reduction& rows, const Place& at) {
  return at.size() == rows.sizes.size() ? rows.kept(at) : at;
}

// An element in the type that it is combined in; truth values count as 0 and 1.
Sym element(Emitter& e, const Definition& x, const Place& at, DType common) {
  Sym value = e.read(x, at);
  if (common == DType::Bool) value = e.cast(value, Type::Mask);
  return e.cast(value, type_in(common));
}

const Reduction& rows_of(const char* body, const Tensor& self, uint64_t dims, DType common) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  return l.reduce(body, x.sizes, dims, [&x, common](Emitter& e, const Place& at) {
    return std::vector<Sym>{element(e, x, at, common)};
  });
}

void combine(const char* body, const Tensor& self, uint64_t dims, DType common, const Tensor& out) {
  const Reduction& rows = rows_of(body, self, dims, common);
  Lowering::current().define(out, [&rows](Emitter& e, const Place& at) {
    return e.result(rows, 0, kept_place(rows, at));
  });
}

void test(const char* body, const Tensor& self, uint64_t dims, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const Reduction& rows = l.reduce(body, x.sizes, dims, [&x](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.cast(e.read(x, at), Type::Mask)};
  });
  l.define(out, [&rows](Emitter& e, const Place& at) {
    return e.result(rows, 0, kept_place(rows, at));
  });
}

// The dtype a sum is computed in: wider than a real result where the input is complex.
DType sum_dtype(const Tensor& self, const Tensor& out) {
  const bool is_wider = self.is_complex() && !out.is_complex() && out.is_floating_point();
  return is_wider ? to_complex(out.dtype()) : out.dtype();
}

// The extreme element and its position in the row; `values` may be null.
void find_extreme(const char* body, const Tensor& self, uint64_t dims, const Tensor* values,
                  const Tensor& indices) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const DType dtype = self.dtype();
  const Reduction& rows =
      l.reduce(body, x.sizes, dims, [&x, dtype, dims](Emitter& e, const Place& at) {
        const Expr* position = e.pool().integer(0);
        for (size_t d = 0; d < at.size(); ++d)
          if (dims >> d & 1) position = e.pool().add(e.pool().mul(position, x.sizes[d]), at[d]);
        return std::vector<Sym>{element(e, x, at, dtype), e.index(position)};
      });
  l.define(indices, [&rows](Emitter& e, const Place& at) {
    return e.result(rows, 1, kept_place(rows, at));
  });
  if (!values) return;
  l.define(*values, [&rows](Emitter& e, const Place& at) {
    return e.result(rows, 0, kept_place(rows, at));
  });
}

void average(const Tensor& self, uint64_t dims, const Tensor& out) {
  const Reduction& rows = rows_of("sum", self, dims, out.dtype());
  Lowering::current().define(out, [&rows](Emitter& e, const Place& at) {
    const Sym sum = e.result(rows, 0, kept_place(rows, at));
    const Expr* count = e.pool().integer(1);
    for (size_t d = 0; d < rows.sizes.size(); ++d)
      if (rows.is_reduced(d)) count = e.pool().mul(count, rows.sizes[d]);
    const Type type = e.type_of(sum);
    const Sym n = e.cast(e.index(count), kernel::real_type(type));
    if (!kernel::is_complex(type)) return sum / n;
    return Sym::from_id(
        kernel::sym_apply(kernel::Op::MakeComplex, Sym(real(sum) / n).id, Sym(imag(sum) / n).id));
  });
}

uint64_t optional_dim(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? dim_bitset({*dim}, self.dim(), true) : all_dims(self);
}

}  // namespace

void sum_dim_IntList(const Tensor& self, std::optional<IntList> dim, bool, std::optional<DType>,
                     const Tensor& out) {
  combine("sum", self, dim_bitset(dim.value_or(IntList()), self.dim(), true), sum_dtype(self, out),
          out);
}

void mean_dim(const Tensor& self, std::optional<IntList> dim, bool, std::optional<DType>,
              const Tensor& out) {
  average(self, dim_bitset(dim.value_or(IntList()), self.dim(), true), out);
}
void mean(const Tensor& self, std::optional<DType>, const Tensor& out) {
  average(self, all_dims(self), out);
}

void prod(const Tensor& self, std::optional<DType>, const Tensor& out) {
  combine("prod", self, all_dims(self), out.dtype(), out);
}
void prod_dim_int(const Tensor& self, int64_t dim, bool, std::optional<DType>, const Tensor& out) {
  combine("prod", self, optional_dim(self, dim), out.dtype(), out);
}
void amax(const Tensor& self, IntList dim, bool, const Tensor& out) {
  combine("max", self, dim_bitset(dim, self.dim(), true), self.dtype(), out);
}
void amin(const Tensor& self, IntList dim, bool, const Tensor& out) {
  combine("min", self, dim_bitset(dim, self.dim(), true), self.dtype(), out);
}
void max(const Tensor& self, const Tensor& out) {
  combine("max", self, all_dims(self), self.dtype(), out);
}
void min(const Tensor& self, const Tensor& out) {
  combine("min", self, all_dims(self), self.dtype(), out);
}
void max_dim(const Tensor& self, int64_t dim, bool, const Tensor& out0, const Tensor& out1) {
  find_extreme("argmax", self, optional_dim(self, dim), &out0, out1);
}
void min_dim(const Tensor& self, int64_t dim, bool, const Tensor& out0, const Tensor& out1) {
  find_extreme("argmin", self, optional_dim(self, dim), &out0, out1);
}
void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  find_extreme("argmax", self, optional_dim(self, dim), nullptr, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  find_extreme("argmin", self, optional_dim(self, dim), nullptr, out);
}
void any(const Tensor& self, const Tensor& out) { test("any", self, all_dims(self), out); }
void any_dim(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  test("any", self, dim_bitset({dim}, self.dim(), false), out);
}
void any_dims(const Tensor& self, std::optional<IntList> dim, bool, const Tensor& out) {
  test("any", self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), out);
}

void all(const Tensor& self, const Tensor& out) { test("all", self, all_dims(self), out); }
void all_dim(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  test("all", self, dim_bitset({dim}, self.dim(), false), out);
}
void all_dims(const Tensor& self, std::optional<IntList> dim, bool, const Tensor& out) {
  test("all", self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), out);
}

void logsumexp(const Tensor& self, IntList dim, bool, const Tensor& out) {
  if (self.is_complex()) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const uint64_t dims = dim_bitset(dim, self.dim(), true);
  const DType common = is_integral(self.dtype(), true) ? out.dtype() : self.dtype();
  const LogSumExp rows(x, dims, kernel::compute_type(common));
  l.define(out, [rows, dims, ndim = x.sizes.size()](Emitter& e, const Place& at) {
    Place kept;
    for (size_t d = 0; d < at.size(); ++d)
      if (at.size() != ndim || !(dims >> d & 1)) kept.push_back(at[d]);
    return rows.at(e, kept);
  });
}

}  // namespace taeda::lowering
