// Tensors of one number, and ranges.
#include "taeda/ops/factory/lowerings.h"

#include <algorithm>

#include "taeda/core/determinism.h"
#include "taeda/core/unbacked.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/options.h"

namespace taeda::lowering {

void full(SymIntList, const Scalar& fill_value, std::optional<DType>, std::optional<Layout>,
          std::optional<Device>, std::optional<bool>, const Tensor& out) {
  // The range of a symbol is a guard already, and a tensor without elements takes any number.
  if (!fill_value.is_symbolic() && !is_known(SymOp::Eq, out.sym_numel(), 0))
    check_fits(fill_value, out.dtype());
  filled(out, fill_value);
}

namespace {

// Elements that nobody wrote may be any number where the process does not say which, and cost
// nothing where nobody reads them.
void unwritten(const Tensor& out) {
  filled(out, determinism().fills_new_memory() ? unwritten_number(out.dtype()) : Scalar(0));
}

}  // namespace

void empty_memory_format(SymIntList, std::optional<DType>, std::optional<Layout>,
                         std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>,
                         const Tensor& out) {
  unwritten(out);
}
void empty_strided(SymIntList, SymIntList, std::optional<DType>, std::optional<Layout>,
                   std::optional<Device>, std::optional<bool>, const Tensor& out) {
  // Elements that share a place are no matter for a kernel: the operator is called.
  if (out.impl()->is_non_overlapping_and_dense()) unwritten(out);
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

namespace {

// Evenly spaced numbers from one end to the other, or powers of `base` with such exponents.
struct Spaced {
  Lowering::NumberFn from, to;
  int64_t steps;
  std::optional<double> base;
  std::optional<double> step = {};  // where both ends are numbers of the program

  static Spaced between(const Scalar& start, const Scalar& end, int64_t steps,
                        std::optional<double> base, const Tensor& out) {
    Lowering& l = Lowering::current();
    Spaced made{l.number(start), l.number(end), steps, base};
    const auto constant = [&](const Scalar& s) {
      return is_integral(out.dtype()) ? static_cast<double>(s.to_int()) : s.to_double();
    };
    const bool are_known = !start.is_symbolic() && !end.is_symbolic();
    if (!are_known || is_complex(out.dtype())) return made;
    const double width = constant(end) - constant(start);
    made.step = steps > 1 ? width / static_cast<double>(steps - 1) : 0.0;
    return made;
  }

  void define(const Tensor& out) const {
    if (is_complex(out.dtype())) return;
    const bool is_whole = is_integral(out.dtype());  // then it counts from whole numbers
    Lowering::current().define(out, [self = *this, is_whole](Emitter& e, const Place& at) {
      const Sym found = self.number(e, at[0], is_whole);
      if (!self.base) return found;
      const Sym power = pow(e.constant(*self.base, Type::F64), found);
      return is_whole ? e.cast(power, Type::I64) : power;
    });
  }

 private:
  Sym number(Emitter& e, const Expr* at, bool is_whole) const {
    // Exponents of integers are floats.
    const Type type = is_whole && base ? Type::F32 : Type::F64;
    const auto end = [&](const Lowering::NumberFn& n) {
      return is_whole ? e.cast(n(e, Type::I64), Type::F64) : n(e, Type::F64);
    };
    const double parts = static_cast<double>(std::max<int64_t>(steps - 1, 1));
    const Sym first = end(from), last = end(to);
    const Sym by =
        step ? e.constant(*step, Type::F64) : (last - first) / e.constant(parts, Type::F64);
    const auto times = [&](const Expr* i) { return e.cast(e.index(i), type) * e.cast(by, type); };
    const Expr* left = e.pool().subtract(e.pool().integer(steps - 1), at);
    // From both ends, so that both are met exactly.
    const SymMask is_first = e.index(at) < e.constant(steps == 1 ? 1 : steps / 2, Type::I64);
    const Sym found =
        where(is_first, e.cast(first, type) + times(at), e.cast(last, type) - times(left));
    return e.cast(found, Type::F64);
  }
};

// The number in a tensor without dimensions.
Lowering::NumberFn number_in(const Tensor& t) {
  return [&x = Lowering::current().of(t)](Emitter& e, Type type) {
    return e.cast(e.read(x, {}), type);
  };
}
Lowering::NumberFn number_of(const Scalar& s) { return Lowering::current().number(s); }

}  // namespace

void linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType>,
              std::optional<Layout>, std::optional<Device>, std::optional<bool>,
              const Tensor& out) {
  Spaced::between(start, end, steps, {}, out).define(out);
}
void logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
              std::optional<DType>, std::optional<Layout>, std::optional<Device>,
              std::optional<bool>, const Tensor& out) {
  Spaced::between(start, end, steps, base, out).define(out);
}
void linspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_in(start), number_in(end), steps, {}}.define(out);
}
void linspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_in(start), number_of(end), steps, {}}.define(out);
}
void linspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_of(start), number_in(end), steps, {}}.define(out);
}
void logspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps, double base,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_in(start), number_in(end), steps, base}.define(out);
}
void logspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps, double base,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_in(start), number_of(end), steps, base}.define(out);
}
void logspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps, double base,
                            std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                            std::optional<bool>, const Tensor& out) {
  Spaced{number_of(start), number_in(end), steps, base}.define(out);
}

}  // namespace taeda::lowering
