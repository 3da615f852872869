// How the inputs that a traced program writes to lie in memory, checked at later calls.
#pragma once

#include "taeda/dispatch/value.h"
#include "taeda/fx/graph.h"

namespace taeda::aot {

// Note [Layouts of written inputs]: whether reshape, contiguous and their like give a view or a
// copy follows from strides, and a write to what they give reaches the input or does not:
//
//   x.reshape(-1).add_(1)       writes to a contiguous x, and not to a transposed one
//
// Values are computed from inputs of any strides. Where an epilogue writes to an input or makes a
// view of it, the input's dimensions must follow each other in memory as those of the example did.
class LayoutChecks {
 public:
  LayoutChecks() = default;  // checks nothing
  // Of a trace's epilogue, whose first placeholders are the inputs.
  LayoutChecks(const fx::Graph& epilogue, const std::vector<dispatch::Value>& examples);
  // RuntimeError for inputs that the trace does not serve.
  void operator()(const std::vector<dispatch::Value>& inputs) const;

 private:
  // The dimensions of an input, outermost in memory first, and whether each steps over exactly the
  // elements of the next; the last one over one element.
  struct Layout {
    size_t input;
    std::vector<size_t> order;
    std::vector<bool> is_dense;
    bool fits(IntList sizes, IntList strides) const;
  };
  static Layout layout_of(size_t input, IntList sizes, IntList strides);

  std::vector<Layout> layouts_;
};

}  // namespace taeda::aot
