// Packages: kernels from the file, other machines, sizes and writes, and files that do not fit.
#include "taeda/inductor/package.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "taeda/autograd/variable.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

namespace taeda::inductor {
namespace {

using exported::ArgumentKind;
using exported::ExportedProgram;
using exported::InputKind;
using exported::InputSpec;
using exported::OutputKind;
using exported::OutputSpec;
using serialization::ZipReader;
using serialization::ZipWriter;

// y = softmax(relu(x @ w + b)), and a buffer that counts the rows.
constexpr const char* kModel = R"(graph(p_w: f32[3, 4], b_rows: i64[], x: f32[s0, 3], k) {
  sym_size: Sym(s0) = aten::sym_size.int(x, 0)
  add_: i64[] = aten::add_.Tensor(b_rows, sym_size)
  mm: f32[s0, 4] = aten::mm(x, p_w)
  relu: f32[s0, 4] = aten::relu(mm)
  mul: f32[s0, 4] = aten::mul.Tensor(relu, 2)
  softmax: f32[s0, 4] = aten::softmax.int(mul, -1)
  return (softmax, 7)
}
)";

IntrusivePtr<fx::Graph> parsed(const char* text) {
  exported::SizeSymbols symbols;
  return fx::parse_graph(text, symbols);
}

InputSpec state_input(InputKind kind, std::string name, std::string target) {
  InputSpec spec;
  spec.kind = kind;
  spec.name = std::move(name);
  spec.target = std::move(target);
  return spec;
}
InputSpec user_input(std::string name) {
  InputSpec spec;
  spec.name = std::move(name);
  return spec;
}
OutputSpec user_output(std::string name) {
  OutputSpec spec;
  spec.name = std::move(name);
  return spec;
}

ExportedProgram model() {
  exported::ProgramParts parts;
  parts.graph = parsed(kModel);
  parts.signature.dialect = exported::Dialect::Training;
  parts.signature.inputs = {
      state_input(InputKind::Parameter, "p_w", "w"),
      state_input(InputKind::Buffer, "b_rows", "rows"),
      user_input("x"),
      {InputKind::UserInput, ArgumentKind::Constant, "k", "", true, fx::Arg(int64_t{3})}};
  parts.signature.outputs = {
      user_output("softmax"),
      {OutputKind::UserOutput, ArgumentKind::Constant, "", "", fx::Arg(int64_t{7})}};
  parts.signature.ranges = {{"s0", {0, 50, 2}}};
  manual_seed(3);
  parts.state["w"] = randn({3, 4}, DType::Float);
  autograd::set_requires_grad(parts.state["w"], true);
  parts.state["rows"] = zeros({}, DType::Int64);
  return ExportedProgram(std::move(parts));
}

// One graph of one input x without state.
ExportedProgram program_of(const char* graph, std::string result,
                           std::vector<std::pair<std::string, exported::SizeRange>> ranges = {}) {
  exported::ProgramParts parts;
  parts.graph = parsed(graph);
  parts.signature.dialect = exported::Dialect::Training;
  parts.signature.inputs = {user_input("x")};
  parts.signature.outputs = {user_output(std::move(result))};
  parts.signature.ranges = std::move(ranges);
  return ExportedProgram(std::move(parts));
}

Tensor example(int64_t rows) {
  manual_seed(static_cast<uint64_t>(rows));
  return randn({rows, 3}, DType::Float);
}

std::string packed(const ExportedProgram& program, const std::vector<Value>& examples,
                   const Metadata& metadata = {}) {
  std::string bytes;
  save_package(program, examples, serialization::open_memory_sink(bytes), metadata);
  return bytes;
}
const std::string& packed_model() {
  static const std::string bytes =
      packed(model(), {example(8), int64_t{3}}, {{"made for", "a test"}});
  return bytes;
}
Package loaded(const std::string& bytes) {
  return Package::load(serialization::open_memory_source(bytes));
}

