// Retraced graphs: what they compute, what they return, and the layers that they are traced under.
#include "taeda/fx/retrace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

Tensor ramp(IntList sizes, double first) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Tensor line = taeda::arange(Scalar(0), Scalar(count), Scalar(1), DType::Double);
  return (line * Scalar(0.25) + Scalar(first)).reshape(as_symint(sizes));
}

Tensor leaf(IntList sizes, double first) {
  Tensor t = ramp(sizes, first);
  autograd::set_requires_grad(t, true);
  return t;
}

Tensor plain(const Tensor& t) { return autograd::detached(t).clone(); }

std::vector<Value> items(const Value& v) { return *v.get<std::shared_ptr<Value::List>>(); }

void expect_same_values(const Tensor& a, const Tensor& b, const std::string& what = {}) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(taeda::allclose(a, b, 1e-9, 1e-9, true)) << what;
}

bool has_call(const Graph& g, std::string_view text) {
  return to_text(g).find(text) != std::string::npos;
}

TEST(Retrace, RemovesWritesAndDecomposes) {
  const auto graph = parse_graph(R"(graph(x) {
    y = aten::silu(x)
    row = aten::select.int(y, 0, 1)
    w = aten::mul_.Scalar(row, 3)
    w2 = aten::add_.Scalar(x, 1)
    return y
  })");
  RetraceOptions options;
  options.decompose = decompose_to_core;
  const Tensor x = ramp({2, 3}, -1);
  const Retraced made = retrace(*graph, {Value(x)}, options);
  EXPECT_EQ(made.written, std::vector<size_t>{0});
  EXPECT_EQ(made.num_results, 1u);
  for (const char* gone : {"aten::silu", "mul_.", "add_."})
    EXPECT_FALSE(has_call(*made.graph, gone)) << to_text(*made.graph);
  const auto results = items(Plan(*made.graph).run({Value(plain(x))}));
  const Tensor own = plain(x);
  const Value expected = Plan(*graph).run({Value(own)});
  expect_same_values(results.at(0).get<Tensor>(), own);
  expect_same_values(results.at(1).get<Tensor>(), expected.get<Tensor>());
}

TEST(Retrace, KeepsNamesLinesAndExamples) {
  const auto graph =
      parse_graph("graph(first, second) {\n y = aten::linear(first, second)\n return y\n}");
  for (Node& n : *graph)
    if (n.op() == OpCode::CallFunction)
      n.set_meta_value("stack_trace", Value("File \"a.py\", line 7"));
  const Retraced made = retrace(*graph, {Value(ramp({2, 3}, 0)), Value(ramp({4, 3}, 0))});
  EXPECT_EQ(made.graph->placeholders().at(1)->name(), "second");
  size_t count = 0;
  for (const Node& n : *made.graph) {
    if (n.op() != OpCode::CallFunction) continue;
    ++count;
    EXPECT_EQ(n.meta().stack_trace, "File \"a.py\", line 7");
    EXPECT_TRUE(n.val().is<Tensor>());
  }
  EXPECT_GE(count, 2u);  // linear comes apart
}

TEST(Retrace, BeforeAutogradKeepsCompositesWhole) {
  const auto graph =
      parse_graph("graph(x, w) {\n y = aten::linear(x, w)\n z = aten::relu_(y)\n return z\n}");
  RetraceOptions options;
  options.is_before_autograd = true;
  const Retraced made = retrace(*graph, {Value(ramp({2, 3}, 0)), Value(ramp({4, 3}, 0))}, options);
  EXPECT_TRUE(has_call(*made.graph, "aten::linear")) << to_text(*made.graph);
  EXPECT_TRUE(has_call(*made.graph, "aten::relu(")) << to_text(*made.graph);
}

TEST(Retrace, ReadsSizesAsSymbols) {
  auto env = make_intrusive<ShapeEnv>();
  FakeMode::Options fake;
  fake.shape_env = env;
  const auto mode = make_intrusive<FakeMode>(fake);
  const Expr* s = env->create_symbol(5, "x.size(0)");
  const Tensor real = ramp({5, 2}, 0);
  const std::vector<SymInt> sizes{env->symint(s), SymInt(2)}, strides{SymInt(2), SymInt(1)};
  const Tensor x = mode->from_tensor(real, sizes, strides, SymInt(0));
  const auto graph = parse_graph("graph(x) {\n y = aten::flatten.using_ints(x)\n return y\n}");
  const Retraced made = retrace(*graph, {Value(x)});
  const auto results = items(Plan(*made.graph).run({Value(ramp({7, 2}, 0))}));
  EXPECT_EQ(results.at(0).get<Tensor>().sizes(), IntList({14})) << to_text(*made.graph);
}

