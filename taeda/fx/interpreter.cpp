// Turns a closed graph into steps over numbered slots and runs them.
#include "taeda/fx/interpreter.h"

#include <utility>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/regions.h"

namespace taeda::fx {
namespace {

// The origin of an argument: a constant, a slot, or a list of such.
struct Source {
  enum class Kind : uint8_t { Constant, Slot, List } kind = Kind::Constant;
  Value constant;
  size_t slot = 0;
  bool is_last_use = false;
  std::vector<Source> items;
  dispatch::TypeRef type;  // what the schema asks for; empty base: as it is
};

struct Step {
  const Node* node = nullptr;  // valid while the graph is alive
  std::string name;
  dispatch::Operator* op = nullptr;
  const Builtin* builtin = nullptr;
  std::string attribute;
  std::vector<Source> args;
  size_t result = 0;
};

thread_local constinit const WatchSteps::Watcher* step_watcher = nullptr;

Value boxed_list(std::vector<Value> items) {
  return std::make_shared<Value::List>(std::move(items));
}

}  // namespace

struct Plan::Parts {
  std::vector<size_t> inputs;
  std::vector<Value> defaults;  // of inputs that may be left out
  std::vector<bool> has_default;
  std::vector<Step> steps;
  Source output;
  size_t num_slots = 0;
};

namespace {

class Preparation {
 public:
  Preparation(Plan::Parts& parts, Plan::RegionMaker regions) : parts_(parts), regions_(regions) {}

  void run(const Graph& graph) {
    check_closed(graph);
    for (const Node& n : graph) {
      slots_.emplace(&n, parts_.num_slots);
      node(n, parts_.num_slots++);
    }
    mark_last_uses();
  }

 private:
  void node(const Node& n, size_t slot) {
    if (n.op() == OpCode::Placeholder) {
      parts_.inputs.push_back(slot);
      parts_.has_default.push_back(!n.args().empty());
      parts_.defaults.push_back(n.args().empty() ? Value() : fixed(n.args()[0]));
      return;
    }
    if (n.op() == OpCode::Output) {
      parts_.output = n.args().empty() ? Source() : source(n.args()[0], {});
      return;
    }
    Step step;
    step.node = &n;
    step.name = n.name();
    step.result = slot;
    step.op = n.target().op();
    step.builtin = n.target().builtin();
    if (n.op() == OpCode::GetAttr) {
      step.attribute = *n.target().name();
    } else if (step.op) {
      const auto& wanted = schema_of(*step.op).arguments;
      std::vector<Arg> args = bind_to_schema(n);
      for (size_t i = 0; i < args.size(); ++i) step.args.push_back(source(args[i], wanted[i].type));
    } else {
      for (const Arg& a : n.args()) step.args.push_back(source(a, {}));
    }
    parts_.steps.push_back(std::move(step));
  }

  Source source(const Arg& a, const dispatch::TypeRef& type) {
    Source s;
    s.type = type;
    if (const Node* n = a.node()) {
      s.kind = Source::Kind::Slot;
      s.slot = slots_.at(n);
    } else if (a.has_nodes()) {
      s.kind = Source::Kind::List;
      for (const Arg& item : a.compound()->items) s.items.push_back(source(item, {}));
    } else {
      s.constant = type.base.empty() ? fixed(a) : coerce(fixed(a), type);
    }
    return s;
  }

  Value fixed(const Arg& a) {
    if (a.is_constant()) return a.constant();
    if (Graph* g = a.region()) return regions_(IntrusivePtr<Graph>::share(g));
    std::vector<Value> items;
    for (const Arg& item : a.compound()->items) items.push_back(fixed(item));
    return boxed_list(std::move(items));
  }

  void mark_last_uses() {
    std::vector<bool> is_used(parts_.num_slots, false);
    mark(parts_.output, is_used);
    for (size_t i = parts_.steps.size(); i-- > 0;) {
      auto& args = parts_.steps[i].args;
      for (size_t k = args.size(); k-- > 0;) mark(args[k], is_used);
    }
  }
  static void mark(Source& s, std::vector<bool>& is_used) {
    if (s.kind == Source::Kind::Slot) {
      s.is_last_use = !is_used[s.slot];
      is_used[s.slot] = true;
    }
    for (size_t i = s.items.size(); i-- > 0;) mark(s.items[i], is_used);
  }

