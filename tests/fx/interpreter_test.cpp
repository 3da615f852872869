// Closed graphs run in C++: values, attributes, errors; tracing and fake tensors without Python.
#include "taeda/fx/interpreter.h"

#include <gtest/gtest.h>

#include "taeda/autograd/autocast.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/text.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

Tensor ones(IntList sizes) { return taeda::ones(as_symint(sizes)); }

TEST(Plan, RunsOperatorsListsAndBuiltins) {
  const Plan plan(*parse_graph(R"(graph(x, y) {
    cat = aten::cat([x, y], 1)
    split = aten::split.Tensor(cat, 2, 1)
    a = builtin::getitem(split, 0)
    b = builtin::getitem(split, 1)
    n = aten::sum(b)
    return (a, [n], 7)
  })"));
  const Value result = plan.run({Value(ones({2, 2})), Value(ones({2, 2}))});
  const std::vector<Tensor> tensors = flatten_tensors(result);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].sizes(), IntList({2, 2}));
  EXPECT_EQ(read_scalar(tensors[1]).to_double(), 4.0);
  EXPECT_EQ((*result.get<std::shared_ptr<Value::List>>())[2].to_int(), 7);
}

TEST(Plan, RunsRegions) {
  const Plan plan(*parse_graph(R"(graph(p, x) {
    c = higher_order::cond(p, graph(y) {
      sin = aten::sin(y)
      return (sin,)
    }, graph(y) {
      neg = aten::neg(y)
      return (neg,)
    }, (x,))
    a = builtin::getitem(c, 0)
    w = higher_order::while_loop(graph(y) {
      total = aten::sum(y)
      small = aten::lt.Tensor(total, 100)
      return (small,)
    }, graph(y) {
      twice = aten::add.Tensor(y, y)
      return (twice,)
    }, (x,), ())
    b = builtin::getitem(w, 0)
    s = higher_order::scan(graph(carry, each) {
      total = aten::add.Tensor(carry, each)
      return (total, total)
    }, [x], [x], ())
    return (a, b, s)
  })"));
  const auto tensors = flatten_tensors(plan.run({Value(false), Value(ones({3}))}));
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(read_scalar(tensors[0].sum()).to_double(), -3.0);
  EXPECT_EQ(read_scalar(tensors[1].sum()).to_double(), 192.0);
  EXPECT_EQ(tensors[3].sizes(), IntList({3, 3}));
}

TEST(Plan, StacksTheStepsOfALoop) {
  const Plan plan(*parse_graph(R"(graph(x) {
    w = higher_order::while_loop_stack_output(graph(y) {
      small = aten::lt.Tensor(y, 8)
      return (small,)
    }, graph(y) {
      twice = aten::add.Tensor(y, y)
      return (twice,)
    }, (x,), ())
    a = builtin::getitem(w, 0)
    return a
  })"));
  const auto steps = [&](double start) {
    return plan.run({Value(full({}, Scalar(start)))}).get<Tensor>();
  };
  EXPECT_EQ(steps(1.0).sizes(), IntList({3}));  // 2, 4, 8
  EXPECT_EQ(read_scalar(steps(1.0).sum()).to_double(), 14.0);
  // Without a step, what was carried.
  EXPECT_EQ(steps(9.0).sizes(), IntList({1}));
  EXPECT_EQ(read_scalar(steps(9.0).sum()).to_double(), 9.0);
}

TEST(Plan, RunsRegionsUnderModes) {
  const Plan plan(*parse_graph(R"(graph(x) {
    c = builtin::wrap_with_autocast("cpu", dtype.bf16, True, None, graph(y) {
      mm = aten::mm(y, y)
      return (mm,)
    }, x)
    g = builtin::wrap_with_set_grad_enabled(False, graph(y, z) {
      add = aten::add.Tensor(y, z)
      return (add,)
    }, x, x)
    return (c, g)
  })"));
  Tensor x = ones({2, 2});
  autograd::set_requires_grad(x, true);
  const auto tensors = flatten_tensors(plan.run({Value(x)}));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].dtype(), DType::BFloat16);
  EXPECT_TRUE(autograd::requires_grad(tensors[0]));
  EXPECT_FALSE(autograd::requires_grad(tensors[1]));
  EXPECT_TRUE(autograd::grad_enabled());
  EXPECT_FALSE(autocast::is_enabled(DeviceType::CPU));
  const Plan bare(*parse_graph("graph(x) {\n w = builtin::wrap_with_autocast(x)\n return w\n}"));
  EXPECT_THROW(bare.run({Value(x)}), Error);
}

TEST(Plan, ComputesWithSymbolsWithoutAsking) {
  const auto env = make_intrusive<ShapeEnv>();
  const Value n(env->symint(env->create_unbacked()));
  const Plan plan(*parse_graph(R"(graph(n) {
    m = builtin::mul(n, 2)
    f = builtin::truediv(m, 4)
    r = builtin::floor(f)
    b = builtin::ge(r, 2)
    return (m, b, f)
  })"));
  const Value result = plan.run({n});
  const auto& parts = *result.get<std::shared_ptr<Value::List>>();
  EXPECT_EQ(parts[0].get<SymInt>().node()->text(), "2*u0");
  EXPECT_EQ(parts[1].get<IntrusivePtr<SymNode>>()->kind(), SymKind::Bool);
  EXPECT_EQ(parts[2].get<IntrusivePtr<SymNode>>()->kind(), SymKind::Float);
}

