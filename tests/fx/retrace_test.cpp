// Retraced graphs: what they compute, what they return, and the layers that they are traced under.
#include "taeda/fx/retrace.h"

#include "tests/fx/traced_programs.h"

namespace taeda::fx {
namespace {

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

// ---- gradients ----

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

void expect_same_gradients(Program program, const std::vector<Tensor>& inputs,
                           const std::string& what) {
  RetraceOptions options;
  options.differentiates = true;
  const Retraced made = trace(program, {inputs.begin(), inputs.end()}, options);
  lint(*made.graph);
  expect_same(run_eagerly(program, inputs, &made), run_joint(made, inputs),
              what + "\n" + to_text(*made.graph));
}

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

}  // namespace
}  // namespace taeda::fx