// Gradients of the joint graph, by the tuple of its results, against those of a run.
void expect_same_gradients(Program program, const std::vector<Tensor>& inputs,
                           const std::string& what);

TEST(Retrace, JointGraphHasEagersGradients) {
  const auto graph = parse_graph(R"(graph(x, w) {
    h = aten::matmul(x, w)
    g = aten::gelu(h)
    r = aten::select.int(g, 0, 0)
    s = aten::mul_.Scalar(r, 2)
    m = aten::softmax.int(g, -1)
    return (m, r)
  })");
  const Plan plan(*graph);
  const auto run = [&](std::vector<Value> v) { return plan.run(std::move(v)); };
  expect_same_gradients(run, {leaf({2, 3}, -1), leaf({3, 4}, 0.5)}, "matmul");
}

TEST(Retrace, GradientsPassWritesUnderNoGrad) {
  const auto graph = parse_graph(R"(graph(x) {
    a = aten::mul.Tensor(x, x)
    s = builtin::wrap_with_set_grad_enabled(False, graph(y) {
      c = aten::clamp_(y, 0, 1)
      return (c,)
    }, a)
    b = aten::mul.Tensor(a, 3)
    return b
  })");
  const Plan plan(*graph);
  const auto run = [&](std::vector<Value> v) { return plan.run(std::move(v)); };
  expect_same_gradients(run, {leaf({5}, -0.5)}, "no_grad");
  RetraceOptions options;
  options.differentiates = true;
  const Retraced made = retrace(*graph, {Value(leaf({5}, -0.5))}, options);
  EXPECT_TRUE(has_call(*made.graph, "aten::clamp(")) << to_text(*made.graph);
  const std::vector<Node*> backward = [&] {
    std::vector<Node*> found;
    for (Node& n : *made.graph)
      if (!n.meta_value("partitioner_tag").is_none()) found.push_back(&n);
    return found;
  }();
  EXPECT_FALSE(backward.empty());
}

constexpr const char* kScopeText = R"(graph(x) {
  a = aten::sin(x)
  s = builtin::wrap_with_set_grad_enabled(False, graph(y, z) {
    c = aten::linear(y, z)
    d = aten::add_.Scalar(c, 1)
    return (d,)
  }, a, x)
  r = builtin::getitem(s, 0)
  b = aten::mul.Tensor(r, x)
  return b
})";

TEST(Retrace, GradScopesStayBeforeAutograd) {
  const auto graph = parse_graph(kScopeText);
  const Tensor x = leaf({3, 3}, -0.5);
  RetraceOptions options;
  options.is_before_autograd = true;
  const Retraced made = retrace(*graph, {Value(x)}, options);
  const std::string text = to_text(*made.graph);
  EXPECT_TRUE(has_call(*made.graph, "wrap_with_set_grad_enabled")) << text;
  EXPECT_EQ(text.find("add_"), std::string::npos) << text;
  lint(*made.graph);
  EXPECT_EQ(open_reason(*made.graph), "");
  const auto gradient = [&](const Graph& of) {
    const std::vector<Tensor> roots = flatten_tensors(Plan(of).run({Value(x)}));
    const std::vector<Tensor> weights{taeda::ones_like(roots.at(0))}, wanted{x};
    return autograd::run_backward(roots, weights, false, false, wanted, true, false)[0];
  };
  EXPECT_TRUE(taeda::allclose(gradient(*made.graph), gradient(*graph))) << text;
  options.keeps_grad_scopes = false;
  const Retraced inlined = retrace(*graph, {Value(x)}, options);
  EXPECT_FALSE(has_call(*inlined.graph, "wrap_with_set_grad_enabled"));
}

