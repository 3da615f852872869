// Accuracy of math.h against quad or extended precision, and its special values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "taeda/kernel/math.h"
#include "taeda/kernel/math_random.h"

namespace taeda::kernel::test {

using Wide = long double;

// The distance of got from the exact value, in units of the last place of the exact value.
template <class S>
double ulp_error(S got, Wide exact) {
  using Limits = std::numeric_limits<S>;
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) == std::isnan(exact) ? 0 : 1e30;
  if (std::isinf(static_cast<S>(exact)) || std::isinf(got)) {
    if (static_cast<S>(exact) == got) return 0;
    // Rounding to infinity one step early is an error of an ulp.
    return fabsl(exact) >= Limits::max() * (1 - static_cast<Wide>(Limits::epsilon())) ? 1 : 1e30;
  }
  int exponent;
  frexpl(exact, &exponent);
  exponent = std::max(exponent, Limits::min_exponent);
  return static_cast<double>(fabsl(got - exact) / ldexpl(1, exponent - Limits::digits));
}

template <class S>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = td_f32;
};
template <>
struct VectorOf<double> {
  using type = td_f64;
};

// Samples of [low, high]: linear, or logarithmic with both signs where low is positive and wanted.
enum class Spread { Linear, Positive, BothSigns };

template <class S>
std::vector<S> samples(double low, double high, Spread spread) {
  std::mt19937_64 random(12345);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<S> values(24000);
  for (S& value : values) {
    double t = unit(random);
    double x = spread == Spread::Linear ? low + (high - low) * t
                                        : std::exp2(std::log2(low) * (1 - t) + std::log2(high) * t);
    if (spread == Spread::BothSigns && (random() & 1)) x = -x;
    value = static_cast<S>(x);
  }
  return values;
}

// Runs the vector function over the samples, checks that the scalar one returns the same bits, and
// returns the largest error.
template <class S, class Vector, class Scalar>
double worst_ulp(Vector vector, Scalar scalar, Wide (*exact)(Wide), const std::vector<S>& inputs,
                 S* where) {
  using V = typename VectorOf<S>::type;
  constexpr int kWidth = sizeof(V) / sizeof(S);
  double worst = 0;
  for (size_t i = 0; i + kWidth <= inputs.size(); i += kWidth) {
    V x;
    std::memcpy(&x, &inputs[i], sizeof(x));
    V y = vector(x);
    for (int lane = 0; lane < kWidth; ++lane) {
      S one = scalar(inputs[i + lane]), got = y[lane];
      EXPECT_EQ(std::memcmp(&one, &got, sizeof(S)), 0) << "lanes differ at " << inputs[i + lane];
      double error = ulp_error<S>(got, exact(inputs[i + lane]));
      if (error > worst) worst = error, *where = inputs[i + lane];
    }
  }
  return worst;
}

template <class S, class Vector, class Scalar>
void check(const char* name, Vector vector, Scalar scalar, Wide (*exact)(Wide), double low,
           double high, Spread spread, double limit) {
  S where = 0;
  double worst = worst_ulp<S>(vector, scalar, exact, samples<S>(low, high, spread), &where);
  std::printf("  %-8s %s [%g, %g] %.3f ulp at %.9g\n", name, sizeof(S) == 4 ? "f32" : "f64", low,
              high, worst, static_cast<double>(where));
  EXPECT_LE(worst, limit) << name << " at " << where;
}

#define TAEDA_CHECK_ULP(name, exact, low, high, spread)                                           \
  check<float>(                                                                                   \
      #name, [](td_f32 x) { return td_##name(x); }, [](float x) { return td_##name(x); }, exact,  \
      low, high, Spread::spread, 2.0);                                                            \
  check<double>(                                                                                  \
      #name, [](td_f64 x) { return td_##name(x); }, [](double x) { return td_##name(x); }, exact, \
      low, high, Spread::spread, 2.0)

TEST(Math, Exponentials) {
  TAEDA_CHECK_ULP(exp, expl, -104, 89, Linear);
  TAEDA_CHECK_ULP(exp, expl, -745, 710, Linear);
  TAEDA_CHECK_ULP(exp, expl, 1e-20, 1, BothSigns);
  TAEDA_CHECK_ULP(exp2, exp2l, -150, 128, Linear);
  TAEDA_CHECK_ULP(exp2, exp2l, -1075, 1024, Linear);
  TAEDA_CHECK_ULP(expm1, expm1l, 1e-40, 100, BothSigns);
  TAEDA_CHECK_ULP(expm1, expm1l, -2, 2, Linear);
}