int native_kernels(const Package& package) {
  int native = 0;
  for (const auto& plan : package.plans()) native += plan->report().native;
  return native;
}
int all_kernels(const Package& package) {
  int kernels = 0;
  for (const auto& plan : package.plans()) kernels += plan->report().kernels;
  return kernels;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// The archive with one entry changed.
template <class Change>
std::string with_entry(const std::string& bytes, const std::string& name, Change&& change) {
  ZipReader from(serialization::open_memory_source(bytes));
  std::string out;
  ZipWriter to(serialization::open_memory_sink(out));
  for (const serialization::ZipEntry& e : from.entries()) {
    const std::string content = from.read_bytes(e.name);
    to.add(e.name, e.name == name ? change(content) : content);
  }
  to.finish();
  return out;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Package, RunsWithTheKernelsOfTheFile) {
  Package package = loaded(packed_model());
  EXPECT_GT(all_kernels(package), 0);
  EXPECT_EQ(native_kernels(package), all_kernels(package)) << package.problem();
  EXPECT_EQ(package.problem(), "");
  EXPECT_EQ(package.metadata().at("made for"), "a test");
  ExportedProgram eager = model();
  for (const int64_t rows : {8, 5, 50, 2}) {
    const std::vector<Value> inputs{example(rows), int64_t{3}};
    const std::vector<Value> got = package.run(inputs), want = eager.run(inputs);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_TRUE(equal(got[0].get<Tensor>(), want[0].get<Tensor>())) << rows;
    EXPECT_FALSE(autograd::requires_grad(got[0].get<Tensor>()));
    EXPECT_EQ(got[1].to_int(), 7);
  }
  EXPECT_EQ(read_scalar(package.program().tensor("rows")).to_int(), 65);
  EXPECT_EQ(package.interpreted_runs(), 0);
}

TEST(Package, RunsWithoutACompiler) {
  const std::string& bytes = packed_model();
  const char* path = std::getenv("PATH");
  const std::string before = path ? path : "";
  setenv("TAEDA_CXX", "/nowhere/compiler", 1);
  setenv("PATH", "/nowhere", 1);
  Package package = loaded(bytes);
  EXPECT_EQ(native_kernels(package), all_kernels(package));
  const Tensor x = example(4);
  EXPECT_TRUE(equal(package({x}).at(0), model().run({x, int64_t{3}})[0].get<Tensor>()));
  setenv("PATH", before.c_str(), 1);
  unsetenv("TAEDA_CXX");
}

TEST(Package, SizesThatThePlanIsNotMadeForAreInterpreted) {
  Package package = loaded(packed_model());
  ExportedProgram eager = model();
  for (const int64_t rows : {1, 0}) {
    const Tensor x = example(rows);
    EXPECT_TRUE(equal(package({x}).at(0), eager.run({x, int64_t{3}})[0].get<Tensor>())) << rows;
  }
  EXPECT_EQ(package.interpreted_runs(), 2);
}

TEST(Package, ChecksItsInputs) {
  Package package = loaded(packed_model());
  EXPECT_EQ(error_of([&] { package({example(51)}); }), "Guard failed: x.size()[0] <= 50; got 51");
  EXPECT_EQ(error_of([&] { package({ones({2, 4}, DType::Float)}); }),
            "Guard failed: x.size()[1] == 3; got 4");
  EXPECT_EQ(error_of([&] { package({ones({2, 3}, DType::Double)}); }),
            "Guard failed: x.dtype == torch.float32; got torch.float64");
  EXPECT_EQ(error_of([&] { package.run({example(2), int64_t{4}}); }),
            "Guard failed: k == 3; got 4");
  EXPECT_EQ(error_of([&] { package({}); }), "the program takes 2 inputs, got 1");
  EXPECT_EQ(read_scalar(package.program().tensor("rows")).to_int(), 0);
}

TEST(Package, OtherLayoutsOfInputsAreTaken) {
  Package package = loaded(packed_model());
  const Tensor x = example(6).t().contiguous().t();
  EXPECT_TRUE(equal(package({x}).at(0), model().run({x, int64_t{3}})[0].get<Tensor>()));
  EXPECT_EQ(package.interpreted_runs(), 0);
}

TEST(Package, ASymbolMayBeAPartOfSizesAlone) {
  const char* graph = R"(graph(x: f32[2*s0 + 1]) {
  mul: f32[2*s0 + 1] = aten::mul.Tensor(x, 3)
  sin: f32[2*s0 + 1] = aten::sin(mul)
  return (sin,)
}
)";
  Package package =
      loaded(packed(program_of(graph, "sin", {{"s0", {1, 9, 2}}}), {ones({7}, DType::Float)}));
  const Tensor x = ones({11}, DType::Float);
  EXPECT_TRUE(equal(package({x}).at(0), (x * 3).sin()));
  EXPECT_EQ(package.interpreted_runs(), 0);
  EXPECT_EQ(native_kernels(package), 1);
  EXPECT_NE(error_of([&] { package({ones({8}, DType::Float)}); }).find("Guard failed"),
            std::string::npos);
}

