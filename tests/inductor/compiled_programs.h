// What tests of compiled graphs share: programs as text, symbolic inputs, comparison with eager.
#pragma once

#include <gtest/gtest.h>

#include "taeda/aot/compiled_function.h"
#include "taeda/autograd/grad.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/text.h"
#include "taeda/inductor/compile.h"
#include "taeda/inductor/memory.h"
#include "taeda/ops/functions.h"

namespace taeda::inductor {
namespace {

// Numbers of both signs, none of them round.
[[maybe_unused]] Tensor wave(IntList sizes, DType dtype = DType::Float) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Tensor line = taeda::arange(Scalar(0), Scalar(count), Scalar(1), DType::Double);
  return taeda::sin(line * Scalar(1.7) + Scalar(0.3)).to(dtype).reshape(as_symint(sizes));
}

// A fake of the tensor whose sizes are symbols; equal sizes share one.
[[maybe_unused]] Tensor symbolic_like(fx::FakeMode& mode, const Tensor& t, int number) {
  fx::ShapeEnv& env = *mode.options().shape_env;
  const auto g =
      env.create_geometry(t.sizes(), t.strides(), t.storage_offset(), str("L['x", number, "']"));
  const Tensor fake = mode.from_tensor(t, g.sizes, g.strides, g.offset);
  autograd::set_requires_grad(fake, autograd::requires_grad(t));
  return fake;
}

struct CompiledProgram {
  std::shared_ptr<aot::CompiledFunction> function;
  std::vector<std::shared_ptr<CompiledGraph>> plans;
};

[[maybe_unused]] CompiledProgram compile_program(const fx::Graph& graph,
                                                 const std::vector<Tensor>& like,
                                                 bool is_symbolic) {
  const auto mode = make_intrusive<fx::FakeMode>(
      fx::FakeMode::Options{.shape_env = make_intrusive<fx::ShapeEnv>()});
  std::vector<Value> inputs;
  for (const Tensor& t : like)
    inputs.push_back(is_symbolic ? symbolic_like(*mode, t, static_cast<int>(inputs.size())) : t);
  CompiledProgram made;
  aot::AotOptions options;
  options.decompose = decompose_for_lowering;
  const auto plans = std::make_shared<std::vector<std::shared_ptr<CompiledGraph>>>();
  options.forward = options.backward = [plans](const fx::Graph& part, fx::AttributeReader read) {
    plans->push_back(compile(part, read));
    return [plan = plans->back()](const std::vector<Value>& given) { return plan->run(given); };
  };
  made.function = aot::compile(graph, inputs, options);
  made.plans = *plans;
  return made;
}

[[maybe_unused]] bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         taeda::equal(a, b);
}

[[maybe_unused]] std::vector<Tensor> tensors_of(const std::vector<Value>& values) {
  std::vector<Tensor> tensors;
  for (const Value& v : values) tensors.push_back(v.get<Tensor>());
  return tensors;
}

// Runs the program compiled and by eager operators, interpreted and native, and compares the bits.
[[maybe_unused]] void expect_like_eager(const std::string& text,
                                        const std::vector<std::vector<Tensor>>& inputs,
                                        bool is_symbolic, int num_kernels) {
  const auto graph = fx::parse_graph(text);
  const CompiledProgram compiled = compile_program(*graph, inputs.at(0), is_symbolic);
  EXPECT_EQ(compiled.plans.at(0)->report().kernels, num_kernels) << compiled.plans[0]->text();
  for (const bool is_native : {false, true}) {
    if (is_native) compiled.plans[0]->compile_native();
    for (const std::vector<Tensor>& given : inputs) {
      const std::vector<Value> values(given.begin(), given.end());
      const std::vector<Tensor> expected = fx::flatten_tensors(fx::Plan(*graph).run(values));
      const std::vector<Tensor> results = tensors_of((*compiled.function)(values));
      ASSERT_EQ(results.size(), expected.size());
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(same_bits(results[i], expected[i]))
            << text << "result " << i << (is_native ? ", native\n" : ", interpreted\n")
            << compiled.plans[0]->text();
    }
  }
}

}  // namespace
}  // namespace taeda::inductor
