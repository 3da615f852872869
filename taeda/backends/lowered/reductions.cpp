// Reductions and scans from the bodies of kernel/reduce_bodies.h.
#include <cmath>

#include "taeda/backends/lowered/pointwise.h"
#include "taeda/backends/lowered/reduction_declarations.h"
#include "taeda/backends/lowered/rows.h"
#include "taeda/backends/lowered/scan_sort_declarations.h"
#include "taeda/backends/lowered/variance_declarations.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

uint64_t all_dims(const Tensor& t) { return dim_bitset({}, t.dim(), true); }

// Rows of `self` and the results of reducing them.
Rows reduced_rows(std::string_view name, const Tensor& self, uint64_t bits, bool keepdim,
                  Span<const Tensor*> outs) {
  std::vector<IntVec> strides{IntVec(self.strides())};
  for (const Tensor* out : outs) strides.push_back(result_strides(*out, self.dim(), bits, keepdim));
  return Rows(name, self.device(), self.sizes(), bits, std::move(strides));
}

// Reduces in `type`. prepare(k, element) gives the values of the body, finish(k, results) what is
// stored in each result.
template <class Prepare, class Finish>
void reduce(Rows& rows, const char* body, Type type, const Tensor& self, Span<const Tensor*> outs,
            Prepare&& prepare, Finish&& finish) {
  if (outs[0]->numel() == 0) return;
  rows.launch.compute_in(type);
  const int x = rows.operand(self, 0);
  std::vector<int> to;
  for (size_t i = 0; i < outs.size(); ++i)
    to.push_back(rows.operand(*outs[i], static_cast<int>(i) + 1));
  rows.launch.run([&](KernelBuilder& k) {
    k.loop(rows.kept, [&] {
      const std::vector<Sym> values = prepare(k, k.load(x));
      const std::vector<Sym> results = finish(k, k.reduce(body, rows.reduced, values));
      for (size_t i = 0; i < to.size(); ++i) k.store(to[i], results[i]);
    });
  });
}

// Floats of 8 bits are not reduced, complex numbers only where no order is needed.
void check_reduced(const char* stem, bool is_ordered, DType common, const Tensor& self) {
  const DType dtype = is_float8(common) ? common : self.dtype();
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(dtype) && !(is_ordered && is_complex(dtype)), "\"",
                              kernel_name(stem, self.device()), "\" not implemented for '", dtype,
                              "'");
}

// One value and one result, computed in the compute type of `common`.
void reduce_simply(const char* body, DType common, const Tensor& self, uint64_t bits, bool keepdim,
                   Tensor& out) {
  const Type type = type_in(common);
  const Tensor* const outs[] = {&out};
  Rows rows = reduced_rows(body, self, bits, keepdim, outs);
  const bool is_truth = common == DType::Bool;
  rows.launch.fact(is_truth);
  reduce(
      rows, body, type, self, outs,
      [&](KernelBuilder& k, Sym x) {
        if (is_truth) x = k.cast(x, Type::Mask);
        return std::vector<Sym>{k.cast(x, type)};
      },
      [](KernelBuilder&, std::vector<Sym> results) { return results; });
}

// The dtype a sum is computed in: that of its result, wider than a real result where the input is
// complex.
DType sum_dtype(const Tensor& self, const Tensor& out) {
  return self.is_complex() && !out.is_complex() && out.is_floating_point() ? to_complex(out.dtype())
                                                                           : out.dtype();
}

Sym divided(KernelBuilder& k, Sym value, Sym by) {
  if (!kernel::is_complex(k.type_of(value))) return value / by;
  return Sym::from_id(
      kernel::sym_apply(kernel::Op::MakeComplex, (real(value) / by).id, (imag(value) / by).id));
}

