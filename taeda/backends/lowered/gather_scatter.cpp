// gather, scatter and the operators over slices: indices are read, checked, then used.
#include "taeda/backends/lowered/gather_scatter_declarations.h"

#include "taeda/backends/lowered/index_slices_declarations.h"
#include "taeda/backends/lowered/indexed.h"
#include "taeda/backends/lowered/pointwise.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

using kernel::StoreMode;

int64_t size_along(const Tensor& t, int64_t dim) { return t.dim() ? t.sizes()[dim] : 1; }

// What is written at the indexed places: elements of a tensor, or one number.
struct Source {
  const Tensor* tensor = nullptr;
  Scalar number = Scalar(0);
};

// out[..., index[i], ...] = source[i], combined by `mode`. Indices are checked before.
void scatter_into(std::string_view name, int64_t dim, const Tensor& index, const Source& source,
                  Tensor& out, StoreMode mode) {
  if (index.numel() == 0) return;
  if (mode == StoreMode::AtomicAdd && is_reduced_float(out.dtype())) {
    // Sums are rounded once, as on the CPU.
    Tensor wide = out.to(DType::Float);
    const Tensor given = source.tensor ? source.tensor->to(DType::Float) : Tensor();
    scatter_into(name, dim, index, {source.tensor ? &given : nullptr, source.number}, wide, mode);
    out.copy_(wide);
    return;
  }
  const Tensor to = with_dim(out), at = with_dim(index);
  Launch launch(name, out.device());
  launch.fact(static_cast<int64_t>(mode));
  launch.fact(dim);
  const Type type = kernel::compute_type(out.dtype());
  launch.compute_in(type);
  const std::vector<int> axes = launch.axes(at.sizes());
  const int y = launch.operand(to, to.strides(), uint64_t{1} << dim),
            i = launch.operand(at, at.strides());
  launch.fact(source.tensor != nullptr);
  int x = -1, number = -1;
  if (source.tensor) {
    const Tensor from = with_dim(*source.tensor);
    x = launch.operand(from, from.strides());
  } else {
    number = launch.number(source.number, type);
  }
  const int extent = launch.param(to.sizes()[dim]);
  launch.run([&](KernelBuilder& k) {
    const Expr* place = k.indirect(k.cast(k.load(i), Type::I64), launch.param(k, extent), false);
    const Sym value = x >= 0 ? k.load(x) : launch.uniform(k, number);
    k.loop(axes, [&] { accumulate(k, y, value, {{{static_cast<int>(dim), place}}}, mode); });
  });
}

void scatter(const char* name, const Tensor& self, int64_t dim, const Tensor& given,
             const Source& source, Tensor& out, StoreMode mode) {
  dim = wrap_dim(dim, self.dim());
  check_disjoint(out, given);
  if (source.tensor) check_disjoint(out, *source.tensor);
  check_bounds(given, dim, size_along(self, dim));
  if (!out.is_same(self)) out.copy_(self);
  scatter_into(name, dim, given, source, out, mode);
}

Source number_for(const Scalar& value, const Tensor& self) {
  check_fits(value, self.dtype());
  return {nullptr, value};
}

StoreMode mode_of(std::string_view reduce) {
  if (reduce == "add" || reduce == "sum" || reduce == "mean") return StoreMode::AtomicAdd;
  if (reduce == "amax") return StoreMode::AtomicMax;
  if (reduce == "amin") return StoreMode::AtomicMin;
  return StoreMode::AtomicMul;
}

// An end of a dtype.
Scalar end_of(DType dtype, bool is_highest) {
  if (is_floating(dtype))
    return Scalar(is_highest ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity());
  const int bits = 8 * static_cast<int>(item_size(dtype));
  if (dtype == DType::Bool) return Scalar(is_highest);
  if (is_unsigned(dtype))
    return is_highest ? Scalar(static_cast<uint64_t>(~uint64_t{0} >> (64 - bits))) : Scalar(0);
  const auto high = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return Scalar(is_highest ? high : -high - 1);
}

Scalar identity_of(std::string_view reduce, DType dtype) {
  if (reduce == "amax") return end_of(dtype, false);
  if (reduce == "amin") return end_of(dtype, true);
  return Scalar(reduce == "prod" ? 1 : 0);
}

