// Random numbers: factories and shapes; the kernels fill given memory.
#include "taeda/ops/random/declarations.h"

#include <cmath>
#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/ops/random/checks.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {

// A form without a generator is the form with one, given the default generator.

// Meta tensors draw nothing: the generator stays where it is. Arguments that kernels refuse are
// refused here too.
Tensor& uniform__meta(Tensor& self, double from, double to, const Generator&) {
  check_uniform(self, from, to);
  return self;
}
Tensor& normal__meta(Tensor& self, double, double std, const Generator&) {
  check_normal(self, std);
  return self;
}
Tensor& exponential__meta(Tensor& self, double lambd, const Generator&) {
  check_exponential(self, lambd);
  return self;
}
Tensor& cauchy__meta(Tensor& self, double, double sigma, const Generator&) {
  check_cauchy(self, sigma);
  return self;
}
Tensor& log_normal__meta(Tensor& self, double, double std, const Generator&) {
  check_log_normal(self, std);
  return self;
}
Tensor& geometric__meta(Tensor& self, double p, const Generator&) {
  check_geometric(self, p);
  return self;
}
Tensor& random__from_meta(Tensor& self, int64_t from, std::optional<int64_t> to, const Generator&) {
  if (to)
    check_range(self.dtype(), from, *to);
  else
    check_start(self.dtype(), from);
  check_integers(self);
  return self;
}
Tensor& random__to_meta(Tensor& self, int64_t to, const Generator&) {
  check_range(self.dtype(), 0, to);
  check_integers(self);
  return self;
}
Tensor& random__meta(Tensor& self, const Generator&) {
  check_integers(self);
  return self;
}
Tensor& bernoulli__Tensor_meta(Tensor& self, const Tensor& p, const Generator&) {
  check_bernoulli(self, p);
  return self;
}
Tensor& bernoulli__float_meta(Tensor& self, double p, const Generator&) {
  check_bernoulli(self, p);
  return self;
}
Tensor& _scale_shift__meta(Tensor& self, const Tensor&, const Tensor&) { return self; }
Tensor& _shuffled_range__meta(Tensor& self, const Generator&) { return self; }

Tensor randn_generator(SymIntList size, const Generator& generator, std::optional<DType> dtype,
                       std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype, layout, device, pin_memory).normal_(0, 1, generator);
}
Tensor& randn_generator_out(SymIntList size, const Generator& generator, Tensor& out) {
  return taeda::empty_out(out, size).normal_(0, 1, generator);
}
Tensor randn(SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  return randn_generator(size, Generator(), dtype, layout, device, pin_memory);
}
Tensor& randn_out(SymIntList size, Tensor& out) {
  return randn_generator_out(size, Generator(), out);
}
Tensor randn_like_generator(const Tensor& self, const Generator& generator,
                            std::optional<DType> dtype, std::optional<Layout> layout,
                            std::optional<Device> device, std::optional<bool> pin_memory,
                            std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format)
      .normal_(0, 1, generator);
}
Tensor randn_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  return randn_like_generator(self, Generator(), dtype, layout, device, pin_memory, memory_format);
}

Tensor rand_generator(SymIntList size, const Generator& generator, std::optional<DType> dtype,
                      std::optional<Layout> layout, std::optional<Device> device,
                      std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype, layout, device, pin_memory).uniform_(0, 1, generator);
}
Tensor& rand_generator_out(SymIntList size, const Generator& generator, Tensor& out) {
  return taeda::empty_out(out, size).uniform_(0, 1, generator);
}
Tensor rand(SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory) {
  return rand_generator(size, Generator(), dtype, layout, device, pin_memory);
}
Tensor& rand_out(SymIntList size, Tensor& out) {
  return rand_generator_out(size, Generator(), out);
}
Tensor rand_like_generator(const Tensor& self, const Generator& generator,
                           std::optional<DType> dtype, std::optional<Layout> layout,
                           std::optional<Device> device, std::optional<bool> pin_memory,
                           std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format)
      .uniform_(0, 1, generator);
}
Tensor rand_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  return rand_like_generator(self, Generator(), dtype, layout, device, pin_memory, memory_format);
}

// ---- integers ----