TEST(Plan, TakesListsWithoutSomeTensors) {
  const Plan plan(
      *parse_graph("graph(x, i) {\n y = aten::index.Tensor(x, [None, i])\n return y\n}"));
  const Tensor i = taeda::zeros({SymInt(1)}, DType::Long);
  EXPECT_EQ(plan.run({Value(ones({2, 3})), Value(i)}).get<Tensor>().sizes(), IntList({2, 1}));
}

TEST(Plan, ReadsAttributes) {
  const Plan plan(
      *parse_graph("graph(x) {\n w = attr(\"w\")\n y = aten::mul.Tensor(x, w)\n"
                   " return y\n}"));
  const Value y = plan.run({Value(ones({2}))}, [](const std::string& name) -> Value {
    EXPECT_EQ(name, "w");
    return taeda::full({SymInt(2)}, Scalar(3.0));
  });
  EXPECT_EQ(read_scalar(y.get<Tensor>().sum()).to_double(), 6.0);
  EXPECT_THROW(plan.run({Value(ones({2}))}), Error);
}

TEST(Plan, RefusesWrongInputsAndOpenGraphs) {
  const Plan plan(*parse_graph("graph(x) {\n return x\n}"));
  EXPECT_THROW(plan.run({}), Error);
  EXPECT_THROW(plan.run({Value(), Value()}), Error);
  EXPECT_THROW(Plan(*parse_graph("graph(x) {\n y = method(\"relu\", x)\n return y\n}")), Error);
  EXPECT_THROW(Plan(*parse_graph("graph(x) {\n y = aten::relu(x, 1, 2)\n return y\n}")), Error);
  EXPECT_THROW(Plan(*parse_graph("graph(x) {\n y = aten::mm(x)\n return y\n}")), Error);
}

// Traces a function of one tensor.
template <class F>
IntrusivePtr<Graph> traced(const Tensor& input, F&& f) {
  auto graph = make_intrusive<Graph>();
  auto tracer = make_intrusive<Tracer>(graph);
  tracer->track(input, graph->placeholder("x"));
  dispatch::push_mode(tracer);
  const Tensor result = f(input);
  dispatch::pop_mode();
  graph->output(tracer->arg_of(Value(result)));
  return graph;
}

TEST(Tracer, WritesOperatorsDownAndRunsThem) {
  const Tensor x = ones({2, 3});
  const auto graph = traced(x, [](const Tensor& t) { return (t * Scalar(2) + t).relu().sum(); });
  EXPECT_EQ(to_text(*graph),
            "graph(x) {\n"
            "  mul: f32[2, 3] = aten::mul.Tensor(x, 2)\n"
            "  add: f32[2, 3] = aten::add.Tensor(mul, x)\n"
            "  relu: f32[2, 3] = aten::relu(add)\n"
            "  sum_1: f32[] = aten::sum(relu)\n"
            "  return sum_1\n"
            "}\n");
  const Value again = Plan(*graph).run({Value(x)});
  EXPECT_EQ(read_scalar(again.get<Tensor>()).to_double(), 18.0);
}

TEST(Fake, KnowsShapesAndDevicesWithoutMemory) {
  auto mode = make_intrusive<FakeMode>(FakeMode::Options());
  const Tensor x = mode->from_tensor(ones({4, 5}));
  EXPECT_TRUE(is_fake(x));
  EXPECT_TRUE(x.device().is_cpu());
  const Tensor y = taeda::mm(x, x.t());
  EXPECT_TRUE(is_fake(y));
  EXPECT_EQ(y.sizes(), IntList({4, 4}));
  EXPECT_TRUE(y.device().is_cpu());
  const Tensor z = y.to(Device(DeviceType::CUDA, 0));
  EXPECT_EQ(z.device(), Device(DeviceType::CUDA, 0));
  EXPECT_THROW(taeda::add(z, y), Error);
  EXPECT_THROW(taeda::add(y, ones({4, 4})), Error);
  EXPECT_THROW(taeda::nonzero(y), Error);
}

TEST(Fake, KeepsViewsOfOneStorage) {
  auto mode = make_intrusive<FakeMode>(FakeMode::Options());
  const Tensor real = ones({4, 5});
  const Tensor a = mode->from_tensor(real), b = mode->from_tensor(real.select(0, 1));
  EXPECT_TRUE(mode->from_tensor(real).is_same(a));
  EXPECT_EQ(a.storage().get(), b.storage().get());
  Tensor written = b;
  written.add_(Scalar(1));
  EXPECT_EQ(a.version(), b.version());
}

}  // namespace
}  // namespace taeda::fx