TEST(Math, Hyperbolic) {
  TAEDA_CHECK_ULP(tanh, tanhl, -2, 2, Linear);
  TAEDA_CHECK_ULP(tanh, tanhl, 1e-40, 100, BothSigns);
  TAEDA_CHECK_ULP(sinh, sinhl, -2, 2, Linear);
  TAEDA_CHECK_ULP(sinh, sinhl, 1e-40, 700, BothSigns);
  TAEDA_CHECK_ULP(cosh, coshl, -2, 2, Linear);
  TAEDA_CHECK_ULP(cosh, coshl, -711, 711, Linear);
  TAEDA_CHECK_ULP(asinh, asinhl, -3, 3, Linear);
  TAEDA_CHECK_ULP(asinh, asinhl, 1e-40, 1e38, BothSigns);
  TAEDA_CHECK_ULP(acosh, acoshl, 1, 1.01, Linear);
  TAEDA_CHECK_ULP(acosh, acoshl, 1, 1e38, Positive);
  TAEDA_CHECK_ULP(atanh, atanhl, -1, 1, Linear);
  TAEDA_CHECK_ULP(atanh, atanhl, 1e-40, 1, BothSigns);
}

TEST(Math, Logarithms) {
  TAEDA_CHECK_ULP(log, logl, 1e-44, 3e38, Positive);
  TAEDA_CHECK_ULP(log, logl, 0.4, 2.5, Linear);
  TAEDA_CHECK_ULP(log2, log2l, 1e-44, 3e38, Positive);
  TAEDA_CHECK_ULP(log2, log2l, 0.4, 2.5, Linear);
  TAEDA_CHECK_ULP(log10, log10l, 1e-44, 3e38, Positive);
  TAEDA_CHECK_ULP(log10, log10l, 0.4, 2.5, Linear);
  TAEDA_CHECK_ULP(log1p, log1pl, 1e-40, 1e38, Positive);
  TAEDA_CHECK_ULP(log1p, log1pl, -1, 3, Linear);
}

TEST(Math, Trigonometric) {
  TAEDA_CHECK_ULP(sin, sinl, -10, 10, Linear);
  TAEDA_CHECK_ULP(sin, sinl, 1e-40, 1e38, BothSigns);
  TAEDA_CHECK_ULP(cos, cosl, -10, 10, Linear);
  TAEDA_CHECK_ULP(cos, cosl, 1e-40, 1e38, BothSigns);
  TAEDA_CHECK_ULP(tan, tanl, -10, 10, Linear);
  TAEDA_CHECK_ULP(tan, tanl, 1e-40, 1e38, BothSigns);
  TAEDA_CHECK_ULP(asin, asinl, -1, 1, Linear);
  TAEDA_CHECK_ULP(asin, asinl, 1e-40, 1, BothSigns);
  TAEDA_CHECK_ULP(acos, acosl, -1, 1, Linear);
  TAEDA_CHECK_ULP(atan, atanl, -5, 5, Linear);
  TAEDA_CHECK_ULP(atan, atanl, 1e-40, 1e38, BothSigns);
}

// Double arguments where 1100 bits of 2/pi are needed, the worst known one included.
TEST(Math, HugeAngles) {
  for (double x : {6381956970095103.0 * 0x1p797, 1e300, 1.7e308, 0x1p1023, 1e22, 4.5e15, 0x1p27}) {
    EXPECT_LE(ulp_error(td_sin(x), sinl(x)), 2) << x;
    EXPECT_LE(ulp_error(td_cos(x), cosl(x)), 2) << x;
    EXPECT_LE(ulp_error(td_tan(-x), tanl(-x)), 2) << x;
  }
}

Wide erfinv_exact(Wide y) {
  Wide a = fabsl(y), x = a < 0.9L ? a * 0.886L : sqrtl(-logl(1 - a));
  if (a == 0) return y;
  for (int i = 0; i < 200; ++i) {
    Wide excess = a < 0.5L ? erfl(x) - a : (1 - a) - erfcl(x);
    Wide step = excess / (1.12837916709551257389615890312154517L * expl(-x * x));
    x -= std::min(std::max(step, -0.5L), 0.5L);
    if (fabsl(step) < 1e-18L * x) break;
  }
  return y < 0 ? -x : x;
}

