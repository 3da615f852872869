// Traced programs whose inputs share memory (Note [Shared inputs]).
#include "taeda/fx/retrace.h"
#include "tests/fx/traced_programs.h"

namespace taeda::fx {
namespace {

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

TEST(SharedInputs, WritesToSharedInputsShowInAll) {
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

TEST(SharedInputs, PartsOfAStorageThatDoNotOverlapShareNothing) {
  const auto graph = parse_graph("graph(x, y) {\n w = aten::add_.Scalar(x, 1)\n return y\n}");
  const Tensor memory = ramp({6}, 0);
  const std::vector<Value> halves{Value(memory.slice(0, SymInt(0), SymInt(3))),
                                  Value(memory.slice(0, SymInt(3), SymInt(6)))};
  const Retraced made = retrace(*graph, halves);
  EXPECT_EQ(made.written, std::vector<size_t>{0});
  EXPECT_FALSE(has_call(*made.graph, "as_strided")) << to_text(*made.graph);
}

TEST(SharedInputs, TheInputThatCoversTheOthersIsTheirMemory) {
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

TEST(SharedInputs, RandomProgramsOnSharedInputsAreEagers) {
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

TEST(SharedInputs, WritesShowInInputsReadAsOtherNumbers) {
  const auto graph = parse_graph("graph(x, y) {\n z = aten::add_.Scalar(x, 1)\n return y\n}");
  const auto inputs = [](const Tensor& t) {
    return std::vector<Value>{Value(t), Value(taeda::view(t, DType::Long))};
  };
  const Tensor x = ramp({4}, 0);
  const Retraced made = retrace(*graph, inputs(x));
  const std::vector<Value> found = items(Plan(*made.graph).run(inputs(plain(x))));
  const std::vector<Value> expected = inputs(plain(x));
  Plan(*graph).run(expected);
  expect_same_values(found.back().get<Tensor>(), expected[1].get<Tensor>(), to_text(*made.graph));
}

}  // namespace
}  // namespace taeda::fx
