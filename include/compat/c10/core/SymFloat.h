// c10::SymFloat: a number of a graph, plain or symbolic.
#pragma once

#include "ATen/core_names.h"

namespace c10 {

class SymFloat {
 public:
  SymFloat(double value = 0) : value_(value) {}
  explicit SymFloat(intrusive_ptr<::taeda::SymNode> node) : node_(std::move(node)) {}

  bool is_symbolic() const { return static_cast<bool>(node_); }
  // Of a symbolic one.
  const intrusive_ptr<::taeda::SymNode>& toSymNodeImpl() const { return node_; }
  // Of a plain one.
  double expect_float() const {
    TAEDA_CHECK(!is_symbolic(), "expected a plain number, got the symbolic ", node_->text());
    return value_;
  }
  // The value; a symbolic one is guarded on.
  double guard_float(const char* file, int64_t line) const {
    return is_symbolic() ? node_->guard_float(file, static_cast<int>(line)) : value_;
  }

 private:
  double value_ = 0;
  intrusive_ptr<::taeda::SymNode> node_;
};

}  // namespace c10