TEST(Package, WritesToInputsThatShareMemory) {
  const char* graph = R"(graph(x: f32[4], y: f32[4]) {
  add_: f32[4] = aten::add_.Tensor(x, 1)
  mul: f32[4] = aten::mul.Tensor(y, 2)
  return (mul,)
}
)";
  exported::ProgramParts parts;
  parts.graph = parsed(graph);
  parts.signature.dialect = exported::Dialect::Training;
  parts.signature.inputs = {user_input("x"), user_input("y")};
  parts.signature.outputs = {user_output("mul")};
  Package package = loaded(packed(ExportedProgram(std::move(parts)),
                                  {ones({4}, DType::Float), ones({4}, DType::Float)}));
  const Tensor x = ones({4}, DType::Float), y = ones({4}, DType::Float);
  EXPECT_EQ(read_scalar(package({x, y}).at(0).sum()).to_double(), 8);
  EXPECT_EQ(read_scalar(x.sum()).to_double(), 8);
  EXPECT_EQ(package.interpreted_runs(), 0);
  EXPECT_EQ(read_scalar(package({y, y}).at(0).sum()).to_double(), 16);
  EXPECT_EQ(package.interpreted_runs(), 1);
}

TEST(Package, OtherMachinesInterpret) {
  const Tensor x = example(4);
  const Tensor want = model().run({x, int64_t{3}})[0].get<Tensor>();
  const auto check = [&](const std::string& from, const std::string& to, const char* why) {
    Package package = loaded(with_entry(packed_model(), "package", [&](const std::string& text) {
      return replaced(text, from, to);
    }));
    EXPECT_EQ(native_kernels(package), 0);
    EXPECT_NE(package.problem().find(why), std::string::npos) << package.problem();
    EXPECT_TRUE(equal(package({x}).at(0), want));
  };
#if defined(__x86_64__)
  check("\"x86_64\"", "\"aarch64\"", "its kernels are for aarch64");
#else
  check("\"aarch64\"", "\"x86_64\"", "its kernels are for x86_64");
#endif
  check("\"isa\": ", "\"isa\": 7", "with instruction set 7");
  check("\"source\": \"", "\"source\": \"0", "another version of the library");
}

TEST(Package, ObjectsWithAnotherChecksumAreRefused) {
  const std::string changed = with_entry(packed_model(), "kernels/0", [](std::string bytes) {
    bytes[bytes.size() / 2] ^= 1;
    return bytes;
  });
  EXPECT_NE(error_of([&] { loaded(changed); }).find("kernels/0 is damaged"), std::string::npos);
}

TEST(Package, FilesThatAreNoneAreRefused) {
  std::string exported;
  model().save(serialization::open_memory_sink(exported));
  EXPECT_NE(error_of([&] { loaded(exported); }).find("is no package"), std::string::npos);
  const auto error_with = [&](const std::string& from, const std::string& to) {
    return error_of([&] {
      loaded(with_entry(packed_model(), "package",
                        [&](const std::string& text) { return replaced(text, from, to); }));
    });
  };
  EXPECT_NE(error_with("\"version\": 2", "\"version\": 3").find("is a package of version 3"),
            std::string::npos);
  EXPECT_NE(error_with("\"default_dtype\": ", "\"default_dtype\": 4").size(), 0u);
  EXPECT_NE(error_with("\"hints\"", "\"hint\"").find("hints is missing"), std::string::npos);
  EXPECT_NE(error_with("\"isa\": ", "\"isa\": \"").size(), 0u);
  EXPECT_NE(error_with("\"s0\": 8", "\"s0\": \"8\"").find("s0 is of the wrong type"),
            std::string::npos);
  const std::string fewer = with_entry(packed_model(), "package", [](const std::string& text) {
    const size_t list = text.find("\"objects\": [") + 12;
    const size_t end = text.find("}", list) + 1;
    return text.substr(0, end) + ", " + text.substr(list, end - list) + text.substr(end);
  });
  EXPECT_NE(error_of([&] { loaded(fewer); }), "no error");
}

