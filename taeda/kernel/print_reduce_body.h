// Reductions as structs of the CPU dialect, for the trees of reduce_tree.h.
#pragma once

#include <set>
#include <string>

#include "taeda/kernel/ir/reduce_body.h"
#include "taeda/kernel/print_expression.h"

namespace taeda::kernel {

// The lanes in which a body can be printed.
Lanes body_lanes(const ReduceBody& body);
// Whether the lanes of its vectors lie in memory as its scalars do.
bool has_lanes_in_memory(const ReduceBody& body);
// Whether it tells if any or all elements are true.
bool is_truth_body(const ReduceBody& body);

// Prints each body once per form; the text stands before the functions that use it.
class ReduceBodyPrinter {
 public:
  explicit ReduceBodyPrinter(std::string prefix) : prefix_(std::move(prefix)) {}

  // The struct of a body in scalars, or in vectors of neighbours that one reduction combines.
  std::string name(const ReduceBody& body, Lanes lanes);
  // The same in vectors of independent reductions, which are single to the tree.
  std::string lanewise(const ReduceBody& body, Lanes lanes);
  const std::string& text() const { return text_; }

 private:
  std::string lane_function(const ReduceBody& body);

  std::string prefix_, text_;
  std::set<std::string> printed_;
};

}  // namespace taeda::kernel
