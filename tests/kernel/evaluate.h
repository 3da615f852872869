// The number that an extent of a kernel has for given parameters.
#pragma once

#include <vector>

#include "taeda/kernel/ir/kernel.h"
#include "taeda/symbolic/expr.h"

namespace taeda::kernel::test {

inline int64_t value_of(const Kernel& kernel, const symbolic::Expr* e,
                        const std::vector<int64_t>& params) {
  symbolic::Assignment values;
  for (size_t i = 0; i < params.size(); ++i)
    values[kernel.params[i]] = symbolic::ExprValue::of(params[i]);
  return symbolic::evaluate(e, values)->integer;
}

}  // namespace taeda::kernel::test