Tensor randint_low_generator(SymInt low, SymInt high, SymIntList size, const Generator& generator,
                             std::optional<DType> dtype, std::optional<Layout> layout,
                             std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype.value_or(DType::Int64), layout, device, pin_memory)
      .random_(low.expect_int(), high.expect_int(), generator);
}
Tensor& randint_low_generator_out(SymInt low, SymInt high, SymIntList size,
                                  const Generator& generator, Tensor& out) {
  return taeda::empty_out(out, size).random_(low.expect_int(), high.expect_int(), generator);
}
Tensor randint_generator(SymInt high, SymIntList size, const Generator& generator,
                         std::optional<DType> dtype, std::optional<Layout> layout,
                         std::optional<Device> device, std::optional<bool> pin_memory) {
  return randint_low_generator(0, high, size, generator, dtype, layout, device, pin_memory);
}
Tensor& randint_generator_out(SymInt high, SymIntList size, const Generator& generator,
                              Tensor& out) {
  return randint_low_generator_out(0, high, size, generator, out);
}
Tensor randint(SymInt high, SymIntList size, std::optional<DType> dtype,
               std::optional<Layout> layout, std::optional<Device> device,
               std::optional<bool> pin_memory) {
  return randint_low_generator(0, high, size, Generator(), dtype, layout, device, pin_memory);
}
Tensor& randint_out(SymInt high, SymIntList size, Tensor& out) {
  return randint_low_generator_out(0, high, size, Generator(), out);
}
Tensor randint_low(SymInt low, SymInt high, SymIntList size, std::optional<DType> dtype,
                   std::optional<Layout> layout, std::optional<Device> device,
                   std::optional<bool> pin_memory) {
  return randint_low_generator(low, high, size, Generator(), dtype, layout, device, pin_memory);
}
Tensor& randint_low_out(SymInt low, SymInt high, SymIntList size, Tensor& out) {
  return randint_low_generator_out(low, high, size, Generator(), out);
}
Tensor randint_like_low_dtype(const Tensor& self, SymInt low, SymInt high,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory,
                              std::optional<MemoryFormat> memory_format) {
  return taeda::empty_like(self, dtype, layout, device, pin_memory, memory_format)
      .random_(low.expect_int(), high.expect_int());
}
Tensor randint_like(const Tensor& self, SymInt high, std::optional<DType> dtype,
                    std::optional<Layout> layout, std::optional<Device> device,
                    std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format) {
  return randint_like_low_dtype(self, 0, high, dtype, layout, device, pin_memory, memory_format);
}

namespace {

void check_randperm(const SymInt& n, DType dtype) {
  TAEDA_CHECK(n >= SymInt(0), "n must be non-negative, got", n);
  TAEDA_CHECK_NOT_IMPLEMENTED(dtype != DType::Bool && !is_complex(dtype),
                              "\"randperm\" not implemented for '", dtype, "'");
  constexpr int64_t kMax[] = {255, 127, 32767, 2147483647};
  const int64_t last = n.expect_int() - 1;
  const bool fits = dtype > DType::Int32 || last <= kMax[static_cast<int>(dtype)];
  TAEDA_CHECK(fits, "value cannot be converted to type ", dtype_name(dtype), "_t without overflow");
  // Of floating types only those whose numbers all differ; PyTorch takes bfloat16 as it is.
  if (dtype == DType::Half)
    TAEDA_CHECK(last <= 2048, "n cannot be greater than 2049 for Half type.");
  if (dtype == DType::Float)
    TAEDA_CHECK(last <= int64_t{1} << 24, "n cannot be greater than 2^24+1 for Float type.");
  if (dtype == DType::Double)
    TAEDA_CHECK(last <= int64_t{1} << 53, "n cannot be greater than 2^53+1 for Double type.");
}

}  // namespace