TEST(Math, ErrorFunctions) {
  TAEDA_CHECK_ULP(erf, erfl, -6, 6, Linear);
  TAEDA_CHECK_ULP(erf, erfl, 1e-40, 10, BothSigns);
  TAEDA_CHECK_ULP(erfc, erfcl, -6, 28, Linear);
  TAEDA_CHECK_ULP(erfc, erfcl, 0.3, 3, Positive);
  TAEDA_CHECK_ULP(erfinv, erfinv_exact, -1, 1, Linear);
  TAEDA_CHECK_ULP(erfinv, erfinv_exact, 0.97, 1, Linear);
}

// Double lgamma is the one function with a wider bound; where it crosses zero left of the origin
// only the absolute error is bounded.
TEST(Math, Gamma) {
  auto vector = [](td_f64 x) { return td_lgamma(x); };
  auto scalar = [](double x) { return td_lgamma(x); };
  check<double>("lgamma", vector, scalar, lgammal, 1e-300, 1e300, Spread::Positive, 3.0);
  check<double>("lgamma", vector, scalar, lgammal, 0, 12, Spread::Linear, 3.0);
  check<float>(
      "lgamma", [](td_f32 x) { return td_lgamma(x); }, [](float x) { return td_lgamma(x); },
      lgammal, -10, 20, Spread::Linear, 1.0);
  for (double x : samples<double>(-10, 0, Spread::Linear)) {
    EXPECT_NEAR(td_lgamma(x), static_cast<double>(lgammal(x)), 1e-14 * std::max(1.0, std::abs(x)));
  }
  const double values[][2] = {{1, -0.57721566490153286061}, {0.5, -1.9635100260214234794},
                              {10, 2.2517525890667211077},  {-1.5, 0.70315664064524318723},
                              {1e5, 11.512920464961896},    {1e-5, -100000.57719921567}};
  for (auto [x, expected] : values) {
    EXPECT_NEAR(td_digamma(x), expected, 4e-16 * std::max(1.0, std::abs(expected))) << x;
  }
}

template <class S>
void check_pow(double exponent_range) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  double worst = 0;
  for (int i = 0; i < 60000; ++i) {
    S x = static_cast<S>(std::exp2(unit(random) * 40 - 20));
    double reach = i % 2 ? 10 : exponent_range / std::fabs(std::log2(x));
    S y = static_cast<S>((unit(random) * 2 - 1) * reach);
    worst = std::max(worst, ulp_error<S>(td_pow(x, y), powl(x, y)));
  }
  std::printf("  pow      %s %.3f ulp\n", sizeof(S) == 4 ? "f32" : "f64", worst);
  EXPECT_LE(worst, 2);
}
TEST(Math, Pow) {
  check_pow<float>(128);
  check_pow<double>(1024);
}

template <class S>
void check_two_arguments() {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(0, 1);
  const double range = sizeof(S) == 4 ? 240 : 2000;
  for (int i = 0; i < 60000; ++i) {
    S x = static_cast<S>(std::exp2((unit(random) - 0.5) * range) * (i & 1 ? 1 : -1));
    S y = static_cast<S>(std::exp2((unit(random) - 0.5) * range) * (i & 2 ? 1 : -1));
    if (i & 4) y = static_cast<S>(x * unit(random) * 3);
    ASSERT_LE(ulp_error<S>(td_atan2(y, x), atan2l(y, x)), 2) << y << " " << x;
    ASSERT_LE(ulp_error<S>(td_hypot(y, x), hypotl(y, x)), 2) << y << " " << x;
    S remainder = td_fmod(x, y);
    ASSERT_EQ(remainder, std::fmod(x, y)) << x << " " << y;
    ASSERT_EQ(std::signbit(remainder), std::signbit(x));
  }
}
TEST(Math, TwoArguments) {
  check_two_arguments<float>();
  check_two_arguments<double>();
}