void reduce_truth(const char* body, const Tensor& self, uint64_t bits, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  Rows rows = reduced_rows(body, self, bits, keepdim, outs);
  reduce(
      rows, body, Type::Mask, self, outs,
      [](KernelBuilder& k, Sym x) { return std::vector<Sym>{k.cast(x, Type::Mask)}; },
      [](KernelBuilder&, std::vector<Sym> results) { return results; });
}

// The extreme element and its position; `values` may be null.
void reduce_extreme(const char* body, const Tensor& self, uint64_t bits, bool keepdim,
                    Tensor* values, Tensor& indices) {
  const Type type = type_in(self.dtype());
  std::vector<const Tensor*> outs{&indices};
  if (values) outs.push_back(values);
  Rows rows = reduced_rows(body, self, bits, keepdim, outs);
  rows.launch.fact(values != nullptr);
  reduce(
      rows, body, type, self, outs,
      [&](KernelBuilder& k, Sym x) { return std::vector<Sym>{k.cast(x, type), rows.position(k)}; },
      [](KernelBuilder&, std::vector<Sym> results) {
        return std::vector<Sym>{results[1], results[0]};
      });
}

uint64_t optional_dim(const Tensor& self, std::optional<int64_t> dim) {
  return dim ? dim_bitset({*dim}, self.dim(), true) : all_dims(self);
}

// Complex numbers are shifted by the greatest real part.
void complex_logsumexp(const Tensor& self, uint64_t bits, bool keepdim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  Rows rows = reduced_rows("complex_logsumexp", self, bits, keepdim, outs);
  const int x = rows.operand(self, 0), y = rows.operand(out, 1);
  rows.launch.compute_in(kernel::compute_type(self.dtype()));
  rows.launch.run([&](KernelBuilder& k) {
    const Sym value = k.load(x);
    k.loop(rows.kept, [&] {
      const Sym largest = k.reduce("max", rows.reduced, {real(value)})[0];
      const Sym from = where(isinf(largest), Sym(0), largest);
      const Sym shift = k.cast(from, k.type_of(value));
      const Sym sum = k.reduce("sum", rows.reduced, {exp(value - shift)})[0];
      k.store(y, log(sum) + shift);
    });
  });
}

// ---- variance ----
struct VarianceResults {
  bool is_std;
  Tensor *variance, *mean;  // the mean may be null
};

// The number of elements, their mean, and the sum of squared distances from it: in one pass where
// the row is long enough to be split, else in two, which divide once.
std::vector<Sym> moments(KernelBuilder& k, const Rows& rows, Sym value, int count) {
  if (rows.is_long()) return k.reduce("moments", rows.reduced, {value});
  const Sym n = rows.launch.uniform(k, count);
  const Sym sum = k.reduce("sum", rows.reduced, {value})[0];
  const Sym mean = where(n > Sym(0), sum / n, Sym(0)), distance = value - mean;
  return {n, mean, k.reduce("sum", rows.reduced, {distance * distance})[0]};
}

// Variances of complex numbers are those of both parts together.
void reduce_moments(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, const VarianceResults& to) {
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  std::vector<const Tensor*> outs{to.variance};
  if (to.mean) outs.push_back(to.mean);
  if (to.variance->numel() == 0) return;
  const Type type = kernel::compute_type(self.dtype()), real = kernel::real_type(type);
  Rows rows = reduced_rows(to.is_std ? "std" : "var", self, bits, keepdim, outs);
  rows.launch.compute_in(real);
  const int number = rows.launch.number(correction.value_or(Scalar(1)), real),
            count = rows.launch.number(Scalar(static_cast<double>(rows.length())), real);
  rows.launch.fact(rows.is_long());
  const int x = rows.operand(self, 0), variance = rows.operand(*to.variance, 1);
  const int mean = to.mean ? rows.operand(*to.mean, 2) : -1;
  rows.launch.run([&](KernelBuilder& k) {
    const Sym value = k.load(x);
    k.loop(rows.kept, [&] {
      const bool is_pair = kernel::is_complex(type);
      const std::vector<Sym> first =
          moments(k, rows, is_pair ? Sym(kernel::real(value)) : value, count);
      std::vector<Sym> second;
      if (is_pair) second = moments(k, rows, kernel::imag(value), count);
      const Sym squares = is_pair ? first[2] + second[2] : first[2];
      const Sym nan = Sym::from_id(k.graph().constant(std::nan(""), real));
      const Sym divisor = first[0] - rows.launch.uniform(k, number);
      Sym result = squares / where(divisor > Sym(0), divisor, Sym(0));
      if (to.is_std) result = sqrt(result);
      const SymMask is_empty = first[0] == Sym(0);
      k.store(variance, where(is_empty, nan, result));
      if (mean < 0) return;
      Sym center = where(is_empty, nan, first[1]);
      if (is_pair)
        center = Sym::from_id(kernel::sym_apply(kernel::Op::MakeComplex, center.id,
                                                where(is_empty, nan, second[1]).id));
      k.store(mean, center);
    });
  });
}

