// Programs and graphs again, under the layers of a trace.
#include "taeda/fx/retrace.h"

#include "taeda/autograd/autocast.h"
#include "taeda/fx/mode_calls.h"
#include "taeda/fx/passes/mode_scopes.h"
#include "taeda/fx/trace_run.h"
#include "taeda/ops/decompositions.h"

namespace taeda::fx {
namespace {

// What a program may leave of autocast on the thread: a part of one ends inside of its scopes.
class ProgramCasts {
 public:
  ProgramCasts() {
    for (int i = 0; i < kNumBackends; ++i) {
      const auto device = static_cast<DeviceType>(i);
      if (autocast::is_available(device))
        casts_.push_back({device, autocast::dtype_of(device), autocast::is_enabled(device)});
    }
  }
  void restore() const {
    while (autocast::region_depth() > depth_) autocast::leave_region();
    autocast::set_cache_enabled(caches_);
    for (const Cast& cast : casts_) {
      autocast::set_dtype(cast.device, cast.dtype);
      autocast::set_enabled(cast.device, cast.is_enabled);
    }
  }

 private:
  struct Cast {
    DeviceType device;
    DType dtype;
    bool is_enabled;
  };
  int depth_ = autocast::region_depth();
  bool caches_ = autocast::is_cache_enabled();
  std::vector<Cast> casts_;
};

// Note [Shared inputs]: a program that writes to such inputs runs again, and is told of it. So does
// one whose backward raises that something was overwritten: eager raises that when the backward of
// such a value runs, and never otherwise.
Retraced traced(const std::vector<Value>& inputs, const RetraceOptions& options,
                FunctionRef<Value(TraceRun& trace, std::vector<Value> inputs)> program) {
  const ProgramCasts casts;
  std::optional<EarlierRun> earlier;
  while (true) {
    TraceRun trace(inputs, options, earlier ? &*earlier : nullptr);
    auto made = trace.run([&](std::vector<Value> v) { return program(trace, std::move(v)); });
    if (made) return std::move(*made);
    earlier = trace.found();
    casts.restore();
  }
}

bool has_mode_calls(const Graph& graph) {
  for (const Node& node : graph)
    if (node.target().builtin() && node.target().builtin()->sets_mode) return true;
  return false;
}

Retraced retrace_closed(const Graph& graph, const std::vector<Value>& inputs,
                        const RetraceOptions& options, AttributeReader attributes) {
  RetraceOptions named = options;
  const std::vector<Node*> placeholders = graph.placeholders();
  for (size_t i = named.names.size(); i < placeholders.size(); ++i)
    named.names.push_back(placeholders[i]->name());
  const Plan plan(graph);
  const bool keeps_scopes = named.is_before_autograd && named.keeps_grad_scopes;
  const auto program = [&](TraceRun& trace, std::vector<Value> values) {
    const auto watcher = [&](const Node& node) { trace.origins().enter(node); };
    const auto read = [&](const std::string& name) {
      const Value v = attributes(name);
      return v.is<Tensor>() ? Value(trace.attribute(name, v.get<Tensor>())) : v;
    };
    const auto keep = [&](bool is_enabled, const RegionValue& scope, const Values& operands) {
      return trace.keep_scope(is_enabled, scope, operands);
    };
    const TakeGradScopes::Handler handler(keep);
    const WatchSteps watched(watcher);
    const TakeGradScopes scopes(keeps_scopes ? &handler : nullptr);
    return plan.run(std::move(values), read);
  };
  Retraced made = traced(inputs, named, program);
  const std::vector<Node*> fresh = made.graph->placeholders();
  for (size_t i = 0; i < placeholders.size() && i < inputs.size(); ++i)
    copy_facts(*fresh[i], *placeholders[i]);
  if (Node* output = graph.output_node()) copy_facts(*made.graph->output_node(), *output);
  return made;
}

}  // namespace

Retraced trace(Program program, const std::vector<Value>& inputs, const RetraceOptions& options) {
  std::optional<FreshThread> thread;
  if (!options.stays_on_thread) thread.emplace();
  return traced(inputs, options,
                [&](TraceRun&, std::vector<Value> values) { return program(std::move(values)); });
}

Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                 const RetraceOptions& options, AttributeReader attributes) {
  std::optional<FreshThread> thread;
  if (!options.stays_on_thread) thread.emplace();
  if (!has_mode_calls(graph)) return retrace_closed(graph, inputs, options, attributes);
  const IntrusivePtr<Graph> scoped = clone(graph);
  wrap_mode_scopes(*scoped, !options.begins_without_grad);
  return retrace_closed(*scoped, inputs, options, attributes);
}

Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                 const RetraceOptions& options) {
  return retrace(graph, inputs, options, [](const std::string& name) -> Value {
    fail(ErrorKind::Attribute, "the graph reads the attribute ", name, " and none were given");
  });
}

bool decompose_to_core(dispatch::Operator& op, dispatch::Stack& stack) {
  if (op.has(dispatch::Tag::Core)) return false;
  const Decomposition* found = find_decomposition(op);
  if (found) (*found)(stack);
  return found != nullptr;
}

}  // namespace taeda::fx
