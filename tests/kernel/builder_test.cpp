// Kernels written with KernelBuilder: their text, and what they compute printed and interpreted.
#include "taeda/kernel/builder/kernel_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/core/philox.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "tests/kernel/compile.h"

namespace taeda::kernel::test {
namespace {

using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
using Floats = std::vector<float>;

struct alignas(16) Slot {
  char bytes[16] = {};
};
template <class T>
Slot slot(T value) {
  Slot s;
  std::memcpy(s.bytes, &value, sizeof(value));
  return s;
}

// Runs every loop of a kernel in one launch, printed where there is a module of it.
void run(const Kernel& kernel, const NativeModule* module, const std::vector<char*>& buffers,
         const std::vector<int64_t>& params, const std::vector<Slot>& numbers) {
  int64_t error[2] = {};
  const TileInterpreter interpreter(kernel);
  symbolic::Assignment values;
  for (size_t i = 0; i < params.size(); ++i)
    values[kernel.params[i]] = symbolic::ExprValue::of(params[i]);
  int loop = 0;
  for (const Step& step : kernel.steps) {
    const auto* one = std::get_if<Loop>(&step);
    if (!one) continue;
    const int64_t end = symbolic::evaluate(launch_extent(kernel, *one), values)->integer;
    if (module)
      module->function<StageFn>(str(kernel.name, "_", loop))(buffers.data(), params.data(),
                                                             numbers.data(), error, 0, end);
    else
      interpreter.run(loop, {buffers.data(), params.data(), numbers.data(), error}, 0, end);
    ++loop;
  }
  EXPECT_EQ(error[0], 0);
}

std::shared_ptr<NativeModule> compiled(const std::vector<Kernel>& kernels) {
  std::string unit = cpu_prelude();
  for (const Kernel& kernel : kernels) unit += print_cpu_kernel(kernel);
  return compile(unit, "-O1");
}

Floats ramp(int64_t n, float scale) {
  Floats values;
  for (int64_t i = 0; i < n; ++i) values.push_back(scale * static_cast<float>(i % 37 - 18));
  return values;
}
char* bytes(Floats& values) { return reinterpret_cast<char*>(values.data()); }

TEST(KernelBuilder, WritesWhatItsCommentShows) {
  KernelBuilder k("softmax", Type::F32);
  const Expr *rows = k.param("rows"), *columns = k.param("columns");
  const int i = k.axis(rows), j = k.axis(columns);
  const int y = k.operand(DType::Float, {columns, k.integer(1)}),
            x = k.operand(DType::Float, {columns, k.integer(1)});
  const Sym value = k.load(x);
  k.loop({i}, [&] {
    const Sym largest = k.reduce("max", {j}, {value})[0];
    const Sym sum = k.reduce("sum", {j}, {exp(value - largest)})[0];
    k.loop({j}, [&] { k.store(y, exp(value - largest) / sum); });
  });
  EXPECT_EQ(dump(k.finish()), R"(kernel softmax(rows, columns)
  buffer b0 float32[rows*columns]
  buffer b1 float32[rows*columns]
  value %0 = load b1[columns*i0 + i1] : f32
  value %1 = state 0 : f32
  value %2 = sub %0 %1 : f32
  value %3 = exp %2 : f32
  value %4 = state 1 : f32
  value %5 = div %3 %4 : f32
  loop i0 < rows
    loop i1 < columns reduced
      reduce max(%0) over i1 -> 0
    loop i1 < columns reduced
      reduce sum(%3) over i1 -> 1
    loop i1 < columns
      store b0[columns*i0 + i1] = %5
)");
}

// One launch over many tensors: a loop each, which no barrier separates.
constexpr int kTensors = 20;
struct AdamW {
  float rate = 0.01f, beta1 = 0.9f, beta2 = 0.99f, epsilon = 1e-8f, decay = 0.1f;
  float correction1 = 1 - 0.9f, correction2 = 1 - 0.99f;

