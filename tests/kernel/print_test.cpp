// Printed CPU code, compiled here and loaded, returns the bits of the eager kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "bodies.h"
#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/vec.h"
#include "tests/kernel/body_samples.h"
#include "tests/kernel/compile.h"

namespace taeda::kernel::test {

using TileFn = void (*)(char* const*, int64_t, const void*);

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>)
    return Type::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::F64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Type::I64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return Type::U64;
  else if constexpr (std::is_same_v<T, Complex<float>>)
    return Type::C64;
  else
    return Type::C128;
}

template <class T>
T sample(int i, int which) {
  double x = std::sin(i * 0.7 + which) * (1 + i % 13);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(i % 17 == 3 ? 0 : static_cast<int64_t>(x * 1000));
  } else if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {T(0),   T(-0.0), T(INFINITY), T(-INFINITY),
                         T(NAN), T(1e30), T(-1e-40),   T(1)};
    return i % 23 == 5 ? special[(i / 23 + which) % 8] : static_cast<T>(x);
  } else {
    return T(static_cast<decltype(T().re)>(x), static_cast<decltype(T().re)>(std::cos(i * 1.3)));
  }
}

// One body of one compute type: its printed function and the eager call to compare with.
struct Case {
  std::string name;
  std::string source;
  TileFn eager;
  TracedBody body;
  Type result;
  void (*fill)(std::vector<char>&, int which, Type type, int64_t n);
};

template <class T>
void fill(std::vector<char>& memory, int which, Type type, int64_t n) {
  memory.resize(n * type_size(type));
  for (int64_t i = 0; i < n; ++i) {
    if (type == Type::Mask) {
      memory[i] = (i * 7 + which) % 3 == 0;
    } else {
      T value = sample<T>(i, which);
      std::memcpy(&memory[i * sizeof(T)], &value, sizeof(T));
    }
  }
}

template <class Body, class T>
Case make_case(const std::string& name) {
  ExprGraph graph;
  TracedBody body = trace_body<Body>(graph, type_of<T>());
  return {name, print_cpu_tile(graph, body, name), &run_tile<Body, T>,
          body, graph.node(body.root).type,        &fill<T>};
}

#define TAEDA_CASE(Body, T) make_case<Body, T>(#Body "_" #T)

std::vector<Case> all_cases() {
  using c64 = Complex<float>;
  using c128 = Complex<double>;
  return {TAEDA_CASE(Silu, float),
          TAEDA_CASE(Silu, double),
          TAEDA_CASE(Gelu, float),
          TAEDA_CASE(Gelu, double),
          TAEDA_CASE(Softplus, float),
          TAEDA_CASE(Softplus, double),
          TAEDA_CASE(AddScaled, float),
          TAEDA_CASE(AddScaled, double),
          TAEDA_CASE(AddScaled, int64_t),
          TAEDA_CASE(Lt, float),
          TAEDA_CASE(Lt, uint64_t),
          TAEDA_CASE(Where, float),
          TAEDA_CASE(Where, double),
          TAEDA_CASE(MaskMix, float),
          TAEDA_CASE(MaskMix, double),
          TAEDA_CASE(Trigonometry, float),
          TAEDA_CASE(Trigonometry, double),
          TAEDA_CASE(Hyperbolic, float),
          TAEDA_CASE(Hyperbolic, double),
          TAEDA_CASE(Powers, float),
          TAEDA_CASE(Powers, double),
          TAEDA_CASE(Rounding, float),
          TAEDA_CASE(Rounding, double),
          TAEDA_CASE(Remainders, float),
          TAEDA_CASE(Remainders, double),
          TAEDA_CASE(Remainders, int64_t),
          TAEDA_CASE(Special, float),
          TAEDA_CASE(Special, double),
          TAEDA_CASE(Called, float),
          TAEDA_CASE(Called, double),
          TAEDA_CASE(CalledIntegers, int64_t),
          TAEDA_CASE(CalledIntegers, uint64_t),
          TAEDA_CASE(Fused, float),
          TAEDA_CASE(Bits, int64_t),
          TAEDA_CASE(Bits, uint64_t),
          TAEDA_CASE(ComplexMix, c64),
          TAEDA_CASE(ComplexMix, c128),
          TAEDA_CASE(Modulus, c64),
          TAEDA_CASE(Modulus, c128)};
}

TEST(PrintCpu, TilesReturnTheBitsOfEagerKernels) {
  constexpr int64_t kSize = 1003;
  std::vector<Case> cases = all_cases();
  std::string unit = cpu_prelude();
  for (const Case& one : cases) unit += one.source;
  const auto module = compile(unit);
  for (const Case& one : cases) {
    auto printed = module->function<TileFn>(one.name);
    std::vector<std::vector<char>> inputs(one.body.input_types.size());
    std::vector<char*> ptrs(1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      one.fill(inputs[i], static_cast<int>(i), one.body.input_types[i], kSize);
      ptrs.push_back(inputs[i].data());
    }
    std::vector<char> scalars;
    one.fill(scalars, 1, one.body.input_types.back(), 4);
    std::vector<char> expected(kSize * type_size(one.result), 77), got = expected;
    ptrs[0] = expected.data();
    one.eager(ptrs.data(), kSize, scalars.data());
    ptrs[0] = got.data();
    printed(ptrs.data(), kSize, scalars.data());
    const int size = type_size(one.result);
    for (int64_t i = 0; i < kSize; ++i)
      ASSERT_TRUE(taeda::testing::same_value(one.result, &expected[i * size], &got[i * size]))
          << one.name << " differs at element " << i;
  }
}

TEST(PrintCpu, TheTextOfCalledFunctionsStandsWhereTheyAreCalled) {
  constexpr const char* kBessel = "double td_bessel_j0_at(double x) {";
  constexpr const char* kDivisors = "td_ulong td_gcd_at(td_ulong a, td_ulong b) {";
  EXPECT_EQ(cpu_prelude().find(kBessel), std::string::npos);
  const std::string called = make_case<Called, float>("called").source;
  EXPECT_NE(called.find(kBessel), std::string::npos);
  EXPECT_EQ(called.find(kDivisors), std::string::npos);
  const std::string other = make_case<Special, float>("special").source;
  EXPECT_EQ(other.find(kBessel), std::string::npos);
}

TEST(PrintCuda, CallsCarryTheirText) {
  ExprGraph graph;
  const std::string text = print_cuda_tile(graph, trace_body<Called>(graph, Type::F32), "called");
  EXPECT_NE(text.find("double td_bessel_j0_at(double x) {"), std::string::npos);
  EXPECT_NE(text.find(" = td_bessel_j0(v"), std::string::npos);
}

TEST(PrintCuda, TileIsAGridStrideKernel) {
  ExprGraph graph;
  TracedBody body = trace_body<AddScaled>(graph, Type::F32);
  EXPECT_EQ(print_cuda_tile(graph, body, "add_scaled"),
            "extern \"C\" __global__ void add_scaled(float* b0, const float* b1, const float* b2, "
            R"(td_long n, float u0) {
  for (td_long i = (td_long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (td_long)gridDim.x * blockDim.x) {
    const float v0 = b1[i];
    const float v1 = b2[i];
    const float v2 = u0;
    const float v3 = v1 * v2;
    const float v4 = v0 + v3;
    b0[i] = v4;
  }
}
)");
}

}  // namespace taeda::kernel::test