TEST(Retrace, GradScopesWithViewsOfOperandsAreInlined) {
  const auto graph = parse_graph(R"(graph(x) {
    s = builtin::wrap_with_set_grad_enabled(False, graph(y) {
      v = aten::view(y, [9])
      return (v,)
    }, x)
    r = builtin::getitem(s, 0)
    w = aten::add_.Scalar(r, 1)
    b = aten::mul.Tensor(x, 2)
    return b
  })");
  const Tensor x = plain(leaf({3, 3}, -0.5));
  RetraceOptions options;
  options.is_before_autograd = true;
  const Retraced made = retrace(*graph, {Value(x)}, options);
  EXPECT_FALSE(has_call(*made.graph, "wrap_with_set_grad_enabled")) << to_text(*made.graph);
  const std::vector<Value> found = items(Plan(*made.graph).run({Value(x)}));
  EXPECT_TRUE(taeda::equal(found.at(1).get<Tensor>(), (x + Scalar(1)) * Scalar(2)));
}

TEST(Retrace, AutocastScopesBecomeCasts) {
  const auto graph = parse_graph(R"(graph(x) {
    c = builtin::wrap_with_autocast("cpu", dtype.bf16, True, None, graph(y) {
      mm = aten::mm(y, y)
      return (mm,)
    }, x)
    r = builtin::getitem(c, 0)
    return r
  })");
  const Tensor x = ramp({2, 2}, 0.5).to(DType::Float);
  const Tensor expected = Plan(*graph).run({Value(x)}).get<Tensor>();
  for (const bool is_before_autograd : {false, true}) {
    RetraceOptions options;
    options.is_before_autograd = is_before_autograd;
    const Retraced made = retrace(*graph, {Value(x)}, options);
    EXPECT_FALSE(has_call(*made.graph, "wrap_with_autocast")) << to_text(*made.graph);
    const Tensor found = items(Plan(*made.graph).run({Value(x)})).at(0).get<Tensor>();
    EXPECT_EQ(found.dtype(), DType::BFloat16) << to_text(*made.graph);
    EXPECT_TRUE(taeda::equal(found, expected));
  }
  RetraceOptions options;
  options.differentiates = true;
  Tensor own = plain(x);
  autograd::set_requires_grad(own, true);
  const Retraced made = retrace(*graph, {Value(own)}, options);
  const Tensor tangent = taeda::ones_like(expected);
  const Value found = items(Plan(*made.graph).run({Value(x), Value(tangent)})).at(1);
  const Tensor y = Plan(*graph).run({Value(own)}).get<Tensor>();
  const std::vector<Tensor> roots{y}, weights{tangent}, wanted{own};
  const Tensor grad = autograd::run_backward(roots, weights, false, false, wanted, true, false)[0];
  EXPECT_EQ(found.get<Tensor>().dtype(), DType::Float);
  EXPECT_TRUE(taeda::equal(found.get<Tensor>(), grad));
}

TEST(Retrace, WritesToInputsThatAreNoLeaves) {
  const auto run = [](std::vector<Value> v) {
    const Tensor x = v[0].get<Tensor>();
    x.mul_(Scalar(2));
    return Value(x * x);
  };
  const Tensor x = leaf({4}, 0.25).clone();
  RetraceOptions options;
  options.differentiates = true;
  const Retraced made = trace(run, {Value(x)}, options);
  EXPECT_EQ(made.written, std::vector<size_t>{0});
  EXPECT_EQ(made.tangents, (std::vector<size_t>{0, 1}));
  expect_same_gradients(run, {x}, "non-leaf");
}

TEST(Retrace, RefusesRecordedWritesToViewsOfLeaves) {
  const auto run = [](std::vector<Value> v) { return Value(v[0].get<Tensor>().mul_(Scalar(2))); };
  RetraceOptions options;
  options.differentiates = true;
  const Tensor x = leaf({4}, 0.25);
  const Tensor part = x.slice(0, SymInt(1), SymInt(3));
  EXPECT_THROW(trace(run, {Value(part)}, options), Error);
  const auto quietly = [&](std::vector<Value> v) {
    const autograd::NoGrad unrecorded;
    return run(std::move(v));
  };
  EXPECT_EQ(trace(quietly, {Value(part)}, options).written, std::vector<size_t>{0});
}

TEST(Retrace, WritesToAnInputBehindTheStartOfItsStorage) {
  const auto run = [](std::vector<Value> v) {
    const Tensor x = v[0].get<Tensor>();
    const Tensor part = autograd::detached(x.slice(0, SymInt(1), SymInt(3)));
    x.mul_(Scalar(2));
    part.add_(Scalar(1));
    return Value(x + Scalar(0));
  };
  const auto input = [] { return ramp({8}, 1).slice(0, SymInt(4), SymInt(8)); };
  const Retraced made = trace(run, {Value(input())}, {});
  const Tensor x = input();
  const Tensor expected = run({Value(x)}).get<Tensor>();
  const std::vector<Value> found = items(Plan(*made.graph).run({Value(input())}));
  expect_same_values(found.at(0).get<Tensor>(), x, to_text(*made.graph));
  expect_same_values(found.at(1).get<Tensor>(), expected, to_text(*made.graph));
}

