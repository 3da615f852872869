// Control flow in graphs: runs, shapes, traces, gradients and batches, with no Python.
#include "taeda/fx/control_flow/operators.h"

#include <gtest/gtest.h>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/variable.h"
#include "taeda/func/vmap.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

Tensor vector(std::vector<double> values) {
  Tensor t = taeda::empty({SymInt(static_cast<int64_t>(values.size()))}, DType::Double);
  std::copy(values.begin(), values.end(), static_cast<double*>(t.data()));
  return t;
}

void expect_close(const Tensor& a, const Tensor& b, const std::string& what = {}) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(taeda::allclose(a, b, 1e-9, 1e-9)) << what;
}

constexpr const char* kCondText = R"(graph(p, x, w) {
  c = higher_order::cond(p, graph(y, v) {
    s = aten::sin(y)
    m = aten::mul.Tensor(s, v)
    return (m,)
  }, graph(y, v) {
    m = aten::mul.Tensor(y, y)
    return (m,)
  }, (x, w))
  r = builtin::getitem(c, 0)
  return r
})";

constexpr const char* kWhileText = R"(graph(x, w) {
  c = higher_order::while_loop(graph(y, v) {
    t = aten::sum(y)
    b = aten::lt.Scalar(t, 20)
    return (b,)
  }, graph(y, v) {
    m = aten::mul.Tensor(y, v)
    return (m,)
  }, (x,), (w,))
  r = builtin::getitem(c, 0)
  return r
})";

constexpr const char* kScanText = R"(graph(x, xs, w) {
  c = higher_order::scan(graph(carry, each, v) {
    a = aten::mul.Tensor(carry, each)
    b = aten::add.Tensor(a, v)
    s = aten::sin(b)
    return (b, s)
  }, (x,), (xs,), (w,))
  last = builtin::getitem(c, 0)
  every = builtin::getitem(c, 1)
  return (last, every)
})";

constexpr const char* kMapText = R"(graph(xs, w) {
  c = higher_order::map_impl(graph(each, v) {
    a = aten::mul.Tensor(each, v)
    s = aten::sin(a)
    return (s,)
  }, (xs,), (w,))
  r = builtin::getitem(c, 0)
  return r
})";

constexpr const char* kAssociativeText = R"(graph(xs) {
  c = higher_order::associative_scan(graph(a, b) {
    m = aten::mul.Tensor(a, b)
    return (m,)
  }, (xs,), ())
  r = builtin::getitem(c, 0)
  return r
})";

struct Case {
  const char* name;
  const char* text;
  std::vector<Tensor> inputs;  // each may be batched
};

std::vector<Case> cases() {
  const Tensor x = vector({0.5, 1.5, -0.25}), w = vector({1.5, 2.0, 1.25});
  const Tensor xs = taeda::stack({x, w, x * w, w + Scalar(0.5)});
  const Tensor yes = taeda::full({}, Scalar(true), DType::Bool);
  const Tensor no = taeda::full({}, Scalar(false), DType::Bool);
  return {{"cond true", kCondText, {yes, x, w}},
          {"cond false", kCondText, {no, x, w}},
          {"while", kWhileText, {x, w}},
          {"scan", kScanText, {x, xs, w}},
          {"map", kMapText, {xs, w}},
          {"associative_scan", kAssociativeText, {xs}}};
}

// Copies, with gradients where they can be.
std::vector<Tensor> leaves_of(const Case& c) {
  std::vector<Tensor> out;
  for (const Tensor& t : c.inputs) {
    out.push_back(t.clone());
    if (autograd::is_differentiable(t)) autograd::set_requires_grad(out.back(), true);
  }
  return out;
}

Values as_values(const std::vector<Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

std::vector<Tensor> eager_gradients(const Plan& plan, const std::vector<Tensor>& leaves) {
  std::vector<Tensor> wanted, weights;
  for (const Tensor& t : leaves)
    if (autograd::requires_grad(t)) wanted.push_back(t);
  const std::vector<Tensor> results = flatten_tensors(plan.run(as_values(leaves)));
  for (const Tensor& t : results) weights.push_back(taeda::cos(t.detach()));
  return autograd::run_backward(results, weights, false, false, wanted, true, false);
}

TEST(ControlFlow, TextOfFilesIsRead) {
  const auto graph = parse_graph(R"(graph(p, x) {
    c = builtin::cond(p, graph(y) {
      return (y,)
    }, graph(y) {
      return (y,)
    }, (x,))
    return c
  })");
  EXPECT_NE(to_text(*graph).find("higher_order::cond"), std::string::npos) << to_text(*graph);
  EXPECT_EQ(open_reason(*graph), "");
}

