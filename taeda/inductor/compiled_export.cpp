// Compiling exported programs.
#include "taeda/inductor/compiled_export.h"

#include <algorithm>

#include "taeda/autograd/grad_mode.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/shared_inputs.h"
#include "taeda/inductor/compile.h"
#include "taeda/inductor/segments.h"

namespace taeda::inductor {
namespace {

using exported::ArgumentKind;
using exported::ExportedProgram;
using exported::InputKind;
using exported::InputSpec;
using exported::SizeSymbols;

// The numbers of a placeholder's type over the symbols of this compile.
SymIntVec over(SizeSymbols& symbols, SymIntList numbers) {
  SymIntVec made;
  for (const SymInt& number : numbers)
    made.push_back(number.is_symbolic() ? symbols(number.node()->text()).get<SymInt>() : number);
  return made;
}

class ExportCompiler {
 public:
  ExportCompiler(const ExportedProgram& program, const std::map<std::string, int64_t>& hints)
      : program_(program),
        symbols_(program.signature().ranges, hints),
        mode_(make_intrusive<fx::FakeMode>(fx::FakeMode::Options{.allow_non_fake_inputs = true,
                                                                 .allow_scalar_outputs = true,
                                                                 .shape_env = symbols_.env()})),
        graph_(fx::clone(program.graph())) {}

  CompiledExport compile() {
    made_.env = symbols_.env();
    add_inputs();
    add_symbol_inputs();
    for (const std::string& condition : program_.signature().conditions)
      made_.env->expect_true(symbols_.parse(condition));
    const autograd::NoGrad no_grad;
    aot::AotOptions options;
    options.fake_mode = mode_;
    options.decompose = decompose_for_lowering;
    options.forward = options.backward = [&](const fx::Graph& graph, fx::AttributeReader read) {
      Segments compiled = compile_segments(graph, read);
      made_.plans = compiled.plans;
      return std::move(compiled.run);
    };
    made_.function = aot::compile(*graph_, inputs_, options);
    made_.shared = fx::Sharing(inputs_, made_.function->traced().written).inputs;
    made_.guards = made_.env->guard_set(guard_inputs());
    return std::move(made_);
  }

 private:
  void add_inputs() {
    const std::vector<fx::Node*> placeholders = graph_->placeholders();
    const std::vector<InputSpec>& specs = program_.signature().inputs;
    for (size_t i = 0; i < specs.size(); ++i)
      inputs_.push_back(specs[i].kind == InputKind::UserInput
                            ? example_of(specs[i], placeholders[i]->val())
                            : Value(program_.tensor(specs[i].target)));
  }
  // What stands for an input of the caller.
  Value example_of(const InputSpec& spec, const Value& type) {
    if (spec.argument == ArgumentKind::Constant) return spec.value.constant();
    if (type.is<SymInt>()) {
      const Value number = symbols_(type.get<SymInt>().node()->text());
      note_told(number.get<SymInt>());
      return number;
    }
    const Tensor& like = type.get<Tensor>();
    const SymIntVec sizes = over(symbols_, like.sym_sizes());
    for (const SymInt& size : sizes) note_told(size);
    return mode_->from_tensor(like, sizes, over(symbols_, like.sym_strides()),
                              like.impl()->sym_storage_offset());
  }
  void note_told(const SymInt& number) {
    const fx::Expr* e = made_.env->expr(number);
    if (e->is_symbol()) told_.push_back(e);
  }

  const fx::Expr* own(const fx::Expr* symbol) { return symbols_.parse(symbol->name); }

  // A plan takes its symbols from sizes that are nothing else, so a symbol of 2*s0 is an input.
  void add_symbol_inputs() {
    const auto& symbols = program_.checks().symbols();
    for (size_t i = 0; i < symbols.size(); ++i) {
      const fx::Expr* symbol = own(symbols[i]);
      if (std::ranges::count(told_, symbol)) continue;
      fx::Node* first = graph_->first();
      while (first->op() == fx::OpCode::Placeholder) first = first->next();
      const fx::InsertBefore before(*graph_, *first);
      graph_->placeholder(symbol->name);
      inputs_.emplace_back(made_.env->symint(symbol));
      made_.symbol_inputs.push_back(i);
    }
  }

  std::vector<fx::GuardInput> guard_inputs() {
    std::vector<fx::GuardInput> all;
    for (const fx::Expr* symbol : program_.checks().symbols())
      all.push_back({symbol->name, own(symbol)});
    return all;
  }

  const ExportedProgram& program_;
  SizeSymbols symbols_;
  IntrusivePtr<fx::FakeMode> mode_;
  IntrusivePtr<fx::Graph> graph_;
  std::vector<Value> inputs_;
  std::vector<const fx::Expr*> told_;  // symbols that are the size of an input
  CompiledExport made_;
};

}  // namespace

CompiledExport compile_exported(const ExportedProgram& program,
                                const std::map<std::string, int64_t>& hints) {
  return ExportCompiler(program, hints).compile();
}

std::optional<std::vector<Value>> CompiledExport::run(ExportedProgram& program,
                                                      const std::vector<Value>& inputs,
                                                      const std::vector<int64_t>& symbols) const {
  if (guards.first_failure(symbols)) return std::nullopt;
  const std::vector<size_t>& written = function->traced().written;
  if (!written.empty() && shared != fx::Sharing(program.all_inputs(inputs), written).inputs)
    return std::nullopt;
  return program.run_by(inputs, [&](std::vector<Value> all) {
    for (const size_t i : symbol_inputs) all.emplace_back(symbols[i]);
    return (*function)(all);
  });
}

}  // namespace taeda::inductor