TEST(Retrace, RefusesWritesToInputsReadAsDifferentNumbers) {
  const auto graph = parse_graph("graph(x, y) {\n z = aten::add_.Scalar(x, 1)\n return y\n}");
  const Tensor x = ramp({4}, 0);
  const Tensor bits = taeda::view(x, DType::Long);
  EXPECT_THROW(retrace(*graph, {Value(x), Value(bits)}), Error);
}

TEST(Retrace, CallsThatSetModesAreScopes) {
  const auto graph = parse_graph(R"(graph(x) {
    a = aten::mul.Tensor(x, x)
    m = builtin::_set_grad_enabled(False)
    b = aten::sin(a)
    n = builtin::_set_grad_enabled(True)
    c = aten::mul.Tensor(b, x)
    return c
  })");
  RetraceOptions options;
  options.differentiates = true;
  const Tensor x = leaf({3}, 0.5);
  const Retraced made = retrace(*graph, {Value(x)}, options);
  const Tensor tangent = taeda::ones_like(plain(x));
  const Value grad = items(Plan(*made.graph).run({Value(plain(x)), Value(tangent)})).at(1);
  expect_same_values(grad.get<Tensor>(), taeda::sin(plain(x) * plain(x)), to_text(*made.graph));
}

// ---- on this thread ----

TEST(Trace, OnTheInputsThemselvesRunsTheProgram) {
  const Tensor x = ramp({3}, 1);
  RetraceOptions options;
  options.functionalizes = options.fakes_inputs = false;
  options.stays_on_thread = true;
  options.names = {"x"};
  Tensor seen;
  const Retraced made = trace(
      [&](std::vector<Value> v) {
        seen = v[0].get<Tensor>();
        seen.add_(Scalar(1));
        return Value(seen * Scalar(2));
      },
      {Value(x)}, options);
  EXPECT_EQ(seen.impl(), x.impl());
  expect_same_values(x, ramp({3}, 2));
  EXPECT_TRUE(has_call(*made.graph, "aten::add_")) << to_text(*made.graph);
  EXPECT_EQ(made.graph->placeholders().at(0)->name(), "x");
}

TEST(Trace, OnThisThreadTheGradModeIsTheCallers) {
  RetraceOptions options;
  options.functionalizes = options.fakes_inputs = false;
  options.stays_on_thread = true;
  for (const bool is_enabled : {true, false}) {
    const autograd::GradMode mode(is_enabled);
    const auto run = [&](std::vector<Value> v) {
      EXPECT_EQ(autograd::grad_enabled(), is_enabled);
      return Value(v[0].get<Tensor>() * Scalar(2));
    };
    trace(run, {Value(ramp({3}, 1))}, options);
  }
}

TEST(Trace, AGivenTracerRecordsWithItsSettings) {
  RetraceOptions options;
  options.functionalizes = options.fakes_inputs = false;
  options.stays_on_thread = true;
  options.tracer = make_intrusive<Tracer>(make_intrusive<Graph>());
  options.tracer->is_before_autograd = true;
  const auto run = [](std::vector<Value> v) {
    return Value(taeda::linear(v[0].get<Tensor>(), v[0].get<Tensor>()));
  };
  const Retraced made = trace(run, {Value(ramp({2, 2}, 1))}, options);
  EXPECT_EQ(made.graph.get(), &options.tracer->graph());
  EXPECT_TRUE(has_call(*made.graph, "aten::linear")) << to_text(*made.graph);
}

TEST(Trace, AFunctionInsideHasTheSettingsAround) {
  RetraceOptions options;
  options.functionalizes = options.fakes_inputs = false;
  options.stays_on_thread = true;
  options.tracer = make_intrusive<Tracer>(make_intrusive<Graph>());
  Tracer outer(make_intrusive<Graph>());
  outer.is_before_autograd = true;
  size_t num_nodes = 0;
  outer.on_node = [&](Node&) { ++num_nodes; };
  options.outer = &outer;
  const auto run = [](std::vector<Value> v) {
    return Value(taeda::linear(v[0].get<Tensor>(), v[0].get<Tensor>()));
  };
  const Retraced made = trace(run, {Value(ramp({2, 2}, 1))}, options);
  EXPECT_TRUE(has_call(*made.graph, "aten::linear")) << to_text(*made.graph);
  EXPECT_EQ(num_nodes, 1u);
  EXPECT_FALSE(options.tracer->records_modes);
}

