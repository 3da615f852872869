// Random fills: element i in logical order draws from place i of the stream, as on the CPU.
#include <cmath>
#include <limits>

#include "taeda/backends/device_kernels.h"
#include "taeda/backends/lowered/domain.h"
#include "taeda/backends/lowered/dropout_declarations.h"
#include "taeda/backends/lowered/random_declarations.h"
#include "taeda/ops/dropout/drawn_dropout.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/random/checks.h"
#include "taeda/ops/random/draws.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

using kernel::Draw;
using kernel::Expr;

// A launch over the elements of some tensors of one shape that draws one element of the stream for
// each.
class Drawing {
 public:
  // `words`: how many 32-bit words an element takes.
  Drawing(std::string_view name, const Tensor& self, Span<const Tensor*> others,
          const Generator& generator, int words)
      : launch(name, self.device()) {
    IntVec logical(as_int(contiguous_strides(self.sym_sizes())));
    Domain domain(self.sizes(), {IntVec(self.strides()), std::move(logical)});
    for (const Tensor* t : others) domain.strides.push_back(broadcast_strides(*t, self.sizes()));
    domain.merge();
    axes = launch.axes(domain.sizes);
    strides_ = domain.strides;
    const PhiloxRange range = devices::generator_of(generator, self.device())
                                  .reserve_range((self.numel() * words + 3) / 4);
    // Bits as they are: seeds and offsets use all 64.
    seed_ = launch.number(Scalar(static_cast<int64_t>(range.seed)), Type::I64);
    offset_ = launch.number(Scalar(static_cast<int64_t>(range.offset)), Type::I64);
    to = launch.operand(self, strides_[0]);
    // Neighbours in memory that are neighbours in the stream share its blocks.
    for (int64_t stride : strides_[1]) {
      launch.fact(stride == 1);
      steps_.push_back(stride == 1 ? -1 : launch.param(stride));
    }
  }
  int operand(const Tensor& t, int place) { return launch.operand(t, strides_[place + 2]); }

  Sym draw(KernelBuilder& k, Draw what, const Sym* limit = nullptr) const {
    const Expr* place = k.integer(0);
    for (size_t d = 0; d < axes.size(); ++d) {
      const Expr* step = steps_[d] < 0 ? k.integer(1) : launch.param(k, steps_[d]);
      place = k.pool().add(place, k.pool().mul(step, k.var(axes[d])));
    }
    const auto bits = [&](int number) { return k.cast(launch.uniform(k, number), Type::U64).id; };
    return Sym::from_id(
        k.graph().random(what, place, bits(seed_), bits(offset_), limit ? limit->id : -1));
  }

  Launch launch;
  std::vector<int> axes;
  int to;

 private:
  std::vector<IntVec> strides_;
  std::vector<int> steps_;  // parameters; -1: one element
  int seed_, offset_;
};

Draw uniform_of(DType dtype) {
  switch (dtype) {
    case DType::BFloat16: return Draw::Uniform8;
    case DType::Half: return Draw::Uniform11;
    case DType::Float8E4M3: return Draw::Uniform4;
    case DType::Float8E5M2: return Draw::Uniform3;
    case DType::Double: return Draw::Uniform53;
    default: return Draw::Uniform24;
  }
}

// Floats, or doubles for double tensors: make(k, drawing) gives the value.
template <class Add, class Make>
Tensor& draw_real(std::string_view name, Tensor& self, const Generator& generator, Add&& add,
                  Make&& make) {
  if (self.numel() == 0) return self;
  const bool is_double = self.dtype() == DType::Double;
  Drawing drawing(name, self, {}, generator, is_double ? 2 : 1);
  const Type type = is_double ? Type::F64 : Type::F32;
  drawing.launch.compute_in(type);
  add(drawing.launch, type);
  drawing.launch.run([&](KernelBuilder& k) {
    const Sym value = make(k, drawing, is_double);
    k.loop(drawing.axes, [&] { k.store(drawing.to, value); });
  });
  return self;
}

