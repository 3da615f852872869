// Exported programs: running, saving, loading, and inputs and files that do not fit.
#include "taeda/export/exported_program.h"

#include <gtest/gtest.h>

#include <random>

#include "taeda/autograd/variable.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

namespace taeda::exported {
namespace {

// y = x @ w + k * calls, where calls counts.
constexpr const char* kGraph = R"(graph(p_w: f32[3, 2], b_calls: f32[], x: f32[s0, 3], k) {
  add: f32[] = aten::add.Tensor(b_calls, 1)
  mm: f32[s0, 2] = aten::mm(x, p_w)
  add_1: f32[s0, 2] = aten::add.Tensor(mm, add)
  return (add, add_1, 7)
}
)";

IntrusivePtr<fx::Graph> parsed(const std::string& text) {
  SizeSymbols symbols;
  return fx::parse_graph(text, symbols);
}

InputSpec tensor_input(InputKind kind, std::string name, std::string target = "") {
  InputSpec spec;
  spec.kind = kind;
  spec.name = std::move(name);
  spec.target = std::move(target);
  return spec;
}
OutputSpec tensor_output(OutputKind kind, std::string name, std::string target = "") {
  OutputSpec spec;
  spec.kind = kind;
  spec.name = std::move(name);
  spec.target = std::move(target);
  return spec;
}

ProgramParts counting_parts() {
  ProgramParts parts;
  parts.graph = parsed(kGraph);
  parts.signature.inputs = {
      tensor_input(InputKind::Parameter, "p_w", "w"),
      tensor_input(InputKind::Buffer, "b_calls", "calls"),
      tensor_input(InputKind::UserInput, "x"),
      {InputKind::UserInput, ArgumentKind::Constant, "k", "", true, fx::Arg(int64_t{3})},
  };
  parts.signature.outputs = {
      tensor_output(OutputKind::BufferMutation, "add", "calls"),
      tensor_output(OutputKind::UserOutput, "add_1"),
      {OutputKind::UserOutput, ArgumentKind::Constant, "", "", fx::Arg(int64_t{7})},
  };
  parts.signature.ranges = {{"s0", {2, 10}}};
  parts.state["w"] = ones({3, 2}, DType::Float);
  autograd::set_requires_grad(parts.state["w"], true);
  parts.state["calls"] = zeros({}, DType::Float);
  parts.notes["spec"] = "anything";
  return parts;
}

std::string saved(const ExportedProgram& program) {
  std::string bytes;
  program.save(serialization::open_memory_sink(bytes));
  return bytes;
}
ExportedProgram loaded(const std::string& bytes) {
  return ExportedProgram::load(serialization::open_memory_source(bytes));
}

std::vector<Value> inputs(int64_t rows) { return {ones({rows, 3}, DType::Float), int64_t{3}}; }
double number(const Tensor& t) { return read_scalar(t).to_double(); }
double first(const Value& v) { return number(v.get<Tensor>().select(0, 0).select(0, 0)); }

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ExportedProgram, RunsAndKeepsItsBuffers) {
  ExportedProgram program(counting_parts());
  const std::vector<Value> results = program.run(inputs(4));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(first(results[0]), 4.0);
  EXPECT_EQ(results[1].to_int(), 7);
  EXPECT_EQ(first(program.run(inputs(2))[0]), 5.0);
  EXPECT_EQ(number(program.tensor("calls")), 2.0);
  EXPECT_FALSE(autograd::requires_grad(program.tensor("calls")));
}

TEST(ExportedProgram, WritesBackToInputs) {
  ProgramParts parts;
  parts.graph = fx::parse_graph(
      "graph(x: f32[2]) {\n  mul: f32[2] = aten::mul.Tensor(x, 2)\n  return (mul, mul)\n}\n");
  parts.signature.inputs = {tensor_input(InputKind::UserInput, "x")};
  parts.signature.outputs = {tensor_output(OutputKind::UserInputMutation, "mul", "x"),
                             tensor_output(OutputKind::UserOutput, "mul")};
  ExportedProgram program(std::move(parts));
  const Tensor x = ones({2}, DType::Float);
  program.run({x});
  EXPECT_EQ(number(x.sum()), 4.0);
}

