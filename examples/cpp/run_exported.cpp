// Loads an exported program and runs it on ones: run_exported MODEL.pt2
//
// Prints the inputs it takes and the sum of each tensor it gives. Symbolic sizes are taken as 2.
#include <cstdio>

#include "taeda/export/exported_program.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

using taeda::Tensor;
using taeda::exported::ArgumentKind;
using taeda::exported::ExportedProgram;
using taeda::exported::InputKind;
using taeda::fx::Value;

static Tensor ones_like_type(const Tensor& type) {
  std::vector<int64_t> sizes;
  for (const taeda::SymInt& s : type.sym_sizes()) sizes.push_back(s.is_symbolic() ? 2 : s.word());
  return taeda::ones(taeda::IntList(sizes), type.dtype());
}

static std::vector<Value> example_inputs(const ExportedProgram& program) {
  std::vector<Value> inputs;
  const auto placeholders = program.graph().placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const auto& spec = program.signature().inputs[i];
    if (spec.kind != InputKind::UserInput) continue;
    const Value type = placeholders[i]->val();
    std::printf("input %s: %s\n", spec.name.c_str(), taeda::fx::type_text(type).c_str());
    if (spec.argument == ArgumentKind::Tensor)
      inputs.push_back(ones_like_type(type.get<Tensor>()));
    else
      inputs.push_back(spec.argument == ArgumentKind::Constant ? spec.value.constant()
                                                               : Value(int64_t{2}));
  }
  return inputs;
}

static double sum_of(const Tensor& t) {
  return taeda::read_scalar(t.to(taeda::DType::Double).sum()).to_double();
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: run_exported MODEL.pt2\n", stderr), 2;
  try {
    ExportedProgram program = ExportedProgram::load(argv[1]);
    for (const Value& result : program.run(example_inputs(program)))
      if (result.is<Tensor>())
        std::printf("output %s: sum %.6g\n", taeda::fx::type_text(result).c_str(),
                    sum_of(result.get<Tensor>()));
  } catch (const taeda::Error& error) {
    return std::fprintf(stderr, "run_exported: %s\n", error.what()), 1;
  }
  return 0;
}
