// Every pointwise body printed for the CPU, compiled by the system compiler, against its eager
// tile.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "taeda/backends/cpu/pointwise/pointwise.h"
#include "taeda/kernel/print.h"
#include "taeda/ops/symbolic.h"
#include "tests/kernel/body_samples.h"

namespace taeda {
namespace {

constexpr int kNumTypes = 6;
using TileFn = void (*)(char* const*, int64_t, const void*);

// A cross compiler under emulation, else the system's.
std::string compiler() {
  const char* given = std::getenv("CXX");
  return given ? given : "g++";
}

std::string function_name(const SymbolicBody& b, int type) {
  std::string name = "tile_";
  for (const char* p = b.name; *p; ++p)
    name += std::isalnum(static_cast<unsigned char>(*p)) ? *p : '_';
  return name + "_" + std::to_string(type);
}

std::string compile_flags() {
  std::string flags = "-std=c++20 -O2 -ffp-contract=off -fno-math-errno -fwrapv -fPIC -shared -w";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    flags += " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    flags += " -mavx2 -mfma";
#endif
  return flags;
}

// One translation unit for the bodies with index % parts == part.
std::string print_unit(int part, int parts) {
  std::string text = kernel::cpu_prelude();
  const auto bodies = symbolic_bodies();
  for (size_t i = part; i < bodies.size(); i += parts)
    for (int t = 0; t < kNumTypes; ++t) {
      if (!bodies[i]->has(static_cast<kernel::Type>(t))) continue;
      kernel::ExprGraph graph;
      const kernel::TracedBody traced = bodies[i]->trace(graph, static_cast<kernel::Type>(t));
      text += kernel::print_cpu_tile(graph, traced, function_name(*bodies[i], t));
    }
  return text;
}

class PrintedBodies : public ::testing::Test {
 protected:
  static constexpr int kParts = 2;
  static void SetUpTestSuite() {
    char pattern[] = "/tmp/taeda_printed_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder = pattern;
    std::vector<std::thread> compilers;
    for (int part = 0; part < kParts; ++part)
      compilers.emplace_back([part] {
        const std::string path = folder + "/unit" + std::to_string(part);
        std::ofstream(path + ".cpp") << print_unit(part, kParts);
        status[part] = std::system((compiler() + " " + compile_flags() + " -o " + path + ".so " +
                                    path + ".cpp > " + path + ".log 2>&1")
                                       .c_str());
      });
    for (auto& c : compilers) c.join();
    for (int part = 0; part < kParts; ++part) {
      ASSERT_EQ(status[part], 0) << "see " << folder << "/unit" << part << ".log";
      handles[part] =
          dlopen((folder + "/unit" + std::to_string(part) + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(handles[part], nullptr) << dlerror();
    }
  }
  static void TearDownTestSuite() {
    if (!HasFailure()) std::system(("rm -rf " + folder).c_str());
  }
  static TileFn find(const std::string& name) {
    for (void* h : handles)
      if (void* f = h ? dlsym(h, name.c_str()) : nullptr) return reinterpret_cast<TileFn>(f);
    return nullptr;
  }
  static std::string folder;
  static int status[kParts];
  static void* handles[kParts];
};
std::string PrintedBodies::folder;
int PrintedBodies::status[kParts];
void* PrintedBodies::handles[kParts];

void compare(const SymbolicBody& body, kernel::Type type, TileFn printed) {
  kernel::ExprGraph graph;
  const kernel::TracedBody traced = body.trace(graph, type);
  const kernel::Type out_type = graph.node(traced.root).type;
  const TileFn eager = cpu::find_tile(body.name, static_cast<cpu::ComputeType>(type));
  ASSERT_NE(eager, nullptr) << body.name;
  const int64_t n = 2053;  // no multiple of any vector width
  std::vector<std::vector<char>> inputs;
  for (size_t i = 0; i < traced.input_types.size(); ++i)
    inputs.push_back(testing::body_samples(traced.input_types[i], n, static_cast<int>(i)));
  const std::vector<char> uniforms = testing::uniform_samples(type, traced.num_uniforms);
  std::vector<char> results[2];
  for (int k = 0; k < 2; ++k) {
    results[k].assign(n * kernel::type_size(out_type), 0);
    std::vector<char*> ptrs{results[k].data()};
    for (auto& in : inputs) ptrs.push_back(in.data());
    (k ? printed : eager)(ptrs.data(), n, uniforms.data());
  }
  for (int64_t i = 0; i < n; ++i) {
    const int size = kernel::type_size(out_type);
    ASSERT_TRUE(testing::same_value(out_type, &results[0][i * size], &results[1][i * size]))
        << body.name << " " << kernel::type_name(type) << " differs at element " << i;
  }
}

TEST_F(PrintedBodies, EqualEagerBitForBit) {
  int compared = 0;
  for (const SymbolicBody* body : symbolic_bodies())
    for (int t = 0; t < kNumTypes; ++t) {
      if (!body->has(static_cast<kernel::Type>(t))) continue;
      const TileFn printed = find(function_name(*body, t));
      ASSERT_NE(printed, nullptr) << body->name;
      compare(*body, static_cast<kernel::Type>(t), printed);
      ++compared;
    }
  EXPECT_GE(compared, 20);
  std::printf("%d printed tiles equal eager bit for bit\n", compared);
}

}  // namespace
}  // namespace taeda