TEST(ControlFlow, RetracedGraphsComputeTheSame) {
  for (const Case& c : cases()) {
    const auto graph = parse_graph(c.text);
    RetraceOptions options;
    options.decompose = decompose_to_core;
    const Retraced made = retrace(*graph, as_values(c.inputs), options);
    const std::string text = str(c.name, "\n", to_text(*made.graph));
    EXPECT_NE(text.find("higher_order::"), std::string::npos) << text;
    lint(*made.graph);
    EXPECT_EQ(open_reason(*made.graph), "");
    const auto found = flatten_tensors(Plan(*made.graph).run(as_values(c.inputs)));
    const auto expected = flatten_tensors(Plan(*graph).run(as_values(c.inputs)));
    ASSERT_EQ(found.size(), expected.size()) << text;
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], text);
  }
}

TEST(ControlFlow, JointGraphsHaveEagersGradients) {
  for (const Case& c : cases()) {
    const auto graph = parse_graph(c.text);
    const Plan plan(*graph);
    const std::vector<Tensor> leaves = leaves_of(c);
    RetraceOptions options;
    options.differentiates = true;
    const Retraced made = retrace(*graph, as_values(leaves), options);
    const std::string text = str(c.name, "\n", to_text(*made.graph));
    const std::vector<Tensor> expected = eager_gradients(plan, leaves);
    Values given = as_values(c.inputs);
    for (const Tensor& t : flatten_tensors(plan.run(as_values(c.inputs))))
      given.emplace_back(taeda::cos(t));
    const Values all = items(Plan(*made.graph).run(given));
    ASSERT_EQ(all.size(), made.num_results + expected.size()) << text;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Value& found = all[made.num_results + i];
      if (!expected[i].defined()) {
        // A branch that does not use an operand gives zeros where the branch is not known.
        if (!found.is_none()) expect_close(found.get<Tensor>(), taeda::zeros_like(c.inputs[i + 1]));
        continue;
      }
      ASSERT_TRUE(found.is<Tensor>()) << text;
      expect_close(found.get<Tensor>(), expected[i], text);
    }
  }
}

// The graph of a vmap over the first input, from a batch of three.
TEST(ControlFlow, BatchesMatchTheExamples) {
  for (const Case& c : cases()) {
    const auto graph = parse_graph(c.text);
    const Plan plan(*graph);
    for (size_t which = 0; which < c.inputs.size(); ++which) {
      const Tensor one = c.inputs[which];
      const bool is_bool = one.dtype() == DType::Bool;
      const Tensor batch = is_bool ? taeda::stack({one, taeda::logical_not(one), one})
                                   : taeda::stack({one, one * Scalar(1.5), one * Scalar(0.75)});
      const auto over_batch = [&](Values values) {
        const auto example = [&](const Tensor& t) {
          Values operands = values;
          operands[which] = Value(t);
          return flatten_tensors(plan.run(operands));
        };
        const std::vector<Tensor> found = func::vmap(example)(values[which].get<Tensor>());
        return list(Values(found.begin(), found.end()));
      };
      Values inputs = as_values(c.inputs);
      inputs[which] = Value(batch);
      const std::string text = str(c.name, " over input ", which);
      std::vector<std::vector<Tensor>> expected;
      for (int64_t i = 0; i < 3; ++i) {
        Values example = inputs;
        example[which] = Value(batch.select(0, SymInt(i)));
        expected.push_back(flatten_tensors(plan.run(example)));
      }
      const Retraced made = trace(over_batch, inputs, {});
      const std::vector<std::vector<Tensor>> runs{flatten_tensors(over_batch(inputs)),
                                                  flatten_tensors(Plan(*made.graph).run(inputs))};
      for (const std::vector<Tensor>& found : runs) {
        ASSERT_EQ(found.size(), expected[0].size()) << text;
        for (size_t r = 0; r < found.size(); ++r)
          for (int64_t i = 0; i < 3; ++i)
            expect_close(found[r].select(0, SymInt(i)), expected[static_cast<size_t>(i)][r],
                         str(text, "\n", to_text(*made.graph)));
      }
    }
  }
}

// Tangents of the results, with cosines as tangents of the inputs.
TEST(ControlFlow, TracedTangentsAreEagers) {
  for (const Case& c : cases()) {
    const auto graph = parse_graph(c.text);
    const Plan plan(*graph);
    const auto tangents = [&](Values values) {
      Values duals;
      for (const Value& v : values) {
        duals.emplace_back(autograd::detached(v.get<Tensor>()));
        if (autograd::is_differentiable(v.get<Tensor>()))
          autograd::set_tangent(duals.back().get<Tensor>(), taeda::cos(v.get<Tensor>()));
      }
      Values out;
      for (const Tensor& t : flatten_tensors(plan.run(duals)))
        out.emplace_back(autograd::tangent_or_zeros(t));
      return list(std::move(out));
    };
    const Values inputs = as_values(c.inputs);
    const Retraced made = trace(tangents, inputs, {});
    const std::string text = str(c.name, "\n", to_text(*made.graph));
    const auto expected = flatten_tensors(tangents(inputs));
    const auto found = flatten_tensors(Plan(*made.graph).run(inputs));
    ASSERT_EQ(found.size(), expected.size()) << text;
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], text);
  }
}