Tensor randperm_generator(SymInt n, const Generator& generator, std::optional<DType> dtype,
                          std::optional<Layout> layout, std::optional<Device> device,
                          std::optional<bool> pin_memory) {
  TAEDA_CHECK(n >= SymInt(0), "Trying to create tensor with negative dimension ", n, ": [", n, "]");
  const DType type = dtype.value_or(DType::Int64);
  check_randperm(n, type);
  Tensor out = taeda::empty({n}, type, layout, device, pin_memory);
  return taeda::_shuffled_range_(out, generator);
}
Tensor& randperm_generator_out(SymInt n, const Generator& generator, Tensor& out) {
  check_randperm(n, out.dtype());
  taeda::empty_out(out, {n});
  return taeda::_shuffled_range_(out, generator);
}
Tensor randperm(SymInt n, std::optional<DType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory) {
  return randperm_generator(n, Generator(), dtype, layout, device, pin_memory);
}
Tensor& randperm_out(SymInt n, Tensor& out) { return randperm_generator_out(n, Generator(), out); }

// ---- fills as functions of values ----

Tensor uniform(const Tensor& self, double from, double to, const Generator& generator) {
  return taeda::empty_like(self).uniform_(from, to, generator);
}
Tensor normal_functional(const Tensor& self, double mean, double std, const Generator& generator) {
  return taeda::empty_like(self).normal_(mean, std, generator);
}
Tensor exponential(const Tensor& self, double lambd, const Generator& generator) {
  return taeda::empty_like(self).exponential_(lambd, generator);
}
Tensor cauchy(const Tensor& self, double median, double sigma, const Generator& generator) {
  return taeda::empty_like(self).cauchy_(median, sigma, generator);
}
Tensor log_normal(const Tensor& self, double mean, double std, const Generator& generator) {
  return taeda::empty_like(self).log_normal_(mean, std, generator);
}
Tensor geometric(const Tensor& self, double p, const Generator& generator) {
  return taeda::empty_like(self).geometric_(p, generator);
}
Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to,
                   const Generator& generator) {
  return taeda::empty_like(self).random_(from, to, generator);
}
Tensor random_to(const Tensor& self, int64_t to, const Generator& generator) {
  return taeda::empty_like(self).random_(to, generator);
}
Tensor random(const Tensor& self, const Generator& generator) {
  return taeda::empty_like(self).random_(generator);
}

// ---- by probability ----

namespace {

// In PyTorch's layout, so that a seed gives its numbers.
Tensor drawn_like(const Tensor& self) {
  return taeda::empty_like(self, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                           MemoryFormat::Contiguous);
}

}  // namespace

Tensor bernoulli(const Tensor& self, const Generator& generator) {
  return drawn_like(self).bernoulli_(self, generator);
}
Tensor& bernoulli_out(const Tensor& self, const Generator& generator, Tensor& out) {
  resize_output(out, self.sym_sizes());
  return out.bernoulli_(self, generator);
}
Tensor bernoulli_p(const Tensor& self, double p, const Generator& generator) {
  return drawn_like(self).bernoulli_(p, generator);
}
Tensor bernoulli_Tensor(const Tensor& self, const Tensor& p, const Generator& generator) {
  return drawn_like(self).bernoulli_(p, generator);
}