// Divides each place by the number of elements that went into it; integers round down.
void divide_by_counts(const Tensor& self, int64_t dim, const Tensor& index, bool include_self,
                      Tensor& out) {
  Tensor counts =
      include_self ? taeda::ones_like(self, DType::Int64) : taeda::zeros_like(self, DType::Int64);
  scatter_into("count", dim, index, {nullptr, Scalar(1)}, counts, StoreMode::AtomicAdd);
  counts.clamp_min_(Scalar(1));
  if (is_integral(out.dtype(), true))
    out.floor_divide_(counts.to(out.dtype()));
  else
    out.div_(counts);
}

// ---- slices ----
// The index vector in all dimensions of a tensor: it moves along `dim` alone.
IntVec along(const Tensor& index, size_t ndim, int64_t dim) {
  IntVec strides(ndim, 0);
  strides[dim] = index.strides()[0];
  return strides;
}

// Pairs the slices of `plain` along `dim` with those of `indexed` that the index names.
// body(k, plain's operand or -1, indexed's operand, place) writes the steps.
template <class Body>
void over_slices(std::string_view name, IntList sizes, const Tensor* plain, const Tensor& indexed,
                 int64_t dim, const Tensor& index, bool wraps, const Scalar& scale, Body&& body) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  Launch launch(name, indexed.device());
  launch.fact(dim);
  const Type type = kernel::compute_type(indexed.dtype());
  launch.compute_in(type);
  const std::vector<int> axes = launch.axes(sizes);
  const int y = launch.operand(indexed, indexed.strides(), uint64_t{1} << dim),
            i = launch.operand(index, along(index, sizes.size(), dim));
  launch.fact(plain != nullptr);
  const int x = plain ? launch.operand(*plain, plain->strides()) : -1;
  const int number = launch.number(scale, type), extent = launch.param(indexed.sizes()[dim]);
  launch.run([&](KernelBuilder& k) {
    const Expr* place = k.indirect(k.cast(k.load(i), Type::I64), launch.param(k, extent), wraps);
    const Coordinates at{{{static_cast<int>(dim), place}}};
    k.loop(axes, [&] { body(k, x, y, at, launch.uniform(k, number)); });
  });
}

}  // namespace

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  dim = wrap_dim(dim, self.dim());
  check_disjoint(out, self);
  check_disjoint(out, index);
  if (index.numel() == 0) return;
  const Tensor from = with_dim(self), at = with_dim(index), to = with_dim(out);
  Launch launch("gather", out.device());
  launch.fact(dim);
  launch.compute_in(kernel::compute_type(self.dtype()));
  const std::vector<int> axes = launch.axes(at.sizes());
  const int y = launch.operand(to, to.strides()), i = launch.operand(at, at.strides()),
            x = launch.operand(from, from.strides(), uint64_t{1} << dim);
  const int extent = launch.param(from.sizes()[dim]);
  launch.on_bad_index(
      [dim, size = from.sizes()[dim]](int, int64_t bad) { refuse_place(bad, dim, size); });
  launch.run([&](KernelBuilder& k) {
    const Expr* place = k.indirect(k.cast(k.load(i), Type::I64), launch.param(k, extent), false);
    checked_first(k, axes, {place});
    k.loop(axes, [&] { k.store(y, k.load(x, {{{static_cast<int>(dim), place}}})); });
  });
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out) {
  scatter("scatter", self, dim, index, {&src}, out, StoreMode::Write);
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                   Tensor& out) {
  scatter("scatter", self, dim, index, number_for(value, self), out, StoreMode::Write);
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, Tensor& out) {
  scatter("scatter", self, dim, index, {&src}, out, mode_of(reduce));
}
void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                          std::string_view reduce, Tensor& out) {
  scatter("scatter", self, dim, index, number_for(value, self), out, mode_of(reduce));
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 Tensor& out) {
  scatter("scatter", self, dim, index, {&src}, out, StoreMode::AtomicAdd);
}

