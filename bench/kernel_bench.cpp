// Kernels of the IR three ways: printed and compiled, interpreted by tiles, and eager operators one
// by one. Arguments: elements, and whether the input is transposed.
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "taeda/base/half.h"
#include "taeda/base/parallel.h"
#include "taeda/base/str.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"
#include "taeda/ops/functions.h"
#include "tests/kernel/compile.h"

namespace taeda {
namespace {

using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);

constexpr int64_t kColumns = 1024;

// Lines of values between %0, the input, and the last one, which is stored.
struct Chain {
  const char* name;
  const char* values;
  int last;
  Tensor (*eager)(const Tensor&);
};

Tensor eager_relu(const Tensor& x) { return relu(mul(add(x, Scalar(1)), Scalar(2))); }
Tensor eager_ten(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = mul(add(y, Scalar(1)), Scalar(0.5));
  return y;
}
Tensor eager_dear(const Tensor& x) { return tanh(exp(tanh(exp(x)))); }

const Chain kChains[] = {
    {"relu((x+1)*2)",
     "  value %1 = constant 1 : f32\n  value %2 = add %0 %1 : f32\n"
     "  value %3 = constant 2 : f32\n  value %4 = mul %2 %3 : f32\n"
     "  value %5 = constant 0 : f32\n  value %6 = maximum %4 %5 : f32\n",
     6, &eager_relu},
    {"ten operators",
     "  value %1 = constant 1 : f32\n  value %2 = constant 0.5 : f32\n"
     "  value %3 = add %0 %1 : f32\n  value %4 = mul %3 %2 : f32\n"
     "  value %5 = add %4 %1 : f32\n  value %6 = mul %5 %2 : f32\n"
     "  value %7 = add %6 %1 : f32\n  value %8 = mul %7 %2 : f32\n"
     "  value %9 = add %8 %1 : f32\n  value %10 = mul %9 %2 : f32\n"
     "  value %11 = add %10 %1 : f32\n  value %12 = mul %11 %2 : f32\n",
     12, &eager_ten},
    {"exp and tanh",
     "  value %1 = exp %0 : f32\n  value %2 = tanh %1 : f32\n"
     "  value %3 = exp %2 : f32\n  value %4 = tanh %3 : f32\n",
     4, &eager_dear},
};

std::string pointwise_text(const Chain& chain, const char* dtype, bool is_transposed) {
  return str("kernel chain(rows, columns)\n  buffer y ", dtype, "[rows*columns]\n  buffer x ",
             dtype, "[rows*columns]\n  value %0 = load x[",
             is_transposed ? "rows*j + i" : "columns*i + j", "] : f32\n", chain.values,
             "  loop i < rows parallel, j < columns vector\n    store y[columns*i + j] = %",
             chain.last, "\n");
}

std::string softmax_text(const char* dtype, bool is_transposed) {
  return str("kernel softmax(rows, columns)\n  buffer y ", dtype, "[rows*columns]\n  buffer x ",
             dtype, "[rows*columns]\n  value %0 = load x[",
             is_transposed ? "rows*j + i" : "columns*i + j",
             "] : f32\n  value %1 = state 0 : f32\n  value %2 = sub %0 %1 : f32\n"
             "  value %3 = exp %2 : f32\n  value %4 = state 1 : f32\n  value %5 = div %3 %4 : f32\n"
             "  loop i < rows parallel\n    loop j < columns reduced vector\n"
             "      reduce max(%0) over j -> 0\n    loop j < columns reduced vector\n"
             "      reduce sum(%3) over j -> 1\n    loop j < columns vector\n"
             "      store y[columns*i + j] = %5\n");
}

struct Data {
  Tensor x, y;
  int64_t params[2];