// The C functions of this platform decide what the special values are.
template <class S>
void check_special_values() {
  using Limits = std::numeric_limits<S>;
  const S inf = Limits::infinity(), tiny = Limits::denorm_min(), nan = Limits::quiet_NaN();
  const S values[] = {S(0), S(-0.0), inf,  -inf,          nan,           tiny,  -tiny,
                      S(1), S(-1),   S(2), Limits::max(), Limits::min(), S(-3), S(0.5)};
  auto same = [](S a, S b) {
    return (std::isnan(a) && std::isnan(b)) ||
           (std::signbit(a) == std::signbit(b) &&
            (a == b || ulp_error<S>(a, static_cast<Wide>(b)) <= 2));
  };
#define TAEDA_SAME(name) \
  for (S x : values) EXPECT_TRUE(same(td_##name(x), std::name(x))) << #name << "(" << x << ")"
  TAEDA_SAME(exp);
  TAEDA_SAME(exp2);
  TAEDA_SAME(expm1);
  TAEDA_SAME(log);
  TAEDA_SAME(log2);
  TAEDA_SAME(log10);
  TAEDA_SAME(log1p);
  TAEDA_SAME(sin);
  TAEDA_SAME(cos);
  TAEDA_SAME(tan);
  TAEDA_SAME(asin);
  TAEDA_SAME(acos);
  TAEDA_SAME(atan);
  TAEDA_SAME(sinh);
  TAEDA_SAME(cosh);
  TAEDA_SAME(tanh);
  TAEDA_SAME(asinh);
  TAEDA_SAME(acosh);
  TAEDA_SAME(atanh);
  TAEDA_SAME(erf);
  TAEDA_SAME(erfc);
  TAEDA_SAME(lgamma);
  TAEDA_SAME(floor);
  TAEDA_SAME(ceil);
  TAEDA_SAME(trunc);
  TAEDA_SAME(sqrt);
#undef TAEDA_SAME
  for (S x : values) {
    EXPECT_TRUE(same(td_round(x), std::nearbyint(x))) << x;
    for (S y : values) {
      EXPECT_TRUE(same(td_pow(x, y), std::pow(x, y))) << "pow " << x << " " << y;
      EXPECT_TRUE(same(td_atan2(x, y), std::atan2(x, y))) << "atan2 " << x << " " << y;
      EXPECT_TRUE(same(td_fmod(x, y), std::fmod(x, y))) << "fmod " << x << " " << y;
    }
  }
  EXPECT_EQ(td_erfinv(S(1)), inf);
  EXPECT_EQ(td_erfinv(S(-1)), -inf);
  EXPECT_TRUE(std::isnan(td_erfinv(S(1.5))));
  EXPECT_EQ(td_round(S(2.5)), S(2));
  EXPECT_EQ(td_round(S(-3.5)), S(-4));
  EXPECT_EQ(td_remainder(S(-7), S(3)), S(2));
  EXPECT_EQ(td_div_floor(S(-7), S(3)), S(-3));
}
TEST(Math, SpecialValues) {
  check_special_values<float>();
  check_special_values<double>();
}

// Elements drawn at once are those that are drawn one by one.
template <int kCount>
void check_packs(td_ulong seed, td_ulong offset) {
  for (td_long first = 0; first < 64; first += kCount) {
    td_long words[kCount];
    float uniforms[kCount], normals[kCount];
    td_draw_word_pack(words, seed, offset, first);
    td_draw_uniform_pack(uniforms, seed, offset, first, 24);
    td_draw_normal_pack(normals, seed, offset, first);
    for (int i = 0; i < kCount; ++i) {
      EXPECT_EQ(words[i], td_draw_word(seed, offset, first + i));
      EXPECT_EQ(uniforms[i], td_draw_uniform(seed, offset, first + i, 24));
      EXPECT_EQ(normals[i], td_draw_normal<float>(seed, offset, first + i));
    }
  }
}
template <int kCount>
void check_wide_packs(td_ulong seed, td_ulong offset) {
  for (td_long first = 0; first < 64; first += kCount) {
    td_ulong integers[kCount];
    double uniforms[kCount], normals[kCount];
    td_draw_integer_pack(integers, seed, offset, first, 1000);
    td_draw_uniform53_pack(uniforms, seed, offset, first);
    td_draw_normal_pack(normals, seed, offset, first);
    for (int i = 0; i < kCount; ++i) {
      EXPECT_EQ(integers[i], td_draw_integer(seed, offset, first + i, 1000));
      EXPECT_EQ(uniforms[i], td_draw_uniform53(seed, offset, first + i));
      EXPECT_EQ(normals[i], td_draw_normal<double>(seed, offset, first + i));
    }
  }
}
TEST(Math, PacksOfRandomNumbersAreTheElements) {
  for (td_ulong offset : {td_ulong{0}, (td_ulong{1} << 40) + 3}) {
    check_packs<4>(~td_ulong{0}, offset);
    check_packs<8>(7, offset);
    check_packs<16>(7, offset);
    check_wide_packs<2>(~td_ulong{0}, offset);
    check_wide_packs<4>(7, offset);
  }
}

// Machines give the NaN of an invalid operation different signs; no other result may follow it.
TEST(Math, SignOfNanStaysInside) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float angle : {nan, -nan}) {
    const td_c64 r = td_exp(td_c64{-inf, angle});
    EXPECT_EQ(r.re, 0);
    EXPECT_EQ(r.im, 0);
    EXPECT_FALSE(std::signbit(r.im));
  }
}

}  // namespace taeda::kernel::test