TEST(ControlFlow, BranchesWithOtherSizesGiveUnknownSizes) {
  const auto graph = parse_graph(R"(graph(p, x) {
    c = higher_order::cond(p, graph(y) {
      s = aten::slice.Tensor(y, 0, 0, 2)
      n = aten::neg(s)
      return (n,)
    }, graph(y) {
      n = aten::neg(y)
      return (n,)
    }, (x,))
    r = builtin::getitem(c, 0)
    t = aten::sum(r)
    return t
  })");
  const Tensor yes = taeda::full({}, Scalar(true), DType::Bool), x = vector({1, 2, 3});
  const Retraced made = retrace(*graph, {Value(yes), Value(x)});
  EXPECT_NE(to_text(*made.graph).find("f64[u"), std::string::npos) << to_text(*made.graph);
  const auto found = flatten_tensors(Plan(*made.graph).run({Value(yes), Value(x)}));
  EXPECT_EQ(read_scalar(found.at(0)).to_double(), -3.0);
}

TEST(ControlFlow, RegionsAreFunctionalizedAndMayNotWriteToOperands) {
  const auto inner = parse_graph(R"(graph(p, x) {
    c = higher_order::cond(p, graph(y) {
      s = aten::clone(y)
      n = aten::mul_.Scalar(s, 2)
      return (s,)
    }, graph(y) {
      n = aten::neg(y)
      return (n,)
    }, (x,))
    return c
  })");
  const Tensor yes = taeda::full({}, Scalar(true), DType::Bool), x = vector({1, 2, 3});
  const Retraced made = retrace(*inner, {Value(yes), Value(x)});
  EXPECT_EQ(to_text(*made.graph).find("mul_"), std::string::npos) << to_text(*made.graph);
  expect_close(flatten_tensors(Plan(*made.graph).run({Value(yes), Value(x)})).at(0), x * Scalar(2));
  const auto writing = parse_graph(R"(graph(p, x) {
    c = higher_order::cond(p, graph(y) {
      n = aten::mul_.Scalar(y, 2)
      return (n,)
    }, graph(y) {
      n = aten::neg(y)
      return (n,)
    }, (x,))
    return c
  })");
  EXPECT_THROW(retrace(*writing, {Value(yes), Value(x)}), Error);
}

// Gradients of the sum of squared gradients.
TEST(ControlFlow, TracedSecondDerivativesAreEagers) {
  for (const Case& c : cases()) {
    const auto graph = parse_graph(c.text);
    const Plan plan(*graph);
    const auto second = [&](Values values) {
      const autograd::EnableGrad recorded;
      std::vector<Tensor> wanted, weights;
      for (Value& v : values) {
        if (!autograd::is_differentiable(v.get<Tensor>())) continue;
        wanted.push_back(v.get<Tensor>().detach());
        autograd::set_requires_grad(wanted.back(), true);
        v = Value(wanted.back());
      }
      const std::vector<Tensor> results = flatten_tensors(plan.run(values));
      for (const Tensor& t : results) weights.push_back(taeda::ones_like(t));
      const auto first = autograd::run_backward(results, weights, true, true, wanted, true, false);
      Tensor total = taeda::zeros({}, DType::Double);
      for (const Tensor& g : first)
        if (g.defined()) total = total + taeda::sum(g * g);
      const std::vector<Tensor> root{total}, one{taeda::ones_like(total)};
      Values out;
      for (const Tensor& g : autograd::run_backward(root, one, false, false, wanted, true, false))
        out.emplace_back(g.defined() ? g : taeda::zeros({}, DType::Double));
      return list(std::move(out));
    };
    const Values inputs = as_values(c.inputs);
    const Retraced made = trace(second, inputs, {});
    const auto expected = flatten_tensors(second(inputs));
    const auto found = flatten_tensors(Plan(*made.graph).run(inputs));
    ASSERT_EQ(found.size(), expected.size()) << c.name;
    for (size_t i = 0; i < found.size(); ++i) {
      // Zeros for an operand that the branch does not use.
      const Tensor like = expected[i].dim() == 0 ? taeda::zeros_like(found[i]) : expected[i];
      expect_close(found[i], like, str(c.name, "\n", to_text(*made.graph)));
    }
  }
}

}  // namespace
}  // namespace taeda::fx