// A distribution by its inverse: of(k, u) with u in (0, 1].
template <class Add, class Of>
Tensor& draw_by_inverse(std::string_view name, Tensor& self, const Generator& generator, Add&& add,
                        Of&& of) {
  return draw_real(name, self, generator, add,
                   [&](KernelBuilder& k, Drawing& drawing, bool is_double) {
                     const Sym u = drawing.draw(k, is_double ? Draw::Uniform53 : Draw::Uniform24);
                     return of(k, drawing.launch, Sym(1) - u);
                   });
}

Tensor& draw_integers(Tensor& self, IntegerRange range, const Generator& generator) {
  check_integers(self);
  if (self.numel() == 0) return self;
  Drawing drawing("random", self, {}, generator, 2);
  drawing.launch.compute_in(Type::I64);
  const int low = drawing.launch.number(Scalar(range.first), Type::I64),
            limit = drawing.launch.number(Scalar(static_cast<int64_t>(range.count)), Type::I64);
  drawing.launch.run([&](KernelBuilder& k) {
    const Sym bound = k.cast(drawing.launch.uniform(k, limit), Type::U64);
    const Sym drawn = k.cast(drawing.draw(k, Draw::Integer, &bound), Type::I64);
    k.loop(drawing.axes, [&] { k.store(drawing.to, drawn + drawing.launch.uniform(k, low)); });
  });
  return self;
}

// Whether a word lies below p * 2^32.
SymMask happens(KernelBuilder& k, Drawing& drawing, Sym threshold) {
  return k.cast(drawing.draw(k, Draw::Word), Type::F64) < threshold;
}

}  // namespace

Tensor& uniform_(Tensor& self, double from, double to, const Generator& generator) {
  check_uniform(self, from, to);
  Tensor parts = drawn_parts(self);
  int low = -1, width = -1, last = -1;
  draw_real(
      "uniform", parts, generator,
      [&](Launch& launch, Type type) {
        low = launch.number(Scalar(from), type);
        // The largest value below the upper bound, which rounding must not reach.
        if (type == Type::F32) {
          const float lo = static_cast<float>(from), hi = static_cast<float>(to);
          width = launch.number(Scalar(static_cast<double>(hi - lo)), type);
          last = launch.number(Scalar(static_cast<double>(lo < hi ? std::nextafter(hi, lo) : hi)),
                               type);
        } else {
          width = launch.number(Scalar(to - from), type);
          last = launch.number(Scalar(from < to ? std::nextafter(to, from) : to), type);
        }
      },
      [&](KernelBuilder& k, Drawing& drawing, bool) {
        const Launch& launch = drawing.launch;
        const Sym u = drawing.draw(k, uniform_of(parts.dtype()));
        const Sym x = u * launch.uniform(k, width) + launch.uniform(k, low);
        return where(x < launch.uniform(k, last), x, launch.uniform(k, last));
      });
  return self;
}

Tensor& normal_(Tensor& self, double mean, double std, const Generator& generator) {
  check_normal(self, std);
  Tensor parts = drawn_parts(self);
  // Real and imaginary parts share the variance.
  const double scale = self.is_complex() ? std / std::sqrt(2.0) : std;
  int center = -1, spread = -1;
  draw_real(
      "normal", parts, generator,
      [&](Launch& launch, Type type) {
        center = launch.number(Scalar(mean), type);
        spread = launch.number(Scalar(scale), type);
      },
      [&](KernelBuilder& k, Drawing& drawing, bool is_double) {
        const Sym z = drawing.draw(k, is_double ? Draw::Normal64 : Draw::Normal);
        return z * drawing.launch.uniform(k, spread) + drawing.launch.uniform(k, center);
      });
  // A mean is a real number: it shifts no imaginary part.
  if (self.is_complex() && mean != 0 && self.numel() > 0) {
    Tensor imaginary = parts.select(-1, SymInt(1));
    imaginary.sub_(Scalar(mean));
  }
  return self;
}

Tensor& exponential_(Tensor& self, double lambd, const Generator& generator) {
  check_exponential(self, lambd);
  int rate = -1;
  return draw_by_inverse(
      "exponential", self, generator,
      [&](Launch& launch, Type type) { rate = launch.number(Scalar(lambd), type); },
      [&](KernelBuilder& k, Launch& launch, Sym u) {
        // Never zero: u = 1 becomes the next number below it.
        const double epsilon = k.type_of(u) == Type::F32 ? std::numeric_limits<float>::epsilon()
                                                         : std::numeric_limits<double>::epsilon();
        const Sym below = where(u == Sym(1), Sym(1 - epsilon / 2), u);
        return -log(below) / launch.uniform(k, rate);
      });
}

