// Kernels of the IR three ways: printed and compiled, interpreted by tiles, and eager operators one
// by one; softmax and layer norm also as the fused operators that eager code has.
#include <benchmark/benchmark.h>

#include <array>
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
#include "taeda/ops/normalization/functions.h"
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
  Tensor (*eager)(const Tensor&, const Tensor& weight);
};

Tensor eager_relu(const Tensor& x, const Tensor&) {
  return relu(mul(add(x, Scalar(1)), Scalar(2)));
}
Tensor eager_ten(const Tensor& x, const Tensor&) {
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = mul(add(y, Scalar(1)), Scalar(0.5));
  return y;
}
Tensor eager_dear(const Tensor& x, const Tensor&) { return tanh(exp(tanh(exp(x)))); }

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

// The mean, then the squares around it: two sums over the row.
std::string layer_norm_text(const char* dtype, bool is_transposed) {
  return str("kernel layer_norm(rows, columns)\n  buffer y ", dtype, "[rows*columns]\n  buffer x ",
             dtype, "[rows*columns]\n  buffer weight ", dtype, "[columns]\n  buffer bias ", dtype,
             "[columns]\n  value %0 = load x[", is_transposed ? "rows*j + i" : "columns*i + j",
             "] : f32\n  value %1 = state 0 : f32\n  value %2 = index [columns] : i64\n"
             "  value %3 = cast %2 : f32\n  value %4 = div %1 %3 : f32\n"
             "  value %5 = sub %0 %4 : f32\n  value %6 = mul %5 %5 : f32\n"
             "  value %7 = state 1 : f32\n  value %8 = div %7 %3 : f32\n"
             "  value %9 = constant 1e-05 : f32\n  value %10 = add %8 %9 : f32\n"
             "  value %11 = rsqrt %10 : f32\n  value %12 = mul %5 %11 : f32\n"
             "  value %13 = load weight[j] : f32\n  value %14 = mul %12 %13 : f32\n"
             "  value %15 = load bias[j] : f32\n  value %16 = add %14 %15 : f32\n"
             "  loop i < rows parallel\n    loop j < columns reduced vector\n"
             "      reduce sum(%0) over j -> 0\n    loop j < columns reduced vector\n"
             "      reduce sum(%6) over j -> 1\n    loop j < columns vector\n"
             "      store y[columns*i + j] = %16\n");
}

Tensor eager_softmax(const Tensor& x, const Tensor&) {
  const Tensor e = exp(sub(x, amax(x, {-1}, true)));
  return div(e, sum(e, IntList{-1}, true));
}
Tensor eager_layer_norm(const Tensor& x, const Tensor& weight) {
  const Tensor centered = sub(x, mean(x, IntList{-1}, true));
  const Tensor scale = rsqrt(add(mean(mul(centered, centered), IntList{-1}, true), Scalar(1e-5)));
  return add(mul(mul(centered, scale), weight), weight);
}

struct Data {
  Tensor x, y, weight;
  int64_t params[2];

  std::array<char*, 4> pointers() const;
  Data(int64_t n, DType dtype, bool is_transposed) {
    params[0] = n / kColumns;
    params[1] = kColumns;
    const Tensor plain = arange(Scalar(n), DType::Float) * Scalar(1.0 / static_cast<double>(n));
    const Tensor wide =
        is_transposed ? plain.view({kColumns, params[0]}).t() : plain.view({params[0], kColumns});
    x = wide.to(dtype);
    y = empty({params[0], kColumns}, dtype);
    weight = full({kColumns}, Scalar(1.5), dtype);
  }
};

// The buffers that a kernel may have, in order; local ones come after them.
std::array<char*, 4> Data::pointers() const {
  auto at = [](const Tensor& t) { return static_cast<char*>(t.data()); };
  return {at(y), at(x), at(weight), at(weight)};
}

kernel::Kernel scheduled(const std::string& text) {
  kernel::Kernel kernel = kernel::parse_kernel(text);
  kernel::schedule_for_cpu(kernel);
  return kernel;
}

