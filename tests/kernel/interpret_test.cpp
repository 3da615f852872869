// The tile interpreter returns the bits of printed kernels, as they are and scheduled.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/base/function_ref.h"
#include "taeda/base/half.h"
#include "taeda/base/str.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"
#include "tests/kernel/compile.h"
#include "tests/kernel/evaluate.h"
#include "tests/kernel/kernels.h"

namespace taeda::kernel::test {
namespace {

using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);

// Random elements; integers stay below a bound, so that they can be indices.
std::vector<char> random_buffer(const Buffer& buffer, int64_t numel, int64_t bound,
                                std::mt19937& random) {
  std::vector<char> bytes(numel * item_size(buffer.dtype));
  std::normal_distribution<float> normal;
  auto fill = [&](auto zero, auto make) {
    using T = decltype(zero);
    for (int64_t i = 0; i < numel; ++i) {
      const T value = static_cast<T>(make());
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  };
  auto real = [&] { return normal(random); };
  auto integer = [&] { return static_cast<int64_t>(random() % (2 * bound)) - bound; };
  switch (buffer.dtype) {
    case DType::Float: fill(0.0f, real); break;
    case DType::Double: fill(0.0, real); break;
    case DType::Half: fill(Half(), real); break;
    case DType::BFloat16: fill(BFloat16(), real); break;
    case DType::Int64: fill(int64_t(), integer); break;
    case DType::Int32: fill(int32_t(), integer); break;
    case DType::Int16: fill(int16_t(), integer); break;
    case DType::Bool: fill(uint8_t(), [&] { return random() % 4 != 0; }); break;
    default: ADD_FAILURE() << "no random elements of " << dtype_name(buffer.dtype);
  }
  return bytes;
}

struct Memory {
  std::vector<std::vector<char>> buffers;
  int64_t error[2] = {};

  // Local buffers have no memory here.
  std::vector<char*> pointers(const Kernel& kernel) {
    std::vector<char*> all;
    for (auto& one : buffers) all.push_back(one.data());
    all.resize(kernel.buffers.size());
    return all;
  }
};

// All loops of a kernel, the launch in two parts.
void run_loops(const Kernel& kernel, const std::vector<int64_t>& params,
               FunctionRef<void(int loop, int64_t begin, int64_t end)> run) {
  int number = 0;
  for (const Step& step : kernel.steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    const int64_t extent = value_of(kernel, launch_extent(kernel, *loop), params);
    run(number, 0, extent / 3);
    run(number, extent / 3, extent);
    ++number;
  }
}

TEST(Interpreter, ReturnsTheBitsOfPrintedKernels) {
  const char* texts[] = {
      kMixed,      kRowSum,    kColumnSum,     kSoftmax,      kLayerNorm,         kArgMax,
      kCumsum,     kGather,    kSwapPairs,     kLogCumsumExp, kLayerNormBackward, kIndexAdd,
      kCastChain,  kTranspose, kColumnSoftmax, kSwap,         kRowRange,          kCenterAll,
      kChannelSums};
  std::string unit = cpu_prelude();
  for (const char* text : texts) unit += print_cpu_kernel(parse_kernel(text));
  const auto module = compile(unit);
  std::mt19937 random(7);
  for (const char* text : texts) {
    const Kernel kernel = parse_kernel(text);
    Kernel scheduled = parse_kernel(text);
    schedule_for_cpu(scheduled);
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {3, 7, 5}, {5, 1024, 5}, {1, 4097, 9}, {33, 1500, 33}, {6000, 3, 6000}, {2, 0, 4}}) {
      const std::vector<int64_t> params(sizes.begin(), sizes.begin() + kernel.params.size());
      Memory printed;
      for (const Buffer& buffer : kernel.buffers)
        printed.buffers.push_back(
            random_buffer(buffer, value_of(kernel, buffer.numel, params), 4, random));
      const Memory before = printed;
      alignas(16) char scalars[16] = {};
      const float epsilon = 1e-5f;
      std::memcpy(scalars, &epsilon, sizeof(epsilon));
      const std::vector<char*> ptrs = printed.pointers(kernel);
      run_loops(kernel, params, [&](int loop, int64_t begin, int64_t end) {
        auto function = module->function<StageFn>(str(kernel.name, "_", loop));
        function(ptrs.data(), params.data(), scalars, printed.error, begin, end);
      });
      EXPECT_TRUE(before.buffers[0].empty() || before.buffers[0] != printed.buffers[0])
          << kernel.name << " wrote nothing";
      for (const Kernel* other : {&kernel, static_cast<const Kernel*>(&scheduled)}) {
        const TileInterpreter interpreter(*other);
        Memory interpreted = before;
        const std::vector<char*> others = interpreted.pointers(*other);
        run_loops(*other, params, [&](int loop, int64_t begin, int64_t end) {
          interpreter.run(loop, {others.data(), params.data(), scalars, interpreted.error}, begin,
                          end);
        });
        for (size_t i = 0; i < kernel.buffers.size(); ++i)
          EXPECT_TRUE(printed.buffers[i] == interpreted.buffers[i])
              << kernel.buffers[i].name << " differs for " << sizes[0] << " x " << sizes[1]
              << " in\n"
              << dump(*other);
        EXPECT_EQ(printed.error[0], interpreted.error[0]);
        EXPECT_EQ(printed.error[1], interpreted.error[1]);
      }
    }
  }
}

// Blocks of a long reduction by themselves, then their states: printed and interpreted.
TEST(Interpreter, SplitReductionsKeepTheirBits) {
  for (const char* name : {"sum", "moments", "argmax", "logsumexp"}) {
    std::string text = str(R"(kernel long_run(n)
  buffer y float32[1]
  buffer x float32[n]
  value %0 = load x[i] : f32
  value %1 = index [i] : i64
  value %2 = state 0 : f32
  loop o < 1
    loop i < n reduced vector
      reduce )",
                           name, "(%0", std::string(name) == "argmax" ? ", %1" : "",
                           ") over i -> 0\n    store y[o] = %2\n");
    const Kernel kernel = parse_kernel(text);
    Kernel split = parse_kernel(text);
    split.name = "split_run";
    split_reduction(split, 0, 8192);
    const auto module = compile(cpu_prelude() + print_cpu_kernel(kernel) + print_cpu_kernel(split));
    std::mt19937 random(11);
    for (int64_t n : {0, 1, 4096, 8192, 8193, 40000, 24576, 100001}) {
      const std::vector<int64_t> params = {n};
      Memory memory;
      for (const Buffer& buffer : split.buffers)
        memory.buffers.push_back(random_buffer({buffer.name, buffer.dtype, buffer.numel},
                                               value_of(split, buffer.numel, params), 4, random));
      float results[4];
      for (int way = 0; way < 4; ++way) {
        const Kernel& own = way / 2 ? split : kernel;
        const TileInterpreter interpreter(own);
        const std::vector<char*> ptrs = memory.pointers(own);
        run_loops(own, params, [&](int loop, int64_t begin, int64_t end) {
          auto function = module->function<StageFn>(str(own.name, "_", loop));
          if (way % 2)
            interpreter.run(loop, {ptrs.data(), params.data(), nullptr, memory.error}, begin, end);
          else
            function(ptrs.data(), params.data(), nullptr, memory.error, begin, end);
        });
        std::memcpy(&results[way], ptrs[0], sizeof(float));
      }
      for (int way = 1; way < 4; ++way)
        EXPECT_EQ(std::memcmp(&results[0], &results[way], sizeof(float)), 0)
            << name << " of " << n << ", way " << way;
    }
  }
}

}  // namespace
}  // namespace taeda::kernel::test