// ---- scans ----
// Floats run in double precision.
Type running_type(DType dtype) {
  switch (kernel::compute_type(dtype)) {
    case Type::F32:
    case Type::F64: return Type::F64;
    case Type::C64:
    case Type::C128: return Type::C128;
    case Type::U64: return Type::U64;
    default: return Type::I64;
  }
}

void scan(const char* body, const Tensor& self, int64_t dim, Tensor& out) {
  if (self.numel() == 0) return;
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(out.dtype()), "\"cum", kernel_name(body, self.device()),
                              "\" not implemented for '", out.dtype(), "'");
  const Type type = running_type(out.dtype());
  Rows rows(str("scan_", body), self.device(), self.sizes(), optional_dim(self, dim),
            {IntVec(self.strides()), IntVec(out.strides())});
  rows.launch.compute_in(type);
  const int x = rows.operand(self, 0), y = rows.operand(out, 1);
  const DType dtype = out.dtype();
  rows.launch.run([&](KernelBuilder& k) {
    // What a narrow result cannot hold is wrapped before it is added to.
    const Sym value = k.cast(k.cast(k.load(x), type_in(dtype)), type);
    k.loop(rows.kept, [&] {
      if (rows.reduced.empty()) return k.store(y, value);
      k.scan(body, rows.reduced[0], {value},
             [&](const std::vector<Sym>& running) { k.store(y, running[0]); });
    });
  });
}

}  // namespace

void sum_dim_IntList(const Tensor& self, std::optional<IntList> dim, bool keepdim,
                     std::optional<DType>, Tensor& out) {
  const DType common = sum_dtype(self, out);
  check_reduced("sum", false, common, self);
  reduce_simply("sum", common, self, dim_bitset(dim.value_or(IntList()), self.dim(), true), keepdim,
                out);
}

void mean_dim(const Tensor& self, std::optional<IntList> dim, bool keepdim, std::optional<DType>,
              Tensor& out) {
  check_reduced("mean", false, out.dtype(), self);
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  const Type type = kernel::compute_type(out.dtype());
  const Tensor* const outs[] = {&out};
  Rows rows = reduced_rows("mean", self, bits, keepdim, outs);
  const int length =
      rows.launch.number(Scalar(static_cast<double>(rows.length())), kernel::real_type(type));
  reduce(
      rows, "sum", type, self, outs,
      [&](KernelBuilder& k, Sym x) { return std::vector<Sym>{k.cast(x, type)}; },
      [&](KernelBuilder& k, std::vector<Sym> results) {
        return std::vector<Sym>{divided(k, results[0], rows.launch.uniform(k, length))};
      });
}