// Indices of a launch.
int64_t extent_of(const kernel::Kernel& kernel, const int64_t* params) {
  using symbolic::ExprValue;
  const kernel::Expr* extent =
      kernel::launch_extent(kernel, std::get<kernel::Loop>(kernel.steps[0]));
  return symbolic::evaluate(extent, {{kernel.params[0], ExprValue::of(params[0])},
                                     {kernel.params[1], ExprValue::of(params[1])}})
      ->integer;
}

StageFn compiled(const std::string& text) {
  static std::map<std::string, StageFn> known;
  StageFn& function = known[text];
  if (!function) {
    const kernel::Kernel kernel = scheduled(text);
    static std::vector<std::shared_ptr<kernel::NativeModule>> modules;
    modules.push_back(
        kernel::test::compile(kernel::cpu_prelude() + kernel::print_cpu_kernel(kernel)));
    function = modules.back()->function<StageFn>(kernel.name + "_0");
  }
  return function;
}

void run_printed(benchmark::State& state, const std::string& text, Data data) {
  StageFn function = compiled(text);
  const int64_t extent = extent_of(scheduled(text), data.params);
  // A merged axis counts elements, others lines.
  const int64_t grain = extent > 4 * data.params[0] ? 16 * kColumns : extent / 64 + 1;
  const auto ptrs = data.pointers();
  int64_t error[2] = {};
  for (auto _ : state)
    parallel_for(0, extent, grain, [&](int64_t begin, int64_t end) {
      function(ptrs.data(), data.params, nullptr, error, begin, end);
    });
}

void run_interpreted(benchmark::State& state, const std::string& text, Data data) {
  const kernel::Kernel kernel = scheduled(text);
  const kernel::TileInterpreter interpreter(kernel);
  const int64_t extent = extent_of(kernel, data.params);
  const int64_t grain = extent > 4 * data.params[0] ? 16 * kColumns : extent / 64 + 1;
  const auto ptrs = data.pointers();
  int64_t error[2] = {};
  for (auto _ : state)
    parallel_for(0, extent, grain, [&](int64_t begin, int64_t end) {
      interpreter.run(0, {ptrs.data(), data.params, nullptr, error}, begin, end);
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
        using Eager = Tensor (*)(const Tensor&, const Tensor&);
        const std::string suffix =
            str("/", kind.name, is_transposed ? "/transposed/" : "/contiguous/", n);
        const DType dtype = kind.dtype;
        auto one = [&](const char* way, const char* name, auto run) {
          benchmark::RegisterBenchmark(str(way, "/", name, suffix).c_str(), run)->UseRealTime();
        };
        auto add_eager = [&](const char* way, const char* name, Eager eager) {
          one(way, name, [=](benchmark::State& state) {
            const Data data(n, dtype, is_transposed);
            // Kernels write rows: so does the end of a chain over a transposed input.
            for (auto _ : state) benchmark::DoNotOptimize(eager(data.x, data.weight).contiguous());
          });
        };
        auto add = [&](const char* name, const std::string& text, Eager eager) {
          one("printed", name, [=](benchmark::State& state) {
            run_printed(state, text, Data(n, dtype, is_transposed));
          });
          one("interpreted", name, [=](benchmark::State& state) {
            run_interpreted(state, text, Data(n, dtype, is_transposed));
          });
          add_eager("eager", name, eager);
        };
        for (const Chain& chain : kChains)
          add(chain.name, pointwise_text(chain, kind.name, is_transposed), chain.eager);
        add("softmax", softmax_text(kind.name, is_transposed), &eager_softmax);
        add("layer norm", layer_norm_text(kind.name, is_transposed), &eager_layer_norm);
        add_eager("fused", "softmax",
                  [](const Tensor& x, const Tensor&) { return softmax(x, -1); });
        add_eager("fused", "layer norm", [](const Tensor& x, const Tensor& weight) {
          return layer_norm(x, {kColumns}, weight, weight);
        });
      }
}

}  // namespace
}  // namespace taeda

int main(int argc, char** argv) {
  taeda::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