  Plan::Parts& parts_;
  Plan::RegionMaker regions_;
  std::unordered_map<const Node*, size_t> slots_;
};

class Run {
 public:
  Run(const Plan::Parts& parts, AttributeReader attributes)
      : parts_(parts), attributes_(attributes), slots_(parts.num_slots) {}

  Value run(std::vector<Value> inputs) {
    for (size_t i = 0; i < parts_.inputs.size(); ++i) {
      const bool is_given = i < inputs.size();
      TAEDA_CHECK_TYPE(is_given || parts_.has_default[i], "the graph takes ", parts_.inputs.size(),
                       " inputs, got ", inputs.size());
      slots_[parts_.inputs[i]] = is_given ? std::move(inputs[i]) : parts_.defaults[i];
    }
    for (const Step& s : parts_.steps) step(s);
    return value(parts_.output);
  }

 private:
  void step(const Step& s) {
    if (__builtin_expect(step_watcher != nullptr, 0)) (*step_watcher)(*s.node);
    if (!s.attribute.empty()) {
      slots_[s.result] = attributes_(s.attribute);
      return;
    }
    dispatch::Stack stack;
    stack.reserve(s.args.size());
    for (const Source& a : s.args) stack.push_back(value(a));
    if (s.builtin) {
      slots_[s.result] = call_builtin(*s.builtin, stack);
      return;
    }
    dispatch::call_boxed(*s.op, stack);
    if (stack.size() == 1)
      slots_[s.result] = std::move(stack[0]);
    else
      slots_[s.result] = stack.empty() ? Value() : boxed_list(std::move(stack));
  }

  Value value(const Source& s) {
    switch (s.kind) {
      case Source::Kind::Constant: return s.constant;
      case Source::Kind::Slot: {
        Value v = s.is_last_use ? std::move(slots_[s.slot]) : slots_[s.slot];
        return s.type.base.empty() ? v : coerce(std::move(v), s.type);
      }
      default: {
        std::vector<Value> items;
        for (const Source& item : s.items) items.push_back(value(item));
        Value v = boxed_list(std::move(items));
        return s.type.base.empty() ? v : coerce(std::move(v), s.type);
      }
    }
  }

  const Plan::Parts& parts_;
  AttributeReader attributes_;
  std::vector<Value> slots_;
};

}  // namespace

Plan::Plan(const Graph& graph)
    : Plan(graph, [](const IntrusivePtr<Graph>& region) { return region_value(region); }) {}
Plan::Plan(const Graph& graph, RegionMaker regions) : parts_(std::make_unique<Parts>()) {
  Preparation(*parts_, regions).run(graph);
}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

size_t Plan::num_inputs() const { return parts_->inputs.size(); }

Value Plan::run(std::vector<Value> inputs, AttributeReader attributes) const {
  TAEDA_CHECK_TYPE(inputs.size() <= parts_->inputs.size(), "the graph takes ",
                   parts_->inputs.size(), " inputs, got ", inputs.size());
  return Run(*parts_, attributes).run(std::move(inputs));
}

Value Plan::run(std::vector<Value> inputs) const {
  return run(std::move(inputs), [](const std::string& name) -> Value {
    fail(ErrorKind::Attribute, "the graph reads the attribute ", name, " and none were given");
  });
}

WatchSteps::WatchSteps(Watcher watcher)
    : watcher_(watcher), outer_(std::exchange(step_watcher, &watcher_)) {}
WatchSteps::~WatchSteps() { step_watcher = outer_; }

std::vector<Tensor> flatten_tensors(const Value& result) {
  std::vector<Tensor> out;
  if (result.is<Tensor>()) out.push_back(result.get<Tensor>());
  if (result.is<std::vector<Tensor>>()) return result.get<std::vector<Tensor>>();
  if (result.is<std::shared_ptr<Value::List>>())
    for (const Value& v : *result.get<std::shared_ptr<Value::List>>())
      for (Tensor& t : flatten_tensors(v)) out.push_back(std::move(t));
  return out;
}

}  // namespace taeda::fx
