// From graphs to plans.
#include "taeda/inductor/compile.h"

#include <chrono>
#include <map>

#include "taeda/base/str.h"
#include "taeda/fx/retrace.h"
#include "taeda/inductor/layout.h"
#include "taeda/inductor/lower.h"
#include "taeda/ops/counted.h"

namespace taeda::inductor {

namespace {

// Memory of plans is the CPU's. What nobody needs has none.
void check_device(const fx::Graph& graph) {
  const std::unordered_set<const fx::Node*> needed = needed_nodes(graph);
  for (const fx::Node& node : graph) {
    if (!needed.contains(&node)) continue;
    const Value val = node.val();
    if (!val.is<Tensor>() || !val.get<Tensor>().defined()) continue;
    const Device device = val.get<Tensor>().device();
    if (device.type() != DeviceType::CPU)
      throw_error(ErrorKind::NotImplemented,
                  str("a graph with a tensor on ", device, " (", node.name(), ") is not compiled"));
  }
}

}  // namespace

std::shared_ptr<CompiledGraph> compile(const fx::Graph& graph, fx::AttributeReader attributes,
                                       const PlanOptions& options) {
  fx::check_closed(graph);
  check_device(graph);
  auto plan = std::make_shared<fx::Plan>(graph);
  std::map<std::string, Value> constants;
  for (const fx::Node* node : graph.find(fx::OpCode::GetAttr))
    constants[*node->target().name()] = attributes(*node->target().name());
  auto eager = [plan, constants](const std::vector<Value>& inputs) {
    const Value result =
        plan->run(inputs, [&](const std::string& name) { return constants.at(name); });
    std::vector<Value> leaves{result};
    if (result.is<std::shared_ptr<Value::List>>())
      leaves = *result.get<std::shared_ptr<Value::List>>();
    return leaves;
  };
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Program> program = lower(graph, attributes);
  choose_layouts(*program, options.lays_out_images);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return std::make_shared<CompiledGraph>(
      std::move(program), std::move(eager), graph,
      std::vector<std::pair<std::string, double>>{{"lower", seconds.count()}}, options);
}

std::shared_ptr<CompiledGraph> compile(const fx::Graph& graph) {
  return compile(graph, [](const std::string& name) -> Value {
    throw_error(ErrorKind::Attribute, str("the graph's attribute ", name, " is not given"));
  });
}

namespace {

// Whether only data tells the sizes of the results. Such a call runs by itself, and checks its
// arguments as in eager.
bool asks_data(const dispatch::Operator& op, const dispatch::Stack& stack) {
  const CountedRule* rule = find_counted_rule(op);
  if (!rule) return false;
  bool is_asked = false;
  dispatch::Stack copy = stack;
  (*rule)(copy, [&](const UnknownCount&) {
    is_asked = true;
    return SymInt(1);
  });
  return is_asked;
}

}  // namespace

bool decompose_for_lowering(dispatch::Operator& op, dispatch::Stack& stack) {
  if (open_operator(op, stack)) return true;
  return !has_lowering(op) && !stays_whole(op) && !asks_data(op, stack) &&
         fx::decompose_to_core(op, stack);
}

}  // namespace taeda::inductor
