// An exported program with its plans.
//
// Note [Guards of exported programs]: the checks of the program's inputs hold for all that it was
// exported for, sizes 0 and 1 included, which a trace takes to be at least 2. The plans are made
// for less where a shape rule asks: `guards` says for what. Other inputs run by the interpreter.
#pragma once

#include <map>

#include "taeda/aot/compiled_function.h"
#include "taeda/export/exported_program.h"
#include "taeda/inductor/plan.h"

namespace taeda::inductor {

struct CompiledExport {
  std::shared_ptr<aot::CompiledFunction> function;
  std::vector<std::shared_ptr<CompiledGraph>> plans;
  IntrusivePtr<fx::ShapeEnv> env;  // has the expressions of `guards`
  fx::GuardSet guards;             // over the symbols of the program's checks, in their order
  // Symbols that are inputs of the function behind those of the graph: no input is of this size.
  std::vector<size_t> symbol_inputs;

  // Inputs that share memory which the program writes to.
  std::vector<std::vector<size_t>> shared;

  // What the program gives for inputs that were checked, with the values of its symbols; nothing
  // where the plans are not made for such inputs.
  std::optional<std::vector<Value>> run(exported::ExportedProgram& program,
                                        const std::vector<Value>& inputs,
                                        const std::vector<int64_t>& symbols) const;
};

// Compiles a program for runs without gradients. `hints`: values that its symbols had once.
CompiledExport compile_exported(const exported::ExportedProgram& program,
                                const std::map<std::string, int64_t>& hints);

}  // namespace taeda::inductor