  std::vector<Slot> numbers() const {
    return {slot(rate),  slot(beta1),       slot(beta2),      slot(epsilon),
            slot(decay), slot(correction1), slot(correction2)};
  }
};

Kernel adamw_kernel() {
  KernelBuilder k("adamw", Type::F32);
  std::vector<int> axes;
  for (int t = 0; t < kTensors; ++t) axes.push_back(k.axis(k.param(str("n", t))));
  const auto number = [&](int i) { return k.uniform(i, Type::F32); };
  const Sym rate = number(0), beta1 = number(1), beta2 = number(2), epsilon = number(3),
            decay = number(4), correction1 = number(5), correction2 = number(6);
  for (int t = 0; t < kTensors; ++t) {
    std::vector<const Expr*> strides(kTensors, k.integer(0));
    strides[t] = k.integer(1);
    const int p = k.operand(DType::Float, strides), g = k.operand(DType::Float, strides),
              m = k.operand(DType::Float, strides), v = k.operand(DType::Float, strides);
    const Sym grad = k.load(g);
    const Sym first = beta1 * k.load(m) + (Sym(1) - beta1) * grad;
    const Sym second = beta2 * k.load(v) + (Sym(1) - beta2) * grad * grad;
    const Sym step = first / correction1 / (sqrt(second / correction2) + epsilon);
    k.loop({axes[t]}, [&] {
      k.store(p, k.load(p) * (Sym(1) - rate * decay) - rate * step);
      k.store(m, first);
      k.store(v, second);
    });
  }
  return k.finish();
}

TEST(KernelBuilder, AdamWOverTwentyTensors) {
  std::vector<Kernel> kernels;
  kernels.push_back(adamw_kernel());
  const Kernel& kernel = kernels[0];
  const auto module = compiled(kernels);
  const AdamW a;
  std::vector<int64_t> sizes;
  for (int t = 0; t < kTensors; ++t) sizes.push_back(t * t * 7 + (t % 3));  // the first is empty
  std::vector<Floats> results[2];
  for (int way = 0; way < 2; ++way) {
    std::vector<Floats>& memory = results[way];
    for (int t = 0; t < kTensors; ++t)
      for (float scale : {0.1f, 0.02f, 0.005f, 0.0f}) memory.push_back(ramp(sizes[t], scale));
    std::vector<char*> buffers;
    for (Floats& one : memory) buffers.push_back(bytes(one));
    run(kernel, way == 0 ? module.get() : nullptr, buffers, sizes, a.numbers());
  }
  EXPECT_EQ(results[0], results[1]);
  for (int t = 0; t < kTensors; ++t)
    for (int64_t i = 0; i < sizes[t]; ++i) {
      const float x = static_cast<float>(i % 37 - 18), grad = 0.02f * x, old = 0.005f * x;
      const float m = a.beta1 * old + (1 - a.beta1) * grad, v = (1 - a.beta2) * grad * grad;
      const float step = m / a.correction1 / (std::sqrt(v / a.correction2) + a.epsilon);
      EXPECT_NEAR(results[0][4 * t][i], 0.1f * x * (1 - a.rate * a.decay) - a.rate * step, 1e-6f);
      EXPECT_NEAR(results[0][4 * t + 2][i], m, 1e-7f);
    }
}

TEST(KernelBuilder, DropoutDrawsFromSeedAndCounter) {
  KernelBuilder k("dropout", Type::F32);
  const int i = k.axis(k.param("n"));
  const int y = k.operand(DType::Float, {k.integer(1)}),
            x = k.operand(DType::Float, {k.integer(1)}),
            mask = k.operand(DType::Bool, {k.integer(1)});
  const Sym seed = k.uniform(0, Type::U64), offset = k.uniform(1, Type::U64);
  const Sym word = Sym::from_id(k.graph().random(Draw::Word, k.var(i), seed.id, offset.id));
  const Sym half = Sym::from_id(k.graph().constant_int(int64_t{1} << 31, Type::I64));
  const SymMask is_kept = word < half;
  k.loop({i}, [&] {
    k.store(y, where(is_kept, k.load(x) * Sym(2), Sym(0)));
    k.store(mask, Sym::from_id(is_kept.id));
  });
  std::vector<Kernel> kernels;
  kernels.push_back(k.finish());
  const Kernel& kernel = kernels[0];
  const auto module = compiled(kernels);
  EXPECT_EQ(dump(parse_kernel(dump(kernel))), dump(kernel));
  constexpr int64_t n = 3001;
  const std::vector<Slot> numbers = {slot(uint64_t{1234}), slot(uint64_t{77})};
  for (bool is_printed : {false, true}) {
    Floats from = ramp(n, 1), to(n);
    std::vector<char> kept(n);
    run(kernel, is_printed ? module.get() : nullptr, {bytes(to), bytes(from), kept.data()}, {n},
        numbers);
    for (int64_t e = 0; e < n; ++e) {
      const bool is_drawn = philox(1234, 77 + e / 4)[e % 4] < (1u << 31);
      ASSERT_EQ(kept[e] != 0, is_drawn) << e;
      ASSERT_EQ(to[e], is_drawn ? 2 * from[e] : 0.0f) << e;
    }
  }
}

DType dtype_of_draw(Draw draw) {
  switch (draw_type(draw)) {
    case Type::F32: return DType::Float;
    case Type::F64: return DType::Double;
    case Type::U64: return DType::UInt64;
    default: return DType::Int64;
  }
}

Kernel draw_kernel(Draw draw, int alignment = 0) {
  KernelBuilder k(str("draw_", draw_name(draw)), draw_type(draw));
  const int i = k.axis(k.param("n"));
  const int y = k.operand(dtype_of_draw(draw), {k.integer(1)}, alignment);
  const NodeId limit = draw == Draw::Integer ? k.uniform(2, Type::U64).id : -1;
  const Sym value = Sym::from_id(k.graph().random(draw, k.var(i), k.uniform(0, Type::U64).id,
                                                  k.uniform(1, Type::U64).id, limit));
  k.loop({i}, [&] { k.store(y, value); });
  return k.finish();
}

TEST(KernelBuilder, EveryDrawIsTheSameBothWays) {
  std::vector<Kernel> kernels;
  for (int draw = 0; draw < kNumDraws; ++draw)
    kernels.push_back(draw_kernel(static_cast<Draw>(draw)));
  const auto module = compiled(kernels);
  constexpr int64_t n = 999;
  const std::vector<Slot> numbers = {slot(~uint64_t{0}), slot((uint64_t{1} << 40) + 3),
                                     slot(uint64_t{1} << 50)};
  for (const Kernel& kernel : kernels) {
    std::vector<char> results[2];
    for (int way = 0; way < 2; ++way) {
      results[way].resize(n * item_size(kernel.buffers[0].dtype));
      run(kernel, way == 0 ? module.get() : nullptr, {results[way].data()}, {n}, numbers);
    }
    EXPECT_EQ(results[0], results[1]) << kernel.name;
  }
}

// Threads that write several neighbours draw whole blocks of the stream.
TEST(KernelBuilder, NeighboursShareTheirBlocksOnCuda) {
  const auto has = [](const Kernel& kernel, const char* text) {
    return print_cuda_kernel(kernel).text.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has(draw_kernel(Draw::Normal, 16), "float d0[4];"));
  EXPECT_TRUE(has(draw_kernel(Draw::Normal, 16), "td_draw_normal_pack(d0, "));
  EXPECT_TRUE(has(draw_kernel(Draw::Uniform53, 16), "double d0[2];"));
  EXPECT_TRUE(has(draw_kernel(Draw::Integer, 16), "td_draw_integer_pack(d0, "));
  // Memory that is not aligned is written element by element; two words are no block.
  EXPECT_FALSE(has(draw_kernel(Draw::Normal, 0), "_pack("));
  EXPECT_FALSE(has(draw_kernel(Draw::Word, 16), "td_draw_word_pack("));
}

TEST(KernelBuilder, RefusesAnOpenLoop) {
  KernelBuilder k("open", Type::F32);
  const int i = k.axis(k.param("n"));
  const int y = k.operand(DType::Float, {k.integer(1)});
  k.loop({i}, [&] {
    EXPECT_THROW(k.finish(), Error);
    k.store(y, Sym(1));
  });
}

}  // namespace
}  // namespace taeda::kernel::test
