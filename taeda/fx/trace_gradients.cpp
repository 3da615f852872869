// Gradients of a program, traced as a program of their own.
//
// Note [Gradients as a program]: a joint graph is below autograd. It does not know any more what
// the program detached, computed without recording, gave a hook or a gradient of its own, so
// gradients of its gradients would go through all of it. They are those of a program that runs the
// traced one again, on copies of its inputs, and asks autograd for its gradients with
// `create_graph`, as eager does. Tangents belong to the values of the traced program's epilogue
// (Note [Epilogue]), which the same program has again.
#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/input_history.h"
#include "taeda/fx/trace_run.h"

namespace taeda::fx {
namespace {

bool holds_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

}  // namespace

// What the program may write to, with gradients that go to the inputs.
TraceRun::Seen TraceRun::copies_of_inputs(size_t count) {
  Seen copies;
  for (size_t i = 0; i < count; ++i) {
    copies.values.push_back(seen_.values[i]);
    copies.inputs.push_back(seen_.inputs[i]);
    if (holds_tensor(seen_.inputs[i])) {
      const Tensor copy = shown(seen_.values[i].get<Tensor>());
      const Tensor& input = seen_.inputs[i].get<Tensor>();
      if (autograd::requires_grad(input)) pass_gradients_to(copy, input);
      copies.inputs.back() = Value(copy);
    }
    note_start(copies, copies.inputs.back());
  }
  return copies;
}

std::vector<Value> TraceRun::gradients_of(Program program) {
  size_t count = seen_.inputs.size();
  for (const GradientOrder& order : options_.orders) count -= order.values.size();
  const Seen copies = copies_of_inputs(count);
  is_replayed_ = true;
  std::vector<Value> results = results_of(program, copies.inputs);
  is_replayed_ = false;
  origins_.leave_forward();
  const Seen* from = &copies;
  for (const GradientOrder& order : options_.orders) {
    results = gradients_of(epilogue_of(*from, results), order, count);
    count += order.values.size();
    from = &seen_;
  }
  return results;
}

std::vector<Value> TraceRun::gradients_of(const Epilogue& values, const GradientOrder& order,
                                          size_t first_tangent) {
  std::vector<Tensor> roots, tangents, wanted;
  for (const size_t i : order.wanted) wanted.push_back(seen_.inputs.at(i).get<Tensor>());
  for (const uint32_t i : order.inner) wanted.push_back(values.values.at(i).root);
  for (const size_t i : order.values) {
    const bool is_given = i < values.values.size() && values.values[i].root.defined();
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, is_given,
                     "gradients of the gradients of a compiled program whose value ", i,
                     " has none when it runs once more");
    tangents.push_back(seen_.inputs.at(first_tangent + roots.size()).get<Tensor>());
    roots.push_back(values.values[i].root);
  }
  const auto scope = options_.backward_scope ? options_.backward_scope() : nullptr;
  std::vector<Value> found;
  for (Tensor& gradient : autograd::run_backward(roots, tangents, true, true, wanted, true, false))
    found.push_back(gradient.defined() ? Value(std::move(gradient)) : Value());
  return found;
}

}  // namespace taeda::fx
