// Bodies of reductions read with vectors return the bits of the same bodies read with symbols.
#include "taeda/kernel/reduce.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "taeda/base/str.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"

namespace taeda::kernel::test {
namespace {

// The results of a reduction of x in the kernel IR.
template <class T>
std::vector<T> interpreted(const std::string& name, const std::vector<T>& x, int results) {
  const std::string dtype = sizeof(T) == 4 ? "float32" : "float64";
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  std::string text = "kernel f(n)\n", stores;
  for (int r = 0; r < results; ++r) text += str("  buffer y", r, " ", dtype, "[1]\n");
  text += str("  buffer x ", dtype, "[n]\n  value %0 = load x[i] : ", type, "\n");
  for (int r = 0; r < results; ++r) {
    text += str("  value %", r + 1, " = state ", r, " : ", type, "\n");
    stores += str("    store y", r, "[o] = %", r + 1, "\n");
  }
  text += str("  loop o < 1\n    loop i < n reduced\n      reduce ", name, "(%0) over i -> 0\n");
  const Kernel kernel = parse_kernel(text + stores);
  std::vector<T> made(results);
  std::vector<char*> buffers;
  for (T& value : made) buffers.push_back(reinterpret_cast<char*>(&value));
  buffers.push_back(reinterpret_cast<char*>(const_cast<T*>(x.data())));
  const int64_t n = static_cast<int64_t>(x.size());
  int64_t error[2] = {};
  TileInterpreter(kernel).run(0, LaunchArguments{buffers.data(), &n, nullptr, error}, 0, 1);
  return made;
}

template <class Body, class T>
std::vector<T> eager(const std::vector<T>& x) {
  using V = typename ReduceVec<T>::Single;
  const Elements<T> elements{x.data()};
  const auto state = td_tree<TreeBody<Body, V>, TreeBody<Body, typename ReduceVec<T>::Wide>>(
      TreeValues<Body, T, Elements<T>>{elements}, static_cast<int64_t>(x.size()));
  if constexpr (requires { Body::template finish<V>(state); })
    return {Body::template finish<V>(state).raw};
  else
    return std::apply([&](auto... part) { return std::vector<T>{(state.*part).raw...}; },
                      state.parts());
}

template <class Body, class T>
void check(const std::string& name) {
  std::mt19937 random(5);
  std::normal_distribution<T> normal;
  for (size_t n : {1, 5, 16, 17, 1000, 4096, 4097, 30000}) {
    std::vector<T> x(n);
    for (T& value : x) value = normal(random);
    const std::vector<T> mine = eager<Body>(x);
    EXPECT_EQ(mine, interpreted(name, x, static_cast<int>(mine.size()))) << name << " of " << n;
  }
}

template <class T>
void check_all() {
  check<SumBody, T>("sum");
  check<ProdBody, T>("prod");
  check<ExtremeBody<true>, T>("max");
  check<ExtremeBody<false>, T>("min");
  check<MomentsBody, T>("moments");
  check<LogSumExpBody, T>("logsumexp");
}

TEST(ReduceBodies, VectorsAndSymbolsReadTheSameArithmetic) {
  check_all<float>();
  check_all<double>();
}

// The moments of a chunk from sums are those of its elements one by one, but for rounding.
TEST(ReduceBodies, MomentsOfSums) {
  using V = Vec<One<double>>;
  const std::vector<double> x = {3, 1, 4, 1, 5, 9, 2, 6};
  const double center = 3.5;
  double deviations = 0, squares = 0;
  for (double value : x) {
    deviations += MomentsBody::deviation(V(value), V(center)).raw;
    squares += MomentsBody::squared_deviation(V(value), V(center)).raw;
  }
  const auto made = MomentsBody::of_sums<V>(8.0, center, deviations, squares);
  EXPECT_DOUBLE_EQ(made.count.raw, 8);
  EXPECT_DOUBLE_EQ(made.mean.raw, 3.875);
  EXPECT_DOUBLE_EQ(made.squares.raw, 52.875);
}

}  // namespace
}  // namespace taeda::kernel::test
