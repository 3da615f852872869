// Bounds and dtypes of random operators.
#include "taeda/ops/random/checks.h"

#include <bit>
#include <cmath>
#include <limits>

#include "taeda/base/log.h"
#include "taeda/base/str.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/spec.h"

namespace taeda {
namespace {

void check_writable(const Tensor& self, const char* kernel, bool accepts_complex = false) {
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point() || (accepts_complex && self.is_complex()),
                              "\"", kernel, "\" not implemented for '", self.dtype(), "'");
  check_no_internal_overlap(self);
}

struct Bounds {
  double low, high;
  const char* name;
};

// The integers a dtype holds exactly.
Bounds bounds_of(DType t) {
  switch (t) {
    case DType::Bool: return {0, 1, "bool"};
    case DType::UInt8: return {0, 255, "unsigned char"};
    case DType::Int8: return {-128, 127, "signed char"};
    case DType::Int16: return {-32768, 32767, "short"};
    case DType::Int32: return {-2147483648.0, 2147483647.0, "int"};
    case DType::UInt16: return {0, 65535, "unsigned short"};
    case DType::UInt32: return {0, 4294967295.0, "unsigned int"};
    case DType::UInt64: return {0, 18446744073709551615.0, "unsigned long"};
    case DType::Half: return {-65504, 65504, "c10::Half"};
    case DType::BFloat16: return {-3.38953139e38, 3.38953139e38, "c10::BFloat16"};
    case DType::Float: return {-3.40282347e38, 3.40282347e38, "float"};
    case DType::Double: return {-1.7976931348623157e308, 1.7976931348623157e308, "double"};
    default: return {-9223372036854775808.0, 9223372036854775807.0, "long"};
  }
}

int digits_of(DType t) {
  return t == DType::Double ? 53 : t == DType::Float ? 24 : t == DType::Half ? 11 : 8;
}

// An integer as a floating dtype holds it.
double rounded(DType t, int64_t value) {
  switch (t) {
    case DType::Double: return static_cast<double>(value);
    case DType::Half: return static_cast<float>(Half(static_cast<float>(value)));
    case DType::BFloat16: return static_cast<float>(BFloat16(static_cast<float>(value)));
    default: return static_cast<float>(value);
  }
}

void check_from(DType dtype, int64_t from) {
  const Bounds b = bounds_of(dtype);
  TAEDA_CHECK(static_cast<double>(from) >= b.low && static_cast<double>(from) <= b.high,
              "from is out of bounds for ", b.name);
}

}  // namespace

int64_t last_integer(DType t) {
  switch (t) {
    case DType::Double: return int64_t{1} << 53;
    case DType::Float: return int64_t{1} << 24;
    case DType::Half: return int64_t{1} << 11;
    case DType::BFloat16: return int64_t{1} << 8;
    case DType::Int64:
    case DType::UInt64: return std::numeric_limits<int64_t>::max();
    default: return static_cast<int64_t>(bounds_of(t).high);
  }
}

void check_uniform(const Tensor& self, double from, double to) {
  check_writable(self, "check_uniform_bounds", true);
  const double most = largest_finite(self.dtype());
  const char* const type = stored_type_name(self.dtype());
  TAEDA_CHECK(std::fabs(from) <= most, "from is out of bounds for ", type);
  TAEDA_CHECK(std::fabs(to) <= most, "to is out of bounds for ", type);
  TAEDA_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
              " > to=", to);
  TAEDA_CHECK(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", self.dtype(),
              ">::max(), but found to=", to, " and from=", from,
              " which result in to-from to exceed the limit");
}

void check_normal(const Tensor& self, double std) {
  TAEDA_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point() || self.is_complex(), "\"",
                              kernel_name("normal_kernel", self.device()),
                              "\" not implemented for '", self.dtype(), "'");
  check_no_internal_overlap(self);
}