TEST(Package, TruncatedFilesAreRefused) {
  const std::string& bytes = packed_model();
  for (size_t i = 0; i < 200; ++i) {
    const std::string cut = bytes.substr(0, bytes.size() * i / 200);
    EXPECT_NE(error_of([&] { loaded(cut); }), "no error") << cut.size();
  }
  for (size_t left = 1; left < 64; ++left)
    EXPECT_NE(error_of([&] { loaded(bytes.substr(0, bytes.size() - left)); }), "no error") << left;
}

// A changed byte is an error, or lies where nothing is read.
TEST(Package, MutatedFilesAreRefusedOrRun) {
  const std::string& bytes = packed_model();
  const Tensor x = example(4);
  const Tensor want = model().run({x, int64_t{3}})[0].get<Tensor>();
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string changed = bytes;
    // Half of them near the end, where the directory lies.
    const size_t range = i % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 2000);
    const size_t at = bytes.size() - 1 - random() % range;
    changed[at] = static_cast<char>(changed[at] ^ (1 + random() % 255));
    try {
      Package package = loaded(changed);
      EXPECT_TRUE(equal(package({x}).at(0), want)) << at;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(Package, SeveralThreadsRunAtOnce) {
  const char* graph = R"(graph(x: f32[s0, 5]) {
  sin: f32[s0, 5] = aten::sin(x)
  mul: f32[s0, 5] = aten::mul.Tensor(sin, 3)
  softmax: f32[s0, 5] = aten::softmax.int(mul, -1)
  return (softmax,)
}
)";
  Package package = loaded(
      packed(program_of(graph, "softmax", {{"s0", {0, 90, 2}}}), {ones({4, 5}, DType::Float)}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int64_t n = 2; n < 8; ++n)
    threads.emplace_back([&, n] {
      const Tensor x = full({n, 5}, Scalar(0.1 * static_cast<double>(n)), DType::Float);
      const Tensor want = (x.sin() * 3).softmax(-1);
      for (int i = 0; i < 50; ++i) wrong += !equal(package({x}).at(0), want);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(package.interpreted_runs(), 0);
}

TEST(Package, KernelsOfRegionsArePartOfIt) {
  const char* graph = R"(graph(x: f32[4]) {
  sum_1: f32[] = aten::sum(x)
  gt: b8[] = aten::gt.Scalar(sum_1, 0)
  cond = higher_order::cond(gt, graph(a: f32[4]) {
    sin: f32[4] = aten::sin(a)
    mul: f32[4] = aten::mul.Tensor(sin, 2)
    return (mul,)
  }, graph(a: f32[4]) {
    cos: f32[4] = aten::cos(a)
    return (cos,)
  }, (x,))
  getitem: f32[4] = builtin::getitem(cond, 0)
  return (getitem,)
}
)";
  Package package = loaded(packed(program_of(graph, "getitem"), {ones({4}, DType::Float)}));
  EXPECT_EQ(all_kernels(package), 3);
  EXPECT_EQ(native_kernels(package), 3) << package.problem();
  const Tensor x = ones({4}, DType::Float);
  EXPECT_TRUE(equal(package({x}).at(0), x.sin() * 2));
  EXPECT_TRUE(equal(package({x.neg()}).at(0), x.neg().cos()));
}

TEST(Package, ConstantsMayBeReplaced) {
  Package package = loaded(packed_model());
  const Tensor w = ones({3, 4}, DType::Float), x = example(4);
  EXPECT_NE(error_of([&] { package.load_constants({{"v", w}}, false); }).find("v is not found"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              package.load_constants({{"rows", zeros({}, DType::Int64)}}, true);
            }).find("Cannot find constants w in constants_map!"),
            std::string::npos);
  EXPECT_NE(error_of([&] { package.load_constants({{"w", x}}, false); }).find("the constant w"),
            std::string::npos);
  package.load_constants({{"w", w}}, false);
  const Tensor want = (x.matmul(w).relu() * 2).softmax(-1);
  EXPECT_TRUE(equal(package({x}).at(0), want));
}

}  // namespace
}  // namespace taeda::inductor
