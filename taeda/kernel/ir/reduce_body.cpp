// Reads the reductions of reduce_bodies.h with symbols.
#include "taeda/kernel/ir/reduce_body.h"

#include <map>
#include <mutex>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/sym.h"

namespace taeda::kernel {

namespace {

template <class State>
std::vector<NodeId> nodes_of(const State& state) {
  return std::apply([&](auto... part) { return std::vector<NodeId>{(state.*part).id...}; },
                    State::parts());
}

// Inputs from `first` on as the parts of a state.
template <class State>
State input_state(ExprGraph& graph, const std::vector<Type>& types, int first) {
  State state;
  auto fill = [&](auto& part, int i) {
    part = std::decay_t<decltype(part)>::from_id(graph.input(first + i, types[i]));
  };
  std::apply(
      [&](auto... part) {
        int i = 0;
        (fill(state.*part, i++), ...);
      },
      State::parts());
  return state;
}

template <class State, class... P>
std::vector<NodeId> trace_lift(State (*lift)(P...), SymArguments& arguments) {
  // Braces fix the order of the parameters.
  struct Call {
    State result;
    Call(State (*lift)(P...), P... p) : result(lift(p...)) {}
  };
  return nodes_of(Call{lift, arguments.make<P>()...}.result);
}

template <class Body>
ReduceBody read_body(const std::string& name, Type type) {
  using State = typename Body::template State<Sym>;
  ReduceBody body;
  body.name = name;
  body.type = type;
  ExprGraph& graph = body.graph;
  BuilderScope scope(graph, type);
  SymArguments arguments{graph, type, {}};
  body.identity = nodes_of(Body::template identity<Sym>());
  body.lift = trace_lift(&Body::template lift<Sym>, arguments);
  body.value_types = arguments.traced.input_types;
  for (NodeId id : body.lift) body.state_types.push_back(graph.node(id).type);
  const int n = static_cast<int>(body.state_types.size());
  const State left = input_state<State>(graph, body.state_types, 0);
  const State right = input_state<State>(graph, body.state_types, n);
  body.combine = nodes_of(Body::template combine<Sym>(left, right));
  if constexpr (requires { Body::template finish<Sym>(left); })
    body.finish = {Body::template finish<Sym>(left).id};
  else
    body.finish = nodes_of(left);
  if constexpr (requires { Body::template takes_place<Sym>(left.value, right.value); })
    body.takes_place = Body::template takes_place<Sym>(left.value, right.value).id;
  for (NodeId id : body.finish) body.result_types.push_back(graph.node(id).type);
  return body;
}

enum class Takes : uint8_t { Numbers, Ordered, Real, Masks };

struct Entry {
  const char* name;
  Takes takes;
  ReduceBody (*read)(const std::string& name, Type type);
};

constexpr Entry kEntries[] = {
    {"sum", Takes::Numbers, &read_body<SumBody>},
    {"prod", Takes::Numbers, &read_body<ProdBody>},
    {"max", Takes::Ordered, &read_body<ExtremeBody<true>>},
    {"min", Takes::Ordered, &read_body<ExtremeBody<false>>},
    {"argmax", Takes::Ordered, &read_body<ArgExtremeBody<true>>},
    {"argmin", Takes::Ordered, &read_body<ArgExtremeBody<false>>},
    {"any", Takes::Masks, &read_body<AnyBody>},
    {"all", Takes::Masks, &read_body<AllBody>},
    {"moments", Takes::Real, &read_body<MomentsBody>},
    {"logsumexp", Takes::Real, &read_body<LogSumExpBody>},
    {"running_max", Takes::Ordered, &read_body<RunningExtremeBody<true>>},
    {"running_min", Takes::Ordered, &read_body<RunningExtremeBody<false>>},
    {"logaddexp", Takes::Real, &read_body<LogAddExpBody>},
};

bool takes(Takes what, Type type) {
  switch (what) {
    case Takes::Numbers: return type != Type::Mask;
    case Takes::Ordered: return type != Type::Mask && !is_complex(type);
    case Takes::Real: return type == Type::F32 || type == Type::F64;
    default: return type == Type::Mask;
  }
}

}  // namespace

const ReduceBody* find_reduce_body(const std::string& name, Type type) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, Type>, ReduceBody> read;
  for (const Entry& entry : kEntries) {
    if (name != entry.name) continue;
    TAEDA_CHECK_TYPE(takes(entry.takes, type), "[kernel] ", name, " does not reduce ",
                     type_name(type));
    std::lock_guard lock(mutex);
    auto place = read.find({name, type});
    if (place == read.end())
      place = read.emplace(std::pair(name, type), entry.read(name, type)).first;
    return &place->second;
  }
  std::string names;
  for (const std::string& known : reduce_body_names()) names += (names.empty() ? "" : ", ") + known;
  fail(ErrorKind::Value, "[kernel] no reduction is called ", name, ": there are ", names);
}

std::vector<std::string> reduce_body_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

}  // namespace taeda::kernel