void check_exponential(const Tensor& self, double lambd) {
  TAEDA_CHECK(self.is_floating_point(),
              "Exponential distribution is a continuous probability distribution. dtype must be a "
              "floating point but you specified ",
              self.dtype());
  check_writable(self, "exponential_");
  TAEDA_CHECK(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
}

void check_cauchy(const Tensor& self, double sigma) {
  TAEDA_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_writable(self, "cauchy");
}

void check_log_normal(const Tensor& self, double std) {
  TAEDA_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  check_writable(self, "log_normal");
}

void check_geometric(const Tensor& self, double p) {
  TAEDA_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex() && self.dtype() != DType::Bool, "\"",
                              kernel_name("geometric", self.device()), "\" not implemented for '",
                              self.dtype(), "'");
  check_no_internal_overlap(self);
}

void check_bernoulli(const Tensor& self, double p) {
  TAEDA_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"",
                              kernel_name("bernoulli_scalar", self.device()),
                              "_\" not implemented for '", self.dtype(), "'");
  check_no_internal_overlap(self);
}

void check_bernoulli(const Tensor& self, const Tensor& p) {
  TAEDA_CHECK_NOT_IMPLEMENTED(p.is_floating_point(), "\"",
                              kernel_name("bernoulli_tensor", self.device()),
                              "_p_\" not implemented for '", p.dtype(), "'");
  check_no_internal_overlap(self);
}

void check_integers(const Tensor& self) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"random_\" not implemented for '", self.dtype(),
                              "'");
  check_no_internal_overlap(self);
}

namespace {

// Beyond a floating dtype's last integer not every one is a number of it.
void warn_of_gaps(DType dtype, const char* end, int64_t value) {
  const int64_t last = last_integer(dtype);
  if (!is_floating(dtype) || (value >= -last && value <= last)) return;
  const std::string power = str("2^", digits_of(dtype));
  warn(str(end, " is out of bounds [-(", power, "), ", power, "]. Due to precision limitations ",
           bounds_of(dtype).name,
           " can support discrete uniform distribution only within this range."));
}

}  // namespace

void check_range(DType dtype, int64_t from, int64_t to) {
  TAEDA_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from,
              " >= to=", to);
  check_from(dtype, from);
  const Bounds b = bounds_of(dtype);
  TAEDA_CHECK(static_cast<double>(to - 1) >= b.low && static_cast<double>(to - 1) <= b.high,
              "to - 1 is out of bounds for ", b.name);
  warn_of_gaps(dtype, "from", from);
  warn_of_gaps(dtype, "to - 1", to - 1);
}

namespace {

// Numbers of the dtype beside an integer of this size differ by so much.
double step_at(DType dtype, int64_t value) {
  const int bits =
      std::bit_width(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  return std::ldexp(1.0, bits - digits_of(dtype));
}

}  // namespace

int64_t narrow_start(DType dtype, int64_t from) {
  if (!is_floating(dtype)) return from;
  const double first = rounded(dtype, from + 1);
  if (static_cast<__int128>(first) >= from) return from;
  return static_cast<int64_t>(first + step_at(dtype, from + 1));
}

void narrow_range(DType dtype, int64_t& from, int64_t& to) {
  if (!is_floating(dtype)) return;
  from = narrow_start(dtype, from);
  const double last = rounded(dtype, to - 1);
  if (static_cast<__int128>(last) >= to) to = static_cast<int64_t>(last - step_at(dtype, to - 1));
}

void check_start(DType dtype, int64_t from) {
  if (from == std::numeric_limits<int64_t>::min()) {
    TAEDA_CHECK(dtype == DType::Int64 || dtype == DType::Double || dtype == DType::Float ||
                    dtype == DType::BFloat16,
                "random_full_64_bits_range_kernel_cpu handles only int64, double, float and "
                "bfloat16, got ",
                dtype);
    return;
  }
  check_from(dtype, from);
  warn_of_gaps(dtype, "from", from);
  const int64_t last = last_integer(dtype);
  TAEDA_CHECK(from <= last,
              "random_ expects 'from' to be less than or equal to 'to_inc' but got from=", from,
              " > to_inc=", last);
}

}  // namespace taeda
