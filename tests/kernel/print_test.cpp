// Printed CPU code, compiled here and loaded, returns the bits of the eager kernels.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "bodies.h"
#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/reduce.h"
#include "taeda/kernel/vec.h"
#include "tests/kernel/body_samples.h"

namespace taeda::kernel::test {

using TileFn = void (*)(char* const*, int64_t, const void*);
using KernelFn = void (*)(char* const*, const int64_t*, const void*, int64_t, int64_t);

// Compiles a translation unit with the instruction set of this test and returns its handle.
void* compile(const std::string& source) {
  char folder[] = "/tmp/taeda_print_XXXXXX";
  if (!mkdtemp(folder)) throw std::runtime_error("no temporary folder");
  std::string path = std::string(folder) + "/unit";
  std::ofstream(path + ".cpp") << source;
  std::string flags = "-std=c++20 -O2 -fPIC -shared -ffp-contract=off -fwrapv -fno-math-errno";
#if defined(__AVX512F__)
  flags += " -march=x86-64-v4";
#elif defined(__AVX2__)
  flags += " -march=x86-64-v3";
#endif
  const char* compiler = std::getenv("CXX");  // a cross compiler under emulation
  std::string command = std::string(compiler ? compiler : "g++") + " " + flags + " -o " + path +
                        ".so " + path + ".cpp 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot compile " + path);
  void* handle = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  std::filesystem::remove_all(folder);
  return handle;
}

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
  return {TAEDA_CASE(Silu, float),          TAEDA_CASE(Silu, double),
          TAEDA_CASE(Gelu, float),          TAEDA_CASE(Gelu, double),
          TAEDA_CASE(Softplus, float),      TAEDA_CASE(Softplus, double),
          TAEDA_CASE(AddScaled, float),     TAEDA_CASE(AddScaled, double),
          TAEDA_CASE(AddScaled, int64_t),   TAEDA_CASE(Lt, float),
          TAEDA_CASE(Lt, uint64_t),         TAEDA_CASE(Where, float),
          TAEDA_CASE(Where, double),        TAEDA_CASE(MaskMix, float),
          TAEDA_CASE(MaskMix, double),      TAEDA_CASE(Trigonometry, float),
          TAEDA_CASE(Trigonometry, double), TAEDA_CASE(Hyperbolic, float),
          TAEDA_CASE(Hyperbolic, double),   TAEDA_CASE(Powers, float),
          TAEDA_CASE(Powers, double),       TAEDA_CASE(Rounding, float),
          TAEDA_CASE(Rounding, double),     TAEDA_CASE(Remainders, float),
          TAEDA_CASE(Remainders, double),   TAEDA_CASE(Remainders, int64_t),
          TAEDA_CASE(Special, float),       TAEDA_CASE(Special, double),
          TAEDA_CASE(Fused, float),         TAEDA_CASE(Bits, int64_t),
          TAEDA_CASE(Bits, uint64_t),       TAEDA_CASE(ComplexMix, c64),
          TAEDA_CASE(ComplexMix, c128),     TAEDA_CASE(Modulus, c64),
          TAEDA_CASE(Modulus, c128)};
}