Tensor& cauchy_(Tensor& self, double median, double sigma, const Generator& generator) {
  check_cauchy(self, sigma);
  int center = -1, spread = -1;
  return draw_by_inverse(
      "cauchy", self, generator,
      [&](Launch& launch, Type) {
        center = launch.number(Scalar(median), Type::F64);
        spread = launch.number(Scalar(sigma), Type::F64);
      },
      [&](KernelBuilder& k, Launch& launch, Sym u) {
        const auto wide = [&](double value) {
          return Sym::from_id(k.graph().constant(value, Type::F64));
        };
        const Sym angle = wide(3.14159265358979323846) * (k.cast(u, Type::F64) - wide(0.5));
        const Sym x = launch.uniform(k, center) + launch.uniform(k, spread) * tan(angle);
        return k.cast(x, k.type_of(u));
      });
}

Tensor& log_normal_(Tensor& self, double mean, double std, const Generator& generator) {
  check_log_normal(self, std);
  int center = -1, spread = -1;
  return draw_real(
      "log_normal", self, generator,
      [&](Launch& launch, Type type) {
        center = launch.number(Scalar(mean), type);
        spread = launch.number(Scalar(std), type);
      },
      [&](KernelBuilder& k, Drawing& drawing, bool is_double) {
        const Sym z = drawing.draw(k, is_double ? Draw::Normal64 : Draw::Normal);
        return exp(z * drawing.launch.uniform(k, spread) + drawing.launch.uniform(k, center));
      });
}

Tensor& geometric_(Tensor& self, double p, const Generator& generator) {
  check_geometric(self, p);
  int divisor = -1;
  return draw_by_inverse(
      "geometric", self, generator,
      [&](Launch& launch, Type) { divisor = launch.number(Scalar(std::log1p(-p)), Type::F64); },
      [&](KernelBuilder& k, Launch& launch, Sym u) {
        const Sym one = Sym::from_id(k.graph().constant(1, Type::F64));
        const Sym count = ceil(log(k.cast(u, Type::F64)) / launch.uniform(k, divisor));
        return k.cast(maximum(one, count), k.type_of(u));
      });
}

Tensor& random__from(Tensor& self, int64_t from, std::optional<int64_t> to,
                     const Generator& generator) {
  return draw_integers(self, IntegerRange::from(self.dtype(), from, to), generator);
}
Tensor& random__to(Tensor& self, int64_t to, const Generator& generator) {
  return draw_integers(self, IntegerRange::between(self.dtype(), 0, to), generator);
}
Tensor& random_(Tensor& self, const Generator& generator) {
  return draw_integers(self, IntegerRange::all(self.dtype()), generator);
}

Tensor& bernoulli__float(Tensor& self, double p, const Generator& generator) {
  check_bernoulli(self, p);
  if (self.numel() == 0) return self;
  Drawing drawing("bernoulli", self, {}, generator, 1);
  const int number = drawing.launch.number(Scalar(std::ceil(p * 0x1p32)), Type::F64);
  drawing.launch.run([&](KernelBuilder& k) {
    const SymMask drawn = happens(k, drawing, drawing.launch.uniform(k, number));
    k.loop(drawing.axes, [&] { k.store(drawing.to, Sym::from_id(drawn.id)); });
  });
  return self;
}