TEST(ExportedProgram, IsTheSameWhenLoaded) {
  ExportedProgram program(counting_parts());
  program.run(inputs(4));
  ExportedProgram back = loaded(saved(program));
  EXPECT_EQ(fx::to_text(back.graph()), kGraph);
  EXPECT_EQ(to_text(back.signature()), to_text(program.signature()));
  EXPECT_EQ(back.parts().notes.at("spec"), "anything");
  EXPECT_TRUE(autograd::requires_grad(back.tensor("w")));
  EXPECT_EQ(first(back.run(inputs(4))[0]), 5.0);
  EXPECT_EQ(saved(loaded(saved(program))), saved(program));
}

// What a branch uses, parameters and constants, are its operands.
TEST(ExportedProgram, RunsRegionsOnWhatItHolds) {
  ProgramParts parts;
  parts.graph = fx::parse_graph(R"(graph(p_w: f32[2], c_k: f32[2], x: f32[2]) {
    sum_1: f32[] = aten::sum(x)
    gt: b8[] = aten::gt.Tensor(sum_1, 0)
    cond = higher_order::cond(gt, graph(a: f32[2], w: f32[2], k: f32[2]) {
      mul: f32[2] = aten::mul.Tensor(a, w)
      return (mul,)
    }, graph(a: f32[2], w: f32[2], k: f32[2]) {
      copy: f32[2] = aten::lift_fresh_copy(k)
      add: f32[2] = aten::add.Tensor(a, copy)
      return (add,)
    }, (x, p_w, c_k))
    getitem: f32[2] = builtin::getitem(cond, 0)
    return (getitem,)
  })");
  parts.signature.inputs = {tensor_input(InputKind::Parameter, "p_w", "w"),
                            tensor_input(InputKind::ConstantTensor, "c_k", "lifted_tensor_0"),
                            tensor_input(InputKind::UserInput, "x")};
  parts.signature.outputs = {tensor_output(OutputKind::UserOutput, "getitem")};
  parts.state["w"] = full({SymInt(2)}, Scalar(3.0), DType::Float);
  parts.state["lifted_tensor_0"] = full({SymInt(2)}, Scalar(5.0), DType::Float);
  ExportedProgram program = loaded(saved(ExportedProgram(std::move(parts))));
  const Tensor x = ones({2}, DType::Float);
  const auto total = [&](const Tensor& t) {
    return number(program.run({t})[0].get<Tensor>().sum());
  };
  EXPECT_EQ(total(x), 6.0);
  EXPECT_EQ(total(x.neg()), 8.0);
}

TEST(ExportedProgram, ChecksItsInputs) {
  ProgramParts parts = counting_parts();
  parts.signature.ranges[0].second.low = 3;
  ExportedProgram program(std::move(parts));
  const Tensor x = ones({4, 3}, DType::Float);
  const Value k = int64_t{3};
  const std::pair<std::vector<Value>, const char*> cases[] = {
      {{x}, "the program takes 2 inputs, got 1"},
      {{k, k}, "Guard failed: isinstance(x, torch.Tensor)"},
      {{x.to(DType::Double), k}, "Guard failed: x.dtype == torch.float32; got torch.float64"},
      {{x.unsqueeze(0), k}, "Guard failed: x.dim() == 2; got 3"},
      {{ones({4, 5}, DType::Float), k}, "Guard failed: x.size()[1] == 3; got 5"},
      {{ones({11, 3}, DType::Float), k}, "Guard failed: x.size()[0] <= 10; got 11"},
      {{ones({2, 3}, DType::Float), k}, "Guard failed: x.size()[0] >= 3; got 2"},
      {{x, int64_t{4}}, "Guard failed: k == 3; got 4"},
  };
  for (const auto& [given, message] : cases)
    EXPECT_EQ(error_of([&] { program.run(given); }).substr(0, std::string(message).size()),
              message);
  EXPECT_EQ(number(program.tensor("calls")), 0.0);
}