TEST(PrintCpu, TilesReturnTheBitsOfEagerKernels) {
  constexpr int64_t kSize = 1003;
  std::vector<Case> cases = all_cases();
  std::string unit = cpu_prelude();
  for (const Case& one : cases) unit += one.source;
  void* handle = compile(unit);
  for (const Case& one : cases) {
    auto printed = reinterpret_cast<TileFn>(dlsym(handle, one.name.c_str()));
    ASSERT_TRUE(printed) << one.name;
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
  dlclose(handle);
}

// y[i] = scale * sum_j exp(x[i][j]), rows contiguous.
LoopKernel row_kernel(ExprGraph& graph, Type type) {
  NodeId x = graph.input(0, type);
  LoopKernel kernel;
  kernel.name = str("row_sum_exp_", type_name(type));
  kernel.num_params = 2;
  kernel.num_reduced = 1;
  kernel.axes = {{"i0", Dim::parameter(0)}, {"i1", Dim::parameter(1)}};
  kernel.buffers = {{"y", type}, {"x", type}};
  kernel.loads = {{0, {1, {Dim::parameter(1), Dim::constant(1)}, Dim::constant(0)}}};
  kernel.reductions = {{ReduceOp::Sum, graph.apply(Op::Exp, x), 1}};
  NodeId root = graph.apply(Op::Mul, graph.input(1, type), graph.uniform(0, type));
  kernel.stores = {{{0, {Dim::constant(1), Dim::constant(0)}, Dim::constant(0)}, root}};
  return kernel;
}

template <class T>
void check_row_kernel(void* handle) {
  auto printed = reinterpret_cast<KernelFn>(
      dlsym(handle, str("row_sum_exp_", type_name(type_of<T>())).c_str()));
  ASSERT_TRUE(printed);
  for (int64_t columns : {1, 7, 16, 100, 4096, 4097, 20001}) {
    const int64_t rows = 3;
    std::vector<T> x(rows * columns), e(columns), y(rows, T(-1));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(i * 0.37) * 3);
    int64_t params[] = {rows, columns};
    alignas(16) char scalars[16] = {};
    T scale = T(1.25);
    std::memcpy(scalars, &scale, sizeof(T));
    char* ptrs[] = {reinterpret_cast<char*>(y.data()), reinterpret_cast<char*>(x.data())};
    printed(ptrs, params, scalars, 0, rows);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t j = 0; j < columns; ++j) e[j] = td_exp(x[row * columns + j]);
      EXPECT_EQ(y[row], (reduce_run<Add, T>(e.data(), columns, T(0)) * scale)) << columns;
    }
  }
}

// z[i][j] = x[i][j] < bias[i] ? x[i][j] : w[j][i]: a broadcast and a transposed operand.
LoopKernel mixed_kernel(ExprGraph& graph) {
  NodeId x = graph.input(0, Type::F32), bias = graph.input(1, Type::F32);
  NodeId w = graph.input(2, Type::F32);
  LoopKernel kernel;
  kernel.name = "mixed";
  kernel.num_params = 2;
  kernel.axes = {{"i0", Dim::parameter(0)}, {"i1", Dim::parameter(1)}};
  kernel.buffers = {{"z", Type::F32}, {"x", Type::F32}, {"bias", Type::F32}, {"w", Type::F32}};
  Dim one = Dim::constant(1), zero = Dim::constant(0);
  kernel.loads = {{0, {1, {Dim::parameter(1), one}, zero}},
                  {1, {2, {one, zero}, zero}},
                  {2, {3, {one, Dim::parameter(0)}, zero}}};
  NodeId root = graph.apply(Op::Where, graph.apply(Op::Lt, x, bias), x, w);
  kernel.stores = {{{0, {Dim::parameter(1), one}, zero}, root}};
  return kernel;
}

TEST(PrintCpu, KernelsFollowTheLoopNestAndTheReductionTree) {
  ExprGraph graph;
  std::string unit = cpu_prelude() + print_cpu_kernel(row_kernel(graph, Type::F32), graph) +
                     print_cpu_kernel(row_kernel(graph, Type::F64), graph) +
                     print_cpu_kernel(mixed_kernel(graph), graph);
  void* handle = compile(unit);
  check_row_kernel<float>(handle);
  check_row_kernel<double>(handle);
  const int64_t rows = 5, columns = 11;
  std::vector<float> x(rows * columns), bias(rows), w(rows * columns), z(rows * columns, -1);
  for (int i = 0; i < rows * columns; ++i) x[i] = std::sin(i), w[i] = 100 + i;
  for (int i = 0; i < rows; ++i) bias[i] = i * 0.2f - 0.3f;
  auto printed = reinterpret_cast<KernelFn>(dlsym(handle, "mixed"));
  ASSERT_TRUE(printed);
  int64_t params[] = {rows, columns};
  char* ptrs[] = {reinterpret_cast<char*>(z.data()), reinterpret_cast<char*>(x.data()),
                  reinterpret_cast<char*>(bias.data()), reinterpret_cast<char*>(w.data())};
  printed(ptrs, params, nullptr, 1, rows);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float value = x[i * columns + j];
      float expected = value < bias[i] ? value : w[j * rows + i];
      EXPECT_EQ(z[i * columns + j], i == 0 ? -1.0f : expected) << i << " " << j;
    }
  }
  dlclose(handle);
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