void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self, Tensor& out) {
  dim = wrap_dim(dim, self.dim());
  check_disjoint(out, index);
  check_disjoint(out, src);
  check_bounds(index, dim, size_along(self, dim));
  if (!out.is_same(self)) out.copy_(self);
  if (index.numel() == 0) return;
  if (!include_self)
    scatter_into("scatter", dim, index, {nullptr, identity_of(reduce, out.dtype())}, out,
                 StoreMode::Write);
  scatter_into("scatter", dim, index, {&src}, out, mode_of(reduce));
  if (reduce == "mean") divide_by_counts(self, dim, index, include_self, out);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& given, Tensor& out) {
  check_disjoint(out, given);
  check_disjoint(out, self);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given), from = with_dim(self), to = with_dim(out);
  const int64_t size = from.sizes()[dim];
  check_indices(index, 0, size, [size, is_first = dim == 0 || self.dim() <= 1](int64_t bad) {
    // PyTorch's own kinds and words, which differ by dimension.
    TAEDA_CHECK_INDEX(!is_first, "index out of range in self");
    fail(ErrorKind::Runtime, "INDICES element is out of DATA bounds, id=", bad, " axis_dim=", size);
  });
  over_slices("index_select", to.sizes(), &to, from, dim, index, false, Scalar(1),
              [](KernelBuilder& k, int plain, int indexed, const Coordinates& at, Sym) {
                k.store(plain, k.load(indexed, at));
              });
}

void index_add(const Tensor& self, int64_t dim, const Tensor& given, const Tensor& source,
               const Scalar& alpha, Tensor& out) {
  check_disjoint(out, given);
  check_disjoint(out, source);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given), from = with_dim(source), to = with_dim(out);
  const int64_t size = with_dim(self).sizes()[dim];
  // PyTorch's own kind and words for vectors.
  if (self.dim() <= 1)
    check_indices(index, 0, size,
                  [](int64_t) { fail(ErrorKind::Index, "index out of range in self"); });
  else if (source.numel() > 0)
    check_bounds(index, dim, size);
  if (!out.is_same(self)) out.copy_(self);
  if (is_reduced_float(out.dtype())) {
    // Sums are rounded once, as on the CPU.
    Tensor wide = out.to(DType::Float);
    index_add(wide, dim, index, source.to(DType::Float), alpha, wide);
    out.copy_(wide);
    return;
  }
  over_slices("index_add", from.sizes(), &from, to, dim, index, false, alpha,
              [](KernelBuilder& k, int plain, int indexed, const Coordinates& at, Sym scale) {
                Sym value = k.load(plain);
                if (k.type_of(value) != Type::Mask) value = value * scale;
                accumulate(k, indexed, value, at, StoreMode::AtomicAdd);
              });
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& given, const Tensor& source,
                Tensor& out) {
  check_disjoint(out, given);
  check_disjoint(out, source);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given), from = with_dim(source), to = with_dim(out);
  const int64_t size = to.sizes()[dim];
  check_indices(index, 0, size, [=](int64_t bad) {
    fail(ErrorKind::Index, "index_copy_(): index ", bad, " is out of bounds for dimension ", dim,
         " with size ", size);
  });
  if (!out.is_same(self)) out.copy_(self);
  over_slices("index_copy", from.sizes(), &from, to, dim, index, false, Scalar(1),
              [](KernelBuilder& k, int plain, int indexed, const Coordinates& at, Sym) {
                k.store(indexed, k.load(plain), at);
              });
}

void index_fill_int_Scalar(const Tensor& self, int64_t dim, const Tensor& given,
                           const Scalar& value, Tensor& out) {
  check_disjoint(out, given);
  dim = wrap_dim(dim, self.dim());
  const Tensor index = with_dim(given), to = with_dim(out);
  const int64_t size = to.sizes()[dim];
  check_indices(index, -size, size, [=](int64_t bad) { refuse_index(bad, dim, size); });
  check_fits(value, self.dtype());
  if (!out.is_same(self)) out.copy_(self);
  IntVec sizes(to.sizes());
  sizes[dim] = index.numel();
  over_slices("index_fill", sizes, nullptr, to, dim, index, true, value,
              [](KernelBuilder& k, int, int indexed, const Coordinates& at, Sym number) {
                k.store(indexed, number, at);
              });
}

void index_fill_int_Tensor(const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& value, Tensor& out) {
  index_fill_int_Scalar(self, dim, index, value.item(), out);
}

}  // namespace taeda::lowered
