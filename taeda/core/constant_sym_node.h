// ConstantSymNode: how an implementation of SymNode hands back a result that turned out plain.
#pragma once

#include "taeda/core/symint.h"

namespace taeda {

// Never inside a SymInt: arithmetic unpacks it at once.
class TAEDA_API ConstantSymNode final : public SymNode {
 public:
  explicit ConstantSymNode(int64_t value) : value_(value) {}
  int64_t value() const { return value_; }

  IntrusivePtr<SymNode> binary(SymOp, int64_t, bool) override { unexpected(); }
  bool guard_bool(SymOp, int64_t, bool) override { unexpected(); }
  int64_t guard_int(const char*, int) override { return value_; }
  double guard_float(const char*, int) override { return static_cast<double>(value_); }
  bool guard_truth(const char*, int) override { return value_ != 0; }
  std::string text() const override { return std::to_string(value_); }

 private:
  [[noreturn]] static void unexpected() {
    throw_error(ErrorKind::Internal, "a constant was kept as a symbolic integer");
  }
  int64_t value_;
};

}  // namespace taeda