TEST(ExportedProgram, RelatedSizesAreChecked) {
  ProgramParts parts;
  parts.graph = parsed(
      "graph(x: f32[2*s0], y: f32[s0], z: f32[s0]) {\n  neg = aten::neg(x)\n  return (neg,)\n}\n");
  parts.signature.conditions = {"Ne(Mod(s0, 5), 0)"};
  for (const char* name : {"x", "y", "z"})
    parts.signature.inputs.push_back(tensor_input(InputKind::UserInput, name));
  parts.signature.outputs = {tensor_output(OutputKind::UserOutput, "neg")};
  ExportedProgram program(std::move(parts));
  const auto of = [](int64_t n) { return Value(ones({n}, DType::Float)); };
  program.run({of(6), of(3), of(3)});
  EXPECT_EQ(error_of([&] { program.run({of(6), of(3), of(4)}); }),
            "Guard failed: z.size()[0] == y.size()[0]; got 4 and 3");
  EXPECT_EQ(error_of([&] { program.run({of(7), of(3), of(3)}); }),
            "Guard failed: x.size()[0] == 2*y.size()[0]; got 7 and 6");
  EXPECT_EQ(error_of([&] { program.run({of(10), of(5), of(5)}); }),
            "Guard failed: Ne(Mod(s0, 5), 0); got s0 = y.size()[0] = 5");
}

TEST(ExportedProgram, WritesToParametersAsData) {
  ProgramParts parts;
  parts.graph = parsed(
      "graph(p_w: f32[2], x: f32[2]) {\n  add: f32[2] = aten::add.Tensor(p_w, x)\n  return (add, "
      "add)\n}\n");
  parts.signature.inputs = {tensor_input(InputKind::Parameter, "p_w", "w"),
                            tensor_input(InputKind::UserInput, "x")};
  parts.signature.outputs = {tensor_output(OutputKind::ParameterMutation, "add", "w"),
                             tensor_output(OutputKind::UserOutput, "add")};
  parts.state["w"] = ones({2}, DType::Float);
  autograd::set_requires_grad(parts.state["w"], true);
  ExportedProgram program = loaded(saved(ExportedProgram(std::move(parts))));
  program.run({ones({2}, DType::Float)});
  program.run({ones({2}, DType::Float)});
  EXPECT_TRUE(equal(program.tensor("w"), full({2}, 3, DType::Float)));
  EXPECT_TRUE(autograd::requires_grad(program.tensor("w")));
}

TEST(ExportedProgram, ChecksWhatItsGraphAsserts) {
  ProgramParts parts;
  parts.graph = parsed(R"(graph(n: i64[]) {
  item = aten::item(n)
  bits = builtin::and_(item, 6)
  ge = builtin::ge(bits, 4)
  check = builtin::_assert_scalar(ge, "bits must be set")
  add: i64[] = aten::add.Tensor(n, 1)
  return (add,)
}
)");
  parts.signature.inputs = {tensor_input(InputKind::UserInput, "n")};
  parts.signature.outputs = {tensor_output(OutputKind::UserOutput, "add")};
  ExportedProgram program = loaded(saved(ExportedProgram(std::move(parts))));
  EXPECT_EQ(number(program.run({full({}, 5, DType::Int64)})[0].get<Tensor>()), 6.0);
  EXPECT_EQ(error_of([&] { program.run({full({}, 9, DType::Int64)}); }), "bits must be set");
}

TEST(ExportedProgram, RefusesPartsThatDoNotFit) {
  const auto error = [](void (*change)(ProgramParts&)) {
    ProgramParts parts = counting_parts();
    change(parts);
    return error_of([&] { ExportedProgram program(std::move(parts)); });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error([](ProgramParts& p) { p.state.erase("w"); }), "no tensor for parameter w");
  has(error([](ProgramParts& p) { p.signature.inputs.pop_back(); }), "4 inputs, its signature 3");
  has(error([](ProgramParts& p) { p.signature.inputs[0].name = "q"; }), "called p_w in the graph");
  has(error([](ProgramParts& p) { p.signature.outputs[0].target = "w"; }), "which is no buffer");
  has(error([](ProgramParts& p) { p.signature.outputs[1].name = "mm"; }), "not the node mm");
  has(error([](ProgramParts& p) {
        std::string text = kGraph;
        text.replace(text.find("add.Tensor"), 4, "add_.");
        p.graph = parsed(text);
      }),
      "writes to its argument self");
}

