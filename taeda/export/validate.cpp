// Checks that every exported program passes.
#include "taeda/export/exported_program.h"
#include "taeda/fx/bind.h"
#include "taeda/symbolic/parse.h"

namespace taeda::exported {
namespace {

template <class... Args>
void require(bool condition, const Args&... args) {
  if (!condition) fail(ErrorKind::Runtime, "the exported program is not valid: ", args...);
}

// No operator writes to an argument, in regions neither. Those defined at run time may: they have
// no functional form, and were given copies made in the graph.
void check_functional(const fx::Graph& graph) {
  for (const fx::Node& n : graph) {
    for (const fx::Arg& a : n.args())
      if (const fx::Graph* region = a.region()) check_functional(*region);
    const dispatch::Operator* op = n.target().op();
    if (!op || !op->table) continue;
    for (const dispatch::Argument& a : fx::schema_of(*op).arguments)
      require(!a.is_written, "the node ", n.name(), " calls ", n.target().text(),
              ", which writes to its argument ", a.name);
  }
}

void check_inputs(const ProgramParts& parts) {
  const std::vector<fx::Node*> placeholders = parts.graph->placeholders();
  const auto& inputs = parts.signature.inputs;
  require(placeholders.size() == inputs.size(), "its graph has ", placeholders.size(),
          " inputs, its signature ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    require(placeholders[i]->name() == inputs[i].name, "input ", i, " is called ",
            placeholders[i]->name(), " in the graph and ", inputs[i].name, " in the signature");
    if (inputs[i].kind == InputKind::UserInput) continue;
    require(parts.state.count(inputs[i].target), "there is no tensor for ",
            kind_name(inputs[i].kind), " ", inputs[i].target);
  }
}

// The results of the graph, one per spec.
const std::vector<fx::Arg>& results_of(const fx::Graph& graph) {
  const fx::Node* output = graph.output_node();
  require(output && output->args().size() == 1 && output->args()[0].compound(),
          "its graph does not return a tuple");
  return output->args()[0].compound()->items;
}

// The target of a mutation.
InputKind written_kind(OutputKind kind) {
  switch (kind) {
    case OutputKind::BufferMutation: return InputKind::Buffer;
    case OutputKind::ParameterMutation: return InputKind::Parameter;
    default: return InputKind::UserInput;
  }
}

void check_outputs(const ProgramParts& parts) {
  const std::vector<fx::Arg>& results = results_of(*parts.graph);
  const auto& outputs = parts.signature.outputs;
  require(results.size() == outputs.size(), "its graph has ", results.size(),
          " results, its signature ", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = outputs[i];
    if (spec.argument != ArgumentKind::Constant)
      require(results[i].node() && results[i].node()->name() == spec.name, "result ", i,
              " is not the node ", spec.name, " of the signature");
    if (spec.kind == OutputKind::UserOutput) continue;
    const InputKind written = written_kind(spec.kind);
    bool is_found = false;
    for (const InputSpec& input : parts.signature.inputs)
      is_found |= input.kind == written &&
                  (written == InputKind::UserInput ? input.name : input.target) == spec.target;
    require(is_found, "result ", i, " is the new value of ", spec.target, ", which is no ",
            kind_name(written));
  }
}

}  // namespace

void validate(const ProgramParts& parts) {
  require(static_cast<bool>(parts.graph), "it has no graph");
  fx::lint(*parts.graph);
  fx::check_closed(*parts.graph);
  if (parts.signature.dialect == Dialect::Aten) check_functional(*parts.graph);
  check_inputs(parts);
  check_outputs(parts);
  symbolic::ExprPool pool;
  for (const std::string& condition : parts.signature.conditions)
    require(symbolic::parse(pool, condition)->kind == SymKind::Bool, condition, " is no condition");
}

}  // namespace taeda::exported