  Data(int64_t n, DType dtype, bool is_transposed) {
    params[0] = n / kColumns;
    params[1] = kColumns;
    const Tensor plain = arange(Scalar(n), DType::Float) * Scalar(1.0 / static_cast<double>(n));
    const Tensor wide =
        is_transposed ? plain.view({kColumns, params[0]}).t() : plain.view({params[0], kColumns});
    x = wide.to(dtype);
    y = empty({params[0], kColumns}, dtype);
  }
};

kernel::Kernel scheduled(const std::string& text) {
  kernel::Kernel kernel = kernel::parse_kernel(text);
  kernel::schedule_for_cpu(kernel);
  return kernel;
}

// Indices of the first axis.
int64_t extent_of(const kernel::Kernel& kernel, const int64_t* params) {
  using symbolic::ExprValue;
  const kernel::Expr* extent = std::get<kernel::Loop>(kernel.steps[0]).axes[0].extent;
  return symbolic::evaluate(extent, {{kernel.params[0], ExprValue::of(params[0])},
                                     {kernel.params[1], ExprValue::of(params[1])}})
      ->integer;
}

StageFn compiled(const std::string& text) {
  static std::map<std::string, StageFn> known;
  StageFn& function = known[text];
  if (!function) {
    const kernel::Kernel kernel = scheduled(text);
    void* handle = kernel::test::compile(kernel::cpu_prelude() + kernel::print_cpu_kernel(kernel));
    function = reinterpret_cast<StageFn>(dlsym(handle, (kernel.name + "_0").c_str()));
  }
  return function;
}

void run_printed(benchmark::State& state, const std::string& text, Data data) {
  StageFn function = compiled(text);
  const int64_t extent = extent_of(scheduled(text), data.params);
  // A merged axis counts elements, others lines.
  const int64_t grain = extent > 4 * data.params[0] ? 16 * kColumns : extent / 64 + 1;
  char* ptrs[] = {static_cast<char*>(data.y.data()), static_cast<char*>(data.x.data())};
  int64_t error[2] = {};
  for (auto _ : state)
    parallel_for(0, extent, grain, [&](int64_t begin, int64_t end) {
      function(ptrs, data.params, nullptr, error, begin, end);
    });
}

void run_interpreted(benchmark::State& state, const std::string& text, Data data) {
  const kernel::Kernel kernel = scheduled(text);
  const kernel::TileInterpreter interpreter(kernel);
  const int64_t extent = extent_of(kernel, data.params);
  const int64_t grain = extent > 4 * data.params[0] ? 16 * kColumns : extent / 64 + 1;
  char* ptrs[] = {static_cast<char*>(data.y.data()), static_cast<char*>(data.x.data())};
  int64_t error[2] = {};
  for (auto _ : state)
    parallel_for(0, extent, grain, [&](int64_t begin, int64_t end) {
      interpreter.run(0, {ptrs, data.params, nullptr, error}, begin, end);
    });
}

void register_all() {
  struct Kind {
    const char* name;
    DType dtype;
  };
  for (const Kind& kind : {Kind{"float32", DType::Float}, Kind{"bfloat16", DType::BFloat16}})
    for (int64_t n : {int64_t{1} << 12, int64_t{1} << 16, int64_t{1} << 24})
      for (bool is_transposed : {false, true}) {
        auto add = [&](const char* name, const std::string& text, Tensor (*eager)(const Tensor&)) {
          const std::string suffix =
              str(name, "/", kind.name, is_transposed ? "/transposed/" : "/contiguous/", n);
          const DType dtype = kind.dtype;
          auto one = [&](const char* way, auto run) {
            benchmark::RegisterBenchmark((way + suffix).c_str(), run)->UseRealTime();
          };
          one("printed/", [=](benchmark::State& state) {
            run_printed(state, text, Data(n, dtype, is_transposed));
          });
          one("interpreted/", [=](benchmark::State& state) {
            run_interpreted(state, text, Data(n, dtype, is_transposed));
          });
          one("eager/", [=](benchmark::State& state) {
            const Data data(n, dtype, is_transposed);
            for (auto _ : state) benchmark::DoNotOptimize(eager(data.x));
          });
        };
        for (const Chain& chain : kChains)
          add(chain.name, pointwise_text(chain, kind.name, is_transposed), chain.eager);
        add("softmax", softmax_text(kind.name, is_transposed),
            [](const Tensor& x) { return softmax(x, -1); });
      }
}

}  // namespace
}  // namespace taeda

int main(int argc, char** argv) {
  taeda::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