TEST(Trace, OnTheInputsThemselvesNothingIsFunctional) {
  RetraceOptions options;
  options.fakes_inputs = false;
  EXPECT_THROW(trace([](std::vector<Value> v) { return v[0]; }, {Value(ramp({2}, 0))}, options),
               Error);
}

TEST(Retrace, LeavesTheThreadAndTheInputsAlone) {
  const Tensor x = leaf({3}, 0);
  const auto run = [](std::vector<Value> v) -> Value {
    v[0].get<Tensor>().detach().add_(Scalar(1));
    fail(ErrorKind::Value, "no");
  };
  EXPECT_THROW(trace(run, {Value(x)}, {}), Error);
  EXPECT_TRUE(dispatch::modes().empty());
  EXPECT_TRUE(autograd::grad_enabled());
  EXPECT_EQ(x.version(), 0u);
  EXPECT_TRUE(autograd::requires_grad(x * x));
}

// ---- random programs ----

// A run of a program: its results and the gradients of the inputs.
struct Outcome {
  std::vector<Tensor> results, gradients;
  std::string error;
};

// In the layout of the tensor: a joint graph takes tangents as they were traced.
Tensor tangent_for(const Tensor& t, size_t i) {
  const Tensor tangent =
      taeda::empty_strided(as_symint(t.sizes()), as_symint(t.strides()), t.dtype());
  return tangent.copy_(ramp(t.sizes(), 0.1 * static_cast<double>(i) - 0.3));
}

// Runs eagerly on copies of the inputs. Those that are no leaves stay so.
Outcome run_eagerly(Program program, const std::vector<Tensor>& inputs, const Retraced* made) {
  Outcome out;
  std::vector<Tensor> leaves;
  std::vector<Value> given;
  for (const Tensor& t : inputs) {
    leaves.push_back(plain(t));
    autograd::set_requires_grad(leaves.back(), autograd::requires_grad(t));
    given.emplace_back(autograd::is_leaf(t) ? leaves.back() : leaves.back().clone());
  }
  const std::vector<Tensor> results = flatten_tensors(program(given));
  std::vector<Tensor> all;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& t = given[i].get<Tensor>();
    const bool is_written = made ? std::ranges::count(made->written, i) > 0 : t.version() > 0;
    if (is_written) all.push_back(t);
  }
  all.insert(all.end(), results.begin(), results.end());
  std::vector<Tensor> roots, tangents, wanted;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!autograd::requires_grad(all[i])) continue;
    tangents.push_back(tangent_for(all[i], i));
    roots.push_back(all[i]);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (autograd::requires_grad(inputs[i])) wanted.push_back(leaves[i]);
  out.gradients.resize(wanted.size());
  // The values before backward writes to anything.
  for (const Tensor& t : all) out.results.push_back(plain(t));
  if (!roots.empty())
    out.gradients = autograd::run_backward(roots, tangents, false, false, wanted, true, false);
  return out;
}

Outcome run_joint(const Retraced& made, const std::vector<Tensor>& inputs) {
  std::vector<Value> given;
  for (const Tensor& t : inputs) given.emplace_back(plain(t));
  const std::vector<Node*> placeholders = made.graph->placeholders();
  for (size_t i = 0; i < made.tangents.size(); ++i) {
    const Tensor like = placeholders.at(inputs.size() + i)->val().get<Tensor>();
    given.emplace_back(tangent_for(like, made.tangents[i]));
  }
  Outcome out;
  const size_t num_results = made.written.size() + made.num_results;
  for (const Value& v : items(Plan(*made.graph).run(std::move(given)))) {
    const Tensor t = v.is_none() ? Tensor() : v.get<Tensor>();
    (out.results.size() < num_results ? out.results : out.gradients).push_back(t);
  }
  return out;
}

