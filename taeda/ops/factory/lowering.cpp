// Tensors of one number, and ranges.
#include "taeda/ops/factory/lowerings.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/number_range.h"

namespace taeda::lowering {

void full(SymIntList, const Scalar& fill_value, std::optional<DType>, std::optional<Layout>,
          std::optional<Device>, std::optional<bool>, const Tensor& out) {
  // The range of a symbol is a guard already, and a tensor without elements takes any number.
  if (!fill_value.is_symbolic() && !is_known(SymOp::Eq, out.sym_numel(), 0))
    check_fits(fill_value, out.dtype());
  filled(out, fill_value);
}

// Elements that nobody wrote may be any number, and cost nothing where nobody reads them.
void empty_memory_format(SymIntList, std::optional<DType>, std::optional<Layout>,
                         std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>,
                         const Tensor& out) {
  filled(out, 0);
}
void empty_strided(SymIntList, SymIntList, std::optional<DType>, std::optional<Layout>,
                   std::optional<Device>, std::optional<bool>, const Tensor& out) {
  // Elements that share a place are no matter for a kernel: the operator is called.
  if (out.impl()->is_non_overlapping_and_dense()) filled(out, 0);
}

void scalar_tensor(const Scalar& s, std::optional<DType>, std::optional<Layout>,
                   std::optional<Device>, std::optional<bool>, const Tensor& out) {
  filled(out, s);
}

void arange_start_step(const Scalar& start, const Scalar&, const Scalar& step, std::optional<DType>,
                       std::optional<Layout>, std::optional<Device>, std::optional<bool>,
                       const Tensor& out) {
  if (is_complex(out.dtype())) return;
  Lowering& l = Lowering::current();
  const Type type = is_integral(out.dtype()) ? Type::I64 : Type::F64;
  l.define(out, [from = l.number(start), by = l.number(step), type](Emitter& e, const Place& at) {
    return from(e, type) + e.cast(e.index(at[0]), type) * by(e, type);
  });
}

void linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType>,
              std::optional<Layout>, std::optional<Device>, std::optional<bool>,
              const Tensor& out) {
  if (is_complex(out.dtype())) return;
  const bool is_whole = is_integral(out.dtype());  // then it counts from whole numbers
  const bool is_known = !start.is_symbolic() && !end.is_symbolic();
  const auto constant = [&](const Scalar& s) {
    return is_whole ? static_cast<double>(s.to_int()) : s.to_double();
  };
  const double parts = static_cast<double>(std::max<int64_t>(steps - 1, 1));
  const double step = is_known && steps > 1 ? (constant(end) - constant(start)) / parts : 0.0;
  Lowering& l = Lowering::current();
  l.define(out, [from = l.number(start), to = l.number(end), is_whole, is_known, step, parts,
                 steps](Emitter& e, const Place& at) {
    const auto wide = [&](double n) { return e.constant(n, Type::F64); };
    const auto number = [&](const Lowering::NumberFn& n) {
      return is_whole ? e.cast(n(e, Type::I64), Type::F64) : n(e, Type::F64);
    };
    const Sym first = number(from), last = number(to);
    const Sym by = is_known ? wide(step) : (last - first) / wide(parts);
    const auto times = [&](const Expr* i) { return e.cast(e.index(i), Type::F64) * by; };
    const Expr* left = e.pool().subtract(e.pool().integer(steps - 1), at[0]);
    // From both ends, so that both are met exactly.
    const SymMask is_first = e.index(at[0]) < e.constant(steps == 1 ? 1 : steps / 2, Type::I64);
    return where(is_first, first + times(at[0]), last - times(left));
  });
}

}  // namespace taeda::lowering