// As traced: the buffer and the input are written to, and a region runs without recording.
constexpr const char* kWriting = R"(graph(b_calls: f32[], x: f32[2]) {
  add_: f32[] = aten::add_.Tensor(b_calls, 1)
  mul_: f32[2] = aten::mul_.Tensor(x, add_)
  w = builtin::wrap_with_set_grad_enabled(False, graph(y: f32[2]) {
    sin: f32[2] = aten::sin(y)
    return (sin,)
  }, mul_)
  getitem: f32[2] = builtin::getitem(w, 0)
  return (getitem,)
}
)";

ProgramParts writing_parts() {
  ProgramParts parts;
  parts.graph = parsed(kWriting);
  parts.signature.inputs = {tensor_input(InputKind::Buffer, "b_calls", "calls"),
                            tensor_input(InputKind::UserInput, "x")};
  parts.signature.outputs = {tensor_output(OutputKind::UserOutput, "getitem")};
  parts.signature.dialect = Dialect::Training;
  parts.state["calls"] = ones({}, DType::Float);
  return parts;
}

TEST(ExportedProgram, TracedProgramsWriteInPlace) {
  for (const bool is_loaded : {false, true}) {
    const ExportedProgram traced(writing_parts());
    ExportedProgram program = is_loaded ? loaded(saved(traced)) : ExportedProgram(writing_parts());
    EXPECT_EQ(program.signature().dialect, Dialect::Training);
    const Tensor x = ones({2}, DType::Float);
    const Tensor out = program.run({x})[0].get<Tensor>();
    EXPECT_TRUE(equal(program.tensor("calls"), full({}, 2, DType::Float)));
    EXPECT_TRUE(equal(x, full({2}, 2, DType::Float)));
    EXPECT_TRUE(equal(out, sin(x)));
  }
  ProgramParts parts = writing_parts();
  parts.signature.dialect = Dialect::Aten;
  EXPECT_NE(error_of([&] { ExportedProgram program(std::move(parts)); }).find("writes to its"),
            std::string::npos);
}

TEST(ExportedProgram, SymbolsAreFoundFromDerivedSizes) {
  ProgramParts parts;
  parts.graph = parsed(R"(graph(x: f32[8*s0]) {
  relu: f32[8*s0] = aten::relu(x)
  return (relu,)
}
)");
  parts.signature.inputs = {tensor_input(InputKind::UserInput, "x")};
  parts.signature.outputs = {tensor_output(OutputKind::UserOutput, "relu")};
  parts.signature.ranges = {{"s0", {2, 3}}};
  ExportedProgram program(std::move(parts));
  EXPECT_EQ(program.run({ones({16}, DType::Float)}).size(), 1u);
  const auto refused = [&](int64_t size) {
    return error_of([&] { program.run({ones({size}, DType::Float)}); });
  };
  EXPECT_NE(refused(17).find("Guard failed: x.size()[0] % 8 == 0; got"), std::string::npos)
      << refused(17);
  EXPECT_NE(refused(32).find("Guard failed: x.size()[0] <= 24; got 32"), std::string::npos)
      << refused(32);
}

TEST(ExportedProgram, RefusesOtherFiles) {
  std::string bytes;
  serialization::ZipWriter writer(serialization::open_memory_sink(bytes));
  writer.add("format", "taeda exported program 3");
  writer.finish();
  EXPECT_NE(
      error_of([&] { loaded(bytes); }).find("format version 3, supported are versions 1 to 2"),
      std::string::npos);
  EXPECT_NE(error_of([] { loaded("no archive"); }).find("no archive or a truncated one"),
            std::string::npos);
}

// Entries replaced by random edits, the archive itself whole: every reader behind it is reached.
TEST(ExportedProgram, RandomEntriesNeverCrash) {
  const std::string good = saved(ExportedProgram(counting_parts()));
  serialization::ZipReader reader(serialization::open_memory_source(good));
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    serialization::ZipWriter writer(serialization::open_memory_sink(bytes));
    const size_t victim = random() % reader.entries().size();
    for (size_t i = 0; i < reader.entries().size(); ++i) {
      std::string text = reader.read_bytes(reader.entries()[i].name);
      if (i == victim && !text.empty())
        for (int k = 0; k < 1 + round % 3; ++k)
          text[random() % text.size()] = "()[]{}\",:= aAsx01259-.*f\n"[random() % 25];
      writer.add(reader.entries()[i].name, text);
    }
    writer.finish();
    error_of([&] { loaded(bytes); });
  }
}

}  // namespace
}  // namespace taeda::exported