void expect_same(const Outcome& eager, const Outcome& joint, const std::string& what) {
  ASSERT_EQ(eager.results.size(), joint.results.size()) << what;
  for (size_t i = 0; i < eager.results.size(); ++i)
    expect_same_values(joint.results[i], eager.results[i], what);
  ASSERT_EQ(eager.gradients.size(), joint.gradients.size()) << what;
  for (size_t i = 0; i < eager.gradients.size(); ++i) {
    ASSERT_EQ(eager.gradients[i].defined(), joint.gradients[i].defined()) << what;
    if (eager.gradients[i].defined())
      expect_same_values(joint.gradients[i], eager.gradients[i], what);
  }
}

void expect_same_gradients(Program program, const std::vector<Tensor>& inputs,
                           const std::string& what) {
  RetraceOptions options;
  options.differentiates = true;
  const Retraced made = trace(program, {inputs.begin(), inputs.end()}, options);
  lint(*made.graph);
  expect_same(run_eagerly(program, inputs, &made), run_joint(made, inputs),
              what + "\n" + to_text(*made.graph));
}

// A program of random operators, views and writes; the same at every run.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : state_(seed * 2654435761u + 1) {}

  Value operator()(std::vector<Value> inputs) {
    for (const Value& v : inputs) pool_.push_back(v.get<Tensor>());
    for (int i = 0; i < 9; ++i) step();
    auto results = std::make_shared<Value::List>();
    for (size_t i = pool_.size() - 3; i < pool_.size(); ++i) results->emplace_back(pool_[i]);
    return results;
  }

 private:
  uint64_t draw(uint64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 11) % bound;
  }
  const Tensor& any() { return pool_[draw(pool_.size())]; }
  // Of the same sizes, the tensor itself at last.
  Tensor partner(const Tensor& t) {
    for (int i = 0; i < 4; ++i)
      if (const Tensor& other = any(); other.sizes() == t.sizes()) return other;
    return t;
  }

  void step() {
    switch (draw(4)) {
      case 0: return pool_.push_back(computed());
      case 1: return pool_.push_back(viewed());
      default: return write();
    }
  }

  Tensor computed() {
    const Tensor t = any();
    switch (draw(6)) {
      case 0: return taeda::sin(t);
      case 1: return t * partner(t);
      case 2: return taeda::sigmoid(t);
      case 3: return t + partner(t) * Scalar(0.5);
      case 4: return taeda::tanh(t);
      default: return t * t;
    }
  }

  Tensor viewed() {
    const Tensor t = any();
    const int64_t ndim = t.dim();
    switch (draw(6)) {
      case 0: return ndim > 1 ? t.select(0, SymInt(t.size(0) - 1)) : taeda::alias(t);
      case 1: return ndim > 1 ? t.transpose(0, 1) : t.unsqueeze(0);
      case 2:
        return ndim > 0 ? t.slice(0, SymInt(0), SymInt((t.size(0) + 1) / 2)) : taeda::alias(t);
      case 3: return ndim > 0 && t.is_contiguous() ? t.view({SymInt(-1)}) : t.detach();
      case 4: return ndim == 2 ? taeda::diagonal(t) : taeda::alias(t);
      default: return t.detach();
    }
  }

  // Writes to a tensor as it is, under no_grad, through detach() or through .data.
  void write() {
    const Tensor t = any();
    const uint64_t way = is_protected(t) ? 1 + draw(3) : draw(4);
    if (way == 0) return write_to(t);
    if (way == 1) {
      const autograd::NoGrad unrecorded;
      return write_to(t);
    }
    Tensor values = autograd::detached(t);
    if (way == 3) values.impl()->own_version_counter();
    write_to(values);
  }

  // Leaves and views of leaves refuse a recorded write.
  static bool is_protected(const Tensor& t) {
    const TensorImpl* base = t.impl()->view_base();
    const auto is_leaf = [](const TensorImpl* impl) {
      return impl->requires_grad_flag() &&
             (!autograd::meta_or_null(impl) || !autograd::meta_or_null(impl)->grad_fn);
    };
    return is_leaf(base ? base : t.impl());
  }

  void write_to(const Tensor& t) {
    switch (draw(7)) {
      case 0: t.add_(partner(t)); return;
      case 1: t.mul_(Scalar(0.5)); return;
      case 2: t.clamp_(Scalar(-0.5), Scalar(0.75)); return;
      case 3: t.copy_(taeda::cos(partner(t))); return;
      case 4: t.zero_(); return;
      case 5: t.sin_(); return;
      default: t.fill_(Scalar(0.5)); return;
    }
  }

  uint64_t state_;
  std::vector<Tensor> pool_;
};

