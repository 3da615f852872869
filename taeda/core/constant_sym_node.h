// ConstantSymNode: a plain integer as a node. An implementation of SymNode hands back results that
// turned out plain as one, and so stand integers below -2^62, for which a SymInt's word has no
// room.
#pragma once

#include "taeda/core/symint.h"

namespace taeda {

class TAEDA_API ConstantSymNode final : public SymNode {
 public:
  explicit ConstantSymNode(int64_t value) : value_(value) {}
  int64_t value() const { return value_; }
  // The integer as a SymInt, whatever its size.
  static SymInt as_symint(int64_t value);

  // The other number is a plain one, or another constant.
  IntrusivePtr<SymNode> binary(SymOp op, int64_t word_of_other, bool is_self_left) override;
  bool guard_bool(SymOp op, int64_t word_of_other, bool is_self_left) override;
  int64_t guard_int(const char*, int) override { return value_; }
  double guard_float(const char*, int) override { return static_cast<double>(value_); }
  bool guard_truth(const char*, int) override { return value_ != 0; }
  std::string text() const override { return std::to_string(value_); }

 private:
  int64_t value_;
};

}  // namespace taeda