void prod(const Tensor& self, std::optional<DType>, Tensor& out) {
  check_reduced("prod", false, out.dtype(), self);
  reduce_simply("prod", out.dtype(), self, all_dims(self), false, out);
}
void prod_dim_int(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType>,
                  Tensor& out) {
  check_reduced("prod", false, out.dtype(), self);
  reduce_simply("prod", out.dtype(), self, optional_dim(self, dim), keepdim, out);
}
void amax(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  check_reduced("max_values", true, self.dtype(), self);
  reduce_simply("max", self.dtype(), self, dim_bitset(dim, self.dim(), true), keepdim, out);
}
void amin(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  check_reduced("min_values", true, self.dtype(), self);
  reduce_simply("min", self.dtype(), self, dim_bitset(dim, self.dim(), true), keepdim, out);
}
void max(const Tensor& self, Tensor& out) {
  check_reduced("max_all", true, self.dtype(), self);
  reduce_simply("max", self.dtype(), self, all_dims(self), false, out);
}
void min(const Tensor& self, Tensor& out) {
  check_reduced("min_all", true, self.dtype(), self);
  reduce_simply("min", self.dtype(), self, all_dims(self), false, out);
}

void max_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  reduce_extreme("argmax", self, optional_dim(self, dim), keepdim, &values, indices);
}
void min_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& values, Tensor& indices) {
  reduce_extreme("argmin", self, optional_dim(self, dim), keepdim, &values, indices);
}
void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  reduce_extreme("argmax", self, optional_dim(self, dim), keepdim, nullptr, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Tensor& out) {
  reduce_extreme("argmin", self, optional_dim(self, dim), keepdim, nullptr, out);
}

void any(const Tensor& self, Tensor& out) { reduce_truth("any", self, all_dims(self), false, out); }
void any_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  reduce_truth("any", self, dim_bitset({dim}, self.dim(), false), keepdim, out);
}
void any_dims(const Tensor& self, std::optional<IntList> dim, bool keepdim, Tensor& out) {
  reduce_truth("any", self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), keepdim, out);
}
void all(const Tensor& self, Tensor& out) { reduce_truth("all", self, all_dims(self), false, out); }
void all_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  reduce_truth("all", self, dim_bitset({dim}, self.dim(), false), keepdim, out);
}
void all_dims(const Tensor& self, std::optional<IntList> dim, bool keepdim, Tensor& out) {
  reduce_truth("all", self, dim_bitset(dim.value_or(IntList()), self.dim(), !dim), keepdim, out);
}

void count_nonzero_dim_IntList(const Tensor& self, IntList dim, Tensor& out) {
  const Tensor* const outs[] = {&out};
  Rows rows = reduced_rows("count_nonzero", self, dim_bitset(dim, self.dim(), true), false, outs);
  reduce(
      rows, "sum", Type::I64, self, outs,
      [](KernelBuilder& k, Sym x) {
        return std::vector<Sym>{k.cast(k.cast(x, Type::Mask), Type::I64)};
      },
      [](KernelBuilder&, std::vector<Sym> results) { return results; });
}

void logsumexp(const Tensor& self, IntList dim, bool keepdim, Tensor& out) {
  const uint64_t bits = dim_bitset(dim, self.dim(), true);
  if (self.is_complex()) return complex_logsumexp(self, bits, keepdim, out);
  const DType common = is_integral(self.dtype(), true) ? default_dtype() : self.dtype();
  reduce_simply("logsumexp", common, self, bits, keepdim, out);
}

void var_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  reduce_moments(self, dim, correction, keepdim, {false, &out, nullptr});
}
void std_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool keepdim, Tensor& out) {
  reduce_moments(self, dim, correction, keepdim, {true, &out, nullptr});
}
void var_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  reduce_moments(self, dim, correction, keepdim, {false, &out0, &out1});
}
void std_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool keepdim, Tensor& out0,
                         Tensor& out1) {
  reduce_moments(self, dim, correction, keepdim, {true, &out0, &out1});
}

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  scan("sum", self, dim, out);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, Tensor& out) {
  scan("prod", self, dim, out);
}

}  // namespace taeda::lowered