Tensor& bernoulli__Tensor(Tensor& self, const Tensor& p, const Generator& generator) {
  check_bernoulli(self, p);
  if (self.numel() == 0) return self;
  const bool is_within = p.min().item().to_double() >= 0 && p.max().item().to_double() <= 1;
  TAEDA_CHECK(is_within, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  const Tensor chance = p.to(self.device());
  const Tensor* const others[] = {&chance};
  Drawing drawing("bernoulli_each", self, others, generator, 1);
  const int x = drawing.operand(chance, 0);
  drawing.launch.run([&](KernelBuilder& k) {
    const Sym scale = Sym::from_id(k.graph().constant(0x1p32, Type::F64));
    const SymMask drawn = happens(k, drawing, k.cast(k.load(x), Type::F64) * scale);
    k.loop(drawing.axes, [&] { k.store(drawing.to, Sym::from_id(drawn.id)); });
  });
  return self;
}

Tensor& _scale_shift_(Tensor& self, const Tensor& given_scale, const Tensor& given_shift) {
  const Tensor scale = given_scale.to(self.device()), shift = given_shift.to(self.device());
  TAEDA_CHECK(!scale.is_complex(), "normal expects standard deviation to be non-complex");
  if (self.numel() == 0) return self;
  TAEDA_CHECK(!(scale.min().item().to_double() < 0), "normal expects all elements of std >= 0.0");
  Domain domain(self.sizes(), {IntVec(self.strides()), broadcast_strides(scale, self.sizes()),
                               broadcast_strides(shift, self.sizes())});
  domain.arrange();
  Launch launch("scale_shift", self.device());
  const Type type = self.is_complex() ? Type::C128 : Type::F64;
  launch.compute_in(type);
  const std::vector<int> axes = launch.axes(domain.sizes);
  const int x = launch.operand(self, domain.strides[0]),
            a = launch.operand(scale, domain.strides[1]),
            b = launch.operand(shift, domain.strides[2]);
  launch.run([&](KernelBuilder& k) {
    const Sym value = k.cast(k.load(x), type), by = k.cast(k.load(a), Type::F64);
    Sym scaled = value * by;
    if (type == Type::C128)
      scaled = Sym::from_id(
          kernel::sym_apply(kernel::Op::MakeComplex, (real(value) * by).id, (imag(value) * by).id));
    k.loop(axes, [&] { k.store(x, scaled + k.cast(k.load(b), type)); });
  });
  return self;
}

// ---- dropout ----
std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  const auto [out, mask, is_done] = DrawnDropout(input, p, train);
  if (is_done) return {out, mask};
  const Type type = kernel::compute_type(input.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(type == Type::F32 || type == Type::F64,
                              "\"native_dropout\" not implemented for '", input.dtype(), "'");
  const Tensor* const others[] = {&input, &mask};
  Drawing drawing("dropout", out, others, Generator(), 1);
  Launch& launch = drawing.launch;
  launch.compute_in(type);
  const int x = drawing.operand(input, 0), kept = drawing.operand(mask, 1);
  const int number = launch.number(Scalar(std::ceil((1 - p) * 0x1p32)), Type::F64),
            scale = launch.number(Scalar(p == 1 ? 0.0 : 1 / (1 - p)), type);
  launch.run([&](KernelBuilder& k) {
    const SymMask drawn = happens(k, drawing, launch.uniform(k, number));
    const Sym value = k.load(x) * where(drawn, launch.uniform(k, scale), Sym(0));
    k.loop(drawing.axes, [&] {
      k.store(drawing.to, value);
      k.store(kept, Sym::from_id(drawn.id));
    });
  });
  return {out, mask};
}

Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  check_dropout_mask(mask);
  if (is_integral(grad_output.dtype(), true))
    return native_dropout_backward(grad_output.to(default_dtype()), mask, scale);
  Tensor out = taeda::empty_like(grad_output);
  if (out.numel() == 0) return out;
  const Type type = kernel::compute_type(grad_output.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(type == Type::F32 || type == Type::F64,
                              "\"native_dropout\" not implemented for '", grad_output.dtype(), "'");
  Domain domain(out.sizes(), {IntVec(out.strides()), IntVec(grad_output.strides()),
                              broadcast_strides(mask, out.sizes())});
  domain.arrange();
  Launch launch("dropout_backward", out.device());
  launch.compute_in(type);
  const std::vector<int> axes = launch.axes(domain.sizes);
  const int y = launch.operand(out, domain.strides[0]),
            g = launch.operand(grad_output, domain.strides[1]),
            m = launch.operand(mask, domain.strides[2]);
  const int number = launch.number(Scalar(scale), type);
  launch.run([&](KernelBuilder& k) {
    const Sym value = k.load(g) * where(k.as_mask(k.load(m)), launch.uniform(k, number), Sym(0));
    k.loop(axes, [&] { k.store(y, value); });
  });
  return out;
}

}  // namespace taeda::lowered
