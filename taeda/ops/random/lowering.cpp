// Random tensors by places of the stream, with the numbers of their eager kernels.
#include <cmath>

#include "taeda/ops/random/draws.h"
#include "taeda/ops/random/draws_of_elements.h"
#include "taeda/ops/random/lowerings.h"

namespace taeda::lowering {
namespace {

using kernel::Draw;

Draw uniform_draw(DType dtype) {
  switch (dtype) {
    case DType::BFloat16: return Draw::Uniform8;
    case DType::Half: return Draw::Uniform11;
    case DType::Float8E4M3: return Draw::Uniform4;
    case DType::Float8E5M2: return Draw::Uniform3;
    case DType::Double: return Draw::Uniform53;
    default: return Draw::Uniform24;
  }
}

// A tensor of floats on the CPU, drawn by the default generator; others are calls.
bool is_drawn(const Tensor& out, const Generator& generator) {
  return is_floating(out.dtype()) && !generator.defined();
}

void draw_uniform(const Tensor& out, double from, double to) {
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  // The largest value below the upper bound, which rounding must not reach.
  double low = from, width = to - from, last = from < to ? std::nextafter(to, from) : to;
  if (!is_double) {
    const float lo = static_cast<float>(from), hi = static_cast<float>(to);
    low = lo;
    width = hi - lo;
    last = lo < hi ? std::nextafter(hi, lo) : hi;
  }
  const Draw what = uniform_draw(out.dtype());
  Lowering::current().define(out, [draws, what, low, width, last](Emitter& e, const Place& at) {
    const Sym x = draws.draw(e, what, at) * Sym(width) + Sym(low);
    return where(x < Sym(last), x, Sym(last));
  });
}

void draw_normal(const Tensor& out, double mean, double std) {
  const bool is_double = out.dtype() == DType::Double;
  const ElementDraws draws(out, is_double ? 2 : 1);
  const Draw what = is_double ? Draw::Normal64 : Draw::Normal;
  Lowering::current().define(out, [draws, what, mean, std](Emitter& e, const Place& at) {
    return draws.draw(e, what, at) * Sym(std) + Sym(mean);
  });
}

void draw_integers(const Tensor& out, const SymInt& low, const SymInt& high) {
  if (low.is_symbolic() || high.is_symbolic() || out.is_complex()) return;
  const IntegerRange range =
      IntegerRange::between(out.dtype(), low.expect_int(), high.expect_int());
  const ElementDraws draws(out, 2);
  Lowering::current().define(out, [draws, range](Emitter& e, const Place& at) {
    const Sym limit =
        Sym::from_id(e.graph().constant_int(static_cast<int64_t>(range.count), Type::U64));
    return e.cast(draws.draw(e, Draw::Integer, at, limit), Type::I64) +
           Sym::from_id(e.graph().constant_int(range.first, Type::I64));
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
void bernoulli_p(const Tensor&, double p, const Generator& generator, const Tensor& out) {
  if (generator.defined() || out.is_complex()) return;
  const ElementDraws draws(out, 1);
  const Type type = out.dtype() == DType::Bool ? Type::Mask : kernel::compute_type(out.dtype());
  Lowering::current().define(out, [draws, p, type](Emitter& e, const Place& at) {
    return e.cast(Sym::from_id(draws.happens(e, p, at).id), type);
  });
}

}  // namespace taeda::lowering