OutSpec multinomial_spec(const Tensor& self, SymInt num_samples, bool replacement,
                         const Generator&) {
  TAEDA_CHECK(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  TAEDA_CHECK(self.is_floating_point(),
              "multinomial only supports floating-point dtypes for input, got: ", self.dtype());
  TAEDA_CHECK(num_samples > SymInt(0), "cannot sample n_sample <= 0 samples");
  TAEDA_CHECK(replacement || num_samples <= self.sym_size(-1),
              "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  SymIntVec sizes(self.sym_sizes());
  sizes.back() = num_samples;
  return OutSpec(SymIntList(sizes), DType::Int64, self.device());
}

// ---- draws by rejection ----

namespace {

void check_drawn_dtype(const Tensor& t, const char* kernel) {
  TAEDA_CHECK_NOT_IMPLEMENTED(t.dtype() == DType::Float || t.dtype() == DType::Double, "\"", kernel,
                              "\" not implemented for '", t.dtype(), "'");
}

}  // namespace

OutSpec _standard_gamma_spec(const Tensor& self, const Generator&) {
  check_drawn_dtype(self, "gamma_cpu");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}
OutSpec _standard_gamma_grad_spec(const Tensor& self, const Tensor& output) {
  check_drawn_dtype(self, "_standard_gamma_grad_cpu");
  const SymIntVec sizes = broadcast_shapes(self.sym_sizes(), output.sym_sizes());
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}
// The gamma variables are of double, since small ones underflow.
Tensor _sample_dirichlet(const Tensor& self, const Generator& generator) {
  check_drawn_dtype(self, "dirichlet");
  const Tensor parts = taeda::_standard_gamma(self.to(DType::Double), generator);
  const Tensor shares = parts.div(parts.sum(IntList{-1}, /*keepdim=*/true)).to(self.dtype());
  const bool is_float = self.dtype() == DType::Float;
  const double least =
      is_float ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double most = is_float ? std::nexttoward(1.0f, 0.0L) : std::nexttoward(1.0, 0.0L);
  return shares.clamp(Scalar(least), Scalar(most));
}
OutSpec poisson_spec(const Tensor& self, const Generator&) {
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"poisson_cpu\" not implemented for '",
                              self.dtype(), "'");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}
OutSpec binomial_spec(const Tensor& count, const Tensor& prob, const Generator&) {
  TAEDA_CHECK_VALUE(count.is_floating_point(),
                    "binomial only supports floating-point dtypes for count, got: ", count.dtype());
  TAEDA_CHECK_VALUE(prob.is_floating_point(),
                    "binomial only supports floating-point dtypes for prob, got: ", prob.dtype());
  TAEDA_CHECK(count.dtype() == prob.dtype(), "Found dtype ", prob.dtype(), " but expected ",
              count.dtype());
  check_drawn_dtype(count, "binomial_cpu");
  TAEDA_CHECK(is_expandable_to(prob.sym_sizes(), count.sym_sizes()),
              "binomial: prob does not broadcast to the sizes of count: got ", prob.sym_sizes(),
              " and ", count.sym_sizes());
  return OutSpec(count.sym_sizes(), count.dtype(), count.device());
}

// ---- normal numbers with parameters ----

namespace {

Tensor normal_like(const Tensor& model, const Tensor& mean, const Tensor& std,
                   const Generator& generator) {
  const SymIntVec shape = broadcast_shapes(mean.sym_sizes(), std.sym_sizes());
  Tensor out = taeda::empty(SymIntList(shape), model.dtype(), {}, model.device());
  out.normal_(0, 1, generator);
  return taeda::_scale_shift_(out, std, mean);
}
Tensor& normal_into(Tensor& out, const Tensor& mean, const Tensor& std,
                    const Generator& generator) {
  resize_output(out, broadcast_shapes(mean.sym_sizes(), std.sym_sizes()));
  out.normal_(0, 1, generator);
  return taeda::_scale_shift_(out, std, mean);
}
Tensor number(double v) { return wrapped_scalar(Scalar(v)); }
void check_std(double std) {
  TAEDA_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
}

}  // namespace

Tensor normal_Tensor_float(const Tensor& mean, double std, const Generator& generator) {
  check_std(std);
  return normal_like(mean, mean, number(std), generator);
}
Tensor& normal_Tensor_float_out(const Tensor& mean, double std, const Generator& generator,
                                Tensor& out) {
  check_std(std);
  return normal_into(out, mean, number(std), generator);
}
Tensor normal_float_Tensor(double mean, const Tensor& std, const Generator& generator) {
  return normal_like(std, number(mean), std, generator);
}
Tensor& normal_float_Tensor_out(double mean, const Tensor& std, const Generator& generator,
                                Tensor& out) {
  return normal_into(out, number(mean), std, generator);
}
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, const Generator& generator) {
  return normal_like(mean, mean, std, generator);
}
Tensor& normal_Tensor_Tensor_out(const Tensor& mean, const Tensor& std, const Generator& generator,
                                 Tensor& out) {
  return normal_into(out, mean, std, generator);
}
Tensor normal_float_float(double mean, double std, SymIntList size, const Generator& generator,
                          std::optional<DType> dtype, std::optional<Layout> layout,
                          std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype, layout, device, pin_memory).normal_(mean, std, generator);
}
Tensor& normal_float_float_out(double mean, double std, SymIntList size, const Generator& generator,
                               Tensor& out) {
  return taeda::empty_out(out, size).normal_(mean, std, generator);
}

}  // namespace taeda::impl
