// Every pointwise body as a symbolic expression, by operator, for compilers to fuse and devices to
// print.
#pragma once

#include "taeda/base/span.h"
#include "taeda/kernel/sym.h"

namespace taeda {

struct SymbolicBody {
  const char* name;   // "add.Tensor"
  uint8_t type_mask;  // bit i: kernel::Type i (F32 ... C128) is one it is read in
  kernel::TracedBody (*trace)(kernel::ExprGraph& graph, kernel::Type type);
  int divisor;  // the input in which integers may hold no zero; -1: none

  bool has(kernel::Type t) const { return type_mask >> static_cast<int>(t) & 1; }
};

template <class Body>
constexpr int divisor_of() {
  if constexpr (requires { Body::kDivisor; }) return Body::kDivisor;
  return -1;
}

// All of them, in record order.
TAEDA_API Span<const SymbolicBody*> symbolic_bodies();

}  // namespace taeda
