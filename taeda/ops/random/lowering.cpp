// Random tensors by places of the stream, with the numbers of their eager kernels.
#include <cmath>
#include <limits>

#include "taeda/kernel/values.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/random/draws.h"
#include "taeda/ops/random/draws_of_elements.h"
#include "taeda/ops/random/lowerings.h"

namespace taeda::lowering {
namespace {

using kernel::Draw;

// A tensor of floats on the CPU, drawn by the default generator; others are calls.
bool is_drawn(const Tensor& out, const Generator& generator) {
  return is_floating(out.dtype()) && !generator.defined();
}

void draw_uniform(const Tensor& out, double from, double to) {
  Lowering::current().define(out, uniform_numbers(out, from, to));
}

Lowering::ValueFn normal_numbers(const Tensor& out, double mean, double std) {
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  const Draw what = is_double ? Draw::Normal64 : Draw::Normal;
  return [draws, what, mean, std](Emitter& e, const Place& at) {
    return draws.draw(e, what, at) * Sym(std) + Sym(mean);
  };
}

void draw_normal(const Tensor& out, double mean, double std) {
  Lowering::current().define(out, normal_numbers(out, mean, std));
}

// A distribution by its inverse: of(e, u) with u in (0, 1].
template <class Of>
void draw_by_inverse(const Tensor& out, const Generator& generator, Of of) {
  if (out.is_complex() || generator.defined()) return;
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  const Draw what = is_double ? Draw::Uniform53 : Draw::Uniform24;
  Lowering::current().define(out, [draws, what, of](Emitter& e, const Place& at) {
    const Sym u = draws.draw(e, what, at);
    return of(e, e.constant(1, e.type_of(u)) - u);
  });
}

void draw_integers(const Tensor& out, IntegerRange range, const Generator& generator) {
  if (out.is_complex() || generator.defined()) return;
  const ElementDraws draws(out, 2);
  Lowering::current().define(out, [draws, range](Emitter& e, const Place& at) {
    const Sym limit =
        Sym::from_id(e.graph().constant_int(static_cast<int64_t>(range.count), Type::U64));
    return e.cast(draws.draw(e, Draw::Integer, at, limit), Type::I64) +
           Sym::from_id(e.graph().constant_int(range.first, Type::I64));
  });
}

void draw_integers(const Tensor& out, const SymInt& low, const SymInt& high) {
  if (low.is_symbolic() || high.is_symbolic()) return;
  draw_integers(out, IntegerRange::between(out.dtype(), low.expect_int(), high.expect_int()),
                Generator());
}

// One, after a check: an element for which it does not hold is an error of the run.
Sym checked(Emitter& e, SymMask holds, Type type) {
  const Sym one = e.constant(1, Type::I64), zero = e.constant(0, Type::I64);
  return e.cast(e.divisor(where(holds, one, zero)), type);
}

// A parameter of an element in double precision.
using Parameter = std::function<Sym(Emitter&, const Place&)>;

Parameter element_of(const Tensor& t, const Tensor& out) {
  Lowering& l = Lowering::current();
  return [&x = l.of(t), sizes = l.sizes(out)](Emitter& e, const Place& at) {
    return e.cast(e.read(x, broadcast_place(e.pool(), sizes, x.sizes, at)), Type::F64);
  };
}
Parameter number_of(double value) {
  return [value](Emitter& e, const Place&) { return e.constant(value, Type::F64); };
}

void draw_by_chance(const Tensor& chances, const Generator& generator, const Tensor& out) {
  if (generator.defined() || out.is_complex()) return;
  const Parameter p = element_of(chances, out);
  const ElementDraws draws(out, 1);
  const Type type = out.dtype() == DType::Bool ? Type::Mask : kernel::compute_type(out.dtype());
  Lowering::current().define(out, [draws, p, type](Emitter& e, const Place& at) {
    const auto number = [&](double value) { return e.constant(value, Type::F64); };
    const Sym chance = p(e, at);
    const SymMask is_chance = (chance >= number(0)) & (chance <= number(1));
    const Sym word = e.cast(draws.draw(e, Draw::Word, at), Type::F64);
    const Sym limit = chance * number(0x1p32) * checked(e, is_chance, Type::F64);
    return e.cast(Sym::from_id((word < limit).id), type);
  });
}

// Numbers are drawn in the dtype of the result, and moved in double precision.
void draw_normal_by(const Parameter& mean, const Parameter& std, const Generator& generator,
                    const Tensor& out) {
  if (!is_drawn(out, generator)) return;
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  const Draw what = is_double ? Draw::Normal64 : Draw::Normal;
  Lowering::current().define(out, [=, dtype = out.dtype()](Emitter& e, const Place& at) {
    const Sym drawn = kernel::as_stored(e.graph(), draws.draw(e, what, at), dtype);
    const Sym spread = std(e, at);
    const Sym is_positive = checked(e, !(spread < e.constant(0, Type::F64)), Type::F64);
    return e.cast(drawn, Type::F64) * (spread * is_positive) + mean(e, at);
  });
}

}  // namespace

void rand(SymIntList, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
          std::optional<bool>, const Tensor& out) {
  if (is_drawn(out, Generator())) draw_uniform(out, 0, 1);
}
void randn(SymIntList, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
           std::optional<bool>, const Tensor& out) {
  if (is_drawn(out, Generator())) draw_normal(out, 0, 1);
}
void rand_like(const Tensor&, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
               std::optional<bool>, std::optional<MemoryFormat>, const Tensor& out) {
  if (is_drawn(out, Generator())) draw_uniform(out, 0, 1);
}
void randn_like(const Tensor&, std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                std::optional<bool>, std::optional<MemoryFormat>, const Tensor& out) {
  if (is_drawn(out, Generator())) draw_normal(out, 0, 1);
}
void uniform(const Tensor&, double from, double to, const Generator& generator, const Tensor& out) {
  if (is_drawn(out, generator)) draw_uniform(out, from, to);
}
void normal_functional(const Tensor&, double mean, double std, const Generator& generator,
                       const Tensor& out) {
  if (is_drawn(out, generator)) draw_normal(out, mean, std);
}
void normal_float_float(double mean, double std, SymIntList, const Generator& generator,
                        std::optional<DType>, std::optional<Layout>, std::optional<Device>,
                        std::optional<bool>, const Tensor& out) {
  if (is_drawn(out, generator)) draw_normal(out, mean, std);
}
void randint(SymInt high, SymIntList, std::optional<DType>, std::optional<Layout>,
             std::optional<Device>, std::optional<bool>, const Tensor& out) {
  draw_integers(out, 0, high);
}
void randint_low(SymInt low, SymInt high, SymIntList, std::optional<DType>, std::optional<Layout>,
                 std::optional<Device>, std::optional<bool>, const Tensor& out) {
  draw_integers(out, low, high);
}
void randint_like(const Tensor&, SymInt high, std::optional<DType>, std::optional<Layout>,
                  std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>,
                  const Tensor& out) {
  draw_integers(out, 0, high);
}
void randint_like_low_dtype(const Tensor&, SymInt low, SymInt high, std::optional<DType>,
                            std::optional<Layout>, std::optional<Device>, std::optional<bool>,
                            std::optional<MemoryFormat>, const Tensor& out) {
  draw_integers(out, low, high);
}
void exponential(const Tensor&, double lambd, const Generator& generator, const Tensor& out) {
  draw_by_inverse(out, generator, [lambd](Emitter& e, Sym u) {
    const Type type = e.type_of(u);
    // Never zero: u = 1 becomes the next number below it.
    const double epsilon = type == Type::F32 ? std::numeric_limits<float>::epsilon()
                                             : std::numeric_limits<double>::epsilon();
    const Sym below = e.constant(1 - epsilon / 2, type);
    return -log(where(u < below, u, below)) / e.constant(lambd, type);
  });
}
void cauchy(const Tensor&, double median, double sigma, const Generator& generator,
            const Tensor& out) {
  draw_by_inverse(out, generator, [median, sigma](Emitter& e, Sym u) {
    const auto number = [&](double value) { return e.constant(value, Type::F64); };
    const Sym angle = number(3.14159265358979323846) * (e.cast(u, Type::F64) - number(0.5));
    return e.cast(number(median) + number(sigma) * tan(angle), e.type_of(u));
  });
}
void log_normal(const Tensor&, double mean, double std, const Generator& generator,
                const Tensor& out) {
  if (!is_drawn(out, generator)) return;
  const auto normal = normal_numbers(out, mean, std);
  Lowering::current().define(out,
                             [normal](Emitter& e, const Place& at) { return exp(normal(e, at)); });
}
void geometric(const Tensor&, double p, const Generator& generator, const Tensor& out) {
  draw_by_inverse(out, generator, [divisor = std::log1p(-p)](Emitter& e, Sym u) {
    const auto number = [&](double value) { return e.constant(value, Type::F64); };
    const Sym count = ceil(log(e.cast(u, Type::F64)) / number(divisor));
    return e.cast(maximum(number(1), count), e.type_of(u));
  });
}
void random_from(const Tensor&, int64_t from, std::optional<int64_t> to, const Generator& generator,
                 const Tensor& out) {
  draw_integers(out, IntegerRange::from(out.dtype(), from, to), generator);
}
void random_to(const Tensor&, int64_t to, const Generator& generator, const Tensor& out) {
  draw_integers(out, IntegerRange::between(out.dtype(), 0, to), generator);
}
void random(const Tensor&, const Generator& generator, const Tensor& out) {
  draw_integers(out, IntegerRange::all(out.dtype()), generator);
}
void normal_Tensor_float(const Tensor& mean, double std, const Generator& generator,
                         const Tensor& out) {
  draw_normal_by(element_of(mean, out), number_of(std), generator, out);
}
void normal_float_Tensor(double mean, const Tensor& std, const Generator& generator,
                         const Tensor& out) {
  draw_normal_by(number_of(mean), element_of(std, out), generator, out);
}
void normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, const Generator& generator,
                          const Tensor& out) {
  draw_normal_by(element_of(mean, out), element_of(std, out), generator, out);
}
void bernoulli(const Tensor& self, const Generator& generator, const Tensor& out) {
  draw_by_chance(self, generator, out);
}
void bernoulli_Tensor(const Tensor&, const Tensor& p, const Generator& generator,
                      const Tensor& out) {
  draw_by_chance(p, generator, out);
}
void bernoulli_p(const Tensor&, double p, const Generator& generator, const Tensor& out) {
  if (generator.defined() || out.is_complex()) return;
  const ElementDraws draws(out, 1);
  const Type type = out.dtype() == DType::Bool ? Type::Mask : kernel::compute_type(out.dtype());
  Lowering::current().define(out, [draws, p, type](Emitter& e, const Place& at) {
    return e.cast(Sym::from_id(draws.happens(e, p, at).id), type);
  });
}

}  // namespace taeda::lowering