TEST(Retrace, RandomProgramsHaveEagersGradients) {
  size_t num_compared = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const auto run = [&](std::vector<Value> v) { return RandomProgram(seed)(std::move(v)); };
    const std::vector<Tensor> inputs{leaf({3, 4}, -1.25), leaf({3, 4}, 0.125).clone(),
                                     ramp({3, 4}, 0.5)};
    RetraceOptions options;
    options.differentiates = true;
    if (seed % 2) options.decompose = decompose_to_core;
    const std::string what = str("program ", seed);
    std::string refused;
    Retraced made;
    try {
      made = trace(run, {inputs.begin(), inputs.end()}, options);
    } catch (const Error& error) {
      refused = error.what();
    }
    if (refused.empty()) {
      ++num_compared;
      expect_same(run_eagerly(run, inputs, &made), run_joint(made, inputs),
                  what + "\n" + to_text(*made.graph));
    } else {
      // A write that backward must not see, in either.
      EXPECT_THROW(run_eagerly(run, inputs, nullptr), Error) << what << ": " << refused;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(num_compared, 200u);
}

// ---- inputs that share memory (Note [Shared inputs]) ----

// Views of a tensor or of its copy, drawn anew from the same seed: the tensor itself, parts of it
// that overlap or do not, what is cut off from its history.
std::vector<Tensor> draw_views(const Tensor& source, uint64_t seed) {
  const Tensor base = seed % 5 ? source.clone() : source;
  std::vector<Tensor> views;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t kind = (seed >> (4 * i)) % 8;
    switch (kind) {
      case 0: views.push_back(base); break;
      case 1: views.push_back(base.view({SymInt(3), SymInt(4)})); break;
      case 2: views.push_back(base.view({SymInt(4), SymInt(3)}).transpose(0, 1)); break;
      case 3:
        views.push_back(base.slice(0, SymInt(0), SymInt(8)).view({SymInt(2), SymInt(4)}));
        break;
      case 4:
        views.push_back(base.slice(0, SymInt(4), SymInt(12)).view({SymInt(2), SymInt(4)}));
        break;
      case 5: views.push_back(base.slice(0, SymInt(1), SymInt(12), SymInt(2))); break;
      case 6: views.push_back(autograd::detached(base)); break;
      default: views.push_back(base.slice(0, SymInt(0), SymInt(4))); break;
    }
  }
  return views;
}

// Runs on views of a fresh copy of `start`: written inputs and results, and the gradient of
// `start`.
Outcome run_shared_eagerly(Program program, const Tensor& start, uint64_t seed,
                           const Retraced& made) {
  const Tensor source = plain(start);
  autograd::set_requires_grad(source, autograd::requires_grad(start));
  const std::vector<Tensor> views = draw_views(source, seed);
  const std::vector<Tensor> results = flatten_tensors(program({views.begin(), views.end()}));
  std::vector<Tensor> all, roots, tangents;
  for (size_t i = 0; i < views.size(); ++i)
    if (made.graph ? std::ranges::count(made.written, i) > 0 : views[i].version() > 0)
      all.push_back(views[i]);
  all.insert(all.end(), results.begin(), results.end());
  Outcome out;
  for (const Tensor& t : all) out.results.push_back(plain(t));
  for (size_t i = 0; i < all.size(); ++i) {
    if (!autograd::requires_grad(all[i])) continue;
    tangents.push_back(tangent_for(all[i], i));
    roots.push_back(all[i]);
  }
  const std::vector<Tensor> wanted{source};
  out.gradients.resize(1);
  if (!roots.empty())
    out.gradients = autograd::run_backward(roots, tangents, false, false, wanted, true, false);
  return out;
}

// The joint graph on views of a copy, and its gradients passed on to `start`.
Outcome run_shared_joint(const Retraced& made, const Tensor& start, uint64_t seed) {
  const Tensor source = plain(start);
  autograd::set_requires_grad(source, autograd::requires_grad(start));
  const std::vector<Tensor> views = draw_views(source, seed);
  Outcome out = run_joint(made, views);
  std::vector<Tensor> roots, tangents;
  for (size_t i = 0; i < made.gradients.size(); ++i) {
    if (!out.gradients[i].defined()) continue;
    roots.push_back(views[made.gradients[i]]);
    tangents.push_back(out.gradients[i]);
  }
  const std::vector<Tensor> wanted{source};
  out.gradients.assign(1, Tensor());
  if (!roots.empty())
    out.gradients = autograd::run_backward(roots, tangents, false, false, wanted, true, false);
  return out;
}

