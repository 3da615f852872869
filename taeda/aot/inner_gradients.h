// Gradients that are complete in the middle of a backward.
//
//   backward(tangent_y, tangent_z) {     # of y = relu(x), z = y.sin()
//     a = tangent_z * cos
//     b = tangent_y + a                  # the gradient of y; hooks on y and y.grad want this one
//     return where(mask, 0, b)
//   }
//
// Note [Inner gradients]: a compiled program is one node of autograd's graph, which gets what came
// from outside of the program. For a value that others are made of, or that the program itself gave
// a hook, this is not the gradient that hooks of the program around, `retain_grad` and
// `autograd.grad` ask for. The trace marks the nodes that are (fx::kGradientMeta); where somebody
// asks for one, the backward runs in steps that end behind such nodes, and what the hooks give goes
// on. Otherwise it runs as a whole, and nothing is paid for them.
#pragma once

#include "taeda/autograd/custom_function.h"
#include "taeda/fx/interpreter.h"

namespace taeda::aot {

using fx::Value;

// The values whose gradients are nodes of this backward.
std::vector<size_t> inner_values(const fx::Graph& backward);

class SteppedBackward {
 public:
  // `tangents_given`: which of the inputs behind the saved values are there. Steps end behind the
  // gradients of the `asked` values that those have a part in.
  SteppedBackward(IntrusivePtr<fx::Graph> backward, size_t num_saved,
                  const std::vector<bool>& tangents_given, Span<uint32_t> asked);

  bool shows(uint32_t value) const;
  // What the backward returns; `show` is called between steps.
  std::vector<Value> run(std::vector<Value> inputs, fx::AttributeReader attributes,
                         autograd::ShowInner show) const;

 private:
  struct Step {
    std::vector<const fx::Node*> takes, gives;
    fx::Plan plan;
    const fx::Node* shown = nullptr;  // behind the step; null after the last one
    uint32_t value = 0;
  };
  IntrusivePtr<fx::Graph> graph_;
  std::vector<Step> steps_;
};

}  // namespace taeda::aot
