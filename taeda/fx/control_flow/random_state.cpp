// The state of a generator as a value of graphs.
#include "taeda/fx/control_flow/random_state.h"

#include <algorithm>
#include <cstring>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/core/generator.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/effects.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using dispatch::Operator;
using dispatch::Stack;

Tensor bytes_of(const GeneratorImpl::State& state) {
  const Tensor made =
      taeda::empty({SymInt(static_cast<int64_t>(state.size()))}, DType::UInt8, {}, DeviceType::CPU);
  std::memcpy(made.data(), state.data(), state.size());
  return made;
}

void exchange(const Operator&, KeySet, Stack& stack, void*) {
  const Generator& generator = default_cpu_generator();
  const Tensor before = bytes_of(generator.get_state());
  if (!stack.at(1).is_none() && stack[1].get<Tensor>().defined()) {
    const Tensor state = stack[1].get<Tensor>().contiguous();
    generator.set_state(Span<uint8_t>(static_cast<const uint8_t*>(state.data()),
                                      static_cast<size_t>(state.numel())));
  }
  stack = {Value(before)};
}

// As many bytes as the engine of now has.
void exchange_shapes(const Operator&, KeySet, Stack& stack, void*) {
  const auto size = static_cast<int64_t>(default_cpu_generator().get_state().size());
  stack = {Value(taeda::empty({SymInt(size)}, DType::UInt8, {}, DeviceType::CPU))};
}

// `like` names the device, and makes the call one of a trace.
Operator& exchange_operator() {
  static Operator& op = [] -> Operator& {
    constexpr const char* kWhere = "regions that draw";
    Operator& made = dispatch::define_operator(
        "taeda::exchange_random_state(Tensor like, Tensor? state=None) -> Tensor", kWhere,
        static_cast<uint32_t>(dispatch::Tag::NondeterministicSeeded));
    dispatch::register_kernel(made, slot_of(Key::Dense, DeviceType::CPU), nullptr,
                              {&exchange, nullptr}, kWhere);
    dispatch::register_kernel(made, slot_of(Key::Dense, DeviceType::Meta), nullptr,
                              {&exchange_shapes, nullptr}, kWhere);
    return made;
  }();
  return op;
}

const bool is_exchange_defined = (exchange_operator(), true);

Tensor exchanged(const Values& operands, const Tensor& state) {
  const autograd::NoGrad unrecorded;
  const auto found = std::find_if(operands.begin(), operands.end(), [](const Value& v) {
    return v.is<Tensor>() && v.get<Tensor>().defined();
  });
  TAEDA_CHECK(found != operands.end(),
              "a function of a control-flow operator that draws random numbers and has gradients "
              "takes no tensor; pass one as an operand");
  Stack args{Value(autograd::detached(found->get<Tensor>())),
             state.defined() ? Value(state) : Value()};
  dispatch::call_boxed(exchange_operator(), args);
  return args.at(0).get<Tensor>();
}

bool has_node(const Graph& graph, FunctionRef<bool(const Node&)> is_wanted);

bool has_node(const Arg& arg, FunctionRef<bool(const Node&)> is_wanted) {
  if (const Graph* inner = arg.region()) return has_node(*inner, is_wanted);
  return arg.compound() && std::ranges::any_of(arg.compound()->items, [&](const Arg& item) {
           return has_node(item, is_wanted);
         });
}

bool has_node(const Graph& graph, FunctionRef<bool(const Node&)> is_wanted) {
  for (const Node& node : graph) {
    if (is_wanted(node)) return true;
    for (const Arg& arg : node.args())
      if (has_node(arg, is_wanted)) return true;
  }
  return false;
}

// Whether only a trace tells what the node calls.
bool is_open(const Node& node) {
  if (node.op() == OpCode::CallModule || node.op() == OpCode::CallMethod) return true;
  if (node.op() != OpCode::CallFunction || node.target().builtin()) return false;
  return !node.target().op() || node.target().op()->is_composite;
}

}  // namespace

bool draws(const RegionValue& region, const Values& operands) {
  if (!region.graph()) return false;
  const auto is_drawing = [](const Node& node) { return draws(node); };
  if (has_node(*region.graph(), is_drawing)) return true;
  if (!has_node(*region.graph(), [](const Node& node) { return is_open(node); })) return false;
  const Value apart = traced_region([&](Values values) { return list(region(values)); }, operands);
  return has_node(*fx::region(apart).graph(), is_drawing);
}

Tensor random_state(const Values& operands) { return exchanged(operands, Tensor()); }

Values run_from(const Tensor& state, const RegionValue& region, const Values& operands) {
  const Tensor now = exchanged(operands, state);
  const Values results = region(operands);
  exchanged(operands, now);
  return results;
}

}  // namespace taeda::fx