TEST(Retrace, WritesToSharedInputsShowInAll) {
  const auto graph = parse_graph(R"(graph(x, y, z) {
    w = aten::add_.Tensor(x, 1)
    v = aten::mul_.Tensor(y, 10)
    return (x, z)
  })");
  const Tensor memory = ramp({6}, 0);
  const auto views = [](const Tensor& t) {
    return std::vector<Value>{Value(t.slice(0, SymInt(0), SymInt(4))),
                              Value(t.slice(0, SymInt(2), SymInt(6))),
                              Value(t.slice(0, SymInt(5), SymInt(6)))};
  };
  const Retraced made = retrace(*graph, views(memory));
  EXPECT_EQ(made.written, (std::vector<size_t>{0, 1, 2})) << to_text(*made.graph);
  const std::vector<Value> found = items(Plan(*made.graph).run(views(plain(memory))));
  const Tensor own = plain(memory);
  const std::vector<Value> expected = views(own);
  Plan(*graph).run(expected);
  for (size_t i = 0; i < 3; ++i)
    expect_same_values(found.at(i).get<Tensor>(), expected[i].get<Tensor>(), to_text(*made.graph));
  expect_same_values(found.at(4).get<Tensor>(), expected[2].get<Tensor>());
}

TEST(Retrace, PartsOfAStorageThatDoNotOverlapShareNothing) {
  const auto graph = parse_graph("graph(x, y) {\n w = aten::add_.Scalar(x, 1)\n return y\n}");
  const Tensor memory = ramp({6}, 0);
  const std::vector<Value> halves{Value(memory.slice(0, SymInt(0), SymInt(3))),
                                  Value(memory.slice(0, SymInt(3), SymInt(6)))};
  const Retraced made = retrace(*graph, halves);
  EXPECT_EQ(made.written, std::vector<size_t>{0});
  EXPECT_FALSE(has_call(*made.graph, "as_strided")) << to_text(*made.graph);
}

TEST(Retrace, TheInputThatCoversTheOthersIsTheirMemory) {
  const auto graph = parse_graph("graph(x, y) {\n w = aten::add_.Scalar(y, 1)\n return x\n}");
  const Tensor memory = ramp({2, 3}, 0);
  const Retraced made = retrace(*graph, {Value(memory), Value(memory.select(0, SymInt(1)))});
  EXPECT_FALSE(has_call(*made.graph, "zeros")) << to_text(*made.graph);
  EXPECT_EQ(made.written, (std::vector<size_t>{0, 1}));
}

// The error of a run, or nothing.
template <class Run>
std::string refusal_of(Run&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Retrace, RandomProgramsOnSharedInputsAreEagers) {
  size_t num_compared = 0, num_shared = 0;
  for (uint64_t seed = 1; seed <= 800; ++seed) {
    const uint64_t layout = seed * 2654435761u >> 7;
    const auto run = [&](std::vector<Value> v) { return RandomProgram(seed)(std::move(v)); };
    const bool has_gradients = seed % 3 != 0;
    const Tensor start = has_gradients ? leaf({12}, -1.25) : ramp({12}, -1.25);
    const std::vector<Tensor> inputs = draw_views(start, layout);
    RetraceOptions options;
    options.differentiates = has_gradients || seed % 2;
    Retraced made;
    Outcome eager;
    const std::string refused =
        refusal_of([&] { made = trace(run, {inputs.begin(), inputs.end()}, options); });
    const std::string expected =
        refusal_of([&] { eager = run_shared_eagerly(run, start, layout, made); });
    // Kernels refuse to read what they overwrite; a functional program overwrites nothing.
    if (expected.find("single memory location") != std::string::npos) continue;
    const std::string what =
        str("program ", seed, "\n", refused.empty() ? to_text(*made.graph) : "");
    ASSERT_EQ(refused.empty(), expected.empty()) << what << refused << "\n" << expected;
    if (!refused.empty()) continue;
    ++num_compared;
    num_shared += made.written.size() > 1;
    expect_same(eager, run_shared_joint(made, start, layout), what);
    if (HasFailure()) break;
  }
  EXPECT_GT(num_compared, 300u);
  EXPECT_GT(num_shared, 200u);
}

}  // namespace
}  // namespace taeda::fx
