// Runs exported programs.
#include "taeda/export/exported_program.h"

#include "taeda/autograd/grad_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::exported {
namespace {

ProgramParts validated(ProgramParts parts) {
  validate(parts);
  return parts;
}

}  // namespace

ExportedProgram::ExportedProgram(ProgramParts parts)
    : parts_(validated(std::move(parts))),
      checks_(*parts_.graph, parts_.signature),
      plan_(*parts_.graph) {}

const Tensor& ExportedProgram::tensor(const std::string& name) const {
  const auto it = parts_.state.find(name);
  TAEDA_CHECK_KIND(ErrorKind::Key, it != parts_.state.end(), "the program has no tensor ", name);
  return it->second;
}

std::vector<Value> ExportedProgram::run(const std::vector<Value>& inputs) {
  checks_.check(inputs);
  return run_by(inputs, [&](std::vector<Value> all) {
    return *plan_.run(std::move(all)).get<std::shared_ptr<Value::List>>();
  });
}

std::vector<Value> ExportedProgram::run_by(const std::vector<Value>& inputs, Runner runner) {
  const std::vector<Value> values = runner(all_inputs(inputs));
  std::vector<Value> results;
  for (size_t i = 0; i < values.size(); ++i) {
    const OutputSpec& spec = parts_.signature.outputs[i];
    if (spec.kind == OutputKind::UserOutput)
      results.push_back(values[i]);
    else
      write_back(spec, values[i], inputs);
  }
  return results;
}

std::vector<Value> ExportedProgram::all_inputs(const std::vector<Value>& inputs) const {
  std::vector<Value> all;
  size_t next = 0;
  for (const InputSpec& spec : parts_.signature.inputs)
    all.push_back(spec.kind == InputKind::UserInput ? inputs[next++]
                                                    : Value(parts_.state.at(spec.target)));
  return all;
}

void ExportedProgram::write_back(const OutputSpec& spec, const Value& value,
                                 const std::vector<Value>& inputs) {
  if (spec.kind != OutputKind::UserInputMutation) {
    // State is data: it does not remember how it came to be.
    const autograd::NoGrad no_grad;
    Tensor(parts_.state.at(spec.target)).copy_(value.get<Tensor>());
    return;
  }
  size_t next = 0;
  for (const InputSpec& input : parts_.signature.inputs) {
    if (input.kind != InputKind::UserInput) continue;
    if (input.name == spec.target) Tensor(inputs[next].get<Tensor>()).copy_(value.get<Tensor>());
    ++next;
  }
}

}  // namespace taeda::exported
